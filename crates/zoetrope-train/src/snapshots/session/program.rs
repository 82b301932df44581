//! The programs of a plan, for whoever compares or simulates them: of the session that executes it, and of all
//! ranks of a run that is not there.

use zoetrope_config::{Config, LossOn, PlannedRanks, TaskName};
use zoetrope_data::split::Part;
use zoetrope_nn::Role;
use zoetrope_nn::model::Coverage;
use zoetrope_plan::{
    CopySizes, FrameFacts, FramePlan, ModelStage, Plan, Residency, StageRole, TaskGraph,
};
use zoetrope_tensor::Device;

use super::Session;
use super::epoch::frame_order;
use super::planning::{Draft, of_frames, sent_features, summed};
use crate::error::TrainError;
use crate::learner::optimise;
use crate::snapshots::engine::{CountedCopies, Layout, Network, SentBytes, stages};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task::{self, Questions, Task};

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
        let training = self.steps_of(Part::Train);
        let asked = asked(self.task.as_mut(), &self.material, &training);
        let statistics = statistics(&self.network);
        let copies = self.forecast()?;
        let facts = FrameFacts {
            stages: &found,
            asks: &asked,
            pieces: zoetrope_tensor::sequence_pieces,
            draws: self.task.draws(),
            statistics: &statistics,
            graph: &self.material.sequence,
            copies: copies.as_ref().map(|copies| copies as &dyn CopySizes),
            width: self.network.model.width(),
            describes_last: describes_last(&self.network),
            asks_last: self.only_last(),
            summed: summed(&self.config, &self.network.parameters),
        };
        let order = self.frame_order(self.learner.progress.epoch);
        Ok(self.plan.lower(self.rank(), &order, &facts))
    }
}

/// A run that is not there: its plan, and what its programs do not say.
#[derive(Debug)]
pub struct ForetoldRun {
    /// How it is laid out.
    pub plan: FramePlan,
    /// Whether time encoders work on weights and not on rows of vertices.
    pub evolves: bool,
    /// Values that the optimiser changes.
    pub weights: usize,
    /// Arrays that the optimiser keeps for each of them.
    pub optimiser_slots: usize,
    /// What programs should say and do not.
    pub unknown: Vec<String>,
}

/// Tells the programs of all `train.ranks` ranks of a run, in their order: of its first epoch, on GPUs that have
/// `gpu_bytes` of memory each, or on processors. None of those has to be there.
///
/// # Errors
/// As [`Session::start`].
pub fn foretell(
    mut config: Config,
    material: &SnapshotInput,
    given: Option<Plan>,
    gpu_bytes: Option<u64>,
    tell: &mut dyn FnMut(TaskGraph),
) -> Result<ForetoldRun, TrainError> {
    let given = of_frames(given, &config)?;
    let all = config.train.ranks;
    let ranks = PlannedRanks { all: all as u32, in_process: 1 };
    let draft = Draft::new(&mut config, material, given, ranks)?;
    let gpu = gpu_bytes.map(|bytes| draft.gpu_facts(material, bytes, Ok(())));
    let plan = draft.plan(material, gpu.as_ref(), false)?;
    let found = draft.stages_of(material, &plan)?;
    let training = material.steps_of(Part::Train, draft.task_name);
    let counted = material.sequence.counts().is_some();
    let (asked, draws) = if counted {
        (expected(draft.task_name, material, &training), draws(draft.task_name))
    } else {
        let mut task = task::make(draft.config, draft.task_name, material)?;
        (asked(task.as_mut(), material, &training), task.draws())
    };
    let statistics = statistics(&draft.network);
    let forms = draft.network.model.forms();
    let sends = plan.gpu.is_some() && !plan.splits_snapshots() && !counted;
    let graph = sends.then(|| draft.sent_graph(material, &Device::Cpu)).transpose()?;
    let states = draft.states_of(material, &plan)?;
    let order = frame_order(&plan, draft.config, 0);
    for rank in 0..all {
        let features = sent_features(material);
        let states = states.clone();
        let (sequence, found) = (&material.sequence, &found);
        let estimated = counted.then(|| {
            CountedCopies::of_rank(&plan, rank, sequence, &forms, found, features, states.clone())
        });
        let estimated = estimated.flatten();
        let copies = graph.as_ref().and_then(|graph| {
            let sent = SentBytes::of_rank(&plan, rank, graph, found, features)?;
            Some(sent.with_states(states))
        });
        let copies = copies.as_ref().map(|copies| copies as &dyn CopySizes);
        let facts = FrameFacts {
            stages: found,
            pieces: zoetrope_tensor::sequence_pieces,
            asks: &asked,
            draws,
            statistics: &statistics,
            graph: sequence,
            copies: copies.or(estimated.as_ref().map(|copies| copies as &dyn CopySizes)),
            width: draft.network.model.width(),
            describes_last: describes_last(&draft.network),
            asks_last: draft.config.train.loss == LossOn::Last || describes_last(&draft.network),
            summed: summed(draft.config, &draft.network.parameters),
        };
        tell(plan.lower(rank, &order, &facts));
    }
    Ok(ForetoldRun {
        unknown: unknown(&plan, counted),
        evolves: !moves_rows(&found),
        weights: draft.network.parameters.weights(),
        optimiser_slots: optimise::slots(&draft.config.train),
        plan,
    })
}

