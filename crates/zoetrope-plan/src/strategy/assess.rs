//! One strategy in numbers.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::GraphError;

use super::traffic::{Moved, VALUE, list_bytes};
use super::{Question, Strategy};
use crate::checkpoint::fewest_blocks;
use crate::partition::{Renaming, visit_renamed};
use crate::placement::expected::Expected;
use crate::placement::grid::{Grid, blocks};
use crate::placement::{Placement, Placements};
use crate::planners::{PROGRAM_BYTES, SAME_PROCESS_PEAK_FACTOR};
use crate::volume;

/// How much more than the mean the busiest rank has: 1 is even.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Of the cells of structure encoders.
    pub cells: f64,
    /// Of the edges of structure encoders.
    pub edges: f64,
    /// Of the cells of time encoders.
    pub time_cells: f64,
}

/// The memory of one rank, by consumer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankMemory {
    /// Parameters, gradients and the state of the optimiser: all of them on every rank.
    pub parameters: u64,
    /// Features, targets and topology: all of them, or the rank's part if ranks share them.
    pub data: u64,
    /// Aggregations of the first layer that it keeps.
    pub reuse: u64,
    /// Scores that measuring has to keep.
    pub evaluation: u64,
    /// Values and gradients of its share of the largest block.
    pub activations: u64,
    /// Rows that exchanges of a block left with it.
    pub exchanged: u64,
    /// What its time encoders pass from block to block.
    pub checkpoints: u64,
    /// Messages on their way.
    pub messages: u64,
    /// The program itself.
    pub program: u64,
}

impl RankMemory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.parameters
            + self.data
            + self.reuse
            + self.evaluation
            + self.activations
            + self.exchanged
            + self.checkpoints
            + self.messages
            + self.program
    }
}

impl Row {
    /// The memory of all ranks as threads of one process, which has the data and the program once.
    pub fn memory_of_threads(&self) -> u64 {
        let RankMemory { data, evaluation, program, activations, exchanged, messages, .. } =
            self.memory;
        let once = data + evaluation + program;
        let together = if self.blocks > 1 { SAME_PROCESS_PEAK_FACTOR - 1.0 } else { 0.0 };
        let more = (activations + exchanged + messages) as f64 * together;
        once + u64::from(self.grid.ranks()) * (self.memory.total() - once + more as u64)
    }
}

/// One strategy in numbers, for one step of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The strategy.
    pub strategy: Strategy,
    /// Its grid of ranks.
    pub grid: Grid,
    /// Blocks of the frame.
    pub blocks: usize,
    /// Units that one redistribution of the frame moves.
    pub exchanged_units: u64,
    /// Units that one structure layer gathers from other ranks.
    pub gathered_units: u64,
    /// Units that make whole snapshots of the rows of a group, to be asked about.
    pub answered_units: u64,
    /// Bytes that redistributions move in a step.
    pub exchanged_bytes: u64,
    /// Bytes that structure encoders gather in a step.
    pub gathered_bytes: u64,
    /// Bytes that whole snapshots move in a step.
    pub answered_bytes: u64,
    /// Bytes of statistics of batch norms and of small sums of all ranks in a step.
    #[serde(default)]
    pub statistics_bytes: u64,
    /// Bytes of the sum of gradients.
    pub reduced_bytes: u64,
    /// How even the work is.
    pub balance: Balance,
    /// The memory of the rank that needs most.
    pub memory: RankMemory,
    /// Whether that is allowed.
    pub fits: bool,
    /// Seconds that the busiest rank computes in a step.
    pub compute_seconds: f64,
    /// Seconds that the busiest rank sends and receives in a step.
    pub communicate_seconds: f64,
}

impl Row {
    /// The predicted seconds of a step, without overlap.
    pub fn step_seconds(&self) -> f64 {
        self.compute_seconds + self.communicate_seconds
    }

    /// Bytes of rows between ranks in a step.
    pub fn row_bytes(&self) -> u64 {
        self.exchanged_bytes + self.gathered_bytes + self.answered_bytes
    }

    /// All bytes between ranks in a step.
    pub fn bytes(&self) -> u64 {
        self.row_bytes() + self.statistics_bytes + self.reduced_bytes
    }
}

/// The most bytes of a sum that every rank makes for itself, from the values of all.
const ONE_ROUND_BYTES: u64 = 4096;

