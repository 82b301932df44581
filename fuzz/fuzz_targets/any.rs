//! A file that detection has to make out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_fuzz::read_any;

fuzz_target!(|bytes: &[u8]| {
    read_any("data", bytes);
});
