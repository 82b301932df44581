//! Bringing a run into being: the task, the network, the plan.

use std::sync::Arc;

use zoetrope_data::split::Part;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::state::Carried;
use zoetrope_plan::{Choice, FrameRule, OperatorOrder as PlannedOrder, Plan, PlanError, Workload};
use zoetrope_tensor::{Device, Matrix, Tape};

use super::{Recorded, Session};
use crate::config::{Config, Frame, OperatorOrder, Residency, TaskName};
use crate::device;
use crate::engine::{FrameRunner, Layout, Network, activation_cost};
use crate::error::TrainError;
use crate::learner::{Learner, optimise};
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
        mut config: Config,
        material: Material,
        given: Option<Plan>,
        timeline: Timeline,
    ) -> Result<Self, TrainError> {
        available(&config)?;
        let span = timeline.phase(Phase::Plan);
        let task_name = task::choose(&config, &material)?;
        // What the data decides may contradict what the user set.
        config.task.name = Some(task_name);
        config.check()?;
        let outputs = task::outputs(&config, task_name, &material)?;
        let rule = match &given {
            Some(plan) => given_rule(&config, plan)?,
            None => frame_rule(&config)?,
        };
        let training = material.steps_of(Part::Train, task_name);
        let steps = rule.frame.unwrap_or(training.len());
        let (width, vertices) = (material.width(), material.vertices());
        let network = Network::new(&config, task_name, width, outputs, steps, vertices)?;
        let plan = plan(&config, task_name, &material, &network, outputs, rule, given)?;
        drop(span);
        let span = timeline.phase(Phase::Load);
        let device = device::open(&config, &timeline)?;
        let model = network.model.as_ref();
        let layout = Layout::of(&plan);
        let runner =
            FrameRunner::new(&material.sequence, &material.features, model, layout, &device)?;
        let streams = streams(&config, &device, &runner);
        if streams {
            let at_once = plan.frames.iter().map(|frame| frame.steps).max().unwrap_or(1);
            runner.stream(at_once, config.plan.difference.into());
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

/// Refuses what this build cannot do rather than doing something else.
pub(crate) fn available(config: &Config) -> Result<(), TrainError> {
    if config.train.ranks != 1 {
        return Err(TrainError::Unavailable {
            what: format!("train.ranks = {}", config.train.ranks),
            advice: "this version trains in one process: use --ranks 1".to_owned(),
        });
    }
    Ok(())
}

/// How a saved plan cuts frames, which wins over the configuration.
fn given_rule(config: &Config, plan: &Plan) -> Result<FrameRule, TrainError> {
    match config.train.carry_state && plan.rule.frame.is_some_and(|frame| frame != plan.rule.stride)
    {
        true => Err(TrainError::Unfit {
            what:
                "train.carry_state needs frames that follow each other, but those of the plan do \
                   not"
                .to_owned(),
            advice: "make a plan with train.carry_state=true".to_owned(),
        }),
        false => Ok(plan.rule),
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

fn plan(
    config: &Config,
    task: TaskName,
    material: &Material,
    network: &Network,
    outputs: usize,
    rule: FrameRule,
    given: Option<Plan>,
) -> Result<Plan, TrainError> {
    let model = network.model.as_ref();
    let training = material.steps_of(Part::Train, task);
    let steps = rule.frame.unwrap_or(training.len());
    if training.is_empty() {
        return Err(PlanError::NoSnapshots.into());
    }
    if steps > training.len() {
        return Err(PlanError::FrameTooLong { frame: steps, snapshots: training.len() }.into());
    }
    if config.train.truncate.is_some() && model.coverage() == zoetrope_nn::model::Coverage::Last {
        return Err(TrainError::Unfit {
            what: format!("train.truncate cuts frames, but {} reads whole frames", model.name()),
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
    let step = config.train.truncate.unwrap_or(steps).min(steps);
    let cost = activation_cost(config, task, material, outputs, step, config.plan.reuse)?;
    let matrix_bytes = prepared_bytes(material, model.forms().len());
    let workload = Workload {
        data: material.name.clone(),
        model: model.name().to_owned(),
        training,
        vertices: material.vertices(),
        edges: (0..material.steps()).map(|step| material.sequence.at(step).len()).collect(),
        features: material.width(),
        structure_widths: model.structure_widths(),
        can_reuse: model.can_reuse(),
        weights: network.parameters.weights(),
        optimiser_slots: optimise::slots(&config.train),
        data_bytes: material.bytes() + matrix_bytes,
        evaluation_bytes: evaluation_bytes(config, task, material),
        activations: cost,
    };
    let plan = match given {
        Some(plan) => plan,
        None => {
            let order = match config.plan.order {
                OperatorOrder::Auto => None,
                OperatorOrder::AggregateFirst => Some(PlannedOrder::AggregateFirst),
                OperatorOrder::UpdateFirst => Some(PlannedOrder::UpdateFirst),
            };
            let choice = Choice {
                planner: config.plan.name.clone(),
                rule,
                group: config.plan.group,
                order,
                reuse: config.plan.reuse,
                memory_limit: config.plan.memory_limit.map(|limit| limit.0),
            };
            zoetrope_plan::plan(&workload, &choice)?
        }
    };
    plan.fits(&workload)?;
    Ok(plan)
}

/// Bytes of the scores that AP and AUC keep: eight for each pair of the test part, of the model or
/// of the three baselines, whose lists are sorted in place.
fn evaluation_bytes(config: &Config, task: TaskName, material: &Material) -> u64 {
    if task != TaskName::LinkPrediction {
        return 0;
    }
    let edges: usize =
        material.split.test.clone().map(|step| material.happened.at(step).len()).sum();
    (edges * (1 + config.task.negatives) * 8 * 3) as u64
}

/// Bytes of the matrices that layers multiply with: offsets, columns and values, twice for the
/// transpose, and where its entries come from.
fn prepared_bytes(material: &Material, forms: usize) -> u64 {
    let vertices = material.vertices() as u64;
    let copies = if material.sequence.is_constant() { 1 } else { material.steps() as u64 };
    let entries = material.sequence.stored_edges() as u64 + copies * vertices;
    forms as u64 * (2 * (entries * 8 + copies * (vertices + 1) * 4) + entries * 4)
}
