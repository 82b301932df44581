//! The planner of ESDG: several ranks share the cells of every frame, by snapshot (§4.2), by vertex (§4.1),
//! or by both (§6.5).

use zoetrope_graph::{GraphError, SnapshotSequence};

use super::layout::{FrameLayout, Parts};
use super::memory::{SharedCells, SharedMemory};
use super::{Candidate, Planner, Question, Workload};
use crate::error::PlanError;
use crate::partition::{Objective, Partition, Renaming, nets, visit_renamed};
use crate::placement::Placement;
use crate::placement::expected::Expected;
use crate::placement::grid::{even_parts, even_starts};
use crate::plan::frame::Frame;
use crate::plan::gpu::Coding;
use crate::plan::sharing::{CellSharing, Overlap, Sharing};
use crate::strategy::{self, Forecast, Row, Strategy, Traffic, assess};
use crate::volume;
use crate::wishes::{OverlapWish, StrategyWish, Wishes};
use crate::workload::FrameWorkload;

/// Lets ranks share the cells of every frame.
#[derive(Debug)]
pub struct Esdg;

const NAME: &str = "esdg";

impl Planner for Esdg {
    fn name(&self) -> &'static str {
        NAME
    }

    fn propose(&self, question: &Question<'_>) -> Result<Vec<Candidate>, PlanError> {
        let &Question { workload: Workload::Frames { facts, graph, traffic }, wishes, .. } =
            question
        else {
            return Ok(Vec::new());
        };
        if wishes.ranks < 2 {
            return match wishes.planner.as_deref() {
                Some(NAME) => Err(PlanError::OneRank { planner: NAME }),
                _ => Ok(Vec::new()),
            };
        }
        let layout = FrameLayout::new(facts, wishes)?;
        let traffic = traffic(&layout.orders, layout.reuse.first_aggregation)
            .ok_or_else(|| PlanError::NoMiniature { model: facts.model.clone() })?;
        refuse(facts, wishes)?;
        let ways = ways(&layout, wishes)?;
        let proposer = Proposer { question, facts, graph, traffic: &traffic, layout: &layout };
        ways.into_iter().map(|(strategy, reason)| proposer.candidate(strategy, reason)).collect()
    }
}

/// Refuses what several ranks that share cells cannot compute to the same result as one.
fn refuse(facts: &FrameWorkload, wishes: &Wishes) -> Result<(), PlanError> {
    let ranks = wishes.ranks;
    if facts.vertices < ranks as usize {
        return Err(PlanError::TooFewVertices { vertices: facts.vertices, ranks });
    }
    Ok(())
}

/// The strategies to look at, and why.
fn ways(layout: &FrameLayout, wishes: &Wishes) -> Result<Vec<(Strategy, Reason)>, PlanError> {
    let ranks = wishes.ranks;
    let smallest = || (2..=ranks).find(|&members| ranks.is_multiple_of(members));
    let members = wishes.members.or_else(smallest).unwrap_or(1);
    if wishes.strategy == Some(StrategyWish::Hybrid) && !ranks.is_multiple_of(members) {
        return Err(PlanError::UnevenGroups { members, ranks });
    }
    let named = wishes.strategy.and_then(|strategy| strategy.cells(members));
    let steps = layout.frames[0].steps;
    let blocks = wishes.blocks.unwrap_or(1).min(steps);
    let is_even = steps / blocks >= ranks as usize;
    let reason = |strategy: Strategy| match (wishes.strategy, named) {
        (_, Some(named)) if named == strategy => Reason::Asked,
        (Some(_), _) => Reason::Shown,
        // Every rank has a snapshot of every block: that is even, and needs no partition.
        (None, _) if is_even && strategy == Strategy::Snapshot => Reason::OneForEverybody,
        (None, _) if is_even => Reason::Shown,
        (None, _) => Reason::Compared,
    };
    let mut all = Strategy::all(ranks);
    all.extend(named.filter(|named| !Strategy::all(ranks).contains(named)));
    // Differences cannot be sent of parts of snapshots: whoever asks for both is told, others do not see such ways.
    // The same of rows that are gathered, beside which nothing is computed, if no way was asked for.
    let beside = wishes.overlap == OverlapWish::Always;
    let whole = wishes.coding == Coding::Differences || beside && named.is_none();
    all.retain(|strategy| !whole || strategy.grid(ranks).members == 1 || named == Some(*strategy));
    let ways = all.into_iter().map(|strategy| (strategy, reason(strategy)));
    Ok(ways.filter(|&(_, reason)| wishes.compare || reason != Reason::Shown).collect())
}

