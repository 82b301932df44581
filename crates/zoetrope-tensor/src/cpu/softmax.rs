//! Softmax over the rows of a matrix and over the entries of sparse rows, and log-softmax.
//!
//! The largest value of a row is subtracted first. A row whose values are all −∞, or that has no
//! entries, gives zeros (log-softmax: −∞ stays).

use super::blocks::{for_each_block, rows_per_block};
use super::math;
use super::simd::{Cpu, current};
use super::sparse_rows::{SplitOutput, for_each_range};
use super::spmm::CsrRef;
use pulp::{Simd, WithSimd};

/// Entries of a block of sparse rows.
const BLOCK: usize = 8 * 1024;

/// `y[i] = softmax(x[i])` for rows of `cols` elements.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn softmax_rows(x: &[f32], cols: usize, y: &mut [f32]) {
    each_row(cols, x, y, |cpu, _, x, y| cpu.run(SoftmaxRow { x, y }));
}

/// dx += y∘(dy − Σ dy∘y) per row, from the output `y`.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn softmax_rows_backward(y: &[f32], cols: usize, dy: &[f32], dx: &mut [f32]) {
    assert_eq!(y.len(), dy.len(), "gradient of the result");
    each_row(cols, y, dx, |cpu, range, y, dx| {
        let dy = &dy[range];
        cpu.run(|| softmax_slope(y, dy, dx));
    });
}

/// `y[i] = x[i] − ln Σ exp(x[i])` for rows of `cols` elements.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn log_softmax_rows(x: &[f32], cols: usize, y: &mut [f32]) {
    each_row(cols, x, y, |cpu, _, x, y| {
        let (max, sum) = cpu.run(ExpSum { x, y: None });
        let (max, log) = if max == f32::NEG_INFINITY { (0.0, 0.0) } else { (max, sum.ln()) };
        for (y, x) in y.iter_mut().zip(x) {
            *y = x - max - log;
        }
    });
}

/// dx += dy − exp(y)·Σ dy per row, from the output `y` of [`log_softmax_rows`].
///
/// # Panics
///
/// When the lengths do not fit.
pub fn log_softmax_rows_backward(y: &[f32], cols: usize, dy: &[f32], dx: &mut [f32]) {
    assert_eq!(y.len(), dy.len(), "gradient of the result");
    each_row(cols, y, dx, |_, range, y, dx| {
        let dy = &dy[range];
        let sum: f32 = dy.iter().sum();
        for ((dx, dy), y) in dx.iter_mut().zip(dy).zip(y) {
            *dx += dy - y.exp() * sum;
        }
    });
}

/// Softmax of the values `x` (one per entry) within every row of `m`, whose own values are not
/// used.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn segment_softmax(m: CsrRef, x: &[f32], y: &mut [f32]) {
    assert_eq!((x.len(), y.len()), (m.columns.len(), m.columns.len()), "one value per entry");
    let cpu = current();
    segments(m, y, |entries, y| cpu.run(SoftmaxRow { x: &x[entries], y }));
}

/// dx += y∘(dy − Σ dy∘y) within every row of `m`, from the output `y` of [`segment_softmax`].
///
/// # Panics
///
/// When the lengths do not fit.
pub fn segment_softmax_backward(m: CsrRef, y: &[f32], dy: &[f32], dx: &mut [f32]) {
    let entries = m.columns.len();
    assert_eq!((y.len(), dy.len(), dx.len()), (entries, entries, entries), "one value per entry");
    let cpu = current();
    segments(m, dx, |entries, dx| {
        cpu.run(|| softmax_slope(&y[entries.clone()], &dy[entries], dx));
    });
}