/// Bytes of a sum of so many values: everyone sends its own to all others if they are few; otherwise to
/// those who add up a part each, and who send that to all others.
pub(crate) fn reduced_bytes(ranks: u32, values: usize) -> u64 {
    let (ranks, bytes) = (u64::from(ranks), values as u64 * VALUE);
    let sent = if bytes <= ONE_ROUND_BYTES { ranks } else { 2 };
    sent * (ranks - 1) * bytes
}

/// Bytes that leave one rank in such a sum.
pub(crate) fn all_reduce_bytes(ranks: usize, rank: usize, values: usize) -> u64 {
    if values as u64 * VALUE <= ONE_ROUND_BYTES {
        return (ranks - 1) as u64 * values as u64 * VALUE;
    }
    let own = values * (rank + 1) / ranks - values * rank / ranks;
    (values - own + (ranks - 1) * own) as u64 * VALUE
}

/// The numbers of one strategy, for which vertices are renamed if it divides them; `starts` says where the
/// vertices of each member start.
///
/// If blocks are computed again, the forward pass of every block but the last runs twice, and so do
/// its exchanges; bytes count that.
///
/// # Errors
/// If a snapshot cannot be made or renamed.
///
/// # Panics
/// If `starts` does not fit the strategy and the graph.
pub fn assess(
    question: &Question<'_>,
    strategy: Strategy,
    starts: &[u32],
    renaming: Option<&Renaming>,
) -> Result<Row, GraphError> {
    let grid = strategy.grid(question.ranks);
    let facts = Facts::new(question, grid, starts, renaming)?;
    let memory = |count: usize| facts.layout(count).memory().total();
    let count =
        question.blocks.map(|count| count.clamp(1, facts.steps.max(1))).unwrap_or_else(|| {
            let measured = question.workload.blocks.iter().map(|cost| cost.blocks);
            let counts = std::iter::once(1).chain(measured);
            fewest_blocks(counts, question.memory_limit, memory).unwrap_or(1)
        });
    Ok(facts.layout(count).row(strategy))
}

/// What does not depend on blocks.
struct Facts<'q> {
    question: &'q Question<'q>,
    grid: Grid,
    starts: &'q [u32],
    steps: usize,
    vertices: u32,
    /// Edges into each member at each time step.
    edges: Vec<Vec<u64>>,
    /// Units that each member sends and receives at each time step.
    sent: Vec<Vec<u64>>,
    received: Vec<Vec<u64>>,
    /// Units that time encoders gather at each time step; nothing if they do not.
    in_time: Vec<u64>,
}

impl<'q> Facts<'q> {
    fn new(
        question: &'q Question<'q>,
        grid: Grid,
        starts: &'q [u32],
        renaming: Option<&Renaming>,
    ) -> Result<Self, GraphError> {
        let graph = question.graph;
        let (steps, vertices) = (question.frame.steps, graph.vertices());
        let members = grid.members;
        let (mut edges, mut sent, mut received) = (Vec::new(), Vec::new(), Vec::new());
        if members == 1 {
            // Whole snapshots: how many edges they have is known without them.
            edges.extend(question.frame.range().map(|step| vec![graph.edges_at(step) as u64]));
            sent.resize(steps, vec![0]);
            received.resize(steps, vec![0]);
            let in_time = Self::in_time(question, grid, starts, renaming)?;
            return Ok(Self {
                question,
                grid,
                starts,
                steps,
                vertices,
                edges,
                sent,
                received,
                in_time,
            });
        }
        let group = Placement::ByVertex { starts: starts.to_vec(), ranks: (0..members).collect() };
        if graph.counts().is_some() {
            for step in question.frame.range() {
                let Some(expected) = Expected::of(graph, step) else { continue };
                let into = starts.windows(2).map(|pair| expected.edges_into(pair[0], pair[1]));
                edges.push(into.collect());
                let units = volume::expected_halo(&group, vertices, members, expected);
                sent.push(units.sent);
                received.push(units.received);
            }
            let in_time = Self::in_time(question, grid, starts, renaming)?;
            return Ok(Self {
                question,
                grid,
                starts,
                steps,
                vertices,
                edges,
                sent,
                received,
                in_time,
            });
        }
        visit_renamed(graph, renaming, question.frame.range(), |_, view| {
            let before = |end: u32| view.dst.partition_point(|&dst| dst < end);
            let inside = |pair: &[u32]| (before(pair[1]) - before(pair[0])) as u64;
            edges.push(starts.windows(2).map(inside).collect());
            let units = volume::halo(&group, vertices, 0..1, members, |_| view);
            sent.push(units.sent);
            received.push(units.received);
            Ok::<_, GraphError>(())
        })?;
        let in_time = Self::in_time(question, grid, starts, renaming)?;
        Ok(Self { question, grid, starts, steps, vertices, edges, sent, received, in_time })
    }

