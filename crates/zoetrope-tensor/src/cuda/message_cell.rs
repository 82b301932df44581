//! A recurrent cell that reads messages, on a GPU: few large products of the library, gates between
//! them. The CPU file of this name says what is joined, and why; unlike there, the features of
//! events are put beside each vertex in the backward pass, because gathering has no order to keep and a
//! product of a few rows more costs nothing.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::gather::gather_rows;
use super::kernel::{ByValue, Kernel, grid_for};
use super::matmul::{MatMut, MatRef, matmul};
use super::recurrent::{BiasSum, add_sums, column_sums};
use super::{Gpu, View, ViewMut};
use crate::cpu::matmul::Accumulate;
use crate::cpu::message_cell::{MessageCellKind, MessageGradients};

static PREPARE: Kernel = Kernel::new("message_cell", "message_cell_prepare");
static GRU: Kernel = Kernel::new("message_cell", "message_cell_gru");
static RNN: Kernel = Kernel::new("message_cell", "message_cell_rnn");
static GRU_BACK: Kernel = Kernel::new("message_cell", "message_cell_gru_back");
static RNN_BACK: Kernel = Kernel::new("message_cell", "message_cell_rnn_back");
static SPREAD: Kernel = Kernel::new("message_cell", "message_cell_spread");

const BLOCK: u32 = 256;

/// What both passes read; fields as in the CPU's call.
#[derive(Clone, Copy)]
pub(crate) struct MessageCall<'a> {
    pub(crate) kind: MessageCellKind,
    pub(crate) hidden: usize,
    pub(crate) pair: MatRef<'a>,
    pub(crate) time: MatRef<'a>,
    pub(crate) features: Option<(MatRef<'a>, &'a Arc<Vec<u32>>)>,
    pub(crate) weight: View<'a>,
    pub(crate) recurrent: View<'a>,
    pub(crate) biases: [View<'a>; 2],
    pub(crate) nothing: bool,
}

impl<'a> MessageCall<'a> {
    fn rows(&self) -> usize {
        self.pair.rows + usize::from(self.nothing)
    }

    /// The width of `[s o φ]`.
    fn inner(&self) -> usize {
        self.pair.cols + self.time.cols
    }

    /// The width of a message.
    fn message(&self) -> usize {
        self.inner() + self.features.map_or(0, |(features, _)| features.cols)
    }

    /// Rows of the weights, and how many of the first ones meet the own state together.
    fn gate_rows(&self) -> [usize; 2] {
        match self.kind {
            MessageCellKind::Gru => [3 * self.hidden, 2 * self.hidden],
            MessageCellKind::Rnn => [self.hidden; 2],
        }
    }

    /// Values of a row of sums and of their gradients: of a GRU r, z, n and U_n·s.
    fn wide(&self) -> usize {
        match self.kind {
            MessageCellKind::Gru => 4 * self.hidden,
            MessageCellKind::Rnn => self.hidden,
        }
    }

    /// The weight's columns from one on.
    fn columns(&self, from: usize, width: usize) -> MatRef<'a> {
        let data = self.weight.slice(from..self.weight.len());
        MatRef { stride: self.message(), ..MatRef::new(data, self.gate_rows()[0], width) }
    }

    /// The own states as columns of `[s o φ]`.
    fn states<'v>(&self, x: View<'v>) -> MatRef<'v> {
        MatRef { stride: self.inner(), ..MatRef::new(x, self.rows(), self.hidden) }
    }
}

/// As in `message_cell.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Prepare {
    pair: u64,
    time: u64,
    weight: u64,
    recurrent: u64,
    x: u64,
    joint: u64,
    rows: u64,
    vertices: u64,
    pair_width: u32,
    time_width: u32,
    message: u32,
    hidden: u32,
    gate_rows: u32,
    merged: u32,
}

/// As in `message_cell.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Gates {
    gates: u64,
    x: u64,
    share: u64,
    own: u64,
    bias: u64,
    own_bias: u64,
    out: u64,
    rows: u64,
    vertices: u64,
    inner: u32,
    hidden: u32,
}

