//! Where a run stands: everything of its state that is not a tensor.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exact;
use crate::EpochRecord;
use crate::error::RunError;

/// Where a run stands.
///
/// Floats are kept by their bits, so that a continued run starts from exactly the same ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// Epochs that are finished.
    pub epoch: usize,
    /// Frames of the running epoch that are done.
    pub frame: usize,
    /// Updates of the weights since the start.
    pub step: u64,
    /// Integers by name: seeds and counters of random streams, steps of the optimiser, epochs that
    /// early stopping and schedules have waited.
    pub counters: BTreeMap<String, u64>,
    /// Numbers by name, all finite: the learning rate, the best metric so far, sums of the running
    /// epoch.
    #[serde(with = "exact::map")]
    pub numbers: BTreeMap<String, f64>,
    /// Other state by name, for example of a schedule; see [`put`](Self::put).
    pub parts: BTreeMap<String, Value>,
    /// The finished epochs with their metrics.
    #[serde(with = "exact::epochs")]
    pub epochs: Vec<EpochRecord>,
}

impl Cursor {
    /// Keeps a value of another type, its floats by their bits. NaN and infinities become `null`,
    /// which only an optional field reads back.
    ///
    /// # Errors
    /// [`RunError::Damaged`] if it cannot be turned into JSON.
    pub fn put(&mut self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let value = serde_json::to_value(value).map_err(|error| damaged(name, &error))?;
        self.parts.insert(name.into(), exact::hide(value));
        Ok(())
    }

    /// Takes a value back that was [`put`](Self::put).
    ///
    /// # Errors
    /// [`RunError::Damaged`] if there is none of that name or it is of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, RunError> {
        let value = self.parts.get(name).cloned().unwrap_or_default();
        serde_json::from_value(exact::show(value)).map_err(|error| damaged(name, &error))
    }
}

fn damaged(name: &str, error: &serde_json::Error) -> RunError {
    RunError::Damaged { path: "cursor.json".into(), reason: format!("`{name}`: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_state_comes_back_to_the_bit() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Other {
            best: Option<f64>,
            none: Option<f64>,
            list: Vec<f64>,
            count: u64,
        }
        // A careless reader of decimals rounds texts with this many digits wrongly.
        let values = (1..200u32).map(|n| 1.0 / f64::from(n * n + 7)).collect::<Vec<_>>();
        let other = Other { best: Some(0.1 + 0.2), none: None, list: values, count: u64::MAX };
        let mut cursor = Cursor::default();
        cursor.put("other", &other).unwrap();
        let text = serde_json::to_string(&cursor).unwrap();
        let back: Cursor = serde_json::from_str(&text).unwrap();
        assert_eq!(back.get::<Other>("other").unwrap(), other);
        assert!(back.get::<Other>("missing").is_err());
    }
}
