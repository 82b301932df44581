//! The plan of a run over snapshots: what planners are told, and what cannot be planned.
//!
//! It decides nothing: it puts the graph, the model, the machine and the wishes of the configuration into
//! numbers, lets planners propose, and looks whether a saved plan fits. Of several ranks the first one plans
//! and tells the others.

use std::cell::RefCell;

use zoetrope_config as config;
use zoetrope_config::{Config, Frame, OverlapRule, PlannedRanks, TaskName};
use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::change::StepChange;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::optimiser::Gradients;
use zoetrope_nn::{Parameters, PreparedGraph};
use zoetrope_plan::partition::Divider;
use zoetrope_plan::planners::{Workload, layout};
use zoetrope_plan::strategy::Traffic;
use zoetrope_plan::{
    BlockCost, FramePlan, FrameRule, FrameWorkload, GpuFacts, LayerOrder, ModelStage, Plan,
    PlanError, Question, StageRole, Wishes, choose,
};
use zoetrope_run::Timeline;
use zoetrope_tensor::cuda::{ParameterBlock, WORKSPACE_BYTES};
use zoetrope_tensor::{Device, Gpu, SparseGroup};

use super::link::Link;
use super::metis::MetisDivider;
use super::timing::SimTimer;
use crate::device;
use crate::error::TrainError;
use crate::learner::optimise;
use crate::planned_machine;
use crate::snapshots::engine::{
    Extent, Layout, Network, SentBytes, StateSize, StepCost, block_states, bytes_on_gpu, stages,
    step_cost,
};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task;
use crate::train::agreement;

/// The plan of a run by `train.ranks` ranks, each in a process of its own, with the ways to share it
/// side by side; `why` looks for the changes of the machine that would make each of them the fastest. Nothing is
/// executed, and none of those ranks has to be there.
///
/// # Errors
/// As [`Session::start`](super::Session::start).
pub fn plan_for_ranks(
    mut config: Config,
    material: &SnapshotInput,
    given: Option<Plan>,
    why: bool,
) -> Result<FramePlan, TrainError> {
    let given = of_frames(given, &config)?;
    let ranks = PlannedRanks { all: config.train.ranks as u32, in_process: 1 };
    // A machine without a GPU can plan for one that has some, but not say what these will do.
    let device = device::open(&config, &Timeline::new(), None).unwrap_or_default();
    let machine = planned_machine::of(&device);
    let draft = Draft::new(&mut config, material, given, ranks)?.on(machine);
    let draft = Draft { why, ..draft };
    let gpu = device.gpu().map(|gpu| {
        let absent = Err("the ranks are not there yet".to_owned());
        draft.gpu_facts(material, gpu.memory_use().limit as u64, absent)
    });
    let mut plan = draft.plan(material, &device, gpu.as_ref(), None, true)?;
    let asked = draft.config.wishes(ranks, draft.rule, true).transport;
    if let Some(gpu) = &mut plan.gpu {
        gpu.transport = gpu.transport.filter(|_| asked.is_some());
    }
    plan.head.sent_bytes = draft.sent_bytes(material, &device, &plan)?;
    Ok(plan)
}

/// What is decided before anything is executed, but for the plan.
pub(super) struct Draft<'c> {
    pub(super) config: &'c Config,
    pub(super) task_name: TaskName,
    pub(super) network: Network,
    /// The saved plan to execute, as the ranks that are there execute it.
    given: Option<FramePlan>,
    ranks: PlannedRanks,
    rule: FrameRule,
    pub(super) outputs: usize,
    /// What it will run on; one that is built in if nobody says.
    machine: Option<zoetrope_sim::Machine>,
    /// Whether candidates are told what would make them the fastest.
    why: bool,
}

