//! A folder of snapshots.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_data::Format;
use zoetrope_fuzz::read_folder;

fuzz_target!(|bytes: &[u8]| {
    read_folder(Format::SnapshotFolder, "", &["day1.txt", "day2.txt", "day3.txt"], bytes);
});
