//! What a planner is told: the graph, the model, the machine, as numbers.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use zoetrope_graph::made::portion_bytes;

use crate::plan::memory::Memory;

/// The memory of one step of training, as a function of the size of a frame.
///
/// Found by running the real model on two miniature graphs: what a tape holds grows linearly with
/// vertices and edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActivationCost {
    /// Bytes whatever the size.
    pub fixed_bytes: f64,
    /// Bytes for each vertex of a frame of the planned length.
    pub bytes_per_vertex: f64,
    /// Bytes for each edge of a frame, self-loops included.
    pub bytes_per_edge: f64,
}

/// The graph and the model of a run over snapshots.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameWorkload {
    /// The name of the data set.
    pub data: String,
    /// The name of the model.
    pub model: String,
    /// The snapshots to train on.
    pub training: Range<usize>,
    /// The number of vertices.
    pub vertices: usize,
    /// The number of edges of each snapshot of the whole sequence.
    pub edges: Vec<usize>,
    /// The number of features of a vertex.
    pub features: usize,
    /// The widths `(in, out)` of the structure layers that may choose their order.
    pub structure_widths: Vec<(usize, usize)>,
    /// Whether `Â·X` of the first layer depends on data alone.
    pub can_reuse: bool,
    /// Whether a frame can be computed in blocks of snapshots.
    pub works_in_blocks: bool,
    /// Whether time encoders work on rows of vertices; EvolveGCN's work on weights.
    pub time_on_features: bool,
    /// Whether an update does the same again when its frames come again, so that it can be recorded.
    pub is_recordable: bool,
    /// Frames of an update.
    pub frames_per_update: usize,
    /// Whether the hidden state goes on from frame to frame.
    pub carries_state: bool,
    /// The number of values that the optimiser changes.
    pub weights: usize,
    /// The arrays that the optimiser keeps for each of them.
    pub optimiser_slots: usize,
    /// Bytes of the data set and of the prepared graph.
    pub data_bytes: u64,
    /// Whether a process keeps its ranks' part of that and no more.
    pub data_is_shared: bool,
    /// Bytes of the scores that measuring has to keep.
    pub evaluation_bytes: u64,
    /// Whether a GPU told the memory of a step, not the processor.
    pub measured_on_gpu: bool,
    /// The memory of a step.
    pub activations: ActivationCost,
    /// The memory of a step in several blocks, if the model can be computed so: fewer blocks
    /// first.
    pub blocks: Vec<BlockCost>,
}

/// The memory of a step, whole or in blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CostIn {
    pub(crate) activations: ActivationCost,
    /// How much more than that steps take.
    pub(crate) slack: f64,
    /// Bytes that one block passes to the next.
    pub(crate) state_bytes: u64,
    /// Whether it is that of one block, of the largest.
    pub(crate) of_a_block: bool,
}

/// How much more than its largest one takes blocks of a frame take, measured (bench/ranks): up to 9 %.
const BLOCK_SLACK: f64 = 1.1;

/// Bytes of a value of a matrix.
const VALUE_BYTES: u64 = size_of::<f32>() as u64;

/// Bytes of an edge while a rank takes its rows out of a renamed snapshot: two ends and a weight, an order to sort them
/// by, and the matrix of all rows.
const RENAMED_EDGE_BYTES: u64 = 12 + 8 + 12;

impl FrameWorkload {
    /// Bytes of what a rank learns with: parameters, a gradient, the arrays of the optimiser. The copies of
    /// parameters on a tape are activations.
    pub(crate) fn learning_bytes(&self) -> u64 {
        self.weights as u64 * VALUE_BYTES * (2 + self.optimiser_slots as u64)
    }

    /// Bytes of the parameters of the best epoch, which every rank keeps.
    pub(crate) fn best_bytes(&self) -> u64 {
        self.weights as u64 * VALUE_BYTES
    }

    /// Bytes of saving a checkpoint: the copy of parameters, of those of the best epoch and of the optimiser's
    /// arrays that is written, the files that are read back, and what they hold.
    pub(crate) fn saving_bytes(&self) -> u64 {
        3 * self.weights as u64 * VALUE_BYTES * (2 + self.optimiser_slots as u64)
    }

