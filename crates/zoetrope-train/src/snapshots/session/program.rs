//! The programs of a plan, for whoever compares or simulates them: of the session that executes it, and of all
//! ranks of a run that is not there.

use zoetrope_config::{Config, LossOn, PlannedRanks, TaskName};
use zoetrope_data::split::Part;
use zoetrope_graph::{GraphError, SnapshotSequence};
use zoetrope_nn::Role;
use zoetrope_nn::model::Coverage;
use zoetrope_plan::{
    CopySizes, FrameFacts, FramePlan, ModelStage, Plan, Residency, StageRole, TaskGraph,
};
use zoetrope_sim::Machine;
use zoetrope_sim::machine::DeviceKind;
use zoetrope_sim::operators::Operators;
use zoetrope_tensor::Device;

use super::Session;
use super::epoch::frame_order;
use super::frame_rule::of_frames;
use super::planning::{Draft, sent_features, summed};
use crate::error::TrainError;
use crate::learner::optimise;
use crate::snapshots::engine::{CountedCopies, Layout, Network, SentBytes, operators, stages};
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
    /// Its operators, if miniatures tell them.
    pub operators: Option<Operators>,
    /// What programs should say and do not.
    pub unknown: Vec<String>,
}

/// Tells the programs of all `train.ranks` ranks of a run, in their order: of its first epoch, on a machine. Its devices
/// need not be there.
///
/// # Errors
/// As [`Session::start`].
pub fn foretell(
    mut config: Config,
    material: &SnapshotInput,
    given: Option<Plan>,
    machine: &Machine,
    tell: &mut dyn FnMut(TaskGraph),
) -> Result<ForetoldRun, TrainError> {
    let given = of_frames(given, &config)?;
    let all = config.train.ranks;
    let ranks = PlannedRanks { all: all as u32, in_process: 1 };
    let draft = Draft::new(&mut config, material, given, ranks)?.on(machine.clone());
    let has_gpus = machine.device.kind == DeviceKind::Gpu;
    let gpu = has_gpus
        .then_some(machine.device.memory_bytes)
        .map(|bytes| draft.gpu_facts(material, bytes, Ok(())));
    let plan = draft.plan(material, &Device::Cpu, gpu.as_ref(), None, false)?;
    draft.programs(material, &plan, tell)?;
    let found = draft.stages_of(material, &plan)?;
    let counted = material.sequence.counts().is_some();
    Ok(ForetoldRun {
        operators: draft.operators_of(material, &plan)?,
        unknown: unknown(&plan, counted),
        evolves: !moves_rows(&found),
        weights: draft.network.parameters.weights(),
        optimiser_slots: optimise::slots(&draft.config.train),
        plan,
    })
}

impl Draft<'_> {
    /// Tells the programs of all ranks of a plan, in their order.
    pub(super) fn programs(
        &self,
        material: &SnapshotInput,
        plan: &FramePlan,
        tell: &mut dyn FnMut(TaskGraph),
    ) -> Result<(), TrainError> {
        let found = &self.stages_of(material, plan)?;
        let training = material.steps_of(Part::Train, self.task_name);
        let counted = material.sequence.counts().is_some();
        let (asked, draws) = if counted {
            (expected(self.task_name, material, &training), draws(self.task_name))
        } else {
            let mut task = task::make(self.config, self.task_name, material)?;
            (asked(task.as_mut(), material, &training), task.draws())
        };
        let statistics = statistics(&self.network);
        let forms = self.network.model.forms();
        let sends = plan.gpu.is_some() && !plan.splits_snapshots() && !counted;
        let sent = sends.then(|| self.sent_graph(material, &Device::Cpu)).transpose()?;
        let states = self.states_of(material, plan)?;
        let order = frame_order(plan, self.config, 0);
        let describes_last = describes_last(&self.network);
        let (graph, features) = (&material.sequence, sent_features(material));
        for rank in 0..plan.head.ranks {
            let estimated = counted.then(|| {
                let states = states.clone();
                CountedCopies::of_rank(plan, rank, graph, &forms, found, features, states)
            });
            let estimated = estimated.flatten();
            let copies = sent.as_ref().and_then(|sent| {
                let sent = SentBytes::of_rank(plan, rank, sent, found, features)?;
                Some(sent.with_states(states.clone()))
            });
            let copies = copies.as_ref().map(|copies| copies as &dyn CopySizes);
            let facts = FrameFacts {
                stages: found,
                pieces: zoetrope_tensor::sequence_pieces,
                asks: &asked,
                draws,
                statistics: &statistics,
                graph,
                copies: copies.or(estimated.as_ref().map(|copies| copies as &dyn CopySizes)),
                width: self.network.model.width(),
                describes_last,
                asks_last: self.config.train.loss == LossOn::Last || describes_last,
                summed: summed(self.config, &self.network.parameters),
            };
            tell(plan.lower(rank, &order, &facts));
        }
        Ok(())
    }

    /// The operators of a plan's tasks.
    pub(super) fn operators_of(
        &self,
        material: &SnapshotInput,
        plan: &FramePlan,
    ) -> Result<Option<Operators>, TrainError> {
        let (layout, steps) = (Layout::of(plan), plan.miniature_steps());
        let (config, task) = (self.config, self.task_name);
        let found = operators(config, task, material, self.outputs, &layout, steps)?;
        let graph = &material.sequence;
        // A graph whose snapshots cannot be looked at counts as even.
        let skew = skew(graph).unwrap_or(0.0);
        let (vertices, copies) = (
            material.vertices().max(1),
            if graph.is_constant() { 1 } else { graph.steps().max(1) },
        );
        Ok(found.map(|stages| Operators {
            steps,
            stages,
            edges_per_row: graph.stored_edges() as f64 / (copies * vertices) as f64,
            skew,
            threads: self.threads(),
        }))
    }
}

/// Snapshots that tell how skewed degrees are.
const SKEW_SNAPSHOTS: usize = 4;

/// The deviation of the degrees of a snapshot over their mean, self-loops among them: the mean of some snapshots.
fn skew(graph: &SnapshotSequence) -> Result<f64, GraphError> {
    let vertices = graph.vertices().max(1) as usize;
    let every = graph.steps().div_ceil(SKEW_SNAPSHOTS).max(1);
    let (mut sum, mut count) = (0.0, 0);
    for step in (0..graph.steps()).step_by(every) {
        graph.visit(step..step + 1, |_, view| {
            let mut degrees = vec![1.0_f64; vertices];
            view.dst.iter().for_each(|&dst| degrees[dst as usize] += 1.0);
            let mean = degrees.iter().sum::<f64>() / vertices as f64;
            let square = degrees.iter().map(|degree| (degree - mean).powi(2)).sum::<f64>();
            (sum, count) = (sum + (square / vertices as f64).sqrt() / mean, count + 1);
            Ok::<_, GraphError>(())
        })?;
    }
    Ok(if count == 0 { 0.0 } else { sum / f64::from(count) })
}

/// Whether time encoders work on rows.
pub(super) fn moves_rows(stages: &[ModelStage]) -> bool {
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
