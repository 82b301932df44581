//! Smoothing over time: edge-life and M-product of the graph (ESDG §5.3, §5.4).
//!
//! Both add up the snapshots of a sliding window that ends at each step `t` (from 1):
//!
//! - edge-life `l`: `A'_t = A_t + Σ_{i=max(1,t-l+1)}^{t-1} A_i`; an edge lives for `l` snapshots.
//! - M-product with window `w`: `A'_t = Σ_k M_tk A_k` with `M_tk = 1 / min(w, t)` for
//!   `max(1, t-w+1) ≤ k ≤ t` and 0 elsewhere; the mean of the window. The M-product of vertex
//!   features is in [`smooth_features`](crate::smooth_features).
//!
//! These are sums of matrices: an edge of the result is there once, with the weights of all its
//! occurrences in the window added up (1 each if there are none), and stays there even if they
//! add up to 0. Sums are taken in f64 in time order and rounded once.
//!
//! How: the occurrences of all steps are ordered by edge, in parallel over ranges of edges. One
//! pass over occurrences counts how long each result snapshot is; the arena is allocated once;
//! a second pass writes each edge into all steps that it lives in. No window is merged again for
//! each step, so the work is that of sorting the input plus writing the output.
//!
//! Floor: 12 bytes read per edge of the input, 12 written per edge of the output; in between 16
//! bytes per edge of the input are held. Measured on 10 snapshots of 1,000,000 edges with an
//! edge-life of 10 (15.4 million edges of output): 0.48 s, 0.64 GB/s of that; sorting is the largest part
//! (conditions as in [`csr`](crate::csr)).

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::GraphError;
use crate::key_blocks::first_from;
use crate::made::SnapshotSource;
use crate::ranges::Ranges;
use crate::smooth_arena::{Arena, StepPart};
use crate::snapshot::{SnapshotSequence, SnapshotView};

/// Edges of the input in one block: a few hundred kilobytes, which a core sorts in its cache.
const BLOCK_EDGES: usize = 1 << 15;

/// What takes less memory than smoothing as asked.
pub(crate) const ADVICE: &str =
    "choose a smaller data.edge_life or data.m_product, or a wider data.window";

/// Edges that a block must have for each step of the sequence: a block keeps counters and slices
/// per step (56 bytes), which must not outgrow the edges of long sequences of small snapshots.
const BLOCK_EDGES_PER_STEP: usize = 4;

/// Lets each edge live for `life` snapshots; 1 only adds up edges that repeat in a snapshot.
///
/// ```
/// # use zoetrope_graph::{SnapshotSequence, smooth::edge_life};
/// // 0 → 1 in the first snapshot, 1 → 2 in the second, nothing in the third.
/// let graph = SnapshotSequence::new(3, vec![0, 1, 2, 2], vec![0, 1], vec![1, 2], None)?;
/// let smooth = edge_life(&graph, 2)?;
/// let edges: Vec<usize> = smooth.iter().map(|snapshot| snapshot.len()).collect();
/// assert_eq!(edges, [1, 2, 1]);
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
///
/// # Errors
/// [`GraphError::BadParameter`] if `life` is 0, [`GraphError::Memory`] if the result does not fit.
pub fn edge_life(sequence: &SnapshotSequence, life: usize) -> Result<SnapshotSequence, GraphError> {
    expect_positive("edge-life", life)?;
    window_sums(sequence, life, |_| 1.0, block_edges(sequence), 0)
}

/// Replaces each snapshot by the mean of the last `window` ones; fewer at the start.
///
/// A constant sequence stays constant.
///
/// # Errors
/// [`GraphError::BadParameter`] if `window` is 0, [`GraphError::Memory`] if the result does not fit.
pub fn m_product(
    sequence: &SnapshotSequence,
    window: usize,
) -> Result<SnapshotSequence, GraphError> {
    expect_positive("window", window)?;
    if sequence.is_constant() && sequence.steps() > 0 {
        return merged_constant(sequence);
    }
    window_sums(sequence, window, |step| window.min(step + 1) as f64, block_edges(sequence), 0)
}

/// A way to smooth snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Smoothing {
    /// [`edge_life`] of so many snapshots.
    EdgeLife(usize),
    /// [`m_product`] with a window of so many.
    MProduct(usize),
}

