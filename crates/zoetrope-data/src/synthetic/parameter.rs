//! What a generator declares about itself, and the checked values it is given.

use std::fmt;
use std::path::PathBuf;

use zoetrope_graph::GraphError;

use super::stream::EventStream;
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

/// Makes the whole data set.
pub(super) type Build = fn(&Arguments, &dyn Progress) -> Result<Dataset, DataError>;
/// Makes the events chunk by chunk.
pub(super) type Stream = fn(&Arguments) -> Result<EventStream, DataError>;

/// A generator: its documentation and the function that runs it.
#[derive(Debug, Clone, Copy)]
pub struct Generator {
    /// The name after `synthetic:`.
    pub name: &'static str,
    /// What it makes, in one line.
    pub summary: &'static str,
    /// The model, with its formula.
    pub model: &'static str,
    /// Where the model comes from.
    pub source: &'static str,
    /// The parameters, the important ones first.
    pub parameters: &'static [Parameter],
    /// A complete name to copy.
    pub example: &'static str,
    pub(super) build: Build,
    pub(super) stream: Option<Stream>,
}

impl Generator {
    /// Whether [`stream`](super::stream) can make it chunk by chunk.
    pub fn streams(&self) -> bool {
        self.stream.is_some()
    }
}

/// A parameter of a generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// The key before `=`.
    pub name: &'static str,
    /// The value if none is given.
    pub default: &'static str,
    /// What is accepted.
    pub range: Range,
    /// What it changes.
    pub meaning: &'static str,
}

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// An integer, both ends included.
    Integer {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A number, both ends included.
    Real {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max: u64::MAX } => write!(f, "an integer from {min}"),
            Self::Integer { min, max } => write!(f, "an integer from {min} to {max}"),
            Self::Real { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// The parameter that every generator has.
pub(super) const SEED: Parameter =
    integer("seed", "0", 0, u64::MAX, "the same seed makes the same bits");

pub(super) const fn integer(
    name: &'static str,
    default: &'static str,
    min: u64,
    max: u64,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, default, range: Range::Integer { min, max }, meaning }
}

pub(super) const fn real(
    name: &'static str,
    default: &'static str,
    min: f64,
    max: f64,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, default, range: Range::Real { min, max }, meaning }
}

pub(super) const fn choice(
    name: &'static str,
    default: &'static str,
    words: &'static [&'static str],
    meaning: &'static str,
) -> Parameter {
    Parameter { name, default, range: Range::Choice(words), meaning }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Integer(u64),
    Real(f64),
    Choice(&'static str),
}

impl Parameter {
    pub(super) fn read(&self, text: &str) -> Result<Value, DataError> {
        let value = match self.range {
            Range::Integer { min, max } => {
                read_integer(text).filter(|value| (min..=max).contains(value)).map(Value::Integer)
            }
            Range::Real { min, max } => {
                text.parse().ok().filter(|value: &f64| (min..=max).contains(value)).map(Value::Real)
            }
            Range::Choice(words) => {
                words.iter().find(|&&word| word == text).map(|word| Value::Choice(word))
            }
        };
        value.ok_or_else(|| DataError::BadParameter {
            parameter: self.name.into(),
            value: crate::error::shorten(text),
            expected: self.range.to_string(),
        })
    }
}

/// Integers as people write large ones: `200000`, `200_000`, `200k`, `2e5`, `5M`, `1G`.
fn read_integer(text: &str) -> Option<u64> {
    let plain: String = text.chars().filter(|&digit| digit != '_').collect();
    let (digits, factor) = match plain.as_bytes().last()? {
        b'k' => (&plain[..plain.len() - 1], 1_000),
        b'M' => (&plain[..plain.len() - 1], 1_000_000),
        b'G' => (&plain[..plain.len() - 1], 1_000_000_000),
        _ => (&plain[..], 1),
    };
    if let Ok(value) = digits.parse::<u64>() {
        return value.checked_mul(factor);
    }
    // `1.5k` and `1e6`: whole numbers that a double holds exactly.
    let value = digits.parse::<f64>().ok()? * factor as f64;
    (value.fract() == 0.0 && (0.0..=9.0e15).contains(&value)).then_some(value as u64)
}

/// The values of all parameters of one generator, checked against their ranges.
///
/// Prints as the complete name, every parameter spelt out.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    pub(super) generator: &'static str,
    pub(super) values: Vec<(&'static str, Value)>,
}

impl Arguments {
    fn get(&self, name: &str) -> Value {
        let found = self.values.iter().find(|(key, _)| *key == name);
        found.unwrap_or_else(|| panic!("{} declares no parameter `{name}`", self.generator)).1
    }

    pub(super) fn integer(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Integer(value) => value,
            other => panic!("{}: `{name}` is {other:?}, no integer", self.generator),
        }
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.integer(name) as usize
    }

    pub(super) fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Real(value) => value,
            other => panic!("{}: `{name}` is {other:?}, no number", self.generator),
        }
    }

    pub(super) fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Value::Choice(value) => value,
            other => panic!("{}: `{name}` is {other:?}, no word", self.generator),
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.integer("seed")
    }

    /// A value that is in range by itself but makes no sense beside the others.
    pub(super) fn reject(&self, name: &str, expected: impl Into<String>) -> DataError {
        DataError::BadParameter {
            parameter: name.into(),
            value: self.get(name).to_string(),
            expected: expected.into(),
        }
    }

    /// Fails if the data would need more memory than is free; `smaller` names the parameters
    /// that shrink it.
    pub(super) fn require_memory(&self, bytes: f64, smaller: &str) -> Result<(), DataError> {
        let what = format!("synthetic:{}", self.generator);
        Ok(zoetrope_heap::need(&what, bytes as u64, &format!("lower {smaller}"))?)
    }

    /// Turns a failure to assemble the graph into this crate's error.
    pub(super) fn graph_error(&self) -> impl Fn(GraphError) -> DataError {
        let path = PathBuf::from(self.to_string());
        move |source| DataError::Graph { path: path.clone(), source }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Choice(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "synthetic:{}", self.generator)?;
        for (position, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if position == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}
