//! Scores of pairs of rows: a hidden layer that is linear in each end, relu, and a linear layer.

use std::sync::Arc;

use super::elementwise::{BLOCK, lanes, singles};
use super::gather::Readers;
use super::{Gpu, Kernel, View, ViewMut, reduce};

static SCORES: Kernel = Kernel::new("pairs", "pairs_scores");
static ADD_ITEMS: Kernel = Kernel::new("pairs", "pairs_add_items");
static LAYER_SUMS: Kernel = Kernel::new("pairs", "pairs_layer_sums");

/// Outputs that a thread adds up at a time, as in `pairs.cu`.
const TILE: usize = 4;
/// Pairs of a block that adds up the gradient of the weight, and the most such blocks.
const PAIRS: usize = 128;
const MOST_BLOCKS: usize = 1024;

/// Rows of both ends, the pairs, and the last layer.
#[derive(Clone, Copy)]
pub(crate) struct PairScores<'a> {
    /// A row for each vertex as a source and as a destination.
    pub(crate) rows: [View<'a>; 2],
    /// Columns of both.
    pub(crate) width: usize,
    /// The rows of each pair.
    pub(crate) ends: [&'a Arc<Vec<u32>>; 2],
    /// `outputs × width`.
    pub(crate) weight: View<'a>,
    /// One number for each output.
    pub(crate) bias: View<'a>,
}

/// Writes `pairs × outputs` results.
pub(crate) fn pair_scores(gpu: &Gpu, pairs: PairScores<'_>, y: ViewMut<'_>) {
    let (count, lanes) = (pairs.ends[0].len(), lanes(pairs.width));
    let [source, destination] = pairs.rows;
    let [src, dst] = pairs.ends.map(|ends| gpu.resident(ends));
    gpu.launch(
        &SCORES,
        singles(count * lanes as usize),
        BLOCK,
        0,
        &[
            &source,
            &destination,
            &(pairs.width as u32),
            &src.view(),
            &dst.view(),
            &(count as u64),
            &pairs.weight,
            &pairs.bias,
            &(pairs.bias.len() as u32),
            &lanes,
            &y,
        ],
    );
}

/// Adds the gradients of the rows of both ends, of the weight and of the bias, if wanted.
pub(crate) fn pair_scores_backward(
    gpu: &Gpu,
    pairs: PairScores<'_>,
    dy: View<'_>,
    d_rows: [Option<ViewMut<'_>>; 2],
    d_weight: Option<ViewMut<'_>>,
    d_bias: Option<ViewMut<'_>>,
) {
    if dy.is_empty() {
        return;
    }
    for (end, d) in d_rows.into_iter().enumerate() {
        if let Some(d) = d.filter(|_| pairs.width > 0) {
            add_rows(gpu, pairs, end, dy, d);
        }
    }
    if let Some(d) = d_bias {
        let outputs = d.len();
        reduce::column_sums(gpu, dy, pairs.ends[0].len(), outputs, d);
    }
    if let Some(d) = d_weight {
        add_weight(gpu, pairs, dy, d);
    }
}

/// Adds the gradients of the rows of one end.
fn add_rows(gpu: &Gpu, pairs: PairScores<'_>, end: usize, dy: View<'_>, mut d: ViewMut<'_>) {
    let (width, lanes) = (pairs.width, lanes(pairs.width));
    let readers = Readers::of(gpu, pairs.ends[end]);
    let other_end = gpu.resident(pairs.ends[1 - end]);
    let mut parts = gpu.take(readers.parts * width);
    gpu.launch(
        &ADD_ITEMS,
        singles(readers.items * lanes as usize),
        BLOCK,
        0,
        &[
            &readers.item_list(),
            &(readers.items as u32),
            &readers.positions(),
            &pairs.rows[end],
            &pairs.rows[1 - end],
            &other_end.view(),
            &(width as u32),
            &pairs.weight,
            &dy,
            &(pairs.bias.len() as u32),
            &lanes,
            &d,
            &parts.view_mut(),
        ],
    );
    readers.join_parts(gpu, parts.view(), width, d.reborrow());
}

/// Adds the gradient of the last layer's weight.
fn add_weight(gpu: &Gpu, pairs: PairScores<'_>, dy: View<'_>, d: ViewMut<'_>) {
    let (count, outputs, width) = (pairs.ends[0].len(), pairs.bias.len(), pairs.width);
    if width == 0 {
        return;
    }
    let blocks = count.div_ceil(PAIRS).clamp(1, MOST_BLOCKS);
    let mut parts = gpu.take(blocks * outputs * width);
    let across = width.div_ceil(BLOCK as usize);
    let [source, destination] = pairs.rows;
    let [src, dst] = pairs.ends.map(|ends| gpu.resident(ends));
    gpu.launch(
        &LAYER_SUMS,
        (blocks as u32, across as u32, outputs.div_ceil(TILE) as u32),
        BLOCK,
        0,
        &[
            &source,
            &destination,
            &(width as u32),
            &src.view(),
            &dst.view(),
            &(count as u64),
            &dy,
            &(outputs as u32),
            &parts.view_mut(),
        ],
    );
    reduce::column_sums(gpu, parts.view(), blocks, outputs * width, d);
}
