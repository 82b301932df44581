//! Temporal self-attention on the device: the twin of [`cpu::attention`](crate::cpu::attention), one
//! launch forward and one backward.

mod layer;

use bytemuck::{Pod, Zeroable};

use super::dropout::DropoutMask;
use super::kernel::{Arg, ByValue, Kernel};
use super::{Gpu, View, ViewMut};
use crate::cpu::attention::AttentionShape;
use crate::cpu::dropout::Dropout;

pub(crate) use layer::{AttentionLayer, LayerGradients, layer_backward, layer_forward};

static FORWARD: Kernel = Kernel::new("attention", "attention_forward");
static FORWARD_LONG: Kernel = Kernel::new("attention", "attention_forward_long");
static BACKWARD: Kernel = Kernel::new("attention", "attention_backward");
static BACKWARD_LONG: Kernel = Kernel::new("attention", "attention_backward_long");

const BLOCK: u32 = 256;
/// Bytes of a room up to which more vertices share it: several blocks fit on a multiprocessor.
const ROOM: usize = 24 << 10;
/// Bytes of a room that any GPU has.
const MOST_ROOM: usize = 48 << 10;
/// Vertices of a tile at most.
const MOST_VERTICES: usize = 32;
/// Blocks that work in global memory.
const LONG_BLOCKS: usize = 256;

/// What may attend to what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttentionRule<'a> {
    /// 0 for each cell (step, vertex) that is not there.
    pub(crate) mask: Option<View<'a>>,
    pub(crate) causal: bool,
    pub(crate) scale: f32,
    pub(crate) dropout: Option<Dropout>,
    /// The bits of the numbers of vertices that dropout depends on; their places if None.
    pub(crate) numbers: Option<View<'a>>,
}

/// `TemporalCall` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Call {
    inputs: [u64; 3],
    mask: u64,
    numbers: u64,
    dropout: DropoutMask,
    apart: u32,
    steps: u32,
    vertices: u32,
    heads: u32,
    width: u32,
    causal: u32,
    scale: f32,
    tile_vertices: u32,
    tile_heads: u32,
    padding: u32,
}

/// `TemporalGradients` of the kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Gradients {
    places: [u64; 3],
    d_out: u64,
    d_more: u64,
    add: u32,
    padding: u32,
}

/// Vertices and heads that a block takes at a time.
#[derive(Clone, Copy)]
struct Tile {
    vertices: usize,
    heads: usize,
}

/// The matrices that a room holds of a tile: of rows, and of probabilities.
#[derive(Clone, Copy)]
struct Room {
    staged: usize,
    squares: usize,
}

impl Room {
    /// Values of a room; rows have an odd length.
    fn len(self, shape: AttentionShape, tile: Tile) -> usize {
        let AttentionShape { steps, heads, width, .. } = shape;
        let row = (tile.heads * (width / heads)) | 1;
        let square = tile.heads * steps * (steps | 1);
        tile.vertices * (self.staged * steps * row + self.squares * square + steps)
    }

    /// The tile that fits into so much shared memory, if any does.
    fn tile(self, shape: AttentionShape, most_bytes: usize) -> Option<Tile> {
        let fits = |tile: &Tile, bytes| self.len(shape, *tile) * size_of::<f32>() <= bytes;
        let all = Tile { vertices: 1, heads: shape.heads };
        let fewer = |tile: &Tile| match tile.heads {
            1 => None,
            heads => Some(Tile { heads: heads.div_ceil(2), ..*tile }),
        };
        let mut halved = std::iter::successors(Some(all), fewer);
        let mut tile = halved.find(|tile| fits(tile, most_bytes))?;
        let doubled = |tile: Tile| Tile { vertices: 2 * tile.vertices, ..tile };
        while tile.heads == shape.heads
            && tile.vertices < MOST_VERTICES.min(shape.vertices)
            && fits(&doubled(tile), ROOM)
        {
            tile = doubled(tile);
        }
        Some(tile)
    }
}

