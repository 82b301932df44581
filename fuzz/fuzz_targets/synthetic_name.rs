//! A `synthetic:` name, as far as it can go without making a large graph.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zoetrope_data::synthetic;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Streams are made lazily, so that a name may ask for any size.
    if let Err(error) = synthetic::stream(&format!("synthetic:{text}")) {
        assert!(!error.to_string().is_empty());
    }
});
