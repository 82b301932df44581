//! A whole layer of attention over time on the device: the twin of `cpu/attention/layer.rs`.
//!
//! ```text
//! x' = x + p_t    q, k, v = x'·W    o = attention(q, k, v)    y = relu(o·Wᵀ + b) + o + x'
//! ```
//!
//! Nothing is saved but x: the backward pass makes x', the projections and the attention again, as the
//! CPU does.

use super::super::kernel::{Arg, Kernel, grid_for};
use super::super::matmul::{Layer, Members};
use super::super::{Gpu, Scratch, Sink, View, ViewMut};
use super::{AttentionRule, BLOCK, Call, Gradients, backward, call, forward};
use crate::cpu::activation::Activation;
use crate::cpu::attention::AttentionShape;
use crate::cpu::matmul::Accumulate;

static ENTER: Kernel = Kernel::new("attention/layer", "attention_layer_enter");
static LEAVE: Kernel = Kernel::new("attention/layer", "attention_layer_leave");
static SUMS: Kernel = Kernel::new("attention/layer", "attention_layer_sums");
static JOIN: Kernel = Kernel::new("attention/layer", "attention_layer_join");

/// Values that a thread takes.
const EACH: usize = 4;
/// Blocks that share the vertices of a step, at most, and vertices below which they are not cut.
const SHARES: usize = 64;
const SHARE: usize = 64;

/// The parameters of a layer that attends over time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttentionLayer<'a> {
    pub(crate) positions: View<'a>,
    pub(crate) projections: [View<'a>; 3],
    /// `out × in`.
    pub(crate) weight: View<'a>,
    pub(crate) bias: View<'a>,
}

/// Where the gradients of a layer are added; None if one is not wanted.
#[derive(Debug)]
pub(crate) struct LayerGradients<'a> {
    /// Of the input, with whether to replace what is there.
    pub(crate) x: Sink<'a>,
    pub(crate) positions: Option<ViewMut<'a>>,
    pub(crate) projections: [Option<ViewMut<'a>>; 3],
    pub(crate) weight: Option<ViewMut<'a>>,
    pub(crate) bias: Option<ViewMut<'a>>,
}

/// The intermediate results of a layer.
struct Passing {
    entered: Scratch,
    /// The projections side by side, [D, 3D].
    packed: Scratch,
    qkv: Scratch,
    out: Scratch,
}

impl Passing {
    fn new(
        gpu: &Gpu,
        shape: AttentionShape,
        rule: AttentionRule<'_>,
        layer: AttentionLayer<'_>,
        x: View<'_>,
    ) -> Self {
        let (rows, width) = (shape.steps * shape.vertices, shape.width);
        let (mut entered, mut packed) = (gpu.take(rows * width), gpu.take(3 * width * width));
        let (mut qkv, mut out) = (gpu.take(3 * rows * width), gpu.take(rows * width));
        let step = shape.vertices * width;
        let grid = (grid_for(step, EACH * BLOCK as usize), shape.steps as u32 + 1);
        let [query, key, value] = layer.projections;
        gpu.launch(
            &ENTER,
            grid,
            BLOCK,
            0,
            &[
                &x,
                &layer.positions,
                &query,
                &key,
                &value,
                &(step as u64),
                &(width as u32),
                &(shape.steps as u32),
                &entered.view_mut(),
                &packed.view_mut(),
            ],
        );
        let operands = [entered.view(), packed.view()];
        projecting(shape).forward(gpu, operands, None, None, qkv.view_mut());
        let passing = attending(gpu, shape, rule, &qkv);
        forward(gpu, shape, passing, &out.view_mut());
        Self { entered, packed, qkv, out }
    }

    /// relu(o·Wᵀ + b).
    fn feed(&self, gpu: &Gpu, shape: AttentionShape, layer: AttentionLayer<'_>, y: ViewMut<'_>) {
        let operands = [self.out.view(), layer.weight];
        feeding(shape).forward(gpu, operands, Some(layer.bias), None, y);
    }
}

/// The product that makes queries, keys and values.
fn projecting(shape: AttentionShape) -> Layer {
    Layer {
        rows: shape.steps * shape.vertices,
        ins: shape.width,
        outs: 3 * shape.width,
        transposed: false,
        activation: Activation::Identity,
        members: Members::One,
    }
}

/// The linear layer after the attention.
fn feeding(shape: AttentionShape) -> Layer {
    let (outs, activation) = (shape.width, Activation::Relu);
    Layer { outs, transposed: true, activation, ..projecting(shape) }
}

