//! What is on a tape as sizes: to predict how long it takes, and to measure that.
//!
//! The floor of an operator is what it has to read, write and compute, each matrix once. How near kernels come
//! to it is measured, not known here.

use super::{Op, Tape, Var};
use crate::cpu::activation::Activation;
use crate::ops::loss::Loss;
use crate::ops::recurrent::GateInput;
use crate::sparse::SparseGroup;

/// Bytes of a value.
const VALUE: f64 = 4.0;
/// Bytes of an entry of a sparse matrix: its column and its value.
const ENTRY: f64 = 8.0;
/// Rows of at least so many values are those of whole snapshots.
const WIDE: usize = 1024;

/// Operators whose kernels take alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Products with sparse matrices of `rows` rows each; a row has `inner` entries.
    Sparse,
    /// Products of all snapshots with a matrix over time; a snapshot has `rows` values and meets `inner` others.
    TimeProduct,
    /// Products of matrices, `rows × inner` with `inner × width`.
    Dense,
    /// Whatever reads and writes `rows` values in their order; `inner` is 2 if it finds functions such as an exponential.
    Elementwise,
    /// Gated recurrent units over `inner` snapshots.
    Gru,
    /// Long short-term memory over `inner` snapshots.
    Lstm,
    /// Weights that evolve over `inner` snapshots.
    Evolve,
    /// Attention over `inner` snapshots.
    Attention,
    /// Attention over the `inner` edges of a vertex, in graphs of `rows` vertices each.
    GraphAttention,
    /// Norms of rows or columns; a row has `width` values.
    Norm,
    /// Random numbers for each value.
    Dropout,
    /// Rows that are gathered or scattered.
    Gather,
    /// Scores of pairs of rows.
    Pairs,
    /// Losses of `rows` values; `inner` is 2 if they find logarithms.
    Loss,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Sparse,
        Self::TimeProduct,
        Self::Dense,
        Self::Elementwise,
        Self::Gru,
        Self::Lstm,
        Self::Evolve,
        Self::Attention,
        Self::GraphAttention,
        Self::Norm,
        Self::Dropout,
        Self::Gather,
        Self::Pairs,
        Self::Loss,
    ];

    /// Its name in machine files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sparse => "sparse",
            Self::TimeProduct => "time_product",
            Self::Dense => "dense",
            Self::Elementwise => "elementwise",
            Self::Gru => "gru",
            Self::Lstm => "lstm",
            Self::Evolve => "evolve",
            Self::Attention => "attention",
            Self::GraphAttention => "graph_attention",
            Self::Norm => "norm",
            Self::Dropout => "dropout",
            Self::Gather => "gather",
            Self::Pairs => "pairs",
            Self::Loss => "loss",
        }
    }
}

/// What a pass of an operator moves and computes at least.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Floor {
    /// Bytes.
    pub bytes: f64,
    /// Operations on numbers.
    pub flops: f64,
}

impl Floor {
    fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, flops: self.flops + other.flops }
    }

    fn times(self, factor: f64) -> Self {
        Self { bytes: self.bytes * factor, flops: self.flops * factor }
    }
}

/// An operator on a tape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operation {
    /// Its family.
    pub family: Family,
    /// Rows, as its family says; of recurrent operators and attention over time those of one snapshot.
    pub rows: f64,
    /// What a row meets, as its family says.
    pub inner: f64,
    /// Values of a row of the result.
    pub width: f64,
    /// Of the forward pass.
    pub forward: Floor,
    /// Of the backward pass; nothing if no gradient flows.
    pub backward: Floor,
}

impl Tape {
    /// The operators that were recorded, each with the place of its node. Call it before the backward pass.
    pub fn operations(&self) -> Vec<(usize, Operation)> {
        let of = |index| Some((index, self.operation(self.var_at(index))?));
        (0..self.len()).filter_map(of).collect()
    }

