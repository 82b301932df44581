//! What a planner is told: the graph, the model, the machine, as numbers.

use std::ops::Range;

use serde::{Deserialize, Serialize};

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

/// The graph and the model of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
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
    /// The number of values that the optimiser changes.
    pub weights: usize,
    /// The arrays that the optimiser keeps for each of them.
    pub optimiser_slots: usize,
    /// Bytes of the data set and of the prepared graph.
    pub data_bytes: u64,
    /// Bytes of the scores that measuring has to keep.
    pub evaluation_bytes: u64,
    /// The memory of a step.
    pub activations: ActivationCost,
    /// The memory of a step in several blocks, where the model can be computed so: fewer blocks
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

impl Workload {
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
            // Blocks differ in snapshots and pairs, and memory that fits one does not fit all others.
            Some(&BlockCost { activations, state_bytes, .. }) => {
                CostIn { activations, slack: BLOCK_SLACK, state_bytes, of_a_block: true }
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
