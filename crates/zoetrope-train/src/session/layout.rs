//! The plan of a run: what planners are told, and what cannot be planned.

use zoetrope_data::split::Part;
use zoetrope_plan::{
    BlockCost, Choice, FrameRule, OperatorOrder as PlannedOrder, Plan, PlanError, SharedWork,
    Workload,
};

use crate::config::{Config, Frame, OperatorOrder, TaskName};
use crate::engine::{Extent, Network, step_cost};
use crate::error::TrainError;
use crate::learner::optimise;
use crate::material::Material;

/// How a saved plan cuts frames, which wins over the configuration.
pub(super) fn given_rule(config: &Config, plan: &Plan) -> Result<FrameRule, TrainError> {
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
pub(super) fn frame_rule(config: &Config) -> Result<FrameRule, TrainError> {
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

/// What a plan is made for.
pub(super) struct Planned<'a> {
    pub(super) config: &'a Config,
    pub(super) task: TaskName,
    pub(super) material: &'a Material,
    pub(super) network: &'a Network,
    /// The numbers that the head gives.
    pub(super) outputs: usize,
    pub(super) rule: FrameRule,
    /// How ranks share it, where there are several.
    pub(super) shared: Option<SharedWork>,
}

/// Makes the plan, or looks whether a given one fits.
///
/// # Errors
/// Where the model cannot do what is asked of it, or no plan can be made or fits.
pub(super) fn plan(planned: Planned<'_>, given: Option<Plan>) -> Result<Plan, TrainError> {
    let Planned { config, task, material, network, outputs, rule, shared } = planned;
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
        can_reuse: model.can_reuse(),
        weights: network.parameters.weights(),
        optimiser_slots: optimise::slots(&config.train),
        data_bytes: material.bytes() + matrix_bytes,
        evaluation_bytes: evaluation_bytes(config, task, material),
        activations: whole.activations,
        blocks,
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
                blocks: config.plan.blocks,
                recompute: config.plan.recompute,
                shared,
                memory_limit: config.plan.memory_limit.map(|limit| limit.0),
            };
            zoetrope_plan::plan(&workload, &choice)?
        }
    };
    plan.fits(&workload)?;
    Ok(plan)
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
