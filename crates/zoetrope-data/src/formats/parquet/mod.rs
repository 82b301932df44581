//! Apache Parquet, one event a row.
//!
//! Columns are found by name, with the same names that csv headers are searched for, or as the
//! user says. Identifiers are integers (signed or not, 32 or 64 bits), integral floats or text;
//! times are integers, floats, timestamps, dates, the old 96-bit timestamps or ISO text; weights,
//! labels and features are any numbers or truth values, features also a list column of fixed
//! length. A null identifier or time makes its row bad, any other null is a missing value (NaN).
//!
//! The decoder is third-party code: headers are checked before it sees them (`guard`), and what
//! it still does wrong is contained (`contain`). Row groups and columns are decoded in parallel
//! and joined in file order.
//!
//! Nested data beyond one list level, 16-bit floats and encrypted files are not read.

mod chunk_bytes;
mod columns;
mod contain;
mod decode;
mod footer;
mod gathered;
mod guard;
mod lists;
mod reader;
mod sample;
mod schema;
mod shown;
mod thrift;
mod times;
mod writer;

use std::path::Path;

pub use reader::read;
pub use writer::write;

/// Whether a file is Parquet, by its first bytes, and why.
pub fn recognises(_path: &Path, head: &[u8]) -> Option<String> {
    match head.get(..4)? {
        b"PAR1" => Some("starts with Parquet's magic number PAR1".into()),
        b"PARE" => Some("starts with encrypted Parquet's magic number PARE".into()),
        _ => None,
    }
}
