//! Decoded parts to whole columns, in file order, without the bad rows.

use rayon::prelude::*;
use zoetrope_graph::{TextTable, TimeScale, TimeUnit};

use crate::assemble::{RawIds, scale_of};
use crate::formats::parquet::decode::Values;
use crate::table::chunk::Interner;
use crate::table::timestamp::rescale;

/// Which rows of a row group to take; all if absent.
pub(crate) type Keep<'a> = Option<&'a [bool]>;

/// Appends the rows that are kept.
pub(crate) fn extend<T: Copy>(column: &mut Vec<T>, part: &[T], keep: Keep<'_>) {
    match keep {
        None => column.extend_from_slice(part),
        Some(keep) => {
            column
                .extend(part.iter().zip(keep).filter(|(_, keep)| **keep).map(|(value, _)| *value));
        }
    }
}

/// A column of identifiers.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    integers: Vec<i64>,
    codes: Vec<u32>,
    table: Interner,
}

impl Ids {
    pub(crate) fn push(&mut self, values: Values, keep: Keep<'_>) {
        match values {
            Values::Integers(values) => extend(&mut self.integers, &values, keep),
            Values::Text { codes, table } => {
                let texts = table.into_texts();
                // A text whose rows are all bad must not become a vertex.
                let mut used = vec![keep.is_none(); texts.len()];
                if let Some(keep) = keep {
                    let kept = codes.iter().zip(keep).filter(|(_, keep)| **keep);
                    kept.for_each(|(&code, _)| used[code as usize] = true);
                }
                let fresh: Vec<u32> = texts
                    .iter()
                    .zip(&used)
                    .map(|(text, &used)| if used { self.table.code(text) } else { 0 })
                    .collect();
                let codes: Vec<u32> = codes.iter().map(|&code| fresh[code as usize]).collect();
                extend(&mut self.codes, &codes, keep);
            }
            _ => {}
        }
    }

    pub(crate) fn integers(&self) -> Option<&[i64]> {
        self.codes.is_empty().then_some(&self.integers)
    }

    pub(crate) fn finish(self) -> RawIds {
        if self.codes.is_empty() {
            RawIds::Integers(self.integers)
        } else {
            RawIds::Text { codes: self.codes, table: self.table.into_texts() }
        }
    }
}

/// A column of times.
#[derive(Debug, Default)]
pub(crate) struct Times {
    ticks: Vec<i64>,
    reals: Vec<f64>,
    /// Decimals of a second that `ticks` have, if they came from text.
    digits: Option<u8>,
}

impl Times {
    /// Appends a part; `false` if times with more decimals than before do not fit 64 bits.
    pub(crate) fn push(&mut self, values: Values, keep: Keep<'_>) -> bool {
        match values {
            Values::Integers(values) => extend(&mut self.ticks, &values, keep),
            Values::Reals(values) => extend(&mut self.reals, &values, keep),
            Values::Stamps(chunk) => {
                let digits = self.digits.unwrap_or(0).max(chunk.digits);
                let Some(before) = all_rescaled(&self.ticks, self.digits.unwrap_or(0), digits)
                else {
                    return false;
                };
                let Some(part) = all_rescaled(&chunk.ticks, chunk.digits, digits) else {
                    return false;
                };
                self.ticks = before;
                self.digits = Some(digits);
                extend(&mut self.ticks, &part, keep);
            }
            _ => {}
        }
        true
    }

    /// Ticks, their scale and a warning, if the column came as floats or text.
    pub(crate) fn finish(self, given: Option<TimeUnit>) -> (Vec<i64>, TimeScale, Option<String>) {
        if !self.reals.is_empty() {
            let (ticks, unit, exact) = fixed_point(&self.reals);
            let unit = if unit == TimeUnit::Second { given } else { Some(unit) };
            let scale = scale_of(ticks.iter().copied(), unit);
            let warning = (!exact).then(|| {
                format!("times are floats and were rounded to a {:?}", scale.unit).to_lowercase()
            });
            return (ticks, scale, warning);
        }
        let unit = match self.digits {
            None | Some(0) => given,
            Some(3) => Some(TimeUnit::Millisecond),
            Some(6) => Some(TimeUnit::Microsecond),
            Some(_) => Some(TimeUnit::Nanosecond),
        };
        let scale = scale_of(self.ticks.iter().copied(), unit);
        (self.ticks, scale, None)
    }
}

fn all_rescaled(ticks: &[i64], from: u8, to: u8) -> Option<Vec<i64>> {
    ticks.iter().map(|&ticks| rescale(ticks, from, to)).collect()
}

/// Float seconds as integers: the coarsest of second, milli-, micro- and nanosecond at which every
/// value reads back as the float it was; else the finest that fits 64 bits, and `false`.
fn fixed_point(seconds: &[f64]) -> (Vec<i64>, TimeUnit, bool) {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let largest = seconds.par_iter().map(|value| value.abs()).reduce(|| 0.0, f64::max);
    let scales = [(Second, 1.0), (Millisecond, 1e3), (Microsecond, 1e6), (Nanosecond, 1e9)];
    let fits = |scale: f64| largest * scale < i64::MAX as f64;
    let exact =
        |scale: f64| seconds.par_iter().all(|&value| (value * scale).round() / scale == value);
    let chosen = scales.iter().find(|(_, scale)| fits(*scale) && exact(*scale));
    let finest = scales.iter().rev().find(|(_, scale)| fits(*scale)).unwrap_or(&scales[0]);
    let &(unit, scale) = chosen.unwrap_or(finest);
    // Beyond 64 bits even in seconds: `as` saturates, and the warning says that it is not exact.
    let ticks = seconds.par_iter().map(|&value| (value * scale).round() as i64).collect();
    (ticks, unit, chosen.is_some())
}

