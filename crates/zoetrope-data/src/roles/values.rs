//! What the sampled values of columns say about their roles.

use std::collections::HashMap;

use crate::table::kind::ColumnKind;
use crate::table::{date, number};

/// Fewer rows than this say nothing about whether values repeat or rise.
pub(super) const TELLING_ROWS: usize = 20;

/// What the sampled values of one column show.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) kind: ColumnKind,
    /// Sampled values that are there.
    pub(super) present: usize,
    /// The distinct ones among them, as numbers from 0 in the order in which they were met;
    /// `None` if a value is missing.
    codes: Vec<Option<u32>>,
    values: HashMap<String, u32>,
    /// Whether they never fall, as numbers or dates, and are not all the same.
    pub(super) rises: bool,
    /// Whether each is the one before it plus one.
    pub(super) counts: bool,
    /// How often one is below the one before it.
    pub(super) falls: usize,
    /// The least and the largest number.
    pub(super) range: Option<(f64, f64)>,
    /// Whether all are times of day, such as 16:39.
    pub(super) clock: bool,
    /// Whether all are plausible Unix times.
    pub(super) unix: bool,
    /// Whether all numbers are whole.
    whole: bool,
    /// Whether all are 0 or 1, true or false, yes or no.
    pub(super) binary: bool,
    numbers: Vec<Option<f64>>,
}

impl Facts {
    /// The facts of the column at `at`.
    pub(super) fn of(kind: ColumnKind, sample: &[Vec<String>], at: usize) -> Self {
        let cell = |row: &Vec<String>| row.get(at).cloned().unwrap_or_default();
        let mut values = HashMap::new();
        let mut codes = Vec::with_capacity(sample.len());
        let mut numbers = Vec::with_capacity(sample.len());
        let cells = || sample.iter().filter_map(|row| row.get(at)).map(String::as_str);
        let whole_decimals = kind == ColumnKind::Decimal && number::are_whole(cells());
        for mut text in sample.iter().map(cell) {
            if number::is_missing(text.as_bytes()) {
                codes.push(None);
                numbers.push(None);
                continue;
            }
            if whole_decimals && let Some(id) = number::integer(text.as_bytes()) {
                // 12.0 in one column names the same vertex as 12 in the other.
                text = id.to_string();
            }
            numbers.push(value(kind, &text));
            let next = values.len() as u32;
            codes.push(Some(*values.entry(text).or_insert(next)));
        }
        let known: Vec<f64> = numbers.iter().copied().flatten().collect();
        let present = codes.iter().flatten().count();
        let all = |test: &dyn Fn(f64) -> bool| {
            !known.is_empty() && known.len() * 10 >= present * 9 && known.iter().all(|&v| test(v))
        };
        let steps = |test: &dyn Fn(f64, f64) -> bool| {
            known.len() > 1 && known.windows(2).all(|pair| test(pair[0], pair[1]))
        };
        let is_unix = |value: f64| {
            [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (3e8 * unit..4.2e9 * unit).contains(&value))
        };
        let falls = known.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let least = known.iter().copied().reduce(f64::min);
        let words = ["0", "1", "true", "false", "yes", "no", "0.0", "1.0"];
        Self {
            kind,
            present,
            rises: steps(&|one, two| one <= two) && known.first() != known.last(),
            falls,
            range: least.zip(known.iter().copied().reduce(f64::max)),
            clock: kind == ColumnKind::Text && values.keys().all(|text| date::is_clock(text)),
            counts: steps(&|one, two| two == one + 1.0),
            unix: kind.is_number() && all(&is_unix),
            whole: all(&|value| value.fract() == 0.0),
            binary: !values.is_empty()
                && values.keys().all(|text| words.contains(&text.to_lowercase().as_str())),
            codes,
            values,
            numbers,
        }
    }

    /// Whether there are only one or two different numbers, which are no vertices.
    pub(super) fn has_two_numbers(&self) -> bool {
        self.present >= TELLING_ROWS && self.kind.is_number() && self.distinct() <= 2
    }

    /// Whether numbers fall so seldom that a few rows may have been added out of order.
    pub(super) fn nearly_rises(&self) -> bool {
        self.present >= TELLING_ROWS && self.distinct() > 2 && 20 * self.falls <= self.present
    }

