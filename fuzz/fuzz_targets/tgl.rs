//! A TGL folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_data::Format;
use zoetrope_fuzz::read_folder;

fuzz_target!(|bytes: &[u8]| {
    read_folder(
        Format::Tgl,
        "",
        &["edges.csv", "edge_features.npy", "node_features.npy", "labels.csv"],
        bytes,
    );
});
