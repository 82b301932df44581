//! The device side: the GPU, its memory and the launchers of its kernels.
//!
//! A launcher has the name and the arguments of the CPU's kernel, with views in place of slices, and
//! lies in a file of the same name; the kernels it launches are in the `.cu` file beside it. Launches
//! are asynchronous and in order: nothing here waits for the GPU except [`Gpu::wait`] and
//! [`Gpu::download`].
#![allow(unsafe_code)]

pub(crate) mod activation;
pub(crate) mod attention;
mod blas;
mod cache;
pub(crate) mod chain;
mod column_pairs;
mod compile;
pub(crate) mod concat;
mod driver;
pub(crate) mod dropout;
pub(crate) mod elementwise;
mod error;
mod event;
pub(crate) mod evolve;
pub(crate) mod gat;
pub(crate) mod gather;
mod gpu;
mod graph;
pub(crate) mod gru;
mod kernel;
mod library;
mod link;
pub(crate) mod link_ranks;
pub(crate) mod loss;
pub(crate) mod lstm;
pub(crate) mod matmul;
mod memory;
pub(crate) mod message_cell;
mod nccl;
pub(crate) mod neighbour_attention;
pub(crate) mod norm;
mod optimiser;
pub(crate) mod pairs;
mod parameters;
pub(crate) mod readout;
pub(crate) mod recurrent;
pub(crate) mod reduce;
mod resident;
mod row_window;
pub(crate) mod softmax;
mod sources;
pub(crate) mod spmm;
mod steps;
mod stored;
mod streaming;
pub(crate) mod table;
mod temporal;
#[cfg(test)]
mod test_support;
pub(crate) mod time_encoding;
mod trace;
mod transfer;
mod view;
mod wait_hook;

pub use blas::WORKSPACE_BYTES;
pub use cache::{CACHE_VARIABLE, cache_note};
pub use error::CudaError;
pub use event::Event;
pub use gather::OtherRows;
pub use gpu::{Gpu, GpuDescription, Precision, devices, driver_version};
pub use graph::Graph;
pub(crate) use kernel::{Arg, ByValue, Kernel, grid_for};
pub use library::{Found, Libraries, PATH_VARIABLE, libraries, link as link_library, profiler};
pub use link::{ID_BYTES, Incoming, Link, RowLists, link_version};
pub use memory::{Consumer, Memory, MemoryUse, Scratch};
pub use optimiser::{UpdateRule, Updater};
pub use parameters::ParameterBlock;
pub use row_window::RowWindow;
pub use sources::{SOURCES, Source};
pub use spmm::SentForecast;
pub use steps::{StepCounter, Steps};
pub use stored::Stored;
pub use streaming::Streaming;
pub(crate) use streaming::Work;
pub use temporal::TemporalSampler;
pub use trace::{GpuSpan, Queue, TraceEnd, TraceSource, TraceStart};
pub(crate) use view::Sink;
pub use view::{View, ViewMut};
pub use wait_hook::WaitHook;
