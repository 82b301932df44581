//! Gradients of a range of the neighbours' rows, gathered from the slots that read them.

// Loops over vectors are written out: iterators over them may end up outside the function that is
// compiled for the vector instructions, and the vectors in memory.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)]

use pulp::{Simd, WithSimd};

use super::NeighbourCall;
use crate::cpu::matmul::Accumulate;
use crate::cpu::spmm::CsrRef;

#[derive(Clone, Copy)]
pub(super) struct Readers<'a> {
    pub(super) call: &'a NeighbourCall<'a>,
    /// The slots of each row.
    pub(super) slots: CsrRef<'a>,
    /// For each slot ᾱ of all heads, then the slopes of the scores of all heads.
    pub(super) terms: &'a [f32],
    pub(super) d_out: &'a [f32],
    /// Whether the gradients of rows are replaced or added to.
    pub(super) mode: Accumulate,
}

pub(super) struct Sources<'a> {
    pub(super) readers: Readers<'a>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) d_rows: &'a mut [f32],
}

impl WithSimd for Sources<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { readers, from, to, d_rows } = self;
        let width = readers.call.rows.1;
        for (row, d_row) in (from..to).zip(d_rows.chunks_exact_mut(width)) {
            let slots = &readers.slots.columns[readers.slots.entries(row)];
            readers.row(simd, slots, d_row);
        }
    }
}

impl Readers<'_> {
    /// d_row (+)= what reaches a row through the sums and the scores of its slots.
    #[inline(always)]
    fn row<S: Simd>(&self, simd: S, slots: &[u32], d_row: &mut [f32]) {
        let lanes = S::F32_LANES;
        let mut from = 0;
        while d_row.len() - from > 8 * lanes {
            self.columns::<S, 6, false>(simd, slots, from, &mut d_row[from..from + 6 * lanes]);
            from += 6 * lanes;
        }
        let rest = &mut d_row[from..];
        match (rest.len() / lanes, !rest.len().is_multiple_of(lanes)) {
            (0, false) => {}
            (1, false) => self.columns::<S, 1, false>(simd, slots, from, rest),
            (2, false) => self.columns::<S, 2, false>(simd, slots, from, rest),
            (3, false) => self.columns::<S, 3, false>(simd, slots, from, rest),
            (4, false) => self.columns::<S, 4, false>(simd, slots, from, rest),
            (5, false) => self.columns::<S, 5, false>(simd, slots, from, rest),
            (6, false) => self.columns::<S, 6, false>(simd, slots, from, rest),
            (7, false) => self.columns::<S, 7, false>(simd, slots, from, rest),
            (_, false) => self.columns::<S, 8, false>(simd, slots, from, rest),
            (0, true) => self.columns::<S, 0, true>(simd, slots, from, rest),
            (1, true) => self.columns::<S, 1, true>(simd, slots, from, rest),
            (2, true) => self.columns::<S, 2, true>(simd, slots, from, rest),
            (3, true) => self.columns::<S, 3, true>(simd, slots, from, rest),
            (4, true) => self.columns::<S, 4, true>(simd, slots, from, rest),
            (5, true) => self.columns::<S, 5, true>(simd, slots, from, rest),
            (6, true) => self.columns::<S, 6, true>(simd, slots, from, rest),
            (_, true) => self.columns::<S, 7, true>(simd, slots, from, rest),
        }
    }

    /// `K` vectors from column `from` on and, with `TAIL`, what is left of the row.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn columns<S: Simd, const K: usize, const TAIL: bool>(
        &self,
        simd: S,
        slots: &[u32],
        from: usize,
        d_row: &mut [f32],
    ) {
        let (call, heads) = (self.call, self.call.heads);
        let (width, len) = (call.width(), d_row.len());
        let whole = K * S::F32_LANES;
        let mask = simd.mask_between_m32s(0, (len - whole) as u32);
        let (mut sums, mut tail) = ([simd.splat_f32s(0.0); K], simd.splat_f32s(0.0));
        for &slot in slots {
            let slot = slot as usize;
            let target = call.layout.target_of_slot[slot] as usize;
            let query = call.layout.query[target] as usize;
            let terms = &self.terms[2 * slot * heads..2 * (slot + 1) * heads];
            for h in 0..heads {
                let d_out = &self.d_out[(target * heads + h) * width + from..][..len];
                let asked = &call.queries[(query * heads + h) * width + from..][..len];
                for (x, factor) in [(d_out, terms[h]), (asked, terms[heads + h])] {
                    let factor = simd.splat_f32s(factor);
                    let vectors = &S::as_simd_f32s(&x[..whole]).0[..K];
                    for k in 0..K {
                        sums[k] = simd.mul_add_e_f32s(factor, vectors[k], sums[k]);
                    }
                    if TAIL {
                        // SAFETY: the mask names the elements of x beyond whole vectors.
                        let rest = unsafe { simd.mask_load_ptr_f32s(mask, x.as_ptr().add(whole)) };
                        tail = simd.mul_add_e_f32s(factor, rest, tail);
                    }
                }
            }
        }
        let (d_row, d_tail) = d_row.split_at_mut(whole);
        let d_row = &mut S::as_mut_simd_f32s(d_row).0[..K];
        if self.mode == Accumulate::Add {
            for k in 0..K {
                sums[k] = simd.add_f32s(d_row[k], sums[k]);
            }
            if TAIL {
                tail = simd.add_f32s(simd.partial_load_f32s(d_tail), tail);
            }
        }
        for k in 0..K {
            d_row[k] = sums[k];
        }
        if TAIL {
            simd.partial_store_f32s(d_tail, tail);
        }
    }
}