/// Whether time encoders work on rows.
fn moves_rows(stages: &[ModelStage]) -> bool {
    stages.iter().any(|stage| stage.role == StageRole::ToTime)
}

/// What is not in programs although it will happen.
fn unknown(plan: &FramePlan, counted: bool) -> Vec<String> {
    let mut unknown = Vec::new();
    if counted && plan.splits_snapshots() {
        unknown.push(
            "only sizes of the graph are known: rows that ranks gather are those expected of a random \
             partition, of which a good one needs fewer"
                .to_owned(),
        );
    }
    if counted && plan.gpu.is_some_and(|gpu| gpu.residency == Residency::Stream) {
        unknown.push(
            "only sizes of the graph are known: bytes of snapshots that go to GPUs are estimated"
                .to_owned(),
        );
    }
    if plan.gpu.is_some() && plan.splits_snapshots() && !counted {
        unknown.push(
            "what goes to GPUs is not counted: ranks that divide vertices know it when they are there"
                .to_owned(),
        );
    }
    let streams = plan.gpu.is_some_and(|gpu| gpu.residency == Residency::Stream);
    if streams && plan.keeps_blocks() {
        unknown.push("what goes to GPUs again for blocks that are kept is not counted".to_owned());
    }
    unknown
}

fn describes_last(network: &Network) -> bool {
    network.model.coverage() == Coverage::Last
}

/// The same if only sizes are known: of every vertex of a snapshot, or of the edges of the one that follows it.
fn expected(
    task: TaskName,
    material: &SnapshotInput,
    training: &std::ops::Range<usize>,
) -> Vec<bool> {
    let ahead = usize::from(task == TaskName::LinkPrediction);
    let asks = |step: usize| match material.goal {
        Some(_) if ahead == 0 => true,
        _ => step + ahead < material.steps() && material.sequence.edges_at(step + ahead) > 0,
    };
    (0..material.steps()).map(|step| training.contains(&step) && asks(step)).collect()
}

/// Whether what a task asks is drawn.
fn draws(task: TaskName) -> bool {
    matches!(task, TaskName::LinkPrediction)
}

/// Whether anything is asked of each snapshot.
fn asked(
    task: &mut dyn Task,
    material: &SnapshotInput,
    training: &std::ops::Range<usize>,
) -> Vec<bool> {
    let asks = |step: usize| {
        let questions = Questions { steps: step..step + 1, epoch: 0 };
        training.contains(&step) && task.answers(&questions) > 0.0
    };
    (0..material.steps()).map(asks).collect()
}

/// The widths of batch norms: each has a running mean, a running variance and a count.
fn statistics(network: &Network) -> Vec<usize> {
    let all: Vec<_> = network.parameters.iter().map(|(_, one)| one).collect();
    let statistics = all.into_iter().filter(|one| one.role == Role::Statistic);
    statistics.step_by(3).map(|one| one.matrix.shape().len()).collect()
}
