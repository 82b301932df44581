//! Whether a plan contradicts itself.

use super::batch_plan::BatchPlan;
use super::contradiction::{Contradiction, Many};
use super::frame::{Frame, MAX_GROUPS};
use super::frame_plan::{FramePlan, OperatorOrder, Update};
use super::gpu::{Coding, Residency};
use super::head::Head;
use super::sharing::{Overlap, Sharing};
use crate::error::PlanError;

/// The most snapshots that a plan may speak of: a range of more is a broken number.
const MAX_STEPS: usize = 1 << 40;

/// The most updates that are drawn ahead: each has a thread.
const DRAW_AHEAD_MAX: usize = 64;

fn broken(what: Contradiction) -> Result<(), PlanError> {
    Err(PlanError::Broken(what))
}

impl Head {
    fn check(&self) -> Result<(), PlanError> {
        if self.schema != Self::SCHEMA {
            return Err(PlanError::Schema { found: self.schema.into(), known: Self::SCHEMA });
        }
        if u32::try_from(self.vertices).is_err() {
            return broken(Contradiction::Count { what: "vertices", count: self.vertices });
        }
        if self.ranks == 0 || u32::try_from(self.ranks).is_err() {
            return broken(Contradiction::Count { what: "ranks", count: self.ranks });
        }
        Ok(())
    }
}

impl FramePlan {
    /// Refuses a plan that contradicts itself.
    ///
    /// # Errors
    /// [`PlanError::Broken`] with the contradiction.
    pub fn check(&self) -> Result<(), PlanError> {
        self.head.check()?;
        if self.frames.is_empty() {
            return broken(Contradiction::Empty { what: "it", part: "frame" });
        }
        if self.blocks.count == 0 {
            return broken(Contradiction::Empty { what: "a frame", part: "block" });
        }
        if self.judged_group == 0 {
            return broken(Contradiction::Empty {
                what: "a group of judged snapshots",
                part: "snapshot",
            });
        }
        if self.rule.stride == 0 || self.rule.frame == Some(0) || self.rule.truncate == Some(0) {
            return broken(Contradiction::Empty {
                what: "a frame, a stride or a stretch",
                part: "snapshot",
            });
        }
        if self.rule.truncate.is_some() && self.blocks.count > 1 {
            return broken(Contradiction::StretchesAndBlocks);
        }
        self.frames.iter().try_for_each(|frame| self.check_frame(frame))?;
        self.check_orders()?;
        self.check_sharing()?;
        self.check_updates()?;
        self.check_gpu()
    }

    fn check_frame(&self, frame: &Frame) -> Result<(), PlanError> {
        let &Frame { start, steps, group } = frame;
        if steps == 0 || start.checked_add(steps).is_none_or(|end| end > MAX_STEPS) {
            return broken(Contradiction::FrameLength { start, steps });
        }
        if group == 0 {
            return broken(Contradiction::Empty { what: "a group of a frame", part: "snapshot" });
        }
        let groups = steps.div_ceil(group);
        let groups = groups.max(self.groups(frame.range(), group).len());
        if groups > MAX_GROUPS {
            return broken(Contradiction::Groups { start, groups, most: MAX_GROUPS });
        }
        match self.rule.frame {
            Some(rule) if rule != steps => {
                broken(Contradiction::FrameOffRule { start, steps, rule })
            }
            _ => Ok(()),
        }
    }

    fn check_orders(&self) -> Result<(), PlanError> {
        for (number, layer) in self.orders.iter().enumerate() {
            if layer.other_order.iter().any(|[from, until]| from >= until) {
                return broken(Contradiction::EmptyOrderRange { layer: number });
            }
            let mixes = !layer.other_order.is_empty();
            if mixes && self.cells().is_some() {
                return broken(Contradiction::OrderOfSharedCells { layer: number });
            }
            let aggregates = layer.order == OperatorOrder::AggregateFirst && !mixes;
            if number == 0 && self.reuse.first_aggregation && !aggregates {
                return broken(Contradiction::KeptAggregation);
            }
        }
        Ok(())
    }

