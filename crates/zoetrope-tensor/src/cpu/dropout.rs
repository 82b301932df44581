//! Dropout whose mask is a function of a counter, so that nothing is stored.
//!
//! Element i is kept iff bits(i) ≥ p·2³² and then scaled by 1 / (1 − p); bits(i) is word i mod 4
//! of the Philox block i / 4 of (seed, stream, step). The backward pass makes the mask again.

use super::blocks::{ELEMENTS, for_each_block};
use super::simd::current;
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
    random: Random,
    threshold: u32,
    /// 1 / (1 − p), or 0 when nothing is kept.
    scale: f32,
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
        let random = Random::new(key.seed, key.stream).at_step(key.step);
        let threshold = (f64::from(p) * 4_294_967_296.0) as u32;
        Self { random, threshold, scale: if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 } }
    }

    /// The factors of the elements 4·block … 4·block + 3.
    #[inline(always)]
    fn factors(&self, block: u64) -> [f32; 4] {
        self.random.block(block).map(|bits| if bits >= self.threshold { self.scale } else { 0.0 })
    }

    /// The factor of one element.
    #[inline(always)]
    pub(crate) fn factor(&self, index: u64) -> f32 {
        self.factors(index / 4)[(index % 4) as usize]
    }
}

/// y = x with elements dropped with probability `p` and the others scaled by 1 / (1 − p).
///
/// # Panics
///
/// When the lengths differ or `p` is not in [0, 1].
pub fn dropout_forward(x: &[f32], p: f32, key: DropoutKey, y: &mut [f32]) {
    each(x, p, key, y, |x, factor, y| *y = if factor == 0.0 { 0.0 } else { x * factor });
}

/// dx += dy with the mask of [`dropout_forward`].
///
/// # Panics
///
/// When the lengths differ or `p` is not in [0, 1].
pub fn dropout_backward(dy: &[f32], p: f32, key: DropoutKey, dx: &mut [f32]) {
    each(dy, p, key, dx, |dy, factor, dx| *dx += if factor == 0.0 { 0.0 } else { dy * factor });
}

fn each(
    x: &[f32],
    p: f32,
    key: DropoutKey,
    y: &mut [f32],
    f: impl Fn(f32, f32, &mut f32) + Sync + Send,
) {
    assert_eq!(x.len(), y.len(), "slices of one length");
    let mask = Mask::new(p, key);
    let cpu = current();
    for_each_block(y, ELEMENTS, |i, y| {
        let x = &x[i * ELEMENTS..][..y.len()];
        let first = (i * ELEMENTS / 4) as u64;
        cpu.run(|| piece(mask, first, x, y, &f));
    });
}

/// A block whose first element is the first of Philox block `first`. Factors are made 64 at a
/// time, in loops that the compiler turns into vector instructions.
#[inline(always)]
fn piece(mask: Mask, first: u64, x: &[f32], y: &mut [f32], f: &impl Fn(f32, f32, &mut f32)) {
    let mut factors = [[0.0; 4]; 16];
    for (i, (x, y)) in x.chunks(64).zip(y.chunks_mut(64)).enumerate() {
        for (j, factors) in factors.iter_mut().enumerate() {
            *factors = mask.factors(first + (16 * i + j) as u64);
        }
        for ((x, y), factor) in x.iter().zip(y).zip(factors.as_flattened()) {
            f(*x, *factor, y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::trial::{everywhere, numbers};

    const KEY: DropoutKey = DropoutKey { seed: 7, stream: 3, step: 11 };

    #[test]
    fn elements_are_kept_by_their_bits_and_scaled() {
        let x = numbers(1, 40_003, 1.0);
        let random = Random::new(7, 3).at_step(11);
        let run = || {
            let mut y = vec![0.0; x.len()];
            dropout_forward(&x, 0.3, KEY, &mut y);
            let mut dx = vec![1.0; x.len()];
            dropout_backward(&x, 0.3, KEY, &mut dx);
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
    fn nothing_or_everything_can_be_dropped() {
        let x = [f32::INFINITY, 2.0, 3.0];
        let mut y = [1.0; 3];
        dropout_forward(&x, 0.0, KEY, &mut y);
        assert_eq!(y, x);
        dropout_forward(&x, 1.0, KEY, &mut y);
        assert_eq!(y, [0.0; 3]);
    }
}
