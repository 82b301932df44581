//! What the sampled values of a column are.

use crate::table::date::DateForm;
use crate::table::number;

/// What a column holds, judged from its first rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// No value in any sampled row.
    Empty,
    /// Integers.
    Integer,
    /// Numbers with a fraction or an exponent.
    Decimal,
    /// Dates, written in this form.
    Date(DateForm),
    /// This many numbers separated by commas inside one field.
    NumberList(usize),
    /// Anything else.
    Text,
}

impl ColumnKind {
    /// The kind that at least nine of ten present values have, so that a few bad rows are
    /// reported as bad instead of turning their column into text.
    pub(crate) fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let present: Vec<&[u8]> = values
            .into_iter()
            .map(str::as_bytes)
            .filter(|value| !number::is_missing(value))
            .collect();
        if present.is_empty() {
            return Self::Empty;
        }
        let most = |test: &dyn Fn(&[u8]) -> bool| {
            present.iter().filter(|value| test(value)).count() * 10 >= present.len() * 9
        };
        if most(&|value| number::integer(value).is_some() && !value.contains(&b'.')) {
            return Self::Integer;
        }
        if most(&is_number) {
            return Self::Decimal;
        }
        if let Some(form) = DateForm::of(&present) {
            return Self::Date(form);
        }
        let width = list_width(present[0]);
        if width > 1 && most(&|value| list_width(value) == width) {
            return Self::NumberList(width);
        }
        Self::Text
    }

    /// Whether the column holds something that a header would not look like.
    pub(crate) fn is_measured(self) -> bool {
        !matches!(self, Self::Empty | Self::Text)
    }

    /// Whether the column holds single numbers.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal)
    }
}

/// A number of any size: integers beyond 64 bits (wei amounts) are numbers too.
fn is_number(value: &[u8]) -> bool {
    number::float(value).is_some_and(f32::is_finite)
}

fn list_width(value: &[u8]) -> usize {
    let parts = value.split(|&byte| byte == b',');
    if parts.clone().all(|part| is_number(part.trim_ascii())) { parts.count() } else { 0 }
}
