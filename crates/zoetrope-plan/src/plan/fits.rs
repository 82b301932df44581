//! Whether a plan was made for a run.

use super::batch_plan::BatchPlan;
use super::contradiction::Contradiction;
use super::frame::Frame;
use super::frame_plan::FramePlan;
use super::head::Head;
use crate::error::PlanError;
use crate::workload::{BatchWorkload, FrameWorkload};

fn same(
    field: &'static str,
    planned: impl ToString,
    found: impl ToString,
) -> Result<(), PlanError> {
    let (planned, found) = (planned.to_string(), found.to_string());
    if planned == found { Ok(()) } else { Err(PlanError::Mismatch { field, planned, found }) }
}

impl Head {
    fn fits(&self, model: &str, vertices: usize) -> Result<(), PlanError> {
        same("model", &self.model, model)?;
        same("vertices", self.vertices, vertices)
    }
}

impl FramePlan {
    /// Refuses a plan that was made for another run.
    ///
    /// # Errors
    /// [`PlanError::Mismatch`] with what differs.
    pub fn fits(&self, workload: &FrameWorkload) -> Result<(), PlanError> {
        self.head.fits(&workload.model, workload.vertices)?;
        same("structure layers", self.orders.len(), workload.structure_widths.len())?;
        for (order, &(inputs, outputs)) in self.orders.iter().zip(&workload.structure_widths) {
            let widths = |inputs, outputs| format!("{inputs} → {outputs}");
            let planned = widths(order.inputs, order.outputs);
            same("layer widths", planned, widths(inputs, outputs))?;
        }
        let mixes = self.orders.iter().any(|layer| !layer.other_order.is_empty());
        if mixes && !workload.time_on_features {
            let found =
                format!("{}, whose weights change from snapshot to snapshot", workload.model);
            let planned = "that change within a layer".to_owned();
            return Err(PlanError::Mismatch { field: "orders", planned, found });
        }
        if self.reuse.first_aggregation && !workload.can_reuse {
            let found = "a model whose first layer changes with its weights".to_owned();
            let planned = "with kept aggregations".to_owned();
            return Err(PlanError::Mismatch { field: "reuse", planned, found });
        }
        if self.blocks.count > 1 && !workload.works_in_blocks {
            let found = format!("{}, which looks at whole frames", workload.model);
            let planned = format!("of {}", self.blocks.count);
            return Err(PlanError::Mismatch { field: "blocks", planned, found });
        }
        if let Some(cells) =
            self.cells().filter(|cells| cells.time_on_features != workload.time_on_features)
        {
            let words = |on_features| if on_features { "rows of vertices" } else { "weights" };
            return same(
                "time encoders that work on",
                words(cells.time_on_features),
                words(workload.time_on_features),
            );
        }
        let outside = |frame: &&Frame| {
            frame.start < workload.training.start || frame.range().end > workload.training.end
        };
        match self.frames.iter().find(outside) {
            Some(frame) => Err(PlanError::Mismatch {
                field: "snapshots",
                planned: format!("{:?}", frame.range()),
                found: format!("{:?} to train on", workload.training),
            }),
            None => Ok(()),
        }
    }
}

impl BatchPlan {
    /// Refuses a plan that was made for another run. `is_inside` says whether a boundary before an event lies
    /// inside of a time, so that memory would know events of a question's own time.
    ///
    /// # Errors
    /// [`PlanError::Mismatch`] with what differs.
    pub fn fits(
        &self,
        workload: &BatchWorkload,
        is_inside: impl Fn(usize) -> bool,
    ) -> Result<(), PlanError> {
        self.head.fits(&workload.model, workload.vertices)?;
        same("events", self.events, workload.events)?;
        let times = |whole| if whole { "at the end of a time" } else { "anywhere" };
        same("batches that end", times(self.rule.whole_times), times(workload.whole_times))?;
        if !self.rule.whole_times {
            return Ok(());
        }
        let mut end = 0;
        for (number, &events) in self.batches.iter().enumerate() {
            end += events;
            if end < self.events && is_inside(end) {
                return Err(Contradiction::InsideOfTime { batch: number }.into());
            }
        }
        Ok(())
    }
}
