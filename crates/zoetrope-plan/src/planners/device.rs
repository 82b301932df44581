//! The memory that a plan of frames will take on the GPU of a rank, and what of the plan follows from it:
//! where the graph and the states between blocks lie, and in how many blocks a frame is computed.

use super::GpuFacts;
use super::memory::Estimate;
use crate::plan::device_memory::DeviceMemory;
use crate::plan::frame::Frame;
use crate::plan::gpu::{Coding, Residency};
use crate::wishes::Wishes;

/// What kernels leave for each other beside what a tape holds, and what is lost to the sizes of blocks.
const STEP_SLACK: f64 = 1.2;

/// Room for packets of differences has a quarter more than they take.
const ROOM_SLACK: f64 = 1.25;

/// States that a GPU has if the others wait on the host: two that take turns, the gradient of one, and one that is
/// carried on from the frame before.
const STATES_HERE: u64 = 4;

/// A layout on the GPU of a rank.
pub(super) struct OnDevice<'a> {
    /// Of one rank, as a process of its own.
    pub(super) estimate: Estimate<'a>,
    pub(super) facts: &'a GpuFacts,
    pub(super) coding: Coding,
}

/// What lies on the GPU, and what that takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Where the graph lies.
    pub(super) graph: Residency,
    /// Where the states between blocks lie.
    pub(super) block_states: Residency,
    pub(super) memory: DeviceMemory,
}

impl OnDevice<'_> {
    /// The bytes by consumer if the graph and the states between blocks lie there.
    fn memory(&self, graph: Residency, block_states: Residency) -> DeviceMemory {
        let host = self.estimate.memory();
        // As counted for the host: one before each block, one after the last, whose gradient flows back.
        let (all, states) = (host.checkpoints, self.estimate.blocks.count as u64 + 1);
        DeviceMemory {
            graph: match graph {
                Residency::Resident => self.resident_graph(),
                Residency::Stream => self.streamed_graph(),
            },
            features: self.features(graph) + self.facts.target_bytes,
            // What is saved is on the host.
            parameters: self.estimate.workload.learning_bytes(),
            activations: (host.activations as f64 * STEP_SLACK) as u64,
            checkpoints: match block_states {
                Residency::Resident => all,
                Residency::Stream => all * states.min(STATES_HERE) / states,
            },
            exchanged: host.exchanged,
            workspace: self.facts.workspace_bytes,
        }
    }

    /// Where the graph and the states between blocks lie: on the GPU if everything has room there, unless asked
    /// otherwise. States are fewer bytes than the graph that every block would send again, so they leave first.
    pub(super) fn placed(&self, wishes: &Wishes) -> Placed {
        use Residency::{Resident, Stream};
        let all = [(Resident, Resident), (Resident, Stream), (Stream, Resident), (Stream, Stream)];
        let is_asked = |&(graph, block_states): &(Residency, Residency)| {
            wishes.residency.is_none_or(|asked| asked == graph)
                && wishes.block_states.is_none_or(|asked| asked == block_states)
        };
        let placed = |(graph, block_states)| Placed {
            graph,
            block_states,
            memory: self.memory(graph, block_states),
        };
        let all: Vec<Placed> = all.into_iter().filter(is_asked).map(placed).collect();
        let fits = |placed: &&Placed| placed.memory.total() <= self.facts.memory_limit;
        let found = all.iter().find(fits);
        let least = || all.iter().min_by_key(|placed| placed.memory.total());
        *found.or_else(least).expect("there is a way for every wish")
    }

    /// The share of snapshots and of vertices of each that the rank has.
    fn shares(&self) -> (f64, f64) {
        let Some(shared) = self.estimate.shared else { return (1.0, 1.0) };
        let Some(cells) = shared.cells else { return (1.0, 1.0) };
        let grid = cells.strategy.grid(shared.ranks);
        (1.0 / f64::from(grid.groups), 1.0 / f64::from(grid.members))
    }

    /// The most snapshots of a piece that the rank has.
    fn at_once(&self) -> f64 {
        let steps = self.estimate.frames.iter().map(|frame| frame.steps).max().unwrap_or(1);
        let block = steps.div_ceil(self.estimate.blocks.count);
        let (groups, _) = self.shares();
        (block as f64 * groups).ceil()
    }

    fn resident_graph(&self) -> u64 {
        let (groups, members) = self.shares();
        let stride = |pair: &[Frame]| pair[1].start.abs_diff(pair[0].start).max(1);
        let frames = self.estimate.frames;
        let often = frames
            .windows(2)
            .next()
            .map_or(1.0, |pair| (frames[0].steps as f64 / stride(pair) as f64).max(1.0));
        // Frames that overlap give a rank other snapshots of each.
        (self.facts.graph_bytes as f64 * (groups * often).min(1.0) * members) as u64
    }

    /// Two groups of places; and for differences the entries of a snapshot twice, with packets of two groups.
    fn streamed_graph(&self) -> u64 {
        let (_, members) = self.shares();
        let (largest, at_once) = (self.facts.snapshot_bytes as f64 * members, self.at_once());
        let places = 2.0 * at_once * largest;
        let differences = match self.coding {
            Coding::Whole => 0.0,
            Coding::Auto | Coding::Differences => {
                let packet = 1.0 + (at_once * 2.0 * self.facts.change).min(at_once);
                2.0 * (1.0 + packet) * largest * ROOM_SLACK
            }
        };
        (places + differences) as u64
    }

    /// Those of all snapshots, or of two pieces, if these go to the GPU piece by piece.
    fn features(&self, residency: Residency) -> u64 {
        let by_piece = residency == Residency::Stream
            || self.estimate.shared.is_some_and(|one| one.cells.is_some());
        let (_, members) = self.shares();
        let reuse = if self.estimate.reuse.first_aggregation { 2.0 } else { 1.0 };
        let steps =
            if by_piece { 2.0 * self.at_once() } else { self.estimate.workload.edges.len() as f64 };
        (steps * self.facts.feature_bytes as f64 * members * reuse) as u64
    }
}
