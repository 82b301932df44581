//! Whether `--device cuda` would work: the libraries that it loads, and the GPUs that answer.

use serde::Serialize;
use zoetrope_tensor::cuda;

/// What CUDA says about this machine.
#[derive(Debug, Serialize)]
pub(crate) struct Cuda {
    /// Why no GPU can be used.
    pub(crate) problem: Option<String>,
    /// What the driver supports, as "13.0".
    pub(crate) driver_version: Option<String>,
    /// The GPUs that answer.
    pub(crate) devices: Vec<CudaDevice>,
    /// The file of CUPTI, with which traces do not disturb a run. Nothing else needs it.
    pub(crate) profiler: Option<String>,
    /// Why compiled kernels are not kept, if they are not.
    pub(crate) kernel_cache_note: Option<String>,
    /// NCCL, by which ranks with a GPU each send rows and gradients. Nothing else needs it.
    pub(crate) link: Option<Nccl>,
}

/// NCCL as it is loaded.
#[derive(Debug, Serialize)]
pub(crate) struct Nccl {
    pub(crate) file: String,
    /// As "2.27.3".
    pub(crate) version: String,
}

/// A GPU that answers.
#[derive(Debug, Serialize)]
pub(crate) struct CudaDevice {
    pub(crate) name: String,
    /// The compute capability, as "9.0".
    pub(crate) compute: String,
    pub(crate) memory_bytes: u64,
}

impl Cuda {
    pub(super) fn look() -> Self {
        let libraries = cuda::libraries();
        let found = [&libraries.driver, &libraries.compiler, &libraries.products];
        let missing = found.iter().find_map(|one| {
            one.file.as_ref().err().map(|problem| format!("{}: {problem}", one.title))
        });
        let version = cuda::driver_version().ok();
        let devices = cuda::devices();
        let problem = missing.or_else(|| devices.as_ref().err().map(ToString::to_string));
        let one = |device: cuda::GpuDescription| CudaDevice {
            name: device.name,
            compute: format!("{}.{}", device.compute / 10, device.compute % 10),
            memory_bytes: device.total_bytes as u64,
        };
        Self {
            problem,
            driver_version: version.map(|v| format!("{}.{}", v / 1000, v % 1000 / 10)),
            devices: devices.unwrap_or_default().into_iter().map(one).collect(),
            profiler: cuda::profiler().file.clone().ok(),
            kernel_cache_note: cuda::cache_note(),
            link: Nccl::look(),
        }
    }
}

impl Nccl {
    fn look() -> Option<Self> {
        let (file, version) = (cuda::link_library().file.clone().ok()?, cuda::link_version().ok()?);
        let parts = [version / 10_000, version / 100 % 100, version % 100];
        Some(Self { file, version: parts.map(|part| part.to_string()).join(".") })
    }
}
