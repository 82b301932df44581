//! MPI: the launcher on the path, what it says it is, and the library that this build would load.

use std::path::PathBuf;

use serde::Serialize;

use super::programs::{ask, on_path};

/// An MPI installation.
#[derive(Debug, Serialize)]
pub(crate) struct Mpi {
    /// The launcher.
    pub(crate) launcher: Option<PathBuf>,
    /// The first line of its version.
    pub(crate) version: Option<String>,
    /// What the library says of itself; None if there is none or this build knows no MPI.
    pub(crate) library: Option<String>,
    /// What was tried if no library was found.
    pub(crate) problem: Option<String>,
}

impl Mpi {
    pub(super) fn look() -> Self {
        let launcher = ["mpirun", "mpiexec"].into_iter().find_map(on_path);
        let version = launcher
            .as_ref()
            .and_then(|launcher| ask(launcher, &["--version"]))
            .and_then(|answer| answer.lines().next().map(|line| line.trim().to_owned()))
            .filter(|line| !line.is_empty());
        let (library, problem) = library();
        Self { launcher, version, library, problem }
    }
}

/// The library that ranks would talk through, or what was tried.
#[cfg(feature = "mpi")]
fn library() -> (Option<String>, Option<String>) {
    match zoetrope_dist::mpi::version() {
        Ok(version) => (Some(version), None),
        Err(tried) => (None, Some(tried.join("; "))),
    }
}

#[cfg(not(feature = "mpi"))]
fn library() -> (Option<String>, Option<String>) {
    (None, None)
}