impl<'c> Draft<'c> {
    /// Chooses the task and builds the network.
    ///
    /// # Errors
    /// If the data does not fit the task or the model, or a saved plan is for other ranks.
    pub(super) fn new(
        config: &'c mut Config,
        material: &SnapshotInput,
        given: Option<FramePlan>,
        ranks: PlannedRanks,
    ) -> Result<Self, TrainError> {
        let size = ranks.all as usize;
        let given = given.map(|plan| for_ranks(plan, size)).transpose()?;
        let task_name = task::choose(config, material)?;
        if config.task.name.replace(task_name).is_none() {
            config.settle("task.name", task_name.name(), task::natural(material).1.to_owned());
        }
        let training = material.steps_of(Part::Train, task_name);
        if given.is_none() {
            fit_frame(config, training.len());
        }
        // What the data decides may contradict what the user set.
        config.check()?;
        let outputs = task::outputs(config, task_name, material)?;
        let rule = match &given {
            Some(plan) => given_rule(config, plan)?,
            None => frame_rule(config)?,
        };
        let steps = rule.frame.unwrap_or(training.len());
        let (width, vertices) = (material.width(), material.vertices());
        let network = Network::new(config, task_name, width, outputs, steps, vertices)?;
        let machine = None;
        Ok(Self { config, task_name, network, given, ranks, rule, outputs, machine, why: false })
    }

    /// The same for a machine: what its plans are timed on.
    pub(super) fn on(self, machine: zoetrope_sim::Machine) -> Self {
        Self { machine: Some(machine), ..self }
    }

