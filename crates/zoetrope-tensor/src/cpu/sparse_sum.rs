//! The inner loop of sparse kernels: Σ coefficient·x[column] over the entries of a row.
//!
//! The sum stays in registers: up to eight vectors side by side for wide rows, several partial
//! sums one after another for narrow ones (a single chain of additions would wait four cycles for
//! each term). The order of the additions depends on the width and the entries only.

use pulp::Simd;

use super::matmul::Accumulate;

/// Where the terms of a sum come from: `len` entries, each with a factor and a place in `x`.
pub(crate) trait Terms: Copy {
    fn len(&self) -> usize;

    /// Factor of the entry, and where its row of `x` begins.
    fn term(&self, i: usize) -> (f32, usize);
}

/// y (+)= Σ factor·x[place..place + y.len()].
#[inline(always)]
pub(crate) fn sum_rows<S: Simd, T: Terms>(
    simd: S,
    terms: T,
    x: &[f32],
    y: &mut [f32],
    accumulate: Accumulate,
) {
    if accumulate == Accumulate::Overwrite && terms.len() == 0 {
        return y.fill(0.0);
    }
    let lanes = S::F32_LANES;
    let mut from = 0;
    while y.len() - from >= 8 * lanes {
        vectors::<S, T, 8, 1, false>(simd, terms, x, from, y, accumulate);
        from += 8 * lanes;
    }
    if y.len() - from >= 4 * lanes {
        vectors::<S, T, 4, 1, false>(simd, terms, x, from, y, accumulate);
        from += 4 * lanes;
    }
    let left = y.len() - from;
    match (left / lanes, !left.is_multiple_of(lanes)) {
        (0, false) => {}
        (1, false) => vectors::<S, T, 1, 4, false>(simd, terms, x, from, y, accumulate),
        (2, false) => vectors::<S, T, 2, 2, false>(simd, terms, x, from, y, accumulate),
        (_, false) => vectors::<S, T, 3, 2, false>(simd, terms, x, from, y, accumulate),
        (0, true) => vectors::<S, T, 0, 4, true>(simd, terms, x, from, y, accumulate),
        (1, true) => vectors::<S, T, 1, 2, true>(simd, terms, x, from, y, accumulate),
        (2, true) => vectors::<S, T, 2, 2, true>(simd, terms, x, from, y, accumulate),
        (_, true) => vectors::<S, T, 3, 1, true>(simd, terms, x, from, y, accumulate),
    }
}

/// `K` whole vectors at once and, with `TAIL`, what is left of the row; `U` partial sums each.
#[inline(always)]
fn vectors<S: Simd, T: Terms, const K: usize, const U: usize, const TAIL: bool>(
    simd: S,
    terms: T,
    x: &[f32],
    from: usize,
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let whole = K * S::F32_LANES;
    let width = if TAIL { y.len() - from } else { whole };
    let (y, y_tail) = y[from..from + width].split_at_mut(whole);
    let y = S::as_mut_simd_f32s(y).0;
    let zero = simd.splat_f32s(0.0);
    let (mut sums, mut tails) = ([[zero; K]; U], [zero; U]);
    if accumulate == Accumulate::Add {
        sums[0].copy_from_slice(y);
        if TAIL {
            tails[0] = simd.partial_load_f32s(y_tail);
        }
    }
    let even = terms.len() / U * U;
    for i in (0..even).step_by(U) {
        for (u, (sums, tail)) in sums.iter_mut().zip(&mut tails).enumerate() {
            add_term::<S, K, TAIL>(simd, terms.term(i + u), x, from, width, sums, tail);
        }
    }
    for i in even..terms.len() {
        add_term::<S, K, TAIL>(simd, terms.term(i), x, from, width, &mut sums[0], &mut tails[0]);
    }
    let (mut sum, mut tail) = (sums[0], tails[0]);
    for (sums, other) in sums[1..].iter().zip(&tails[1..]) {
        for k in 0..K {
            sum[k] = simd.add_f32s(sum[k], sums[k]);
        }
        tail = simd.add_f32s(tail, *other);
    }
    y.copy_from_slice(&sum);
    if TAIL {
        simd.partial_store_f32s(y_tail, tail);
    }
}

#[inline(always)]
fn add_term<S: Simd, const K: usize, const TAIL: bool>(
    simd: S,
    (factor, place): (f32, usize),
    x: &[f32],
    from: usize,
    width: usize,
    sums: &mut [S::f32s; K],
    tail: &mut S::f32s,
) {
    let (x, x_tail) = x[place + from..][..width].split_at(K * S::F32_LANES);
    let x = S::as_simd_f32s(x).0;
    let factor = simd.splat_f32s(factor);
    for k in 0..K {
        sums[k] = simd.mul_add_e_f32s(factor, x[k], sums[k]);
    }
    if TAIL {
        *tail = simd.mul_add_e_f32s(factor, simd.partial_load_f32s(x_tail), *tail);
    }
}
