//! Gated recurrent units on a GPU; ways, shapes and floors are in `recurrent` and `gru.cu`.

use bytemuck::{Pod, Zeroable};

use super::kernel::{ByValue, Kernel, grid_for};
use super::matmul::{MatMut, MatRef, matmul};
use super::recurrent::{
    BiasSum, Fused, GateRows, Left, Narrow, NarrowGradient, NarrowInput, Right, WeightSum,
    add_sums, address, column_sums, of_nothing, parts, send, share, step,
};
use super::{Gpu, Scratch, View, ViewMut, elementwise};
use crate::cpu::gru::{GruCall, GruGradients, GruKind};
use crate::cpu::matmul::Accumulate;
use crate::cpu::recurrent::Input;

/// By kind (reset after, before) and by vertices of a thread (one, several).
static FORWARD: [[Kernel; 2]; 2] = [
    [Kernel::new("gru", "gru_forward_after_1"), Kernel::new("gru", "gru_forward_after_8")],
    [Kernel::new("gru", "gru_forward_before_1"), Kernel::new("gru", "gru_forward_before_8")],
];
static BACKWARD: [[Kernel; 2]; 2] = [
    [Kernel::new("gru", "gru_backward_after_1"), Kernel::new("gru", "gru_backward_after_8")],
    [Kernel::new("gru", "gru_backward_before_1"), Kernel::new("gru", "gru_backward_before_8")],
];
/// By kind and by width of the state (up to six, up to eight).
static NARROW_FORWARD: [[Kernel; 2]; 2] = [
    [
        Kernel::new("gru", "gru_narrow_forward_after_6"),
        Kernel::new("gru", "gru_narrow_forward_after_8"),
    ],
    [
        Kernel::new("gru", "gru_narrow_forward_before_6"),
        Kernel::new("gru", "gru_narrow_forward_before_8"),
    ],
];
static NARROW_BACKWARD: [[Kernel; 2]; 2] = [
    [
        Kernel::new("gru", "gru_narrow_backward_after_6"),
        Kernel::new("gru", "gru_narrow_backward_after_8"),
    ],
    [
        Kernel::new("gru", "gru_narrow_backward_before_6"),
        Kernel::new("gru", "gru_narrow_backward_before_8"),
    ],
];
static AFTER_GATES: Kernel = Kernel::new("gru", "gru_after_gates");
static BEFORE_RESET: Kernel = Kernel::new("gru", "gru_before_reset");
static BEFORE_GATES: Kernel = Kernel::new("gru", "gru_before_gates");
static AFTER_BACK: Kernel = Kernel::new("gru", "gru_after_back");
static BEFORE_BACK: Kernel = Kernel::new("gru", "gru_before_back");
static BEFORE_RESET_BACK: Kernel = Kernel::new("gru", "gru_before_reset_back");

/// Vertices of a thread if there are many: measured on an H200 with 20 k vertices and 32 states, a
/// frame took 0.61 ms with eight, 0.67 with four, 0.76 with two.
const SEVERAL: usize = 8;
/// Threads of a block of the kernels of one step.
const BLOCK: u32 = 256;

/// Planes that are saved as rows [T·N, planes·H]: r, z, n and, reset after, h·U_nᵀ + b_n.
fn planes(kind: GruKind) -> usize {
    match kind {
        GruKind::ResetAfter => 4,
        GruKind::ResetBefore => 3,
    }
}

/// Floats that [`forward`] saves for [`backward`]: none if the gates are computed again.
pub(crate) fn saved_len(call: &GruCall<View<'_>>) -> usize {
    let GruCall { kind, shape, ref input, .. } = *call;
    match Narrow::new(shape, input, [None, None], 3) {
        Some(_) => 0,
        None => shape.cells() * shape.hidden * planes(kind),
    }
}

/// As in `gru.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GruNarrow {
    input: NarrowInput,
    gradient: NarrowGradient,
    h0: u64,
    u: u64,
    bias: u64,
    mask: u64,
    out: u64,
    d_out: u64,
    d_h0: u64,
    vertices: u64,
    steps: u32,
    hidden: u32,
}