    /// Threads that a rank computes on.
    pub(super) fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let each = (cores / self.ranks.all.max(1) as usize).max(1);
        self.config.train.threads_to_start().unwrap_or(each)
    }

    /// The plan: the saved one if it fits, or the one that planners propose. Of several ranks that are there
    /// the first one makes it and tells the others, who all call this.
    ///
    /// # Errors
    /// If ranks cannot share the run, no plan can be made, or the saved one does not fit.
    pub(super) fn plan_together(
        &self,
        material: &SnapshotInput,
        device: &Device,
        linked: Result<(), String>,
        ranks: Option<&Ranks>,
    ) -> Result<FramePlan, TrainError> {
        let asks = self.config.plan.overlap == OverlapRule::IfItGains && self.given.is_none();
        let link = match ranks {
            Some(ranks) if asks && self.ranks.in_process < self.ranks.all => {
                Some(Link::measured(ranks)?)
            }
            _ => None,
        };
        let make = || {
            let gpu = device
                .gpu()
                .map(|gpu| self.gpu_facts(material, gpu.memory_use().limit as u64, linked));
            self.plan(material, device, gpu.as_ref(), link, false)
        };
        let Some(ranks) = ranks else { return make() };
        match agreement::told_by_first(ranks, || make().map(Plan::from))? {
            Plan::Frames(plan) => Ok(plan),
            Plan::Batches(_) => Err(events_plan(&self.config.model.name.to_string())),
        }
    }

    /// The states before the blocks of a plan, if they wait on the host.
    pub(super) fn states_of(
        &self,
        material: &SnapshotInput,
        plan: &FramePlan,
    ) -> Result<Vec<StateSize>, TrainError> {
        let frame = plan.longest_frame();
        if plan.stored_states(frame).is_empty() {
            return Ok(Vec::new());
        }
        let blocks = plan.blocks.of(0..frame);
        block_states(self.config, self.task_name, material, self.outputs, &blocks)
    }

    /// Bytes that go to the GPU of each rank piece by piece in an epoch; nothing if that is not known.
    fn sent_bytes(
        &self,
        material: &SnapshotInput,
        device: &Device,
        plan: &FramePlan,
    ) -> Result<Vec<u64>, TrainError> {
        if plan.gpu.is_none() || plan.splits_snapshots() {
            return Ok(Vec::new());
        }
        let found = self.stages_of(material, plan)?;
        let graph = self.sent_graph(material, device)?;
        let states = self.states_of(material, plan)?;
        let of = |rank: usize| {
            let sizes = SentBytes::of_rank(plan, rank, &graph, &found, sent_features(material))?;
            let sizes = sizes.with_states(states.clone());
            Some(plan.sent_bytes(rank, &plan.frames, &sizes))
        };
        Ok((0..plan.head.ranks).map_while(of).collect())
    }

    /// The matrices of all snapshots, to tell what of them is sent.
    pub(super) fn sent_graph(
        &self,
        material: &SnapshotInput,
        device: &Device,
    ) -> Result<PreparedGraph, TrainError> {
        Ok(PreparedGraph::on(device, &material.sequence, &self.network.model.forms())?)
    }

    /// The stages of the model as a plan lays it out.
    pub(super) fn stages_of(
        &self,
        material: &SnapshotInput,
        plan: &FramePlan,
    ) -> Result<Vec<ModelStage>, TrainError> {
        let (layout, steps) = (Layout::of(plan), plan.miniature_steps());
        stages(self.config, self.task_name, material, self.outputs, layout, steps)
    }

    pub(super) fn plan(
        &self,
        material: &SnapshotInput,
        device: &Device,
        gpu: Option<&GpuFacts>,
        link: Option<Link>,
        compare: bool,
    ) -> Result<FramePlan, TrainError> {
        let size = self.ranks.all;
        if size > 1 && material.learned.is_some() {
            return Err(TrainError::Unfit {
                what: format!(
                    "data.features = \"learned\" and {size} ranks: ranks exchange features, but not \
                     what they learn of each other's"
                ),
                advice: "use --ranks 1, or data.features=degree".to_owned(),
            });
        }
        let (facts, cost) = self.workload(material, device, gpu)?;
        let wishes = self.config.wishes(self.ranks, self.rule, compare);
        let Some(mut given) = self.given.clone() else {
            return self.proposed(material, &facts, cost, &wishes, gpu, link);
        };
        given.fits(&facts)?;
        match (gpu, given.gpu) {
            (None, _) => given.gpu = None,
            // A plan that was made for a processor says nothing about GPUs.
            (Some(gpu), None) => {
                let (layout, reasons) = layout::on_gpu(&given, &facts, &wishes, gpu)?;
                given.gpu = Some(layout);
                given.head.reasons.extend(reasons);
            }
            (Some(gpu), Some(planned)) => {
                given.gpu = Some(layout::for_ranks(planned, size as usize, gpu));
            }
        }
        if compare {
            let proposed = self.proposed(material, &facts, cost, &wishes, gpu, link)?;
            given.head.candidates = proposed.head.candidates;
            for candidate in &mut given.head.candidates {
                candidate.taken = given.sharing.as_ref().map(|sharing| sharing.name()).as_deref()
                    == Some(candidate.strategy.as_str());
            }
        }
        Ok(given)
    }

    fn proposed(
        &self,
        material: &SnapshotInput,
        facts: &FrameWorkload,
        cost: StepCost,
        wishes: &Wishes,
        gpu: Option<&GpuFacts>,
        link: Option<Link>,
    ) -> Result<FramePlan, TrainError> {
        let failed = RefCell::new(None);
        let traffic = |orders: &[LayerOrder], kept: bool| {
            let found = self.traffic(material, cost, orders, kept);
            found.map_err(|error| failed.borrow_mut().replace(error)).ok()
        };
        let (graph, traffic) = (&*material.sequence, &traffic);
        let workload = Workload::Frames { facts, graph, traffic };
        let machine = self.machine.clone();
        let machine = machine.unwrap_or_else(|| planned_machine::built_in(gpu.is_some()));
        let timer = SimTimer::new(self, material, &machine);
        let metis = wishes.metis.then(MetisDivider::find).transpose()?;
        let divider = metis.as_ref().map(|metis| metis as &dyn Divider);
        let rates = planned_machine::rates(&machine);
        let rates = link.map_or(rates, |link| link.between(rates));
        let question =
            Question { workload, machine: rates, timer: Some(&timer), divider, gpu, wishes };
        let chosen = choose(&question);
        if let Some(error) = failed.take() {
            return Err(error);
        }
        let plan = match chosen? {
            Plan::Frames(plan) => plan,
            Plan::Batches(_) => return Err(events_plan(&facts.model)),
        };
        let chosen = self.config.chosen().iter().map(|choice| format!("chosen: {choice}"));
        let mut plan = plan;
        plan.head.reasons.splice(0..0, chosen);
        if self.why {
            timer.tell_flips(&mut plan.head.candidates);
        }
        if facts.measured_on_gpu {
            plan.head.reasons.push(MEASURED_ON_GPU.to_owned());
        }
        Ok(plan)
    }

    /// What ranks would exchange if layers ran in these orders and the first aggregation were kept or not.
    fn traffic(
        &self,
        material: &SnapshotInput,
        cost: StepCost,
        orders: &[LayerOrder],
        kept: bool,
    ) -> Result<Traffic, TrainError> {
        let model = self.network.model.as_ref();
        Ok(Traffic {
            stages: self.stages(material, Layout::new(orders, kept))?,
            keeps_first: kept,
            answered: model.width(),
            answers_last: model.coverage() == Coverage::Last,
            summed: summed(self.config, &self.network.parameters),
            state_bytes_per_vertex: cost.state_bytes / material.vertices().max(1) as u64,
        })
    }

    /// The stages of the model over the fewest snapshots that show all of them.
    fn stages(
        &self,
        material: &SnapshotInput,
        layout: Layout,
    ) -> Result<Vec<ModelStage>, TrainError> {
        let steps = self.rule.frame.unwrap_or(MINIATURE_STEPS).min(MINIATURE_STEPS);
        stages(self.config, self.task_name, material, self.outputs, layout, steps)
    }

    /// What a GPU of so much memory offers, and what the graph and the features would take there.
    pub(super) fn gpu_facts(
        &self,
        material: &SnapshotInput,
        limit: u64,
        linked: Result<(), String>,
    ) -> GpuFacts {
        let (graph, vertices) = (&material.sequence, material.vertices());
        let copies = if graph.is_constant() { 1 } else { graph.steps() };
        let forms = self.network.model.forms().len();
        // Each matrix in each form, and its transpose if a gradient flows back through a product.
        let flows_back = |stage: &ModelStage| {
            matches!(stage.role, StageRole::Halo | StageRole::HaloInTime) && stage.needs_gradient
        };
        let stages = self.stages(material, Layout::plain(self.network.model.as_ref(), false));
        let sides = 1 + usize::from(stages.is_ok_and(|stages| stages.iter().any(flows_back)));
        let bytes_of = |step: usize| {
            let entries = graph.edges_at(step) + vertices;
            (sides * forms * SparseGroup::matrix_bytes(vertices, entries)) as u64
        };
        let targets = material.goal_bytes();
        let features = if material.learned.is_some() { 0 } else { material.feature_bytes() };
        GpuFacts {
            graph_bytes: (0..copies).map(bytes_of).sum(),
            snapshot_bytes: (0..copies).map(bytes_of).max().unwrap_or(0),
            change: change(graph),
            feature_bytes: (features / graph.steps().max(1)) as u64,
            target_bytes: targets as u64,
            workspace_bytes: WORKSPACE_BYTES as u64,
            ..GpuFacts::with_memory(limit, linked)
        }
    }

    /// About the bytes of the activations and the snapshots of a frame, of one rank that has all of it.
    fn bytes_of_frame(&self, material: &SnapshotInput, whole: &StepCost, steps: usize) -> u64 {
        let vertices = material.vertices() as f64;
        let all = material.sequence.stored_edges() as f64;
        let mean = if material.sequence.is_constant() {
            all
        } else {
            all / material.sequence.steps().max(1) as f64
        };
        let edges = steps as f64 * (mean + vertices);
        let cost = &whole.activations;
        let activations =
            cost.fixed_bytes + cost.bytes_per_vertex * vertices + cost.bytes_per_edge * edges;
        let matrices = (2 * self.network.model.forms().len()) as f64 * 8.0 * edges;
        let features = 2.0 * (steps * material.width() * 4) as f64 * vertices;
        (activations + 2.0 * matrices + features) as u64
    }

    /// The graph and the model as planners take them, and the cost of a step.
    ///
    /// # Errors
    /// If the model cannot do what is asked of it.
    fn workload(
        &self,
        material: &SnapshotInput,
        device: &Device,
        gpu: Option<&GpuFacts>,
    ) -> Result<(FrameWorkload, StepCost), TrainError> {
        let Self { config, task_name: task, ref network, outputs, rule, .. } = *self;
        let model = network.model.as_ref();
        let training = material.steps_of(Part::Train, task);
        let steps = rule.frame.unwrap_or(training.len());
        if training.is_empty() {
            return Err(PlanError::NoSnapshots.into());
        }
        if steps > training.len() {
            return Err(PlanError::FrameTooLong { frame: steps, snapshots: training.len() }.into());
        }
        if config.train.truncate.is_some() && model.coverage() == Coverage::Last {
            return Err(TrainError::Unfit {
                what: format!(
                    "train.truncate cuts frames, but {} reads whole frames",
                    model.name()
                ),
                advice: "leave train.truncate out".to_owned(),
            });
        }
        if config.train.truncate.is_some() && !model.carries_state() {
            return Err(TrainError::Unfit {
                what: format!("train.truncate hands a state on, but {} has none", model.name()),
                advice: "leave train.truncate out".to_owned(),
            });
        }
        if rule.frame.is_none() && model.most_steps().is_some() {
            return Err(TrainError::Unfit {
                what: format!(
                    "{} learns a position for each snapshot of a frame, so that it cannot go beyond the snapshots it trained on",
                    model.name()
                ),
                advice: "choose a length with train.frame".to_owned(),
            });
        }
        if config.train.carry_state && !model.carries_state() {
            return Err(TrainError::Unfit {
                what: format!("{} has no state to carry from frame to frame", model.name()),
                advice: "leave train.carry_state out".to_owned(),
            });
        }
        let wished = config.wishes(self.ranks, rule, false);
        if wished.blocks.is_some_and(|blocks| blocks > 1) && !model.works_in_blocks() {
            return Err(TrainError::Unfit {
                what: format!("plan.blocks cuts frames, but {} looks at whole ones", model.name()),
                advice: "leave plan.blocks out".to_owned(),
            });
        }
        let step = config.train.truncate.unwrap_or(steps).min(steps);
        let on = |steps, extent, device: &Device| {
            step_cost(config, task, material, outputs, steps, extent, device)
        };
        let mut whole = on(step, Extent::Frame, &Device::Cpu)?;
        // Miniatures of blocks are run only if a frame may be too much as a whole.
        let needed = self.bytes_of_frame(material, &whole, steps);
        let limited = match gpu {
            None => wished.memory_limit.is_some(),
            Some(gpu) => needed > gpu.memory_limit / 2,
        };
        let counts = block_counts(config, &wished, limited, model.works_in_blocks(), step);
        let sizes: Vec<usize> = counts.iter().map(|count| step.div_ceil(*count)).collect();
        // A GPU says what its kernels take if that matters, and if there is room for miniatures without doubt.
        let has_room = |gpu: &GpuFacts, snapshots: usize| {
            let share = snapshots as f64 / step as f64;
            bytes_on_gpu(&whole, material.vertices(), step) * share < gpu.memory_limit as f64
        };
        let (most, least) = (sizes.iter().max().copied(), sizes.iter().min().copied());
        let ends = most.map(|most| most.min(BLOCK_SAMPLE)).zip(least);
        let near =
            gpu.filter(|gpu| device.gpu().is_some() && needed > gpu.memory_limit / NEAR_LIMIT);
        let sample = ends.map_or(step, |(most, _)| 2 * most);
        let measured_on_gpu = near.is_some_and(|gpu| has_room(gpu, sample));
        let costs = if measured_on_gpu {
            if near.is_some_and(|gpu| has_room(gpu, step)) {
                whole = on(step, Extent::Frame, device)?;
            } else {
                whole = whole.times(ON_GPU);
            }
            let measured = |(many, few)| {
                let of = |steps| Ok::<_, TrainError>((on(steps, Extent::Block, device)?, steps));
                Ok::<_, TrainError>((of(many)?, of(few)?))
            };
            let ends = ends.map(measured).transpose()?;
            device.gpu().into_iter().for_each(Gpu::restart_memory_use);
            let at = |&steps: &usize| ends.map(|((many, size), few)| many.along(size, few, steps));
            sizes.iter().filter_map(at).collect()
        } else {
            let of = |&steps: &usize| on(steps, Extent::Block, &Device::Cpu);
            sizes.iter().map(of).collect::<Result<Vec<_>, _>>()?
        };
        let cost_of = |(&blocks, found): (&usize, StepCost)| {
            let StepCost { activations, state_bytes } = found;
            BlockCost { blocks, activations, state_bytes }
        };
        let blocks = counts.iter().zip(costs).map(cost_of).collect();
        let matrix_bytes = prepared_bytes(material, model.forms().len());
        let moved = self.stages(material, Layout::plain(model, false))?;
        let facts = FrameWorkload {
            data: material.name.clone(),
            model: model.name().to_owned(),
            training,
            vertices: material.vertices(),
            edges: (0..material.steps()).map(|step| material.sequence.edges_at(step)).collect(),
            features: material.width(),
            structure_widths: model.structure_widths(),
            works_in_blocks: model.works_in_blocks(),
            time_on_features: moved.iter().any(|stage| stage.role == StageRole::ToTime),
            is_recordable: model.is_recordable(),
            frames_per_update: config.train.batch_size,
            carries_state: config.train.carry_state,
            // What is learned changes with every update.
            can_reuse: model.can_reuse() && material.learned.is_none(),
            weights: network.parameters.weights(),
            optimiser_slots: optimise::slots(&config.train),
            data_bytes: material.bytes() + matrix_bytes,
            data_is_shared: material.splits && self.ranks.all > 1 && self.ranks.in_process == 1,
            evaluation_bytes: evaluation_bytes(config, task, material),
            measured_on_gpu,
            activations: whole.activations,
            blocks,
        };
        Ok((facts, whole))
    }
}

