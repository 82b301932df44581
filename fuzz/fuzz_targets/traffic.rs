//! A matrix and a table of values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_data::Format;
use zoetrope_fuzz::read_folder;

fuzz_target!(|bytes: &[u8]| {
    read_folder(Format::Traffic, "", &["x_adj.csv", "x_speed.csv"], bytes);
});
