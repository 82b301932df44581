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

/// `out[j] += Σ x[row, j]`, over rows.
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

/// Elements of rows that are added side by side when a row is shorter than a few vectors.
const SIDE: usize = 96;

/// part[j] += Σ over rows of x[row, j]; narrow rows are added several at a time, in an order
/// that depends on their width only.
#[inline(always)]
pub(crate) fn add_rows(x: &[f32], part: &mut [f32]) {
    let cols = part.len();
    if cols == 0 || cols > SIDE / 3 {
        return add_rows_singly(x, part);
    }
    let side = SIDE / cols * cols;
    let mut sums = [0.0; SIDE];
    let sums = &mut sums[..side];
    let mut chunks = x.chunks_exact(side);
    for chunk in &mut chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x;
        }
    }
    add_rows_singly(sums, part);
    add_rows_singly(chunks.remainder(), part);
}

#[inline(always)]
fn add_rows_singly(x: &[f32], part: &mut [f32]) {
    if part.is_empty() {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{assert_close, everywhere, exact, numbers};

    #[test]
    fn column_sums_agree_with_f64() {
        let widths = [1, 2, 3, 5, 8, 16, 17, 33, 64, 100];
        for (rows, cols) in widths.map(|w| (1777, w)).into_iter().chain([(0, 3), (3, 0), (1, 1)]) {
            let x = numbers(1, rows * cols, 1.0);
            let mut expected = vec![1.0; cols];
            for (i, x) in x.iter().enumerate() {
                expected[i % cols] += f64::from(*x);
            }
            let run = || {
                let mut out = vec![1.0; cols];
                column_sums(&x, rows, cols, &mut out);
                out
            };
            everywhere(run, |level, out| assert_close(level, out, &expected, 1e-4));
        }
    }

    #[test]
    fn sums_keep_the_digits_of_f64_and_the_same_bits_everywhere() {
        for len in [0, 1, 100, 2_000_003] {
            let x: Vec<f32> = numbers(1, len, 1.0).iter().map(|x| x + 100.0).collect();
            let expected =
                [exact(&x).iter().sum::<f64>(), exact(&x).iter().map(|x| x * x).sum::<f64>()];
            let best = [sum(&x), squared_norm(&x) as f32];
            everywhere(
                || vec![sum(&x), squared_norm(&x) as f32],
                |level, got| {
                    assert_close(level, got, &expected, 6e-8);
                    assert_eq!(got, best);
                },
            );
        }
    }
}
