//! Structure encoders: what works within snapshots.
//!
//! Each takes a group of snapshots stacked by time. Parameter names and first values are those of
//! PyG's layer of the same kind.

mod aggregation;
mod chebyshev;
mod convolution;
mod gat;
mod gcn;
mod rgcn;
mod sage;

pub use aggregation::Aggregation;
pub use chebyshev::Chebyshev;
pub(crate) use chebyshev::polynomials;
pub use convolution::Convolution;
pub use gat::Gat;
pub(crate) use gat::{HEAD_SLOPE, head_scores};
pub use gcn::Gcn;
pub use rgcn::Rgcn;
pub use sage::Sage;