impl Smoothing {
    /// All snapshots of a sequence, smoothed.
    ///
    /// # Errors
    /// As [`edge_life`] and [`m_product`].
    pub fn apply(self, sequence: &SnapshotSequence) -> Result<SnapshotSequence, GraphError> {
        match self {
            Self::EdgeLife(life) => edge_life(sequence, life),
            Self::MProduct(window) => m_product(sequence, window),
        }
    }

    fn length(self) -> usize {
        let (Self::EdgeLife(length) | Self::MProduct(length)) = self;
        length.max(1)
    }

    fn divisor(self, step: usize) -> f64 {
        match self {
            Self::EdgeLife(_) => 1.0,
            Self::MProduct(window) => window.min(step + 1) as f64,
        }
    }
}

/// Makes smoothed snapshots, each from those of its window: the same bits as if all were smoothed together.
pub struct SmoothSource {
    inner: Arc<dyn SnapshotSource>,
    smoothing: Smoothing,
}

impl SmoothSource {
    /// Smooths what another source makes, which changes from snapshot to snapshot.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] if the window is 0.
    pub fn new(inner: Arc<dyn SnapshotSource>, smoothing: Smoothing) -> Result<Self, GraphError> {
        let (Smoothing::EdgeLife(length) | Smoothing::MProduct(length)) = smoothing;
        expect_positive("the window of smoothing", length)?;
        Ok(Self { inner, smoothing })
    }

    fn first(&self, step: usize) -> usize {
        (step + 1).saturating_sub(self.smoothing.length())
    }
}

impl SnapshotSource for SmoothSource {
    fn make(&self, steps: Range<usize>) -> Result<SnapshotSequence, GraphError> {
        let first = self.first(steps.start);
        let context = self.inner.make(first..steps.end)?;
        let divisor = |step| self.smoothing.divisor(first + step);
        let (length, block) = (self.smoothing.length(), block_edges(&context));
        window_sums(&context, length, divisor, block, steps.start - first)
    }

    fn size(&self, step: usize) -> usize {
        (self.first(step)..=step).map(|step| self.inner.size(step)).sum()
    }
}

/// A constant sequence with repeated edges added up: the mean of equal matrices is the matrix.
fn merged_constant(sequence: &SnapshotSequence) -> Result<SnapshotSequence, GraphError> {
    let view = sequence.at(0);
    let once = SnapshotSequence::from_sorted(
        view.vertices,
        Ranges::from_offsets(&[0, view.len() as u64]),
        view.src.to_vec(),
        view.dst.to_vec(),
        view.weight.map(<[f32]>::to_vec),
    );
    let merged = window_sums(&once, 1, |_| 1.0, BLOCK_EDGES, 0)?;
    let view = merged.at(0);
    let weight = view.weight.map(<[f32]>::to_vec);
    let (src, dst) = (view.src.to_vec(), view.dst.to_vec());
    let constant = SnapshotSequence::constant(view.vertices, sequence.steps(), src, dst, weight)?;
    with_boundaries_of(constant, sequence)
}

fn block_edges(sequence: &SnapshotSequence) -> usize {
    BLOCK_EDGES.max(BLOCK_EDGES_PER_STEP * sequence.steps())
}

/// One occurrence of an edge.
#[derive(Debug, Clone, Copy)]
struct Occurrence {
    key: u64,
    step: u32,
    weight: f32,
}

/// For each step from `from` on the sum of the last `length` snapshots, divided by `divisor(step)`.
fn window_sums(
    sequence: &SnapshotSequence,
    length: usize,
    divisor: impl Fn(usize) -> f64 + Sync,
    block_edges: usize,
    from: usize,
) -> Result<SnapshotSequence, GraphError> {
    let steps = sequence.steps();
    if steps > u32::MAX as usize {
        let (count, limit) = (steps as u64, u64::from(u32::MAX));
        return Err(GraphError::TooMany { what: "snapshots", count, limit });
    }
    let views: Vec<SnapshotView<'_>> = sequence.iter().collect();
    let input: usize = views.iter().map(SnapshotView::len).sum();
    let held = (input * size_of::<Occurrence>()) as u64;
    zoetrope_heap::need("smoothing the edges of all snapshots over time", held, ADVICE)?;
    let blocks: Vec<Vec<Occurrence>> = key_ranges(&views, block_edges)
        .into_par_iter()
        .map(|range| occurrences(&views, range))
        .collect();
    let counts: Vec<Vec<u64>> =
        blocks.par_iter().map(|block| edges_per_step(block, steps, length, from)).collect();
    let mut arena = Arena::new(steps, &counts)?;
    arena.parts(&counts).into_par_iter().zip(&blocks).for_each(|(mut parts, block)| {
        for edge in block.chunk_by(|left, right| left.key == right.key) {
            write_edge(edge, steps, length, &divisor, &mut parts, from);
        }
    });
    let smoothed = arena.into_sequence(sequence.vertices(), from);
    // Whoever smooths a part knows the times of the whole.
    if from > 0 { Ok(smoothed) } else { with_boundaries_of(smoothed, sequence) }
}

