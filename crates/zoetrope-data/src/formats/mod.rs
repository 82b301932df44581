//! One module per file format: how it is recognised, read and written.

#[cfg(test)]
pub(crate) mod any_snapshots;
pub mod edge_list;
pub(crate) mod folder_sink;
pub mod jodie;
pub mod ml_triple;
pub mod npz;
pub mod parquet;
pub mod pygt_json;
pub(crate) mod side_features;
pub mod snapshot_folder;
pub mod store;
pub mod text;
pub mod tgl;
pub mod traffic;
