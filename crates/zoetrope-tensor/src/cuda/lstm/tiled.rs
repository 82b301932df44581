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
/// Floats of shared memory through which the warps of a tile exchange gates, or states.
const EXCHANGED: usize = 2 * TILE * (4 * STATES + 8);
/// Warps of a tile, and most tiles of a block: what the registers of a multiprocessor hold.
const WARPS: usize = 4;
const TILES: usize = 5;

/// By pieces of the input: none (few vertices), up to two, up to four.
static FORWARD: [Kernel; 3] = [
    Kernel::new("lstm/tiled", "lstm_tiled_forward_0"),
    Kernel::new("lstm/tiled", "lstm_tiled_forward_2"),
    Kernel::new("lstm/tiled", "lstm_tiled_forward_4"),
];
static BACKWARD: [Kernel; 3] = [
    Kernel::new("lstm/tiled", "lstm_tiled_backward_0"),
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
    d_from: u32,
}

/// How a sequence is laid over the GPU in tiles.
pub(super) struct Tiled {
    call: LstmTiled,
    /// Tiles of a block.
    tiles: usize,
    blocks: usize,
    /// Pairs of pieces of the input; none if its share is computed before.
    pieces: usize,
}

/// Floats of shared memory for the weights, each in two parts, and the biases.
fn table(pairs: usize) -> usize {
    2 * (2 * PIECE * pairs + STATES) * 4 * STATES + 4 * STATES
}

impl Tiled {
    /// The layout, if the sequence is of this kind.
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
        let cores = gpu.multiprocessors() as usize;
        let few = shape.vertices <= TILE * cores;
        let all = shape.vertices.div_ceil(TILE);
        let pieces = if few { 0 } else { pieces.div_ceil(2) };
        let room = gpu.shared_limit() as usize / size_of::<f32>();
        let tiles = room.checked_sub(table(pieces))? / EXCHANGED;
        let tiles = tiles.min(if few { 1 } else { all.div_ceil(cores).min(TILES) });
        if tiles == 0 {
            return None;
        }
        Some(Self {
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
            tiles,
            blocks: all.div_ceil(tiles),
            pieces,
        })
    }

    /// Whether the input's share of the gates has to be computed before, and its gradient after.
    pub(super) fn is_without_input(&self) -> bool {
        self.pieces == 0
    }

    /// Bytes of the states before a step.
    fn skipped(&self, step: usize) -> u64 {
        self.call.vertices * (step * STATES * size_of::<f32>()) as u64
    }

    fn launch(&self, gpu: &Gpu, kernels: &'static [Kernel; 3], call: LstmTiled) {
        let threads = self.tiles * WARPS * 32;
        let shared_bytes = size_of::<f32>() * (table(self.pieces) + self.tiles * EXCHANGED);
        let kernel = &kernels[self.pieces];
        let arguments: [&dyn crate::cuda::Arg; 1] = [&ByValue(&call)];
        gpu.launch(kernel, self.blocks as u32, threads as u32, shared_bytes as u32, &arguments);
    }

    /// Runs the sequence; if the input is not part of it, `gates` hold its share.
    pub(super) fn forward(
        &self,
        gpu: &Gpu,
        out_h: ViewMut<'_>,
        out_c: ViewMut<'_>,
        gates: ViewMut<'_>,
        memories: ViewMut<'_>,
    ) {
        let call = LstmTiled {
            x: if self.is_without_input() { gates.ptr() } else { self.call.x },
            out_h: out_h.ptr(),
            out_c: out_c.ptr(),
            gates: gates.ptr(),
            memories: memories.ptr(),
            ..self.call
        };
        self.launch(gpu, &FORWARD, call);
    }

    /// Backward pass through all steps, down to the gradients of the gates and of the input's rows, if
    /// those are part of it.
    pub(super) fn backward(
        &self,
        gpu: &Gpu,
        passes: Passes<'_>,
        d_input: [Option<(ViewMut<'_>, Accumulate)>; 2],
    ) {
        let Passes { saved, d_h, first, d_c, d_gates, d_h0, d_c0 } = passes;
        let place = |d: Option<(ViewMut<'_>, Accumulate)>| match d {
            Some((d, mode)) => (d.ptr(), u32::from(mode == Accumulate::Add)),
            None => (0, 0),
        };
        let [(d_x, add_x), (d_beside, add_beside)] = d_input.map(place);
        let call = LstmTiled {
            gates: saved.ptr(),
            memories: saved.slice(d_gates.len()..saved.len()).ptr(),
            d_h: d_h.ptr().wrapping_sub(self.skipped(first)),
            d_from: first as u32,
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
        self.launch(gpu, &BACKWARD, call);
    }
}
