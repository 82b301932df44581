//! The keys of a machine file with their lines, taken one by one; what nobody takes is unknown.

use std::cell::RefCell;

use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use zoetrope_graph::spelling::nearest;

use super::problem::{MachineError, MachineProblem};
use super::quantity::Quantity;

/// The longest part of a wrong value that is shown.
const SHOWN_LETTERS: usize = 80;

struct Field {
    key: String,
    value: Value,
    line: usize,
    taken: bool,
}

/// What a key takes besides its type.
pub(super) struct Range {
    least: f64,
    most: f64,
    words: &'static str,
}

/// More than nothing.
pub(super) const POSITIVE: Range = Range { least: f64::MIN_POSITIVE, most: 1e30, words: "above 0" };
/// Nothing or more.
pub(super) const NOT_NEGATIVE: Range = Range { least: 0.0, most: 1e30, words: "0 or more" };
/// A part of a whole.
pub(super) const FRACTION: Range = Range { least: 1e-6, most: 1.0, words: "above 0 and at most 1" };

/// The fields of a file.
pub(super) struct Fields<'f> {
    file: &'f str,
    fields: RefCell<Vec<Field>>,
    asked: RefCell<Vec<&'static str>>,
    problems: RefCell<Vec<MachineProblem>>,
}

impl<'f> Fields<'f> {
    /// Takes a text apart; `file` is what messages call it.
    pub(super) fn of(text: &str, file: &'f str) -> Result<Self, MachineError> {
        let mut fields = Vec::new();
        let parsed = DeTable::parse(text)
            .and_then(|table| collect(text, "", table.into_inner(), &mut fields));
        parsed.map_err(|error| {
            let (line, column) = position(text, error.span().map_or(0, |span| span.start));
            let reason = error.message().lines().collect::<Vec<_>>().join("; ");
            let problem = MachineProblem::Syntax { file: file.to_owned(), line, column, reason };
            MachineError::Wrong { problems: vec![problem] }
        })?;
        let (fields, asked) = (RefCell::new(fields), RefCell::default());
        Ok(Self { file, fields, asked, problems: RefCell::default() })
    }

    /// Whether a section has any key.
    pub(super) fn has(&self, section: &str) -> bool {
        let prefix = format!("{section}.");
        self.fields.borrow().iter().any(|field| field.key.starts_with(&prefix))
    }

    /// Takes a key as `read` understands it; None if it is not there or wrong, which is a problem then.
    fn take<T>(
        &self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        self.asked.borrow_mut().push(key);
        let mut fields = self.fields.borrow_mut();
        let field = fields.iter_mut().find(|field| field.key == key)?;
        field.taken = true;
        let value = read(&field.value);
        if value.is_none() {
            self.problems.borrow_mut().push(MachineProblem::BadValue {
                file: self.file.to_owned(),
                line: field.line,
                key: key.to_owned(),
                expected: expected.to_owned(),
                got: shown(&field.value),
            });
        }
        value
    }

    /// Says that a key has to be there, if it is not.
    fn require(&self, key: &str, expected: &str) {
        if !self.fields.borrow().iter().any(|field| field.key == key) {
            let (file, key) = (self.file.to_owned(), key.to_owned());
            let problem = MachineProblem::Missing { file, key, expected: expected.to_owned() };
            self.problems.borrow_mut().push(problem);
        }
    }

    /// A text that has to be there.
    pub(super) fn text(&self, key: &'static str) -> String {
        let expected = "a text that is not empty";
        let read =
            |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let text = self.take(key, expected, read);
        self.require(key, expected);
        text.unwrap_or_default()
    }

    /// A count from 1 to `most` that has to be there.
    pub(super) fn count(&self, key: &'static str, most: usize) -> usize {
        let expected = format!("a whole number from 1 to {most}");
        let read = |value: &Value| {
            let number = value.as_integer().and_then(|number| usize::try_from(number).ok())?;
            (1..=most).contains(&number).then_some(number)
        };
        let count = self.take(key, &expected, read);
        self.require(key, &expected);
        count.unwrap_or(1)
    }

    /// A number with a unit that has to be there.
    pub(super) fn quantity(&self, key: &'static str, of: &Quantity, range: &Range) -> f64 {
        let found = self.quantity_if(key, of, range);
        self.require(key, of.expected);
        found.unwrap_or(1.0)
    }

    /// A number with a unit, if it is there.
    pub(super) fn quantity_if(
        &self,
        key: &'static str,
        of: &Quantity,
        range: &Range,
    ) -> Option<f64> {
        let expected = format!("{}, {}", of.expected, range.words);
        let read = |value: &Value| {
            let number = value.as_str().and_then(|text| of.read(text))?;
            (range.least..=range.most).contains(&number).then_some(number)
        };
        self.take(key, &expected, read)
    }

    /// A number without a unit, if it is there.
    pub(super) fn number_if(&self, key: &'static str, range: &Range) -> Option<f64> {
        let expected = format!("a number {}", range.words);
        let read = |value: &Value| {
            let whole = || value.as_integer().map(|number| number as f64);
            let number = value.as_float().or_else(whole)?;
            (range.least..=range.most).contains(&number).then_some(number)
        };
        self.take(key, &expected, read)
    }