impl GruNarrow {
    /// A way forward.
    fn new(call: &GruCall<View<'_>>, narrow: &Narrow, out: u64) -> Self {
        Self {
            input: narrow.input(),
            h0: call.h0.ptr(),
            u: call.u.ptr(),
            bias: address(call.bias),
            mask: address(call.mask),
            out,
            vertices: call.shape.vertices as u64,
            steps: call.shape.steps as u32,
            hidden: call.shape.hidden as u32,
            ..Self::zeroed()
        }
    }
}

/// As in `gru.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GruForward {
    share: u64,
    saved: u64,
    h0: u64,
    u: u64,
    input_bias: u64,
    bias: u64,
    mask: u64,
    out: u64,
    share_stride: u64,
    vertices: u64,
    steps: u32,
    hidden: u32,
}

/// Runs the sequence; writes the states `out` [T·N, H] and `saved`.
pub(crate) fn forward(
    gpu: &Gpu,
    call: &GruCall<View<'_>>,
    mut out: ViewMut<'_>,
    mut saved: ViewMut<'_>,
) {
    let GruCall { kind, shape, input, h0, u, bias, mask } = *call;
    let h = shape.hidden;
    debug_assert_eq!(saved.len(), saved_len(call));
    if out.is_empty() {
        return;
    }
    if let Some(narrow) = Narrow::new(shape, &input, [None, None], 3) {
        let (blocks, shared_bytes) = narrow.forward();
        let call = GruNarrow::new(call, &narrow, out.ptr());
        let kernel = &NARROW_FORWARD[kind as usize][narrow.kernel()];
        return gpu.launch(kernel, blocks, Narrow::THREADS, shared_bytes, &[&ByValue(&call)]);
    }
    let buffers = match kind {
        GruKind::ResetAfter => 2,
        GruKind::ResetBefore => 3,
    };
    let fused = Fused::new(gpu, shape, SEVERAL, |stride, _| buffers * h * stride + h * (3 * h + 1));
    let Some(fused) = fused else { return by_steps(gpu, call, out, saved) };
    let saved_at = saved.ptr();
    let (share, stride) = share(gpu, &input, shape, 3, &mut saved, planes(kind) * h);
    let kernel = &FORWARD[kind as usize][usize::from(fused.several)];
    let call = GruForward {
        share: share.ptr(),
        saved: saved_at,
        h0: h0.ptr(),
        u: u.ptr(),
        input_bias: address(input.bias()),
        bias: address(bias),
        mask: address(mask),
        out: out.reborrow().ptr(),
        share_stride: stride as u64,
        vertices: shape.vertices as u64,
        steps: shape.steps as u32,
        hidden: h as u32,
    };
    gpu.launch(kernel, fused.blocks, fused.threads, fused.shared_bytes, &[&ByValue(&call)]);
}

/// As in `gru.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GruStep {
    share: u64,
    saved: u64,
    state: u64,
    input_bias: u64,
    bias: u64,
    mask: u64,
    out: u64,
    reset: u64,
    vertices: u64,
    hidden: u32,
    unused: u32,
}

/// The weight of r and z, [2H, H], and that of n, [H, H].
fn weights(u: View<'_>, h: usize) -> [MatRef<'_>; 2] {
    let both = MatRef::new(u.slice(0..2 * h * h), 2 * h, h);
    [both, MatRef::new(u.slice(2 * h * h..3 * h * h), h, h)]
}

