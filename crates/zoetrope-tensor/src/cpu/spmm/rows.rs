//! A window of rows on one thread.
//!
//! Sums stay in registers: all vectors of a row side by side, several partial sums one after
//! another if the row is narrow (a single chain of additions would wait four cycles for each
//! term). Rows of x are asked for some entries ahead if x is larger than the second-level cache.

// Loops over vectors are written out: iterators over them may end up outside the function that is
// compiled for the vector instructions, and the vectors in memory.
#![allow(clippy::needless_range_loop, clippy::manual_memcpy)]

use pulp::{MemMask, Simd, WithSimd};

use super::super::arranged::{BEYOND, Window};
use super::super::matmul::Accumulate;
use super::super::past_caches::{fence, lines, store_past};
use super::super::prefetch::prefetch;

/// Bytes of x from which on rows are asked for ahead: below, the second-level cache has them.
const PREFETCHED_BYTES_MIN: usize = 1 << 20;

/// A window, with the x and the y that belong to it.
pub(super) struct WindowProduct<'a> {
    terms: Terms<'a>,
    y: &'a mut [f32],
    accumulate: Accumulate,
    /// Whether results go past the caches.
    past: bool,
}

/// Where the terms of the sums come from.
#[derive(Clone, Copy)]
struct Terms<'a> {
    window: Window<'a>,
    x: &'a [f32],
    width: usize,
    /// Entries that rows are asked for ahead, 0 for not at all.
    ahead: usize,
}

impl<'a> WindowProduct<'a> {
    /// Chooses how far ahead to ask for rows of x.
    ///
    /// # Safety
    ///
    /// Every column of the window is below `x.len() / width`.
    #[allow(unsafe_code)]
    pub(super) unsafe fn new(
        window: Window<'a>,
        x: &'a [f32],
        width: usize,
        y: &'a mut [f32],
        accumulate: Accumulate,
        past: bool,
    ) -> Self {
        let far = size_of_val(x) > PREFETCHED_BYTES_MIN;
        let ahead = if !far {
            0
        } else if width <= 64 {
            BEYOND / 2
        } else {
            BEYOND / 4
        };
        Self { terms: Terms { window, x, width, ahead }, y, accumulate, past }
    }
}

impl WithSimd for WindowProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        match self.terms.width {
            1 => return self.narrow::<S, 1>(simd),
            2 => return self.narrow::<S, 2>(simd),
            3 => return self.narrow::<S, 3>(simd),
            4 => return self.narrow::<S, 4>(simd),
            6 => return self.narrow::<S, 6>(simd),
            8 => return self.narrow::<S, 8>(simd),
            _ => {}
        }
        let lanes = S::F32_LANES;
        // Rows of so many vectors get loops of their own: places are multiples of a constant.
        match (self.terms.width / lanes, self.terms.width % lanes) {
            (1, 0) => return self.whole::<S, 1, 4>(simd),
            (2, 0) => return self.whole::<S, 2, 2>(simd),
            (4, 0) => return self.whole::<S, 4, 1>(simd),
            (8, 0) => return self.whole::<S, 8, 1>(simd),
            // Sixteen sums and a factor need more than sixteen registers.
            (16, 0) if lanes == 16 => return self.whole::<S, 16, 1>(simd),
            _ => {}
        }
        let mut from = 0;
        while self.terms.width - from >= 8 * lanes {
            self.vectors::<S, 8, 1, false>(simd, from);
            from += 8 * lanes;
        }
        if self.terms.width - from >= 4 * lanes {
            self.vectors::<S, 4, 1, false>(simd, from);
            from += 4 * lanes;
        }
        let left = self.terms.width - from;
        match (left / lanes, !left.is_multiple_of(lanes)) {
            (0, false) => {}
            (1, false) => self.vectors::<S, 1, 4, false>(simd, from),
            (2, false) => self.vectors::<S, 2, 2, false>(simd, from),
            (_, false) => self.vectors::<S, 3, 2, false>(simd, from),
            (0, true) => self.vectors::<S, 0, 4, true>(simd, from),
            (1, true) => self.vectors::<S, 1, 2, true>(simd, from),
            (2, true) => self.vectors::<S, 2, 2, true>(simd, from),
            (_, true) => self.vectors::<S, 3, 1, true>(simd, from),
        }
    }
}

