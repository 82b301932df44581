//! What this machine offers.
//!
//! Libraries are searched where the loader would search them, those of CUDA are loaded and asked for
//! GPUs; programs that answer questions
//! (`mpirun`, `nvidia-smi`) are run with a time limit.

mod cuda;
mod gpu;
mod libraries;
mod memory;
mod mpi;
mod processor;
mod programs;

use serde::Serialize;

pub(crate) use cuda::{Cuda, CudaDevice};
pub(crate) use gpu::Gpu;
pub(crate) use libraries::Library;
pub(crate) use memory::{Disk, Memory};
pub(crate) use mpi::Mpi;
pub(crate) use processor::Processor;

/// Everything found.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) system: System,
    pub(crate) cpu: Processor,
    pub(crate) memory: Memory,
    pub(crate) disk: Vec<Disk>,
    pub(crate) gpu: Gpu,
    pub(crate) cuda: Cuda,
    pub(crate) libraries: Vec<Library>,
    pub(crate) mpi: Mpi,
}

/// Operating system and architecture.
#[derive(Debug, Serialize)]
pub(crate) struct System {
    pub(crate) os: &'static str,
    pub(crate) arch: &'static str,
    pub(crate) release: Option<String>,
}

impl Machine {
    /// Looks for all of it.
    pub(crate) fn look() -> Self {
        Self {
            system: System {
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                release: line_of("/proc/sys/kernel/osrelease"),
            },
            cpu: Processor::look(),
            memory: Memory::look(),
            disk: memory::disks(),
            gpu: Gpu::look(),
            cuda: Cuda::look(),
            libraries: libraries::look(),
            mpi: Mpi::look(),
        }
    }
}

/// The first line of a small file, if it exists.
fn line_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
