//! Planners propose, one chooser takes.
//!
//! Every way to lay out an epoch, and so every paper, is a [`Planner`]: a pure function from what is known of
//! the graph, the model and the machine, and from what the user wishes, to [`Candidate`]s. It touches no
//! device and no file. [`choose`] asks the planners that the wishes allow and takes the candidate that is
//! simulated ([`Timer`]) or predicted to be fastest among those that fit into the memory.

pub mod batches;
mod device;
pub mod esdg;
pub mod frames;
pub mod layout;
mod memory;
pub mod timer;

use serde::{Deserialize, Serialize};
use zoetrope_graph::SnapshotSequence;

use crate::error::PlanError;
use crate::partition::Divider;
use crate::plan::Plan;
use crate::plan::device_memory::DeviceMemory;
use crate::plan::frame_plan::LayerOrder;
use crate::plan::sharing::Sharing;
use crate::strategy::{Machine, Row, Traffic};
use crate::wishes::Wishes;
use crate::workload::{BatchWorkload, FrameWorkload};

pub use timer::{Timed, Timer};

pub(crate) use memory::{PROGRAM_BYTES, SAME_PROCESS_PEAK_FACTOR};

/// What ranks would exchange if layers ran in these orders and the first aggregation were kept or not, found by
/// running the model in miniature; None if that failed.
pub type TrafficOf<'a> = &'a dyn Fn(&[LayerOrder], bool) -> Option<Traffic>;

/// What is to be laid out.
#[derive(Clone, Copy)]
pub enum Workload<'a> {
    /// Frames of snapshots.
    Frames {
        /// The graph and the model in numbers.
        facts: &'a FrameWorkload,
        /// The topology.
        graph: &'a SnapshotSequence,
        /// What ranks exchange.
        traffic: TrafficOf<'a>,
    },
    /// Batches of events.
    Batches(&'a BatchWorkload),
}

/// What a GPU offers and would be given.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuFacts {
    /// Bytes that may be used there.
    pub memory_limit: u64,
    /// Bytes that the matrices of all snapshots, or the index of all events, would take there.
    pub graph_bytes: u64,
    /// Bytes of the matrices of the largest snapshot.
    pub snapshot_bytes: u64,
    /// The share of the edges of a snapshot that the one before it does not have.
    pub change: f64,
    /// Bytes of the features of a snapshot, or of all events.
    pub feature_bytes: u64,
    /// Bytes of targets.
    pub target_bytes: u64,
    /// Bytes that libraries work with.
    pub workspace_bytes: u64,
    /// Whether several ranks can send from GPU to GPU, and if not, why.
    pub linked: Result<(), String>,
}

impl GpuFacts {
    /// A GPU with so much memory that nothing would be given to.
    pub fn with_memory(memory_limit: u64, linked: Result<(), String>) -> Self {
        Self {
            memory_limit,
            graph_bytes: 0,
            snapshot_bytes: 0,
            change: 0.0,
            feature_bytes: 0,
            target_bytes: 0,
            workspace_bytes: 0,
            linked,
        }
    }
}

/// What planners are asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// What is to be laid out.
    pub workload: Workload<'a>,
    /// What ranks run on.
    pub machine: Machine,
    /// Who knows how long candidates take there; without one they are compared by bytes over its rates.
    pub timer: Option<&'a dyn Timer>,
    /// Who divides vertices with few edges between parts, if it is not this crate.
    pub divider: Option<&'a dyn Divider>,
    /// The GPU of a rank, if they have one.
    pub gpu: Option<&'a GpuFacts>,
    /// What the user asked for.
    pub wishes: &'a Wishes,
}

/// A way to lay out an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The plan.
    pub plan: Plan,
    /// The way that ranks share it in numbers, if they share cells.
    pub cells: Option<Row>,
    /// Predicted seconds of an epoch; good to compare, not to promise.
    pub seconds: f64,
    /// Bytes between ranks in an epoch.
    pub bytes: u64,
    /// Whether it is what the wishes ask for; others are shown beside it.
    pub asked: bool,
    /// What speaks for it, in numbers.
    pub why: String,
    /// What its time goes to most, if it was simulated.
    pub binds: Option<String>,
}

/// A candidate in short, as a plan keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The planner.
    pub planner: String,
    /// How ranks would share it.
    pub strategy: String,
    /// Predicted seconds of an epoch.
    pub seconds: f64,
    /// Bytes between ranks in an epoch.
    pub bytes: u64,
    /// Memory of a process.
    pub memory_bytes: u64,
    /// Whether that is allowed.
    pub fits: bool,
    /// Whether it is the plan that was taken.
    pub taken: bool,
    /// Whether it is the one to take if nothing is asked for.
    pub recommended: bool,
    /// Why one would take it.
    pub why: String,
    /// What its time goes to most, if it was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binds: Option<String>,
    /// The smallest change of the machine that would make it the fastest, if that was asked for and there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flip: Option<String>,
    /// The numbers of a step, if ranks share cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Row>,
}

/// Proposes plans.
pub trait Planner: Sync {
    /// The name by which users ask for it.
    fn name(&self) -> &'static str;

    /// The ways to lay out the work that the wishes allow; none if this planner does not lay out such work.
    ///
    /// # Errors
    /// If what is wished for cannot be done, or does not fit into the memory.
    fn propose(&self, question: &Question<'_>) -> Result<Vec<Candidate>, PlanError>;
}

/// All planners, simpler ones first.
const ALL: [&dyn Planner; 3] = [&frames::Frames, &esdg::Esdg, &batches::Batches];

/// The names of planners.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|planner| planner.name())
}

