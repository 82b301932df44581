//! Products with a tile: dots of its rows with the vectors of the heads, and sums of its rows.
//!
//! Four rows and two heads at a time, or six vectors of two heads: eight or twelve sums in
//! registers, so that additions do not wait for each other and a loaded vector is used twice.

// Loops over vectors are written out: iterators over them may end up outside the function that is
// compiled for the vector instructions, and the vectors in memory.
#![allow(clippy::needless_range_loop)]

use pulp::Simd;

use crate::cpu::matmul::Accumulate;

/// out[j, h] = row j of the tile · vector h, for as many heads as `out` has columns.
#[inline(always)]
pub(super) fn dots<S: Simd>(
    simd: S,
    tile: &[f32],
    stride: usize,
    vectors: &[f32],
    out: &mut [f32],
) {
    let heads = vectors.len() / stride;
    let mut head = 0;
    while heads - head >= 2 {
        dots_of_heads::<S, 2>(simd, tile, stride, &vectors[head * stride..], out, head, heads);
        head += 2;
    }
    if head < heads {
        dots_of_heads::<S, 1>(simd, tile, stride, &vectors[head * stride..], out, head, heads);
    }
}

#[inline(always)]
fn dots_of_heads<S: Simd, const H: usize>(
    simd: S,
    tile: &[f32],
    stride: usize,
    vectors: &[f32],
    out: &mut [f32],
    head: usize,
    heads: usize,
) {
    let rows = tile.len() / stride;
    let mut row = 0;
    while row < rows {
        let (own, out) = (&tile[row * stride..], &mut out[row * heads..]);
        if rows - row >= 4 {
            dots_of_rows::<S, 4, H>(simd, own, stride, vectors, out, head, heads);
            row += 4;
        } else {
            dots_of_rows::<S, 1, H>(simd, own, stride, vectors, out, head, heads);
            row += 1;
        }
    }
}

#[inline(always)]
fn dots_of_rows<S: Simd, const J: usize, const H: usize>(
    simd: S,
    tile: &[f32],
    stride: usize,
    vectors: &[f32],
    out: &mut [f32],
    head: usize,
    heads: usize,
) {
    let count = stride / S::F32_LANES;
    let (tile, vectors) =
        (S::as_simd_f32s(&tile[..J * stride]).0, S::as_simd_f32s(&vectors[..H * stride]).0);
    let (tile, vectors) = (&tile[..J * count], &vectors[..H * count]);
    let mut sums = [[simd.splat_f32s(0.0); H]; J];
    for k in 0..count {
        for j in 0..J {
            let x = tile[j * count + k];
            for h in 0..H {
                sums[j][h] = simd.mul_add_e_f32s(x, vectors[h * count + k], sums[j][h]);
            }
        }
    }
    for j in 0..J {
        for h in 0..H {
            out[j * heads + head + h] = simd.reduce_sum_f32s(sums[j][h]);
        }
    }
}

/// out[h] (+)= Σ over rows j of coefficients[j, h]·row j; `out` has rows of `width`.
#[inline(always)]
pub(super) fn sums<S: Simd>(
    simd: S,
    tile: &[f32],
    stride: usize,
    coefficients: &[f32],
    out: &mut [f32],
    width: usize,
    accumulate: Accumulate,
) {
    let heads = out.len() / width;
    let job = Sums { tile, stride, coefficients, heads, width, accumulate };
    let mut head = 0;
    while heads - head >= 2 {
        job.heads::<S, 2>(simd, head, &mut out[head * width..]);
        head += 2;
    }
    if head < heads {
        job.heads::<S, 1>(simd, head, &mut out[head * width..]);
    }
}

#[derive(Clone, Copy)]
struct Sums<'a> {
    tile: &'a [f32],
    stride: usize,
    coefficients: &'a [f32],
    heads: usize,
    width: usize,
    accumulate: Accumulate,
}

impl Sums<'_> {
    #[inline(always)]
    fn heads<S: Simd, const H: usize>(self, simd: S, head: usize, out: &mut [f32]) {
        let count = self.width.div_ceil(S::F32_LANES);
        let mut from = 0;
        while count - from >= 6 {
            self.vectors::<S, H, 6>(simd, head, from, out);
            from += 6;
        }
        while count - from >= 2 {
            self.vectors::<S, H, 2>(simd, head, from, out);
            from += 2;
        }
        if from < count {
            self.vectors::<S, H, 1>(simd, head, from, out);
        }
    }

    /// `K` vectors of `H` heads, from vector `from` on.
    #[inline(always)]
    fn vectors<S: Simd, const H: usize, const K: usize>(
        self,
        simd: S,
        head: usize,
        from: usize,
        out: &mut [f32],
    ) {
        let lanes = S::F32_LANES;
        let start = from * lanes;
        let mut sums = [[simd.splat_f32s(0.0); K]; H];
        let rows = self.tile.chunks_exact(self.stride);
        for (x, factors) in rows.zip(self.coefficients.chunks_exact(self.heads)) {
            let x = &S::as_simd_f32s(&x[start..start + K * lanes]).0[..K];
            for h in 0..H {
                let factor = simd.splat_f32s(factors[head + h]);
                for k in 0..K {
                    sums[h][k] = simd.mul_add_e_f32s(factor, x[k], sums[h][k]);
                }
            }
        }
        for h in 0..H {
            for k in 0..K {
                let (first, end) = ((from + k) * lanes, self.width.min((from + k + 1) * lanes));
                let out = &mut out[h * self.width + first..h * self.width + end];
                let mut sum = sums[h][k];
                if self.accumulate == Accumulate::Add {
                    sum = simd.add_f32s(sum, simd.partial_load_f32s(out));
                }
                simd.partial_store_f32s(out, sum);
            }
        }
    }
}
