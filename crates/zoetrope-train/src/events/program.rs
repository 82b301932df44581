//! The program of the plan that is executed, for whoever compares or simulates it.

use zoetrope_data::split::Part;
use zoetrope_plan::{BatchFacts, TaskGraph};

use super::session::EventSession;

impl EventSession {
    /// What is done in an epoch, task by task: the one that comes next.
    pub fn program(&self) -> TaskGraph {
        let (material, epoch) = (&self.material, self.learner.progress.epoch as u32);
        let clock = material.clock(Part::Train);
        let batches = self.schedule.epoch(material.training_events(), epoch, clock);
        let known = |position: usize| self.target.knows(material.event(Part::Train, position));
        let (mut steps, mut asks) = (Vec::new(), Vec::new());
        for batch in &batches {
            steps.push(batch.steps().map(|step| step.len()).collect());
            asks.push(batch.steps().map(|mut step| step.any(known)).collect());
        }
        self.plan.lower(&BatchFacts {
            batches: &steps,
            asks: &asks,
            remembers: self.state.is_some(),
            width: self.network.model.width(),
        })
    }
}