/// A column of labels: numbers, or text that becomes class numbers in the order of the names.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    numbers: Vec<f32>,
    codes: Vec<Option<u32>>,
    table: Interner,
}

impl Labels {
    pub(crate) fn push(&mut self, values: Values, keep: Keep<'_>) {
        match values {
            Values::Numbers(values) => extend(&mut self.numbers, &values, keep),
            Values::Classes { codes, table } => {
                let texts = table.into_texts();
                let fresh: Vec<u32> = texts.iter().map(|text| self.table.code(text)).collect();
                let codes: Vec<Option<u32>> =
                    codes.iter().map(|code| code.map(|code| fresh[code as usize])).collect();
                extend(&mut self.codes, &codes, keep);
            }
            _ => {}
        }
    }

    pub(crate) fn finish(self) -> (Vec<f32>, TextTable) {
        if self.codes.is_empty() {
            return (self.numbers, TextTable::default());
        }
        let texts = self.table.into_texts();
        let mut used = vec![false; texts.len()];
        self.codes.iter().flatten().for_each(|&code| used[code as usize] = true);
        let mut order: Vec<usize> = (0..texts.len()).filter(|&code| used[code]).collect();
        order.sort_by_key(|&code| texts.get(code));
        let mut class = vec![f32::NAN; texts.len()];
        order.iter().enumerate().for_each(|(rank, &code)| class[code] = rank as f32);
        let labels =
            self.codes.iter().map(|code| code.map_or(f32::NAN, |code| class[code as usize]));
        (labels.collect(), order.iter().map(|&code| texts.get(code)).collect())
    }
}

/// The features of all events, row by row.
#[derive(Debug, Default)]
pub(crate) struct Features {
    pub(crate) values: Vec<f32>,
    /// The width of each column; 0 while a list column has shown no list.
    pub(crate) widths: Vec<usize>,
}

impl Features {
    /// Appends the columns of a row group. Fails with the position of a list column whose width
    /// differs from that of earlier row groups.
    pub(crate) fn push(
        &mut self,
        parts: Vec<Values>,
        rows: usize,
        keep: Keep<'_>,
    ) -> Result<(), usize> {
        let found: Vec<usize> = parts
            .iter()
            .map(|part| match part {
                Values::List { width, .. } => *width,
                _ => 1,
            })
            .collect();
        if self.widths.is_empty() {
            self.widths = found.clone();
        }
        for (column, (&width, known)) in found.iter().zip(&self.widths).enumerate() {
            // A row group of empty lists shows no width; one that shows it after such a group
            // would have to widen rows that are written already.
            if width != *known && width != 0 {
                return Err(column);
            }
        }
        let width: usize = self.widths.iter().sum();
        let start = self.values.len();
        self.values.resize(start + rows * width, f32::NAN);
        let widths = &self.widths;
        let block = 1024;
        self.values[start..].par_chunks_mut((block * width).max(1)).enumerate().for_each(
            |(index, rows)| {
                let mut at = 0;
                for (part, &width_here) in parts.iter().zip(widths) {
                    fill(rows, width, at, part, index * block);
                    at += width_here;
                }
            },
        );
        if let Some(keep) = keep {
            drop_rows(&mut self.values, start, width, keep);
        }
        Ok(())
    }
}

/// Copies a part's rows from `first_row` on into the columns from `at` on.
fn fill(rows: &mut [f32], width: usize, at: usize, part: &Values, first_row: usize) {
    match part {
        Values::Numbers(values) => {
            for (row, value) in rows.chunks_exact_mut(width).zip(&values[first_row..]) {
                row[at] = *value;
            }
        }
        Values::List { width: listed, values } if *listed != 0 => {
            let lists = values[first_row * listed..].chunks_exact(*listed);
            for (row, list) in rows.chunks_exact_mut(width).zip(lists) {
                row[at..at + listed].copy_from_slice(list);
            }
        }
        _ => {}
    }
}

fn drop_rows(values: &mut Vec<f32>, start: usize, width: usize, keep: &[bool]) {
    let mut to = start;
    for (row, &keep) in keep.iter().enumerate() {
        if keep {
            let from = start + row * width;
            values.copy_within(from..from + width, to);
            to += width;
        }
    }
    values.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_times_take_the_coarsest_exact_unit() {
        assert_eq!(fixed_point(&[1.0, -2.0]), (vec![1, -2], TimeUnit::Second, true));
        assert_eq!(fixed_point(&[1.5, 2.0]), (vec![1500, 2000], TimeUnit::Millisecond, true));
        let (ticks, unit, exact) = fixed_point(&[1_289_241_911.728_36]);
        assert_eq!((ticks[0], unit, exact), (1_289_241_911_728_360, TimeUnit::Microsecond, true));
        let (ticks, unit, exact) = fixed_point(&[1.0 / 3.0]);
        assert_eq!((ticks[0], unit, exact), (333_333_333, TimeUnit::Nanosecond, false));
    }

    #[test]
    fn features_of_numbers_and_lists_stand_side_by_side() {
        let mut features = Features::default();
        let list = Values::List { width: 2, values: vec![1.0, 2.0, 3.0, 4.0] };
        let keep = [false, true];
        features.push(vec![Values::Numbers(vec![7.0, 8.0]), list], 2, Some(&keep)).unwrap();
        assert_eq!(features.values, [8.0, 3.0, 4.0]);
        let narrow = Values::List { width: 1, values: vec![1.0] };
        let result = features.push(vec![Values::Numbers(vec![7.0]), narrow], 1, None);
        assert_eq!(result, Err(1));
    }
}