/// The attention of queries, keys and values that lie side by side.
fn attending(gpu: &Gpu, shape: AttentionShape, rule: AttentionRule<'_>, qkv: &Scratch) -> Call {
    call(gpu, shape, rule, side_by_side(shape, qkv), 3 * shape.width)
}

/// Where queries, keys and values begin.
fn side_by_side(shape: AttentionShape, qkv: &Scratch) -> [u64; 3] {
    [0, 1, 2].map(|at| qkv.view().ptr() + (at * shape.width * size_of::<f32>()) as u64)
}

/// y = relu(o·Wᵀ + b) + o + x' with o the attention of x' = x + positions, all [T·N, D].
pub(crate) fn layer_forward(
    gpu: &Gpu,
    shape: AttentionShape,
    rule: AttentionRule<'_>,
    layer: AttentionLayer<'_>,
    x: View<'_>,
    mut y: ViewMut<'_>,
) {
    if y.is_empty() {
        return;
    }
    let passing = Passing::new(gpu, shape, rule, layer, x);
    passing.feed(gpu, shape, layer, y.reborrow());
    let args: [&dyn Arg; 4] = [&passing.entered.view(), &passing.out.view(), &(y.len() as u64), &y];
    gpu.launch(&LEAVE, grid_for(y.len(), EACH * BLOCK as usize), BLOCK, 0, &args);
}

/// Adds the gradients of [`layer_forward`].
pub(crate) fn layer_backward(
    gpu: &Gpu,
    shape: AttentionShape,
    rule: AttentionRule<'_>,
    layer: AttentionLayer<'_>,
    x: View<'_>,
    dy: View<'_>,
    gradients: LayerGradients<'_>,
) {
    if dy.is_empty() {
        return;
    }
    let (rows, width) = (shape.steps * shape.vertices, shape.width);
    let passing = Passing::new(gpu, shape, rule, layer, x);
    // What the relu let through, then the gradient of what the attention gave to it.
    let mut fed = gpu.take(rows * width);
    passing.feed(gpu, shape, layer, fed.view_mut());
    let mut d_out = gpu.take(rows * width);
    feeding(shape).backward(
        gpu,
        [passing.out.view(), layer.weight],
        [fed.view(), dy],
        Some((d_out.view_mut(), Accumulate::Overwrite)),
        gradients.weight.map(|weight| (weight, Accumulate::Add)),
        gradients.bias,
    );
    let d_qkv = gpu.take(3 * rows * width);
    let slopes = Gradients {
        places: side_by_side(shape, &d_qkv),
        d_out: d_out.view().ptr(),
        d_more: dy.ptr(),
        add: 0,
        padding: 0,
    };
    backward(gpu, shape, attending(gpu, shape, rule, &passing.qkv), slopes);
    // The attention's gradient is spent: its block takes that of x'.
    let mut d_packed = gpu.take(3 * width * width);
    projecting(shape).backward(
        gpu,
        [passing.entered.view(), passing.packed.view()],
        [d_qkv.view(); 2],
        Some((d_out.view_mut(), Accumulate::Overwrite)),
        Some((d_packed.view_mut(), Accumulate::Overwrite)),
        None,
    );
    let each = shape.vertices.div_ceil(SHARES).max(SHARE);
    let blocks = shape.vertices.div_ceil(each);
    let mut parts = gpu.take(shape.steps * blocks * width);
    let args: [&dyn Arg; 8] = [
        &d_out.view(),
        &dy,
        &(shape.vertices as u32),
        &(width as u32),
        &(each as u32),
        &gradients.x.place,
        &gradients.x.mode,
        &parts.view_mut(),
    ];
    let room = BLOCK * size_of::<f32>() as u32;
    gpu.launch(&SUMS, (blocks as u32, shape.steps as u32), BLOCK, room, &args);
    let sum_blocks = grid_for(shape.steps * width, BLOCK as usize / 32);
    let [query, key, value] = gradients.projections;
    let args: [&dyn Arg; 10] = [
        &parts.view(),
        &(blocks as u32),
        &d_packed.view(),
        &(shape.steps as u32),
        &(width as u32),
        &sum_blocks,
        &gradients.positions,
        &query,
        &key,
        &value,
    ];
    let grid = sum_blocks + grid_for(3 * width * width, BLOCK as usize);
    gpu.launch(&JOIN, grid, BLOCK, 0, &args);
}
