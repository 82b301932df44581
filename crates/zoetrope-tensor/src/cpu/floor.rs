//! What the memory system gives for the access pattern of a sparse product: the floor that
//! `bench/kernels` holds [`spmm`](super::spmm) against.
//!
//! A product y = M·x reads the columns of M and, for each of them, a row of x; beside that it
//! streams values and places and writes y. The floor is the time of these two, each measured with
//! the same arrays in the same caches:
//!
//! - [`gather_sum`] loads the row of x that each column names and adds it to registers: no
//!   values, no ends of rows, no result, no bounds checks. How far ahead rows are asked for is
//!   the caller's choice, so that the best distance can be taken.
//! - [`stream_through`] reads values and places and writes y, in order.

// Loops over vectors are written out: iterators over them may end up outside the function that is
// compiled for the vector instructions.
#![allow(clippy::needless_range_loop)]

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::arranged::Arranged;
use super::prefetch::prefetch;
use super::simd::current;

/// Parts that the entries of a matrix are split into.
const PARTS: usize = 8;

/// Adds up all gathered rows of `width` elements; the i-th matrix reads the i-th part of the
/// stacked `x`. Rows are asked for `ahead` entries early, 0 for not at all.
///
/// # Panics
/// If `x` is shorter than the rows of all matrices.
pub fn gather_sum(matrices: &[&Arranged], x: &[f32], width: usize, ahead: usize) -> f32 {
    let cpu = current();
    let part = |i: usize| {
        let (matrix, part) = (i / PARTS, i % PARTS);
        let from: usize = matrices[..matrix].iter().map(|m| m.cols() * width).sum();
        let x = &x[from..from + matrices[matrix].cols() * width];
        let columns = matrices[matrix].columns();
        let size = columns.len().div_ceil(PARTS);
        let own = columns.len().min(part * size)..columns.len().min((part + 1) * size);
        cpu.run(Gather { columns: &columns[own], x, width, ahead })
    };
    (0..matrices.len() * PARTS).into_par_iter().map(part).sum()
}

/// Reads the values and places of the matrices and writes y; the matrices' rows are stacked.
///
/// # Panics
/// If `y` has not `width` elements for each row.
pub fn stream_through(matrices: &[&Arranged], width: usize, y: &mut [f32]) -> f32 {
    let mut parts = Vec::with_capacity(matrices.len() * PARTS);
    let mut rest = y;
    for m in matrices {
        let (rows, entries) = (m.rows().div_ceil(PARTS), m.entries().div_ceil(PARTS));
        for part in 0..PARTS {
            let of = |len: usize, size: usize| len.min(part * size)..len.min((part + 1) * size);
            let (values, own) = (&m.values()[of(m.entries(), entries)], of(m.rows(), rows));
            let (y, after) = rest.split_at_mut(own.len() * width);
            parts.push((values, &m.places()[own], y));
            rest = after;
        }
    }
    let cpu = current();
    parts.into_par_iter().map(|(values, places, y)| cpu.run(Stream { values, places, y })).sum()
}

struct Stream<'a> {
    values: &'a [f32],
    places: &'a [u16],
    y: &'a mut [f32],
}

impl WithSimd for Stream<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (values, rest) = S::as_simd_f32s(self.values);
        let (fours, last) = values.as_chunks::<4>();
        let mut sums = [simd.splat_f32s(0.0); 4];
        for four in fours {
            for u in 0..4 {
                sums[u] = simd.add_f32s(sums[u], four[u]);
            }
        }
        for value in last {
            sums[0] = simd.add_f32s(sums[0], *value);
        }
        let places = self.places.iter().fold(0, |sum: u16, &place| sum ^ place);
        let sum = simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
        let sum = simd.reduce_sum_f32s(sum) + rest.iter().sum::<f32>() + f32::from(places);
        let (vectors, rest) = S::as_mut_simd_f32s(self.y);
        let sums = simd.splat_f32s(sum);
        for vector in vectors {
            *vector = sums;
        }
        rest.fill(sum);
        sum
    }
}

struct Gather<'a> {
    columns: &'a [u32],
    x: &'a [f32],
    width: usize,
    ahead: usize,
}

