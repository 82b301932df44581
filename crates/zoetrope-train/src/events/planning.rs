//! The plan of a run over events: what planners are told. It decides nothing.

use std::sync::Arc;

use zoetrope_config::{Config, PlannedRanks};
use zoetrope_data::split::Part;
use zoetrope_plan::planners::{Workload, batches};
use zoetrope_plan::{
    BatchPlan, BatchWorkload, FrameRule, GpuFacts, MeasuredBatches, Plan, PlanError, Question,
    Wishes, choose,
};
use zoetrope_tensor::Device;

use super::material::EventInput;
use super::schedule::{Batch, Schedule};
use crate::error::TrainError;
use crate::planned_machine;

/// The saved plan if it fits, or the one that planners propose.
///
/// # Errors
/// If the saved plan does not fit, or no plan can be made.
pub(super) fn plan(
    config: &Config,
    material: &EventInput,
    device: &Device,
    given: Option<BatchPlan>,
) -> Result<BatchPlan, TrainError> {
    let facts = workload(config, material, None);
    let gpu = device.gpu().map(|gpu| {
        let alone = Err("one rank has nobody to send to".to_owned());
        GpuFacts {
            graph_bytes: material.index_bytes_on_gpu() as u64,
            feature_bytes: material.feature_bytes() as u64,
            ..GpuFacts::with_memory(gpu.memory_use().limit as u64, alone)
        }
    });
    let wishes = wishes(config);
    let Some(mut given) = given else { return proposed(config, &facts, &wishes, gpu.as_ref()) };
    let clock = material.clock(Part::Train);
    given.fits(&facts, |event| clock(event) == clock(event - 1))?;
    given.gpu = gpu.map(|gpu| given.gpu.unwrap_or_else(|| batches::on_gpu(&wishes, &gpu)));
    Ok(given)
}

/// The same once it was measured what batches take.
///
/// # Errors
/// If it does not fit into the limit on memory.
pub(super) fn plan_measured(
    config: &Config,
    material: &EventInput,
    measured: MeasuredBatches,
    questions_of_an_event: usize,
    before: &BatchPlan,
) -> Result<BatchPlan, TrainError> {
    let facts =
        BatchWorkload { questions_of_an_event, ..workload(config, material, Some(measured)) };
    let mut wishes = wishes(config);
    wishes.memory_limit = zoetrope_heap::limit();
    let plan = proposed(config, &facts, &wishes, None)?;
    Ok(BatchPlan { gpu: before.gpu, ..plan })
}

/// How the batches of a plan are cut.
pub(super) fn schedule(plan: &BatchPlan, seed: u64) -> Schedule {
    Schedule {
        batch: plan.rule.events,
        chunks: plan.rule.chunks,
        whole_times: plan.rule.whole_times,
        seed,
        planned: Arc::from(&plan.batches[..]),
    }
}

fn proposed(
    config: &Config,
    facts: &BatchWorkload,
    wishes: &Wishes,
    gpu: Option<&GpuFacts>,
) -> Result<BatchPlan, TrainError> {
    let machine = planned_machine::rates(&planned_machine::of(&Device::Cpu));
    let workload = Workload::Batches(facts);
    let Plan::Batches(mut plan) =
        choose(&Question { workload, machine, timer: None, divider: None, gpu, wishes })?
    else {
        let planner = wishes.planner.clone().unwrap_or_default();
        return Err(PlanError::NothingProposed { planner }.into());
    };
    let chosen = config.chosen().iter().map(|choice| format!("chosen: {choice}"));
    plan.head.reasons.splice(0..0, chosen);
    Ok(plan)
}

/// What is asked of planners of batches: nothing about frames.
fn wishes(config: &Config) -> Wishes {
    let ranks = PlannedRanks { all: config.train.ranks as u32, in_process: 1 };
    config.wishes(ranks, FrameRule { frame: None, stride: 1, truncate: None }, false)
}

fn workload(
    config: &Config,
    material: &EventInput,
    measured: Option<MeasuredBatches>,
) -> BatchWorkload {
    let rule = wishes(config).batches;
    let unplanned = Schedule {
        batch: rule.events,
        chunks: rule.chunks,
        whole_times: rule.whole_times,
        seed: config.train.seed,
        planned: Arc::default(),
    };
    let events = material.training_events();
    let batches = unplanned.epoch(events, 0, material.clock(Part::Train));
    let model = &config.model;
    BatchWorkload {
        data: material.name.clone(),
        model: model.name.name().to_owned(),
        vertices: material.vertices(),
        events,
        steps: batches.iter().map(|batch| batch.steps().count()).sum(),
        batches: batches.into_iter().map(|Batch { events, .. }| events.len()).collect(),
        whole_times: rule.whole_times,
        layers: if model.reads_neighbours() { model.layers_in_force() } else { 0 },
        sampling: format!(
            "{} {} neighbours, seen {}",
            model.neighbours_in_force(),
            model.sampling_in_force().name(),
            config.task.neighbours.name()
        ),
        questions_of_an_event: 1,
        measured,
    }
}