    /// Units that time encoders gather at each time step of a frame; nothing if they do not.
    fn in_time(
        question: &Question<'_>,
        grid: Grid,
        starts: &[u32],
        renaming: Option<&Renaming>,
    ) -> Result<Vec<u64>, GraphError> {
        let mut units = Vec::new();
        if !question.traffic.gathers_in_time() {
            return Ok(units);
        }
        let (steps, vertices) = (question.frame.steps, question.graph.vertices());
        let time = grid.placements(starts, &blocks(steps, 1), true).time;
        if question.graph.counts().is_some() {
            let expected =
                question.frame.range().filter_map(|step| Expected::of(question.graph, step));
            let of = |one| volume::expected_halo(&time, vertices, grid.ranks(), one).total();
            return Ok(expected.map(of).collect());
        }
        visit_renamed(question.graph, renaming, question.frame.range(), |_, view| {
            units.push(volume::halo(&time, vertices, 0..1, grid.ranks(), |_| view).total());
            Ok::<_, GraphError>(())
        })?;
        Ok(units)
    }

    fn layout(&self, count: usize) -> Layout<'_> {
        let blocks = blocks(self.steps, count);
        let on_features = self.question.traffic.time_on_features();
        let placements = self.grid.placements(self.starts, &blocks, on_features);
        Layout { facts: self, blocks, placements }
    }
}

/// A strategy with its blocks.
struct Layout<'f> {
    facts: &'f Facts<'f>,
    blocks: Vec<Range<usize>>,
    placements: Placements,
}

/// What one rank has of some time steps.
struct Load {
    cells: u64,
    time_cells: u64,
    edges: u64,
    gathered: u64,
    busiest_halo: u64,
}

