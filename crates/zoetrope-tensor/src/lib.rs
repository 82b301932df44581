//! Dense f32 matrices, a reverse-mode tape and the operators that dynamic-graph models need.
//!
//! `cpu/` holds the kernels: plain functions over slices. `cuda/` holds the same for a GPU, under the
//! same names: functions over views of device memory that launch. `ops/` holds the operators of the
//! tape: they check shapes, record what happened and call the kernel of the same file name on the
//! tape's device. The crate knows no model and no file of the user.
//!
//! Invariants: results do not depend on the number of threads; an operator allocates no heap
//! memory once the pools of its tape are warm.
//!
//! ```
//! use zoetrope_tensor::{Activation, Tape};
//!
//! let mut tape = Tape::new();
//! let x = tape.copied(2, 2, &[1.0, 2.0, 3.0, 4.0])?;
//! let weight = tape.variable(1, 2, &[0.5, -1.0])?;
//! let y = tape.linear(x, weight, None, Activation::Identity)?;
//! assert_eq!(tape.value(y), [-1.5, -2.5]);
//! let mean = tape.mean(y);
//! tape.backward(mean)?;
//! assert_eq!(tape.gradient(weight).unwrap(), [2.0, 3.0]);
//! # Ok::<(), zoetrope_tensor::TensorError>(())
//! ```

pub mod buffer;
pub mod conformance;
pub mod cpu;
pub mod cuda;
pub mod device;
pub mod error;
pub mod matrix;
pub mod neighbourhood;
pub mod ops;
pub mod pool;
mod size_classes;
pub mod sparse;
pub mod table;
pub mod tape;
pub mod user_cache;

pub use buffer::Buffer;
pub use cpu::activation::Activation;
pub use cpu::dropout::{Cells, Dropout, DropoutKey};
pub use cpu::elementwise::Instr;
pub use cpu::gru::GruKind;
pub use cpu::message_cell::MessageCellKind;
pub use cpu::recurrent::sequence_pieces;
pub use cuda::{CudaError, Gpu};
pub use device::Device;
pub use error::TensorError;
pub use matrix::{Matrix, Shape};
pub use neighbourhood::Neighbourhood;
pub use ops::attention::{AttentionOptions, TemporalParameters};
pub use ops::chain::Chain;
pub use ops::custom::{Custom, GpuSide};
pub use ops::evolve::{Evolution, EvolutionUnit};
pub use ops::gat::GatOptions;
pub use ops::link_ranks::{LinkRank, LinkRanking};
pub use ops::loss::Loss;
pub use ops::lstm::{LstmRecurrence, LstmStates};
pub use ops::message_cell::MessageCell;
pub use ops::neighbour_attention::NeighbourAttention;
pub use ops::norm::BatchStatistics;
pub use ops::pairs::PairLayers;
pub use ops::recurrent::GateInput;
pub use ops::shared_norm::{SharedRows, TogetherWith};
pub use sparse::{Difference, SparseGroup, SparseMatrix};
pub use table::{Fixed, PickedColumns, Source, Table};
pub use tape::{Family, Floor, Kept, Mark, Operation, Piece, Seed, Tape, Var};
