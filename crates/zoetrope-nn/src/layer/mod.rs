//! Layers that know neither graphs nor time.

mod batch_norm;
mod linear;
mod recurrence;

pub use batch_norm::BatchNorm;
pub use linear::Linear;
pub use recurrence::Recurrence;
