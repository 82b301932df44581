//! C = AᵀB for tall A and B of which one is narrow: the gradient of a small weight.
//!
//! For each row the elements of the narrow matrix scale the row of the other, in registers over a
//! block of rows. If a row is narrower than a vector, the vector reads on into the next row, and
//! the sums of those lanes are left out.

use pulp::{Simd, WithSimd};

use super::{Accumulate, Epilogue, MatMut, MatRef};
use crate::cpu::blocks::sum_over_blocks;
use crate::cpu::scratch;

/// Rows whose products are summed at a time, at least, and the most blocks of them.
const MIN_ROWS: usize = 1024;
const MAX_BLOCKS: usize = 64;
/// Columns of the narrow matrix, at most; and of both if neither is narrow.
const NARROW: usize = 8;
const SQUARE: usize = 16;

/// Whether a weight gradient of this shape is computed here.
pub(super) fn fits(b: MatRef, [m, n, k]: [usize; 3]) -> bool {
    let (less, more) = (m.min(n), m.max(n));
    !b.transposed && k >= 64 && less >= 1 && (less <= NARROW || more <= SQUARE)
}

/// C = epilogue(AᵀB (+ C)) for checked shapes.
pub(super) fn run(a: MatRef, b: MatRef, c: MatMut, accumulate: Accumulate, epilogue: &Epilogue) {
    let (m, n, k) = (c.rows, c.cols, a.rows);
    let swapped = m > n;
    let (scales, rows) = if swapped { (b, a) } else { (a, b) };
    let wide = rows.cols.next_multiple_of(2 * super::lanes(epilogue.cpu));
    let mut sums = scratch::zeroed(scales.cols * wide);
    let block = k.div_ceil(MAX_BLOCKS).max(MIN_ROWS);
    sum_over_blocks(k.div_ceil(block), &mut sums, |i, sums| {
        let range = i * block..k.min((i + 1) * block);
        epilogue.cpu.run(GradientRows { scales, rows, range, wide, sums });
    });
    for (i, c) in c.data.chunks_mut(c.stride).take(m).enumerate() {
        for (j, c) in c[..n].iter_mut().enumerate() {
            let sum = if swapped { sums[j * wide + i] } else { sums[i * wide + j] };
            *c = if accumulate == Accumulate::Add { *c + sum } else { sum };
        }
    }
    epilogue.apply(c.data, m, n, c.stride);
}

/// A block of rows on one thread.
struct GradientRows<'a> {
    scales: MatRef<'a>,
    rows: MatRef<'a>,
    range: std::ops::Range<usize>,
    wide: usize,
    sums: &'a mut [f32],
}

impl WithSimd for GradientRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = S::F32_LANES;
        let mut at = 0;
        while at < self.rows.cols {
            if self.rows.cols - at > lanes {
                self.columns::<S, 2, 1>(simd, at);
                at += 2 * lanes;
            } else {
                self.columns::<S, 1, 2>(simd, at);
                at += lanes;
            }
        }
    }
}

impl GradientRows<'_> {
    /// `V` vectors of columns from `at` on, for all scales; twice as many chains if `U` is 2.
    #[inline(always)]
    fn columns<S: Simd, const V: usize, const U: usize>(&mut self, simd: S, at: usize) {
        let count = self.scales.cols;
        let mut scale = 0;
        while scale < count {
            match count - scale {
                1 => self.tile::<S, 1, V, 4>(simd, at, scale),
                2 | 3 => self.tile::<S, 2, V, 2>(simd, at, scale),
                _ => self.tile::<S, 4, V, U>(simd, at, scale),
            }
            scale += match count - scale {
                1 => 1,
                2 | 3 => 2,
                _ => 4,
            };
        }
    }

    /// `M` scales by `V` vectors, in `U` chains of rows.
    // Indices instead of iterators: the sums have to stay in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn tile<S: Simd, const M: usize, const V: usize, const U: usize>(
        &mut self,
        simd: S,
        at: usize,
        scale: usize,
    ) {
        let (from, to, whole) = (self.range.start, self.range.end, V * S::F32_LANES);
        // Vectors of the last rows would end beyond the matrix.
        let room = (self.rows.data.len() + self.rows.stride).saturating_sub(at + whole);
        let safe = (room / self.rows.stride).clamp(from, to);
        let even = from + (safe - from) / U * U;
        let mut sums = [[[simd.splat_f32s(0.0); V]; M]; U];
        let scales = |row: usize| &self.scales.data[row * self.scales.stride + scale..][..M];
        let place = |row: usize| row * self.rows.stride + at;
        for row in (from..even).step_by(U) {
            for u in 0..U {
                let x = &self.rows.data[place(row + u)..][..whole];
                add::<S, M, V>(simd, scales(row + u), x, &mut sums[u]);
            }
        }
        let mut last = scratch::zeroed(whole);
        for row in even..to {
            let x = &self.rows.data[place(row)..];
            let len = whole.min(x.len());
            last[..len].copy_from_slice(&x[..len]);
            add::<S, M, V>(simd, scales(row), &last, &mut sums[0]);
        }
        for m in 0..M {
            for v in 0..V {
                let mut sum = sums[0][m][v];
                for u in 1..U {
                    sum = simd.add_f32s(sum, sums[u][m][v]);
                }
                let place = (scale + m) * self.wide + at + v * S::F32_LANES;
                S::as_mut_simd_f32s(&mut self.sums[place..place + S::F32_LANES]).0[0] = sum;
            }
        }
    }
}

/// sums += scales·x, `M` by `V` vectors.
// Indices instead of iterators: the sums have to stay in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn add<S: Simd, const M: usize, const V: usize>(
    simd: S,
    scales: &[f32],
    x: &[f32],
    sums: &mut [[S::f32s; V]; M],
) {
    let x = S::as_simd_f32s(x).0;
    for m in 0..M {
        let factor = simd.splat_f32s(scales[m]);
        for v in 0..V {
            sums[m][v] = simd.mul_add_e_f32s(factor, x[v], sums[m][v]);
        }
    }
}
