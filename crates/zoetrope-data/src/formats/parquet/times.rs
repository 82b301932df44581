//! Times of a Parquet column: integers, timestamps, dates, floats or text.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int96};

use crate::formats::parquet::decode::{Filler, Values, each};
use crate::formats::parquet::schema::Stored;
use crate::table::chunk::TimeChunk;
use crate::table::timestamp;

/// Decodes a time column.
pub(crate) fn times(
    reader: ColumnReader,
    filler: &mut Filler<'_>,
    rows: usize,
    max_definition: i16,
) -> Result<Values, String> {
    let is_date = filler.place.leaf.stored == Stored::Date;
    let form = filler.place.leaf.form;
    // Days written as digits: 20131231.
    let tick = |value: i64| match form {
        Some(form) => form.parse(value.to_string().as_bytes()).map(|stamp| stamp.ticks),
        None => Some(value),
    };
    let mut ticks = Vec::new();
    let mut push = |filler: &mut Filler<'_>, value: Option<i64>| {
        if value.is_none() {
            filler.bad("a time", "null or beyond 64 bits");
        }
        ticks.push(value.unwrap_or(0));
        filler.row += 1;
    };
    match reader {
        ColumnReader::Int32ColumnReader(reader) => each(reader, rows, max_definition, |value| {
            let scale = if is_date { 86_400 } else { 1 };
            push(filler, value.and_then(|&value| tick(i64::from(value) * scale)));
        })?,
        ColumnReader::Int64ColumnReader(reader) => {
            each(reader, rows, max_definition, |value| {
                push(filler, value.and_then(|&value| tick(value)))
            })?;
        }
        ColumnReader::Int96ColumnReader(reader) => {
            each(reader, rows, max_definition, |value| push(filler, value.and_then(nanoseconds)))?;
        }
        ColumnReader::FloatColumnReader(reader) => {
            return reals(reader, filler, rows, max_definition, |&value| f64::from(value));
        }
        ColumnReader::DoubleColumnReader(reader) => {
            return reals(reader, filler, rows, max_definition, |&value| value);
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let mut stamps = TimeChunk::default();
            each(reader, rows, max_definition, |value| {
                let text = value.map(|value| value.data().trim_ascii()).unwrap_or_default();
                let stamp = match form {
                    Some(form) => form.parse(text),
                    None => timestamp::decimal(text).or_else(|| timestamp::iso(text)),
                };
                if !stamp.is_some_and(|stamp| stamps.push(stamp)) {
                    filler.bad("a time or a date", &String::from_utf8_lossy(text));
                    stamps.ticks.push(0);
                }
                filler.row += 1;
            })?;
            return Ok(Values::Stamps(stamps));
        }
        _ => return Err("values that are no times".into()),
    }
    Ok(Values::Integers(ticks))
}

fn reals<T: DataType>(
    reader: ColumnReaderImpl<T>,
    filler: &mut Filler<'_>,
    rows: usize,
    max_definition: i16,
    real: impl Fn(&T::T) -> f64,
) -> Result<Values, String> {
    let mut times = Vec::new();
    each(reader, rows, max_definition, |value| {
        let value = value.map(&real).filter(|value| value.is_finite());
        if value.is_none() {
            filler.bad("a time", "null, NaN or infinity");
        }
        times.push(value.unwrap_or(0.0));
        filler.row += 1;
    })?;
    Ok(Values::Reals(times))
}

/// Nanoseconds since 1970 of a Julian day and the nanoseconds of that day.
pub(crate) fn nanoseconds(value: &Int96) -> Option<i64> {
    const JULIAN_DAY_OF_1970: i128 = 2_440_588;
    let &[low, high, day] = value.data() else { return None };
    let of_day = i128::from(u64::from(high) << 32 | u64::from(low));
    let days = i128::from(day) - JULIAN_DAY_OF_1970;
    i64::try_from(days * 86_400_000_000_000 + of_day).ok()
}
