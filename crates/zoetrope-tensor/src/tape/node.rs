//! What a tape remembers of one operator.

use std::sync::{Arc, OnceLock};

use crate::buffer::Buffer;
use crate::cpu::activation::Activation;
use crate::cpu::dropout::{Cells, Dropout};
use crate::cpu::gru::GruKind;
use crate::cuda::Scratch;
use crate::cuda::neighbour_attention::Lists;
use crate::matrix::{Matrix, Shape};
use crate::neighbourhood::Neighbourhood;
use crate::ops::attention::{AttentionOptions, TemporalParameters};
use crate::ops::chain::Chain;
use crate::ops::custom::Custom;
use crate::ops::evolve::Evolution;
use crate::ops::gat::GatOptions;
use crate::ops::loss::Loss;
use crate::ops::message_cell::MessageCell;
use crate::ops::neighbour_attention::NeighbourAttention;
use crate::ops::pairs::PairLayers;
use crate::ops::recurrent::GateInput;
use crate::ops::shared_norm::SharedRows;
use crate::sparse::SparseGroup;
use crate::tape::{Piece, Var};

/// One matrix of a tape and how it came about.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) shape: Shape,
    pub(crate) value: Value,
    /// What the forward kernel left for the backward kernel.
    pub(crate) saved: Option<Buffer>,
    pub(crate) needs_gradient: bool,
}

/// Where the values of a node are.
#[derive(Debug)]
pub(crate) enum Value {
    Owned(Buffer),
    /// Computed on a GPU when they are read, and again if need be: of a batch norm, which some
    /// readers rather apply to what it is given.
    Deferred(OnceLock<Buffer>),
    /// Part of a matrix of the caller, from this position on.
    Shared(Arc<Matrix>, usize),
    /// Part of a device's copy of a matrix of the caller, from this position on.
    Resident(Arc<Scratch>, usize),
    /// The parameter of this number in the block that the tape is bound to.
    Bound(usize),
    /// Part of another node's values; `root` is never itself an alias.
    Alias {
        root: Var,
        offset: usize,
    },
    /// Given back during the backward pass.
    Released,
}

impl Value {
    /// The block of its own.
    pub(crate) fn into_block(self) -> Option<Buffer> {
        match self {
            Self::Owned(buffer) => Some(buffer),
            Self::Deferred(block) => block.into_inner(),
            _ => None,
        }
    }
}

/// A list of operands or of ranges of them, kept by the tape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The operator that made a node, with what its backward pass needs besides values.
#[derive(Debug, Default)]
pub(crate) enum Op {
    #[default]
    Leaf,
    Matmul {
        a: Var,
        b: Var,
        a_transposed: bool,
        b_transposed: bool,
    },
    Linear {
        x: Var,
        weight: Var,
        bias: Option<Var>,
        plus: Option<Var>,
        activation: Activation,
        piece: Option<Piece>,
    },
    HeadProducts {
        x: Var,
        weight: Var,
        heads: usize,
        transposed: bool,
    },
    Readout {
        x: Var,
        weight: Var,
        bias: Var,
    },
    MatmulSteps {
        x: Var,
        weights: Var,
        steps: usize,
        transposed: bool,
    },
    Spmm {
        group: SparseGroup,
        x: Var,
    },
    AddScaled {
        a: Var,
        b: Var,
        factor: f32,
    },
    Mul {
        a: Var,
        b: Var,
    },
    Scale {
        x: Var,
        factor: f32,
    },
    AddBias {
        x: Var,
        bias: Var,
    },
    RowScale {
        x: Var,
        factors: Var,
    },
    Activation {
        x: Var,
        activation: Activation,
    },
    Chain {
        chain: Chain,
        inputs: List,
    },
    /// Parts are ranges of columns.
    ConcatColumns {
        parts: List,
    },
    /// Parts are ranges of values, each a whole matrix.
    ConcatRows {
        parts: List,
    },
    Gather {
        x: Var,
        indices: Arc<Vec<u32>>,
    },
    ScatterAdd {
        x: Var,
        indices: Arc<Vec<u32>>,
    },
    PairScores {
        layers: PairLayers,
        ends: [Arc<Vec<u32>>; 2],
    },
    Gru {
        kind: GruKind,
        input: GateInput,
        state: Var,
        weight: Var,
        bias: Option<Var>,
        mask: Option<Var>,
    },
    Lstm {
        input: GateInput,
        hidden: Var,
        cell: Var,
        weight: Option<Var>,
        bias: Option<Var>,
        mask: Option<Var>,
        piece: Option<Piece>,
    },
    Evolve {
        state: Var,
        evolution: Evolution,
        steps: usize,
    },
    Attention {
        query: Var,
        key: Var,
        value: Var,
        mask: Option<Var>,
        options: AttentionOptions,
    },
    TemporalLayer {
        x: Var,
        parameters: TemporalParameters,
        mask: Option<Var>,
        options: AttentionOptions,
    },
    Gat {
        group: SparseGroup,
        x: Var,
        source: Var,
        destination: Var,
        options: GatOptions,
    },
    NeighbourAttention {
        call: NeighbourAttention,
        layout: Arc<Neighbourhood>,
        deltas: Arc<Vec<f64>>,
        /// Both on the GPU, if the tape computes on one.
        lists: Option<Box<Lists>>,
    },
    MessageCell {
        call: MessageCell,
        feature_rows: Arc<Vec<u32>>,
    },
    TimeEncoding {
        deltas: Arc<Vec<f64>>,
        weight: Var,
        bias: Var,
    },
    Softmax {
        x: Var,
    },
    SegmentSoftmax {
        group: SparseGroup,
        x: Var,
    },
    BatchNorm {
        x: Var,
        scale: Var,
        shift: Var,
        /// Statistics given from outside (evaluation) instead of those of the batch.
        fixed: bool,
        /// Who else has rows of the batch, if anybody.
        shared: Option<SharedRows>,
    },
    LayerNorm {
        x: Var,
        scale: Var,
        shift: Var,
    },
    Dropout {
        x: Var,
        dropout: Dropout,
        cells: Cells,
    },
    UnitVector {
        x: Var,
    },
    Mean {
        x: Var,
    },
    Loss {
        loss: Loss,
        prediction: Var,
        target: Var,
        weight: Option<Var>,
    },
    CrossEntropy {
        logits: Var,
        labels: Arc<Vec<u32>>,
        start: usize,
        weight: Option<Var>,
    },
    Custom {
        operator: Arc<dyn Custom>,
        inputs: List,
    },
}

impl Op {
    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self, Self::Leaf)
    }

    /// Whether the backward pass has to go through it, gradient or none.
    pub(crate) fn is_collective(&self) -> bool {
        match self {
            Self::Custom { operator, .. } => operator.is_collective(),
            Self::BatchNorm { shared, .. } => shared.is_some(),
            _ => false,
        }
    }
}
