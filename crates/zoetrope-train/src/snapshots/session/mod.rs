//! A run: epochs over the frames of a plan, evaluation, and the state that a checkpoint saves.
//!
//! [`Session`] executes; it writes no file and prints nothing. What a run leaves on the disk is the
//! business of [`train`](crate::train).

mod block_states;
mod blocks;
mod collectives;
mod cuda_graphs;
mod epoch;
mod evaluate;
mod frame_rule;
mod judging;
mod link;
mod metis;
mod pipeline;
mod planning;
mod precision;
mod predict;
mod program;
mod restore;
mod start;
mod timing;
mod workload;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;

use zoetrope_config::{Config, LossOn, TaskName};
use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_graph::VertexNames;
use zoetrope_nn::Parameters;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::state::Carried;
use zoetrope_plan::{FramePlan, Plan, Residency, Sharing};
use zoetrope_run::checkpoint::SavedTensor;
use zoetrope_run::{DataSummary, DeviceTransport, Metrics, Timeline};
use zoetrope_tensor::{Device, Matrix, Tape};

use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::scaling::Scaled;
use crate::snapshots::engine::{FrameRunner, Network, SentBytes};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task::{self, Task};
use crate::task_log::TaskLog;
use crate::train::RunClasses;
use crate::training_run::{Baselines, TrainingRun};

use block_states::BlockStates;
use collectives::OwnFrames;
use cuda_graphs::CudaGraphs;
pub(crate) use frame_rule::of_frames;
pub use planning::plan_for_ranks;
pub use predict::{Answers, PairQuestion};
pub use program::{ForetoldRun, foretell};

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
    /// Answers about embeddings that came off the tape: of other ranks, or for a prediction.
    judge_tape: Tape,
    updates: Updates,
    carried: Carried,
    /// The hidden states of all ranks when an epoch was interrupted, if they have parts of it.
    hidden_of_ranks: Vec<(String, SavedTensor)>,
    /// The states before the blocks of a frame.
    block_states: BlockStates,
    pub(crate) learner: Learner,
    recorded: CudaGraphs,
    /// The places in the epoch of the losses that this rank found, if ranks take different frames.
    own_losses: Vec<u64>,
    own_frames: OwnFrames,
    /// Embeddings of one snapshot, off the tape, for judging.
    embeddings: Arc<Matrix>,
    pub(crate) timeline: Timeline,
    pub(crate) tasks: TaskLog,
    /// Says that validation should end.
    pub(crate) interrupt: Interrupt,
    /// Bytes that were sent to a GPU piece by piece in the epochs of training, and how many were predicted.
    sent: [u64; 2],
    /// The baselines of a part that a thread measures while a GPU trains and judges.
    baselines_ahead: Option<(Part, JoinHandle<BTreeMap<String, Metrics>>)>,
    /// The part whose baselines are to be judged beside the model.
    baselines_beside: Option<Part>,
    /// What they reached.
    found_beside: Option<(Part, BTreeMap<String, Metrics>)>,
    /// What tells the latter, if anything is sent so.
    forecast: Option<SentBytes>,
    /// How ranks exchange GPU data.
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

    /// The network with its parameters.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The steps of a part at which the task asks.
    pub fn steps_of(&self, part: Part) -> Range<usize> {
        self.material.steps_of(part, self.task_name)
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

impl Baselines for Session {
    fn begin_baselines(&mut self, part: Part) {
        let sequence = &self.material.happened;
        let of_links = self.task_name == TaskName::LinkPrediction && !sequence.is_made();
        // Under a limit on memory the one comes after the other.
        let bounded = zoetrope_heap::limit().is_some();
        if !of_links || bounded || self.ranks.is_some() {
            return;
        }
        if self.device().gpu().is_none() {
            // Threads of the host have enough to do; but what is drawn is drawn once for both.
            self.baselines_beside = Some(part);
            return;
        }
        let (config, sequence) = (self.config.clone(), Arc::clone(sequence));
        let steps: Vec<usize> = self.steps_of(part).collect();
        let find = move || task::link_baselines(&config, &sequence, &steps);
        self.baselines_ahead = Some((part, std::thread::spawn(find)));
    }

    fn baselines(&mut self, part: Part) -> Result<BTreeMap<String, Metrics>, TrainError> {
        if let Some((_, ahead)) = self.baselines_ahead.take_if(|(begun, _)| *begun == part) {
            return Ok(ahead.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        if let Some(found) = self.found_beside.take_if(|(judged, _)| *judged == part) {
            return Ok(found.1);
        }
        let found =
            || task::baselines(&self.config, self.task_name, &self.material, self.steps_of(part));
        // The first of several ranks finds them.
        match &self.ranks {
            None => found(),
            Some(ranks) if ranks.rank() == 0 => {
                ranks.take_time();
                found()
            }
            Some(_) => Ok(BTreeMap::new()),
        }
    }
}

impl TrainingRun for Session {
    fn config(&self) -> &Config {
        &self.config
    }

    fn task(&self) -> TaskName {
        self.task_name
    }

    fn learner(&self) -> &Learner {
        &self.learner
    }

    fn parameters(&self) -> &Parameters {
        &self.network.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.network.parameters
    }

    fn choose_best(&mut self) {
        self.learner.choose_best(&mut self.network.parameters);
    }

    fn data(&self) -> DataSummary {
        self.material.summary()
    }

    fn size(&self) -> String {
        let material = &self.material;
        let data = format!(
            "{} vertices, {} snapshots, {} features",
            material.vertices(),
            material.steps(),
            material.width()
        );
        let Some(sharing) = &self.plan.sharing else { return data };
        let by = self.device_transport.as_ref().map(|by| format!(", by {}", by.name));
        let (ranks, by) = (self.plan.head.ranks, by.unwrap_or_default());
        format!("{data}; {ranks} ranks ({}{by})", sharing.name())
    }

    fn vertex_names(&self) -> &VertexNames {
        &self.material.names
    }

    fn classes(&self) -> RunClasses {
        let SnapshotInput { edge_classes, vertex_classes, .. } = &self.material;
        RunClasses { events: edge_classes.clone(), vertices: vertex_classes.clone() }
    }

    fn scaled(&self) -> &Scaled {
        &self.material.scaled
    }

    fn warnings(&self) -> &[String] {
        &self.material.warnings
    }

    fn layout(&self) -> serde_json::Value {
        serde_json::to_value(Plan::from(self.plan.clone())).unwrap_or_default()
    }

    fn steps_per_epoch(&self) -> usize {
        self.plan.frames.len()
    }

    fn stop_on(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn device_transport(&self) -> Option<&DeviceTransport> {
        self.device_transport.as_ref()
    }

    fn protocol(&self) -> serde_json::Value {
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

    fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn device(&self) -> &Device {
        self.tape.device()
    }
}
