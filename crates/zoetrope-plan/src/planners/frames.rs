//! The planner of whole frames: one rank computes them one after the other, or several ranks compute
//! different frames of an update and add up their gradients.

use super::layout::{FrameLayout, Parts};
use super::memory::SharedMemory;
use super::{Candidate, Planner, Question, Workload};
use crate::error::PlanError;
use crate::plan::frame_plan::FramePlan;
use crate::plan::sharing::Sharing;
use crate::strategy::{self, Row, Strategy};
use crate::wishes::StrategyWish;

/// Lays out whole frames.
#[derive(Debug)]
pub struct Frames;

const NAME: &str = "frames";

impl Planner for Frames {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, question: &Question<'_>) -> Result<Vec<Candidate>, PlanError> {
        let &Question { workload: Workload::Frames { facts, .. }, wishes, gpu, .. } = question
        else {
            return Ok(Vec::new());
        };
        let asked = wishes.strategy == Some(StrategyWish::Frames)
            || wishes.planner.as_deref() == Some(NAME);
        let layout = FrameLayout::new(facts, wishes)?;
        let several = wishes.ranks > 1;
        if several && !asked && facts.frames_per_update.min(layout.frames.len()) < 2 {
            // Updates of one frame leave all ranks but one without work.
            return Ok(Vec::new());
        }
        if several && facts.carries_state {
            return Err(PlanError::StateAcrossRanks { ranks: wishes.ranks });
        }
        let shared = several.then_some(SharedMemory {
            ranks: wishes.ranks,
            in_process: wishes.in_process,
            cells: None,
        });
        let (blocks, in_blocks) = layout.blocks(facts, wishes, shared.as_ref(), gpu);
        let memory = layout.memory(facts, blocks, shared.as_ref());
        let mut reasons: Vec<String> = in_blocks.into_iter().collect();
        if several {
            let ranks = wishes.ranks;
            let how = if asked { "as asked" } else { "only gradients meet" };
            reasons.push(format!("{ranks} ranks take different frames of an update: {how}"));
        }
        let alone = one_rank(question, &layout, blocks.count)?;
        let sharing = several.then_some(Sharing::Frames);
        let shared = shared.as_ref();
        let parts = Parts { planner: NAME, wishes, blocks, memory, sharing, shared, gpu, reasons };
        let plan = layout.plan(facts, parts)?;
        let (seconds, bytes) = epoch(&plan, alone.as_ref(), question, facts.weights);
        let why = if several {
            format!("{} frames an update, only gradients move", facts.frames_per_update)
        } else {
            "one rank computes everything".to_owned()
        };
        Ok(vec![Candidate {
            plan: plan.into(),
            cells: None,
            seconds,
            bytes,
            asked: true,
            why,
            binds: None,
        }])
    }
}

/// A step of one rank in numbers, if what layers gather is known.
fn one_rank(
    question: &Question<'_>,
    layout: &FrameLayout,
    blocks: usize,
) -> Result<Option<Row>, PlanError> {
    let &Question { workload: Workload::Frames { facts, graph, traffic }, wishes, .. } = question
    else {
        return Ok(None);
    };
    let Some(traffic) = traffic(&layout.orders, layout.reuse.first_aggregation) else {
        return Ok(None);
    };
    let asked = strategy::Question {
        workload: facts,
        traffic: &traffic,
        graph,
        frame: layout.largest(facts),
        ranks: 1,
        blocks: Some(blocks),
        recompute: wishes.recompute,
        memory_limit: None,
        machine: question.machine,
        seed: wishes.seed,
    };
    let starts = crate::placement::grid::even_starts(graph.vertices(), 1);
    Ok(Some(strategy::assess(&asked, Strategy::Snapshot, &starts, None)?))
}

/// Predicted seconds of an epoch and bytes between ranks: each update ends with its busiest rank, and then
/// gradients are added up.
fn epoch(
    plan: &FramePlan,
    alone: Option<&Row>,
    question: &Question<'_>,
    weights: usize,
) -> (f64, u64) {
    let frame = alone.map_or(0.0, Row::step_seconds);
    let ranks = plan.head.ranks;
    let reduced = strategy::reduced_bytes(ranks as u32, weights);
    let link = question.machine.link_bytes_per_second;
    let (mut seconds, mut bytes) = (0.0, 0);
    for update in &plan.updates {
        let of = |rank| (0..update.frames).filter(|&at| update.is_of(at, rank)).count();
        let busiest = (0..ranks).map(of).max().unwrap_or(0);
        seconds += busiest as f64 * frame + reduced as f64 / ranks as f64 / link;
        bytes += reduced;
    }
    (seconds, bytes)
}
