//! Sums, differences, products and scalings, element by element or per row and column.
//!
//! Bound by memory: 30 GB/s from main memory (a plain copy: 30 to 48), 105 GB/s in the second-level
//! cache (15 November 2026, one core of a busy two-core AMD EPYC virtual machine with AVX-512).
//!
//! Chains of such operations are fused by [`chain_forward`].

pub use super::chain::{Instr, MAX_INPUTS, MAX_INSTRUCTIONS, chain_backward, chain_forward};

use super::blocks::{for_each_block, lanewise, rows_per_block};
use super::matmul::Accumulate;
use super::simd::{Lanewise, current};
use pulp::Simd;

/// y = a + b.
///
/// # Panics
///
/// When the lengths differ.
pub fn add(a: &[f32], b: &[f32], y: &mut [f32]) {
    lanewise(Add, [a, b], y);
}

/// y = a − b.
///
/// # Panics
///
/// When the lengths differ.
pub fn sub(a: &[f32], b: &[f32], y: &mut [f32]) {
    lanewise(Sub, [a, b], y);
}

/// y = a ∘ b.
///
/// # Panics
///
/// When the lengths differ.
pub fn mul(a: &[f32], b: &[f32], y: &mut [f32]) {
    lanewise(Mul, [a, b], y);
}

/// y += a ∘ b.
///
/// # Panics
///
/// When the lengths differ.
pub fn mul_add(a: &[f32], b: &[f32], y: &mut [f32]) {
    lanewise(MulAdd, [a, b], y);
}

/// y = a·x.
///
/// # Panics
///
/// When the lengths differ.
pub fn scale(a: f32, x: &[f32], y: &mut [f32]) {
    lanewise(Scale(a), [x], y);
}

/// y = a + factor·b.
///
/// # Panics
///
/// When the lengths differ.
pub fn add_scaled(a: &[f32], b: &[f32], factor: f32, y: &mut [f32]) {
    lanewise(AddScaled(factor), [a, b], y);
}

/// y (+)= a·x.
///
/// # Panics
///
/// When the lengths differ.
pub fn scaled(a: f32, x: &[f32], y: &mut [f32], accumulate: Accumulate) {
    match accumulate {
        Accumulate::Overwrite => scale(a, x, y),
        Accumulate::Add => scale_add(a, x, y),
    }
}

/// y += a·x.
///
/// # Panics
///
/// When the lengths differ.
pub fn scale_add(a: f32, x: &[f32], y: &mut [f32]) {
    lanewise(ScaleAdd(a), [x], y);
}

struct Add;
impl Lanewise<2> for Add {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b]: [S::f32s; 2], _: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }
}

struct Sub;
impl Lanewise<2> for Sub {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b]: [S::f32s; 2], _: S::f32s) -> S::f32s {
        simd.sub_f32s(a, b)
    }
}

struct Mul;
impl Lanewise<2> for Mul {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b]: [S::f32s; 2], _: S::f32s) -> S::f32s {
        simd.mul_f32s(a, b)
    }
}

struct AddScaled(f32);
impl Lanewise<2> for AddScaled {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b]: [S::f32s; 2], _: S::f32s) -> S::f32s {
        simd.mul_add_e_f32s(b, simd.splat_f32s(self.0), a)
    }
}

struct MulAdd;
impl Lanewise<2> for MulAdd {
    const READS_OUTPUT: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b]: [S::f32s; 2], y: S::f32s) -> S::f32s {
        simd.mul_add_e_f32s(a, b, y)
    }
}

struct Scale(f32);
impl Lanewise<1> for Scale {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        simd.mul_f32s(x, simd.splat_f32s(self.0))
    }
}

struct ScaleAdd(f32);
impl Lanewise<1> for ScaleAdd {
    const READS_OUTPUT: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], y: S::f32s) -> S::f32s {
        simd.mul_add_e_f32s(x, simd.splat_f32s(self.0), y)
    }
}

/// `y[i, j] = x[i, j] + bias[j]`.
///
/// # Panics
///
/// When the lengths do not fit `rows × cols`.
pub fn add_bias(x: &[f32], bias: &[f32], rows: usize, cols: usize, y: &mut [f32]) {
    assert_eq!(bias.len(), cols, "one bias per column");
    for_each_row(x, rows, cols, y, |_, x, y| {
        for ((y, x), b) in y.iter_mut().zip(x).zip(bias) {
            *y = x + b;
        }
    });
}

/// `y[i, j] = s[i]·x[i, j]`.
///
/// # Panics
///
/// When the lengths do not fit `rows × cols`.
pub fn row_scale(x: &[f32], s: &[f32], rows: usize, cols: usize, y: &mut [f32]) {
    assert_eq!(s.len(), rows, "one factor per row");
    for_each_row(x, rows, cols, y, |i, x, y| {
        let s = s[i];
        for (y, x) in y.iter_mut().zip(x) {
            *y = s * x;
        }
    });
}

