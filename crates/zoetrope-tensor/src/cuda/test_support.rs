//! What the tests of launchers share.

use super::{Gpu, PATH_VARIABLE};

/// A GPU, real or emulated; None if there is none and none was promised.
pub(super) fn gpu() -> Option<Gpu> {
    match Gpu::open(0) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os(PATH_VARIABLE).is_none() => {
            eprintln!("not tested: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
