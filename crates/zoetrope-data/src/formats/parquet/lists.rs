//! List columns of fixed length: the features of an event in one column.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;

use crate::formats::parquet::decode::{BATCH_ROWS, Filler, Levels, Values};

/// Lists of equal length; a null or empty list is a row of missing values.
pub(crate) fn lists(
    reader: ColumnReader,
    filler: &mut Filler<'_>,
    rows: usize,
    levels: Levels,
    unsigned: bool,
) -> Result<Values, String> {
    let mut lists = Lists { filler, width: 0, values: Vec::new(), current: Vec::new(), empty: 0 };
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            each_list(reader, rows, levels, &mut lists, |&value| f64::from(u8::from(value)))?;
        }
        ColumnReader::Int32ColumnReader(reader) => {
            each_list(reader, rows, levels, &mut lists, |&value| {
                if unsigned { f64::from(value as u32) } else { f64::from(value) }
            })?;
        }
        ColumnReader::Int64ColumnReader(reader) => {
            each_list(reader, rows, levels, &mut lists, |&value| {
                if unsigned { value as u64 as f64 } else { value as f64 }
            })?;
        }
        ColumnReader::FloatColumnReader(reader) => {
            each_list(reader, rows, levels, &mut lists, |&value| f64::from(value))?;
        }
        ColumnReader::DoubleColumnReader(reader) => {
            each_list(reader, rows, levels, &mut lists, |&value| value)?;
        }
        _ => return Err("a list of values that are no numbers".into()),
    }
    let (width, values) = (lists.width, lists.values);
    Ok(Values::List { width, values })
}

/// Lists in the making.
struct Lists<'a, 'b> {
    filler: &'a mut Filler<'b>,
    width: usize,
    values: Vec<f32>,
    current: Vec<f32>,
    /// Empty rows before the first that tells the width.
    empty: usize,
}

impl Lists<'_, '_> {
    fn end_row(&mut self, rows: usize) -> Result<(), String> {
        if self.width == 0 && !self.current.is_empty() {
            self.width = self.current.len();
            if rows.saturating_mul(self.width) > self.filler.place.most_values {
                return Err(format!("lists of {} numbers in a file of this size", self.width));
            }
            self.values = vec![f32::NAN; self.empty * self.width];
            self.filler.missing += (self.empty * self.width) as u64;
        }
        if self.width == 0 {
            self.empty += 1;
        } else if self.current.len() == self.width {
            self.values.append(&mut self.current);
        } else {
            if self.current.is_empty() {
                self.filler.missing += self.width as u64
            } else {
                let expected = format!("a list of {} numbers", self.width);
                self.filler.bad(&expected, &format!("{}", self.current.len()));
            }
            self.values.resize(self.values.len() + self.width, f32::NAN);
        }
        self.current.clear();
        self.filler.row += 1;
        Ok(())
    }
}

fn each_list<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    levels: Levels,
    lists: &mut Lists<'_, '_>,
    real: impl Fn(&T::T) -> f64,
) -> Result<(), String> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    let mut done = 0;
    while done < rows {
        values.clear();
        definitions.clear();
        repetitions.clear();
        let batch = BATCH_ROWS.min(rows - done);
        let (records, _, _) = reader
            .read_records(batch, Some(&mut definitions), Some(&mut repetitions), &mut values)
            .map_err(|error| error.to_string())?;
        if records == 0 {
            return Err(format!("{done} rows, but the footer declares {rows}"));
        }
        let mut present = values.iter();
        for (level, (&definition, &repetition)) in definitions.iter().zip(&repetitions).enumerate()
        {
            if repetition == 0 && level != 0 {
                lists.end_row(rows)?;
            }
            if definition == levels.value {
                let value = lists.filler.number(present.next().map(&real));
                lists.current.push(value);
            } else if definition >= levels.element {
                let value = lists.filler.number(None);
                lists.current.push(value);
            }
        }
        lists.end_row(rows)?;
        done += records;
    }
    Ok(())
}