impl Terms<'_> {
    /// The factor of an entry and the address of its row of x; asks for a later row on the way.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn term(&self, entry: usize, from: usize, len: usize) -> (f32, *const f32) {
        debug_assert!(entry < self.window.values.len());
        if self.ahead > 0 {
            // SAFETY: there are `BEYOND` more columns than values, and `ahead` is less.
            let later = unsafe { *self.window.columns.get_unchecked(entry + self.ahead) };
            prefetch(self.x, later as usize * self.width + from, len);
        }
        // SAFETY: the runs of a window add up to its values, of which `entry` is one.
        let value = unsafe { *self.window.values.get_unchecked(entry) };
        // SAFETY: as for the value; there are as many columns and more.
        let column = unsafe { *self.window.columns.get_unchecked(entry) };
        (value, self.x.as_ptr().wrapping_add(column as usize * self.width + from))
    }

    /// Rows of `len` entries and `W` elements.
    #[inline(always)]
    fn run<S: Simd, const W: usize>(
        &self,
        simd: S,
        mut entry: usize,
        len: usize,
        places: &[u16],
        y: &mut [[f32; W]],
        accumulate: Accumulate,
    ) {
        for &place in places {
            let y = &mut y[place as usize];
            let mut sums = [[0.0; W]; 4];
            if accumulate == Accumulate::Add {
                sums[0] = *y;
            }
            let mut i = 0;
            while i < len / 4 * 4 {
                for u in 0..4 {
                    self.add_narrow(simd, entry + i + u, &mut sums[u]);
                }
                i += 4;
            }
            while i < len {
                self.add_narrow(simd, entry + i, &mut sums[0]);
                i += 1;
            }
            for j in 0..W {
                y[j] = (sums[0][j] + sums[1][j]) + (sums[2][j] + sums[3][j]);
            }
            entry += len;
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn add_narrow<S: Simd, const W: usize>(&self, _: S, entry: usize, sums: &mut [f32; W]) {
        let (value, row) = self.term(entry, 0, W);
        // SAFETY: `new` was promised that the column's row lies inside x; it has `W` elements.
        let row = unsafe { &*row.cast::<[f32; W]>() };
        for j in 0..W {
            // A single lane may lack the fused instruction, and would call a function instead.
            sums[j] = match S::F32_LANES {
                1 => sums[j] + value * row[j],
                _ => value.mul_add(row[j], sums[j]),
            };
        }
    }
}

impl WindowProduct<'_> {
    /// Rows of `W` elements, fewer than a vector: four partial sums a row.
    #[inline(always)]
    fn narrow<S: Simd, const W: usize>(self, simd: S) {
        let Self { terms, y, accumulate, .. } = self;
        let (y, _) = y.as_chunks_mut::<W>();
        let (mut entry, mut places) = (0, terms.window.places);
        for run in terms.window.runs {
            let (own, rest) = places.split_at(run.rows as usize);
            // Short rows, most of them, get loops of a constant length.
            let len = run.len as usize;
            match len {
                1 => terms.run::<S, W>(simd, entry, 1, own, y, accumulate),
                2 => terms.run::<S, W>(simd, entry, 2, own, y, accumulate),
                3 => terms.run::<S, W>(simd, entry, 3, own, y, accumulate),
                4 => terms.run::<S, W>(simd, entry, 4, own, y, accumulate),
                5 => terms.run::<S, W>(simd, entry, 5, own, y, accumulate),
                6 => terms.run::<S, W>(simd, entry, 6, own, y, accumulate),
                7 => terms.run::<S, W>(simd, entry, 7, own, y, accumulate),
                _ => terms.run::<S, W>(simd, entry, len, own, y, accumulate),
            }
            entry += len * own.len();
            places = rest;
        }
    }

    /// Rows of `K` vectors.
    #[inline(always)]
    fn whole<S: Simd, const K: usize, const U: usize>(mut self, simd: S) {
        self.terms.width = K * S::F32_LANES;
        self.vectors::<S, K, U, false>(simd, 0);
    }

    /// `K` whole vectors at once and, with `TAIL`, what is left of the row; `U` partial sums each.
    #[inline(always)]
    fn vectors<S: Simd, const K: usize, const U: usize, const TAIL: bool>(
        &mut self,
        simd: S,
        from: usize,
    ) {
        let terms = self.terms;
        let width = if TAIL { terms.width - from } else { K * S::F32_LANES };
        let mask = simd.mask_between_m32s(0, (width - K * S::F32_LANES) as u32);
        let past = self.past && !TAIL && lines::<S>(terms.width, self.y);
        let part = RowColumns { simd, mask, from, width, accumulate: self.accumulate, past };
        let (mut entry, mut places) = (0, terms.window.places);
        for run in terms.window.runs {
            let (own, rest) = places.split_at(run.rows as usize);
            let (len, y) = (run.len as usize, &mut *self.y);
            // If a row is a vector or two, short rows get loops of a constant length.
            match if K + usize::from(TAIL) <= 2 { len } else { 0 } {
                1 => terms.vector_run::<S, K, U, TAIL>(part, entry, 1, own, y),
                2 => terms.vector_run::<S, K, U, TAIL>(part, entry, 2, own, y),
                3 => terms.vector_run::<S, K, U, TAIL>(part, entry, 3, own, y),
                4 => terms.vector_run::<S, K, U, TAIL>(part, entry, 4, own, y),
                5 => terms.vector_run::<S, K, U, TAIL>(part, entry, 5, own, y),
                6 => terms.vector_run::<S, K, U, TAIL>(part, entry, 6, own, y),
                7 => terms.vector_run::<S, K, U, TAIL>(part, entry, 7, own, y),
                _ => terms.vector_run::<S, K, U, TAIL>(part, entry, len, own, y),
            }
            entry += len * own.len();
            places = rest;
        }
        if past {
            fence();
        }
    }
}

