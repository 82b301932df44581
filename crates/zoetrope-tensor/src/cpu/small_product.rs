//! Products of small matrices inside a kernel: C = A·B with B and C padded to whole vectors.
//!
//! For attention over a few time steps, where a call to the general product would cost more than
//! the work. A is read one element at a time with any strides; rows of B and C are whole vectors.

use pulp::Simd;

/// A matrix by its first element and two strides.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a> {
    pub(crate) data: &'a [f32],
    /// Distance between rows.
    pub(crate) row: usize,
    /// Distance between neighbours in a row.
    pub(crate) step: usize,
}

impl Strided<'_> {
    #[inline(always)]
    fn at(&self, i: usize, l: usize) -> f32 {
        self.data[i * self.row + l * self.step]
    }
}

/// C[i] = Σₗ A(i, l)·B[l] for `rows` rows of C and `inner` rows of B, all `width` wide, which is
/// a multiple of the vector length.
#[inline(always)]
pub(crate) fn small_product<S: Simd>(
    simd: S,
    a: Strided,
    [rows, inner, width]: [usize; 3],
    b: &[f32],
    c: &mut [f32],
) {
    let vectors = width / S::F32_LANES;
    let b = S::as_simd_f32s(&b[..inner * width]).0;
    let c = S::as_mut_simd_f32s(&mut c[..rows * width]).0;
    let fours = rows / 4 * 4;
    for at in 0..vectors {
        for i in (0..fours).step_by(4) {
            row_block::<S, 4>(simd, a, i, inner, vectors, at, b, c);
        }
        for i in fours..rows {
            row_block::<S, 1>(simd, a, i, inner, vectors, at, b, c);
        }
    }
}

/// `R` rows of one column of vectors.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn row_block<S: Simd, const R: usize>(
    simd: S,
    a: Strided,
    i: usize,
    inner: usize,
    vectors: usize,
    at: usize,
    b: &[S::f32s],
    c: &mut [S::f32s],
) {
    let mut sums = [simd.splat_f32s(0.0); R];
    for l in 0..inner {
        let b = b[l * vectors + at];
        for (u, sum) in sums.iter_mut().enumerate() {
            *sum = simd.mul_add_e_f32s(simd.splat_f32s(a.at(i + u, l)), b, *sum);
        }
    }
    for (u, sum) in sums.iter().enumerate() {
        c[(i + u) * vectors + at] = *sum;
    }
}
