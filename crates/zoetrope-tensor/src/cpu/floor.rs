//! What the memory system gives for the access pattern of a sparse product: the floor that
//! `bench/kernels` holds [`spmm`](super::spmm) against.
//!
//! A product y = M·x reads the columns of M and, for each of them, a row of x; beside that it
//! streams values and offsets and writes y. The floor is the time of these two, each measured with
//! the same arrays in the same caches:
//!
//! - [`gather_sum`] loads the row of x that each column names and adds it to registers: no
//!   values, no ends of rows, no result, no bounds checks. How far ahead rows are asked for is
//!   the caller's choice, so that the best distance can be taken.
//! - [`stream_through`] reads values and offsets and writes y, in order.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::prefetch::prefetch;
use super::simd::current;
use super::spmm::CsrRef;

/// Parts that the entries of a matrix are split into.
const PARTS: usize = 8;

/// The columns of a matrix, known to lie below a number of rows of x.
#[derive(Debug, Clone, Copy)]
pub struct Gathered<'a> {
    columns: &'a [u32],
    rows: usize,
}

impl<'a> Gathered<'a> {
    /// Takes columns that lie below `rows`.
    ///
    /// # Panics
    /// Where one does not.
    pub fn new(columns: &'a [u32], rows: usize) -> Self {
        assert!(columns.iter().all(|&column| (column as usize) < rows), "columns below {rows}");
        Self { columns, rows }
    }
}

/// Adds up all gathered rows of `width` elements; the i-th matrix reads the i-th part of the
/// stacked `x`. Rows are asked for `ahead` entries early, 0 for not at all.
///
/// # Panics
/// Where `x` is shorter than the rows of all matrices.
pub fn gather_sum(matrices: &[Gathered], x: &[f32], width: usize, ahead: usize) -> f32 {
    let cpu = current();
    let part = |i: usize| {
        let (matrix, part) = (i / PARTS, i % PARTS);
        let from: usize = matrices[..matrix].iter().map(|m| m.rows * width).sum();
        let Gathered { columns, rows } = matrices[matrix];
        let x = &x[from..from + rows * width];
        let size = columns.len().div_ceil(PARTS);
        let columns =
            &columns[columns.len().min(part * size)..columns.len().min((part + 1) * size)];
        cpu.run(Gather { columns, x, width, ahead })
    };
    (0..matrices.len() * PARTS).into_par_iter().map(part).sum()
}

/// Reads the values and offsets of the matrices and writes y; the matrices' rows are stacked.
///
/// # Panics
/// Where `y` has not `width` elements for each row.
pub fn stream_through(matrices: &[CsrRef], width: usize, y: &mut [f32]) -> f32 {
    let mut parts = Vec::with_capacity(matrices.len() * PARTS);
    let mut rest = y;
    for m in matrices {
        let (rows, entries) = (m.rows.div_ceil(PARTS), m.values.len().div_ceil(PARTS));
        for part in 0..PARTS {
            let of = |len: usize, size: usize| len.min(part * size)..len.min((part + 1) * size);
            let (values, own) = (&m.values[of(m.values.len(), entries)], of(m.rows, rows));
            let (y, after) = rest.split_at_mut(own.len() * width);
            parts.push((values, &m.offsets[own], y));
            rest = after;
        }
    }
    let cpu = current();
    parts.into_par_iter().map(|(values, offsets, y)| cpu.run(Stream { values, offsets, y })).sum()
}

struct Stream<'a> {
    values: &'a [f32],
    offsets: &'a [u32],
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
        let offsets = self.offsets.iter().fold(0, |sum: u32, &offset| sum ^ offset);
        let sum = simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
        let sum = simd.reduce_sum_f32s(sum) + rest.iter().sum::<f32>() + offsets as f32;
        let (vectors, rest) = S::as_mut_simd_f32s(self.y);
        vectors.fill(simd.splat_f32s(sum));
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
    /// The row that an entry names.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn row(&self, entry: usize) -> &[f32] {
        if self.ahead > 0 {
            // Beyond the end the last column again: a hint that costs little.
            let ahead = (entry + self.ahead).min(self.columns.len() - 1);
            prefetch(self.x, self.columns[ahead] as usize * self.width, self.width);
        }
        let from = self.columns[entry] as usize * self.width;
        // SAFETY: `Gathered` has checked that the column lies below the rows of x, and
        // `gather_sum` that x has `width` elements for each of them.
        unsafe { self.x.get_unchecked(from..from + self.width) }
    }

    #[inline(always)]
    fn narrow<const W: usize>(self) -> f32 {
        let mut sums = [[0.0; W]; 8];
        let even = self.columns.len() / 8 * 8;
        for i in (0..even).step_by(8) {
            for (u, sums) in sums.iter_mut().enumerate() {
                add_row(self.row(i + u), sums);
            }
        }
        for i in even..self.columns.len() {
            add_row(self.row(i), &mut sums[0]);
        }
        sums.as_flattened().iter().sum()
    }

    #[inline(always)]
    fn vectors<S: Simd, const K: usize, const U: usize>(self, simd: S) -> f32 {
        let mut sums = [[simd.splat_f32s(0.0); K]; U];
        let even = self.columns.len() / U * U;
        for i in (0..even).step_by(U) {
            for (u, sums) in sums.iter_mut().enumerate() {
                add_vectors(simd, self.row(i + u), sums);
            }
        }
        for i in even..self.columns.len() {
            add_vectors(simd, self.row(i), &mut sums[0]);
        }
        sums.as_flattened().iter().map(|&sum| simd.reduce_sum_f32s(sum)).sum()
    }

    /// Any other width, a vector at a time.
    #[inline(always)]
    fn any<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat_f32s(0.0); 2];
        for i in 0..self.columns.len() {
            let (row, rest) = S::as_simd_f32s(self.row(i));
            for value in row {
                sums[0] = simd.add_f32s(sums[0], *value);
            }
            sums[1] = simd.add_f32s(sums[1], simd.partial_load_f32s(rest));
        }
        simd.reduce_sum_f32s(simd.add_f32s(sums[0], sums[1]))
    }
}

#[inline(always)]
fn add_row<const W: usize>(row: &[f32], sums: &mut [f32; W]) {
    let row = row.first_chunk::<W>().expect("W is the width");
    for j in 0..W {
        sums[j] += row[j];
    }
}

#[inline(always)]
fn add_vectors<S: Simd, const K: usize>(simd: S, row: &[f32], sums: &mut [S::f32s; K]) {
    let row = S::as_simd_f32s(row).0.first_chunk::<K>().expect("K vectors make the width");
    for k in 0..K {
        sums[k] = simd.add_f32s(sums[k], row[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::trial::everywhere;

    #[test]
    fn every_gathered_row_is_added_once() {
        let columns: Vec<u32> = (0..1003u32).map(|i| (i * i + 3) % 50).collect();
        for width in [1, 2, 5, 6, 16, 17, 32, 64, 256] {
            let x: Vec<f32> = (0..50 * width).map(|i| (i % 7) as f32).collect();
            let expected: f32 = columns
                .iter()
                .map(|&column| x[column as usize * width..][..width].iter().sum::<f32>())
                .sum();
            let sum = || vec![gather_sum(&[Gathered::new(&columns, 50)], &x, width, 4)];
            everywhere(sum, |_, sum| assert_eq!(sum, [expected]));
        }
    }

    #[test]
    #[should_panic(expected = "columns below 3")]
    fn a_column_outside_is_refused() {
        Gathered::new(&[0, 3], 3);
    }
}
