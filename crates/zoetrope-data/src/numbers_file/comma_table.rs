//! Columns as comma-separated text under a header.

use std::path::Path;

use super::columns::{Column, Values};
use crate::error::DataError;
use crate::formats::text::TimeStyle;
use crate::formats::text::rows::{float, quote};
use crate::formats::text::times::{TimeFormat, integer};
use crate::sink::Sink;

/// Bytes that are collected before they are handed on.
const BLOCK_BYTES: usize = 1 << 18;

/// A column ready to be written row by row.
enum Field<'a> {
    Names(Vec<Vec<u8>>, &'a [u32]),
    Whole(&'a [i64]),
    Dates(TimeFormat, &'a [i64]),
    Numbers(&'a [f32]),
}

/// Writes `rows` rows.
pub(super) fn write(path: &Path, columns: &[Column], rows: usize) -> Result<(), DataError> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let mut sink = Sink::create_plain(path)?;
    let mut block = Vec::with_capacity(BLOCK_BYTES + 4096);
    for (place, column) in columns.iter().enumerate() {
        separate(place, &mut block);
        block.extend(quoted(&column.name));
    }
    block.push(b'\n');
    for row in 0..rows {
        for (place, field) in fields.iter().enumerate() {
            separate(place, &mut block);
            append(field, row, &mut block);
        }
        block.push(b'\n');
        if block.len() >= BLOCK_BYTES {
            sink.put(&block)?;
            block.clear();
        }
    }
    sink.put(&block)?;
    sink.finish()
}

fn field(column: &Column) -> Result<Field<'_>, DataError> {
    Ok(match &column.values {
        Values::Names { names, rows } => {
            Field::Names(names.iter().map(|name| quoted(name)).collect(), rows)
        }
        Values::Whole(values) => Field::Whole(values),
        Values::Dates { ticks, scale } => {
            Field::Dates(TimeFormat::new(TimeStyle::Iso, *scale)?, ticks)
        }
        Values::Numbers(values) => Field::Numbers(values),
    })
}

/// Texts with line breaks need quotes, too: here nobody reads them line by line.
fn quoted(text: &str) -> Vec<u8> {
    let mut buffer = Vec::new();
    match text.contains(['\n', '\r']) {
        true => buffer.extend(format!("\"{}\"", text.replace('"', "\"\"")).into_bytes()),
        false => quote(text.as_bytes(), b',', &mut buffer),
    }
    buffer
}

fn separate(place: usize, block: &mut Vec<u8>) {
    if place != 0 {
        block.push(b',');
    }
}

fn append(field: &Field<'_>, row: usize, block: &mut Vec<u8>) {
    match field {
        Field::Names(names, rows) => block.extend_from_slice(&names[rows[row] as usize]),
        Field::Whole(values) => integer(values[row], block),
        Field::Dates(format, ticks) => format.append(ticks[row], block),
        Field::Numbers(values) if values[row].is_nan() => {}
        Field::Numbers(values) => float(values[row], block),
    }
}
