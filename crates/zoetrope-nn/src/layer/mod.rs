//! Layers that know neither graphs nor time.

mod batch_norm;
mod layer_norm;
mod linear;
mod recurrence;

pub use batch_norm::BatchNorm;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use recurrence::Recurrence;
