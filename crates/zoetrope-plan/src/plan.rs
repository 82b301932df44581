//! The plan: a plain, serialisable description of one epoch.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::frames::{Frame, FrameRule};
use crate::memory::Memory;
use crate::placement::grid::even_parts;
use crate::placement::{Placement, Placements};
use crate::strategy::{Comparison, Strategy};

/// Which of the two products of a structure layer comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorOrder {
    /// `(Â·X)·W`.
    AggregateFirst,
    /// `Â·(X·W)`.
    UpdateFirst,
}

/// The order of the products in a structure layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerOrder {
    /// The width of the input.
    pub inputs: usize,
    /// The width of the output.
    pub outputs: usize,
    /// What comes first.
    pub order: OperatorOrder,
}

/// The most groups of a frame that a model takes.
pub const MAX_GROUPS: usize = 64;

/// How structure encoders take the snapshots of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grouping {
    /// Snapshots that one call takes.
    pub snapshots: usize,
}

impl Grouping {
    /// The groups of a frame of `steps` snapshots, as ranges within the frame. A pass that is longer
    /// than the planned frames (evaluation) has larger groups where there would be too many.
    pub fn ranges(self, steps: usize) -> Vec<std::ops::Range<usize>> {
        let size = self.snapshots.max(steps.div_ceil(MAX_GROUPS)).clamp(1, steps.max(1));
        (0..steps).step_by(size).map(|start| start..(start + size).min(steps)).collect()
    }
}

/// The blocks of snapshots that a frame is computed in, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many.
    pub count: usize,
    /// Whether a block is computed again on the way back, so that activations are held for one of
    /// them at a time, instead of being kept.
    pub recompute: bool,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { count: 1, recompute: true }
    }
}

impl Blocks {
    /// The blocks of some snapshots, as even as can be: as many, or one a snapshot.
    pub fn of(self, steps: Range<usize>) -> Vec<Range<usize>> {
        let parts = even_parts(steps.len(), self.count.clamp(1, steps.len().max(1)));
        parts.map(|part| steps.start + part.start..steps.start + part.end).collect()
    }
}

/// Whether `Â·X` of the first layer is computed once and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reuse {
    /// Whether it is kept.
    pub first_aggregation: bool,
    /// What that costs.
    pub bytes: u64,
    /// Multiplications of a snapshot's matrix that an epoch saves, after the first one.
    pub products_saved: u64,
}

/// One epoch, laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this format.
    pub schema: u32,
    /// The planner that made it.
    pub planner: String,
    /// The data set it was made for.
    pub data: String,
    /// The model it was made for.
    pub model: String,
    /// The number of vertices.
    pub vertices: usize,
    /// Processes that share the work.
    pub ranks: usize,
    /// How they share it, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The ways to share it side by side, where they were compared. Nobody who executes a plan reads
    /// it; it stands here, like the reasons, so that there is one document: what `plan --json` prints
    /// is what `train --plan` reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Which rank computes which cell of a frame.
    pub placement: Placements,
    /// How frames are cut, also for evaluation.
    pub rule: FrameRule,
    /// The frames of an epoch in time order.
    pub frames: Vec<Frame>,
    /// The blocks that each frame is computed in (ESDG §3.1).
    #[serde(default)]
    pub blocks: Blocks,
    /// How structure encoders take the snapshots of a frame.
    pub group: Grouping,
    /// The order of the products in each structure layer.
    pub orders: Vec<LayerOrder>,
    /// What is kept between frames and epochs.
    pub reuse: Reuse,
    /// The memory that the run will take.
    pub memory: Memory,
    /// Why the planner chose what it chose.
    pub reasons: Vec<String>,
    /// What a user should know about the data that it was made for. Like the reasons it is read by
    /// nobody who executes the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Plan {
    /// The version of the format that this crate writes and reads.
    pub const SCHEMA: u32 = 1;

    /// The same plan for one rank, which computes everything.
    pub fn alone(self) -> Self {
        let placement = Placements { structure: Placement::Single, time: Placement::Single };
        Self { ranks: 1, strategy: None, comparison: None, placement, ..self }
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
    /// Where the text is no plan, of another version, or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self =
            serde_json::from_str(text).map_err(|error| PlanError::NotAPlan(error.to_string()))?;
        plan.check()?;
        Ok(plan)
    }
}
