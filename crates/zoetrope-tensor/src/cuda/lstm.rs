//! Long short-term memory on a GPU; ways, shapes and floors are in `recurrent` and `lstm.cu`.

mod tiled;

use bytemuck::{Pod, Zeroable};

use self::tiled::Tiled;
use super::kernel::{ByValue, Kernel, grid_for};
use super::matmul::{MatMut, MatRef, matmul};
use super::recurrent::{
    BiasSum, Fused, GateRows, Left, Narrow, NarrowGradient, NarrowInput, Norm, Right, TiledSums,
    WeightSum, add_sums, address, column_sums, of_nothing, parts, send, share, step,
};
use super::{Gpu, Scratch, View, ViewMut, elementwise};
use crate::cpu::lstm::{LstmCall, LstmGradients};
use crate::cpu::matmul::Accumulate;
use crate::cpu::recurrent::{Input, Sequence};

/// By vertices of a thread: one, several.
static FORWARD: [Kernel; 2] =
    [Kernel::new("lstm", "lstm_forward_1"), Kernel::new("lstm", "lstm_forward_4")];
static BACKWARD: [Kernel; 2] =
    [Kernel::new("lstm", "lstm_backward_1"), Kernel::new("lstm", "lstm_backward_4")];
/// By width of the state: up to six, up to eight.
static NARROW_FORWARD: [Kernel; 2] =
    [Kernel::new("lstm", "lstm_narrow_forward_6"), Kernel::new("lstm", "lstm_narrow_forward_8")];
static NARROW_BACKWARD: [Kernel; 2] =
    [Kernel::new("lstm", "lstm_narrow_backward_6"), Kernel::new("lstm", "lstm_narrow_backward_8")];
static GATES: Kernel = Kernel::new("lstm", "lstm_gates");
static GATES_BACK: Kernel = Kernel::new("lstm", "lstm_gates_back");

/// Vertices of a thread if there are many: measured on an H200 with 20 k vertices and 32 states, a
/// frame of two layers took 2.17 ms with four, 2.42 with eight, 2.35 with two.
const SEVERAL: usize = 4;
/// Threads of a block of the kernels of one step.
const BLOCK: u32 = 256;

/// Batch norms that kernels apply to the two matrices of an input's rows, in narrow units.
pub(crate) type Norms<'a> = [Option<Norm<'a>>; 2];

/// Whether a sequence goes the narrow way, from the widths of its input's rows.
pub(crate) fn is_narrow(shape: Sequence, widths: [Option<usize>; 2]) -> bool {
    Narrow::fits(shape, widths)
}

/// Whether [`backward`] takes a gradient of the states that begins at a later step.
pub(crate) fn takes_part(gpu: &Gpu, call: &LstmCall<View<'_>>, widths: [Option<usize>; 2]) -> bool {
    is_narrow(call.shape, widths) || Tiled::new(gpu, call).is_some()
}

/// Whether [`backward`] may write the gradients of the input's first matrix over the states, and those
/// of the second over their gradients.
pub(crate) fn goes_in_place(shape: Sequence, widths: [Option<usize>; 2]) -> bool {
    is_narrow(shape, widths) && widths.into_iter().flatten().all(|width| width == shape.hidden)
}

/// Floats that [`forward`] saves for [`backward`]: gates as rows [T·N, 4H] unless they are computed
/// again, then memories.
pub(crate) fn saved_len(shape: Sequence, widths: [Option<usize>; 2]) -> usize {
    shape.cells() * shape.hidden * if is_narrow(shape, widths) { 1 } else { 5 }
}

/// The gradients of the results.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    /// Of the states from the step `first` on; those before have none.
    d_h: View<'a>,
    first: usize,
    /// Of the last memory.
    d_c: Option<View<'a>>,
}