/// Bytes of the features of a snapshot that are sent with it.
pub(super) fn sent_features(material: &SnapshotInput) -> u64 {
    let all = if material.learned.is_some() { 0 } else { material.feature_bytes() };
    (all / material.steps().max(1)) as u64
}

/// The snapshots of a miniature that shows what moves at a snapshot that has one before it.
const MINIATURE_STEPS: usize = 2;
/// A reason of a plan.
const MEASURED_ON_GPU: &str = "what a step takes was measured on the GPU, on small graphs";
/// How much more a step may take on a GPU than on the processor, where the GPU cannot be asked.
const ON_GPU: f64 = 1.6;
/// The share of a GPU's memory, as a divisor, from which on it matters what its own kernels take.
const NEAR_LIMIT: u64 = 8;
/// Snapshots of the largest block that a miniature runs on a GPU. Larger ones are on the line through the smallest.
const BLOCK_SAMPLE: usize = 12;
/// Pairs of snapshots that are compared to tell how much a graph changes.
const COMPARED_PAIRS: usize = 4;

/// The share of the edges of a snapshot that the one before it does not have, judged by a few snapshots.
fn change(graph: &SnapshotSequence) -> f64 {
    if graph.is_constant() || graph.steps() < 2 {
        return 0.0;
    }
    let between = (graph.steps() - 1).div_ceil(COMPARED_PAIRS);
    let rates = (1..graph.steps()).step_by(between).map(|step| {
        if let Some(counts) = graph.counts() {
            return counts.added(step) as f64 / graph.edges_at(step).max(1) as f64;
        }
        let StepChange { added, common, .. } =
            StepChange::between(graph.at(step - 1), graph.at(step));
        added as f64 / ((added + common).max(1)) as f64
    });
    rates.fold(0.0, f64::max)
}

