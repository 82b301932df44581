//! Links ranked among destinations that are drawn for them.

use bytemuck::{Pod, Zeroable};

use super::kernel::{ByValue, Kernel, grid_for};
use super::{Gpu, View};
use crate::ops::link_ranks::{LinkRank, LinkRanking};

static COUNT: Kernel = Kernel::new("link_ranks", "link_ranks_count");

const BLOCK: usize = 128;
const WARP: usize = 32;

/// The most destinations of a link: what is drawn for the links of a block lies in 32 KiB of shared memory.
pub(crate) const NEGATIVES_MAX: usize = 1024;

/// What scores a pair: the matrices of [`PairScores`](super::pairs::PairScores) with one output.
#[derive(Clone, Copy)]
pub(crate) struct Scoring<'a> {
    /// A row for each vertex as a source, with the bias of the hidden layer.
    pub(crate) source: View<'a>,
    /// A row for each vertex as a destination.
    pub(crate) destination: View<'a>,
    /// Columns of both.
    pub(crate) width: usize,
    /// The last layer.
    pub(crate) weight: View<'a>,
    /// Its bias.
    pub(crate) bias: View<'a>,
}

/// What the kernel reads of the links.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Rows {
    source: u64,
    destination: u64,
    begin: u64,
    end: u64,
    count: u32,
    vertices: u32,
}

/// What it draws by.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Draws {
    seed: u64,
    first: u64,
    stream: u32,
    step: u32,
}

/// Writes the rank of each link; waits for it.
///
/// # Panics
/// If a link has more than [`NEGATIVES_MAX`] destinations.
pub(crate) fn link_ranks(
    gpu: &Gpu,
    scoring: Scoring<'_>,
    ranking: LinkRanking<'_>,
    ranks: &mut [LinkRank],
) {
    let LinkRanking { links, negatives, draws } = ranking;
    assert!(negatives <= NEGATIVES_MAX, "{negatives} destinations of a link");
    let count = links.len();
    if count == 0 {
        return;
    }
    let (src, dst): (Vec<u32>, Vec<u32>) = links.iter().unzip();
    let (mut begin, mut end) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for row in src.chunk_by(|a, b| a == b) {
        let first = begin.len();
        begin.resize(first + row.len(), first as u32);
        end.resize(first + row.len(), (first + row.len()) as u32);
    }
    let lists = gpu.uploaded(&[src, dst, begin, end].concat());
    let list = |at: usize| lists.view().slice(at * count..(at + 1) * count).ptr();
    let rows = Rows {
        source: list(0),
        destination: list(1),
        begin: list(2),
        end: list(3),
        count: count as u32,
        vertices: links.vertices(),
    };
    let (random, first) = draws.source();
    let (seed, stream, step) = random.key();
    let draws = Draws { seed, first, stream, step };
    let mut found = gpu.take_of::<LinkRank>(count);
    let shared = BLOCK / WARP * negatives * 2 * size_of::<u32>();
    gpu.launch(
        &COUNT,
        grid_for(count, BLOCK / WARP),
        BLOCK as u32,
        shared as u32,
        &[
            &scoring.source,
            &scoring.destination,
            &(scoring.width as u32),
            &scoring.weight,
            &scoring.bias,
            &ByValue(&rows),
            &(negatives as u32),
            &ByValue(&draws),
            &found.view_mut(),
        ],
    );
    gpu.download(found.view(), ranks);
}