impl<'a> Flow<'a> {
    /// From those of states and memory one after the other, which begin at the value `from`, not 0 only
    /// if [`takes_part`] says so.
    pub(crate) fn new(shape: Sequence, dy: View<'a>, from: usize) -> Self {
        let state = shape.vertices * shape.hidden;
        let above = (shape.steps * state).saturating_sub(from).min(dy.len());
        let d_c = (dy.len() > above).then(|| dy.slice(above..dy.len()));
        Self { d_h: dy.slice(0..above), first: from / state.max(1), d_c }
    }
}

/// As in `lstm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LstmNarrow {
    input: NarrowInput,
    gradient: NarrowGradient,
    h0: u64,
    c0: u64,
    u: u64,
    bias: u64,
    mask: u64,
    out_h: u64,
    out_c: u64,
    memories: u64,
    d_h: u64,
    d_c: u64,
    d_h0: u64,
    d_c0: u64,
    vertices: u64,
    steps: u32,
    hidden: u32,
    d_from: u32,
    unused: u32,
}

impl LstmNarrow {
    /// What both ways read.
    fn new(call: &LstmCall<View<'_>>, narrow: &Narrow, out_h: u64, memories: u64) -> Self {
        Self {
            input: narrow.input(),
            h0: call.h0.ptr(),
            c0: call.c0.ptr(),
            u: address(call.u),
            bias: address(call.bias),
            mask: address(call.mask),
            out_h,
            memories,
            vertices: call.shape.vertices as u64,
            steps: call.shape.steps as u32,
            hidden: call.shape.hidden as u32,
            ..Self::zeroed()
        }
    }
}

/// As in `lstm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LstmForward {
    share: u64,
    gates: u64,
    memories: u64,
    h0: u64,
    c0: u64,
    u: u64,
    input_bias: u64,
    bias: u64,
    mask: u64,
    out_h: u64,
    out_c: u64,
    vertices: u64,
    steps: u32,
    hidden: u32,
}

/// Runs the sequence; writes the states `out_h` [T·N, H], the last memory `out_c` [N, H] and
/// `saved`.
pub(crate) fn forward(
    gpu: &Gpu,
    call: &LstmCall<View<'_>>,
    norms: Norms<'_>,
    out_h: ViewMut<'_>,
    out_c: ViewMut<'_>,
    saved: ViewMut<'_>,
) {
    let LstmCall { shape, input, h0, c0, u, bias, mask } = *call;
    let h = shape.hidden;
    if out_h.is_empty() {
        return gpu.copy(c0, out_c);
    }
    if let Some(narrow) = Narrow::new(shape, &input, norms, 4) {
        let (blocks, shared_bytes) = narrow.forward();
        let call = LstmNarrow {
            out_c: out_c.ptr(),
            ..LstmNarrow::new(call, &narrow, out_h.ptr(), saved.ptr())
        };
        let kernel = &NARROW_FORWARD[narrow.kernel()];
        return gpu.launch(kernel, blocks, Narrow::THREADS, shared_bytes, &[&ByValue(&call)]);
    }
    let (mut gates, memories) = saved.split_at(shape.cells() * 4 * h);
    if let Some(tiled) = Tiled::new(gpu, call) {
        if tiled.is_without_input() {
            share(gpu, &input, shape, 4, &mut gates, 4 * h);
        }
        return tiled.forward(gpu, out_h, out_c, gates, memories);
    }
    let at = gates.ptr();
    let (share, _) = share(gpu, &input, shape, 4, &mut gates, 4 * h);
    let Some(fused) = Fused::new(gpu, shape, SEVERAL, |stride, _| 2 * h * stride + h * (4 * h + 1))
    else {
        return by_steps(gpu, call, out_h, out_c, gates, memories);
    };
    let call = LstmForward {
        share: share.ptr(),
        gates: at,
        memories: memories.ptr(),
        h0: h0.ptr(),
        c0: c0.ptr(),
        u: address(u),
        input_bias: address(input.bias()),
        bias: address(bias),
        mask: address(mask),
        out_h: out_h.ptr(),
        out_c: out_c.ptr(),
        vertices: shape.vertices as u64,
        steps: shape.steps as u32,
        hidden: h as u32,
    };
    let kernel = &FORWARD[usize::from(fused.several)];
    gpu.launch(kernel, fused.blocks, fused.threads, fused.shared_bytes, &[&ByValue(&call)]);
}

