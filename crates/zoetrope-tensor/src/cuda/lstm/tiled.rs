//! Long short-term memory by tensor cores (`lstm/tiled.cu`).

use bytemuck::{Pod, Zeroable};

use super::Passes;
use crate::cpu::lstm::LstmCall;
use crate::cpu::matmul::Accumulate;
use crate::cuda::kernel::{ByValue, Kernel};
use crate::cuda::recurrent::{address, parts};
use crate::cuda::{Gpu, View, ViewMut};

/// The compute capability from which on tensor cores know TF32.
const LEAST_COMPUTE: u32 = 80;
/// Width of the state, vertices of a tile, features of a piece of the input, pieces.
const STATES: usize = 32;
const TILE: usize = 16;
const PIECE: usize = 16;
const PIECES: usize = 4;
/// Warps of a tile, and most tiles of a block: what the registers of a multiprocessor hold.
const WARPS: usize = 4;
const TILES: usize = 5;

/// By pieces of the input: up to two, up to four.
static FORWARD: [Kernel; 2] = [
    Kernel::new("lstm/tiled", "lstm_tiled_forward_2"),
    Kernel::new("lstm/tiled", "lstm_tiled_forward_4"),
];
static BACKWARD: [Kernel; 2] = [
    Kernel::new("lstm/tiled", "lstm_tiled_backward_2"),
    Kernel::new("lstm/tiled", "lstm_tiled_backward_4"),
];

/// As in `lstm/tiled.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LstmTiled {
    x: u64,
    beside: u64,
    weight: u64,
    input_bias: u64,
    u: u64,
    bias: u64,
    h0: u64,
    c0: u64,
    mask: u64,
    out_h: u64,
    out_c: u64,
    gates: u64,
    memories: u64,
    d_h: u64,
    d_c: u64,
    d_gates: u64,
    d_x: u64,
    d_beside: u64,
    d_h0: u64,
    d_c0: u64,
    vertices: u64,
    steps: u32,
    wide_a: u32,
    wide_b: u32,
    add_x: u32,
    add_beside: u32,
    unused: u32,
}

/// How a sequence is laid over the card in tiles.
pub(super) struct Tiled {
    call: LstmTiled,
    /// Tiles of a block.
    tiles: usize,
    blocks: usize,
    /// Which number of pieces: up to two, up to four.
    pieces: usize,
}

impl Tiled {
    /// The layout, where the sequence is of this kind.
    pub(super) fn new(gpu: &Gpu, call: &LstmCall<View<'_>>) -> Option<Self> {
        let LstmCall { shape, input, h0, c0, u, bias, mask } = *call;
        let [x, beside] = parts(&input, shape, 4);
        let (x, u) = (x?, u?);
        let widths = [x.width, beside.map_or(0, |part| part.width)];
        let pieces: usize = widths.iter().map(|width| width.div_ceil(PIECE)).sum();
        let fits = shape.hidden == STATES && pieces <= PIECES && widths[0] > 0 && shape.cells() > 0;
        // Kernels read four features, and two states, at a time.
        let whole = widths.iter().all(|width| width.is_multiple_of(4))
            && [x.rows.ptr(), address(beside.map(|part| part.rows)), h0.ptr(), c0.ptr()]
                .iter()
                .all(|address| address.is_multiple_of(16));
        if gpu.compute() < LEAST_COMPUTE || !fits || !whole {
            return None;
        }
        let all = shape.vertices.div_ceil(TILE);
        let cores = gpu.multiprocessors() as usize;
        let per_block = std::env::var("ZT_TILES").ok().and_then(|v| v.parse().ok()).unwrap_or(all.div_ceil(cores).clamp(1, TILES));
        let this = Self {
            call: LstmTiled {
                x: x.rows.ptr(),
                beside: address(beside.map(|part| part.rows)),
                weight: x.weights().ptr(),
                input_bias: address(input.bias()),
                u: u.ptr(),
                bias: address(bias),
                h0: h0.ptr(),
                c0: c0.ptr(),
                mask: address(mask),
                vertices: shape.vertices as u64,
                steps: shape.steps as u32,
                wide_a: widths[0] as u32,
                wide_b: widths[1] as u32,
                ..LstmTiled::zeroed()
            },
            tiles: per_block,
            blocks: all.div_ceil(per_block),
            pieces: usize::from(pieces > 2),
        };
        (this.shared_bytes(4 * STATES + 8) <= gpu.shared_limit()).then_some(this)
    }

    /// Weights, biases, and rows of `row` floats that warps of a tile exchange.
    fn shared_bytes(&self, row: usize) -> u32 {
        let across = 4 * (self.pieces + 1) * 8 + STATES;
        let exchanged = self.tiles * 2 * TILE * row;
        (size_of::<f32>() * (across * 4 * STATES + 4 * STATES + exchanged)) as u32
    }

    fn launch(&self, gpu: &Gpu, kernels: &'static [Kernel; 2], row: usize, call: LstmTiled) {
        let threads = self.tiles * WARPS * 32;
        let kernel = &kernels[self.pieces];
        let shared_bytes = self.shared_bytes(row);
        gpu.launch(kernel, self.blocks as u32, threads as u32, shared_bytes, &[&ByValue(&call)]);
    }

    pub(super) fn forward(
        &self,
        gpu: &Gpu,
        out_h: ViewMut<'_>,
        out_c: ViewMut<'_>,
        gates: ViewMut<'_>,
        memories: ViewMut<'_>,
    ) {
        let call = LstmTiled {
            out_h: out_h.ptr(),
            out_c: out_c.ptr(),
            gates: gates.ptr(),
            memories: memories.ptr(),
            ..self.call
        };
        self.launch(gpu, &FORWARD, STATES + 8, call);
    }

    /// Goes back through all steps, down to the gradients of the gates and of the input's rows.
    pub(super) fn backward(
        &self,
        gpu: &Gpu,
        passes: Passes<'_>,
        d_input: [Option<(ViewMut<'_>, Accumulate)>; 2],
    ) {
        let Passes { saved, d_h, d_c, d_gates, d_h0, d_c0 } = passes;
        let place = |d: Option<(ViewMut<'_>, Accumulate)>| match d {
            Some((d, mode)) => (d.ptr(), u32::from(mode == Accumulate::Add)),
            None => (0, 0),
        };
        let [(d_x, add_x), (d_beside, add_beside)] = d_input.map(place);
        let call = LstmTiled {
            gates: saved.ptr(),
            memories: saved.slice(d_gates.len()..saved.len()).ptr(),
            d_h: d_h.ptr(),
            d_c: address(d_c),
            d_gates: d_gates.ptr(),
            d_x,
            d_beside,
            d_h0: d_h0.map_or(0, |d| d.ptr()),
            d_c0: d_c0.map_or(0, |d| d.ptr()),
            add_x,
            add_beside,
            ..self.call
        };
        self.launch(gpu, &BACKWARD, 4 * STATES + 8, call);
    }
}
