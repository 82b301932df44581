//! Floats in JSON by their bits: sixteen hexadecimal digits.
//!
//! Decimal text would do if every reader rounded correctly; ours is tuned for speed and may be off
//! by the last bit, which a continued run would show.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::EpochRecord;

/// A float that is written by its bits.
struct Exact(f64);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.0.to_bits()))
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bits = (text.len() == 16).then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        let wrong = || Error::custom("a float that is not sixteen hexadecimal digits");
        bits.map(|bits| Self(f64::from_bits(bits))).ok_or_else(wrong)
    }
}

/// The key under which a float stands among other JSON.
const KEY: &str = "f64";

/// Turns every float of a document into its bits.
pub(super) fn hide(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let bits = number.as_f64().unwrap_or_default().to_bits();
            Value::Object(
                [(KEY.to_owned(), Value::from(format!("{bits:016x}")))].into_iter().collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(hide).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, hide(value))).collect())
        }
        other => other,
    }
}

/// Turns bits back into the floats of a document.
pub(super) fn show(value: Value) -> Value {
    match value {
        Value::Object(fields) if fields.len() == 1 && fields.contains_key(KEY) => {
            let bits = fields[KEY].as_str().and_then(|text| u64::from_str_radix(text, 16).ok());
            bits.map_or(Value::Null, |bits| Value::from(f64::from_bits(bits)))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(show).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, show(value))).collect())
        }
        other => other,
    }
}

/// Maps from names to floats.
pub(super) mod map {
    use std::collections::BTreeMap;

    use super::{Deserialize, Deserializer, Exact, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        map: &BTreeMap<String, f64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(map.iter().map(|(name, &value)| (name, Exact(value))))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, f64>, D::Error> {
        let map = BTreeMap::<String, Exact>::deserialize(from)?;
        Ok(map.into_iter().map(|(name, Exact(value))| (name, value)).collect())
    }
}

/// Epochs with their metrics.
pub(super) mod epochs {
    use std::collections::BTreeMap;

    use super::{Deserialize, Deserializer, EpochRecord, Exact, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SavedEpoch {
        epoch: usize,
        seconds: Exact,
        loss: Exact,
        val: BTreeMap<String, Exact>,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        epochs: &[EpochRecord],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(epochs.iter().map(|record| SavedEpoch {
            epoch: record.epoch,
            seconds: Exact(record.seconds),
            loss: Exact(record.loss),
            val: record.val.iter().map(|(name, &value)| (name.clone(), Exact(value))).collect(),
        }))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<EpochRecord>, D::Error> {
        let epochs = Vec::<SavedEpoch>::deserialize(from)?;
        let record = |SavedEpoch { epoch, seconds, loss, val }: SavedEpoch| EpochRecord {
            epoch,
            seconds: seconds.0,
            loss: loss.0,
            val: val.into_iter().map(|(name, Exact(value))| (name, value)).collect(),
        };
        Ok(epochs.into_iter().map(record).collect())
    }
}
