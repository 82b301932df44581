//! Values of a column as text: what the search for roles looks at, and the parts of times.

use jiff::civil::Date;
use parquet::column::reader::ColumnReader;
use zoetrope_graph::TimeUnit;

use crate::formats::parquet::decode::{each, visit_numbers};
use crate::formats::parquet::schema::Stored;
use crate::formats::parquet::times::nanoseconds;

/// The first `rows` values as a csv would write them; nothing for null.
pub(crate) fn shown(
    reader: ColumnReader,
    stored: &Stored,
    rows: usize,
    max_definition: i16,
) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    match (stored, reader) {
        (Stored::Text, ColumnReader::ByteArrayColumnReader(reader)) => {
            each(reader, rows, max_definition, |value| {
                let text = value.map(|value| String::from_utf8_lossy(value.data()).into_owned());
                texts.push(text.unwrap_or_default());
            })?;
        }
        (Stored::Int96, ColumnReader::Int96ColumnReader(reader)) => {
            each(reader, rows, max_definition, |value| {
                let stamp = value.and_then(nanoseconds);
                texts.push(
                    stamp.and_then(|ticks| date(TimeUnit::Nanosecond, ticks)).unwrap_or_default(),
                );
            })?;
        }
        (Stored::Timestamp(unit), ColumnReader::Int64ColumnReader(reader)) => {
            each(reader, rows, max_definition, |value| {
                texts.push(value.and_then(|&ticks| date(*unit, ticks)).unwrap_or_default());
            })?;
        }
        (Stored::Date, ColumnReader::Int32ColumnReader(reader)) => {
            each(reader, rows, max_definition, |value| {
                texts.push(value.and_then(|&days| day(days)).unwrap_or_default());
            })?;
        }
        (Stored::Signed | Stored::Unsigned, ColumnReader::Int64ColumnReader(reader)) => {
            let unsigned = *stored == Stored::Unsigned;
            each(reader, rows, max_definition, |value| {
                let text = value.map(|&value| {
                    if unsigned { (value as u64).to_string() } else { value.to_string() }
                });
                texts.push(text.unwrap_or_default());
            })?;
        }
        (_, reader) => visit_numbers(reader, rows, max_definition, stored, |value| {
            texts.push(value.map(|value| value.to_string()).unwrap_or_default());
        })?,
    }
    Ok(texts)
}

fn date(unit: TimeUnit, ticks: i64) -> Option<String> {
    let per_second = i128::from(unit.ticks_per_second()?);
    let nanoseconds = i128::from(ticks) * (1_000_000_000 / per_second);
    Some(jiff::Timestamp::from_nanosecond(nanoseconds).ok()?.to_string())
}

fn day(days: i32) -> Option<String> {
    let date = Date::constant(1970, 1, 1).checked_add(jiff::Span::new().try_days(days).ok()?);
    Some(date.ok()?.to_string())
}