/// Runs the sequence step by step.
fn by_steps(gpu: &Gpu, call: &GruCall<View<'_>>, out: ViewMut<'_>, mut saved: ViewMut<'_>) {
    let GruCall { kind, shape, input, h0, u, bias, mask } = *call;
    let (n, h, wide) = (shape.vertices, shape.hidden, planes(kind) * shape.hidden);
    share(gpu, &input, shape, 3, &mut saved, wide);
    // The share joins the sums in the products, or was given with the gates.
    let (given, mode) = match input {
        Input::Gates(given) => (Some(given), Accumulate::Overwrite),
        Input::Rows(_) => (None, Accumulate::Add),
    };
    let reset = gpu.take(if kind == GruKind::ResetBefore { n * h } else { 0 });
    let [u_both, u_candidate] = weights(u, h);
    let grid = grid_for(n * h, BLOCK as usize);
    for t in 0..shape.steps {
        let before = if t == 0 { h0 } else { step(out.as_view(), t - 1, n, h) };
        let state = MatRef::new(before, n, h);
        let mut own = saved.slice(t * n * wide..(t + 1) * n * wide);
        let call = GruStep {
            share: address(given.map(|given| step(given, t, n, 3 * h))),
            saved: own.ptr(),
            state: before.ptr(),
            input_bias: address(input.bias()),
            bias: address(bias),
            mask: address(mask.map(|mask| step(mask, t, n, 1))),
            out: step(out.as_view(), t, n, h).ptr(),
            reset: reset.view().ptr(),
            vertices: n as u64,
            hidden: h as u32,
            unused: 0,
        };
        let both = MatMut { stride: wide, ..MatMut::new(own.reborrow(), n, 2 * h) };
        matmul(gpu, state, u_both.t(), both, mode);
        let last = own.slice((wide - h)..n * wide);
        let candidate = MatMut { stride: wide, ..MatMut::new(last, n, h) };
        match kind {
            GruKind::ResetAfter => {
                matmul(gpu, state, u_candidate.t(), candidate, Accumulate::Overwrite);
                gpu.launch(&AFTER_GATES, grid, BLOCK, 0, &[&ByValue(&call)]);
            }
            GruKind::ResetBefore => {
                gpu.launch(&BEFORE_RESET, grid, BLOCK, 0, &[&ByValue(&call)]);
                let reset = MatRef::new(reset.view(), n, h);
                matmul(gpu, reset, u_candidate.t(), candidate, mode);
                gpu.launch(&BEFORE_GATES, grid, BLOCK, 0, &[&ByValue(&call)]);
            }
        }
    }
}

/// As in `gru.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GruBackward {
    saved: u64,
    h0: u64,
    u: u64,
    mask: u64,
    out: u64,
    d_out: u64,
    gates: u64,
    extra: u64,
    d_h0: u64,
    bias_parts: u64,
    vertices: u64,
    steps: u32,
    hidden: u32,
}

/// Adds the gradients of [`forward`]: `d_out` is [T·N, H], `out` and `saved` as written there.
pub(crate) fn backward(
    gpu: &Gpu,
    call: &GruCall<View<'_>>,
    out: View<'_>,
    saved: View<'_>,
    d_out: View<'_>,
    gradients: GruGradients<ViewMut<'_>>,
) {
    let GruCall { kind, shape, input, h0, .. } = *call;
    let (h, cells) = (shape.hidden, shape.cells());
    let GruGradients { input: d_input, h0: d_h0, u: d_u, bias: d_bias } = gradients;
    if out.is_empty() {
        return of_nothing(gpu, d_input);
    }
    if let Some(narrow) = Narrow::new(shape, &input, [None, None], 3) {
        let gradients = GruGradients { input: d_input, h0: d_h0, u: d_u, bias: d_bias };
        return back_narrow(gpu, call, &narrow, out, d_out, gradients);
    }
    let d_gates = GateRows::new(gpu, &input, &d_input, cells * 3 * h);
    let mut extra = gpu.take(cells * h);
    let passes = Passes { out, saved, d_out, gates: d_gates.view(), extra: extra.view_mut() };
    let wants_bias = d_bias.is_some() || d_input.bias.is_some();
    let sums = Sums::of(gpu, call, passes, d_h0, wants_bias);
    send(gpu, &input, shape, 3, d_gates.view(), [d_input.x, d_input.beside]);
    let left = |from: usize, cols: usize| Left { rows: d_gates.view(), stride: 3 * h, from, cols };
    let states = Right::States(h0, out, h);
    let (to_both, to_candidate) = halves(d_u, 2 * h * h);
    let candidate = match kind {
        GruKind::ResetAfter => (Left { rows: extra.view(), stride: h, from: 0, cols: h }, states),
        GruKind::ResetBefore => (left(2 * h, h), Right::Rows(extra.view(), h)),
    };
    let (bias_both, bias_candidate) = halves(d_bias, 2 * h);
    let weights = [
        d_input.weight.map(|to| {
            let right = Right::Input(parts(&input, shape, 3));
            WeightSum { left: left(0, 3 * h), right, to }
        }),
        to_both.map(|to| WeightSum { left: left(0, 2 * h), right: states, to }),
        to_candidate.map(|to| WeightSum { left: candidate.0, right: candidate.1, to }),
    ];
    let biases = [
        d_input.bias.map(|to| sums.bias(false, to)),
        bias_both.map(|to| sums.bias(false, to)),
        bias_candidate.map(|to| sums.bias(true, to)),
    ];
    add_sums(gpu, cells, weights, biases);
}