/// Lets the planners that the wishes allow propose, and takes the best plan.
///
/// # Errors
/// If there is no planner of the name, or none of them has a plan: the first refusal.
pub fn choose(question: &Question<'_>) -> Result<Plan, PlanError> {
    let wishes = question.wishes;
    let named = wishes.planner.as_deref();
    if let Some(name) = named.filter(|&name| !names().any(|known| known == name)) {
        let known: Vec<&str> = std::iter::once("auto").chain(names()).collect();
        let known = known.join(", ");
        return Err(PlanError::UnknownPlanner { name: name.to_owned(), known });
    }
    let implied = wishes.strategy.map(|strategy| strategy.planner());
    if let (Some(named), Some(implied)) = (named, implied)
        && named != implied
    {
        let (planner, of) = (named.to_owned(), implied);
        return Err(PlanError::StrategyOfAnother { planner, of });
    }
    let asked = named.or(implied);
    let (mut candidates, mut refusal) = (Vec::new(), None);
    for planner in ALL {
        let is_asked = asked.is_none_or(|name| planner.name() == name);
        if !is_asked && !wishes.compare {
            continue;
        }
        match planner.propose(question) {
            Ok(proposed) => candidates.extend(
                proposed
                    .into_iter()
                    .map(|candidate| Candidate { asked: candidate.asked && is_asked, ..candidate }),
            ),
            Err(error) if is_asked => refusal = refusal.or(Some(error)),
            // What is only shown beside the plan may be impossible.
            Err(_) => {}
        }
    }
    let timed_by = timer::apply(question.timer, &mut candidates);
    let limit = question.gpu.map_or(wishes.memory_limit, |gpu| Some(gpu.memory_limit));
    let order = |&at: &usize| candidates[at].order(limit);
    let asked_for = (0..candidates.len()).filter(|&at| candidates[at].asked);
    let Some(taken) = asked_for.min_by_key(order) else {
        return Err(refusal.unwrap_or_else(|| PlanError::NothingProposed {
            planner: asked.unwrap_or("auto").to_owned(),
        }));
    };
    let best = (0..candidates.len()).min_by_key(order).unwrap_or(taken);
    let mut proposals = Vec::new();
    if wishes.compare && candidates.len() > 1 {
        let short = |(at, candidate): (usize, &Candidate)| Proposal {
            taken: at == taken,
            recommended: at == best,
            ..candidate.in_short(limit)
        };
        proposals = candidates.iter().enumerate().map(short).collect();
    }
    let reason = (candidates.len() > 1).then(|| reason(&candidates, taken, limit));
    let mut plan = candidates.swap_remove(taken).plan;
    let laid_out = plan.laid_out();
    match (question.gpu, plan.memory_on_gpu()) {
        (Some(gpu), Some(memory)) => memory.check(gpu.memory_limit)?,
        // What batches take on a GPU is not estimated: its allocator keeps the limit.
        (Some(_), None) => {}
        (None, _) => plan.head().memory.check(limit, laid_out)?,
    }
    let head = plan.head_mut();
    head.candidates = proposals;
    head.timed_by = timed_by;
    head.reasons.extend(reason);
    Ok(plan)
}

impl Candidate {
    fn strategy(&self) -> String {
        let sharing = match &self.plan {
            Plan::Frames(plan) => plan.sharing.as_ref(),
            Plan::Batches(_) => None,
        };
        sharing.map_or_else(|| "one rank".to_owned(), Sharing::name)
    }

    /// Bytes of what is limited: of a process, or of a GPU if the plan is for one.
    fn needed(&self) -> u64 {
        match &self.plan {
            Plan::Batches(plan) if plan.gpu.is_some() => 0,
            plan => plan.memory_on_gpu().map_or(plan.head().memory.total(), DeviceMemory::total),
        }
    }

    fn fits(&self, limit: Option<u64>) -> bool {
        limit.is_none_or(|limit| self.needed() <= limit)
    }

    fn in_short(&self, limit: Option<u64>) -> Proposal {
        Proposal {
            planner: self.plan.head().planner.clone(),
            strategy: self.strategy(),
            seconds: self.seconds,
            bytes: self.bytes,
            memory_bytes: self.plan.head().memory.total(),
            fits: self.fits(limit),
            taken: false,
            recommended: false,
            why: self.why.clone(),
            binds: self.binds.clone(),
            flip: None,
            cells: self.cells.clone(),
        }
    }

    /// What orders candidates: those that fit before those that do not, of the former faster ones first, of
    /// the latter smaller ones. Predictions that differ by less than a part in a thousand are one: earlier
    /// candidates are simpler.
    fn order(&self, limit: Option<u64>) -> (bool, i64, u64) {
        if self.fits(limit) {
            (false, (self.seconds.max(1e-12).ln() * 1e3).round() as i64, 0)
        } else {
            (true, 0, self.needed())
        }
    }
}

/// Why one of several candidates is taken.
fn reason(candidates: &[Candidate], taken: usize, limit: Option<u64>) -> String {
    let this = &candidates[taken];
    let name = this.strategy();
    if !this.fits(limit) {
        return format!("{name} needs least memory: nothing keeps to the limit");
    }
    let fitting = |&at: &usize| at != taken && candidates[at].fits(limit);
    let others = (0..candidates.len()).filter(fitting);
    let Some(next) = others.min_by_key(|&at| candidates[at].order(limit)) else {
        return format!("{name} is the only one that fits into the memory");
    };
    let next = &candidates[next];
    let (why, other, other_why) = (&this.why, next.strategy(), &next.why);
    if this.order(limit) <= next.order(limit) {
        format!("{name} has the shortest predicted epoch: {why}; next is {other}: {other_why}")
    } else {
        format!("{name} is taken: {why}; {other} is predicted to be faster: {other_why}")
    }
}

#[cfg(test)]
mod tests;
