//! Dropout whose mask is a function of a counter, so that nothing is stored.
//!
//! Element i is kept iff bits(i) ≥ p·2³² and then scaled by 1 / (1 − p); bits(i) is word i mod 4
//! of the Philox block i / 4 of (seed, stream, step). The backward pass makes the mask again,
//! at 0.76 ns an element (15 November 2026, one core of a two-core AMD EPYC virtual machine with
//! AVX-512): ten rounds of Philox on sixteen counters at a time.

use std::sync::Arc;

use super::blocks::{ELEMENTS, for_each_block};
use super::simd::current;
use pulp::{Simd, WithSimd};
use zoetrope_graph::random::Random;

/// Names a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropoutKey {
    /// Seed of the run.
    pub seed: u64,
    /// Which dropout of the model.
    pub stream: u32,
    /// Which step of the training.
    pub step: u32,
}

/// Which cells the rows of a matrix are: a mask is a function of the cell and the column, not of the place of a
/// row, so that whoever has a cell drops the same of it.
///
/// Row `r` of a matrix of `n` vertices is vertex `r mod n`, or the one of that place in `vertices`, at step
/// `first_step + r / n`; its cell is `step · all + vertex`. The default names rows by their places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cells {
    /// The step of the first row.
    pub first_step: usize,
    /// The number of all vertices.
    pub all: usize,
    /// The vertices that there are, if they are not all in their order.
    pub vertices: Option<Arc<Vec<u32>>>,
}

impl Cells {
    /// The first element of a matrix of `cols` columns whose rows are all vertices of some steps.
    pub(crate) fn first(&self, cols: usize) -> u64 {
        self.first_step as u64 * self.all as u64 * cols as u64
    }

    /// The first element of a row.
    fn of_row(&self, vertices: &[u32], row: usize, cols: usize) -> u64 {
        let (step, vertex) = (row / vertices.len(), vertices[row % vertices.len()]);
        ((self.first_step + step) as u64 * self.all as u64 + u64::from(vertex)) * cols as u64
    }
}

/// A probability of dropping and the mask's key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// Probability that an element is dropped.
    pub p: f32,
    /// Names the mask.
    pub key: DropoutKey,
}

/// Decides for every index whether it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mask {
    pub(crate) key: DropoutKey,
    pub(crate) threshold: u32,
    /// 1 / (1 − p), or 0 when nothing is kept.
    pub(crate) scale: f32,
}

impl From<Dropout> for Mask {
    fn from(dropout: Dropout) -> Self {
        Self::new(dropout.p, dropout.key)
    }
}

impl Mask {
    /// # Panics
    ///
    /// When `p` is not in [0, 1].
    pub(crate) fn new(p: f32, key: DropoutKey) -> Self {
        assert!((0.0..=1.0).contains(&p), "a probability of dropping in [0, 1], not {p}");
        let threshold = (f64::from(p) * 4_294_967_296.0) as u32;
        Self { key, threshold, scale: if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 } }
    }

    /// The factors of the elements 4·block … 4·block + 3.
    fn factors(&self, block: u64) -> [f32; 4] {
        let random = Random::new(self.key.seed, self.key.stream).at_step(self.key.step);
        random.block(block).map(|bits| if bits >= self.threshold { self.scale } else { 0.0 })
    }

    /// The factor of one element.
    #[cfg(test)]
    pub(crate) fn factor(&self, index: u64) -> f32 {
        self.factors(index / 4)[(index % 4) as usize]
    }

    /// The factors of the elements `first..first + factors.len()`.
    #[inline(always)]
    pub(crate) fn fill<S: Simd>(&self, simd: S, first: u64, factors: &mut [f32]) {
        // Up to the first element of a block of four, and again after the last whole group.
        let before = ((4 - first % 4) % 4).min(factors.len() as u64);
        let (start, rest) = factors.split_at_mut(before as usize);
        self.fill_singly(first, start);
        let group = 4 * S::U32_LANES;
        let mut at = first + before;
        let mut groups = rest.chunks_exact_mut(group);
        for factors in &mut groups {
            self.fill_group(simd, at / 4, factors);
            at += group as u64;
        }
        self.fill_singly(at, groups.into_remainder());
    }

    #[inline(never)]
    fn fill_singly(&self, first: u64, factors: &mut [f32]) {
        for (index, factor) in (first..).zip(factors) {
            *factor = self.factors(index / 4)[(index % 4) as usize];
        }
    }

    /// The factors of as many Philox blocks as a vector has lanes, one block a lane.
    #[inline(always)]
    fn fill_group<S: Simd>(&self, simd: S, block: u64, factors: &mut [f32]) {
        let (low, high) = (block as u32, (block >> 32) as u32);
        if low.checked_add(S::U32_LANES as u32).is_none() {
            return self.fill_singly(4 * block, factors);
        }
        let mut counters = [0u32; 16];
        for (i, counter) in counters[..S::U32_LANES].iter_mut().enumerate() {
            *counter = low + i as u32;
        }
        let counter = [
            S::as_simd_u32s(&counters[..S::U32_LANES]).0[0],
            simd.splat_u32s(high),
            simd.splat_u32s(self.key.step),
            simd.splat_u32s(self.key.stream),
        ];
        let words = philox(simd, counter, self.key.seed);
        let mut lanes = [[0.0f32; 16]; 4];
        for (lanes, bits) in lanes.iter_mut().zip(words) {
            let dropped = simd.less_than_u32s(bits, simd.splat_u32s(self.threshold));
            let (zero, scale) = (simd.splat_f32s(0.0), simd.splat_f32s(self.scale));
            let lanes = S::as_mut_simd_f32s(&mut lanes[..S::F32_LANES]).0;
            lanes[0] = simd.select_f32s(dropped, zero, scale);
        }
        for (i, factors) in factors.chunks_exact_mut(4).enumerate() {
            factors.copy_from_slice(&[lanes[0][i], lanes[1][i], lanes[2][i], lanes[3][i]]);
        }
    }
}

