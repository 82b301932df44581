//! The path that nearly all rows take: unsigned integers and plain decimals between delimiters.
//!
//! A row is read in one pass from its first byte, without finding the fields first. Anything
//! unusual (a quote, a sign before an identifier, a blank, a missing value) makes it give up and
//! leave the row to the slow path, which reads it again.

use crate::table::chunk::{Chunk, IdChunk, LabelChunk};
use crate::table::row::{Action, Plan};
use crate::table::{number, timestamp};

/// What to read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Source,
    Destination,
    Time,
    Weight,
    Label,
    /// Features `first..first + count` from as many columns.
    Features {
        first: usize,
        count: usize,
    },
    Skip,
}

/// The steps of a plain row, or `None` if a column cannot be read plainly.
pub(crate) fn steps(actions: &[Action]) -> Option<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    for &action in actions {
        let step = match action {
            Action::Skip => Step::Skip,
            Action::Source => Step::Source,
            Action::Destination => Step::Destination,
            Action::DecimalTime => Step::Time,
            Action::Weight => Step::Weight,
            Action::NumberLabel => Step::Label,
            Action::Feature(index) => match steps.last_mut() {
                Some(Step::Features { first, count }) if *first + *count == index => {
                    *count += 1;
                    continue;
                }
                _ => Step::Features { first: index, count: 1 },
            },
            _ => return None,
        };
        steps.push(step);
    }
    Some(steps)
}

impl Plan {
    /// Reads a plain row and returns where the next one starts; `None`, with the columns as
    /// before, if the row is not plain.
    #[inline(always)]
    pub(super) fn fast_row(&self, block: &[u8], start: usize, chunk: &mut Chunk) -> Option<usize> {
        let steps = self.steps.as_ref()?;
        let next = self.fast_fields(steps, block, start, chunk);
        match next {
            Some(_) => chunk.rows += 1,
            None => self.roll_back(chunk),
        }
        next
    }

    #[inline(always)]
    fn fast_fields(
        &self,
        steps: &[Step],
        block: &[u8],
        mut at: usize,
        chunk: &mut Chunk,
    ) -> Option<usize> {
        let delimiter = self.dialect.delimiter;
        for (index, &step) in steps.iter().enumerate() {
            if index > 0 {
                at = behind(block, at, delimiter)?;
            }
            at = match step {
                Step::Source => id_at(block, at, &mut chunk.src)?,
                Step::Destination => id_at(block, at, &mut chunk.dst)?,
                Step::Time => {
                    let (stamp, end) = timestamp::decimal_at(block, at)?;
                    chunk.time.push(stamp).then_some(end)?
                }
                Step::Weight => {
                    let (value, end) = short_float_at(block, at, delimiter)?;
                    chunk.weight.push(value);
                    end
                }
                Step::Label => {
                    let (value, end) = short_float_at(block, at, delimiter)?;
                    let LabelChunk::Numbers(labels) = &mut chunk.label else { return None };
                    labels.push(value);
                    end
                }
                Step::Features { first, count } => {
                    self.features_at(block, at, first, count, chunk)?
                }
                Step::Skip => self.skip_at(block, at, index + 1 == steps.len())?,
            };
        }
        match block.get(at) {
            None => Some(at),
            Some(b'\n') => Some(at + 1),
            Some(b'\r') if block.get(at + 1) == Some(&b'\n') => Some(at + 2),
            _ => None,
        }
    }

    #[inline(always)]
    fn features_at(
        &self,
        block: &[u8],
        mut at: usize,
        first: usize,
        count: usize,
        chunk: &mut Chunk,
    ) -> Option<usize> {
        let row = chunk.rows * self.feature_width;
        if chunk.features.len() < row + self.feature_width {
            chunk.features.resize(row + self.feature_width, f32::NAN);
        }
        let delimiter = self.dialect.delimiter;
        let features = &mut chunk.features[row + first..row + first + count];
        for (index, feature) in features.iter_mut().enumerate() {
            if index > 0 {
                at = behind(block, at, delimiter)?;
            }
            (*feature, at) = short_float_at(block, at, delimiter)?;
        }
        Some(at)
    }

    /// Behind a field that is not used.
    #[inline(always)]
    fn skip_at(&self, block: &[u8], at: usize, last: bool) -> Option<usize> {
        if block.get(at) == Some(&b'"') || (self.dialect.blanks && last) {
            return None;
        }
        let end = at + memchr::memchr2(self.dialect.delimiter, b'\n', &block[at..])?;
        let carriage_return = last && block[at..end].last() == Some(&b'\r');
        Some(end - usize::from(carriage_return))
    }
}

#[inline(always)]
fn behind(block: &[u8], at: usize, delimiter: u8) -> Option<usize> {
    (block.get(at) == Some(&delimiter)).then_some(at + 1)
}

#[inline(always)]
fn id_at(block: &[u8], at: usize, ids: &mut IdChunk) -> Option<usize> {
    let (value, end) = number::unsigned_at(block, at)?;
    // `007` is another name than `7`: the slow path says so.
    if block[at] == b'0' && end - at > 1 {
        return None;
    }
    match ids {
        IdChunk::Narrow(values) if value <= u64::from(u32::MAX) => values.push(value as u32),
        _ => ids.push_integer(value as i64),
    }
    Some(end)
}

/// A number; one digit before a delimiter, as most one-hot features and labels are, at once.
#[inline(always)]
fn short_float_at(block: &[u8], at: usize, delimiter: u8) -> Option<(f32, usize)> {
    match block.get(at..at + 2) {
        Some(&[digit @ b'0'..=b'9', next]) if next == delimiter || next == b'\n' => {
            Some((f32::from(digit - b'0'), at + 1))
        }
        _ => number::float_at(block, at),
    }
}
