//! What the GRU and the LSTM share on a GPU.
//!
//! A sequence goes through one of four ways, by its shape:
//!
//! - *narrow*: states up to 8 wide of many vertices, bound by memory. A lane owns a vertex through all
//!   steps and computes its input's product as well ([`Narrow`]).
//! - *tiled*: an LSTM of 32 states, all products by tensor cores (`lstm::tiled`).
//! - *fused*: states up to 64 wide whose recurrent weight fits into the shared memory of a block. One
//!   launch runs all steps ([`Fused`]). What the input adds to the gates is one product of all rows
//!   before it, at the speed of the library: it depends on no state, and inside the recurrence it
//!   would stand in the way of every step (small graphs) or cost the same (large ones).
//! - *by steps*: wider states. Products of all vertices by the library for every step, gates between
//!   them.
//!
//! In the backward pass the latter three leave the gradients of the gates as rows, 4·G·H bytes a cell, for the
//! gradients of the input and of the weights (`gradients`).

mod gradients;
mod narrow;
mod tiled;

use super::matmul::{MatMut, MatRef, matmul};
use super::{Gpu, View, ViewMut};
use crate::cpu::matmul::Accumulate;
use crate::cpu::recurrent::{Input, InputRows, Sequence};

pub(super) use gradients::{
    BiasSum, GateRows, Left, Right, WeightSum, add_sums, column_sums, of_nothing, send,
};
pub(crate) use narrow::Norm;
pub(super) use narrow::{Narrow, NarrowGradient, NarrowInput};
pub(super) use tiled::TiledSums;

/// The widest state of the fused way.
const FUSED_HIDDEN: usize = 64;
/// Threads of a block, at most.
const THREADS: usize = 128;
/// Blocks that fill a large GPU twice.
const BLOCKS: usize = 264;
/// Vertices from which on a thread takes several, to read each weight once for all of them.
const MANY_VERTICES: usize = 2048;
/// How a sequence is laid over the GPU in one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fused {
    /// Whether a thread takes several vertices.
    pub(super) several: bool,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
}

impl Fused {
    /// The layout, if the sequence fits. A thread takes `several_are` vertices if there are many; `floats` tells the shared memory of a block from the
    /// stride of a state's vertices and the number of threads.
    pub(super) fn new(
        gpu: &Gpu,
        shape: Sequence,
        several_are: usize,
        floats: impl Fn(usize, usize) -> usize,
    ) -> Option<Self> {
        let Sequence { vertices, hidden, .. } = shape;
        if hidden > FUSED_HIDDEN {
            return None;
        }
        let several = vertices >= MANY_VERTICES;
        let each = if several { several_are } else { 1 };
        let groups = vertices.div_ceil(each * BLOCKS).clamp(1, THREADS / hidden);
        let (owned, threads) = (groups * each, groups * hidden);
        // As the kernels compute it: whole groups of four, and four more.
        let shared_bytes = size_of::<f32>() * floats((owned + 7) / 4 * 4, threads);
        (shared_bytes <= gpu.shared_limit() as usize).then(|| Self {
            several,
            blocks: vertices.div_ceil(owned) as u32,
            threads: threads as u32,
            shared_bytes: shared_bytes as u32,
        })
    }
}

/// Rows of one matrix of an input, and the columns of the weight from which on they are multiplied.
#[derive(Clone, Copy)]
pub(super) struct InputColumns<'a> {
    pub(super) rows: View<'a>,
    pub(super) width: usize,
    weight: View<'a>,
    inner: usize,
    wide: usize,
}

impl<'a> InputColumns<'a> {
    /// The weight from the part's first column on.
    pub(super) fn weights(&self) -> View<'a> {
        self.weight
    }

    /// The columns of the weight, [G·H, width].
    fn weight(&self) -> MatRef<'a> {
        let Self { weight, width, inner, wide, .. } = *self;
        MatRef { stride: inner, ..MatRef::new(weight, wide, width) }
    }
}

/// The matrices of an input with rows; none if the gates' share is given.
pub(super) fn parts<'a>(
    input: &Input<View<'a>>,
    shape: Sequence,
    gates: usize,
) -> [Option<InputColumns<'a>>; 2] {
    let Input::Rows(InputRows { x, beside, weight, .. }) = *input else { return [None, None] };
    let (wide, cells) = (gates * shape.hidden, shape.cells().max(1));
    let (left, inner) = (x.len() / cells, weight.len() / wide.max(1));
    let part = |rows: View<'a>, from: usize, width: usize| InputColumns {
        rows,
        width,
        weight: weight.slice(from..weight.len()),
        inner,
        wide,
    };
    [Some(part(x, 0, left)), beside.map(|beside| part(beside, left, inner - left))]
}

/// Where the input's share of the gates is without its bias, and the distance of its rows: given, or
/// computed into the first columns of `saved`, whose rows are `stride` apart.
pub(super) fn share<'a>(
    gpu: &Gpu,
    input: &Input<View<'a>>,
    shape: Sequence,
    gates: usize,
    saved: &'a mut ViewMut<'_>,
    stride: usize,
) -> (View<'a>, usize) {
    let (cells, wide) = (shape.cells(), gates * shape.hidden);
    if let Input::Gates(given) = *input {
        return (given, wide);
    }
    let mut mode = Accumulate::Overwrite;
    for part in parts(input, shape, gates).into_iter().flatten() {
        let rows = MatRef::new(part.rows, cells, part.width);
        let c = MatMut { stride, ..MatMut::new(saved.reborrow(), cells, wide) };
        matmul(gpu, rows, part.weight().t(), c, mode);
        mode = Accumulate::Add;
    }
    (saved.as_view(), stride)
}

/// The address of a view, 0 if it is absent.
pub(super) fn address(view: Option<View<'_>>) -> u64 {
    view.map_or(0, View::ptr)
}

/// The rows of a step in a stacked matrix.
pub(super) fn step(view: View<'_>, t: usize, rows: usize, width: usize) -> View<'_> {
    view.slice(t * rows * width..(t + 1) * rows * width)
}
