//! Time encoders: what works along the sequence of each vertex, or of weights.

mod attention;
mod evolution;
mod gru;
mod lstm;
mod m_product;
mod summary;

pub use attention::{ScoreDivisor, TemporalAttention};
pub use evolution::{ColumnGru, ColumnLstm, RowGru};
pub use gru::Gru;
pub use lstm::Lstm;
pub use m_product::MProduct;
pub use summary::Summary;
