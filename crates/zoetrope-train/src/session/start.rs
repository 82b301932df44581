//! Bringing a run into being: the task, the network, the plan.

use std::sync::Arc;

use zoetrope_dist::Ranks;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::state::Carried;
use zoetrope_plan::Plan;
use zoetrope_tensor::{Device, Matrix, Tape};

use super::layout::{self, Compares, Drafted};
use super::share::Sharers;
use super::{Recorded, Session};
use crate::config::{Config, Residency};
use crate::device;
use crate::engine::{FrameRunner, Layout};
use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::learner::Learner;
use crate::material::Material;
use crate::run::{Phase, Timeline};
use crate::train::agreement;
use crate::{task, transport};

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
        let span = timeline.phase(Phase::Plan);
        let sharers = ranks.as_ref().map(Sharers::Here);
        let Drafted { task_name, network, decided, plan } =
            layout::draft(&mut config, &material, given, sharers, Compares::Never)?;
        if let Some(ranks) = &ranks {
            agreement::must_plan_alike(ranks, &plan)?;
        }
        drop(span);
        let span = timeline.phase(Phase::Load);
        let device = device::open(&config, &timeline, ranks.as_ref())?;
        let device_transport = match &ranks {
            Some(ranks) => transport::choose(&config, &device, ranks)?,
            None => None,
        };
        let model = network.model.as_ref();
        let layout = Layout::of(&plan);
        let team = ranks
            .zip(decided)
            .map(|(ranks, decided)| decided.team(ranks, &plan, config.plan.overlap));
        let (sequence, features) = (&material.sequence, &material.features);
        let runner = FrameRunner::new(sequence, features, model, layout, &device, team)?
            .learning(network.vertex_embedding);
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
        let classes = task::outputs(&config, task_name, &material)?;
        let metrics = task_name.metrics(classes);
        config.check_watched(metrics)?;
        let learner = Learner::new(&config, metrics[0], &network.parameters, &device);
        let tape_steps = plan.frames[0].steps.div_ceil(plan.blocks.count.max(1));
        Ok(Self {
            config,
            material,
            task_name,
            plan,
            network,
            task,
            runner,
            tape: Tape::on(device),
            tape_steps,
            judge_tape: Tape::new(),
            updates: Updates::default(),
            carried: Carried::default(),
            checkpoints: Vec::new(),
            learner,
            recorded: Recorded::default(),
            streams,
            embeddings,
            timeline,
            interrupt: Interrupt::new(),
            device_transport,
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
