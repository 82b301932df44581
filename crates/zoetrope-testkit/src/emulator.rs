//! The emulated CUDA libraries (`emulator/`), for processes that are told where to find them.
//!
//! A process looks for the libraries once, so that a test which finds no GPU runs itself again in
//! a process of its own ([`rerun`]).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where Zoetrope looks for CUDA first.
const PATH_VARIABLE: &str = "ZOETROPE_CUDA_PATH";

/// Where Zoetrope keeps compiled kernels.
const CACHE_VARIABLE: &str = "ZOETROPE_KERNEL_CACHE";

/// The folder of the libraries, built if they are older than their sources.
///
/// # Panics
/// If they cannot be built: they need bash and g++.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("emulator/build.sh");
        let built = Command::new(&script).output();
        let built = built.unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        let said = String::from_utf8_lossy(&built.stdout);
        let complaints = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{}: {complaints}", script.display());
        let line = said.trim().strip_prefix("export ZOETROPE_CUDA_PATH=");
        line.unwrap_or_else(|| panic!("{} printed {said}", script.display())).into()
    })
}

/// Makes a program find the emulated GPU.
pub fn point(command: &mut Command) -> &mut Command {
    command.env(PATH_VARIABLE, folder()).env(CACHE_VARIABLE, folder().join("kernels"))
}

/// Whether this process was told where CUDA is.
pub fn is_pointed() -> bool {
    std::env::var_os(PATH_VARIABLE).is_some()
}

/// Runs the test of that name in the calling test program again, where it finds the emulated GPU.
///
/// # Panics
/// If the test fails there, or there is none of that name.
pub fn rerun(test: &str) {
    rerun_with(test, &[]);
}

/// Whether this process has the emulated GPU and those settings of it. Otherwise the test of that
/// name is run in one that has, as by [`rerun`]: for tests that no real GPU can pass.
///
/// # Panics
/// As [`rerun`].
pub fn is_here(test: &str, settings: &[(&str, &str)]) -> bool {
    let is_set = |name: &str, value: &OsStr| std::env::var_os(name).is_some_and(|set| set == value);
    let here = is_set(PATH_VARIABLE, folder().as_os_str())
        && settings.iter().all(|(name, value)| is_set(name, OsStr::new(value)));
    if !here {
        rerun_with(test, settings);
    }
    here
}

fn rerun_with(test: &str, settings: &[(&str, &str)]) {
    let program = std::env::current_exe().expect("a test program has a path");
    let mut command = Command::new(program);
    point(&mut command).envs(settings.iter().copied());
    let outcome = command.args([test, "--exact", "--nocapture"]).output();
    let outcome = outcome.unwrap_or_else(|error| panic!("{test}: {error}"));
    let said = String::from_utf8_lossy(&outcome.stdout);
    let complaints = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{test} with the emulated GPU:\n{said}\n{complaints}");
    assert!(said.contains("1 passed"), "{test}: no such test\n{said}");
}