/// Values that are added up in a step: gradients and which parameters they reached, as they lie on the
/// device.
pub(super) fn summed(config: &Config, parameters: &Parameters) -> usize {
    match config.train.device {
        config::Device::Cpu => Gradients::packed(parameters),
        config::Device::Cuda(_) => {
            let lengths = parameters.iter().map(|(_, one)| one.matrix.shape().len());
            ParameterBlock::shared_len(lengths)
        }
    }
}

/// Shortens a frame that nobody asked for and that the training part is too short for: to half of
/// the training part, so that there are as many frames as a frame has snapshots.
fn fit_frame(config: &mut Config, training: usize) {
    let Frame::Steps(steps) = config.train.frame else { return };
    if steps <= training || training == 0 || config.is_given("train.frame") {
        return;
    }
    let fit = training.div_ceil(2);
    config.train.frame = Frame::Steps(fit);
    let because = format!("{training} snapshots to train on are fewer than the usual {steps}");
    config.settle("train.frame", fit, because);
}

/// A saved plan as the ranks that are there execute it. One process can take over a plan of several,
/// which changes nothing but who computes what; several need one that was made for as many.
fn for_ranks(plan: FramePlan, size: usize) -> Result<FramePlan, TrainError> {
    let planned = plan.head.ranks;
    if planned == size {
        return Ok(plan);
    }
    if size == 1 {
        return Ok(plan.alone());
    }
    Err(TrainError::Unfit {
        what: format!("the plan is for {planned} ranks, but there are {size}"),
        advice: format!("use --ranks {planned}, or make another plan"),
    })
}