/// As in `lstm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LstmStep {
    share: u64,
    gates: u64,
    state: u64,
    memory: u64,
    input_bias: u64,
    bias: u64,
    mask: u64,
    out_h: u64,
    new_memory: u64,
    vertices: u64,
    hidden: u32,
    summed: u32,
}

/// Runs the sequence step by step; the share of rows is in `gates` already.
fn by_steps(
    gpu: &Gpu,
    call: &LstmCall<View<'_>>,
    out_h: ViewMut<'_>,
    out_c: ViewMut<'_>,
    mut gates: ViewMut<'_>,
    memories: ViewMut<'_>,
) {
    let LstmCall { shape, input, h0, c0, u, bias, mask } = *call;
    let (n, h) = (shape.vertices, shape.hidden);
    let (given, mode) = match input {
        Input::Gates(given) => (Some(given), Accumulate::Overwrite),
        Input::Rows(_) => (None, Accumulate::Add),
    };
    for t in 0..shape.steps {
        let before = |first: View<'_>, rest: View<'_>| {
            if t == 0 { first.ptr() } else { step(rest, t - 1, n, h).ptr() }
        };
        let state = View::new(before(h0, out_h.as_view()), n * h);
        let own = gates.slice(t * n * 4 * h..(t + 1) * n * 4 * h);
        let call = LstmStep {
            share: address(given.map(|given| step(given, t, n, 4 * h))),
            gates: own.ptr(),
            state: state.ptr(),
            memory: before(c0, memories.as_view()),
            input_bias: address(input.bias()),
            bias: address(bias),
            mask: address(mask.map(|mask| step(mask, t, n, 1))),
            out_h: step(out_h.as_view(), t, n, h).ptr(),
            new_memory: step(memories.as_view(), t, n, h).ptr(),
            vertices: n as u64,
            hidden: h as u32,
            summed: u32::from(u.is_some() || given.is_none()),
        };
        if let Some(u) = u {
            let u = MatRef::new(u, 4 * h, h).t();
            matmul(gpu, MatRef::new(state, n, h), u, MatMut::new(own, n, 4 * h), mode);
        }
        let grid = grid_for(n * h, BLOCK as usize);
        gpu.launch(&GATES, grid, BLOCK, 0, &[&ByValue(&call)]);
    }
    gpu.copy(step(memories.as_view(), shape.steps - 1, n, h), out_c);
}

/// As in `lstm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LstmBackward {
    gates: u64,
    memories: u64,
    c0: u64,
    u: u64,
    mask: u64,
    d_h: u64,
    d_c: u64,
    d_gates: u64,
    d_h0: u64,
    d_c0: u64,
    bias_parts: u64,
    vertices: u64,
    steps: u32,
    hidden: u32,
}

