//! Sums: of columns, of everything, of squares.
//!
//! Sums of everything are kept in sixteen f64 lanes per block of a fixed length, joined in a
//! fixed order, so that they are the same at every instruction set and thread count.

use super::blocks::{rows_per_block, sum_over_blocks};
use super::simd::current;
use rayon::prelude::*;

/// Elements of a block of a sum.
const SUM_BLOCK: usize = 16 * 1024;
/// Blocks whose sums are kept at once, on the stack.
const SUMS: usize = 64;

/// out[j] += Σ over rows of x[row, j].
///
/// # Panics
///
/// When `x` is not `rows × cols` or `out` not `cols` long.
pub fn column_sums(x: &[f32], rows: usize, cols: usize, out: &mut [f32]) {
    assert_eq!(x.len(), rows * cols, "elements of a {rows}x{cols} matrix");
    assert_eq!(out.len(), cols, "one sum per column");
    if cols == 0 || rows == 0 {
        return;
    }
    let block = rows_per_block(cols).max(16) * cols;
    let cpu = current();
    sum_over_blocks(x.len().div_ceil(block), out, |i, part| {
        let x = &x[i * block..x.len().min((i + 1) * block)];
        cpu.run(|| add_rows(x, part));
    });
}

/// part[j] += Σ over rows of x[row, j], in order.
#[inline(always)]
pub(crate) fn add_rows(x: &[f32], part: &mut [f32]) {
    for row in x.chunks_exact(part.len()) {
        for (sum, x) in part.iter_mut().zip(row) {
            *sum += x;
        }
    }
}

/// The sum of all elements, accumulated in f64.
pub fn sum(x: &[f32]) -> f32 {
    sum_by(x.len(), |i| f64::from(x[i])) as f32
}

/// The sum of the squares of all elements, accumulated in f64.
pub fn squared_norm(x: &[f32]) -> f64 {
    sum_by(x.len(), |i| f64::from(x[i]) * f64::from(x[i]))
}

/// Σ f(i) for i in 0..len, in blocks of a fixed length added in order.
pub(crate) fn sum_by(len: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let cpu = current();
    let block = |i: usize| {
        let (from, to) = (i * SUM_BLOCK, len.min((i + 1) * SUM_BLOCK));
        cpu.run(|| lanes_sum(from, to, &f))
    };
    let blocks = len.div_ceil(SUM_BLOCK);
    if blocks <= 1 {
        return if len == 0 { 0.0 } else { block(0) };
    }
    let mut total = 0.0;
    let mut sums = [0.0; SUMS];
    for first in (0..blocks).step_by(SUMS) {
        let sums = &mut sums[..SUMS.min(blocks - first)];
        sums.par_iter_mut().enumerate().for_each(|(i, sum)| *sum = block(first + i));
        for sum in sums {
            total += *sum;
        }
    }
    total
}

#[inline(always)]
fn lanes_sum(from: usize, to: usize, f: &impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0f64; 16];
    let whole = from + (to - from) / 16 * 16;
    for i in (from..whole).step_by(16) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            *lane += f(i + j);
        }
    }
    for (j, i) in (whole..to).enumerate() {
        lanes[j] += f(i);
    }
    lanes.iter().sum()
}
