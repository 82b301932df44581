//! A tar archive of snapshots.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_data::Format;
use zoetrope_fuzz::read_file;

fuzz_target!(|bytes: &[u8]| {
    read_file(Format::SnapshotFolder, "days.tar", bytes);
});
