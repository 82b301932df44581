//! One hash for all state, and the text of hashes.

use sha2::{Digest, Sha256};

use super::cursor::Cursor;
use super::state::SavedState;

/// SHA-256 of bytes, as lower-case hexadecimal text.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The canonical hash of all state, as lower-case hexadecimal SHA-256.
///
/// Taken over names, shapes and bytes of every tensor and every entry of the cursor, each with its
/// length before it, in the order of the names. Seconds are no state: they differ between two runs
/// that are equal otherwise.
pub fn state_hash(state: &SavedState) -> String {
    let mut hash = Canonical(Sha256::new());
    hash.text("zoetrope state 1");
    for (group, tensors) in state.groups() {
        hash.text(group);
        hash.integer(tensors.len() as u64);
        for (name, tensor) in tensors {
            hash.text(name);
            hash.integer(tensor.dims().len() as u64);
            tensor.dims().iter().for_each(|&dim| hash.integer(dim as u64));
            hash.floats(tensor.data());
        }
    }
    hash.cursor(&state.cursor);
    hex(hash.0.finalize().as_slice())
}

struct Canonical(Sha256);

impl Canonical {
    fn integer(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.integer(text.len() as u64);
        self.0.update(text);
    }

    fn floats(&mut self, values: &[f32]) {
        // In pieces: the hash takes bytes, and a copy of the whole would double the memory.
        let mut bytes = [0; 4 * 1024];
        for piece in values.chunks(1024) {
            for (place, value) in bytes.chunks_exact_mut(4).zip(piece) {
                place.copy_from_slice(&value.to_le_bytes());
            }
            self.0.update(&bytes[..4 * piece.len()]);
        }
    }

    fn cursor(&mut self, cursor: &Cursor) {
        // Taken apart so that a field that is added and not hashed does not compile.
        let Cursor { epoch, frame, step, counters, numbers, parts, epochs } = cursor;
        self.integer(*epoch as u64);
        self.integer(*frame as u64);
        self.integer(*step);
        self.integer(counters.len() as u64);
        for (name, &counter) in counters {
            self.text(name);
            self.integer(counter);
        }
        self.numbers(numbers);
        self.integer(parts.len() as u64);
        for (name, value) in parts {
            self.text(name);
            self.text(&value.to_string());
        }
        self.integer(epochs.len() as u64);
        for record in epochs {
            self.integer(record.epoch as u64);
            self.integer(record.loss.to_bits());
            self.numbers(&record.val);
        }
    }

    fn numbers(&mut self, numbers: &std::collections::BTreeMap<String, f64>) {
        self.integer(numbers.len() as u64);
        for (name, number) in numbers {
            self.text(name);
            self.integer(number.to_bits());
        }
    }
}