/// Ranges of edge keys with about `block_edges` occurrences each, by the quantiles of a sample.
fn key_ranges(views: &[SnapshotView<'_>], block_edges: usize) -> Vec<Range<u64>> {
    const SAMPLES_PER_BLOCK: usize = 16;
    let total: usize = views.iter().map(SnapshotView::len).sum();
    let blocks = total / block_edges.max(1);
    let stride = (total / (blocks.max(1) * SAMPLES_PER_BLOCK)).max(1);
    let mut samples: Vec<u64> = views
        .iter()
        .flat_map(|view| (0..view.len()).step_by(stride).map(|edge| view.key(edge)))
        .collect();
    samples.par_sort_unstable();
    let mut cuts: Vec<u64> =
        (1..blocks).map(|block| samples[samples.len() * block / blocks]).collect();
    cuts.insert(0, 0);
    cuts.dedup();
    let ends = cuts[1..].iter().copied().chain([u64::MAX]);
    cuts.iter().zip(ends).map(|(&start, end)| start..end).collect()
}

/// All occurrences of the edges of a range, ordered by edge, then step, then position. No edge
/// has the key `u64::MAX`, at which the last range ends: that vertex would be one too many.
fn occurrences(views: &[SnapshotView<'_>], keys: Range<u64>) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for (step, view) in (0..).zip(views) {
        for edge in first_from(view, keys.start)..first_from(view, keys.end) {
            found.push(Occurrence { key: view.key(edge), step, weight: view.weight_of(edge) });
        }
    }
    // Stable, and quick on what are sorted runs end to end.
    found.sort_by_key(|occurrence| occurrence.key);
    found
}

/// How many edges of a block each step of the result has; none before step `from`.
fn edges_per_step(block: &[Occurrence], steps: usize, length: usize, from: usize) -> Vec<u64> {
    let (mut born, mut dead) = (vec![0u64; steps + 1], vec![0u64; steps + 1]);
    for edge in block.chunk_by(|left, right| left.key == right.key) {
        for life in lives(edge, steps, length) {
            born[life.start] += 1;
            dead[life.end] += 1;
        }
    }
    let mut alive = 0;
    (0..steps)
        .map(|step| {
            alive = alive + born[step] - dead[step];
            if step < from { 0 } else { alive }
        })
        .collect()
}

/// The maximal ranges of steps whose window holds an occurrence of the edge.
fn lives(edge: &[Occurrence], steps: usize, length: usize) -> impl Iterator<Item = Range<usize>> {
    edge.chunk_by(move |left, right| ((right.step - left.step) as usize) <= length).map(
        move |life| {
            let last = life[life.len() - 1].step as usize;
            life[0].step as usize..last.saturating_add(length).min(steps)
        },
    )
}

/// Writes an edge into every step from `from` on that it lives in.
fn write_edge(
    edge: &[Occurrence],
    steps: usize,
    length: usize,
    divisor: &impl Fn(usize) -> f64,
    parts: &mut [StepPart<'_>],
    from: usize,
) {
    let (src, dst) = (edge[0].key as u32, (edge[0].key >> 32) as u32);
    let mut window = 0..0;
    let mut sum = 0.0;
    for life in lives(edge, steps, length) {
        let lived = parts.iter_mut().enumerate().take(life.end).skip(life.start.max(from));
        for (step, part) in lived {
            let before = window.clone();
            while window.end < edge.len() && edge[window.end].step as usize <= step {
                window.end += 1;
            }
            while (edge[window.start].step as usize).saturating_add(length) <= step {
                window.start += 1;
            }
            if window != before {
                // Added up anew: taking the oldest away again would leave rounding behind.
                sum = edge[window.clone()].iter().map(|one| f64::from(one.weight)).sum();
            }
            part.push(src, dst, (sum / divisor(step)) as f32);
        }
    }
}

fn with_boundaries_of(
    smoothed: SnapshotSequence,
    sequence: &SnapshotSequence,
) -> Result<SnapshotSequence, GraphError> {
    match sequence.boundaries() {
        Some(boundaries) => smoothed.with_boundaries(boundaries.clone()),
        None => Ok(smoothed),
    }
}

pub(crate) fn expect_positive(parameter: &'static str, value: usize) -> Result<(), GraphError> {
    match value {
        0 => Err(GraphError::BadParameter {
            parameter,
            value: value.to_string(),
            expected: "at least 1",
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SnapshotSequence {
        let src = vec![0, 0, 1, 2, 1];
        let dst = vec![1, 1, 2, 0, 2];
        let weight = vec![1.0, 2.0, 4.0, 8.0, -4.0];
        SnapshotSequence::new(3, vec![0, 2, 3, 4, 4, 5], src, dst, Some(weight)).unwrap()
    }

    #[test]
    fn edges_live_for_as_many_snapshots_as_asked_and_their_weights_add() {
        let smooth = edge_life(&sample(), 2).unwrap();
        let weights: Vec<Vec<f32>> =
            smooth.iter().map(|view| view.weight.unwrap().to_vec()).collect();
        let expected: [&[f32]; 5] = [&[3.0], &[3.0, 4.0], &[8.0, 4.0], &[8.0], &[-4.0]];
        assert_eq!(weights, expected);
        assert_eq!(smooth.at(2).src, [2, 1]);
    }

    #[test]
    fn an_edge_whose_weights_cancel_stays_with_weight_zero() {
        let smooth = edge_life(&sample(), 4).unwrap();
        let last = smooth.at(4);
        assert_eq!((last.src, last.weight.unwrap()), (&[2, 1][..], &[8.0, 0.0][..]));
    }

    #[test]
    fn the_m_product_is_the_mean_of_the_window() {
        let smooth = m_product(&sample(), 3).unwrap();
        assert_eq!(smooth.at(0).weight.unwrap(), [3.0]);
        assert_eq!(smooth.at(1).weight.unwrap(), [1.5, 2.0]);
        assert_eq!(smooth.at(2).weight.unwrap(), [8.0 / 3.0, 1.0, 4.0 / 3.0]);
    }

    #[test]
    fn a_window_longer_than_the_sequence_reaches_back_to_its_start() {
        let all = edge_life(&sample(), usize::MAX).unwrap();
        assert_eq!(all, edge_life(&sample(), 5).unwrap());
        assert_eq!(all.at(4).len(), 3);
        assert!(edge_life(&sample(), 0).is_err());
        assert!(m_product(&sample(), 0).is_err());
    }

    #[test]
    fn blocks_do_not_change_the_sums_even_for_the_highest_vertex() {
        let top = u32::MAX - 1;
        let src = vec![0, top, top, 3, top, 5];
        let dst = vec![top, top, top, 7, top, 0];
        let sequence = SnapshotSequence::new(u32::MAX, vec![0, 3, 4, 6], src, dst, None).unwrap();
        let whole = window_sums(&sequence, 2, |_| 1.0, 1000, 0).unwrap();
        assert_eq!(whole.at(0).weight.unwrap(), [1.0, 2.0]);
        for block_edges in 1..6 {
            assert_eq!(window_sums(&sequence, 2, |_| 1.0, block_edges, 0).unwrap(), whole);
        }
    }

    #[test]
    fn boundaries_stay_and_constant_graphs_stay_constant_under_the_mean() {
        let bounded = sample().with_boundaries(vec![0, 10, 20, 30, 40, 50]).unwrap();
        let smooth = edge_life(&bounded, 2).unwrap();
        assert_eq!(smooth.boundaries(), bounded.boundaries());
        let constant =
            SnapshotSequence::constant(2, 9, vec![0, 0], vec![1, 1], Some(vec![1.0, 2.0])).unwrap();
        let smooth = m_product(&constant, 4).unwrap();
        assert!(smooth.is_constant());
        assert_eq!((smooth.steps(), smooth.at(8).weight.unwrap()), (9, &[3.0][..]));
        assert_eq!(edge_life(&constant, 4).unwrap().at(8).weight.unwrap(), [12.0]);
    }

    #[test]
    fn an_empty_sequence_stays_empty() {
        let none = SnapshotSequence::new(3, vec![0], vec![], vec![], None).unwrap();
        assert_eq!(edge_life(&none, 3).unwrap().steps(), 0);
        let empty = SnapshotSequence::new(3, vec![0, 0, 0], vec![], vec![], None).unwrap();
        assert_eq!(m_product(&empty, 3).unwrap().steps(), 2);
    }
}
