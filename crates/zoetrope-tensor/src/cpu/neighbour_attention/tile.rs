//! The slots of one target side by side, for small dense products.
//!
//! A row has three parts: rows, features, and the time encoding with the 1 behind it. In a tile
//! each begins at a whole line of 16 values, with zeros up to the next, so that vectors are full
//! and aligned at every instruction set.

use std::ops::Range;

use pulp::Simd;

use super::NeighbourCall;
use crate::cpu::prefetch::prefetch;
use crate::cpu::scratch::{self, Scratch};
use crate::cpu::time_encoding::Turns;

/// Parts of a tile begin at multiples of this many values.
const LINE: usize = 16;

/// Bytes of a matrix from which on its rows are asked for ahead: below, the first-level cache may
/// have them.
const PREFETCHED_BYTES_MIN: usize = 1 << 15;

/// Where the parts of a row are, in x and in a tile.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    /// Values of each part.
    pub(super) widths: [usize; 3],
    /// Where they begin in x.
    pub(super) starts: [usize; 3],
    /// Where they begin in a tile.
    pub(super) places: [usize; 3],
    /// X.
    pub(super) width: usize,
    /// Values from one row of a tile to the next.
    pub(super) stride: usize,
}

impl Columns {
    pub(super) fn new(widths: [usize; 3]) -> Self {
        let [a, b, c] = widths;
        let [a_room, b_room, c_room] = widths.map(|width| width.next_multiple_of(LINE));
        Self {
            widths,
            starts: [0, a, a + b],
            places: [0, a_room, a_room + b_room],
            width: a + b + c,
            stride: a_room + b_room + c_room,
        }
    }

    /// Values of the last part in a tile.
    pub(super) fn time_room(&self) -> usize {
        self.stride - self.places[2]
    }
}

/// Rows x_j, or vectors of the heads.
pub(super) struct Tile {
    values: Scratch,
    /// Sines of the time encoding, in rows of its room.
    sines: Scratch,
    columns: Columns,
}

impl Tile {
    /// Room for nothing yet.
    #[inline(always)]
    pub(super) fn new(columns: Columns) -> Self {
        Self { values: scratch::take(0), sines: scratch::take(0), columns }
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
    pub(super) fn copy<S: Simd>(&mut self, simd: S, vectors: &[f32]) {
        let Columns { widths, starts, places, width, stride } = self.columns;
        self.values.resize(vectors.len() / width * stride);
        let rows = self.values.chunks_exact_mut(stride);
        for (row, vector) in rows.zip(vectors.chunks_exact(width)) {
            for part in 0..3 {
                let vector = &vector[starts[part]..starts[part] + widths[part]];
                copy(simd, vector, &mut row[places[part]..]);
            }
        }
    }

    /// Gathers the slots of a target; with `SINES` also the sines of their phases.
    #[inline(always)]
    pub(super) fn gather<S: Simd, const SINES: bool>(
        &mut self,
        simd: S,
        call: &NeighbourCall,
        turns: Option<&Turns>,
        slots: Range<usize>,
    ) {
        let Columns { widths, places, stride, .. } = self.columns;
        let room = self.columns.time_room();
        self.values.resize(slots.len() * stride);
        self.sines.resize(if SINES { slots.len() * room } else { 0 });
        let tile = self.values.chunks_exact_mut(stride);
        for (i, (slot, x)) in slots.zip(tile).enumerate() {
            let [row, feature] = call.parts(slot);
            copy(simd, row, &mut x[places[0]..]);
            copy(simd, feature, &mut x[places[1]..]);
            let time = &mut x[places[2]..];
            match turns {
                Some(turns) if SINES => {
                    let sines = &mut self.sines[i * room..(i + 1) * room];
                    turns.both(simd, call.deltas[slot], time, sines);
                }
                Some(turns) => turns.cosines(simd, call.deltas[slot], time),
                None => time.fill(0.0),
            }
            // The last of the time's part stands for the 1.
            time[widths[2] - 1] = 1.0;
        }
    }
}

impl<'a> NeighbourCall<'a> {
    /// The row and the features that a slot reads.
    #[inline(always)]
    fn parts(&self, slot: usize) -> [&'a [f32]; 2] {
        let part = |(matrix, width): (&'a [f32], usize), positions: &[u32]| match width {
            0 => &[][..],
            _ => &matrix[positions[slot] as usize * width..][..width],
        };
        [part(self.rows, &self.layout.source), part(self.features, &self.layout.event)]
    }

    /// Asks for what a target reads before it is needed, if it may not be near: `vectors` has
    /// the row `row` for it, of all heads.
    #[inline(always)]
    pub(super) fn ask_for(&self, target: usize, vectors: &[f32], row: usize) {
        let wide = self.heads * self.width();
        prefetch(vectors, row * wide, wide);
        let slots = self.slots(target);
        let far =
            [self.rows.0, self.features.0].map(|matrix| size_of_val(matrix) > PREFETCHED_BYTES_MIN);
        if far == [false; 2] {
            return;
        }
        for slot in slots {
            for (part, far) in self.parts(slot).into_iter().zip(far) {
                if far {
                    prefetch(part, 0, part.len());
                }
            }
        }
    }
}

/// Copies a part of a row, with zeros up to a whole line.
#[inline(always)]
#[allow(unsafe_code)]
#[allow(clippy::manual_memcpy, reason = "it would become a call")]
fn copy<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    let to = S::as_mut_simd_f32s(&mut to[..from.len().next_multiple_of(LINE)]).0;
    let (whole, tail) = S::as_simd_f32s(from);
    let (to, rest) = to.split_at_mut(whole.len());
    // Four at a time: a plain loop would become a call, which costs as much as the copy.
    let fours = whole.len() / 4 * 4;
    for (to, from) in to.chunks_exact_mut(4).zip(whole.chunks_exact(4)) {
        (to[0], to[1], to[2], to[3]) = (from[0], from[1], from[2], from[3]);
    }
    for i in fours..(fours + 3).min(whole.len()) {
        to[i] = whole[i];
    }
    let mut left = tail.len();
    for to in rest {
        let mask = simd.mask_between_m32s(0, left as u32);
        // SAFETY: the mask names the lanes that the tail has; the others are not read.
        *to = unsafe { simd.mask_load_ptr_f32s(mask, tail.as_ptr()) };
        left = 0;
    }
}
