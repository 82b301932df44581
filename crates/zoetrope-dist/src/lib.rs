//! Communication between ranks: who sends what to whom. Bytes are counted, waiting ranks are supervised,
//! and exchanges of rows are differentiable. The crate knows no model and no file.
//!
//! A job has ranks `0..P`. They are threads of this process ([`threads::run`], the embedded default)
//! or processes of an MPI job (`mpi::run`, feature `mpi`). Each gets a
//! [`Ranks`] and is the same program:
//!
//! ```
//! use zoetrope_dist::{DistError, Exchange, ExchangePlan, Reduction, Timeouts, threads};
//! use zoetrope_tensor::Tape;
//!
//! // Two steps of three vertices: rank 0 holds the first step, rank 1 the second. After the exchange
//! // each holds both steps of its vertices.
//! let (steps, vertices, size) = (2, 3, 2);
//! let sums = threads::run(size, Timeouts::default(), move |ranks| {
//!     let plan = ExchangePlan::between(
//!         ranks.rank(),
//!         ranks.size(),
//!         steps * vertices,
//!         |row| row / vertices * size / steps,
//!         |row| row % vertices * size / vertices,
//!     );
//!     let exchange = Exchange::new(&ranks, plan.expect("owners are ranks"));
//!
//!     let mut tape = Tape::new();
//!     let x = tape.variable(3, 1, &[1.0, 2.0, 3.0].map(|v| v + 10.0 * ranks.rank() as f32)).unwrap();
//!     let y = exchange.apply(&mut tape, x).unwrap();
//!     let expected: &[f32] = [&[1.0, 2.0, 11.0, 12.0][..], &[3.0, 13.0][..]][ranks.rank()];
//!     assert_eq!(tape.value(y), expected);
//!     let loss = tape.mean(y);
//!     tape.backward(loss).unwrap();
//!     // An operator of a tape cannot fail: whether communication did is asked after the step.
//!     ranks.check()?;
//!
//!     ranks.all_reduce_one(1.0f64, Reduction::Sum)
//! });
//! assert_eq!(sums.unwrap(), [2.0, 2.0]);
//! ```
//!
//! What must stay true:
//! - Sums are made in the order of ranks: the same bits on every rank and every engine.
//! - A rank that waits sleeps.
//! - Every call ends: with its result, or with an error that names the rank to blame ([`watch`]).
//! - Every byte that leaves a rank for another one is counted ([`Traffic`]), and no other.

pub mod buffer_pool;
pub mod communicator;
pub mod error;
pub mod exchange;
#[cfg(feature = "faults")]
pub mod fault_point;
pub mod gpu;
mod journal;
pub mod message;
pub mod metis;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod ranks;
mod site;
mod sync;
pub mod threads;
mod together;
mod traffic;
pub mod watch;

pub use communicator::Communicator;
pub use error::{DistError, Failure};
pub use exchange::{Exchange, ExchangePlan, PendingExchange, PlanError, RowList, RowRuns};
pub use gpu::NoLink;
pub use journal::JournalEntry;
pub use message::{Element, Number};
pub use ranks::{Pending, Ranks, Reduction, all_reduce_bytes};
pub use site::{Call, Position, Site};
pub use traffic::{Cost, Traffic};
pub use watch::Timeouts;
