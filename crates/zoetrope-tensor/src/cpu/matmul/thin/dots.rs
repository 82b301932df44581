//! C = A·op(B) with a few columns of C and long rows of A: sums of products along the rows.

use pulp::{Simd, WithSimd};

use super::{Accumulate, Epilogue, MatMut, MatRef, padded_rows};
use crate::cpu::blocks::{for_each_block, rows_per_block};
use crate::cpu::scratch;

/// Most columns of C.
const MAX_COLUMNS: usize = 2;

/// Whether a product of this shape is computed here.
pub(super) fn fits([m, n, k]: [usize; 3], lanes: usize) -> bool {
    lanes > 1 && m >= 8 && (1..=MAX_COLUMNS).contains(&n) && k >= 2 * lanes
}

/// C = epilogue(A·op(B) (+ C)) for checked shapes.
pub(super) fn run(a: MatRef, b: MatRef, c: MatMut, accumulate: Accumulate, epilogue: &Epilogue) {
    let (n, k, stride) = (c.cols, a.cols, c.stride);
    let mut columns_of_b = scratch::take(n * k);
    padded_rows(b.t(), k, &mut columns_of_b);
    let b = &columns_of_b[..];
    let rows = rows_per_block(k);
    let end = (c.rows - 1) * stride + n;
    for_each_block(&mut c.data[..end], rows * stride, |i, c| {
        let a = MatRef { data: &a.data[i * rows * a.stride..], ..a };
        epilogue.cpu.run(DotRows { a, b, n, c: &mut *c, stride, accumulate });
        epilogue.apply(c, c.len().div_ceil(stride), n, stride);
    });
}

/// Rows of C on one thread.
struct DotRows<'a> {
    a: MatRef<'a>,
    b: &'a [f32],
    n: usize,
    c: &'a mut [f32],
    stride: usize,
    accumulate: Accumulate,
}

impl WithSimd for DotRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, b, n, c, stride, accumulate } = self;
        for (i, c) in c.chunks_mut(stride).enumerate() {
            let row = &a.data[i * a.stride..][..a.cols];
            for (c, b) in c[..n].iter_mut().zip(b.chunks_exact(a.cols)) {
                let sum = dot(simd, row, b);
                *c = if accumulate == Accumulate::Add { *c + sum } else { sum };
            }
        }
    }
}

/// Σ x·y in two chains of vectors.
#[inline(always)]
fn dot<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_tail), (y, y_tail)) = (S::as_simd_f32s(x), S::as_simd_f32s(y));
    let mut sums = [simd.splat_f32s(0.0); 2];
    let even = x.len() / 2 * 2;
    for i in (0..even).step_by(2) {
        sums[0] = simd.mul_add_e_f32s(x[i], y[i], sums[0]);
        sums[1] = simd.mul_add_e_f32s(x[i + 1], y[i + 1], sums[1]);
    }
    if even < x.len() {
        sums[0] = simd.mul_add_e_f32s(x[even], y[even], sums[0]);
    }
    if !x_tail.is_empty() {
        let (x, y) = (simd.partial_load_f32s(x_tail), simd.partial_load_f32s(y_tail));
        sums[1] = simd.mul_add_e_f32s(x, y, sums[1]);
    }
    simd.reduce_sum_f32s(simd.add_f32s(sums[0], sums[1]))
}