    /// Numbers that each are in a range, if they are there; `ascending` or not.
    pub(super) fn numbers_if(
        &self,
        key: &'static str,
        range: &Range,
        ascending: bool,
    ) -> Option<Vec<f64>> {
        let order = if ascending { ", each greater than the one before" } else { "" };
        let expected = format!("a list of numbers {}{order}", range.words);
        let read = |value: &Value| {
            let number = |value: &Value| {
                let whole = || value.as_integer().map(|number| number as f64);
                let number = value.as_float().or_else(whole)?;
                (range.least..=range.most).contains(&number).then_some(number)
            };
            let list: Vec<f64> = value.as_array()?.iter().map(number).collect::<Option<_>>()?;
            let sorted = !ascending || list.is_sorted_by(|left, right| left < right);
            (!list.is_empty() && sorted).then_some(list)
        };
        self.take(key, &expected, read)
    }

    /// Numbers that have to be there.
    pub(super) fn numbers(&self, key: &'static str, range: &Range, ascending: bool) -> Vec<f64> {
        let found = self.numbers_if(key, range, ascending);
        self.require(key, "a list of numbers");
        found.unwrap_or_else(|| vec![1.0])
    }

    /// As many numbers above 0 as there are points.
    pub(super) fn values(&self, key: &'static str, points: usize) -> Vec<f64> {
        let found = self.numbers(key, &POSITIVE, false);
        if found.len() == points {
            return found;
        }
        let fields = self.fields.borrow();
        if let Some(field) = fields.iter().find(|field| field.key == key) {
            self.problems.borrow_mut().push(MachineProblem::BadValue {
                file: self.file.to_owned(),
                line: field.line,
                key: key.to_owned(),
                expected: format!("{points} numbers, one for each point of its table"),
                got: found.len().to_string(),
            });
        }
        vec![1.0; points]
    }

    /// Whether something is so; not, if the key is not there.
    pub(super) fn flag(&self, key: &'static str) -> bool {
        self.take(key, "true or false", Value::as_bool).unwrap_or(false)
    }

    /// One of some names, that has to be there.
    pub(super) fn name<T: Copy>(&self, key: &'static str, names: &[(&str, T)]) -> T {
        let list: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of {}", list.join(", "));
        let read = |value: &Value| {
            let given = value.as_str()?;
            names.iter().find(|(name, _)| *name == given).map(|(_, meant)| *meant)
        };
        let found = self.take(key, &expected, read);
        self.require(key, &expected);
        found.unwrap_or(names[0].1)
    }

    /// All problems, those of keys that nobody took among them.
    pub(super) fn finish(self) -> Result<(), MachineError> {
        let (asked, mut problems) = (self.asked.into_inner(), self.problems.into_inner());
        for field in self.fields.into_inner().into_iter().filter(|field| !field.taken) {
            problems.push(MachineProblem::UnknownKey {
                file: self.file.to_owned(),
                line: field.line,
                nearest: nearest_key(&field.key, &asked),
                key: field.key,
            });
        }
        let line = |problem: &MachineProblem| match problem {
            MachineProblem::Syntax { line, .. }
            | MachineProblem::UnknownKey { line, .. }
            | MachineProblem::BadValue { line, .. } => *line,
            MachineProblem::Missing { .. } => usize::MAX,
        };
        problems.sort_by_key(line);
        if problems.is_empty() { Ok(()) } else { Err(MachineError::Wrong { problems }) }
    }
}

/// The key that was probably meant: one of the same section first.
fn nearest_key(key: &str, asked: &[&'static str]) -> Option<String> {
    let split = |key: &str| match key.rsplit_once('.') {
        Some((section, name)) => (section.to_owned(), name.to_owned()),
        None => (String::new(), key.to_owned()),
    };
    let (section, name) = split(key);
    let of_section = asked.iter().filter(|known| split(known).0 == section);
    let names: Vec<(String, &str)> = of_section.map(|known| (split(known).1, *known)).collect();
    let near = nearest(&name, names.iter().map(|(name, _)| name.as_str()));
    let found = near.and_then(|near| names.iter().find(|(name, _)| name == near));
    let found = found.map(|(_, known)| *known).or_else(|| nearest(key, asked.iter().copied()));
    found.map(str::to_owned)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN_LETTERS).collect::<String>();
    short = short.escape_debug().to_string().replace("\\\"", "\"");
    if text.chars().nth(SHOWN_LETTERS).is_some() {
        short.push('…');
    }
    short
}

fn collect(
    text: &str,
    section: &str,
    table: DeTable<'_>,
    fields: &mut Vec<Field>,
) -> Result<(), toml::de::Error> {
    for (name, content) in table {
        let line = position(text, name.span().start).0;
        let key = match section {
            "" => name.get_ref().to_string(),
            section => format!("{section}.{}", name.get_ref()),
        };
        match content.get_ref() {
            DeValue::Table(_) => {
                let DeValue::Table(inner) = content.into_inner() else { continue };
                if inner.is_empty() {
                    let value = Value::Table(toml::Table::new());
                    fields.push(Field { key, value, line, taken: false });
                } else {
                    collect(text, &key, inner, fields)?;
                }
            }
            _ => {
                let value = Value::deserialize(ValueDeserializer::from(content))?;
                fields.push(Field { key, value, line, taken: false });
            }
        }
    }
    Ok(())
}

/// Line and column, both from 1, of a byte.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}
