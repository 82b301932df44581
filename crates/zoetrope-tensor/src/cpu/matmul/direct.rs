//! Products whose operands lie as the micro-kernels read them: nothing is packed.
//!
//! The micro-kernels of `gemm` add vectors times single factors. Kernels that choose their own
//! layout (`recurrent`) hand over vectors that are contiguous and factors at any strides, so a
//! product on a block of vertices costs its multiply-adds and hardly more.

use super::{Accumulate, packed};

/// Vectors are read whole: this many elements at a time, at most.
pub(crate) const WHOLE_VECTOR: usize = 16;

/// Vectors, one for each place of the inner dimension, the beginnings `stride` apart. Each can be
/// read up to a multiple of [`WHOLE_VECTOR`].
#[derive(Clone, Copy)]
pub(crate) struct Vectors<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

/// Factors, `inner` apart along the inner dimension and `outer` apart from result to result.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) inner: usize,
    pub(crate) outer: usize,
}

/// Results, one vector each, the beginnings `stride` apart.
pub(crate) struct Results<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) stride: usize,
}

/// results[j] (+)= Σₗ factors(j, l)·vectors[l] for `count` results of `width` elements over an
/// inner dimension of `deep`, on this thread.
///
/// # Panics
///
/// When an operand is too short.
#[allow(unsafe_code)]
pub(crate) fn direct(
    [width, count, deep]: [usize; 3],
    vectors: Vectors,
    factors: Factors,
    results: Results,
    accumulate: Accumulate,
) {
    if width == 0 || count == 0 {
        return;
    }
    let end = |count: usize, stride: usize| count.saturating_sub(1) * stride;
    let readable = end(deep, vectors.stride) + width.next_multiple_of(WHOLE_VECTOR);
    assert!(deep == 0 || vectors.data.len() >= readable, "vectors of a product");
    let last = end(deep, factors.inner) + end(count, factors.outer);
    assert!(deep == 0 || factors.data.len() > last, "factors of a product");
    let written = end(count, results.stride) + width;
    assert!(count == 1 || results.stride >= width, "results lie apart");
    assert!(results.data.len() >= written, "results of a product");
    let tiles = packed::Tiles {
        shape: [width, count, deep],
        vectors: vectors.data.as_ptr(),
        vector_stride: vectors.stride as isize,
        factors: factors.data.as_ptr(),
        factor_strides: (factors.inner as isize, factors.outer as isize),
        results: results.data.as_mut_ptr(),
        result_stride: results.stride,
    };
    // SAFETY: the extents were checked above, vectors rounded up; `results` is borrowed mutably.
    unsafe { tiles.run(accumulate == Accumulate::Add) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::numbers;

    #[test]
    fn vectors_times_factors_at_any_strides_are_added() {
        for (width, count, deep) in [(1, 1, 1), (5, 7, 3), (16, 6, 9), (80, 13, 40), (70, 3, 0)] {
            let readable = usize::max(width, 1).next_multiple_of(WHOLE_VECTOR);
            let vectors = numbers(1, deep * (width + 2) + readable, 1.0);
            for (inner, outer) in [(1, deep.max(1)), (count, 1), (0, 2)] {
                let factors = numbers(2, 1 + count * deep.max(2), 1.0);
                for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
                    let stride = width + 1;
                    let mut got = vec![3.0; count * stride];
                    let results = Results { data: &mut got, stride };
                    let left = Vectors { data: &vectors, stride: width + 2 };
                    let right = Factors { data: &factors, inner, outer };
                    direct([width, count, deep], left, right, results, accumulate);
                    let old = if accumulate == Accumulate::Add { 3.0 } else { 0.0 };
                    for (at, &got) in got.iter().enumerate() {
                        let (j, i) = (at / stride, at % stride);
                        let term = |l: usize| {
                            let factor = f64::from(factors[l * inner + j * outer]);
                            factor * f64::from(vectors[l * (width + 2) + i])
                        };
                        let sum = old + (0..deep).map(term).sum::<f64>();
                        let expected = if i < width { sum } else { 3.0 };
                        assert!((f64::from(got) - expected).abs() < 1e-4, "{got} {expected}");
                    }
                }
            }
        }
    }
}
