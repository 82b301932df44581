//! Where a tape computes.

use crate::cuda::Gpu;

/// A place to compute.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// A GPU.
    Cuda(Gpu),
}

impl Device {
    /// The GPU, if it is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        match self {
            Self::Cpu => None,
            Self::Cuda(gpu) => Some(gpu),
        }
    }

    /// Waits until everything launched so far is done.
    pub fn wait(&self) {
        if let Self::Cuda(gpu) = self {
            gpu.wait();
        }
    }

    /// The most of a GPU's memory that was in use at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.gpu().map_or(0, |gpu| gpu.memory_use().peak as u64)
    }

    /// Bytes copied to a GPU and from it so far.
    pub fn copied_bytes(&self) -> [u64; 2] {
        self.gpu().map_or([0; 2], Gpu::copied_bytes)
    }
}