    fn operation(&self, var: Var) -> Option<Operation> {
        let node = self.node(var);
        let (rows, width) = (node.shape.rows as f64, node.shape.cols as f64);
        let sized = |family, rows: f64, inner: f64, width: f64, forward: Floor, back: f64| {
            let backward = if node.needs_gradient { forward.times(back) } else { Floor::default() };
            Some(Operation { family, rows, inner, width, forward, backward })
        };
        let all = rows * width;
        let values = |count: usize, inner: f64| {
            let floor = Floor { bytes: (count + 1) as f64 * VALUE * all, flops: 0.0 };
            sized(Family::Elementwise, all, inner, 1.0, floor, 1.0)
        };
        let goes =
            |vars: &[Var]| vars.iter().filter(|&&var| self.needs_gradient(var)).count() as f64;
        let cols = |var: Var| self.shape(var).cols as f64;
        match &node.op {
            Op::Leaf | Op::Custom { .. } => None,
            Op::Matmul { a, b, a_transposed, .. } => {
                let shape = self.shape(*a);
                let inner = if *a_transposed { shape.rows } else { shape.cols } as f64;
                sized(
                    Family::Dense,
                    rows,
                    inner,
                    width,
                    product(rows, inner, width),
                    goes(&[*a, *b]),
                )
            }
            Op::Linear { x, weight, plus, .. } => {
                let inner = cols(*x);
                let more = plus.map_or(0.0, |_| VALUE * rows * width);
                let floor = product(rows, inner, width).plus(Floor { bytes: more, flops: 0.0 });
                sized(Family::Dense, rows, inner, width, floor, goes(&[*x, *weight]))
            }
            Op::HeadProducts { x, weight, heads, .. } => {
                let inner = cols(*x) / *heads as f64;
                let floor = Floor {
                    bytes: VALUE * rows * (cols(*x) + width),
                    flops: 2.0 * rows * inner * width,
                };
                sized(Family::Dense, rows, inner, width, floor, goes(&[*x, *weight]))
            }
            Op::Readout { x, weight, .. } => {
                let inner = cols(*x);
                sized(
                    Family::Dense,
                    rows,
                    inner,
                    width,
                    product(rows, inner, width),
                    goes(&[*x, *weight]),
                )
            }
            Op::MatmulSteps { x, weights, .. } => {
                let inner = cols(*x);
                sized(
                    Family::Dense,
                    rows,
                    inner,
                    width,
                    product(rows, inner, width),
                    goes(&[*x, *weights]),
                )
            }
            Op::Spmm { group, x } => {
                let entries = group.entries() as f64;
                let floor = Floor {
                    bytes: entries * (ENTRY + VALUE * width) + VALUE * rows * width,
                    flops: 0.0,
                };
                let (own, inner) = (group.vertices() as f64, entries / rows.max(1.0));
                if node.shape.cols >= WIDE {
                    return sized(Family::TimeProduct, width, inner, 1.0, floor, goes(&[*x]));
                }
                sized(Family::Sparse, own, inner, width, floor, goes(&[*x]))
            }
            Op::AddScaled { .. } | Op::Mul { .. } | Op::RowScale { .. } => values(2, 1.0),
            Op::Scale { .. } | Op::AddBias { .. } => values(1, 1.0),
            Op::Activation { activation, .. } => values(1, kind_of(*activation)),
            Op::Softmax { .. } | Op::UnitVector { .. } => values(1, 2.0),
            Op::Chain { inputs, .. } => values(inputs.len as usize, 2.0),
            Op::ConcatColumns { .. } | Op::ConcatRows { .. } => values(1, 1.0),
            Op::Mean { x } => {
                let shape = self.shape(*x);
                let floor = Floor { bytes: VALUE * shape.len() as f64, flops: 0.0 };
                sized(Family::Elementwise, shape.len() as f64, 1.0, 1.0, floor, 1.0)
            }
            Op::Gather { x, .. } => {
                let floor = Floor { bytes: 2.0 * VALUE * rows * width, flops: 0.0 };
                sized(Family::Gather, rows, 1.0, width, floor, goes(&[*x]))
            }
            Op::ScatterAdd { x, .. } => {
                let gathered = self.shape(*x).rows as f64;
                let floor = Floor { bytes: VALUE * (rows + gathered) * width, flops: 0.0 };
                sized(Family::Gather, gathered, 1.0, width, floor, goes(&[*x]))
            }
            Op::PairScores { layers, .. } => {
                let inner = cols(layers.source);
                let floor = Floor {
                    bytes: VALUE * rows * (2.0 * inner + width),
                    flops: 2.0 * rows * inner * (width + 1.0),
                };
                sized(Family::Pairs, rows, inner, width, floor, 2.0)
            }
            Op::Gru { input, state, .. } => {
                let of = self.recurrent(*input, *state, 3.0);
                Some(Operation { family: Family::Gru, ..of })
                    .map(|of| backward_if(of, node.needs_gradient))
            }
            Op::Lstm { input, hidden, weight, .. } => {
                let mut of = self.recurrent(*input, *hidden, 4.0);
                if weight.is_none() {
                    let state = self.shape(*hidden);
                    let product = 8.0 * of.inner * (state.rows * state.cols * state.cols) as f64;
                    of.forward.flops = (of.forward.flops - product).max(0.0);
                    of.backward = of.forward.times(2.0);
                }
                Some(Operation { family: Family::Lstm, ..of })
                    .map(|of| backward_if(of, node.needs_gradient))
            }
            Op::Evolve { state, steps, evolution } => {
                let shape = self.shape(*state);
                let (n, h, steps) = (shape.rows as f64, shape.cols as f64, *steps as f64);
                let gates = self.shape(evolution.weight).rows as f64 / h.max(1.0);
                let floor = Floor {
                    bytes: VALUE * steps * n * h * (1.0 + 2.0 * gates),
                    flops: 4.0 * steps * n * gates * h * h,
                };
                sized(Family::Evolve, n, steps, h, floor, 2.0)
            }
            Op::Attention { options, .. } => {
                let steps = options.steps as f64;
                let floor = over_time(rows, steps, width);
                sized(Family::Attention, rows / steps.max(1.0), steps, width, floor, 2.0)
            }
            Op::TemporalLayer { options, .. } => {
                let steps = options.steps as f64;
                let four = Floor { bytes: 0.0, flops: 8.0 * rows * width * width };
                let floor = over_time(rows, steps, width).plus(four);
                sized(Family::Attention, rows / steps.max(1.0), steps, width, floor, 2.0)
            }
            Op::Gat { group, .. } => self.of_edges(group, node.needs_gradient, rows, width),
            Op::SegmentSoftmax { group, .. } => {
                self.of_edges(group, node.needs_gradient, rows, width)
            }
            Op::NeighbourAttention { .. } | Op::MessageCell { .. } | Op::TimeEncoding { .. } => {
                values(2, 1.0)
            }
            Op::BatchNorm { .. } | Op::LayerNorm { .. } => {
                let floor = Floor { bytes: 2.0 * VALUE * rows * width, flops: 0.0 };
                sized(Family::Norm, rows, 1.0, width, floor, 1.5)
            }
            Op::Dropout { .. } => {
                let floor = Floor { bytes: 2.0 * VALUE * rows * width, flops: 0.0 };
                sized(Family::Dropout, rows, 1.0, width, floor, 1.0)
            }
            Op::Loss { prediction, loss, .. } => {
                let inner = match loss {
                    Loss::Mse | Loss::Mae => 1.0,
                    Loss::BinaryCrossEntropy { .. } => 2.0,
                };
                let shape = self.shape(*prediction);
                let floor = Floor { bytes: 2.0 * VALUE * shape.len() as f64, flops: 0.0 };
                sized(Family::Loss, shape.len() as f64, inner, 1.0, floor, 1.0)
            }
            Op::CrossEntropy { logits, .. } => {
                let shape = self.shape(*logits);
                let floor = Floor { bytes: VALUE * shape.len() as f64, flops: 0.0 };
                sized(Family::Loss, shape.len() as f64, 2.0, 1.0, floor, 1.0)
            }
        }
    }