fn each_row(
    cols: usize,
    x: &[f32],
    y: &mut [f32],
    f: impl Fn(Cpu, std::ops::Range<usize>, &[f32], &mut [f32]) + Sync + Send,
) {
    assert_eq!(x.len(), y.len(), "matrices of one shape");
    if cols == 0 {
        return;
    }
    assert_eq!(x.len() % cols, 0, "whole rows of {cols}");
    let block = rows_per_block(cols);
    let cpu = current();
    for_each_block(y, block * cols, |i, y| {
        for (row, y) in (i * block..).zip(y.chunks_exact_mut(cols)) {
            let range = row * cols..(row + 1) * cols;
            f(cpu, range.clone(), &x[range], y);
        }
    });
}

/// Calls `f(entries, part of y)` for every row that has entries, in parallel.
fn segments<F>(m: CsrRef, y: &mut [f32], f: F)
where
    F: Fn(std::ops::Range<usize>, &mut [f32]) + Sync,
{
    let parts = [SplitOutput::entries(y, 1), SplitOutput::none(), SplitOutput::none()];
    for_each_range(m, BLOCK, parts, &|from, to, [y, ..]| {
        let first = m.offsets[from] as usize;
        for row in from..to {
            let entries = m.entries(row);
            if !entries.is_empty() {
                f(entries.clone(), &mut y.data[entries.start - first..entries.end - first]);
            }
        }
    });
}

#[inline(always)]
fn softmax_slope(y: &[f32], dy: &[f32], dx: &mut [f32]) {
    let sum: f32 = y.iter().zip(dy).map(|(y, dy)| y * dy).sum();
    for ((dx, y), dy) in dx.iter_mut().zip(y).zip(dy) {
        *dx += y * (dy - sum);
    }
}

/// Softmax of one row.
pub(crate) struct SoftmaxRow<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) y: &'a mut [f32],
}

impl WithSimd for SoftmaxRow<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, y } = self;
        let (max, sum) = ExpSum { x, y: Some(&mut *y) }.with_simd(simd);
        if max == f32::NEG_INFINITY {
            y.fill(0.0);
            return;
        }
        let factor = 1.0 / sum;
        for y in y {
            *y *= factor;
        }
    }
}

/// The largest value of a row and Σ exp(x − largest); the terms go to `y` if there is one.
pub(crate) struct ExpSum<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) y: Option<&'a mut [f32]>,
}

impl WithSimd for ExpSum<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f32, f32) {
        let Self { x, mut y } = self;
        let max = row_max(simd, x);
        if max == f32::NEG_INFINITY {
            return (max, 0.0);
        }
        let shift = simd.splat_f32s(max);
        let (heads, tail) = S::as_simd_f32s(x);
        let mut sums = simd.splat_f32s(0.0);
        for (i, x) in heads.iter().enumerate() {
            let e = math::exp(simd, simd.sub_f32s(*x, shift));
            sums = simd.add_f32s(sums, e);
            if let Some(y) = &mut y {
                S::as_mut_simd_f32s(y).0[i] = e;
            }
        }
        let mut sum = simd.reduce_sum_f32s(sums);
        if !tail.is_empty() {
            let mut lanes = [0.0; 16];
            let e = math::exp(simd, simd.sub_f32s(simd.partial_load_f32s(tail), shift));
            simd.partial_store_f32s(&mut lanes[..tail.len()], e);
            sum += lanes[..tail.len()].iter().sum::<f32>();
            if let Some(y) = y {
                S::as_mut_simd_f32s(y).1.copy_from_slice(&lanes[..tail.len()]);
            }
        }
        (max, sum)
    }
}

/// The largest value.
#[inline(always)]
fn row_max<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let (heads, tail) = S::as_simd_f32s(x);
    let mut max = f32::NEG_INFINITY;
    if let Some((first, rest)) = heads.split_first() {
        let mut lanes = *first;
        for x in rest {
            lanes = simd.max_f32s(lanes, *x);
        }
        max = simd.reduce_max_f32s(lanes);
    }
    tail.iter().fold(max, |max, &x| if x > max { x } else { max })
}

#[cfg(test)]
mod tests;