/// Writes the new states `out` [N, H] and `saved`, of the CPU's length and order.
pub(crate) fn message_cell_forward(
    gpu: &Gpu,
    call: &MessageCall<'_>,
    mut out: ViewMut<'_>,
    saved: ViewMut<'_>,
) {
    let (n, h, inner, wide) = (call.rows(), call.hidden, call.inner(), call.wide());
    let [gate_rows, merged] = call.gate_rows();
    if out.is_empty() {
        return;
    }
    let (mut x, mut gates) = saved.split_at(n * inner);
    let mut joint = gpu.take(gate_rows * inner);
    let prepare = Prepare {
        pair: call.pair.data.ptr(),
        time: call.time.data.ptr(),
        weight: call.weight.ptr(),
        recurrent: call.recurrent.ptr(),
        x: x.reborrow().ptr(),
        joint: joint.view_mut().ptr(),
        rows: n as u64,
        vertices: call.pair.rows as u64,
        pair_width: call.pair.cols as u32,
        time_width: call.time.cols as u32,
        message: call.message() as u32,
        hidden: h as u32,
        gate_rows: gate_rows as u32,
        merged: merged as u32,
    };
    let grid = grid_for((n + gate_rows) * inner, BLOCK as usize);
    gpu.launch(&PREPARE, grid, BLOCK, 0, &[&ByValue(&prepare)]);
    let distinct = call.features.map_or(0, |(features, _)| features.rows);
    let mut share = gpu.take(distinct * gate_rows);
    if let Some((features, _)) = call.features {
        let weight = call.columns(call.pair.cols, features.cols).t();
        let c = MatMut::new(share.view_mut(), distinct, gate_rows);
        matmul(gpu, features, weight, c, Accumulate::Overwrite);
    }
    let gru = call.kind == MessageCellKind::Gru;
    let sums = if gru { gates.reborrow() } else { out.reborrow() };
    let c = MatMut { stride: wide, ..MatMut::new(sums, n, gate_rows) };
    let joint = MatRef::new(joint.view(), gate_rows, inner).t();
    matmul(gpu, MatRef::new(x.as_view(), n, inner), joint, c, Accumulate::Overwrite);
    if gru {
        let candidate = MatRef::new(call.recurrent.slice(2 * h * h..3 * h * h), h, h).t();
        let last = gates.slice(3 * h..n * wide);
        let c = MatMut { stride: wide, ..MatMut::new(last, n, h) };
        matmul(gpu, call.states(x.as_view()), candidate, c, Accumulate::Overwrite);
    }
    let own = call.features.map(|(_, rows)| gpu.resident(rows));
    let step = Gates {
        gates: gates.ptr(),
        x: x.ptr(),
        share: own.as_ref().map_or(0, |_| share.view().ptr()),
        own: own.as_ref().map_or(0, |own| own.view().ptr()),
        bias: call.biases[0].ptr(),
        own_bias: call.biases[1].ptr(),
        out: out.ptr(),
        rows: n as u64,
        vertices: call.pair.rows as u64,
        inner: inner as u32,
        hidden: h as u32,
    };
    let kernel = if gru { &GRU } else { &RNN };
    gpu.launch(kernel, grid_for(n * h, BLOCK as usize), BLOCK, 0, &[&ByValue(&step)]);
}

/// As in `message_cell.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Spread {
    joint: u64,
    weight: u64,
    recurrent: u64,
    pair_width: u32,
    inner: u32,
    message: u32,
    hidden: u32,
    gate_rows: u32,
    merged: u32,
}

