//! An ml_* table with the features of its events and vertices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_data::Format;
use zoetrope_fuzz::read_folder;

fuzz_target!(|bytes: &[u8]| {
    read_folder(Format::MlTriple, "ml_x.csv", &["ml_x.csv", "ml_x.npy", "ml_x_node.npy"], bytes);
});
