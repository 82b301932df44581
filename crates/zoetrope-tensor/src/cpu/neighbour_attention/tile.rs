//! The slots of one target side by side, for small dense products.

use pulp::Simd;

use super::NeighbourCall;
use crate::cpu::scratch::{self, Scratch};
use crate::cpu::time_encoding::Turns;

/// Rows of a tile are multiples of this many values; what is beyond X is 0.
const LINE: usize = 16;

/// Rows x_j, or vectors of the heads, with zeros up to a whole line.
pub(super) struct Tile {
    values: Scratch,
    /// Sines of the time encoding, in rows of its width.
    sines: Scratch,
    width: usize,
    /// Values from one row to the next.
    pub(super) stride: usize,
}

impl Tile {
    /// Room for nothing yet.
    #[inline(always)]
    pub(super) fn new(width: usize) -> Self {
        let stride = width.next_multiple_of(LINE);
        Self { values: scratch::take(0), sines: scratch::take(0), width, stride }
    }

    #[inline(always)]
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    #[inline(always)]
    pub(super) fn sines(&self) -> &[f32] {
        &self.sines
    }

    /// Copies the vectors of all heads of a query or of a result.
    #[inline(always)]
    pub(super) fn copy(&mut self, vectors: &[f32]) {
        let heads = vectors.len() / self.width;
        self.values.resize(heads * self.stride);
        let rows = self.values.chunks_exact_mut(self.stride);
        for (row, vector) in rows.zip(vectors.chunks_exact(self.width)) {
            row[..self.width].copy_from_slice(vector);
            row[self.width..].fill(0.0);
        }
    }

    /// Gathers the slots of a target; with `SINES` also the sines of their phases.
    #[inline(always)]
    pub(super) fn gather<S: Simd, const SINES: bool>(
        &mut self,
        simd: S,
        call: &NeighbourCall,
        turns: Option<&Turns>,
        slots: std::ops::Range<usize>,
    ) {
        let (rows, row_width) = call.rows;
        let (features, feature_width) = call.features;
        let time_width = call.time_width();
        self.values.resize(slots.len() * self.stride);
        self.sines.resize(if SINES { slots.len() * time_width } else { 0 });
        let tile = self.values.chunks_exact_mut(self.stride);
        for (i, (slot, x)) in slots.zip(tile).enumerate() {
            let (row, x) = x.split_at_mut(row_width);
            if row_width > 0 {
                let source = call.layout.source[slot] as usize;
                row.copy_from_slice(&rows[source * row_width..][..row_width]);
            }
            let (feature, x) = x.split_at_mut(feature_width);
            if feature_width > 0 {
                let event = call.layout.event[slot] as usize;
                feature.copy_from_slice(&features[event * feature_width..][..feature_width]);
            }
            let (time, x) = x.split_at_mut(time_width);
            if let Some(turns) = turns {
                let delta = call.deltas[slot];
                if SINES {
                    let sines = &mut self.sines[i * time_width..][..time_width];
                    turns.both(simd, delta, time, sines);
                } else {
                    turns.cosines(simd, delta, time);
                }
            }
            x.fill(0.0);
            x[0] = 1.0;
        }
    }
}
