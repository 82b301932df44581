//! Scores and sums over entries for several heads.

use super::Gat;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scratch::{self, Scratch};
use crate::cpu::sparse_sum::{Terms, sum_rows};
use pulp::Simd;

impl Gat {
    /// The number of heads, known to the compiler if `H` is not 0: loops over a few heads are
    /// unrolled.
    #[inline(always)]
    pub(super) fn heads_known<const H: usize>(&self) -> usize {
        if H > 0 { H } else { self.heads }
    }

    /// The score of an entry before the leaky relu.
    #[inline(always)]
    pub(super) fn score(&self, value: f32, source: f32, destination: f32) -> f32 {
        let sum = source + destination;
        if self.weighted { value * sum } else { sum }
    }
}

/// Room for one value per head: registers if their number is known, else scratch.
#[inline(always)]
pub(super) fn per_head<const H: usize>(heads: usize) -> ([f32; H], Scratch) {
    ([0.0; H], scratch::take(if H > 0 { 0 } else { heads }))
}

#[inline(always)]
pub(super) fn multiply(x: &[f32], y: &mut [f32]) {
    for (x, y) in x.iter().zip(y) {
        *y *= x;
    }
}

/// Entries as seen by one head.
pub(super) trait Heads: Terms {
    /// The same entries as seen by another head.
    fn at_head(self, head: usize) -> Self;

    /// Number of heads and columns of a head.
    fn heads(&self) -> (usize, usize);

    /// Factors of the entry for this head and the following ones.
    fn factors(&self, i: usize) -> &[f32];
}

/// y (+)= Σ factor·x for all heads; heads as wide as a vector go eight or four at a time, so that
/// an entry is looked up once for all of them.
#[inline(always)]
pub(super) fn sum_heads<S: Simd, T: Heads>(
    simd: S,
    terms: T,
    x: &[f32],
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let (heads, d) = terms.heads();
    let mut head = 0;
    if d == S::F32_LANES {
        while heads - head >= 8 {
            vector_heads::<S, T, 8>(simd, terms.at_head(head), x, &mut y[head * d..], accumulate);
            head += 8;
        }
        if heads - head >= 4 {
            vector_heads::<S, T, 4>(simd, terms.at_head(head), x, &mut y[head * d..], accumulate);
            head += 4;
        }
    }
    for head in head..heads {
        sum_rows(simd, terms.at_head(head), x, &mut y[head * d..(head + 1) * d], accumulate);
    }
}

/// `G` heads of one vector each.
#[inline(always)]
fn vector_heads<S: Simd, T: Heads, const G: usize>(
    simd: S,
    terms: T,
    x: &[f32],
    y: &mut [f32],
    accumulate: Accumulate,
) {
    let y = S::as_mut_simd_f32s(&mut y[..G * S::F32_LANES]).0;
    let mut sums = [simd.splat_f32s(0.0); G];
    if accumulate == Accumulate::Add {
        sums.copy_from_slice(y);
    }
    for i in 0..terms.len() {
        let (_, place) = terms.term(i);
        let x = S::as_simd_f32s(&x[place..][..G * S::F32_LANES]).0;
        let factors = &terms.factors(i)[..G];
        for g in 0..G {
            sums[g] = simd.mul_add_e_f32s(simd.splat_f32s(factors[g]), x[g], sums[g]);
        }
    }
    y.copy_from_slice(&sums);
}

/// The entries of a row as seen by one head.
#[derive(Clone, Copy)]
pub(super) struct HeadTerms<'a> {
    pub(super) columns: &'a [u32],
    pub(super) alpha: &'a [f32],
    pub(super) head: usize,
    pub(super) heads: usize,
    pub(super) width: usize,
}

impl Terms for HeadTerms<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.columns.len()
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        let place = (self.columns[i] as usize * self.heads + self.head) * self.width;
        (self.alpha[i * self.heads + self.head], place)
    }
}

impl Heads for HeadTerms<'_> {
    #[inline(always)]
    fn at_head(self, head: usize) -> Self {
        Self { head, ..self }
    }

    #[inline(always)]
    fn heads(&self) -> (usize, usize) {
        (self.heads, self.width)
    }

    #[inline(always)]
    fn factors(&self, i: usize) -> &[f32] {
        &self.alpha[i * self.heads + self.head..]
    }
}

/// The entries of a transposed row as seen by one head; coefficients lie in the order of the
/// matrix itself.
#[derive(Clone, Copy)]
pub(super) struct EdgeTerms<'a> {
    pub(super) destinations: &'a [u32],
    pub(super) edges: &'a [u32],
    pub(super) alpha: &'a [f32],
    pub(super) head: usize,
    pub(super) heads: usize,
    pub(super) width: usize,
}

impl Terms for EdgeTerms<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.edges.len()
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        let place = (self.destinations[i] as usize * self.heads + self.head) * self.width;
        (self.alpha[self.edges[i] as usize * self.heads + self.head], place)
    }
}

impl Heads for EdgeTerms<'_> {
    #[inline(always)]
    fn at_head(self, head: usize) -> Self {
        Self { head, ..self }
    }

    #[inline(always)]
    fn heads(&self) -> (usize, usize) {
        (self.heads, self.width)
    }

    #[inline(always)]
    fn factors(&self, i: usize) -> &[f32] {
        &self.alpha[self.edges[i] as usize * self.heads + self.head..]
    }
}
