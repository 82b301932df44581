//! The planner of event streams on one rank: batches in time order, each prepared while the one before it is
//! computed, unless there is no room for that.

use super::{Candidate, GpuFacts, Planner, Question, Workload};
use crate::error::PlanError;
use crate::plan::batch_plan::BatchPlan;
use crate::plan::gpu::{BatchesOnGpu, Residency};
use crate::plan::head::Head;
use crate::plan::memory::Memory;
use crate::wishes::Wishes;
use crate::workload::{BatchCost, BatchWorkload, MeasuredBatches};

/// Lays out batches of events.
#[derive(Debug)]
pub struct Batches;

const NAME: &str = "batches";

/// Batches that are ready or being prepared while another one is computed.
const PREFETCH_BATCHES: usize = 2;

/// Questions of evaluation that go through the model at once if there is room: enough to keep all cores busy.
pub const QUESTIONS_MAX: usize = 8192;

/// Batches differ: what one of them took may be a little less than what the largest takes.
const BATCH_SLACK: f64 = 1.15;

impl Planner for Batches {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, question: &Question<'_>) -> Result<Vec<Candidate>, PlanError> {
        let &Question { workload: Workload::Batches(facts), wishes, gpu, .. } = question else {
            return Ok(Vec::new());
        };
        if wishes.ranks > 1 {
            let model = facts.model.clone();
            return Err(PlanError::EventsAcrossRanks { model, ranks: wishes.ranks });
        }
        let room = Room::new(facts, wishes);
        let reasons = reasons(facts, wishes, &room);
        let rule = wishes.batches;
        let plan = BatchPlan {
            head: Head {
                schema: Head::SCHEMA,
                planner: NAME.to_owned(),
                data: facts.data.clone(),
                model: facts.model.clone(),
                vertices: facts.vertices,
                ranks: 1,
                memory: room.memory,
                sent_bytes: Vec::new(),
                reasons,
                warnings: Vec::new(),
                candidates: Vec::new(),
                timed_by: None,
            },
            events: facts.events,
            rule,
            batches: if rule.chunks.is_some() { Vec::new() } else { facts.batches.clone() },
            deduplicate: wishes.deduplicate,
            prefetch: room.prefetch,
            questions: room.questions,
            gpu: gpu.map(|facts| on_gpu(wishes, facts)),
        };
        let why = "one rank computes everything".to_owned();
        Ok(vec![Candidate {
            plan: plan.into(),
            cells: None,
            seconds: 0.0,
            bytes: 0,
            asked: true,
            why,
            binds: None,
        }])
    }
}

/// How a GPU computes batches. The features of events stay there if they take no more than half of what may be
/// used; so does their index, if it takes no more than half together with them.
pub fn on_gpu(wishes: &Wishes, facts: &GpuFacts) -> BatchesOnGpu {
    let half = facts.memory_limit / 2;
    let lies = |fits: bool| if fits { Residency::Resident } else { Residency::Stream };
    let features = lies(facts.feature_bytes <= half);
    let beside = if features == Residency::Resident { facts.feature_bytes } else { 0 };
    let index = lies(facts.graph_bytes + beside <= half);
    let residency = wishes.residency.unwrap_or(index);
    BatchesOnGpu { precision: wishes.precision, residency, features }
}

/// What is prepared ahead and how much is judged at once, and the memory that it takes.
struct Room {
    prefetch: usize,
    questions: usize,
    memory: Memory,
    /// Whether less is prepared ahead, and less is judged at once, than one would.
    less_ahead: bool,
    less_at_once: bool,
}

impl Room {
    /// Prepares nothing ahead, then judges in smaller pieces, until it fits or there is nothing left to be
    /// done. A batch is not made smaller than asked: that would change what is learned.
    fn new(facts: &BatchWorkload, wishes: &Wishes) -> Self {
        let prefetch = if wishes.prefetch { PREFETCH_BATCHES } else { 0 };
        let mut room = Self {
            prefetch,
            questions: QUESTIONS_MAX,
            memory: Memory::default(),
            less_ahead: false,
            less_at_once: false,
        };
        let Some(measured) = facts.measured else { return room };
        room.memory = taken(&measured, prefetch, measured.judged_events);
        let Some(limit) = wishes.memory_limit.filter(|&limit| room.memory.total() > limit) else {
            return room;
        };
        if prefetch > 0 {
            (room.prefetch, room.less_ahead) = (0, true);
            room.memory = taken(&measured, 0, measured.judged_events);
        }
        let scores = measured.counted.evaluation;
        if room.memory.total() <= limit || room.memory.evaluation == scores {
            return room;
        }
        let other = room.memory.total() - room.memory.evaluation + scores;
        let bytes = room.memory.activations + limit.saturating_sub(other);
        let each = slack(measured.judged.total()).div_ceil(measured.judged_events as u64).max(1);
        let events = ((bytes / each) as usize).clamp(1, measured.judged_events);
        (room.questions, room.less_at_once) = (events * facts.questions_of_an_event, true);
        let judging = each * events as u64;
        room.memory.evaluation = scores + judging.saturating_sub(room.memory.activations);
        room
    }
}

fn slack(bytes: u64) -> u64 {
    (bytes as f64 * BATCH_SLACK) as u64
}

/// The memory of a run that prepares so many batches ahead and judges all questions of the measured events at
/// once.
fn taken(measured: &MeasuredBatches, prefetch: usize, judged_events: usize) -> Memory {
    debug_assert_eq!(judged_events, measured.judged_events);
    let at_once = |cost: BatchCost| slack(cost.computed + (1 + prefetch as u64) * cost.prepared);
    let mut memory = measured.counted;
    memory.activations = at_once(measured.step);
    // The tape of evaluation is that of training: it is as large as the larger of the two.
    memory.evaluation += at_once(measured.judged).saturating_sub(memory.activations);
    memory
}

fn reasons(facts: &BatchWorkload, wishes: &Wishes, room: &Room) -> Vec<String> {
    let (batch, steps) = (wishes.batches.events, facts.steps);
    let mut reasons = Vec::new();
    if wishes.batches.whole_times {
        reasons.push(format!("{steps} steps of {batch} events or more, in time order"));
        reasons.push(
            "a batch ends before an event of a later time (task.equal_times = \"future\")"
                .to_owned(),
        );
    } else {
        reasons.push(format!("{steps} batches of {batch} events in time order"));
    }
    if let Some(chunks) = wishes.batches.chunks {
        reasons.push(format!("boundaries move by {chunks}ths of a batch each epoch"));
    }
    reasons.push(if facts.layers == 0 {
        "no neighbours are read: the memory of a vertex is all that is known".to_owned()
    } else {
        format!("{} level(s) of {}", facts.layers, facts.sampling)
    });
    reasons.push(if wishes.deduplicate {
        "each vertex, question and event of a batch is computed once".to_owned()
    } else {
        "every occurrence is computed for itself (plan.deduplicate = false)".to_owned()
    });
    if room.less_ahead {
        reasons.push(
            "no batch is prepared ahead: there is no room for batches that wait in \
             plan.memory_limit"
                .to_owned(),
        );
    }
    if room.less_at_once {
        let questions = room.questions;
        reasons.push(format!(
            "{questions} questions are judged at once: more do not fit into plan.memory_limit"
        ));
    }
    reasons
}
