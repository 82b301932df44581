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
    Decimals(u8, &'a [i64]),
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
        Values::Decimals { ticks, digits } => Field::Decimals(*digits, ticks),
        Values::Dates { ticks, scale } => {
            Field::Dates(TimeFormat::new(TimeStyle::Iso, *scale)?, ticks)
        }
        Values::Numbers(values) => Field::Numbers(values),
    })
}

/// Texts with line breaks need quotes, too: here nobody reads them line by line.
fn quoted(text: &str) -> Vec<u8> {
    let mut buffer = Vec::new();
    if text.contains(['\n', '\r']) {
        buffer.extend(format!("\"{}\"", text.replace('"', "\"\"")).into_bytes())
    } else {
        quote(text.as_bytes(), b',', &mut buffer)
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
        Field::Names(_, rows) if rows[row] == Values::NO_NAME => {}
        Field::Names(names, rows) => block.extend_from_slice(&names[rows[row] as usize]),
        Field::Whole(values) => integer(values[row], block),
        Field::Dates(format, ticks) => format.append(ticks[row], block),
        Field::Decimals(digits, ticks) => decimal(ticks[row], *digits, block),
        Field::Numbers(values) if values[row].is_nan() => {}
        Field::Numbers(values) => float(values[row], block),
    }
}

/// A number of ticks with the decimal point of the data, without zeros at the end.
fn decimal(ticks: i64, digits: u8, block: &mut Vec<u8>) {
    let one = 10u64.pow(u32::from(digits));
    let (whole, rest) = (ticks.unsigned_abs() / one, ticks.unsigned_abs() % one);
    let sign = if ticks < 0 { "-" } else { "" };
    let text = match rest {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{rest:0width$}", width = usize::from(digits)),
    };
    let shown = if rest == 0 { &text } else { text.trim_end_matches('0') };
    block.extend_from_slice(shown.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_a_table_has_them() {
        let shown = |ticks, digits| {
            let mut block = Vec::new();
            decimal(ticks, digits, &mut block);
            String::from_utf8(block).unwrap()
        };
        assert_eq!(shown(1_500, 3), "1.5");
        assert_eq!(shown(-7, 3), "-0.007");
        assert_eq!(shown(20_000, 3), "20");
        assert_eq!(shown(1_289_241_911_728_360, 6), "1289241911.72836");
    }
}
