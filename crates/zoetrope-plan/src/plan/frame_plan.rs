//! The plan of an epoch over frames of snapshots.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::frame::{Frame, FrameRule, groups, split};
use super::gpu::{FramesOnGpu, Residency};
use super::head::Head;
use super::sharing::{CellSharing, Sharing};
use crate::placement::grid::even_parts;
use crate::placement::{Placement, Placements};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerOrder {
    /// The width of the input.
    pub inputs: usize,
    /// The width of the output.
    pub outputs: usize,
    /// What comes first.
    pub order: OperatorOrder,
    /// Snapshots, from one of the sequence to before another, in which the other product comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_order: Vec<[usize; 2]>,
}

impl LayerOrder {
    /// Groups of `group` of some snapshots of the sequence, as ranges within them, cut wherever the order of
    /// any of these layers changes.
    pub fn groups(layers: &[Self], steps: Range<usize>, group: usize) -> Vec<Range<usize>> {
        let orders = |at: usize| layers.iter().map(move |layer| layer.at(steps.start + at));
        split(groups(steps.len(), group), |at| !orders(at - 1).eq(orders(at)))
    }

    /// What comes first in a snapshot.
    pub fn at(&self, step: usize) -> OperatorOrder {
        let is_other = self.other_order.iter().any(|&[from, until]| (from..until).contains(&step));
        match (self.order, is_other) {
            (order, false) => order,
            (OperatorOrder::AggregateFirst, true) => OperatorOrder::UpdateFirst,
            (OperatorOrder::UpdateFirst, true) => OperatorOrder::AggregateFirst,
        }
    }
}

/// The blocks of snapshots that a frame is computed in, one after the other (ESDG §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// How many.
    pub count: usize,
    /// Whether a block is recomputed in the backward pass (gradient checkpointing), so that activations are
    /// held for one block at a time, instead of being kept.
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
#[serde(deny_unknown_fields)]
pub struct Reuse {
    /// Whether it is kept.
    pub first_aggregation: bool,
    /// What that costs.
    pub bytes: u64,
    /// Multiplications of a snapshot's matrix that an epoch saves, after the first one.
    pub products_saved: u64,
}

/// One change of the weights: consecutive frames of the epoch's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// How many frames.
    pub frames: usize,
    /// The rank that computes each of them; nothing if every rank takes part in all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
}

impl Update {
    /// Updates of `size` frames each, the last one perhaps smaller, computed by all ranks.
    pub fn of(frames: usize, size: usize) -> Vec<Self> {
        let size = size.max(1);
        let starts = (0..frames).step_by(size);
        starts.map(|from| Self { frames: size.min(frames - from), ranks: Vec::new() }).collect()
    }

    /// Whether a rank computes the frame at a place of the update.
    pub fn is_of(&self, place: usize, rank: usize) -> bool {
        self.ranks.get(place).is_none_or(|&owner| owner as usize == rank)
    }
}

/// One epoch over frames of snapshots, laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FramePlan {
    /// What it was made for and why.
    #[serde(flatten)]
    pub head: Head,
    /// How frames are cut, also for evaluation.
    pub rule: FrameRule,
    /// The frames of an epoch in time order.
    pub frames: Vec<Frame>,
    /// The updates of an epoch, in its order of frames.
    pub updates: Vec<Update>,
    /// The blocks that each frame is computed in.
    pub blocks: Blocks,
    /// Snapshots that structure encoders take at once outside of training.
    pub judged_group: usize,
    /// The order of the products in each structure layer.
    pub orders: Vec<LayerOrder>,
    /// What is kept between frames and epochs.
    pub reuse: Reuse,
    /// How several ranks share frames; nothing for one rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// How GPUs compute it; nothing on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<FramesOnGpu>,
}

impl FramePlan {
    /// The same plan for one rank, which computes everything.
    pub fn alone(mut self) -> Self {
        self.head.ranks = 1;
        self.head.candidates.clear();
        self.sharing = None;
        self.updates.iter_mut().for_each(|update| update.ranks.clear());
        if let Some(gpu) = &mut self.gpu {
            gpu.transport = None;
        }
        self
    }

    /// The groups of snapshots that structure encoders take at once of some that are computed together, as
    /// ranges within them.
    pub fn groups(&self, steps: Range<usize>, group: usize) -> Vec<Range<usize>> {
        LayerOrder::groups(&self.orders, steps, group)
    }

    /// How cells are shared, if they are.
    pub fn cells(&self) -> Option<&CellSharing> {
        self.sharing.as_ref().and_then(Sharing::cells)
    }

    /// Whether the blocks of a frame stay on the tape until its backward pass.
    pub fn keeps_blocks(&self) -> bool {
        self.blocks.count > 1 && !self.blocks.recompute
    }

    /// The blocks of a frame of so many snapshots whose states before them wait on the host until the backward
    /// pass. A GPU has two at a time: those before the last two blocks never leave it, and none is before the
    /// first.
    pub fn stored_states(&self, steps: usize) -> Range<usize> {
        let streams = self.gpu.is_some_and(|gpu| gpu.block_states == Residency::Stream);
        let blocks = self.blocks.of(0..steps).len();
        if streams && self.blocks.recompute && blocks > 3 { 1..blocks - 2 } else { 0..0 }
    }

    /// Whether a rank has some vertices of its snapshots, and not all of them.
    pub fn splits_snapshots(&self) -> bool {
        self.cells().is_some_and(|cells| cells.grid(self.head.ranks as u32).members > 1)
    }

    /// Which rank computes which cell of a frame of `steps` snapshots.
    pub fn placements(&self, steps: usize) -> Placements {
        let (ranks, vertices) = (self.head.ranks as u32, self.head.vertices as u32);
        match self.cells() {
            Some(cells) => cells.placements(ranks, vertices, steps, self.blocks),
            None => Placements { structure: Placement::Single, time: Placement::Single },
        }
    }

    /// The snapshots that a miniature has to have so that a model runs over it as over a frame or a stretch:
    /// some models are made for one length.
    pub fn miniature_steps(&self) -> usize {
        let longest = self.longest_frame();
        self.rule.truncate.unwrap_or(longest).min(longest)
    }

    /// The snapshots of the longest frame.
    pub fn longest_frame(&self) -> usize {
        self.frames.iter().map(|frame| frame.steps).max().unwrap_or(1)
    }
}
