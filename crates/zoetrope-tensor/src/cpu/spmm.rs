//! Sparse times dense: `y[r] (+)= Σ v·x[c]` over the entries (c, v) of row r.
//!
//! Products take matrices [`Arranged`] beforehand. Windows of rows run in parallel, those of
//! several snapshots in one region; a row is computed by one thread in the order of its entries,
//! in a number of partial sums that depends on the width and the length of vectors only. The
//! backward pass is the same product with the transposed matrix.
//!
//! The floor is what the memory system needs for this access pattern: see [`floor`](super::floor).
//! Measured with `bench/kernels` (15 November 2026, one core of a busy two-core AMD EPYC virtual
//! machine with AVX-512, shortest of many runs) for one snapshot of 20,000 rows and 120,000 entries:
//!
//! | width | 2 | 6 | 8 | 16 | 32 | 64 | 128 | 256 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | µs | 72 | 114 | 93 | 131 | 206 | 451 | 982 | 2858 |
//! | of the floor | 79 % | 82 % | 82 % | 75 % | 87 % | 88 % | 88 % | 94 % |
//!
//! What lies above the floor at narrow widths is the end of a row: four partial sums to add, a place
//! to look up, a change of length now and then.

use super::arranged::Arranged;
use super::matmul::Accumulate;
use super::past_caches::STREAMING_BYTES_MIN;
use super::simd::{Cpu, current};

mod rows;

/// Multiply-adds below which windows are not given to another thread: a few microseconds.
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
/// When the lengths of `x` and `y` are not those of the columns and rows of M.
pub fn spmm(m: &Arranged, x: &[f32], width: usize, y: &mut [f32], accumulate: Accumulate) {
    spmm_group(&[m], x, width, y, accumulate);
}

/// y (+)= diag(M₀, M₁, …)·x for stacked `x` and `y`; all matrices have as many columns.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn spmm_group(
    ms: &[&Arranged],
    x: &[f32],
    width: usize,
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let rows: usize = ms.iter().map(|m| m.rows()).sum();
    let columns = ms.first().map_or(0, |m| m.cols());
    assert!(ms.iter().all(|m| m.cols() == columns), "matrices of one number of columns");
    assert_eq!(x.len(), ms.len() * columns * width, "rows of the stacked input");
    assert_eq!(y.len(), rows * width, "rows of the stacked result");
    if width == 0 || rows == 0 {
        return;
    }
    let past = accumulate == Accumulate::Overwrite && size_of_val(y) > STREAMING_BYTES_MIN;
    let job = Job { width, accumulate, past, cpu: current() };
    job.group(ms, x, y);
}

#[derive(Clone, Copy)]
struct Job {
    width: usize,
    accumulate: Accumulate,
    past: bool,
    cpu: Cpu,
}

impl Job {
    fn group(self, ms: &[&Arranged], x: &[f32], y: &mut [f32]) {
        let work: usize = ms.iter().map(|m| m.work(0, m.windows())).sum();
        let columns = x.len() / ms.len().max(1);
        match ms {
            [] => {}
            [m] => self.windows(m, x, 0, m.windows(), y),
            _ => {
                let (first, second) = ms.split_at(ms.len() / 2);
                let rows: usize = first.iter().map(|m| m.rows()).sum();
                let (x0, x1) = x.split_at(first.len() * columns);
                let (y0, y1) = y.split_at_mut(rows * self.width);
                if work * self.width <= BLOCK {
                    self.group(first, x0, y0);
                    return self.group(second, x1, y1);
                }
                rayon::join(|| self.group(first, x0, y0), || self.group(second, x1, y1));
            }
        }
    }

    /// The windows `from..to`, whose rows are those of `y`.
    fn windows(self, m: &Arranged, x: &[f32], from: usize, to: usize, y: &mut [f32]) {
        if to - from <= 1 {
            if from < to {
                self.window(m, x, from, y);
            }
            return;
        }
        let middle = (from + to) / 2;
        let rows = m.first_row(middle) - m.first_row(from);
        let (y0, y1) = y.split_at_mut(rows * self.width);
        if m.work(from, to) * self.width <= BLOCK {
            self.windows(m, x, from, middle, y0);
            return self.windows(m, x, middle, to, y1);
        }
        rayon::join(|| self.windows(m, x, from, middle, y0), || self.windows(m, x, middle, to, y1));
    }

    #[allow(unsafe_code)]
    fn window(self, m: &Arranged, x: &[f32], window: usize, y: &mut [f32]) {
        assert_eq!(x.len(), m.cols() * self.width, "rows of x");
        let Self { width, accumulate, past, cpu } = self;
        // SAFETY: an arranged matrix has checked that its columns lie below `cols`, of which x
        // has the rows, as was asserted.
        let rows =
            unsafe { rows::WindowProduct::new(m.window(window), x, width, y, accumulate, past) };
        cpu.run(rows);
    }
}

#[cfg(test)]
mod tests;