/// Why a strategy is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// It was asked for.
    Asked,
    /// It is even and needs no partition.
    OneForEverybody,
    /// Nothing was asked for, and no way is good without a look at the others.
    Compared,
    /// Another one is taken.
    Shown,
}

impl Reason {
    fn says(self, ranks: u32, strategy: Strategy) -> String {
        let name = strategy.name();
        match self {
            Self::Asked => format!("{ranks} ranks share it as asked: {name}"),
            Self::OneForEverybody => {
                format!(
                    "{ranks} ranks share it by {name}: each block of a frame has one for everybody"
                )
            }
            Self::Compared | Self::Shown => format!("{ranks} ranks share it by {name}"),
        }
    }
}

/// What is the same for all strategies.
struct Proposer<'a> {
    question: &'a Question<'a>,
    facts: &'a FrameWorkload,
    graph: &'a SnapshotSequence,
    traffic: &'a Traffic,
    layout: &'a FrameLayout,
}

impl Proposer<'_> {
    fn candidate(&self, strategy: Strategy, reason: Reason) -> Result<Candidate, PlanError> {
        let (facts, wishes) = (self.facts, self.question.wishes);
        let (ranks, frame) = (wishes.ranks, self.layout.largest(facts));
        // Vertices stay where they are for all frames.
        let (partition, divided) = self.partition(strategy)?;
        let renaming = partition.as_ref().map(Partition::renaming);
        let gathered = match &renaming {
            Some(renaming) => gathered_rows(self.graph, renaming, &frame)?,
            None => 0,
        };
        let beside = self.may_overlap(strategy)?;
        let cells =
            SharedCells { strategy, traffic: self.traffic, gathered, beside: beside.is_some() };
        let shared = SharedMemory { ranks, in_process: wishes.in_process, cells: Some(cells) };
        let gpu = self.question.gpu;
        let (blocks, in_blocks) = self.layout.blocks(facts, wishes, Some(&shared), gpu);
        let memory = self.layout.memory(facts, blocks, Some(&shared));
        let row = self.row(strategy, renaming.as_ref(), frame, blocks.count)?;
        let (beside, of_overlap) = match beside {
            Some(most) if wishes.overlap == OverlapWish::IfItGains => {
                let forecast = Forecast::new(&row, self.traffic, &self.question.machine);
                let found = forecast.overlap(most);
                (found, Some(forecast.says(found)))
            }
            beside => (beside, None),
        };
        let sharing = Sharing::Cells(CellSharing {
            strategy,
            owners: partition.map_or_else(Vec::new, |partition| partition.of),
            time_on_features: self.traffic.time_on_features(),
            overlap: beside.is_some(),
            beside,
        });
        let reasons = in_blocks.into_iter().chain([reason.says(ranks, strategy)]);
        let reasons = reasons.chain(divided).chain(of_overlap).collect();
        let (sharing, shared) = (Some(sharing), Some(&shared));
        let parts = Parts { planner: NAME, wishes, blocks, memory, sharing, shared, gpu, reasons };
        let plan = self.layout.clone().plan(facts, parts)?;
        let steps = plan.frames.len() as f64;
        let why = format!(
            "{} of rows move in a step, the busiest rank has {:.2} × the mean of edges",
            strategy::size(row.row_bytes()),
            row.balance.edges
        );
        Ok(Candidate {
            seconds: row.step_seconds() * steps,
            bytes: row.row_bytes() * plan.frames.len() as u64
                + row.reduced_bytes * plan.updates.len() as u64,
            asked: reason != Reason::Shown,
            plan: plan.into(),
            cells: Some(row),
            why,
            binds: None,
        })
    }

    /// How rows may move beside computing at most, if that is wished for.
    fn may_overlap(&self, strategy: Strategy) -> Result<Option<Overlap>, PlanError> {
        let wishes = self.question.wishes;
        if wishes.overlap == OverlapWish::Never || strategy.grid(wishes.ranks).members > 1 {
            return Ok(None);
        }
        let found = self.traffic.overlap(self.question.gpu.is_some());
        if found.is_none() && wishes.overlap == OverlapWish::Always {
            return Err(PlanError::NothingBeside { model: self.facts.model.clone() });
        }
        Ok(found)
    }

    /// The parts of the vertices, if they are divided, and who divided them.
    fn partition(
        &self,
        strategy: Strategy,
    ) -> Result<(Option<Partition>, Option<String>), PlanError> {
        let (wishes, steps) = (self.question.wishes, self.facts.training.clone());
        let parts = strategy.grid(wishes.ranks).members;
        if self.graph.counts().is_some() && parts > 1 {
            let vertices = self.facts.vertices;
            let part = even_parts(vertices, parts as usize).enumerate();
            let of = part.flat_map(|(part, range)| std::iter::repeat_n(part as u32, range.len()));
            let says = "only sizes are known: rows that ranks gather are those expected of a random partition";
            return Ok((Some(Partition { parts, of: of.collect() }), Some(says.to_owned())));
        }
        let divider =
            self.question.divider.filter(|_| strategy.objective() == Some(Objective::EdgeCut));
        if let Some(divider) = divider {
            let edges = nets::of_edges(self.graph, steps)?;
            let name = divider.name().to_owned();
            let of = divider
                .divide(&edges, parts)
                .map_err(|why| PlanError::Divider { name: name.clone(), why })?;
            return Ok((
                Some(Partition { parts, of }),
                Some(format!("{name} divided the vertices")),
            ));
        }
        let found = strategy.partition(self.graph, steps, wishes.ranks, wishes.seed)?;
        let says =
            found.as_ref().map(|_| "zoetrope's own partitioner divided the vertices".to_owned());
        Ok((found, says))
    }

    fn row(
        &self,
        strategy: Strategy,
        renaming: Option<&Renaming>,
        frame: Frame,
        blocks: usize,
    ) -> Result<Row, GraphError> {
        let wishes = self.question.wishes;
        let question = strategy::Question {
            workload: self.facts,
            traffic: self.traffic,
            graph: self.graph,
            frame,
            ranks: wishes.ranks,
            blocks: Some(blocks),
            recompute: wishes.recompute,
            memory_limit: wishes.memory_limit,
            machine: self.question.machine,
            seed: wishes.seed,
        };
        match renaming {
            Some(renaming) => assess(&question, strategy, renaming.starts(), Some(renaming)),
            None => assess(&question, strategy, &even_starts(self.graph.vertices(), 1), None),
        }
    }
}

/// Rows that members of a group gather from each other over a frame.
fn gathered_rows(
    graph: &SnapshotSequence,
    renaming: &Renaming,
    frame: &Frame,
) -> Result<u64, GraphError> {
    let starts = renaming.starts().to_vec();
    let members = starts.len() as u32 - 1;
    let group = Placement::ByVertex { starts, ranks: (0..members).collect() };
    let (vertices, mut rows) = (graph.vertices(), 0);
    if graph.counts().is_some() {
        let expected = frame.range().filter_map(|step| Expected::of(graph, step));
        let of = |one| volume::expected_halo(&group, vertices, members, one).total();
        return Ok(expected.map(of).sum());
    }
    visit_renamed(graph, Some(renaming), frame.range(), |_, view| {
        rows += volume::halo(&group, vertices, 0..1, members, |_| view).total();
        Ok::<_, GraphError>(())
    })?;
    Ok(rows)
}
