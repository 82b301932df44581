//! Sparse times dense: `y[r] (+)= Σ v·x[c]` over the entries (c, v) of row r.
//!
//! Rows are split by the work in them, so that a few rows with most of the entries do not leave
//! threads idle. A row is computed by one thread in the order of its entries: the result does
//! not depend on the split. The backward pass is the same product with the transposed matrix.
//!
//! Floor and measurement (15 November 2026, one core of a busy two-core AMD EPYC virtual machine
//! with AVX-512, shortest of many runs): a product that fits the first-level cache (129 rows,
//! 1,800 entries) is bound by one load and one multiply-add per vector and entry; it reaches
//! 29 GFLOP/s at width 8, 52 at 32, 71 at 128 (60 % of the core's peak). With 20,000 rows and
//! 186,000 entries of random columns it is bound by fetching the gathered rows from the second
//! and third level: 54 GB/s of them at width 64, 45 GB/s at 32, 0.85 ns an entry at width 1.

use super::matmul::Accumulate;
use super::simd::{Cpu, current};
use super::sparse_sum::{Terms, sum_rows};
use pulp::{Simd, WithSimd};

/// Multiply-adds of one block of rows: a few microseconds.
const BLOCK: usize = 1 << 16;

/// A sparse matrix by rows: destinations are rows, sources are columns.
#[derive(Debug, Clone, Copy)]
pub struct CsrRef<'a> {
    /// Number of rows.
    pub rows: usize,
    /// `rows + 1` positions into `columns` and `values`.
    pub offsets: &'a [u32],
    /// Column of each entry.
    pub columns: &'a [u32],
    /// Value of each entry.
    pub values: &'a [f32],
}

