//! Where a tape computes.

use crate::cuda::Gpu;

/// A place to compute.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// A card.
    Cuda(Gpu),
}

impl Device {
    /// The card, where it is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        match self {
            Self::Cpu => None,
            Self::Cuda(gpu) => Some(gpu),
        }
    }
}
