//! What can go wrong with a GPU or its libraries.

use super::memory::Consumer;

/// A GPU, its driver or one of its libraries refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// A library is not on this machine, or lacks a function that is needed.
    #[error("{library}: {problem}")]
    Library {
        /// Which library.
        library: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no GPU of that number.
    #[error("there is no CUDA device {asked}: this machine has {count}")]
    NoDevice {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// The GPU is older than the kernels need.
    #[error("{name} has compute capability {}.{}, and 7.5 is the least", compute / 10, compute % 10)]
    TooOld {
        /// The GPU.
        name: String,
        /// Its compute capability, times ten.
        compute: u32,
    },
    /// A call of the driver failed.
    #[error("CUDA: {call} failed: {reason}")]
    Call {
        /// What was asked of the driver.
        call: &'static str,
        /// What it answered.
        reason: String,
    },
    /// A kernel could not be compiled.
    #[error("kernels of {file} could not be compiled: {log}")]
    Compile {
        /// The file.
        file: &'static str,
        /// The compiler's messages.
        log: String,
    },
    /// The memory of the GPU, or the part that may be used, is spent.
    #[error(
        "out of memory on the device: {wanted} more bytes for {} do not fit, {used} of {limit} are in use; \
         most of it is {} ({largest_bytes} bytes)", consumer.name(), largest.name()
    )]
    OutOfMemory {
        /// The bytes asked for.
        wanted: usize,
        /// What they were for.
        consumer: Consumer,
        /// The bytes in use.
        used: usize,
        /// The bytes that may be used.
        limit: usize,
        /// Who would have most.
        largest: Consumer,
        /// How much that would be.
        largest_bytes: usize,
    },
}
