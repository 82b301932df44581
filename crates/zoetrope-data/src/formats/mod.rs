//! One module per file format: how it is recognised, read and written.

pub mod edge_list;
pub mod jodie;
pub mod store;
#[cfg(test)]
pub(crate) mod any_snapshots;
pub mod npz;
pub mod text;