impl WithSimd for Gather<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        match (self.width, self.width / S::F32_LANES, self.width % S::F32_LANES) {
            (1, ..) => self.narrow::<1>(),
            (2, ..) => self.narrow::<2>(),
            (4, ..) => self.narrow::<4>(),
            (6, ..) => self.narrow::<6>(),
            (8, ..) => self.narrow::<8>(),
            (_, 1, 0) => self.vectors::<S, 1, 8>(simd),
            (_, 2, 0) => self.vectors::<S, 2, 4>(simd),
            (_, 4, 0) => self.vectors::<S, 4, 2>(simd),
            (_, 8, 0) => self.vectors::<S, 8, 1>(simd),
            (_, 16, 0) => self.vectors::<S, 16, 1>(simd),
            _ => self.any(simd),
        }
    }
}

impl Gather<'_> {
    /// The address of the row of `width` elements that an entry names; asks for a later one.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn row(&self, entry: usize, width: usize) -> *const f32 {
        debug_assert!(entry < self.columns.len());
        if self.ahead > 0 {
            // Beyond the end the last column again: a hint that costs little.
            let ahead = (entry + self.ahead).min(self.columns.len() - 1);
            // SAFETY: not beyond the last.
            let later = unsafe { *self.columns.get_unchecked(ahead) };
            prefetch(self.x, later as usize * width, width);
        }
        // SAFETY: callers ask for entries that there are.
        let column = unsafe { *self.columns.get_unchecked(entry) };
        self.x.as_ptr().wrapping_add(column as usize * width)
    }

    #[inline(always)]
    fn narrow<const W: usize>(self) -> f32 {
        let mut sums = [[0.0; W]; 8];
        let even = self.columns.len() / 8 * 8;
        let mut i = 0;
        while i < even {
            for u in 0..8 {
                self.add_narrow(i + u, &mut sums[u]);
            }
            i += 8;
        }
        while i < self.columns.len() {
            self.add_narrow(i, &mut sums[0]);
            i += 1;
        }
        sums.as_flattened().iter().sum()
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn add_narrow<const W: usize>(&self, entry: usize, sums: &mut [f32; W]) {
        // SAFETY: an arranged matrix has checked that the column lies below `cols`, and
        // `gather_sum` has cut as many rows out of x, of `W` elements here.
        let row = unsafe { &*self.row(entry, W).cast::<[f32; W]>() };
        for j in 0..W {
            sums[j] += row[j];
        }
    }

    #[inline(always)]
    fn vectors<S: Simd, const K: usize, const U: usize>(self, simd: S) -> f32 {
        let mut sums = [[simd.splat_f32s(0.0); K]; U];
        let even = self.columns.len() / U * U;
        let mut i = 0;
        while i < even {
            for u in 0..U {
                self.add_vectors(simd, i + u, &mut sums[u]);
            }
            i += U;
        }
        while i < self.columns.len() {
            self.add_vectors(simd, i, &mut sums[0]);
            i += 1;
        }
        let mut sum = 0.0;
        for u in 0..U {
            for k in 0..K {
                sum += simd.reduce_sum_f32s(sums[u][k]);
            }
        }
        sum
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn add_vectors<S: Simd, const K: usize>(&self, simd: S, entry: usize, sums: &mut [S::f32s; K]) {
        let row = self.row(entry, K * S::F32_LANES);
        // SAFETY: the row lies inside x as in `add_narrow`, and `K` vectors, which may lie
        // anywhere, are its elements.
        let row = unsafe { &*row.cast::<[S::f32s; K]>() };
        for k in 0..K {
            sums[k] = simd.add_f32s(sums[k], row[k]);
        }
    }

    /// Any other width, a vector at a time.
    #[inline(always)]
    fn any<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat_f32s(0.0); 2];
        for &column in self.columns {
            let (row, rest) =
                S::as_simd_f32s(&self.x[column as usize * self.width..][..self.width]);
            for value in row {
                sums[0] = simd.add_f32s(sums[0], *value);
            }
            sums[1] = simd.add_f32s(sums[1], simd.partial_load_f32s(rest));
        }
        simd.reduce_sum_f32s(simd.add_f32s(sums[0], sums[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{everywhere, sparse};

    #[test]
    fn every_gathered_row_is_added_once() {
        let m = sparse(2, 70, 50, 1003);
        let arranged = Arranged::new(m.view(), 50);
        for width in [1, 2, 5, 6, 8, 16, 17, 32, 64, 256] {
            let x: Vec<f32> = (0..50 * width).map(|i| (i % 7) as f32).collect();
            let row = |&column: &u32| x[column as usize * width..][..width].iter().sum::<f32>();
            let expected: f32 = m.columns.iter().map(row).sum();
            for ahead in [0, 4] {
                let sum = || vec![gather_sum(&[&arranged], &x, width, ahead)];
                everywhere(sum, |_, sum| assert_eq!(sum, [expected]));
            }
        }
    }
}