/// A saved plan as one of frames.
///
/// # Errors
/// If it is one of batches.
pub(crate) fn of_frames(
    plan: Option<Plan>,
    config: &Config,
) -> Result<Option<FramePlan>, TrainError> {
    match plan {
        None => Ok(None),
        Some(Plan::Frames(plan)) => Ok(Some(plan)),
        Some(Plan::Batches(_)) => Err(events_plan(config.model.name.name())),
    }
}

/// The refusal of a plan of batches by a run over snapshots.
fn events_plan(model: &str) -> TrainError {
    TrainError::Unfit {
        what: format!("the plan lays out batches of events, but {model} learns from snapshots"),
        advice: "make another plan with `zoetrope plan`, or leave --plan out".to_owned(),
    }
}

/// How a saved plan cuts frames, which wins over the configuration.
fn given_rule(config: &Config, plan: &FramePlan) -> Result<FrameRule, TrainError> {
    if config.train.carry_state && plan.rule.frame.is_some_and(|frame| frame != plan.rule.stride) {
        Err(TrainError::Unfit {
            what:
                "train.carry_state needs frames that follow each other, but those of the plan do \
                   not"
                .to_owned(),
            advice: "make a plan with train.carry_state=true".to_owned(),
        })
    } else {
        Ok(plan.rule)
    }
}

