//! One module per file format: how it is recognised, read and written.

pub mod text;
