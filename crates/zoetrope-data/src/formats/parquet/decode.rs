//! One column of one row group to values.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;

use crate::error::{Location, Problem};
use crate::formats::parquet::lists::lists;
use crate::formats::parquet::schema::{Leaf, Stored};
use crate::formats::parquet::shown::shown;
use crate::formats::parquet::times::times;
use crate::table::chunk::{Interner, TimeChunk};
use crate::table::row;

/// Rows decoded at once: large enough to amortise calls, small enough to stay in cache.
pub(crate) const BATCH_ROWS: usize = 8 << 10;

/// What a column is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Id,
    Time,
    Number,
    Label,
    Kind,
    List,
    /// As text, to be looked at.
    Shown,
}

/// The values of a column in one row group.
#[derive(Debug)]
pub(crate) enum Values {
    Integers(Vec<i64>),
    /// Seconds as floats, still without a scale.
    Reals(Vec<f64>),
    Text {
        codes: Vec<u32>,
        table: Interner,
    },
    Stamps(TimeChunk),
    Numbers(Vec<f32>),
    /// Text labels; `None` if the label is null.
    Classes {
        codes: Vec<Option<u32>>,
        table: Interner,
    },
    Kinds(Vec<u8>),
    /// As text; empty for null.
    Shown(Vec<String>),
    /// Rows of `width` values; `width` is 0 if no row has any.
    List {
        width: usize,
        values: Vec<f32>,
    },
}

/// A decoded column of a row group.
#[derive(Debug)]
pub(crate) struct DecodedColumn {
    pub(crate) values: Values,
    pub(crate) missing: u64,
    /// Rows (of the row group) that cannot be used; values stand in for them.
    pub(crate) bad_rows: Vec<usize>,
    /// What is wrong with the first of them; rows are those of the file.
    pub(crate) problems: Vec<Problem>,
}

/// Where a column stands and what to call it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a std::path::Path,
    pub(crate) leaf: &'a Leaf,
    /// The first row of the row group in the file.
    pub(crate) first_row: u64,
    pub(crate) max_problems: usize,
    /// The most values that a list column of this row group may come to, nulls filled in.
    pub(crate) most_values: usize,
}

/// Definition levels: from which on a value, or an element of a list, is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels {
    pub(crate) value: i16,
    pub(crate) element: i16,
}

/// Decodes `rows` rows. The message of a failure says what is wrong with the data.
pub(crate) fn decode(
    reader: ColumnReader,
    place: Place<'_>,
    want: Want,
    rows: usize,
    levels: Levels,
) -> Result<DecodedColumn, String> {
    let mut filler =
        Filler { place, row: 0, missing: 0, bad_rows: Vec::new(), problems: Vec::new() };
    let stored = &place.leaf.stored;
    let unsigned = *stored == Stored::Unsigned;
    let values = match (want, reader) {
        (Want::List, reader) => lists(reader, &mut filler, rows, levels, unsigned)?,
        (Want::Id, ColumnReader::ByteArrayColumnReader(reader)) => {
            let (mut codes, mut table) = (Vec::new(), Interner::default());
            each(reader, rows, levels.value, |value| {
                let text = value.map(|value| value.data()).filter(|text| !text.is_empty());
                match text {
                    None => filler.bad("an identifier", "nothing"),
                    Some(text) if std::str::from_utf8(text).is_err() => {
                        filler.bad("an identifier in UTF-8", &String::from_utf8_lossy(text));
                    }
                    Some(_) => {}
                }
                codes.push(table.code(text.unwrap_or_default()));
                filler.row += 1;
            })?;
            Values::Text { codes, table }
        }
        (Want::Id, reader) => {
            Values::Integers(integers(reader, &mut filler, rows, levels.value, unsigned)?)
        }
        (Want::Time, reader) => times(reader, &mut filler, rows, levels.value)?,
        (Want::Label, ColumnReader::ByteArrayColumnReader(reader)) => {
            let (mut codes, mut table) = (Vec::new(), Interner::default());
            each(reader, rows, levels.value, |value| {
                codes.push(value.map(|value| table.code(value.data())));
                filler.missing += u64::from(value.is_none());
            })?;
            Values::Classes { codes, table }
        }
        (Want::Label | Want::Number, reader) => {
            Values::Numbers(numbers(reader, &mut filler, rows, levels.value, stored)?)
        }
        (Want::Shown, reader) => Values::Shown(shown(reader, stored, rows, levels.value)?),
        (Want::Kind, reader) => Values::Kinds(kinds(reader, &mut filler, rows, levels.value)?),
    };
    let Filler { missing, bad_rows, problems, .. } = filler;
    Ok(DecodedColumn { values, missing, bad_rows, problems })
}

