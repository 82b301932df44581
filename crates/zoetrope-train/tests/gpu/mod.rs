//! Whether tests on a GPU, real or emulated, can run.

use zoetrope_tensor::Gpu;
use zoetrope_tensor::cuda::PATH_VARIABLE;

/// Whether there is a GPU; if CUDA was promised its absence is a failure.
pub(crate) fn has_gpu() -> bool {
    match Gpu::open(0) {
        Ok(_) => true,
        Err(error) if std::env::var_os(PATH_VARIABLE).is_none() => {
            eprintln!("not compared: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}
