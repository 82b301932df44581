//! Bringing a run into being: the task, the network, the plan.

use std::sync::Arc;

use zoetrope_data::split::Part;
use zoetrope_dist::Ranks;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::state::Carried;
use zoetrope_plan::Plan;
use zoetrope_tensor::{Device, Matrix, Tape};

use super::layout::{self, Planned};
use super::{Recorded, Session, share};
use crate::config::{Config, Residency};
use crate::device;
use crate::engine::{FrameRunner, Layout, Network};
use crate::error::TrainError;
use crate::learner::Learner;
use crate::material::Material;
use crate::run::{Phase, Timeline};
use crate::task;

impl Session {
    /// Chooses the task, builds the network, makes or takes the plan, and prepares the graph.
    ///
    /// # Errors
    /// Where the data does not fit the task or the model, no plan can be made, or the plan that is
    /// given does not fit.
    pub fn start(
        config: Config,
        material: Material,
        given: Option<Plan>,
        timeline: Timeline,
    ) -> Result<Self, TrainError> {
        Self::start_shared(config, material, given, timeline, None)
    }

    /// The same as one of several ranks, which all call it.
    ///
    /// # Errors
    /// As [`Session::start`], and where ranks cannot share the run or one is lost.
    pub fn start_shared(
        mut config: Config,
        material: Material,
        given: Option<Plan>,
        timeline: Timeline,
        ranks: Option<Ranks>,
    ) -> Result<Self, TrainError> {
        let given = given.map(|plan| for_ranks(plan, ranks.as_ref())).transpose()?;
        let span = timeline.phase(Phase::Plan);
        let task_name = task::choose(&config, &material)?;
        // What the data decides may contradict what the user set.
        config.task.name = Some(task_name);
        config.check()?;
        let outputs = task::outputs(&config, task_name, &material)?;
        let rule = match &given {
            Some(plan) => layout::given_rule(&config, plan)?,
            None => layout::frame_rule(&config)?,
        };
        let training = material.steps_of(Part::Train, task_name);
        let steps = rule.frame.unwrap_or(training.len());
        let (width, vertices) = (material.width(), material.vertices());
        let network = Network::new(&config, task_name, width, outputs, steps, vertices)?;
        let decided = match &ranks {
            None => None,
            Some(ranks) => {
                let model = network.model.as_ref();
                Some(share::decide(
                    &config,
                    task_name,
                    &material,
                    model,
                    steps,
                    given.as_ref(),
                    ranks,
                )?)
            }
        };
        let shared = decided.as_ref().map(|decided| decided.work.clone());
        let planned = Planned {
            config: &config,
            task: task_name,
            material: &material,
            network: &network,
            outputs,
            rule,
            shared,
        };
        let plan = layout::plan(planned, given)?;
        drop(span);
        let span = timeline.phase(Phase::Load);
        let device = device::open(&config, &timeline, ranks.as_ref())?;
        let model = network.model.as_ref();
        let layout = Layout::of(&plan);
        let team = ranks
            .zip(decided)
            .map(|(ranks, decided)| decided.team(ranks, &plan, config.plan.overlap));
        let (sequence, features) = (&material.sequence, &material.features);
        let runner = FrameRunner::new(sequence, features, model, layout, &device, team)?;
        let (streams, difference) =
            (streams(&config, &device, &runner), config.plan.difference.into());
        if streams {
            let longest = plan.frames.iter().map(|frame| frame.steps).max().unwrap_or(1);
            let at_once = longest.div_ceil(plan.blocks.count);
            runner.stream(at_once, difference);
        } else {
            runner.send_as(difference);
        }
        let task = task::make(&config, task_name, &material)?;
        drop(span);
        let embeddings = Arc::new(Matrix::zeros(material.vertices(), model.width()));
        let learner = Learner::new(&config, task_name.metrics()[0], &network.parameters, &device);
        Ok(Self {
            config,
            material,
            task_name,
            plan,
            network,
            task,
            runner,
            tape: Tape::on(device),
            judge_tape: Tape::new(),
            updates: Updates::default(),
            carried: Carried::default(),
            checkpoints: Vec::new(),
            learner,
            recorded: Recorded::default(),
            streams,
            embeddings,
            timeline,
        })
    }
}

/// Whether a card gets the graph frame by frame: where that is asked for, or where it would take
/// more than half of the memory that may be used.
fn streams(config: &Config, device: &Device, runner: &FrameRunner) -> bool {
    let Some(gpu) = device.gpu() else { return false };
    match config.plan.residency {
        Residency::Resident => false,
        Residency::Stream => true,
        Residency::Auto => runner.bytes_on_gpu() > gpu.memory_use().limit / 2,
    }
}

/// A saved plan as the ranks that are there execute it. One process can take over a plan of several,
/// which changes nothing but who computes what; several need one that was made for as many.
fn for_ranks(plan: Plan, ranks: Option<&Ranks>) -> Result<Plan, TrainError> {
    let size = ranks.map_or(1, Ranks::size);
    match (plan.ranks == size, size) {
        (true, _) => Ok(plan),
        (false, 1) => Ok(plan.alone()),
        (false, _) => Err(TrainError::Unfit {
            what: format!("the plan is for {} ranks, but there are {size}", plan.ranks),
            advice: format!("use --ranks {}, or make another plan", plan.ranks),
        }),
    }
}
