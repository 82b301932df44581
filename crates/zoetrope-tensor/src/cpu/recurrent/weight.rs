//! The products of a block with a weight `[gates·H, inner]`, by micro-kernels without packing.
//!
//! | product | vectors along | factors |
//! | --- | --- | --- |
//! | gates, rows | features of a gate (weight turned once a call) | elements of the input's rows |
//! | gates, lanes | vertices | the weight |
//! | input's gradient, rows | the input's features (the weight) | gradients of gates |
//! | input's gradient, lanes | vertices | the weight |
//! | weight's gradient, both | the input's features (its rows) | gradients of gates |

use std::ops::Range;

use super::{Layout, SequenceBlock};
use crate::cpu::matmul::{Accumulate, Factors, Results, Vectors, WHOLE_VECTOR, direct};
use crate::cpu::scratch::{self, Scratch};

/// A weight as the products of one kernel call read it.
pub(crate) struct Weight<'a> {
    plain: &'a [f32],
    /// In the layout of rows: turned gate by gate (`[gate][inner][H]`) to go forward, or with
    /// room for a whole vector after its end for the backward pass.
    prepared: Scratch,
    hidden: usize,
    pub(crate) inner: usize,
}

impl<'a> Weight<'a> {
    /// For [`Weight::gates`].
    pub(crate) fn forward(layout: Layout, weight: &'a [f32], hidden: usize, inner: usize) -> Self {
        let rows = layout == Layout::Rows;
        let mut prepared = scratch::take(if rows { weight.len() } else { 0 });
        if rows {
            let gates = weight.chunks_exact((hidden * inner).max(1));
            for (gate, turned) in gates.zip(prepared.chunks_exact_mut((hidden * inner).max(1))) {
                for (j, row) in gate.chunks_exact(inner).enumerate() {
                    for (l, &value) in row.iter().enumerate() {
                        turned[l * hidden + j] = value;
                    }
                }
            }
        }
        Self { plain: weight, prepared, hidden, inner }
    }

    /// For [`Weight::input_gradient`].
    pub(crate) fn back(layout: Layout, weight: &'a [f32], hidden: usize, inner: usize) -> Self {
        let len = if layout == Layout::Rows { weight.len() + WHOLE_VECTOR } else { 0 };
        let mut prepared = scratch::take(len);
        if len > 0 {
            prepared[..weight.len()].copy_from_slice(weight);
            prepared[weight.len()..].fill(0.0);
        }
        Self { plain: weight, prepared, hidden, inner }
    }

    /// planes (+)= input·weightᵀ for some gates and for the columns of the weight that belong to
    /// this input; `planes` begins with that of the first gate. `input` is an operand of the block
    /// (`SequenceBlock::operand`).
    pub(crate) fn gates(
        &self,
        block: SequenceBlock,
        gates: Range<usize>,
        columns: Range<usize>,
        input: &[f32],
        planes: &mut [f32],
        mode: Accumulate,
    ) {
        let (hidden, inner) = (self.hidden, self.inner);
        match block.layout {
            Layout::Rows => {
                let factors = Factors { data: input, inner: 1, outer: columns.len() };
                for (gate, plane) in gates.zip(planes.chunks_exact_mut(block.plane().max(1))) {
                    let data = &self.prepared[(gate * inner + columns.start) * hidden..];
                    let vectors = Vectors { data, stride: hidden };
                    let results = Results { data: plane, stride: hidden };
                    direct([hidden, block.count, columns.len()], vectors, factors, results, mode);
                }
            }
            Layout::Lanes => {
                let data = &self.plain[gates.start * hidden * inner + columns.start..];
                let factors = Factors { data, inner: 1, outer: inner };
                let vectors = Vectors { data: input, stride: block.room };
                let results = Results { data: planes, stride: block.room };
                let shape = [block.room, gates.len() * hidden, columns.len()];
                direct(shape, vectors, factors, results, mode);
            }
        }
    }

    /// d_input (+)= d_planes·weight for some gates and columns; `d_planes` begins with that of the
    /// first gate. `d_input` lies as an operand of the block.
    pub(crate) fn input_gradient(
        &self,
        block: SequenceBlock,
        gates: Range<usize>,
        columns: Range<usize>,
        d_planes: &[f32],
        d_input: &mut [f32],
        mode: Accumulate,
    ) {
        let (hidden, inner) = (self.hidden, self.inner);
        match block.layout {
            Layout::Rows => {
                let mut mode = mode;
                for (gate, plane) in gates.zip(d_planes.chunks_exact(block.plane().max(1))) {
                    let data = &self.prepared[gate * hidden * inner + columns.start..];
                    let vectors = Vectors { data, stride: inner };
                    let factors = Factors { data: plane, inner: 1, outer: hidden };
                    let results = Results { data: d_input, stride: columns.len() };
                    direct([columns.len(), block.count, hidden], vectors, factors, results, mode);
                    mode = Accumulate::Add;
                }
            }
            Layout::Lanes => {
                let data = &self.plain[gates.start * hidden * inner + columns.start..];
                let factors = Factors { data, inner, outer: 1 };
                let vectors = Vectors { data: d_planes, stride: block.room };
                let results = Results { data: d_input, stride: block.room };
                let shape = [block.room, columns.len(), gates.len() * hidden];
                direct(shape, vectors, factors, results, mode);
            }
        }
    }
}

/// The rows of a block in a stacked matrix.
#[derive(Clone, Copy)]
pub(crate) struct RowsAt<'a> {
    pub(crate) x: &'a [f32],
    /// Where they begin.
    pub(crate) at: usize,
    pub(crate) width: usize,
}

/// d_weight += d_planesᵀ·rows, where the rows of `d_weight`, from the first of these gates and of
/// the columns that belong to this input on, are `stride` apart.
pub(crate) fn add_weight_gradient(
    block: SequenceBlock,
    gates: usize,
    d_planes: &[f32],
    RowsAt { x, at, width: inner }: RowsAt,
    d_weight: &mut [f32],
    stride: usize,
) {
    if block.count == 0 || inner == 0 {
        return;
    }
    // Vectors are read whole: beyond the end of the last row there has to be something.
    let need = (block.count - 1) * inner + inner.next_multiple_of(WHOLE_VECTOR);
    let mut copy = scratch::take(if x.len() - at < need { need } else { 0 });
    let data = if copy.is_empty() {
        &x[at..at + need]
    } else {
        let len = block.count * inner;
        copy[..len].copy_from_slice(&x[at..at + len]);
        copy[len..].fill(0.0);
        &copy[..]
    };
    let vectors = Vectors { data, stride: inner };
    let hidden = block.hidden;
    match block.layout {
        Layout::Rows => {
            let targets = d_weight.chunks_mut((hidden * stride).max(1)).take(gates);
            for (plane, d_weight) in d_planes.chunks_exact(block.plane().max(1)).zip(targets) {
                let factors = Factors { data: plane, inner: hidden, outer: 1 };
                let results = Results { data: d_weight, stride };
                direct([inner, hidden, block.count], vectors, factors, results, Accumulate::Add);
            }
        }
        Layout::Lanes => {
            let factors = Factors { data: d_planes, inner: 1, outer: block.room };
            let results = Results { data: d_weight, stride };
            let shape = [inner, gates * hidden, block.count];
            direct(shape, vectors, factors, results, Accumulate::Add);
        }
    }
}
