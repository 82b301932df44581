//! Kernels on the processor: plain functions over slices, one file per operator.
//!
//! Matrices are row-major and contiguous unless a stride is named. A `…_backward` function adds
//! into its gradient outputs; a forward function overwrites unless it takes an [`Accumulate`].
//! Kernels check the lengths of their slices and panic when they do not fit: callers (the
//! operators of the tape) have turned wrong shapes into errors before.
//!
//! Every kernel gives the same bits whatever the number of threads: the boundaries of parallel
//! blocks depend on shapes only, and sums over blocks are added in block order. Different
//! instruction sets may differ in the last bits.
//!
//! Call kernels from inside a rayon pool (`pool.install`): from outside, every parallel region
//! first hands its work to the pool, which costs more than a small kernel itself.
//!
//! [`Accumulate`]: matmul::Accumulate

pub mod activation;
pub mod arranged;
pub mod attention;
mod blocks;
pub(crate) mod chain;
pub mod concat;
pub mod dropout;
pub mod elementwise;
pub mod evolve;
pub mod floor;
pub mod gat;
pub mod gather;
pub mod gru;
pub mod link_ranks;
pub mod loss;
pub mod lstm;
mod math;
pub mod matmul;
pub mod message_cell;
pub mod neighbour_attention;
pub mod norm;
pub mod optimiser;
pub(crate) mod pages;
pub mod pairs;
pub mod past_caches;
mod prefetch;
pub mod readout;
pub mod recurrent;
pub mod reduce;
mod scattered;
mod scratch;
pub mod simd;
pub mod softmax;
mod sparse_rows;
mod sparse_sum;
pub mod spmm;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod test_support;
pub mod time_encoding;
