//! Vectors that evolve by themselves, on a GPU: all steps in one launch (`evolve.cu`).

use bytemuck::{Pod, Zeroable};

use super::kernel::{ByValue, Kernel};
use super::recurrent::{BiasSum, Left, Right, WeightSum, add_sums};
use super::{Gpu, View, ViewMut};
use crate::cpu::evolve::{EvolveCall, EvolveGradients, EvolveUnit};
use crate::cpu::recurrent::Sequence;

/// By kind: GRU, LSTM.
static FORWARD: [Kernel; 2] =
    [Kernel::new("evolve", "evolve_gru_forward"), Kernel::new("evolve", "evolve_lstm_forward")];
static BACKWARD: [Kernel; 2] =
    [Kernel::new("evolve", "evolve_gru_backward"), Kernel::new("evolve", "evolve_lstm_backward")];

/// Threads of a warp.
const WARP: usize = 32;

/// As in `evolve.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Evolve {
    w: u64,
    u: u64,
    input_bias: u64,
    bias: u64,
    h0: u64,
    c0: u64,
    out: u64,
    out_c: u64,
    saved: u64,
    d_out: u64,
    d_c: u64,
    d_gates: u64,
    d_bias: u64,
    d_h0: u64,
    d_c0: u64,
    vectors: u64,
    steps: u32,
    hidden: u32,
}

impl Evolve {
    fn new(call: &EvolveCall<View<'_>>) -> Self {
        let [input_bias, c0, bias] = match call.unit {
            EvolveUnit::Gru { input_bias, bias } => [input_bias.ptr(), 0, bias.ptr()],
            EvolveUnit::Lstm { c0, bias } => [0, c0.ptr(), bias.ptr()],
        };
        Self {
            w: call.w.ptr(),
            u: call.u.ptr(),
            input_bias,
            bias,
            h0: call.h0.ptr(),
            c0,
            vectors: call.shape.vertices as u64,
            steps: call.shape.steps as u32,
            hidden: call.shape.hidden as u32,
            ..Self::zeroed()
        }
    }
}

/// Bytes of shared memory of a block: the table, and two rows of four lists.
fn shared_bytes(hidden: usize) -> usize {
    size_of::<f32>() * (4 * hidden * (hidden | 1) + 8 * hidden)
}

/// Whether vectors of that width fit: up to 116 on an H200.
pub(crate) fn fits(gpu: &Gpu, hidden: usize) -> bool {
    hidden > 0 && shared_bytes(hidden) <= gpu.shared_limit() as usize
}

fn is_lstm<S>(unit: &EvolveUnit<S>) -> bool {
    matches!(unit, EvolveUnit::Lstm { .. })
}

/// Floats that [`forward`] saves for [`backward`].
pub(crate) fn saved_len<S>(call: &EvolveCall<S>) -> usize {
    let planes = if is_lstm(&call.unit) { 5 } else { 4 };
    call.shape.cells() * call.shape.hidden * planes
}

fn launch(gpu: &Gpu, kernels: &'static [Kernel; 2], call: &EvolveCall<View<'_>>, evolve: &Evolve) {
    let Sequence { vertices, hidden, .. } = call.shape;
    let threads = hidden.next_multiple_of(WARP) as u32;
    let kernel = &kernels[usize::from(is_lstm(&call.unit))];
    let shared = shared_bytes(hidden) as u32;
    gpu.launch(kernel, vertices as u32, threads, shared, &[&ByValue(evolve)]);
}

/// Runs the steps; writes the vectors after each into `out` [T·N, H], for an LSTM the last memory into
/// `out_c` [N, H], and `saved`.
pub(crate) fn forward(
    gpu: &Gpu,
    call: &EvolveCall<View<'_>>,
    out: ViewMut<'_>,
    out_c: ViewMut<'_>,
    saved: ViewMut<'_>,
) {
    debug_assert_eq!(saved.len(), saved_len(call));
    let (out, out_c, saved) = (out.ptr(), out_c.ptr(), saved.ptr());
    launch(gpu, &FORWARD, call, &Evolve { out, out_c, saved, ..Evolve::new(call) });
}

/// Adds the gradients of [`forward`]: `d_out` is [T·N, H], `d_c` [N, H] or, for a GRU, empty; `out` and
/// `saved` as written there.
pub(crate) fn backward(
    gpu: &Gpu,
    call: &EvolveCall<View<'_>>,
    out: View<'_>,
    saved: View<'_>,
    d_out: View<'_>,
    d_c: View<'_>,
    gradients: EvolveGradients<ViewMut<'_>>,
) {
    let EvolveGradients { h0: d_h0, w: d_w, u: d_u, first: d_first, bias: d_bias } = gradients;
    let Sequence { vertices, hidden: h, .. } = call.shape;
    let (cells, lstm) = (call.shape.cells(), is_lstm(&call.unit));
    if cells * h == 0 {
        return;
    }
    let mut d_gates = gpu.take(cells * 4 * h);
    // A GRU's biases are those of all vectors: their sums are joined afterwards.
    let mut sums = gpu.take(if lstm { 0 } else { vertices * 4 * h });
    let address = |d: &Option<ViewMut<'_>>| d.as_ref().map_or(0, ViewMut::ptr);
    let evolve = Evolve {
        out: out.ptr(),
        saved: saved.ptr(),
        d_out: d_out.ptr(),
        d_c: d_c.ptr(),
        d_gates: d_gates.view_mut().ptr(),
        d_bias: if lstm { address(&d_bias) } else { sums.view_mut().ptr() },
        d_h0: address(&d_h0),
        d_c0: if lstm { address(&d_first) } else { 0 },
        ..Evolve::new(call)
    };
    launch(gpu, &BACKWARD, call, &evolve);
    let states = Right::States(call.h0, out, h);
    let sum = |from: usize, cols: usize, to| {
        let left = Left { rows: d_gates.view(), stride: 4 * h, from, cols };
        WeightSum { left, right: states, to }
    };
    if lstm {
        let weights = [d_w, d_u].map(|to| to.map(|to| sum(0, 4 * h, to)));
        let none: [Option<BiasSum<'_>>; 0] = [];
        return add_sums(gpu, cells, weights, none);
    }
    let bias = |from: usize, to| BiasSum { parts: sums.view(), stride: 4 * h, from, to };
    let (u_both, u_candidate) = d_u.map(|d| d.split_at(2 * h * h)).unzip();
    let (bias_both, bias_candidate) = d_bias.map(|d| d.split_at(2 * h)).unzip();
    let weights = [
        d_w.map(|to| sum(0, 3 * h, to)),
        u_both.map(|to| sum(0, 2 * h, to)),
        u_candidate.map(|to| sum(3 * h, h, to)),
    ];
    let biases = [
        d_first.map(|to| bias(0, to)),
        bias_both.map(|to| bias(0, to)),
        bias_candidate.map(|to| bias(3 * h, to)),
    ];
    add_sums(gpu, cells, weights, biases);
}
