//! Gradients of weights and biases by tensor cores (`recurrent/tiled.cu`).

use bytemuck::{Pod, Zeroable};

use super::InputColumns;
use super::gradients::{Left, Segments};
use crate::cuda::kernel::{ByValue, Kernel};
use crate::cuda::{Gpu, View, ViewMut};

/// By octets of columns of the right matrix that a block takes: 4, 8, 12.
static TILED: [Kernel; 3] = [
    Kernel::new("recurrent/tiled", "recurrent_tiled_4"),
    Kernel::new("recurrent/tiled", "recurrent_tiled_8"),
    Kernel::new("recurrent/tiled", "recurrent_tiled_12"),
];

/// Columns of the gates of a block, and rows that it takes at a time.
const WIDE: usize = 128;
const ROWS: usize = 32;
/// Chunks of rows in shared memory.
const STAGES: usize = 3;
/// Blocks, about: two for each multiprocessor of a large GPU. Shapes alone decide, so that every
/// GPU adds in the same order.
const BLOCKS: usize = 264;

/// As in `recurrent/tiled.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Source {
    first: u64,
    rest: u64,
    above: u64,
    width: u64,
}

/// As in `recurrent/tiled.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct TiledProduct {
    left: u64,
    parts: u64,
    bias_parts: u64,
    rows: u64,
    slab: u64,
    sources: [Source; 3],
    stride: u32,
    cols: u32,
    width: u32,
    split: u32,
}

/// The gradients that are sums over cells; those that are not wanted are absent. Widths are multiples of
/// four, addresses of 16 bytes.
pub(in crate::cuda) struct TiledSums<'a> {
    /// The gradients of the gates.
    pub(in crate::cuda) left: Left<'a>,
    /// Width of the states.
    pub(in crate::cuda) hidden: usize,
    /// Of the weight of these rows.
    pub(in crate::cuda) weight: Option<([Option<InputColumns<'a>>; 2], ViewMut<'a>)>,
    /// Of the weight of the states: those before the first step, and after each.
    pub(in crate::cuda) recurrent: Option<([View<'a>; 2], ViewMut<'a>)>,
    /// Of biases of the gates.
    pub(in crate::cuda) biases: [Option<ViewMut<'a>>; 2],
}

impl TiledSums<'_> {
    /// Adds the sums over `rows` cells.
    pub(in crate::cuda) fn add(self, gpu: &Gpu, rows: usize) {
        let Self { left, hidden, weight, recurrent, biases } = self;
        let mut sources = [Source::zeroed(); 3];
        let mut split = 0;
        for (source, part) in sources.iter_mut().zip(weight.iter().flat_map(|(parts, _)| parts)) {
            if let Some(part) = part {
                let first = part.rows.ptr();
                *source = Source { first, rest: 0, above: rows as u64, width: part.width as u64 };
                split += part.width;
            }
        }
        let mut width = split;
        if let Some(([first, rest], _)) = &recurrent {
            let above = first.len() / hidden;
            sources[2] = Source {
                first: first.ptr(),
                rest: rest.ptr(),
                above: above as u64,
                width: hidden as u64,
            };
            width += hidden;
        }
        let octets = [4, 8, 12];
        let kernel = octets.iter().position(|octets| width <= 8 * octets).unwrap_or(2);
        let tiles = [width.div_ceil(8 * octets[kernel]).max(1), left.cols.div_ceil(WIDE)];
        let slabs = (BLOCKS / tiles.iter().product::<usize>()).max(1);
        let slab = rows.div_ceil(slabs).next_multiple_of(ROWS);
        let slabs = rows.div_ceil(slab);
        let wants_bias = biases.iter().any(Option::is_some);
        let mut parts = gpu.take(slabs * left.cols * width);
        let mut bias_parts = gpu.take(if wants_bias { slabs * left.cols } else { 0 });
        let from = left.rows.slice(left.from..left.rows.len()).ptr();
        debug_assert!(
            sources.iter().all(|source| {
                source.width % 4 == 0 && (source.first | source.rest).is_multiple_of(16)
            }) && from.is_multiple_of(16)
                && (left.stride | left.cols).is_multiple_of(4),
            "rows are read four values at a time"
        );
        let product = TiledProduct {
            left: from,
            parts: parts.view_mut().ptr(),
            bias_parts: if wants_bias { bias_parts.view_mut().ptr() } else { 0 },
            rows: rows as u64,
            slab: slab as u64,
            sources,
            stride: left.stride as u32,
            cols: left.cols as u32,
            width: width as u32,
            split: split as u32,
        };
        let grid = (slabs as u32, tiles[0] as u32, tiles[1] as u32);
        let row = WIDE + 8 + 8 * octets[kernel] + 8;
        let shared_bytes = size_of::<f32>() * STAGES * ROWS * row;
        gpu.launch(&TILED[kernel], grid, 256, shared_bytes as u32, &[&ByValue(&product)]);
        let mut segments = Segments::default();
        let row = left.cols * width;
        if let Some((_, to)) = weight {
            segments.add(parts.view(), 0, row, to);
        }
        if let Some((_, to)) = recurrent {
            segments.add(parts.view(), left.cols * split, row, to);
        }
        for to in biases.into_iter().flatten() {
            segments.add(bias_parts.view(), 0, left.cols, to);
        }
        segments.join(gpu);
    }
}
