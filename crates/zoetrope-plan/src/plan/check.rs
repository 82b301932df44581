//! Whether a plan contradicts itself.

use super::batch_plan::BatchPlan;
use super::frame::{Frame, MAX_GROUPS};
use super::frame_plan::{FramePlan, OperatorOrder, Update};
use super::gpu::Residency;
use super::head::Head;
use super::sharing::Sharing;
use crate::error::PlanError;

/// The most snapshots that a plan may speak of: a range of more is a broken number.
const MAX_STEPS: usize = 1 << 40;

/// The most updates that are drawn ahead: each has a thread.
const DRAW_AHEAD_MAX: usize = 64;

fn broken(what: String) -> Result<(), PlanError> {
    Err(PlanError::Broken(what))
}

impl Head {
    fn check(&self) -> Result<(), PlanError> {
        if self.schema != Self::SCHEMA {
            return Err(PlanError::Schema { found: self.schema.into(), known: Self::SCHEMA });
        }
        if u32::try_from(self.vertices).is_err() {
            return broken(format!("it has {} vertices", self.vertices));
        }
        if self.ranks == 0 || u32::try_from(self.ranks).is_err() {
            return broken(format!("it has {} ranks", self.ranks));
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
            return broken("it has no frame".to_owned());
        }
        if self.blocks.count == 0 {
            return broken("a frame has no block".to_owned());
        }
        if self.judged_group == 0 {
            return broken("a group of judged snapshots has no snapshot".to_owned());
        }
        if self.rule.stride == 0 || self.rule.frame == Some(0) || self.rule.truncate == Some(0) {
            return broken("a frame, a stride or a stretch is 0".to_owned());
        }
        if self.rule.truncate.is_some() && self.blocks.count > 1 {
            return broken("it cuts frames into stretches and into blocks".to_owned());
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
            return broken(format!("the frame at {start} has {steps} snapshots"));
        }
        if group == 0 {
            return broken(format!("a group of the frame at {start} has no snapshot"));
        }
        let groups = steps.div_ceil(group);
        let groups = groups.max(self.groups(frame.range(), group).len());
        if groups > MAX_GROUPS {
            return broken(format!(
                "the frame at {start} has {groups} groups, {MAX_GROUPS} are possible"
            ));
        }
        match self.rule.frame {
            Some(rule) if rule != steps => {
                broken(format!("the frame at {start} has {steps} snapshots, not {rule}"))
            }
            _ => Ok(()),
        }
    }

    fn check_orders(&self) -> Result<(), PlanError> {
        for (number, layer) in self.orders.iter().enumerate() {
            if layer.other_order.iter().any(|[from, until]| from >= until) {
                return broken(format!(
                    "structure layer {number} names a range without a snapshot"
                ));
            }
            let mixes = !layer.other_order.is_empty();
            if mixes && self.cells().is_some() {
                return broken(format!(
                    "structure layer {number} changes its order, and ranks share its cells"
                ));
            }
            let aggregates = layer.order == OperatorOrder::AggregateFirst && !mixes;
            if number == 0 && self.reuse.first_aggregation && !aggregates {
                return broken("it keeps an aggregation that does not come first".to_owned());
            }
        }
        Ok(())
    }

    fn check_updates(&self) -> Result<(), PlanError> {
        let (ranks, by_frames) = (self.head.ranks, self.sharing == Some(Sharing::Frames));
        let mut all = 0;
        for (number, Update { frames, ranks: owners }) in self.updates.iter().enumerate() {
            if *frames == 0 {
                return broken(format!("update {number} has no frame"));
            }
            let wanted = if by_frames { *frames } else { 0 };
            if owners.len() != wanted {
                let found = owners.len();
                return broken(format!(
                    "update {number} names ranks for {found} frames instead of {wanted}"
                ));
            }
            if let Some(owner) = owners.iter().find(|&&owner| owner as usize >= ranks) {
                return broken(format!("update {number} has a frame on rank {owner} of {ranks}"));
            }
            all += frames;
        }
        if all == self.frames.len() {
            return Ok(());
        }
        broken(format!("its updates have {all} frames, it has {}", self.frames.len()))
    }

    fn check_sharing(&self) -> Result<(), PlanError> {
        let Head { ranks, vertices, .. } = self.head;
        match &self.sharing {
            None if ranks != 1 => broken(format!("it does not say how {ranks} ranks share it")),
            Some(sharing) if ranks == 1 => {
                broken(format!("one rank shares it by {}", sharing.name()))
            }
            Some(Sharing::Cells(cells)) => cells.check(ranks, vertices),
            None | Some(Sharing::Frames) => Ok(()),
        }
    }

    fn check_gpu(&self) -> Result<(), PlanError> {
        let Some(gpu) = &self.gpu else { return Ok(()) };
        if gpu.look_ahead > 1 {
            let ahead = gpu.look_ahead;
            return broken(format!("it looks {ahead} frames ahead, 0 and 1 are possible"));
        }
        if gpu.look_ahead > 0 && gpu.residency == Residency::Resident {
            return broken("it looks ahead for a graph that lies on the GPU".to_owned());
        }
        if self.cells().is_some() && gpu.residency == Residency::Stream {
            return broken("ranks that share cells keep theirs on the GPU".to_owned());
        }
        if gpu.draw_ahead > DRAW_AHEAD_MAX {
            let ahead = gpu.draw_ahead;
            return broken(format!(
                "it draws {ahead} updates ahead, up to {DRAW_AHEAD_MAX} are possible"
            ));
        }
        let repeats = self.blocks.count == 1 && self.sharing.is_none();
        if gpu.record && (!repeats || self.rule.truncate.is_some()) {
            return broken(
                "it records updates in blocks, in stretches or of several ranks".to_owned(),
            );
        }
        if gpu.record
            && gpu.residency == Residency::Stream
            && self.updates.iter().any(|update| update.frames > 1)
        {
            return broken("it records updates of several frames that are streamed".to_owned());
        }
        match (gpu.transport, self.head.ranks) {
            (None, 2..) => broken("it does not say how rows go from GPU to GPU".to_owned()),
            (Some(_), 1) => broken("one rank has nobody to send to".to_owned()),
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
            return broken(format!(
                "batches of events are computed by one rank, not {}",
                self.head.ranks
            ));
        }
        if self.rule.events == 0 || self.rule.chunks == Some(0) || self.questions == 0 {
            return broken("a batch, its chunks or its questions are 0".to_owned());
        }
        if self.rule.chunks.is_some() != self.batches.is_empty() {
            return broken(
                "it has to list its batches, unless their boundaries move by chunks".to_owned(),
            );
        }
        if self.batches.contains(&0) {
            return broken("a batch has no event".to_owned());
        }
        let all = self.batches.iter().try_fold(0_usize, |sum, &events| sum.checked_add(events));
        if self.rule.chunks.is_none() && all != Some(self.events) {
            let found = all.unwrap_or(usize::MAX);
            return broken(format!("its batches have {found} events, it has {}", self.events));
        }
        Ok(())
    }
}