/// The elements `from..from + width` of rows, and how their sums are begun and stored.
#[derive(Clone, Copy)]
struct RowColumns<S: Simd> {
    simd: S,
    /// What is left beyond whole vectors.
    mask: MemMask<S::m32s>,
    from: usize,
    width: usize,
    accumulate: Accumulate,
    past: bool,
}

impl Terms<'_> {
    /// Part of the rows of `len` entries.
    #[inline(always)]
    fn vector_run<S: Simd, const K: usize, const U: usize, const TAIL: bool>(
        &self,
        part: RowColumns<S>,
        mut entry: usize,
        len: usize,
        places: &[u16],
        y: &mut [f32],
    ) {
        let RowColumns { simd, from, width, .. } = part;
        let (zero, whole) = (simd.splat_f32s(0.0), K * S::F32_LANES);
        for &place in places {
            let y = &mut y[place as usize * self.width + from..][..width];
            let (y, y_tail) = y.split_at_mut(whole);
            let y = S::as_mut_simd_f32s(y).0;
            let (mut sums, mut tails) = ([[zero; K]; U], [zero; U]);
            if part.accumulate == Accumulate::Add {
                for k in 0..K {
                    sums[0][k] = y[k];
                }
                if TAIL {
                    tails[0] = simd.partial_load_f32s(y_tail);
                }
            }
            let mut i = 0;
            while i < len / U * U {
                for u in 0..U {
                    let (sums, tail) = (&mut sums[u], &mut tails[u]);
                    self.add::<S, K, TAIL>(part, entry + i + u, sums, tail);
                }
                i += U;
            }
            while i < len {
                self.add::<S, K, TAIL>(part, entry + i, &mut sums[0], &mut tails[0]);
                i += 1;
            }
            let (mut sum, mut tail) = (sums[0], tails[0]);
            for u in 1..U {
                for k in 0..K {
                    sum[k] = simd.add_f32s(sum[k], sums[u][k]);
                }
                tail = simd.add_f32s(tail, tails[u]);
            }
            for k in 0..K {
                if part.past { store_past(simd, sum[k], &mut y[k]) } else { y[k] = sum[k] }
            }
            if TAIL {
                simd.partial_store_f32s(y_tail, tail);
            }
            entry += len;
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn add<S: Simd, const K: usize, const TAIL: bool>(
        &self,
        RowColumns { simd, mask, from, width, .. }: RowColumns<S>,
        entry: usize,
        sums: &mut [S::f32s; K],
        tail: &mut S::f32s,
    ) {
        let (value, row) = self.term(entry, from, width);
        let factor = simd.splat_f32s(value);
        // SAFETY: `new` was promised that the column's row lies inside x, and `width` elements of
        // it are left at `from`: `K` vectors, which may lie anywhere, and what the mask names.
        unsafe {
            let vectors = &*row.cast::<[S::f32s; K]>();
            for k in 0..K {
                sums[k] = simd.mul_add_e_f32s(factor, vectors[k], sums[k]);
            }
            if TAIL {
                let rest = simd.mask_load_ptr_f32s(mask, row.add(K * S::F32_LANES));
                *tail = simd.mul_add_e_f32s(factor, rest, *tail);
            }
        }
    }
}