    /// Whether the numbers are unsorted, and either few of them are distinct or all lie between 0 and 1: times
    /// of as many rows would be more varied.
    pub(super) fn looks_like_a_weight(&self) -> bool {
        let few = 10 * self.distinct() <= self.present;
        let fractions =
            !self.whole && self.range.is_some_and(|(low, high)| low >= 0.0 && high <= 1.0);
        self.present >= TELLING_ROWS
            && self.kind.is_number()
            && 4 * self.falls > self.present
            && (few || fractions)
    }

    /// Whether no value is above the one beside it in the other column, as the start of a time is
    /// not above its end.
    pub(super) fn never_exceeds(&self, other: &Self) -> bool {
        let pairs = self.numbers.iter().zip(&other.numbers).filter_map(|(a, b)| a.zip(*b));
        let mut pairs = pairs.peekable();
        pairs.peek().is_some() && pairs.all(|(one, two)| one <= two)
    }

    /// The different values, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &String> {
        self.values.keys()
    }

    /// How many different values there are.
    pub(super) fn distinct(&self) -> usize {
        self.values.len()
    }

    /// Whether there are enough values to judge, and every one differs from all others.
    pub(super) fn is_unique(&self) -> bool {
        self.present >= TELLING_ROWS && self.distinct() == self.present
    }

    /// Whether there are enough values to judge, and all are the same.
    pub(super) fn is_constant(&self) -> bool {
        self.present >= TELLING_ROWS && self.distinct() == 1
    }

    /// Whether values can name vertices.
    pub(super) fn can_name(&self) -> bool {
        match self.kind {
            ColumnKind::Integer | ColumnKind::Text => true,
            ColumnKind::Decimal => self.whole,
            _ => false,
        }
    }

    /// The values that both columns have, as a share of those that either has.
    pub(super) fn shared(&self, other: &Self) -> f64 {
        let (few, many) =
            if self.distinct() <= other.distinct() { (self, other) } else { (other, self) };
        let both = few.values.keys().filter(|value| many.values.contains_key(*value)).count();
        both as f64 / (self.distinct() + other.distinct() - both).max(1) as f64
    }

    /// Whether both columns have the same value in every row.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let text = |facts: &Self| -> Vec<Option<String>> {
            let mut texts = vec![String::new(); facts.values.len()];
            facts.values.iter().for_each(|(text, &code)| texts[code as usize].clone_from(text));
            facts.codes.iter().map(|code| code.map(|code| texts[code as usize].clone())).collect()
        };
        self.present >= TELLING_ROWS && text(self) == text(other)
    }

    /// Whether a value of this column has only one value of the other beside it, and repeats
    /// often enough that this says something.
    pub(super) fn determines(&self, other: &Self) -> bool {
        let mut beside: Vec<Option<u32>> = vec![None; self.distinct()];
        for (code, other) in self.codes.iter().zip(&other.codes) {
            let (Some(code), Some(other)) = (code, other) else { continue };
            let known = &mut beside[*code as usize];
            if known.is_some_and(|known| known != *other) {
                return false;
            }
            *known = Some(*other);
        }
        self.present >= TELLING_ROWS && 10 * self.distinct() <= 9 * self.present
    }

    /// Whether the two columns order the rows alike, or one is the other in other words.
    pub(super) fn orders_like(&self, other: &Self) -> bool {
        let pairs: Vec<(f64, f64)> =
            self.numbers.iter().zip(&other.numbers).filter_map(|(a, b)| a.zip(*b)).collect();
        let alike = |one: &(f64, f64), two: &(f64, f64)| (two.0 - one.0) * (two.1 - one.1) >= 0.0;
        pairs.len() > 1 && pairs.windows(2).all(|pair| alike(&pair[0], &pair[1]))
    }

    /// The first different values, for people.
    pub(super) fn shown(&self) -> String {
        let mut first: Vec<(&u32, &String)> =
            self.values.iter().map(|(v, code)| (code, v)).collect();
        first.sort();
        let first = first.into_iter().take(3).map(|(_, value)| crate::error::shorten(value));
        let first: Vec<String> = first.map(|value| value.chars().take(24).collect()).collect();
        first.join(", ")
    }
}

/// The place of a value on a line: a number, or the second of a date.
fn value(kind: ColumnKind, text: &str) -> Option<f64> {
    match kind {
        ColumnKind::Date(form) => {
            let stamp = form.parse(text.as_bytes())?;
            Some(stamp.ticks as f64 / 10f64.powi(i32::from(stamp.digits)))
        }
        ColumnKind::Integer | ColumnKind::Decimal => text.parse().ok(),
        _ => None,
    }
}