impl Layout<'_> {
    fn ranks(&self) -> Range<u32> {
        0..self.facts.grid.ranks()
    }

    fn load(&self, rank: u32, steps: Range<usize>) -> Load {
        let facts = self.facts;
        let member = (rank % facts.grid.members) as usize;
        let share = self.placements.structure.share(rank, facts.vertices, steps.clone());
        let time = self.placements.time.share(rank, facts.vertices, steps);
        let of =
            |what: &[Vec<u64>]| share.steps.iter().map(|&step| what[step][member]).sum::<u64>();
        let gathered = of(&facts.received);
        Load {
            cells: share.rows() as u64,
            time_cells: time.rows() as u64,
            edges: of(&facts.edges),
            gathered,
            busiest_halo: gathered.max(of(&facts.sent)),
        }
    }

    /// The memory of the rank that needs most.
    fn memory(&self) -> RankMemory {
        let of = |rank| self.memory_of(rank);
        self.ranks().map(of).max_by_key(RankMemory::total).unwrap_or_default()
    }

    fn memory_of(&self, rank: u32) -> RankMemory {
        let facts = self.facts;
        let (workload, traffic) = (facts.question.workload, facts.question.traffic);
        let cost = workload.cost_in(self.blocks.len(), facts.question.recompute);
        let largest = self.blocks.iter().map(Range::len).max().unwrap_or(0);
        let steps = if cost.of_a_block { largest } else { facts.steps };
        let all_cells = (steps as u64 * u64::from(facts.vertices)).max(1) as f64;
        let (mut activations, mut exchanged, mut messages) = (0.0_f64, 0, 0);
        for block in &self.blocks {
            let here = self.load(rank, block.clone());
            // Half of what a vertex costs is taken to be its structure encoders'.
            let share = (here.cells + here.time_cells) as f64 / (2.0 * all_cells);
            let self_loops = here.cells;
            let per_vertex = cost.activations.bytes_per_vertex * f64::from(facts.vertices) * share;
            let per_edge = cost.activations.bytes_per_edge * (here.edges + self_loops) as f64;
            let bytes = (cost.activations.fixed_bytes + per_vertex + per_edge) * cost.slack;
            let moved = traffic.memory(Moved {
                cells: here.cells,
                time_cells: here.time_cells,
                gathered: here.gathered,
                answered: match traffic.answers_last {
                    true => here.cells / block.len().max(1) as u64,
                    false => here.cells,
                },
                redistributed: self.placements.structure != self.placements.time,
                split: facts.grid.members > 1,
                // Rows of the table are compared as if none moved beside computing.
                beside: false,
            });
            messages = messages.max(moved.messages);
            (activations, exchanged) = if facts.question.recompute {
                (activations.max(bytes), exchanged.max(moved.held))
            } else {
                (activations + bytes, exchanged + moved.held)
            };
        }
        let all = self.load(rank, 0..facts.steps);
        let frames = workload.training.len().div_ceil(facts.steps.max(1)) as u64;
        let answered = if facts.grid.members > 1 { all.cells } else { 0 };
        let exchanged = exchanged + list_bytes(all.gathered * frames, answered);
        let again = self.blocks.len() > 1 && facts.question.recompute;
        let states = if again { self.blocks.len() as u64 } else { 0 };
        let member = (rank % facts.grid.members) as usize;
        let own_vertices = facts.starts[member + 1] - facts.starts[member];
        let kept_rows =
            u64::from(traffic.keeps_first) * workload.edges.len() as u64 * u64::from(own_vertices);
        let time_vertices =
            self.placements.time.share(rank, facts.vertices, 0..facts.steps).vertices;
        let (data, ranks) = (workload.data_bytes, u64::from(facts.grid.ranks()));
        let data = if workload.data_is_shared { data.div_ceil(ranks) } else { data };
        RankMemory {
            parameters: workload.weights as u64 * VALUE * (2 + workload.optimiser_slots as u64),
            data: data + workload.portion_bytes(facts.grid.members > 1),
            reuse: kept_rows * workload.features as u64 * VALUE,
            evaluation: workload.evaluation_bytes,
            activations: activations.max(0.0) as u64,
            exchanged,
            checkpoints: states * traffic.state_bytes_per_vertex * time_vertices.len() as u64,
            messages,
            program: PROGRAM_BYTES,
        }
    }

    /// How often the forward pass of a time step runs.
    fn forward(&self, block: usize) -> u64 {
        let again = self.facts.question.recompute && block + 1 < self.blocks.len();
        if again { 2 } else { 1 }
    }

    fn row(&self, strategy: Strategy) -> Row {
        let facts = self.facts;
        let (question, traffic) = (facts.question, facts.question.traffic);
        let ranks = self.ranks().end;
        let Placements { structure, time } = &self.placements;
        let (mut exchanged_units, mut gathered_units, mut answered_units) = (0, 0, 0);
        let (mut exchanged_bytes, mut gathered_bytes, mut answered_bytes) = (0, 0, 0);
        let mut communicate = 0.0;
        let (mut messages, mut statistics_bytes) = (0, 0);
        let [gathers, redistributions] = traffic.exchanges();
        for (number, block) in self.blocks.iter().enumerate() {
            let forward = self.forward(number);
            let units =
                volume::redistribution(structure, time, facts.vertices, block.clone(), ranks);
            exchanged_units += units.total();
            exchanged_bytes += units.total() * traffic.exchanged_bytes(forward);
            let loads: Vec<Load> =
                self.ranks().map(|rank| self.load(rank, block.clone())).collect();
            let halo: u64 = loads.iter().map(|load| load.gathered).sum();
            let busiest_halo = loads.iter().map(|load| load.busiest_halo).max().unwrap_or(0);
            gathered_units += halo;
            gathered_bytes += halo * traffic.gathered_bytes(forward);
            let in_time = self.in_time_bytes(block, forward);
            let to_all =
                block.len() as u64 * traffic.to_all_bytes(forward, |count| self.best(count));
            gathered_bytes += in_time + to_all;
            statistics_bytes += traffic.statistics_bytes(ranks, forward);
            let answers = if traffic.answers_last {
                volume::last_answers(&self.placements, facts.grid, facts.vertices, block.clone())
            } else {
                volume::answers(structure, facts.grid, facts.vertices, block.clone())
            };
            answered_units += answers.total();
            answered_bytes += answers.total() * traffic.answered_bytes(forward);
            // Listed rows go through memory twice more, into the message and out of it.
            let bytes = units.busiest() * traffic.exchanged_bytes(forward)
                + answers.busiest() * traffic.answered_bytes(forward)
                + 3 * busiest_halo * traffic.gathered_bytes(forward)
                + (3 * in_time + to_all) / u64::from(ranks);
            communicate += bytes as f64 / question.machine.link_bytes_per_second;
            let others = u64::from(ranks - 1);
            let exchanges =
                u64::from(units.total() > 0) * redistributions * u64::from(facts.grid.groups - 1)
                    + u64::from(halo > 0) * gathers * u64::from(facts.grid.members - 1)
                    + u64::from(in_time > 0) * block.len() as u64 * others;
            messages += exchanges * (forward + 1);
            messages += u64::from(facts.grid.members - 1) * (forward + 1);
        }
        communicate += messages as f64 * question.machine.message_seconds;
        let memory = self.memory();
        Row {
            strategy,
            grid: facts.grid,
            blocks: self.blocks.len(),
            exchanged_units,
            gathered_units,
            answered_units,
            exchanged_bytes,
            gathered_bytes,
            answered_bytes,
            statistics_bytes,
            reduced_bytes: reduced_bytes(ranks, traffic.summed),
            balance: self.balance(),
            memory,
            fits: question.memory_limit.is_none_or(|limit| memory.total() <= limit),
            compute_seconds: self.compute_seconds(),
            communicate_seconds: communicate,
        }
    }

    /// Bytes that time encoders gather over a block.
    fn in_time_bytes(&self, block: &Range<usize>, forward: u64) -> u64 {
        let traffic = self.facts.question.traffic;
        let of = |step: usize| {
            let units = self.facts.in_time.get(step).copied().unwrap_or(0);
            units * traffic.gathered_in_time_bytes(forward, step > 0)
        };
        block.clone().map(of).sum()
    }

    /// Rows that move if each member of a group sends its best `count` rows of a snapshot to all others.
    fn best(&self, count: usize) -> u64 {
        let of = |pair: &[u32]| count.min((pair[1] - pair[0]) as usize) as u64;
        let rows: u64 = self.facts.starts.windows(2).map(of).sum();
        rows * u64::from(self.facts.grid.ranks() - 1)
    }

    fn balance(&self) -> Balance {
        let loads: Vec<Load> =
            self.ranks().map(|rank| self.load(rank, 0..self.facts.steps)).collect();
        let ratio = |of: fn(&Load) -> u64| {
            let sum: u64 = loads.iter().map(of).sum();
            let most = loads.iter().map(of).max().unwrap_or(0);
            if sum == 0 { 1.0 } else { most as f64 * loads.len() as f64 / sum as f64 }
        };
        Balance {
            cells: ratio(|load| load.cells),
            edges: ratio(|load| load.edges),
            time_cells: ratio(|load| load.time_cells),
        }
    }

    /// Blocks follow each other, and each ends with its busiest rank.
    fn compute_seconds(&self) -> f64 {
        let facts = self.facts;
        let (workload, traffic) = (facts.question.workload, facts.question.traffic);
        let frame_cells = (facts.steps as u64 * u64::from(facts.vertices)).max(1) as f64;
        let cell_bytes =
            workload.activations.bytes_per_vertex * f64::from(facts.vertices) / frame_cells;
        let gathered = traffic.gathered_width() * VALUE;
        let mut seconds = 0.0;
        for (number, block) in self.blocks.iter().enumerate() {
            let bytes = |rank| {
                let here = self.load(rank, block.clone());
                let cells = (here.cells + here.time_cells) as f64 / 2.0;
                cells * cell_bytes + (here.edges * gathered) as f64
            };
            let busiest = self.ranks().map(bytes).fold(0.0, f64::max);
            // Values are written once and read once or twice in the backward pass.
            let passes = self.forward(number) as f64 + 2.0;
            seconds += busiest * passes / facts.question.machine.memory_bytes_per_second;
        }
        seconds
    }
}
