//! What a whole run needs of a session, whether it learns from snapshots or from events.

use std::collections::BTreeMap;

use zoetrope_config::{Config, TaskName};
use zoetrope_data::split::Part;
use zoetrope_graph::VertexNames;
use zoetrope_nn::Parameters;
use zoetrope_run::checkpoint::SavedState;
use zoetrope_run::{
    Bytes, DataSummary, DeviceTransport, DeviceUse, EpochRecord, Metrics, Redundancy, Timeline,
};
use zoetrope_tensor::Device;

use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::observer::Observer;
use crate::scaling::Scaled;
use crate::train::RunClasses;

/// What ranks sent each other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunTraffic {
    /// Of all ranks, by kind.
    pub bytes: Bytes,
    /// Seconds that this rank waited and sent.
    pub own_seconds: f64,
}

/// How an epoch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EpochEnd {
    /// All frames or batches are done, and the validation part is measured.
    Finished(EpochRecord),
    /// Stopped between two updates or in validation; [`Checkpointed::save`] continues from there.
    Interrupted,
}

/// A session whose epochs can be run.
pub trait Epochs {
    /// Runs the rest of the current epoch, then measures on the validation part.
    ///
    /// # Errors
    /// [`RunError::Diverged`](zoetrope_run::RunError::Diverged) if a loss or a gradient is not finite; the weights are then
    /// those of the last good update.
    fn epoch(&mut self, observer: &mut dyn Observer) -> Result<EpochEnd, TrainError>;
}

/// A session whose answers can be measured.
pub trait Evaluation {
    /// Whether a part holds anything to be measured on.
    fn has(&self, part: Part) -> bool;

    /// The metrics on a part.
    ///
    /// # Errors
    /// If shapes do not fit.
    fn evaluate(&mut self, part: Part) -> Result<Metrics, TrainError>;
}

/// A session whose task has simple rules to compare a model with.
pub trait Baselines {
    /// Says that the baselines on a part will be asked for after the model is judged on it. A thread of the host begins
    /// to measure them if a GPU trains and judges meanwhile; on the processor they are judged beside the model, if
    /// they share what is drawn with it.
    fn begin_baselines(&mut self, _part: Part) {}

    /// The metrics of the task's baselines on a part.
    ///
    /// # Errors
    /// If the data does not fit the task.
    fn baselines(&mut self, part: Part) -> Result<BTreeMap<String, Metrics>, TrainError>;
}

/// A session whose whole state goes to a checkpoint and comes from one.
pub trait Checkpointed {
    /// Everything that the run needs to continue to the same bits.
    fn save(&self) -> SavedState;

    /// Puts a saved state in place.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] if the state was saved by a run of another model, data set or seed.
    fn restore(&mut self, state: SavedState) -> Result<(), TrainError>;
}

/// What the ranks of a session do together besides computing; alone there is nothing to do.
pub trait Collectives {
    /// Whether any rank says so, if there are several; all of them ask at the same place.
    ///
    /// # Errors
    /// If a rank is lost.
    fn agree(&self, says: bool) -> Result<bool, TrainError> {
        Ok(says)
    }

    /// Tells other ranks that something follows that may take longer than computing.
    fn take_time(&self) {}

    /// What ranks sent each other, if there are several; all of them ask at the same place.
    ///
    /// # Errors
    /// If a rank is lost.
    fn traffic(&self) -> Result<Option<RunTraffic>, TrainError> {
        Ok(None)
    }

    /// What each rank had on its GPU, if they have some; all of them ask at the same place.
    ///
    /// # Errors
    /// If a rank is lost.
    fn devices(&self) -> Result<Vec<DeviceUse>, TrainError> {
        Ok(Vec::new())
    }
}

/// A session that [`train`](crate::train::train) can run from its first epoch to its summary. Its
/// parts are traits of their own, each implemented where a session does that work.
pub trait TrainingRun: Epochs + Evaluation + Baselines + Checkpointed + Collectives {
    /// The effective configuration.
    fn config(&self) -> &Config;

    /// The task.
    fn task(&self) -> TaskName;

    /// The optimiser, its schedule and the epochs so far.
    fn learner(&self) -> &Learner;

    /// The weights.
    fn parameters(&self) -> &Parameters;

    /// The weights, to be changed.
    fn parameters_mut(&mut self) -> &mut Parameters;

    /// Puts the weights of the best validation epoch in place, if there was a validation part.
    fn choose_best(&mut self);

    /// What it learns from.
    fn data(&self) -> DataSummary;

    /// The size of the data in words, for people.
    fn size(&self) -> String;

    /// The original identifiers of the vertices.
    fn vertex_names(&self) -> &VertexNames;

    /// The names of the classes of labels.
    fn classes(&self) -> RunClasses;

    /// What the data was scaled by.
    fn scaled(&self) -> &Scaled;

    /// What a user should know about the data.
    fn warnings(&self) -> &[String];

    /// How the work is laid out, as JSON.
    fn layout(&self) -> serde_json::Value;

    /// Frames or batches in an epoch.
    fn steps_per_epoch(&self) -> usize;

    /// Lets the validation of an epoch end early if the end is asked for: the epoch then counts as
    /// interrupted, and is validated when the run continues. Several ranks stop together, if one of them
    /// is asked to.
    fn stop_on(&mut self, interrupt: &Interrupt);

    /// How the run is measured, for the summary.
    fn protocol(&self) -> serde_json::Value;

    /// How much of a batch's work is the same work again, if batches are deduplicated.
    fn redundancy(&self) -> Option<Redundancy> {
        None
    }

    /// How ranks exchange GPU data, if several have GPUs.
    fn device_transport(&self) -> Option<&DeviceTransport> {
        None
    }

    /// Where seconds are counted.
    fn timeline(&self) -> &Timeline;

    /// Where it computes.
    fn device(&self) -> &Device;
}

impl dyn TrainingRun + '_ {
    /// The protocol, with the name of the class that precision is about if there are two.
    pub fn declared(&self) -> serde_json::Value {
        let mut protocol = self.protocol();
        if let (Some(2), Some(class)) = (self.config().task.classes, self.positive_class()) {
            protocol["task"]["positive_class"] = class.into();
        }
        if let Some(scaling) = self.scaled().protocol() {
            protocol["scaling"] = scaling;
        }
        protocol
    }

    fn positive_class(&self) -> Option<String> {
        let RunClasses { events, vertices } = self.classes();
        let names = match (self.task(), self.config().model.name.is_stream()) {
            (TaskName::EdgeClassification, _) | (TaskName::NodeClassification, true) => events,
            (TaskName::NodeClassification, false) => vertices,
            _ => return None,
        };
        names.get(1).cloned()
    }

    /// The epochs that are finished.
    pub fn epochs(&self) -> &[EpochRecord] {
        self.learner().epochs()
    }

    /// Whether enough epochs have passed, or early stopping says so.
    pub fn is_over(&self) -> bool {
        self.learner().is_over(self.config())
    }
}
