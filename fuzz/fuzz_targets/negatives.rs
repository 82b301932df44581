//! A list of fixed negatives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_fuzz::read_negatives;

fuzz_target!(|bytes: &[u8]| {
    read_negatives(bytes);
});
