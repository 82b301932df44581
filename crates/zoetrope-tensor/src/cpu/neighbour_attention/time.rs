//! The gradients of the time encoder from the slots of one target.

// Loops over vectors are written out: iterators over them may end up outside the function that is
// compiled for the vector instructions, and the vectors in memory.
#![allow(clippy::needless_range_loop)]

use pulp::Simd;

/// What reaches the time encoding of each slot.
#[derive(Clone, Copy)]
pub(super) struct TimeTerms<'a> {
    /// One row for each slot, as wide as half of the sums.
    pub(super) sines: &'a [f32],
    pub(super) deltas: &'a [f64],
    /// For each slot ᾱ of all heads, then the slopes of the scores of all heads.
    pub(super) terms: &'a [f32],
    /// The gradient of the result and the query, from the time's part of the first head on.
    pub(super) d_out: &'a [f32],
    pub(super) query: &'a [f32],
    /// Values from one head to the next.
    pub(super) stride: usize,
    pub(super) heads: usize,
}

/// Adds Σ sin·Δt·dx to the first half of `sums` and Σ sin·dx to the second, with
/// dx = Σ over heads of ᾱ·d_out + slope·query.
#[inline(always)]
pub(super) fn time_gradient<S: Simd>(simd: S, terms: TimeTerms, sums: &mut [f32]) {
    let room = sums.len() / 2;
    let (weights, biases) = sums.split_at_mut(room);
    let (weights, biases) = (S::as_mut_simd_f32s(weights).0, S::as_mut_simd_f32s(biases).0);
    let count = room / S::F32_LANES;
    let mut k = 0;
    while count - k >= 2 {
        columns::<S, 2>(simd, terms, k, &mut weights[k..k + 2], &mut biases[k..k + 2]);
        k += 2;
    }
    if k < count {
        columns::<S, 1>(simd, terms, k, &mut weights[k..], &mut biases[k..]);
    }
}

/// `K` vectors from vector `from` on.
#[inline(always)]
fn columns<S: Simd, const K: usize>(
    simd: S,
    terms: TimeTerms,
    from: usize,
    weights: &mut [S::f32s],
    biases: &mut [S::f32s],
) {
    match terms.heads {
        1 => columns_of::<S, K, 1>(simd, terms, from, weights, biases),
        2 => columns_of::<S, K, 2>(simd, terms, from, weights, biases),
        _ => columns_of::<S, K, 0>(simd, terms, from, weights, biases),
    }
}

/// The same for `H` heads, or for any number if that is 0.
#[inline(always)]
fn columns_of<S: Simd, const K: usize, const H: usize>(
    simd: S,
    terms: TimeTerms,
    from: usize,
    weights: &mut [S::f32s],
    biases: &mut [S::f32s],
) {
    let heads = if H > 0 { H } else { terms.heads };
    let start = from * S::F32_LANES;
    let len = K * S::F32_LANES;
    let (weights, biases) = (&mut weights[..K], &mut biases[..K]);
    let room = terms.sines.len() / terms.deltas.len();
    let zero = simd.splat_f32s(0.0);
    let (mut w, mut b) = ([zero; K], [zero; K]);
    for j in 0..terms.deltas.len() {
        let factors = &terms.terms[2 * heads * j..2 * heads * (j + 1)];
        let mut dx = [zero; K];
        for h in 0..heads {
            let place = h * terms.stride + start;
            let d_out = &S::as_simd_f32s(&terms.d_out[place..place + len]).0[..K];
            let query = &S::as_simd_f32s(&terms.query[place..place + len]).0[..K];
            let (weight, slope) =
                (simd.splat_f32s(factors[h]), simd.splat_f32s(factors[heads + h]));
            for k in 0..K {
                dx[k] = simd.mul_add_e_f32s(weight, d_out[k], dx[k]);
                dx[k] = simd.mul_add_e_f32s(slope, query[k], dx[k]);
            }
        }
        let sines = &S::as_simd_f32s(&terms.sines[j * room + start..][..len]).0[..K];
        let delta = simd.splat_f32s(terms.deltas[j] as f32);
        for k in 0..K {
            let slope = simd.mul_f32s(dx[k], sines[k]);
            b[k] = simd.add_f32s(b[k], slope);
            w[k] = simd.mul_add_e_f32s(slope, delta, w[k]);
        }
    }
    for k in 0..K {
        weights[k] = simd.add_f32s(weights[k], w[k]);
        biases[k] = simd.add_f32s(biases[k], b[k]);
    }
}
