//! Pieces of the result and how they become one arena.

use rayon::prelude::*;

use super::collect::Job;
use crate::error::GraphError;
use crate::ids::VertexId;
use crate::ranges::Ranges;

/// What makes fewer edges.
pub(super) const ADVICE: &str = "choose a wider data.window, or leave data.until_removed out";

/// Ranges, sources, destinations and weights of all snapshots.
pub(super) type Columns = (Ranges, Vec<VertexId>, Vec<VertexId>, Option<Vec<f32>>);

/// Consecutive edges of the result, and the windows that end among them with their edge counts.
#[derive(Default)]
pub(super) struct EdgeRun {
    pub(super) src: Vec<VertexId>,
    pub(super) dst: Vec<VertexId>,
    pub(super) weight: Vec<f32>,
    pub(super) counts: Vec<(usize, u64)>,
}

impl EdgeRun {
    /// A part with room for `edges`.
    pub(super) fn with_capacity(job: &Job<'_>, edges: usize) -> Self {
        Self {
            src: Vec::with_capacity(edges),
            dst: Vec::with_capacity(edges),
            weight: Vec::with_capacity(if job.weighted { edges } else { 0 }),
            counts: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, job: &Job<'_>, src: VertexId, dst: VertexId, weight: f32) {
        self.src.push(src);
        self.dst.push(dst);
        if job.weighted {
            self.weight.push(weight);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.src.len()
    }
}

/// The ranges of all windows from the counts of those that have edges, checked against the limit.
pub(super) fn ranges(
    job: &Job<'_>,
    windows: usize,
    counts: impl Iterator<Item = (usize, u64)>,
) -> Result<Ranges, GraphError> {
    let mut ranges = Ranges::empty(windows, 0);
    counts.for_each(|(window, count)| ranges.fill(window, count));
    let limit = job.options.max_edges;
    if ranges.end() > limit { Err(GraphError::TooManyEdges { limit }) } else { Ok(ranges) }
}

/// Bytes of an edge of the result.
pub(super) fn edge_bytes(job: &Job<'_>) -> u64 {
    if job.weighted { 12 } else { 8 }
}

/// Refuses a result that does not fit beside the pieces that it is copied from.
pub(super) fn expect_room(job: &Job<'_>, edges: u64) -> Result<(), GraphError> {
    Ok(zoetrope_heap::need("the edges of all snapshots", edges * edge_bytes(job), ADVICE)?)
}

/// Copies pieces end to end, in parallel; a single piece is moved.
pub(super) fn concatenate<T: Copy + Default + Send + Sync>(mut pieces: Vec<Vec<T>>) -> Vec<T> {
    if pieces.len() == 1 {
        return pieces.swap_remove(0);
    }
    let mut whole = vec![T::default(); pieces.iter().map(Vec::len).sum()];
    let mut places = Vec::with_capacity(pieces.len());
    let mut rest = &mut whole[..];
    for piece in &pieces {
        let (place, tail) = rest.split_at_mut(piece.len());
        places.push(place);
        rest = tail;
    }
    // The piece is freed where it was copied: peak memory stays near one result.
    places.into_par_iter().zip(pieces).for_each(|(place, piece)| place.copy_from_slice(&piece));
    whole
}
