//! The plan: a plain, serialisable description of one epoch.
//!
//! There are two kinds with a common [`Head`]: [`FramePlan`] walks through frames of snapshots, [`BatchPlan`]
//! through batches of events. A plan says everything that a planner or a user may choose about how an epoch
//! is computed. What is learned, the model, the task and the optimiser, is not its business.

pub mod batch_plan;
pub mod check;
pub mod contradiction;
pub mod device_memory;
pub mod fits;
pub mod frame;
pub mod frame_plan;
pub mod gpu;
pub mod head;
pub mod memory;
pub mod sharing;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::PlanError;
use batch_plan::BatchPlan;
use device_memory::DeviceMemory;
use frame_plan::FramePlan;
use head::Head;
use memory::LaidOut;

/// One epoch, laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
// One of them exists at a time.
#[allow(clippy::large_enum_variant)]
pub enum Plan {
    /// Over frames of snapshots.
    Frames(FramePlan),
    /// Over batches of events.
    Batches(BatchPlan),
}

impl From<FramePlan> for Plan {
    fn from(plan: FramePlan) -> Self {
        Self::Frames(plan)
    }
}

impl From<BatchPlan> for Plan {
    fn from(plan: BatchPlan) -> Self {
        Self::Batches(plan)
    }
}

impl Plan {
    /// What both kinds have in common.
    pub fn head(&self) -> &Head {
        match self {
            Self::Frames(plan) => &plan.head,
            Self::Batches(plan) => &plan.head,
        }
    }

    /// The same, to be changed.
    pub fn head_mut(&mut self) -> &mut Head {
        match self {
            Self::Frames(plan) => &mut plan.head,
            Self::Batches(plan) => &mut plan.head,
        }
    }

    /// What it will take on the GPU of a rank, if that is estimated.
    pub fn memory_on_gpu(&self) -> Option<&DeviceMemory> {
        match self {
            Self::Frames(plan) => plan.gpu.as_ref().map(|gpu| &gpu.memory),
            Self::Batches(_) => None,
        }
    }

    /// What it walks through.
    pub fn laid_out(&self) -> LaidOut {
        match self {
            Self::Frames(_) => LaidOut::Frames,
            Self::Batches(_) => LaidOut::Batches,
        }
    }

    /// The plan as text.
    ///
    /// # Panics
    /// Never: every plan has a text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a plan holds numbers, names and lists only")
            + "\n"
    }

    /// Reads a plan and checks it against itself.
    ///
    /// # Errors
    /// If the text is no plan, of another version, has a key that no plan has, or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let not = |error: serde_json::Error| PlanError::NotAPlan(error.to_string());
        let given: Value = serde_json::from_str(text).map_err(not)?;
        let schema = given.get("schema").and_then(Value::as_u64);
        if let Some(found) = schema.filter(|&found| found != u64::from(Head::SCHEMA)) {
            return Err(PlanError::Schema { found, known: Head::SCHEMA });
        }
        let plan: Self = serde_json::from_value(given.clone()).map_err(not)?;
        let written = serde_json::to_value(&plan).map_err(not)?;
        if let Some(key) = unknown_key(&given, &written) {
            return Err(PlanError::UnknownKey { key });
        }
        plan.check()?;
        Ok(plan)
    }

    /// Refuses a plan that contradicts itself.
    ///
    /// # Errors
    /// [`PlanError::Broken`] with the contradiction.
    pub fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Frames(plan) => plan.check(),
            Self::Batches(plan) => plan.check(),
        }
    }
}

/// A key of a document that is not there when what was understood of it is written again: nobody reads it.
fn unknown_key(given: &Value, written: &Value) -> Option<String> {
    match (given, written) {
        (Value::Object(given), Value::Object(written)) => given.iter().find_map(|(key, value)| {
            // What is not set, or empty, is left out when it is written.
            let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            match written.get(key) {
                Some(inner) => unknown_key(value, inner).map(|inner| format!("{key}.{inner}")),
                None if is_empty => None,
                None => Some(key.clone()),
            }
        }),
        (Value::Array(given), Value::Array(written)) => {
            given.iter().zip(written).find_map(|(given, written)| unknown_key(given, written))
        }
        _ => None,
    }
}
