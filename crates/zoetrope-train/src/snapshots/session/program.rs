//! The program of the plan that is executed, for whoever compares or simulates it.

use zoetrope_nn::Role;
use zoetrope_nn::model::Coverage;
use zoetrope_plan::{CopySizes, FrameFacts, TaskGraph};

use super::Session;
use super::planning::summed;
use crate::error::TrainError;
use crate::snapshots::engine::{Layout, stages};
use crate::snapshots::task::{self, Questions};

impl Session {
    /// What this rank does in an epoch, task by task: the first one, whose frames come in its order.
    ///
    /// # Errors
    /// As building and running a miniature of the network.
    pub fn program(&mut self) -> Result<TaskGraph, TrainError> {
        let outputs = task::outputs(&self.config, self.task_name, &self.material)?;
        let steps = self.plan.miniature_steps();
        let (config, task) = (&self.config, self.task_name);
        let layout = Layout::of(&self.plan);
        let found = stages(config, task, &self.material, outputs, layout, steps)?;
        let training = self.steps_of(zoetrope_data::split::Part::Train);
        let asks: Vec<bool> = (0..self.material.steps())
            .map(|step| {
                let questions = Questions { steps: step..step + 1, epoch: 0 };
                training.contains(&step) && self.task.answers(&questions) > 0.0
            })
            .collect();
        // A batch norm has a running mean, a running variance and a count.
        let statistics: Vec<_> = self.network.parameters.iter().map(|(_, one)| one).collect();
        let statistics = statistics.into_iter().filter(|one| one.role == Role::Statistic);
        let statistics: Vec<usize> =
            statistics.step_by(3).map(|one| one.matrix.shape().len()).collect();
        let copies = self.runner.sent_bytes();
        let facts = FrameFacts {
            stages: &found,
            width: self.network.model.width(),
            describes_last: self.network.model.coverage() == Coverage::Last,
            asks_last: self.only_last(),
            asks: &asks,
            draws: self.task.draws(),
            statistics: &statistics,
            summed: summed(&self.config, &self.network.parameters),
            graph: &self.material.sequence,
            copies: copies.as_ref().map(|copies| copies as &dyn CopySizes),
        };
        let order = self.frame_order(self.learner.progress.epoch);
        Ok(self.plan.lower(self.rank(), &order, &facts))
    }
}
