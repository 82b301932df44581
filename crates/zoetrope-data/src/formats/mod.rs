//! One module per file format: how it is recognised, read and written.

pub mod edge_list;
pub mod jodie;
pub mod store;
pub mod text;