/// Counts rows and what is wrong with them.
pub(crate) struct Filler<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) row: usize,
    pub(crate) missing: u64,
    bad_rows: Vec<usize>,
    problems: Vec<Problem>,
}

impl Filler<'_> {
    pub(crate) fn bad(&mut self, expected: &str, found: &str) {
        if self.bad_rows.last() != Some(&self.row) {
            self.bad_rows.push(self.row);
        }
        if self.problems.len() < self.place.max_problems {
            let at = Location::file(self.place.path)
                .line(self.place.first_row + self.row as u64)
                .column(&self.place.leaf.name);
            self.problems.push(Problem::new(at, expected, found));
        }
    }

    /// A number for a weight, label or feature.
    pub(crate) fn number(&mut self, value: Option<f64>) -> f32 {
        let Some(value) = value.filter(|value| !value.is_nan()) else {
            self.missing += 1;
            return f32::NAN;
        };
        let narrow = value as f32;
        if narrow.is_infinite() {
            self.bad("a finite number of 32 bits", &value.to_string());
        }
        narrow
    }
}

/// Calls `visit` for each row with its value or `None` for null.
pub(crate) fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    max_definition: i16,
    mut visit: impl FnMut(Option<&T::T>),
) -> Result<(), String> {
    let (mut values, mut definitions) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        values.clear();
        definitions.clear();
        let batch = BATCH_ROWS.min(rows - done);
        let (records, _, _) = reader
            .read_records(batch, Some(&mut definitions), None, &mut values)
            .map_err(|error| error.to_string())?;
        if records == 0 {
            return Err(format!("{done} rows, but the footer declares {rows}"));
        }
        if max_definition == 0 {
            values.iter().for_each(|value| visit(Some(value)));
        } else {
            let mut present = values.iter();
            for &definition in &definitions {
                visit(if definition == max_definition { present.next() } else { None });
            }
        }
        done += records;
    }
    Ok(())
}

fn integers(
    reader: ColumnReader,
    filler: &mut Filler<'_>,
    rows: usize,
    max_definition: i16,
    unsigned: bool,
) -> Result<Vec<i64>, String> {
    let mut ids = Vec::new();
    let mut push = |value: Option<Result<i64, String>>| {
        let value = match value {
            Some(Ok(value)) => value,
            None => {
                filler.bad("an identifier", "null");
                0
            }
            Some(Err(found)) => {
                filler.bad("an identifier that fits 64 bits", &found);
                0
            }
        };
        ids.push(value);
        filler.row += 1;
    };
    let real = |value: f64| {
        if value.fract() == 0.0 && value.abs() <= (1i64 << 53) as f64 {
            Ok(value as i64)
        } else {
            Err(value.to_string())
        }
    };
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            each(reader, rows, max_definition, |value| {
                push(value.map(|&value| {
                    Ok(if unsigned { i64::from(value as u32) } else { value.into() })
                }));
            })?
        }
        ColumnReader::Int64ColumnReader(reader) => each(reader, rows, max_definition, |value| {
            push(value.map(|&value| {
                if unsigned && value < 0 { Err((value as u64).to_string()) } else { Ok(value) }
            }));
        })?,
        ColumnReader::FloatColumnReader(reader) => {
            each(reader, rows, max_definition, |value| {
                push(value.map(|&value| real(value.into())))
            })?;
        }
        ColumnReader::DoubleColumnReader(reader) => {
            each(reader, rows, max_definition, |value| push(value.map(|&value| real(value))))?;
        }
        _ => return Err("values that are no identifiers".into()),
    }
    Ok(ids)
}

