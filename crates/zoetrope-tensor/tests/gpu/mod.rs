//! A GPU for tests.

use zoetrope_tensor::Gpu;
use zoetrope_testkit::emulator;

/// The GPU of the machine. If there is none, runs the calling test, `test`, again with the
/// emulated one and returns None.
pub(crate) fn open(test: &str) -> Option<Gpu> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(_) if !emulator::is_pointed() => {
            emulator::rerun(test);
            None
        }
        Err(error) => panic!("{error}"),
    }
}
