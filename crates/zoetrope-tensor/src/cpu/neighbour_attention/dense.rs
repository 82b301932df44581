//! Products with a tile: dots of its rows with the vectors of the heads, and sums of its rows.
//!
//! Four rows and two heads at a time, or up to seven vectors of two heads: eight or more sums in
//! registers, so that additions do not wait for each other and a loaded vector is used twice.

// Loops over vectors are written out: iterators over them may end up outside the function that is
// compiled for the vector instructions, and the vectors in memory.
#![allow(clippy::needless_range_loop)]

use pulp::Simd;

use super::tile::Columns;
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

/// out[h] (+)= Σ over rows j of coefficients[j, h]·row j; `out` has rows of X.
#[inline(always)]
pub(super) fn sums<S: Simd>(
    simd: S,
    tile: &[f32],
    columns: &Columns,
    coefficients: &[f32],
    out: &mut [f32],
    accumulate: Accumulate,
) {
    let heads = out.len() / columns.width;
    let job = Sums { tile, columns, coefficients, heads, accumulate };
    for part in 0..3 {
        let mut head = 0;
        while heads - head >= 2 {
            job.heads::<S, 2>(simd, part, head, &mut out[head * columns.width..]);
            head += 2;
        }
        if head < heads {
            job.heads::<S, 1>(simd, part, head, &mut out[head * columns.width..]);
        }
    }
}

#[derive(Clone, Copy)]
struct Sums<'a> {
    tile: &'a [f32],
    columns: &'a Columns,
    coefficients: &'a [f32],
    heads: usize,
    accumulate: Accumulate,
}

impl Sums<'_> {
    /// One part of `H` heads.
    #[inline(always)]
    fn heads<S: Simd, const H: usize>(self, simd: S, part: usize, head: usize, out: &mut [f32]) {
        let count = self.columns.widths[part].div_ceil(S::F32_LANES);
        let mut from = 0;
        while count - from > 7 {
            self.vectors::<S, H, 6>(simd, part, head, from, out);
            from += 6;
        }
        match count - from {
            0 => {}
            1 => self.vectors::<S, H, 1>(simd, part, head, from, out),
            2 => self.vectors::<S, H, 2>(simd, part, head, from, out),
            3 => self.vectors::<S, H, 3>(simd, part, head, from, out),
            4 => self.vectors::<S, H, 4>(simd, part, head, from, out),
            5 => self.vectors::<S, H, 5>(simd, part, head, from, out),
            6 => self.vectors::<S, H, 6>(simd, part, head, from, out),
            _ => self.vectors::<S, H, 7>(simd, part, head, from, out),
        }
    }

    /// `K` vectors of a part of `H` heads, from its vector `from` on.
    #[inline(always)]
    fn vectors<S: Simd, const H: usize, const K: usize>(
        self,
        simd: S,
        part: usize,
        head: usize,
        from: usize,
        out: &mut [f32],
    ) {
        let Columns { widths, starts, places, width, stride } = *self.columns;
        let place = places[part] + from * S::F32_LANES;
        let mut sums = [[simd.splat_f32s(0.0); K]; H];
        let rows = self.tile.chunks_exact(stride);
        for (x, factors) in rows.zip(self.coefficients.chunks_exact(self.heads)) {
            let x = &S::as_simd_f32s(&x[place..place + K * S::F32_LANES]).0[..K];
            let factors = &factors[head..head + H];
            for h in 0..H {
                let factor = simd.splat_f32s(factors[h]);
                for k in 0..K {
                    sums[h][k] = simd.mul_add_e_f32s(factor, x[k], sums[h][k]);
                }
            }
        }
        let first = from * S::F32_LANES;
        let len = (widths[part] - first).min(K * S::F32_LANES);
        for h in 0..H {
            let out = &mut out[h * width + starts[part] + first..][..len];
            let (whole, tail) = S::as_mut_simd_f32s(out);
            for k in 0..K {
                if k < whole.len() {
                    whole[k] = match self.accumulate {
                        Accumulate::Add => simd.add_f32s(whole[k], sums[h][k]),
                        Accumulate::Overwrite => sums[h][k],
                    };
                }
            }
            if !tail.is_empty() {
                let mut sum = sums[h][K - 1];
                if self.accumulate == Accumulate::Add {
                    sum = simd.add_f32s(sum, simd.partial_load_f32s(tail));
                }
                simd.partial_store_f32s(tail, sum);
            }
        }
    }
}