/// One launch over all tiles, in shared memory if a tile fits.
fn launch(
    gpu: &Gpu,
    kernels: [&'static Kernel; 2],
    shape: AttentionShape,
    room: Room,
    call: Call,
    rest: &dyn Arg,
) {
    if shape.steps * shape.vertices * shape.width == 0 {
        return;
    }
    let fitting = [MOST_ROOM, gpu.shared_limit() as usize]
        .into_iter()
        .find_map(|bytes| room.tile(shape, bytes));
    let tile = fitting.unwrap_or(Tile { vertices: 1, heads: 1 });
    let call = Call { tile_vertices: tile.vertices as u32, tile_heads: tile.heads as u32, ..call };
    let tiles = shape.vertices.div_ceil(tile.vertices) * shape.heads.div_ceil(tile.heads);
    let len = room.len(shape, tile);
    if fitting.is_some() {
        let bytes = (len * size_of::<f32>()) as u32;
        gpu.launch(kernels[0], tiles as u32, BLOCK, bytes, &[&ByValue(&call), rest]);
    } else {
        let blocks = tiles.min(LONG_BLOCKS);
        let mut rooms = gpu.take(blocks * len);
        let args: [&dyn Arg; 4] = [&ByValue(&call), rest, &rooms.view_mut(), &(len as u64)];
        gpu.launch(kernels[1], blocks as u32, BLOCK, 0, &args);
    }
}

/// The call for matrices whose rows lie `apart` values from each other.
fn call(
    gpu: &Gpu,
    shape: AttentionShape,
    rule: AttentionRule<'_>,
    inputs: [u64; 3],
    apart: usize,
) -> Call {
    Call {
        inputs,
        mask: rule.mask.map_or(0, View::ptr),
        numbers: rule.numbers.map_or(0, View::ptr),
        dropout: DropoutMask::optional(gpu, rule.dropout),
        apart: apart as u32,
        steps: shape.steps as u32,
        vertices: shape.vertices as u32,
        heads: shape.heads as u32,
        width: (shape.width / shape.heads) as u32,
        causal: u32::from(rule.causal),
        scale: rule.scale,
        tile_vertices: 0,
        tile_heads: 0,
        padding: 0,
    }
}

fn forward(gpu: &Gpu, shape: AttentionShape, call: Call, out: &ViewMut<'_>) {
    launch(gpu, [&FORWARD, &FORWARD_LONG], shape, Room { staged: 3, squares: 1 }, call, out);
}

fn backward(gpu: &Gpu, shape: AttentionShape, call: Call, gradients: Gradients) {
    let room = Room { staged: 4, squares: 2 };
    launch(gpu, [&BACKWARD, &BACKWARD_LONG], shape, room, call, &ByValue(&gradients));
}

/// Writes the result `out` [T·N, D] for queries, keys and values.
pub(crate) fn attention_forward(
    gpu: &Gpu,
    shape: AttentionShape,
    rule: AttentionRule<'_>,
    inputs: [View<'_>; 3],
    out: ViewMut<'_>,
) {
    debug_assert_eq!(out.len(), shape.steps * shape.vertices * shape.width);
    let call = call(gpu, shape, rule, inputs.map(View::ptr), shape.width);
    forward(gpu, shape, call, &out);
}

/// Adds the gradients of [`attention_forward`] for its queries, keys and values.
pub(crate) fn attention_backward(
    gpu: &Gpu,
    shape: AttentionShape,
    rule: AttentionRule<'_>,
    inputs: [View<'_>; 3],
    d_out: View<'_>,
    gradients: [ViewMut<'_>; 3],
) {
    let call = call(gpu, shape, rule, inputs.map(View::ptr), shape.width);
    let places = gradients.map(|gradient| gradient.ptr());
    let gradients = Gradients { places, d_out: d_out.ptr(), d_more: 0, add: 1, padding: 0 };
    backward(gpu, shape, call, gradients);
}
