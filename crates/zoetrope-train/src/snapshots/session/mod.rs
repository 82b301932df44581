//! A run: epochs over the frames of a plan, evaluation, and the state that a checkpoint saves.
//!
//! [`Session`] executes; it writes no file and prints nothing. What a run leaves on the disk is the
//! business of [`train`](crate::train).

mod blocks;
mod collectives;
mod cuda_graphs;
mod epoch;
mod evaluate;
mod pairs;
mod planning;
mod precision;
mod restore;
mod start;

use std::ops::Range;
use std::sync::Arc;

use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::state::Carried;
use zoetrope_plan::{FramePlan, Residency, Sharing};
use zoetrope_tensor::{Matrix, Tape};

use crate::config::{Config, LossOn, TaskName};
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::run::{DeviceTransport, Metrics, Timeline};
use crate::snapshots::engine::{FrameRunner, Network};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task::{self, Task};

use collectives::OwnFrames;
use cuda_graphs::CudaGraphs;
pub use evaluate::Answers;
pub use pairs::PairQuestion;
pub(crate) use planning::of_frames;
pub use planning::plan_for_ranks;

/// A run in progress.
pub struct Session {
    pub(crate) config: Config,
    pub(crate) material: SnapshotInput,
    pub(crate) task_name: TaskName,
    pub(crate) plan: FramePlan,
    /// The ranks of the run, if there are several.
    pub(crate) ranks: Option<Ranks>,
    pub(crate) network: Network,
    task: Box<dyn Task>,
    runner: FrameRunner,
    pub(crate) tape: Tape,
    /// The snapshots that the blocks of the tape were taken for.
    tape_steps: usize,
    /// Answers are judged on the host, from embeddings that came off the tape.
    judge_tape: Tape,
    updates: Updates,
    carried: Carried,
    /// The states before the blocks of a frame.
    checkpoints: Vec<Carried>,
    pub(crate) learner: Learner,
    recorded: CudaGraphs,
    /// The places in the epoch of the losses that this rank found, if ranks take different frames.
    own_losses: Vec<u64>,
    own_frames: OwnFrames,
    /// Embeddings of one snapshot, off the tape, for judging.
    embeddings: Arc<Matrix>,
    pub(crate) timeline: Timeline,
    /// Says that validation should end.
    pub(crate) interrupt: Interrupt,
    /// How what ranks have on GPUs goes from one to the other.
    pub(crate) device_transport: Option<DeviceTransport>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("network", &self.network)
            .field("epoch", &self.learner.progress.epoch)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The plan that is executed.
    pub fn plan(&self) -> &FramePlan {
        &self.plan
    }

    /// The data set.
    pub fn material(&self) -> &SnapshotInput {
        &self.material
    }

    /// The effective configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The task.
    pub fn task(&self) -> TaskName {
        self.task_name
    }

    /// The network with its parameters.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The steps of a part at which the task asks.
    pub fn steps_of(&self, part: Part) -> Range<usize> {
        self.material.steps_of(part, self.task_name)
    }

    /// The metrics of the task's baselines on a part; the first of several ranks finds them.
    ///
    /// # Errors
    /// If the data does not fit the task, or a rank is lost.
    pub fn baselines(
        &self,
        part: Part,
    ) -> Result<std::collections::BTreeMap<String, Metrics>, TrainError> {
        let found =
            || task::baselines(&self.config, self.task_name, &self.material, self.steps_of(part));
        match &self.ranks {
            None => found(),
            Some(ranks) if ranks.rank() == 0 => {
                ranks.take_time();
                found()
            }
            Some(_) => Ok(std::collections::BTreeMap::new()),
        }
    }

    /// How the run is measured, for the summary.
    pub fn protocol(&self) -> serde_json::Value {
        let split = &self.material.split;
        let range = |range: &Range<usize>| serde_json::json!([range.start, range.end]);
        let loss = if self.only_last() {
            "the last snapshot of each frame"
        } else {
            "the mean over the snapshots of each frame"
        };
        let state = if self.config.train.carry_state {
            "carried from frame to frame, replayed from the first snapshot to evaluate"
        } else {
            "reset at the start of each frame"
        };
        let chosen = if self.config.data.split.has_validation() {
            format!("the epoch with the best validation {}", self.learner.watched().name())
        } else {
            "the last epoch".to_owned()
        };
        serde_json::json!({
            "split": {
                "rule": self.config.data.split.to_string(),
                "train": range(&split.train),
                "val": range(&split.validation),
                "test": range(&split.test),
                "unit": "snapshots, in time order",
            },
            "evaluation": if self.config.train.carry_state || self.plan.rule.frame.is_none() { "each snapshot of a part once, in one pass over the sequence" } else { "each snapshot of a part once, as the last of its own frame" },
            "loss": loss,
            "hidden_state": state,
            "weights": chosen,
            "task": self.task.protocol(),
        })
    }

    /// Whether ranks take different frames of an update.
    fn shares_frames(&self) -> bool {
        self.plan.sharing == Some(Sharing::Frames)
    }

    /// Whether a GPU gets the graph frame by frame.
    fn streams(&self) -> bool {
        self.plan.gpu.is_some_and(|gpu| gpu.residency == Residency::Stream)
    }

    /// Whether the loss looks at the last snapshot of a frame only.
    pub(crate) fn only_last(&self) -> bool {
        self.config.train.loss == LossOn::Last || self.network.model.coverage() == Coverage::Last
    }
}
