//! Every CUDA kernel compiles for every GPU that is supported, by CUDA 12 and by CUDA 13.
//!
//! NVRTC needs no GPU and no driver. It comes from the Python package index and is driven by a
//! Python script: loading a foreign library takes unsafe code, which this program forbids itself.

use std::path::Path;
use std::process::Command;

use crate::validate::target;

/// Kernels and their launchers.
const FOLDER: &str = "crates/zoetrope-tensor/src/cuda";

const SCRIPT: &str = "xtask/src/kernels/compile.py";

/// What the script exits with if NVRTC cannot be had.
const NOT_HERE: i32 = 77;

/// Compiles the kernels; true if all compile, or if this machine has no Python or no way to
/// the package index (and says so).
pub(crate) fn run(root: &Path) -> bool {
    let mut command = Command::new("python3");
    command.args([SCRIPT, FOLDER]).arg(target(root).join("nvrtc")).current_dir(root);
    match command.status() {
        Ok(status) if status.code() == Some(NOT_HERE) => {
            println!("skipped: the kernels were not compiled");
            true
        }
        Ok(status) => status.success(),
        Err(error) => {
            println!("skipped: the kernels were not compiled, python3 cannot be started: {error}");
            true
        }
    }
}