/// Adds the gradients of [`forward`] from those of its results; `out_h` and `saved` as written there.
pub(crate) fn backward(
    gpu: &Gpu,
    call: &LstmCall<View<'_>>,
    norms: Norms<'_>,
    out_h: View<'_>,
    saved: View<'_>,
    Flow { d_h, first, d_c }: Flow<'_>,
    gradients: LstmGradients<ViewMut<'_>>,
) {
    let LstmCall { shape, input, h0, .. } = *call;
    let (h, cells) = (shape.hidden, shape.cells());
    let LstmGradients { input: d_input, h0: d_h0, c0: d_c0, u: d_u, bias: d_bias } = gradients;
    if out_h.is_empty() {
        // Without a step the last memory is the first one.
        if let (Some(d_c), Some(d_c0)) = (d_c, d_c0) {
            elementwise::scale_add(gpu, 1.0, d_c, d_c0);
        }
        return of_nothing(gpu, d_input);
    }
    if let Some(narrow) = Narrow::new(shape, &input, norms, 4) {
        let gradients = LstmGradients { input: d_input, h0: d_h0, c0: d_c0, u: d_u, bias: d_bias };
        let skipped = first * shape.vertices * h * size_of::<f32>();
        let both = LstmNarrow {
            // Where the gradients of all states would begin.
            d_h: d_h.ptr().wrapping_sub(skipped as u64),
            d_from: first as u32,
            d_c: address(d_c),
            ..LstmNarrow::new(call, &narrow, out_h.ptr(), saved.ptr())
        };
        return back_narrow(gpu, both, &narrow, gradients);
    }
    let d_gates = GateRows::new(gpu, &input, &d_input, cells * 4 * h);
    let passes = Passes { saved, d_h, first, d_c, d_gates: d_gates.view(), d_h0, d_c0 };
    let left = Left { rows: d_gates.view(), stride: 4 * h, from: 0, cols: 4 * h };
    if let Some(tiled) = Tiled::new(gpu, call) {
        let rows = [d_input.x, d_input.beside];
        if tiled.is_without_input() {
            tiled.backward(gpu, passes, [None, None]);
            send(gpu, &input, shape, 4, d_gates.view(), rows);
        } else {
            tiled.backward(gpu, passes, rows);
        }
        let sums = TiledSums {
            left,
            hidden: h,
            weight: d_input.weight.map(|to| (parts(&input, shape, 4), to)),
            recurrent: d_u.map(|to| ([h0, out_h], to)),
            biases: [d_input.bias, d_bias],
        };
        return sums.add(gpu, cells);
    }
    let wants_bias = d_bias.is_some() || d_input.bias.is_some();
    let sums = go_back(gpu, call, passes, wants_bias);
    send(gpu, &input, shape, 4, d_gates.view(), [d_input.x, d_input.beside]);
    let weights = [
        d_input.weight.map(|to| {
            let right = Right::Input(parts(&input, shape, 4));
            WeightSum { left, right, to }
        }),
        d_u.map(|to| WeightSum { left, right: Right::States(h0, out_h, h), to }),
    ];
    let biases = [d_input.bias, d_bias]
        .map(|d| d.map(|to| BiasSum { parts: sums.view(), stride: 4 * h, from: 0, to }));
    add_sums(gpu, cells, weights, biases);
}

/// All of it in two launches: the recurrence, and the sums of weights and biases.
fn back_narrow(
    gpu: &Gpu,
    call: LstmNarrow,
    narrow: &Narrow,
    gradients: LstmGradients<ViewMut<'_>>,
) {
    let LstmGradients { input, h0, c0, u, bias } = gradients;
    let wanted = [&input.weight, &u, &input.bias, &bias].iter().any(|d| d.is_some());
    let sums = wanted.then(|| narrow.sums(gpu));
    let call = LstmNarrow {
        gradient: narrow.gradient(&input, sums.as_ref()),
        d_h0: h0.map_or(0, |d| d.ptr()),
        d_c0: c0.map_or(0, |d| d.ptr()),
        ..call
    };
    let (blocks, shared_bytes) = narrow.backward();
    let kernel = &NARROW_BACKWARD[narrow.kernel()];
    gpu.launch(kernel, blocks, Narrow::THREADS, shared_bytes, &[&ByValue(&call)]);
    if let Some(sums) = sums {
        narrow.join(gpu, &sums, [input.weight, u, input.bias, bias]);
    }
}

/// What the recurrence reads and writes in the backward pass.
struct Passes<'a> {
    saved: View<'a>,
    /// As in [`Flow`].
    d_h: View<'a>,
    first: usize,
    d_c: Option<View<'a>>,
    /// To write: of the gates before their activation, [T·N, 4H].
    d_gates: View<'a>,
    d_h0: Option<ViewMut<'a>>,
    d_c0: Option<ViewMut<'a>>,
}

