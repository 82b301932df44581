//! Whether a plan, which may come from a file, fits itself and the run that is to execute it.

use crate::error::PlanError;
use crate::plan::{MAX_GROUPS, Plan};
use crate::workload::Workload;

/// The most snapshots of a plan: a bound on what a file may make the trainer walk through.
const MAX_STEPS: usize = 1 << 32;

impl Plan {
    /// Refuses a plan that contradicts itself.
    ///
    /// # Errors
    /// [`PlanError::Broken`] with the contradiction.
    pub fn check(&self) -> Result<(), PlanError> {
        let broken = |what: String| Err(PlanError::Broken(what));
        if self.schema != Self::SCHEMA {
            return broken(format!(
                "its schema is {}, this program reads {}",
                self.schema,
                Self::SCHEMA
            ));
        }
        if self.frames.is_empty() {
            return broken("it has no frame".to_owned());
        }
        if self.blocks.count == 0 {
            return broken("a frame has no block".to_owned());
        }
        let Ok(vertices) = u32::try_from(self.vertices) else {
            return broken(format!("it has {} vertices", self.vertices));
        };
        for placement in [&self.placement.structure, &self.placement.time] {
            placement.check(vertices, self.frames[0].steps, self.ranks)?;
        }
        if self.group.snapshots == 0 {
            return broken("a group has no snapshot".to_owned());
        }
        if self.rule.stride == 0 || self.rule.frame == Some(0) || self.rule.truncate == Some(0) {
            return broken("a frame, a stride or a stretch is 0".to_owned());
        }
        let bad = |frame: &&crate::frames::Frame| {
            frame.steps == 0
                || frame.start.checked_add(frame.steps).is_none_or(|end| end > MAX_STEPS)
        };
        let groups = |frame: &crate::frames::Frame| frame.steps.div_ceil(self.group.snapshots);
        if let Some(frame) = self.frames.iter().find(|frame| groups(frame) > MAX_GROUPS) {
            let (start, has) = (frame.start, groups(frame));
            return broken(format!(
                "the frame at {start} has {has} groups, {MAX_GROUPS} are possible"
            ));
        }
        if let Some(steps) = self.rule.frame
            && let Some(frame) = self.frames.iter().find(|frame| frame.steps != steps)
        {
            let (start, has) = (frame.start, frame.steps);
            return broken(format!("the frame at {start} has {has} snapshots, not {steps}"));
        }
        match self.frames.iter().find(bad) {
            Some(frame) => {
                broken(format!("the frame at {} has {} snapshots", frame.start, frame.steps))
            }
            None => Ok(()),
        }
    }

    /// Refuses a plan that was made for another run.
    ///
    /// # Errors
    /// [`PlanError::Mismatch`] with what differs.
    pub fn fits(&self, workload: &Workload) -> Result<(), PlanError> {
        let same = |field, planned: &dyn ToString, found: &dyn ToString| {
            let (planned, found) = (planned.to_string(), found.to_string());
            match planned == found {
                true => Ok(()),
                false => Err(PlanError::Mismatch { field, planned, found }),
            }
        };
        same("model", &self.model, &workload.model)?;
        same("vertices", &self.vertices, &workload.vertices)?;
        same("structure layers", &self.orders.len(), &workload.structure_widths.len())?;
        for (order, &(inputs, outputs)) in self.orders.iter().zip(&workload.structure_widths) {
            let widths = |inputs, outputs| format!("{inputs} → {outputs}");
            let planned = widths(order.inputs, order.outputs);
            same("layer widths", &planned, &widths(inputs, outputs))?;
        }
        if self.reuse.first_aggregation && !workload.can_reuse {
            let found = "a model whose first layer changes with its weights".to_owned();
            let planned = "with kept aggregations".to_owned();
            return Err(PlanError::Mismatch { field: "reuse", planned, found });
        }
        let inside = |frame: &&crate::frames::Frame| {
            frame.start < workload.training.start || frame.range().end > workload.training.end
        };
        match self.frames.iter().find(inside) {
            Some(frame) => Err(PlanError::Mismatch {
                field: "snapshots",
                planned: format!("{:?}", frame.range()),
                found: format!("{:?} to train on", workload.training),
            }),
            None => Ok(()),
        }
    }
}