/// All of it in two launches: the recurrence, and the sums of weights and biases.
fn back_narrow(
    gpu: &Gpu,
    call: &GruCall<View<'_>>,
    narrow: &Narrow,
    out: View<'_>,
    d_out: View<'_>,
    gradients: GruGradients<ViewMut<'_>>,
) {
    let GruGradients { input, h0, u, bias } = gradients;
    let wanted = [&input.weight, &u, &input.bias, &bias].iter().any(|d| d.is_some());
    let sums = wanted.then(|| narrow.sums(gpu));
    let kernel = &NARROW_BACKWARD[call.kind as usize][narrow.kernel()];
    let call = GruNarrow {
        gradient: narrow.gradient(&input, sums.as_ref()),
        d_out: d_out.ptr(),
        d_h0: h0.map_or(0, |d| d.ptr()),
        ..GruNarrow::new(call, narrow, out.ptr())
    };
    let (blocks, shared_bytes) = narrow.backward();
    gpu.launch(kernel, blocks, Narrow::THREADS, shared_bytes, &[&ByValue(&call)]);
    if let Some(sums) = sums {
        narrow.join(gpu, &sums, [input.weight, u, input.bias, bias]);
    }
}

/// A gradient in two.
fn halves(d: Option<ViewMut<'_>>, at: usize) -> (Option<ViewMut<'_>>, Option<ViewMut<'_>>) {
    d.map(|d| d.split_at(at)).unzip()
}

/// What the recurrence reads and writes in the backward pass.
struct Passes<'a> {
    out: View<'a>,
    saved: View<'a>,
    d_out: View<'a>,
    /// To write: of r, z, n before their activation, [T·N, 3H].
    gates: View<'a>,
    /// Reset after: of the product, before: r∘h; [T·N, H].
    extra: ViewMut<'a>,
}

/// Rows of partial sums for the biases.
struct Sums {
    /// Of the gates r, z, n, and their width.
    gates: (Scratch, usize),
    /// Where the recurrent bias of n is summed: in rows of its own, or in those of the gates.
    apart: Option<Scratch>,
    at: usize,
    hidden: usize,
}

impl Sums {
    /// Backward pass through all steps.
    fn of(
        gpu: &Gpu,
        call: &GruCall<View<'_>>,
        passes: Passes<'_>,
        d_h0: Option<ViewMut<'_>>,
        wanted: bool,
    ) -> Self {
        let (kind, shape, hidden) = (call.kind, call.shape, call.shape.hidden);
        let product = kind == GruKind::ResetAfter;
        let floats = |stride: usize, threads: usize| {
            (3 * hidden * hidden).next_multiple_of(4) + (3 * hidden * stride).max(threads)
        };
        if let Some(fused) = Fused::new(gpu, shape, SEVERAL, floats) {
            let parts = back_fused(gpu, call, passes, d_h0, fused);
            let at = if product { 3 * hidden } else { 2 * hidden };
            return Self { gates: (parts, 4 * hidden), apart: None, at, hidden };
        }
        let (gates, mut extra) = (passes.gates, passes.extra);
        let passes = Passes { extra: extra.reborrow(), ..passes };
        back_by_steps(gpu, call, passes, d_h0);
        let rows = if wanted { shape.cells() } else { 0 };
        let sums = column_sums(gpu, gates, rows, 3 * hidden);
        let apart = product.then(|| column_sums(gpu, extra.as_view(), rows, hidden));
        let at = if product { 0 } else { 2 * hidden };
        Self { gates: (sums, 3 * hidden), apart, at, hidden }
    }

    /// The sum of the recurrent bias of n, or of what comes first.
    fn bias<'a>(&'a self, of_candidate: bool, to: ViewMut<'a>) -> BiasSum<'a> {
        let (gates, stride) = &self.gates;
        match (&self.apart, of_candidate) {
            (Some(apart), true) => {
                BiasSum { parts: apart.view(), stride: self.hidden, from: self.at, to }
            }
            (_, of_candidate) => {
                let from = if of_candidate { self.at } else { 0 };
                BiasSum { parts: gates.view(), stride: *stride, from, to }
            }
        }
    }
}