/// Philox 4×32-10 with a counter in every lane: the numbers of `zoetrope_graph::random`.
#[inline(always)]
fn philox<S: Simd>(simd: S, mut c: [S::u32s; 4], seed: u64) -> [S::u32s; 4] {
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let (first_low, first_high) = simd.widening_mul_u32s(c[0], simd.splat_u32s(0xD251_1F53));
        let (second_low, second_high) = simd.widening_mul_u32s(c[2], simd.splat_u32s(0xCD9E_8D57));
        c = [
            simd.xor_u32s(simd.xor_u32s(second_high, c[1]), simd.splat_u32s(key[0])),
            second_low,
            simd.xor_u32s(simd.xor_u32s(first_high, c[3]), simd.splat_u32s(key[1])),
            first_low,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// y = x with elements dropped with probability `p` and the others scaled by 1 / (1 − p).
///
/// # Panics
///
/// When the lengths differ or `p` is not in [0, 1].
pub fn dropout_forward(x: &[f32], dropout: Dropout, cells: &Cells, cols: usize, y: &mut [f32]) {
    each(x, dropout, cells, cols, y, false);
}

/// dx += dy with the mask of [`dropout_forward`].
///
/// # Panics
///
/// When the lengths differ or `p` is not in [0, 1].
pub fn dropout_backward(dy: &[f32], dropout: Dropout, cells: &Cells, cols: usize, dx: &mut [f32]) {
    each(dy, dropout, cells, cols, dx, true);
}

fn each(x: &[f32], dropout: Dropout, cells: &Cells, cols: usize, y: &mut [f32], add: bool) {
    assert_eq!(x.len(), y.len(), "slices of one length");
    let (mask, cpu) = (Mask::from(dropout), current());
    let Some(vertices) = cells.vertices.as_deref().filter(|_| cols > 0) else {
        let before = cells.first(cols);
        return for_each_block(y, ELEMENTS, |i, y| {
            let x = &x[i * ELEMENTS..][..y.len()];
            let first = before + (i * ELEMENTS) as u64;
            cpu.run(DropoutBlock { mask, first, x, y, add });
        });
    };
    let rows = ELEMENTS.div_ceil(cols);
    for_each_block(y, rows * cols, |i, y| {
        for (at, y) in y.chunks_mut(cols).enumerate() {
            let row = i * rows + at;
            let (x, first) = (&x[row * cols..][..y.len()], cells.of_row(vertices, row, cols));
            cpu.run(DropoutBlock { mask, first, x, y, add });
        }
    });
}

/// A block that begins at element `first`.
struct DropoutBlock<'a> {
    mask: Mask,
    first: u64,
    x: &'a [f32],
    y: &'a mut [f32],
    add: bool,
}

impl WithSimd for DropoutBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut factors = [0.0; 256];
        let mut at = self.first;
        for (x, y) in self.x.chunks(256).zip(self.y.chunks_mut(256)) {
            let factors = &mut factors[..x.len()];
            self.mask.fill(simd, at, factors);
            at += 256;
            for ((x, y), factor) in x.iter().zip(y).zip(factors) {
                // An element that is dropped is 0 even if it was infinite or NaN.
                let kept = if *factor == 0.0 { 0.0 } else { x * *factor };
                *y = if self.add { *y + kept } else { kept };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{everywhere, numbers};

    const KEY: DropoutKey = DropoutKey { seed: 7, stream: 3, step: 11 };

    fn of(p: f32) -> Dropout {
        Dropout { p, key: KEY }
    }

    #[test]
    fn whoever_has_a_cell_drops_the_same_of_it() {
        let (steps, all, cols) = (7, 53, 3);
        let x = numbers(1, steps * all * cols, 1.0);
        let run = || {
            let mut whole = vec![0.0; x.len()];
            dropout_forward(&x, of(0.3), &Cells::default(), cols, &mut whole);
            // Every third vertex, from the last one on, at the last four steps.
            let own: Vec<u32> = (0..all as u32).rev().step_by(3).collect();
            let row = |step: usize, vertex: u32| {
                let first = (step * all + vertex as usize) * cols;
                first..first + cols
            };
            let cells = || (3..steps).flat_map(|step| own.iter().map(move |&v| row(step, v)));
            let part: Vec<f32> = cells().flat_map(|cell| x[cell].to_vec()).collect();
            let expected: Vec<f32> = cells().flat_map(|cell| whole[cell].to_vec()).collect();
            let mut found = vec![0.0; part.len()];
            let cells = Cells { first_step: 3, all, vertices: Some(Arc::new(own.clone())) };
            dropout_forward(&part, of(0.3), &cells, cols, &mut found);
            assert_eq!(found, expected);
            // The same steps of all vertices, as a block has them.
            let mut block = vec![0.0; (steps - 3) * all * cols];
            let cells = Cells { first_step: 3, all, vertices: None };
            dropout_forward(&x[3 * all * cols..], of(0.3), &cells, cols, &mut block);
            assert_eq!(block, whole[3 * all * cols..]);
            found
        };
        everywhere(run, |_, _| {});
    }

    #[test]
    fn elements_are_kept_by_their_bits_and_scaled() {
        let x = numbers(1, 40_003, 1.0);
        let random = Random::new(7, 3).at_step(11);
        let run = || {
            let mut y = vec![0.0; x.len()];
            dropout_forward(&x, of(0.3), &Cells::default(), 1, &mut y);
            let mut dx = vec![1.0; x.len()];
            dropout_backward(&x, of(0.3), &Cells::default(), 1, &mut dx);
            y.extend(dx);
            y
        };
        everywhere(run, |_, got| {
            let (y, dx) = got.split_at(x.len());
            let mut kept = 0;
            for i in 0..x.len() {
                let bits = random.block(i as u64 / 4)[i % 4];
                let keep = f64::from(bits) >= f64::from(0.3f32) * 4_294_967_296.0 - 1.0;
                let expected = if keep { x[i] * (1.0 / (1.0 - 0.3)) } else { 0.0 };
                assert_eq!(y[i], expected);
                assert_eq!(dx[i], 1.0 + expected);
                kept += usize::from(keep);
            }
            let share = kept as f64 / x.len() as f64;
            assert!((share - 0.7).abs() < 0.01, "{share} kept");
        });
    }

    #[test]
    fn a_mask_may_begin_anywhere_and_cross_the_32nd_bit_of_its_counter() {
        let mask = Mask::new(0.5, KEY);
        struct Fill(Mask, u64, usize);
        impl WithSimd for Fill {
            type Output = Vec<f32>;

            fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
                let mut factors = vec![f32::NAN; self.2];
                self.0.fill(simd, self.1, &mut factors);
                factors
            }
        }
        for first in [0, 1, 6, 4 * ((1 << 32) - 20) + 3] {
            for len in [0, 2, 5, 63, 400] {
                let expected: Vec<f32> = (first..).take(len).map(|i| mask.factor(i)).collect();
                everywhere(
                    || current().run(Fill(mask, first, len)),
                    |_, factors| assert_eq!(factors, expected),
                );
            }
        }
    }

    #[test]
    fn nothing_or_everything_can_be_dropped() {
        let x = [f32::INFINITY, 2.0, 3.0];
        let mut y = [1.0; 3];
        dropout_forward(&x, of(0.0), &Cells::default(), 3, &mut y);
        assert_eq!(y, x);
        dropout_forward(&x, of(1.0), &Cells::default(), 3, &mut y);
        assert_eq!(y, [0.0; 3]);
    }
}
