//! MPI: the launcher on the path and what it says it is.

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
}

impl Mpi {
    pub(super) fn look() -> Self {
        let launcher = ["mpirun", "mpiexec"].into_iter().find_map(on_path);
        let version = launcher
            .as_ref()
            .and_then(|launcher| ask(launcher, &["--version"]))
            .and_then(|answer| answer.lines().next().map(|line| line.trim().to_owned()))
            .filter(|line| !line.is_empty());
        Self { launcher, version }
    }
}