/// Adds the gradients of [`message_cell_forward`].
pub(crate) fn message_cell_backward(
    gpu: &Gpu,
    call: &MessageCall<'_>,
    out: View<'_>,
    saved: View<'_>,
    d_out: View<'_>,
    gradients: MessageGradients<ViewMut<'_>>,
) {
    let (n, h, inner, wide) = (call.rows(), call.hidden, call.inner(), call.wide());
    let [gate_rows, merged] = call.gate_rows();
    let MessageGradients { time, weight, recurrent, biases } = gradients;
    if out.is_empty() {
        if let Some((d_time, Accumulate::Overwrite)) = time {
            gpu.zero(d_time);
        }
        return;
    }
    let (x, gates) = (saved.slice(0..n * inner), saved.slice(n * inner..saved.len()));
    let mut d = gpu.take(n * wide);
    let grid = grid_for(n * h, BLOCK as usize);
    let (rows, to) = (n as u64, d.view_mut());
    match call.kind {
        MessageCellKind::Gru => gpu.launch(
            &GRU_BACK,
            grid,
            BLOCK,
            0,
            &[&gates, &x, &d_out, &to, &rows, &(inner as u32), &(h as u32)],
        ),
        MessageCellKind::Rnn => {
            gpu.launch(&RNN_BACK, grid, BLOCK, 0, &[&out, &d_out, &to, &((n * h) as u64)]);
        }
    }
    let d_gates = MatRef { stride: wide, ..MatRef::new(d.view(), n, gate_rows) };
    let of_vertices = MatRef { rows: call.pair.rows, ..d_gates };
    if let Some((d_time, mode)) = time {
        let width = call.time.cols;
        let columns = call.columns(call.message() - width, width);
        matmul(gpu, of_vertices, columns, MatMut::new(d_time, call.pair.rows, width), mode);
    }
    add_biases(gpu, call, d.view(), biases);
    let (mut weight, mut recurrent) = (weight, recurrent);
    if weight.is_some() || recurrent.is_some() {
        let mut joint = gpu.take(gate_rows * inner);
        let c = MatMut::new(joint.view_mut(), gate_rows, inner);
        matmul(gpu, d_gates.t(), MatRef::new(x, n, inner), c, Accumulate::Overwrite);
        let spread = Spread {
            joint: joint.view().ptr(),
            weight: weight.as_ref().map_or(0, ViewMut::ptr),
            recurrent: recurrent.as_ref().map_or(0, ViewMut::ptr),
            pair_width: call.pair.cols as u32,
            inner: inner as u32,
            message: call.message() as u32,
            hidden: h as u32,
            gate_rows: gate_rows as u32,
            merged: merged as u32,
        };
        let grid = grid_for(gate_rows * inner, BLOCK as usize);
        gpu.launch(&SPREAD, grid, BLOCK, 0, &[&ByValue(&spread)]);
    }
    if let (Some(weight), Some((features, rows))) = (&mut weight, call.features) {
        let mut beside = gpu.take(rows.len() * features.cols);
        let fresh = Accumulate::Overwrite;
        gather_rows(gpu, features.data, features.cols, rows, beside.view_mut(), fresh);
        let beside = MatRef::new(beside.view(), rows.len(), features.cols);
        let len = weight.len();
        let data = weight.slice(call.pair.cols..len);
        let c = MatMut { stride: call.message(), ..MatMut::new(data, gate_rows, features.cols) };
        matmul(gpu, of_vertices.t(), beside, c, Accumulate::Add);
    }
    if let (Some(recurrent), MessageCellKind::Gru) = (&mut recurrent, call.kind) {
        let product = MatRef { stride: wide, ..MatRef::new(d.view().slice(3 * h..n * wide), n, h) };
        let c = MatMut::new(recurrent.slice(2 * h * h..3 * h * h), h, h);
        matmul(gpu, product.t(), call.states(x), c, Accumulate::Add);
    }
}

/// Adds the sums of the gradients `d` over rows to the biases.
fn add_biases(gpu: &Gpu, call: &MessageCall<'_>, d: View<'_>, biases: [Option<ViewMut<'_>>; 2]) {
    if biases.iter().all(Option::is_none) {
        return;
    }
    let (wide, [gate_rows, merged]) = (call.wide(), call.gate_rows());
    let parts = column_sums(gpu, d, call.rows(), wide);
    let sum = |from: usize| {
        let parts = parts.view();
        move |to| BiasSum { parts, stride: wide, from, to }
    };
    let [d_bias, d_own] = biases;
    let (first, last) = d_own.map(|d| d.split_at(merged)).unzip();
    add_sums(gpu, 0, [], [d_bias.map(sum(0)), first.map(sum(0)), last.map(sum(gate_rows))]);
}
