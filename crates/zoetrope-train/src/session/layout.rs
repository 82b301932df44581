//! The plan of a run: what planners are told, and what cannot be planned.

use zoetrope_data::split::Part;
use zoetrope_plan::{
    BlockCost, Choice, FrameRule, OperatorOrder as PlannedOrder, Plan, PlanError, Workload,
};

use super::share::{self, Decided, Shareable, Sharers};
use crate::config::{Config, Frame, OperatorOrder, TaskName};
use crate::engine::{Extent, Network, step_cost};
use crate::error::TrainError;
use crate::learner::optimise;
use crate::material::Material;
use crate::task;

/// The plan of a run by `train.ranks` ranks, each in a process of its own, with the ways to share it
/// side by side. Nothing is executed, and none of those ranks has to be there.
///
/// # Errors
/// As [`Session::start`](super::Session::start).
pub fn plan_for_ranks(
    mut config: Config,
    material: &Material,
    given: Option<Plan>,
) -> Result<Plan, TrainError> {
    let sharers = Sharers::Planned(config.train.ranks as u32);
    Ok(draft(&mut config, material, given, Some(sharers), Compares::Always)?.plan)
}

/// What is decided before anything is executed.
pub(super) struct Drafted {
    pub(super) task_name: TaskName,
    pub(super) network: Network,
    pub(super) decided: Option<Decided>,
    pub(super) plan: Plan,
}

/// Whether a plan of several ranks tells what else there was to choose from, which takes as many
/// partitions of the vertices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compares {
    Always,
    Never,
}

/// Chooses the task, builds the network, decides how ranks share the run, and makes or takes the plan.
///
/// # Errors
/// Where the data does not fit the task or the model, ranks cannot share it, or no plan can be made
/// or fits.
pub(super) fn draft(
    config: &mut Config,
    material: &Material,
    given: Option<Plan>,
    sharers: Option<Sharers<'_>>,
    compares: Compares,
) -> Result<Drafted, TrainError> {
    let size = sharers.map_or(1, Sharers::size) as usize;
    if sharers.is_some() && material.learned.is_some() {
        return Err(TrainError::Unfit {
            what: format!(
                "data.features = \"learned\" and {size} ranks: ranks exchange features, \
                           but not what they learn of each other's"
            ),
            advice: "use --ranks 1, or data.features=degree".to_owned(),
        });
    }
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
    let (workload, state_bytes) = workload(config, task_name, material, &network, outputs, rule)?;
    let mut choice = choice(config, rule);
    let mut decided = None;
    let mut comparison = None;
    if let Some(sharers) = sharers {
        let unlimited = Choice { memory_limit: None, ..choice.clone() };
        let alone = match &given {
            Some(plan) => plan.clone(),
            None => zoetrope_plan::plan(&workload, &unlimited)?,
        };
        let shareable = Shareable {
            config,
            material,
            model: network.model.as_ref(),
            parameters: &network.parameters,
            workload: &workload,
            state_bytes,
            alone: &alone,
        };
        let made = share::decide(&shareable, given.as_ref(), sharers)?;
        choice.shared = Some(made.work.clone());
        decided = Some(made);
        if compares == Compares::Always {
            comparison = Some(shareable.compare(sharers.size())?);
        }
    }
    let mut plan = match given {
        Some(plan) => plan,
        None => {
            let mut plan = zoetrope_plan::plan(&workload, &choice)?;
            let chosen = config.chosen().iter().map(|choice| format!("chosen: {choice}"));
            plan.reasons.splice(0..0, chosen);
            plan
        }
    };
    plan.fits(&workload)?;
    plan.comparison = comparison.or(plan.comparison);
    Ok(Drafted { task_name, network, decided, plan })
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
fn for_ranks(plan: Plan, size: usize) -> Result<Plan, TrainError> {
    match (plan.ranks == size, size) {
        (true, _) => Ok(plan),
        (false, 1) => Ok(plan.alone()),
        (false, _) => Err(TrainError::Unfit {
            what: format!("the plan is for {} ranks, but there are {size}", plan.ranks),
            advice: format!("use --ranks {}, or make another plan", plan.ranks),
        }),
    }
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

/// The graph and the model as planners take them, and the bytes of the state that a frame leaves.
///
/// # Errors
/// Where the model cannot do what is asked of it.
fn workload(
    config: &Config,
    task: TaskName,
    material: &Material,
    network: &Network,
    outputs: usize,
    rule: FrameRule,
) -> Result<(Workload, u64), TrainError> {
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
    if config.plan.blocks.is_some_and(|blocks| blocks > 1) && !model.works_in_blocks() {
        return Err(TrainError::Unfit {
            what: format!("plan.blocks cuts frames, but {} looks at whole ones", model.name()),
            advice: "leave plan.blocks out".to_owned(),
        });
    }
    let step = config.train.truncate.unwrap_or(steps).min(steps);
    let cost = |steps, extent| step_cost(config, task, material, outputs, steps, extent);
    let whole = cost(step, Extent::Frame)?;
    let mut blocks = Vec::new();
    for count in block_counts(config, model.works_in_blocks(), step) {
        let found = cost(step.div_ceil(count), Extent::Block)?;
        let (activations, state_bytes) = (found.activations, found.state_bytes);
        blocks.push(BlockCost { blocks: count, activations, state_bytes });
    }
    let matrix_bytes = prepared_bytes(material, model.forms().len());
    let workload = Workload {
        data: material.name.clone(),
        model: model.name().to_owned(),
        training,
        vertices: material.vertices(),
        edges: (0..material.steps()).map(|step| material.sequence.at(step).len()).collect(),
        features: material.width(),
        structure_widths: model.structure_widths(),
        // What is learned changes with every update.
        can_reuse: model.can_reuse() && material.learned.is_none(),
        weights: network.parameters.weights(),
        optimiser_slots: optimise::slots(&config.train),
        data_bytes: material.bytes() + matrix_bytes,
        evaluation_bytes: evaluation_bytes(config, task, material),
        activations: whole.activations,
        blocks,
    };
    Ok((workload, whole.state_bytes))
}

/// What the configuration decides for one rank.
fn choice(config: &Config, rule: FrameRule) -> Choice {
    let order = match config.plan.order {
        OperatorOrder::Auto => None,
        OperatorOrder::AggregateFirst => Some(PlannedOrder::AggregateFirst),
        OperatorOrder::UpdateFirst => Some(PlannedOrder::UpdateFirst),
    };
    Choice {
        planner: config.plan.name.clone(),
        rule,
        group: config.plan.group,
        order,
        reuse: config.plan.reuse,
        blocks: config.plan.blocks,
        recompute: config.plan.recompute,
        shared: None,
        memory_limit: config.plan.memory_limit.map(|limit| limit.0),
    }
}

/// The numbers of blocks worth looking at: what was asked for, or what a limit on memory may need.
fn block_counts(config: &Config, possible: bool, steps: usize) -> Vec<usize> {
    match (config.plan.blocks, config.plan.memory_limit) {
        (Some(count), _) if count > 1 => vec![count.min(steps)],
        (None, Some(_)) if possible && config.train.truncate.is_none() => {
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
