//! The memory that a plan of frames will take, by consumer.

use std::ops::Range;

use crate::plan::frame::Frame;
use crate::plan::frame_plan::{Blocks, Reuse};
use crate::plan::memory::Memory;
use crate::strategy::{Moved, Strategy, Traffic, list_bytes};
use crate::workload::FrameWorkload;

/// Memory of the program, its threads and its buffers before any data.
pub(crate) const PROGRAM_BYTES: u64 = 12 << 20;

/// Memory of another rank in the same process: its threads and their buffers.
const THREAD_BYTES: u64 = 2 << 20;

/// Ranks of one process reach their peaks together when blocks are recomputed, and none uses memory that
/// another has just freed: they were seen to take up to a third more than their shares add up to.
pub(crate) const SAME_PROCESS_PEAK_FACTOR: f64 = 1.45;

/// What several ranks add to the memory of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedMemory<'a> {
    /// All ranks.
    pub(super) ranks: u32,
    /// Those of this process.
    pub(super) in_process: u32,
    /// How cells are shared, if they are.
    pub(super) cells: Option<SharedCells<'a>>,
}

impl SharedMemory<'_> {
    /// The same of one rank, as if it had the process for itself: what it has on its GPU.
    pub(super) fn own_process(&self) -> Self {
        Self { in_process: 1, ..*self }
    }
}

/// How cells are shared, as far as memory is concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedCells<'a> {
    pub(super) strategy: Strategy,
    pub(super) traffic: &'a Traffic,
    /// Rows that structure encoders of all ranks gather from others, of a frame.
    pub(super) gathered: u64,
    /// Whether rows may be redistributed beside computing.
    pub(super) beside: bool,
}

/// Everything that the estimate depends on.
pub(super) struct Estimate<'a> {
    pub(super) workload: &'a FrameWorkload,
    pub(super) frames: &'a [Frame],
    pub(super) reuse: &'a Reuse,
    pub(super) blocks: Blocks,
    pub(super) shared: Option<&'a SharedMemory<'a>>,
}

impl Estimate<'_> {
    pub(super) fn memory(&self) -> Memory {
        let Self { workload, frames, reuse, blocks, shared } = *self;
        let cost = workload.cost_in(blocks.count, blocks.recompute);
        let edges_of = |frame: &Frame| {
            let edges = |steps: Range<usize>| {
                let sum: usize = workload.edges[steps.clone()].iter().sum();
                sum + steps.len() * workload.vertices
            };
            if cost.of_a_block {
                blocks.of(frame.range()).into_iter().map(edges).max().unwrap_or(0)
            } else {
                edges(frame.range())
            }
        };
        let edges = frames.iter().map(edges_of).max().unwrap_or(0);
        let (ranks, here) = shared.map_or((1, 1), |shared| (shared.ranks, shared.in_process));
        let cells = shared.and_then(|shared| shared.cells);
        // Ranks that share cells have a share of the rows each; those that share frames have whole frames.
        // All have all parameters.
        let share = match (shared, cells) {
            (Some(_), None) => f64::from(here),
            _ => f64::from(here) / f64::from(ranks),
        };
        let together = if here > 1 && cost.of_a_block { SAME_PROCESS_PEAK_FACTOR } else { 1.0 };
        let passed = cost.state_bytes * (blocks.count as u64 + 1);
        let activations = cost.activations.fixed_bytes
            + cost.activations.bytes_per_vertex * workload.vertices as f64
            + cost.activations.bytes_per_edge * edges as f64;
        let grid = cells.map(|cells| cells.strategy.grid(ranks));
        // Every rank learns; one of them saves.
        let learning = (workload.learning_bytes() + workload.best_bytes()) * u64::from(here);
        // Ranks that take whole frames keep the whole graph.
        let data = match cells {
            Some(_) if workload.data_is_shared => {
                workload.data_bytes * u64::from(here) / u64::from(ranks)
            }
            _ => workload.data_bytes,
        };
        let portion = cells.map_or(0, |_| {
            workload.portion_bytes(grid.is_some_and(|grid| grid.members > 1)) * u64::from(here)
        });
        Memory {
            data: data + portion,
            states: 0,
            // Members of a group keep those of their vertices, groups those of all snapshots.
            reuse: reuse.bytes * u64::from(here) / grid.map_or(1, |grid| u64::from(grid.members)),
            parameters: learning + workload.saving_bytes(),
            activations: (activations.max(0.0) * share * cost.slack * together) as u64,
            checkpoints: (passed as f64 * share) as u64,
            exchanged: (self.exchanged(cost.of_a_block) as f64 * share * together) as u64,
            evaluation: workload.evaluation_bytes,
            program: PROGRAM_BYTES + u64::from(here - 1) * THREAD_BYTES,
        }
    }

    /// Bytes of rows that ranks exchange of a frame, or of its largest block, and of lists of those of all frames.
    fn exchanged(&self, of_a_block: bool) -> u64 {
        let Some(shared) = self.shared else { return 0 };
        let Some(cells) = shared.cells else { return 0 };
        let steps = self.frames.iter().map(|frame| frame.steps).max().unwrap_or(0);
        let at_once = if of_a_block { steps.div_ceil(self.blocks.count) } else { steps };
        let rows = (at_once * self.workload.vertices) as u64;
        let grid = cells.strategy.grid(shared.ranks);
        let moved = cells.traffic.memory(Moved {
            cells: rows,
            time_cells: rows,
            gathered: cells.gathered * at_once as u64 / steps.max(1) as u64,
            answered: if cells.traffic.answers_last { self.workload.vertices as u64 } else { rows },
            redistributed: cells.traffic.time_on_features() && grid.groups > 1,
            split: grid.members > 1,
            beside: cells.beside,
        });
        let answered = if grid.members > 1 { (steps * self.workload.vertices) as u64 } else { 0 };
        let lists = list_bytes(cells.gathered * self.frames.len() as u64, answered);
        moved.held + moved.messages + lists
    }
}