/// Backward pass through all steps; returns rows of partial sums of the gates' gradients.
fn go_back(gpu: &Gpu, call: &LstmCall<View<'_>>, passes: Passes<'_>, wants_bias: bool) -> Scratch {
    let LstmCall { shape, c0, u, mask, .. } = *call;
    let (h, cells) = (shape.hidden, shape.cells());
    let Some(fused) = Fused::new(gpu, shape, SEVERAL, |stride, _| 4 * h * h + 4 * h * stride)
    else {
        let d_gates = passes.d_gates;
        back_by_steps(gpu, call, passes);
        return column_sums(gpu, d_gates, if wants_bias { cells } else { 0 }, 4 * h);
    };
    let Passes { saved, d_h, d_c, d_gates, d_h0, d_c0, .. } = passes;
    let mut parts = gpu.take(fused.blocks as usize * 4 * h);
    let call = LstmBackward {
        gates: saved.ptr(),
        memories: saved.slice(cells * 4 * h..saved.len()).ptr(),
        c0: c0.ptr(),
        u: address(u),
        mask: address(mask),
        d_h: d_h.ptr(),
        d_c: address(d_c),
        d_gates: d_gates.ptr(),
        d_h0: d_h0.map_or(0, |d| d.ptr()),
        d_c0: d_c0.map_or(0, |d| d.ptr()),
        bias_parts: parts.view_mut().ptr(),
        vertices: shape.vertices as u64,
        steps: shape.steps as u32,
        hidden: h as u32,
    };
    let kernel = &BACKWARD[usize::from(fused.several)];
    gpu.launch(kernel, fused.blocks, fused.threads, fused.shared_bytes, &[&ByValue(&call)]);
    parts
}

/// As in `lstm.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LstmStepBack {
    gates: u64,
    memory: u64,
    new_memory: u64,
    mask: u64,
    d_h: u64,
    carry: u64,
    d_memory: u64,
    d_gates: u64,
    vertices: u64,
    hidden: u64,
}

/// Step by step, products by the library.
fn back_by_steps(gpu: &Gpu, call: &LstmCall<View<'_>>, passes: Passes<'_>) {
    let LstmCall { shape, c0, u, mask, .. } = *call;
    let Passes { saved, d_h, d_c, d_gates, d_h0, d_c0, .. } = passes;
    let (n, h) = (shape.vertices, shape.hidden);
    let gates = saved.slice(0..shape.cells() * 4 * h);
    let memories = saved.slice(gates.len()..saved.len());
    let (mut carry, mut d_memory) = (gpu.take(n * h), gpu.take(n * h));
    gpu.zero(carry.view_mut());
    match d_c {
        Some(d_c) => gpu.copy(d_c, d_memory.view_mut()),
        None => gpu.zero(d_memory.view_mut()),
    }
    for t in (0..shape.steps).rev() {
        let own = step(d_gates, t, n, 4 * h);
        let call = LstmStepBack {
            gates: step(gates, t, n, 4 * h).ptr(),
            memory: if t == 0 { c0.ptr() } else { step(memories, t - 1, n, h).ptr() },
            new_memory: step(memories, t, n, h).ptr(),
            mask: address(mask.map(|mask| step(mask, t, n, 1))),
            d_h: step(d_h, t, n, h).ptr(),
            carry: carry.view_mut().ptr(),
            d_memory: d_memory.view_mut().ptr(),
            d_gates: own.ptr(),
            vertices: n as u64,
            hidden: h as u64,
        };
        let grid = grid_for(n * h, BLOCK as usize);
        gpu.launch(&GATES_BACK, grid, BLOCK, 0, &[&ByValue(&call)]);
        let Some(u) = u.filter(|_| t > 0 || d_h0.is_some()) else { continue };
        let carry = MatMut::new(carry.view_mut(), n, h);
        let own = MatRef::new(own, n, 4 * h);
        matmul(gpu, own, MatRef::new(u, 4 * h, h), carry, Accumulate::Add);
    }
    for (d, carry) in [(d_h0, carry), (d_c0, d_memory)] {
        if let Some(d) = d {
            elementwise::scale_add(gpu, 1.0, carry.view(), d);
        }
    }
}