impl<'a> CsrRef<'a> {
    /// The positions of a row's entries.
    #[inline(always)]
    pub fn entries(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// Checks that offsets, columns and values belong together.
    ///
    /// # Panics
    ///
    /// When they do not.
    pub(crate) fn check(&self) {
        assert_eq!(self.offsets.len(), self.rows + 1, "one offset per row and one more");
        assert_eq!(self.columns.len(), self.values.len(), "one value per entry");
        assert_eq!(self.offsets[self.rows] as usize, self.columns.len(), "the last offset");
    }

    /// The row that halves the work (entries plus rows) of `from..to`, strictly inside.
    pub(crate) fn halve(&self, from: usize, to: usize) -> usize {
        let position = |row: usize| self.offsets[row] as usize + row;
        let target = (position(from) + position(to)) / 2;
        let (mut low, mut high) = (from + 1, to - 1);
        while low < high {
            let middle = (low + high) / 2;
            if position(middle) < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Entries plus rows of `from..to`.
    pub(crate) fn work(&self, from: usize, to: usize) -> usize {
        (self.offsets[to] - self.offsets[from]) as usize + to - from
    }
}

/// y (+)= M·x for `x` with rows of `width` elements.
///
/// # Panics
///
/// When `y` is not `m.rows × width`, or a column lies outside `x`.
pub fn spmm(m: CsrRef, x: &[f32], width: usize, y: &mut [f32], accumulate: Accumulate) {
    m.check();
    assert_eq!(y.len(), m.rows * width, "rows of the result");
    if width == 0 || m.rows == 0 {
        return;
    }
    let job = Job { width, accumulate, cpu: current() };
    job.rows(m, x, 0, m.rows, y);
}

/// y (+)= diag(M₀, M₁, …)·x for stacked `x` (`x_rows` rows for each matrix) and stacked `y`.
///
/// # Panics
///
/// When the lengths do not fit, or a column lies outside its part of `x`.
pub fn spmm_group(
    ms: &[CsrRef],
    x: &[f32],
    x_rows: usize,
    width: usize,
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let rows: usize = ms.iter().map(|m| m.rows).sum();
    assert_eq!(x.len(), ms.len() * x_rows * width, "rows of the stacked input");
    assert_eq!(y.len(), rows * width, "rows of the stacked result");
    for m in ms {
        m.check();
    }
    if width == 0 || rows == 0 {
        return;
    }
    let job = Job { width, accumulate, cpu: current() };
    job.group(ms, x, x_rows, y);
}

#[derive(Clone, Copy)]
struct Job {
    width: usize,
    accumulate: Accumulate,
    cpu: Cpu,
}

impl Job {
    fn group(self, ms: &[CsrRef], x: &[f32], x_rows: usize, y: &mut [f32]) {
        let work: usize = ms.iter().map(|m| m.work(0, m.rows)).sum();
        if work * self.width <= BLOCK {
            let (mut x, mut y) = (x, y);
            for m in ms {
                let (x_own, x_rest) = x.split_at(x_rows * self.width);
                let (y_own, y_rest) = y.split_at_mut(m.rows * self.width);
                self.rows(*m, x_own, 0, m.rows, y_own);
                (x, y) = (x_rest, y_rest);
            }
            return;
        }
        match ms {
            [] => {}
            [m] => self.rows(*m, x, 0, m.rows, y),
            _ => {
                let (first, second) = ms.split_at(ms.len() / 2);
                let rows: usize = first.iter().map(|m| m.rows).sum();
                let (x0, x1) = x.split_at(first.len() * x_rows * self.width);
                let (y0, y1) = y.split_at_mut(rows * self.width);
                rayon::join(
                    || self.group(first, x0, x_rows, y0),
                    || self.group(second, x1, x_rows, y1),
                );
            }
        }
    }

    fn rows(self, m: CsrRef, x: &[f32], from: usize, to: usize, y: &mut [f32]) {
        if to - from <= 1 || m.work(from, to) * self.width <= BLOCK {
            if from < to {
                self.cpu.run(Block { m, x, width: self.width, from, y, job: self });
            }
            return;
        }
        let middle = m.halve(from, to);
        let (y0, y1) = y.split_at_mut((middle - from) * self.width);
        rayon::join(|| self.rows(m, x, from, middle, y0), || self.rows(m, x, middle, to, y1));
    }
}

/// A block of rows on one thread.
struct Block<'a> {
    m: CsrRef<'a>,
    x: &'a [f32],
    width: usize,
    from: usize,
    y: &'a mut [f32],
    job: Job,
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.width {
            1 => self.narrow::<1>(),
            2 => self.narrow::<2>(),
            3 => self.narrow::<3>(),
            4 => self.narrow::<4>(),
            6 => self.narrow::<6>(),
            8 => self.narrow::<8>(),
            _ => self.wide(simd),
        }
    }
}

impl Block<'_> {
    /// Rows of `W` elements, fewer than a vector: four partial sums a row.
    #[inline(always)]
    fn narrow<const W: usize>(self) {
        let (x, _) = self.x.as_chunks::<W>();
        let (y, _) = self.y.as_chunks_mut::<W>();
        for (row, y) in (self.from..).zip(y) {
            let mut sums = [[0.0; W]; 4];
            if self.job.accumulate == Accumulate::Add {
                sums[0] = *y;
            }
            let entries = self.m.entries(row);
            let (columns, columns_rest) = self.m.columns[entries.clone()].as_chunks::<4>();
            let (values, values_rest) = self.m.values[entries].as_chunks::<4>();
            for (columns, values) in columns.iter().zip(values) {
                for u in 0..4 {
                    add_scaled(values[u], &x[columns[u] as usize], &mut sums[u]);
                }
            }
            for (column, value) in columns_rest.iter().zip(values_rest) {
                add_scaled(*value, &x[*column as usize], &mut sums[0]);
            }
            for j in 0..W {
                y[j] = (sums[0][j] + sums[1][j]) + (sums[2][j] + sums[3][j]);
            }
        }
    }

    #[inline(always)]
    fn wide<S: Simd>(self, simd: S) {
        for (row, y) in (self.from..).zip(self.y.chunks_exact_mut(self.width)) {
            let entries = self.m.entries(row);
            let terms = Entries {
                columns: &self.m.columns[entries.clone()],
                values: &self.m.values[entries],
                width: self.width,
            };
            sum_rows(simd, terms, self.x, y, self.job.accumulate);
        }
    }
}

#[inline(always)]
fn add_scaled<const W: usize>(a: f32, x: &[f32; W], y: &mut [f32; W]) {
    for j in 0..W {
        y[j] += a * x[j];
    }
}

/// The entries of a row.
#[derive(Clone, Copy)]
struct Entries<'a> {
    columns: &'a [u32],
    values: &'a [f32],
    width: usize,
}

impl Terms for Entries<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.columns.len()
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        (self.values[i], self.columns[i] as usize * self.width)
    }
}

#[cfg(test)]
mod tests;