    /// Bytes of what is made on the way to a rank's part of the graph and let go again: a renamed snapshot, and, if
    /// snapshots are made when they are asked for, the portion that is made at once.
    pub(crate) fn portion_bytes(&self, renamed: bool) -> u64 {
        let largest = self.edges.iter().copied().max().unwrap_or(0);
        let renamed = if renamed { largest as u64 * RENAMED_EDGE_BYTES } else { 0 };
        let edges: usize = self.edges.iter().sum();
        let made = if self.data_is_shared { portion_bytes(largest, edges) } else { 0 };
        renamed + made
    }

    /// The memory of a step in so many blocks. Blocks that are kept take what the whole frame takes.
    pub(crate) fn cost_in(&self, blocks: usize, recompute: bool) -> CostIn {
        let in_blocks = self.blocks.iter().find(|cost| recompute && cost.blocks == blocks);
        match in_blocks {
            None => CostIn {
                activations: self.activations,
                slack: 1.0,
                state_bytes: 0,
                of_a_block: false,
            },
            // Blocks differ in snapshots and pairs, and memory that fits one does not fit all others. What a GPU told
            // has that in it.
            Some(&BlockCost { activations, state_bytes, .. }) => {
                let slack = if self.measured_on_gpu { 1.0 } else { BLOCK_SLACK };
                CostIn { activations, slack, state_bytes, of_a_block: true }
            }
        }
    }
}

/// The memory of a step whose frame is computed in blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockCost {
    /// How many.
    pub blocks: usize,
    /// The memory of the largest.
    pub activations: ActivationCost,
    /// Bytes that one block passes to the next.
    pub state_bytes: u64,
}

/// What some events take on their way through the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchCost {
    /// Bytes to prepare them.
    pub prepared: u64,
    /// Bytes to compute them.
    pub computed: u64,
}

impl BatchCost {
    /// Both.
    pub fn total(self) -> u64 {
        self.prepared + self.computed
    }
}

/// What batches of a run take, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredBatches {
    /// A step of training.
    pub step: BatchCost,
    /// As many events as are judged at once.
    pub judged: BatchCost,
    /// How many these are.
    pub judged_events: usize,
    /// What is known without measuring: data, states, parameters, scores, the program.
    pub counted: Memory,
}

/// The events and the model of a run over a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWorkload {
    /// The name of the data set.
    pub data: String,
    /// The name of the model.
    pub model: String,
    /// The number of vertices.
    pub vertices: usize,
    /// The events to train on.
    pub events: usize,
    /// The events of each batch of the first epoch, as the rule cuts them.
    pub batches: Vec<usize>,
    /// Steps that the model goes through in an epoch: large batches take several.
    pub steps: usize,
    /// Whether a batch has to end before an event of a later time.
    pub whole_times: bool,
    /// Levels of neighbours that are read.
    pub layers: usize,
    /// How neighbours are sampled, in words.
    pub sampling: String,
    /// Questions that an event makes when it is judged.
    pub questions_of_an_event: usize,
    /// What batches take, if it was measured.
    pub measured: Option<MeasuredBatches>,
}

#[cfg(test)]
impl FrameWorkload {
    /// Some vertices and snapshots with as many edges in each, for a model that does everything.
    pub(crate) fn of_size(vertices: usize, steps: usize, edges: usize) -> Self {
        Self {
            data: "made up".to_owned(),
            model: "tgcn".to_owned(),
            training: 0..steps,
            vertices,
            edges: vec![edges; steps],
            features: 2,
            structure_widths: vec![(2, 6), (6, 6)],
            can_reuse: true,
            works_in_blocks: true,
            time_on_features: true,
            is_recordable: true,
            frames_per_update: 1,
            carries_state: false,
            weights: 500,
            optimiser_slots: 2,
            data_bytes: 1 << 18,
            data_is_shared: false,
            evaluation_bytes: 0,
            measured_on_gpu: false,
            activations: ActivationCost {
                fixed_bytes: 1000.0,
                bytes_per_vertex: 10.0,
                bytes_per_edge: 1.0,
            },
            blocks: Vec::new(),
        }
    }
}
