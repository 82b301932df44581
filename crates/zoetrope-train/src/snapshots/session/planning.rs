//! The plan of a run over snapshots: what planners are told, and what cannot be planned.
//!
//! It decides nothing: it puts the graph, the model, the machine and the wishes of the configuration into
//! numbers, lets planners propose, and looks whether a saved plan fits. Of several ranks the first one plans
//! and tells the others.

use std::cell::RefCell;

use zoetrope_config as config;
use zoetrope_config::{Config, PlannedRanks, TaskName};
use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::optimiser::Gradients;
use zoetrope_nn::{Parameters, PreparedGraph};
use zoetrope_plan::partition::Divider;
use zoetrope_plan::planners::{Workload, layout};
use zoetrope_plan::strategy::Traffic;
use zoetrope_plan::{
    FramePlan, FrameRule, FrameWorkload, GpuFacts, LayerOrder, ModelStage, OverlapWish, Plan,
    Question, Wishes, choose,
};
use zoetrope_run::Timeline;
use zoetrope_tensor::Device;
use zoetrope_tensor::cuda::ParameterBlock;

use super::frame_rule::{events_plan, fit_frame, for_ranks, frame_rule, given_rule, of_frames};
use super::link::Link;
use super::metis::MetisDivider;
use super::timing::SimTimer;
use crate::device;
use crate::error::TrainError;
use crate::planned_machine;
use crate::snapshots::engine::{
    Layout, Network, SentBytes, StateSize, StepCost, block_states, stages,
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
    pub(super) ranks: PlannedRanks,
    pub(super) rule: FrameRule,
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
        let wishes = self.config.wishes(self.ranks, self.rule, false);
        let asks = wishes.overlap == OverlapWish::IfItGains && self.given.is_none();
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
    pub(super) fn stages(
        &self,
        material: &SnapshotInput,
        layout: Layout,
    ) -> Result<Vec<ModelStage>, TrainError> {
        let steps = self.rule.frame.unwrap_or(MINIATURE_STEPS).min(MINIATURE_STEPS);
        stages(self.config, self.task_name, material, self.outputs, layout, steps)
    }
}

/// The snapshots of a miniature that shows what moves at a snapshot that has one before it.
const MINIATURE_STEPS: usize = 2;
/// A reason of a plan.
const MEASURED_ON_GPU: &str = "what a step takes was measured on the GPU, on small graphs";

/// Bytes of the features of a snapshot that are sent with it.
pub(super) fn sent_features(material: &SnapshotInput) -> u64 {
    let all = if material.learned.is_some() { 0 } else { material.feature_bytes() };
    (all / material.steps().max(1)) as u64
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
