//! Numbers, edges and tables of JSON, streamed into flat vectors.
//!
//! Each visitor says what it expected in the words of `serde` ("found, expected wanted"), which
//! the reader splits into an error with line and key.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};

/// A value of a series or table; `null` is a missing one.
pub(super) struct Value(pub(super) f64);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;

        impl Visitor<'_> for Numbers {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number that fits a 32-bit float")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                if (value as f32).is_finite() {
                    Ok(Value(value))
                } else {
                    Err(E::invalid_value(Unexpected::Float(value), &self))
                }
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value(value as f64))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value(value as f64))
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value(f64::NAN))
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

/// The weight of an edge.
pub(super) struct Weight(pub(super) f32);

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value(value) = Value::deserialize(deserializer)?;
        if value.is_nan() {
            Err(D::Error::invalid_type(Unexpected::Unit, &"a number"))
        } else {
            Ok(Self(value as f32))
        }
    }
}

/// A vertex by number.
struct Id(u32);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ids;

        impl Visitor<'_> for Ids {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a vertex, a whole number from 0 to 4294967294")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Id, E> {
                match u32::try_from(value) {
                    Ok(id) if id < u32::MAX => Ok(Id(id)),
                    _ => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
                }
            }

            // Array libraries write whole numbers as 3.0 once a column held a fraction.
            fn visit_f64<E: Error>(self, value: f64) -> Result<Id, E> {
                if value.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&value) {
                    Ok(Id(value as u32))
                } else {
                    Err(E::invalid_value(Unexpected::Float(value), &self))
                }
            }
        }
        deserializer.deserialize_any(Ids)
    }
}

/// Hands the elements of a list to a function, one after the other, which may refuse them.
pub(super) fn each<'de, T, D>(
    deserializer: D,
    what: &'static str,
    take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Each<F, T>(&'static str, F, PhantomData<T>);

    impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Each<F, T> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(element) = list.next_element::<T>()? {
                self.1(element).map_err(A::Error::custom)?;
            }
            Ok(())
        }
    }
    deserializer.deserialize_seq(Each(what, take, PhantomData))
}

/// A list of `[source, target]` pairs.
#[derive(Default, Debug)]
pub(super) struct Edges {
    pub(super) src: Vec<u32>,
    pub(super) dst: Vec<u32>,
}

impl<'de> Deserialize<'de> for Edges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut edges = Self::default();
        each(deserializer, "a list of [source, target] pairs", |(Id(src), Id(dst))| {
            edges.src.push(src);
            edges.dst.push(dst);
            Ok(())
        })?;
        Ok(edges)
    }
}

/// A list of weights.
#[derive(Default, Debug)]
pub(super) struct Weights(pub(super) Vec<f32>);

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Vec::new();
        each(deserializer, "a list of weights", |Weight(value)| {
            values.push(value);
            Ok(())
        })?;
        Ok(Self(values))
    }
}

/// A list of values.
#[derive(Default, Debug)]
pub(super) struct Values(pub(super) Vec<f32>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Vec::new();
        each(deserializer, "a list of numbers", |Value(value)| {
            values.push(value as f32);
            Ok(())
        })?;
        Ok(Self(values))
    }
}

/// A table of equally long rows, end to end.
#[derive(Default, Debug)]
pub(super) struct Table {
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) values: Vec<f32>,
    /// Two classes a row, if every row is a degree and a transitivity.
    pub(super) classes: Option<Vec<u8>>,
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Self { classes: Some(Vec::new()), ..Self::default() };
        each(deserializer, "a list of rows", |Row(row): Row| {
            if table.rows == 0 {
                table.width = row.len();
            }
            if row.len() != table.width {
                let (found, width, at) = (row.len(), table.width, table.rows);
                return Err(format!("row {at} with {found} values, expected {width} as in row 0"));
            }
            match (&row[..], &mut table.classes) {
                (&[degree, transitivity], Some(classes)) => {
                    match super::tennis::classes(degree, transitivity) {
                        Some(pair) => classes.extend(pair),
                        None => table.classes = None,
                    }
                }
                _ => table.classes = None,
            }
            table.values.extend(row.iter().map(|&value| value as f32));
            table.rows += 1;
            Ok(())
        })?;
        Ok(table)
    }
}

struct Row(Vec<f64>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Vec::new();
        each(deserializer, "a row of numbers", |Value(value)| {
            values.push(value);
            Ok(())
        })?;
        Ok(Self(values))
    }
}