    fn of_edges(
        &self,
        group: &SparseGroup,
        back: bool,
        rows: f64,
        width: f64,
    ) -> Option<Operation> {
        let entries = group.entries() as f64;
        let bytes = entries * (ENTRY + VALUE * width) + 2.0 * VALUE * rows * width;
        let forward = Floor { bytes, flops: 0.0 };
        let inner = entries / rows.max(1.0);
        let of = Operation {
            family: Family::GraphAttention,
            rows: group.vertices() as f64,
            inner,
            width,
            forward,
            backward: forward.times(2.0),
        };
        Some(backward_if(of, back))
    }

    /// A recurrent operator with so many gates.
    fn recurrent(&self, input: GateInput, state: Var, gates: f64) -> Operation {
        let (all, state) = (self.shape(input.rows()), self.shape(state));
        let (rows, width) = (state.rows as f64, state.cols as f64);
        let (cells, parts) = (all.rows as f64, input.parts());
        let inputs: f64 = parts.iter().flatten().map(|&x| self.shape(x).cols as f64).sum();
        let read = if inputs > 0.0 { inputs } else { gates * width };
        let forward = Floor {
            // Its rows are read, gates kept, states written.
            bytes: VALUE * cells * (read + (gates + 1.0) * width),
            flops: 2.0 * cells * gates * width * (inputs + width),
        };
        let inner = cells / rows.max(1.0);
        // The gradients of the state and of the weight; of the rows only if they want one.
        let asked = parts.iter().flatten().any(|&x| self.needs_gradient(x));
        let unasked = if asked { 0.0 } else { 2.0 * cells * gates * width * inputs };
        let mut backward = forward.times(2.0);
        backward.flops -= unasked;
        Operation { family: Family::Gru, rows, inner, width, forward, backward }
    }
}

fn backward_if(of: Operation, goes: bool) -> Operation {
    if goes { of } else { Operation { backward: Floor::default(), ..of } }
}

/// 2 of functions that take an exponential, 1 of others.
fn kind_of(activation: Activation) -> f64 {
    match activation {
        Activation::Identity | Activation::Relu | Activation::LeakyRelu(_) => 1.0,
        _ => 2.0,
    }
}

/// A product of matrices.
fn product(rows: f64, inner: f64, width: f64) -> Floor {
    Floor {
        bytes: VALUE * (rows * inner + inner * width + rows * width),
        flops: 2.0 * rows * inner * width,
    }
}

/// Attention of each vertex over its snapshots.
fn over_time(cells: f64, steps: f64, width: f64) -> Floor {
    Floor { bytes: 4.0 * VALUE * cells * width, flops: 4.0 * cells * steps * width }
}