/// `dx[i, j] += s[i]·dy[i, j]` and, if wanted, `ds[i] += Σⱼ x[i, j]·dy[i, j]`.
///
/// # Panics
///
/// When the lengths do not fit `rows × cols`.
pub fn row_scale_backward(
    x: &[f32],
    s: &[f32],
    rows: usize,
    cols: usize,
    dy: &[f32],
    dx: Option<&mut [f32]>,
    ds: Option<&mut [f32]>,
) {
    assert_eq!(s.len(), rows, "one factor per row");
    if let Some(dx) = dx {
        for_each_row(dy, rows, cols, dx, |i, dy, dx| {
            let s = s[i];
            for (dx, dy) in dx.iter_mut().zip(dy) {
                *dx += s * dy;
            }
        });
    }
    if let Some(ds) = ds {
        assert_eq!((x.len(), dy.len(), ds.len()), (rows * cols, rows * cols, rows));
        let block = rows_per_block(cols);
        for_each_block(ds, block, |i, ds| {
            for (row, ds) in (i * block..).zip(ds) {
                let range = row * cols..(row + 1) * cols;
                *ds += x[range.clone()].iter().zip(&dy[range]).map(|(x, dy)| x * dy).sum::<f32>();
            }
        });
    }
}

/// `y[i, j] = s[j]·x[i, j]`.
///
/// # Panics
///
/// When the lengths do not fit `rows × cols`.
pub fn column_scale(x: &[f32], s: &[f32], rows: usize, cols: usize, y: &mut [f32]) {
    assert_eq!(s.len(), cols, "one factor per column");
    for_each_row(x, rows, cols, y, |_, x, y| {
        for ((y, x), s) in y.iter_mut().zip(x).zip(s) {
            *y = s * x;
        }
    });
}

/// Calls `f(row, x, y)` for every row, in parallel by blocks, compiled for the vector level.
fn for_each_row(
    x: &[f32],
    rows: usize,
    cols: usize,
    y: &mut [f32],
    f: impl Fn(usize, &[f32], &mut [f32]) + Sync + Send,
) {
    assert_eq!((x.len(), y.len()), (rows * cols, rows * cols), "{rows}x{cols} matrices");
    if cols == 0 {
        return;
    }
    let block = rows_per_block(cols);
    let cpu = current();
    for_each_block(y, block * cols, |i, y| {
        let from = i * block;
        let x = &x[from * cols..][..y.len()];
        cpu.run(|| {
            for (row, (x, y)) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)).enumerate() {
                f(from + row, x, y);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{assert_close, everywhere, exact, numbers};

    #[test]
    fn element_wise_operations_agree_with_f64() {
        for len in [0, 1, 15, 33, 50_000] {
            let (a, b, old) = (numbers(1, len, 2.0), numbers(2, len, 2.0), numbers(3, len, 2.0));
            let [ea, eb, eo] = [&a, &b, &old].map(|x| exact(x));
            let expected: Vec<f64> = (0..len)
                .flat_map(|i| {
                    let (a, b, y) = (ea[i], eb[i], eo[i]);
                    [a + b, a - b, a * b, y + a * b, 0.5 * a, y - 1.5 * a]
                })
                .collect();
            let run = || {
                let mut ys = [(); 6].map(|()| old.clone());
                let [y0, y1, y2, y3, y4, y5] = &mut ys;
                add(&a, &b, y0);
                sub(&a, &b, y1);
                mul(&a, &b, y2);
                mul_add(&a, &b, y3);
                scale(0.5, &a, y4);
                scale_add(-1.5, &a, y5);
                (0..len).flat_map(|i| ys.each_ref().map(|y| y[i])).collect()
            };
            everywhere(run, |level, y| assert_close(level, y, &expected, 3e-7));
        }
    }

    #[test]
    fn rows_and_columns_are_scaled_and_shifted() {
        for (rows, cols) in [(1, 1), (3, 7), (900, 33), (5, 0), (0, 5)] {
            let (x, dy) = (numbers(1, rows * cols, 1.0), numbers(2, rows * cols, 1.0));
            let (per_row, per_col) = (numbers(3, rows, 1.0), numbers(4, cols, 1.0));
            let mut expected = vec![];
            for i in 0..rows {
                for j in 0..cols {
                    let (x, dy) = (f64::from(x[i * cols + j]), f64::from(dy[i * cols + j]));
                    let (r, c) = (f64::from(per_row[i]), f64::from(per_col[j]));
                    expected.extend([x + c, x * r, x * c, 1.0 + dy * r]);
                }
            }
            for i in 0..rows {
                let terms =
                    (0..cols).map(|j| f64::from(x[i * cols + j]) * f64::from(dy[i * cols + j]));
                expected.push(1.0 + terms.sum::<f64>());
            }
            let run = || {
                let mut ys = [(); 4].map(|()| vec![1.0; rows * cols]);
                let mut ds = vec![1.0; rows];
                let [y0, y1, y2, y3] = &mut ys;
                add_bias(&x, &per_col, rows, cols, y0);
                row_scale(&x, &per_row, rows, cols, y1);
                column_scale(&x, &per_col, rows, cols, y2);
                row_scale_backward(&x, &per_row, rows, cols, &dy, Some(y3), Some(&mut ds));
                let mut all: Vec<f32> =
                    (0..rows * cols).flat_map(|i| ys.each_ref().map(|y| y[i])).collect();
                all.extend(ds);
                all
            };
            everywhere(run, |level, y| assert_close(level, y, &expected, 3e-6));
        }
    }
}