/// How frames are cut. A state that is carried on needs frames that follow each other without a gap
/// or an overlap.
fn frame_rule(config: &Config) -> Result<FrameRule, TrainError> {
    let frame = match config.train.frame {
        Frame::All => None,
        Frame::Steps(steps) => Some(steps),
    };
    let stride = match (config.train.carry_state, frame) {
        (true, Some(frame)) if config.train.stride == 1 || config.train.stride == frame => frame,
        (true, Some(frame)) => {
            return Err(TrainError::Unfit {
                what: format!(
                    "train.carry_state with train.stride = {} and train.frame = {frame}: the state after a frame belongs to the snapshot that follows it",
                    config.train.stride
                ),
                advice: format!("set train.stride = {frame}"),
            });
        }
        _ => config.train.stride,
    };
    Ok(FrameRule { frame, stride, truncate: config.train.truncate })
}

/// The numbers of blocks worth looking at: what was asked for, or what a limit on memory may need.
fn block_counts(
    config: &Config,
    wishes: &Wishes,
    limited: bool,
    possible: bool,
    steps: usize,
) -> Vec<usize> {
    match wishes.blocks {
        Some(count) if count > 1 => vec![count.min(steps)],
        None if limited && possible && config.train.truncate.is_none() => {
            // Sizes of blocks, not their numbers, decide: of numbers with the same largest block the
            // first will do.
            let mut counts: Vec<usize> = (2..=steps).collect();
            counts.dedup_by_key(|count| steps.div_ceil(*count));
            counts.retain(|&count| count <= 16 || count.is_multiple_of(4) || count == steps);
            counts
        }
        _ => Vec::new(),
    }
}

/// Bytes of the scores that AP and AUC keep: eight for each pair of the test part, of the model or
/// of the three baselines, whose lists are sorted in place; and what is kept of the questions of the validation part.
fn evaluation_bytes(config: &Config, task: TaskName, material: &SnapshotInput) -> u64 {
    if task != TaskName::LinkPrediction {
        return 0;
    }
    let edges: usize =
        material.split.test.clone().map(|step| material.happened.edges_at(step)).sum();
    let scores = (edges * (1 + config.task.negatives) * 8 * 3) as u64;
    let unlimited = config.memory_limit().is_none();
    let kept =
        if unlimited { task::kept_bytes(&material.happened, config.task.negatives) } else { 0 };
    scores + kept
}

/// Bytes of the matrices that layers multiply with: offsets, columns and values, twice for the
/// transpose, and where its entries come from.
fn prepared_bytes(material: &SnapshotInput, forms: usize) -> u64 {
    let vertices = material.vertices() as u64;
    let copies = if material.sequence.is_constant() { 1 } else { material.steps() as u64 };
    let entries = material.sequence.stored_edges() as u64 + copies * vertices;
    forms as u64 * (2 * (entries * 8 + copies * (vertices + 1) * 4) + entries * 4)
}