/// All steps in one launch; returns the sums of r, z, n and the product.
fn back_fused(
    gpu: &Gpu,
    call: &GruCall<View<'_>>,
    passes: Passes<'_>,
    d_h0: Option<ViewMut<'_>>,
    fused: Fused,
) -> Scratch {
    let GruCall { kind, shape, h0, u, mask, .. } = *call;
    let mut parts = gpu.take(fused.blocks as usize * 4 * shape.hidden);
    let call = GruBackward {
        saved: passes.saved.ptr(),
        h0: h0.ptr(),
        u: u.ptr(),
        mask: address(mask),
        out: passes.out.ptr(),
        d_out: passes.d_out.ptr(),
        gates: passes.gates.ptr(),
        extra: passes.extra.ptr(),
        d_h0: d_h0.map_or(0, |d| d.ptr()),
        bias_parts: parts.view_mut().ptr(),
        vertices: shape.vertices as u64,
        steps: shape.steps as u32,
        hidden: shape.hidden as u32,
    };
    let kernel = &BACKWARD[kind as usize][usize::from(fused.several)];
    gpu.launch(kernel, fused.blocks, fused.threads, fused.shared_bytes, &[&ByValue(&call)]);
    parts
}

/// As in `gru.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct GruStepBack {
    saved: u64,
    state: u64,
    mask: u64,
    d_out: u64,
    d_reset: u64,
    carry: u64,
    gates: u64,
    extra: u64,
    vertices: u64,
    hidden: u32,
    unused: u32,
}

/// Step by step, products by the library.
fn back_by_steps(
    gpu: &Gpu,
    call: &GruCall<View<'_>>,
    passes: Passes<'_>,
    d_h0: Option<ViewMut<'_>>,
) {
    let GruCall { kind, shape, h0, u, mask, .. } = *call;
    let Passes { out, saved, d_out, gates, extra } = passes;
    let (n, h, wide) = (shape.vertices, shape.hidden, planes(kind) * shape.hidden);
    let [u_both, u_candidate] = weights(u, h);
    let mut carry = gpu.take(n * h);
    gpu.zero(carry.view_mut());
    let mut d_reset = gpu.take(if kind == GruKind::ResetBefore { n * h } else { 0 });
    let grid = grid_for(n * h, BLOCK as usize);
    for t in (0..shape.steps).rev() {
        let own = step(gates, t, n, 3 * h);
        let call = GruStepBack {
            saved: step(saved, t, n, wide).ptr(),
            state: if t == 0 { h0.ptr() } else { step(out, t - 1, n, h).ptr() },
            mask: address(mask.map(|mask| step(mask, t, n, 1))),
            d_out: step(d_out, t, n, h).ptr(),
            d_reset: d_reset.view().ptr(),
            carry: carry.view().ptr(),
            gates: own.ptr(),
            extra: step(extra.as_view(), t, n, h).ptr(),
            vertices: n as u64,
            hidden: h as u32,
            unused: 0,
        };
        let columns = |from: usize, cols: usize| MatRef {
            stride: 3 * h,
            ..MatRef::new(own.slice(from..own.len()), n, cols)
        };
        let goes_on = t > 0 || d_h0.is_some();
        match kind {
            GruKind::ResetAfter => {
                gpu.launch(&AFTER_BACK, grid, BLOCK, 0, &[&ByValue(&call)]);
                if goes_on {
                    let product = MatRef::new(step(extra.as_view(), t, n, h), n, h);
                    let carry = MatMut::new(carry.view_mut(), n, h);
                    matmul(gpu, product, u_candidate, carry, Accumulate::Add);
                }
            }
            GruKind::ResetBefore => {
                gpu.launch(&BEFORE_BACK, grid, BLOCK, 0, &[&ByValue(&call)]);
                let d_reset = MatMut::new(d_reset.view_mut(), n, h);
                matmul(gpu, columns(2 * h, h), u_candidate, d_reset, Accumulate::Overwrite);
                gpu.launch(&BEFORE_RESET_BACK, grid, BLOCK, 0, &[&ByValue(&call)]);
            }
        }
        if goes_on {
            let carry = MatMut::new(carry.view_mut(), n, h);
            matmul(gpu, columns(0, 2 * h), u_both, carry, Accumulate::Add);
        }
    }
    if let Some(d_h0) = d_h0 {
        elementwise::scale_add(gpu, 1.0, carry.view(), d_h0);
    }
}