fn numbers(
    reader: ColumnReader,
    filler: &mut Filler<'_>,
    rows: usize,
    max_definition: i16,
    stored: &Stored,
) -> Result<Vec<f32>, String> {
    let mut numbers = Vec::new();
    visit_numbers(reader, rows, max_definition, stored, |value| {
        numbers.push(filler.number(value));
        filler.row += 1;
    })?;
    Ok(numbers)
}

/// Calls `visit` for each row with its number or `None` for null.
pub(crate) fn visit_numbers(
    reader: ColumnReader,
    rows: usize,
    max_definition: i16,
    stored: &Stored,
    mut visit: impl FnMut(Option<f64>),
) -> Result<(), String> {
    let unsigned = *stored == Stored::Unsigned;
    let unit = match stored {
        Stored::Decimal { scale } => 10f64.powi(*scale),
        _ => 1.0,
    };
    let wide = |value: i64| if unsigned { value as u64 as f64 } else { value as f64 / unit };
    let narrow =
        |value: i32| if unsigned { f64::from(value as u32) } else { f64::from(value) / unit };
    match reader {
        ColumnReader::BoolColumnReader(reader) => each(reader, rows, max_definition, |value| {
            visit(value.map(|&value| f64::from(u8::from(value))))
        }),
        ColumnReader::Int32ColumnReader(reader) => {
            each(reader, rows, max_definition, |value| visit(value.map(|&value| narrow(value))))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            each(reader, rows, max_definition, |value| visit(value.map(|&value| wide(value))))
        }
        ColumnReader::FloatColumnReader(reader) => {
            each(reader, rows, max_definition, |value| visit(value.map(|&value| value.into())))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            each(reader, rows, max_definition, |value| visit(value.copied()))
        }
        ColumnReader::ByteArrayColumnReader(reader) if matches!(stored, Stored::Decimal { .. }) => {
            each(reader, rows, max_definition, |value| {
                visit(value.and_then(|value| big_endian(value.data())).map(|value| value / unit));
            })
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader)
            if matches!(stored, Stored::Decimal { .. }) =>
        {
            each(reader, rows, max_definition, |value| {
                visit(value.and_then(|value| big_endian(value.data())).map(|value| value / unit));
            })
        }
        _ => Err("values that are no numbers".into()),
    }
}

/// A number of up to 128 bits in two's complement, the highest byte first.
fn big_endian(bytes: &[u8]) -> Option<f64> {
    let negative = bytes.first()? & 0x80 != 0;
    let start = if negative { -1i128 } else { 0 };
    let value = bytes.iter().fold(start, |value, &byte| value << 8 | i128::from(byte));
    (bytes.len() <= 16).then_some(value as f64)
}

fn kinds(
    reader: ColumnReader,
    filler: &mut Filler<'_>,
    rows: usize,
    max_definition: i16,
) -> Result<Vec<u8>, String> {
    let mut kinds = Vec::new();
    let mut push = |text: Option<&[u8]>| {
        let kind = text.and_then(row::event_kind);
        if kind.is_none() {
            filler.bad("add or remove", &String::from_utf8_lossy(text.unwrap_or(b"null")));
        }
        kinds.push(kind.unwrap_or(0));
        filler.row += 1;
    };
    match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            each(reader, rows, max_definition, |value| push(value.map(|value| value.data())))?;
        }
        ColumnReader::BoolColumnReader(reader) => each(reader, rows, max_definition, |value| {
            push(value.map(|&adds| if adds { &b"add"[..] } else { b"remove" }));
        })?,
        reader => visit_numbers(reader, rows, max_definition, &Stored::Signed, |value| {
            push(value.map(|value| value.to_string()).as_deref().map(str::as_bytes));
        })?,
    }
    Ok(kinds)
}