    fn check_updates(&self) -> Result<(), PlanError> {
        let (ranks, by_frames) = (self.head.ranks, self.sharing == Some(Sharing::Frames));
        let mut all = 0;
        for (number, Update { frames, ranks: owners }) in self.updates.iter().enumerate() {
            if *frames == 0 {
                return broken(Contradiction::Empty { what: "an update", part: "frame" });
            }
            let wanted = if by_frames { *frames } else { 0 };
            if owners.len() != wanted {
                let found = owners.len();
                return broken(Contradiction::UpdateRanks { update: number, found, wanted });
            }
            if let Some(&owner) = owners.iter().find(|&&owner| owner as usize >= ranks) {
                return broken(Contradiction::UpdateOwner { update: number, owner, ranks });
            }
            all += frames;
        }
        if all == self.frames.len() {
            return Ok(());
        }
        broken(Contradiction::Sum {
            parts: "updates",
            what: "frames",
            found: Many(Some(all)),
            all: self.frames.len(),
        })
    }

    fn check_sharing(&self) -> Result<(), PlanError> {
        let Head { ranks, vertices, .. } = self.head;
        match &self.sharing {
            None if ranks != 1 => broken(Contradiction::NotShared { ranks }),
            Some(sharing) if ranks == 1 => {
                broken(Contradiction::SharedByOne { by: sharing.name() })
            }
            Some(Sharing::Cells(cells)) => {
                let beside = cells.beside.filter(|_| self.gpu.is_some());
                if let Some(Overlap { pieces, .. }) = beside.filter(|beside| beside.pieces > 1) {
                    return broken(Contradiction::PiecesOnGpu { pieces });
                }
                cells.check(ranks, vertices)
            }
            None | Some(Sharing::Frames) => Ok(()),
        }
    }

    fn check_gpu(&self) -> Result<(), PlanError> {
        let Some(gpu) = &self.gpu else { return Ok(()) };
        if gpu.look_ahead > 1 {
            let ahead = gpu.look_ahead;
            return broken(Contradiction::Ahead { does: "looks", what: "frames", ahead, most: 1 });
        }
        // Ranks that share cells get features piece by piece wherever the graph is.
        let resident = gpu.residency == Residency::Resident && self.cells().is_none();
        if gpu.look_ahead > 0 && resident {
            return broken(Contradiction::AheadOfResident);
        }
        if self.splits_snapshots() && gpu.coding == Coding::Differences {
            return broken(Contradiction::DifferencesOfParts);
        }
        if gpu.draw_ahead > DRAW_AHEAD_MAX {
            let ahead = gpu.draw_ahead;
            return broken(Contradiction::Ahead {
                does: "draws",
                what: "updates",
                ahead,
                most: DRAW_AHEAD_MAX,
            });
        }
        let by_frames = self.sharing == Some(Sharing::Frames);
        if gpu.record && (by_frames || self.rule.truncate.is_some()) {
            return broken(Contradiction::Recorded);
        }
        if gpu.record && gpu.residency == Residency::Stream && self.keeps_blocks() {
            return broken(Contradiction::RecordedStream);
        }
        // A plan that was made before its ranks were there leaves the transport to what they find.
        match (gpu.transport, self.head.ranks) {
            (Some(_), 1) => broken(Contradiction::TransportOfOne),
            _ => Ok(()),
        }
    }
}

impl BatchPlan {
    /// Refuses a plan that contradicts itself.
    ///
    /// # Errors
    /// [`PlanError::Broken`] with the contradiction.
    pub fn check(&self) -> Result<(), PlanError> {
        self.head.check()?;
        if self.head.ranks != 1 {
            return broken(Contradiction::BatchRanks { ranks: self.head.ranks });
        }
        if self.rule.events == 0 || self.rule.chunks == Some(0) || self.questions == 0 {
            return broken(Contradiction::Empty {
                what: "a batch, a chunk or a piece of judging",
                part: "event",
            });
        }
        if self.rule.chunks.is_some() != self.batches.is_empty() {
            return broken(Contradiction::BatchList);
        }
        if self.batches.contains(&0) {
            return broken(Contradiction::Empty { what: "a batch", part: "event" });
        }
        let all = self.batches.iter().try_fold(0_usize, |sum, &events| sum.checked_add(events));
        if self.rule.chunks.is_none() && all != Some(self.events) {
            let (parts, what) = ("batches", "events");
            return broken(Contradiction::Sum { parts, what, found: Many(all), all: self.events });
        }
        Ok(())
    }
}
