//! y = relu(x)·Wᵀ + b with one or two outputs: the last layer of tasks on vertices.
//!
//! As two operators this would move the embeddings eight times; here the forward pass reads them
//! once and the backward pass reads them once and writes their gradient. Blocks of rows depend on
//! the shape only, and their weight gradients are added in order.

use pulp::{Simd, WithSimd};

use super::blocks::{for_each_block, rows_per_block, sum_over_blocks};
use super::matmul::Accumulate;
use super::scattered::Scattered;
use super::scratch;
use super::simd::current;

/// The most outputs with which this is faster than a matrix product.
pub const MAX_OUTPUTS: usize = 2;

/// Rows narrower than this are summed one element at a time.
const NARROW: usize = 8;

/// y = relu(x)·Wᵀ + b for `x` [rows, width], `w` [outputs, width] and `y` [rows, outputs].
///
/// # Panics
///
/// When the lengths do not fit.
pub fn forward(x: &[f32], width: usize, w: &[f32], bias: &[f32], y: &mut [f32]) {
    let outputs = bias.len();
    check(x, width, w, outputs, y);
    let rows = rows_per_block(width);
    let cpu = current();
    for_each_block(y, rows * outputs, |i, y| {
        let x = &x[i * rows * width..][..y.len() / outputs * width];
        cpu.run(Dots { x, width, w, bias, y });
    });
}

fn check(x: &[f32], width: usize, w: &[f32], outputs: usize, y: &[f32]) {
    assert!(outputs >= 1 && width >= 1, "at least one output and one input");
    assert_eq!(w.len(), outputs * width, "one weight per output and input");
    assert_eq!(x.len() * outputs, y.len() * width, "as many rows of results as of inputs");
}

struct Dots<'a> {
    x: &'a [f32],
    width: usize,
    w: &'a [f32],
    bias: &'a [f32],
    y: &'a mut [f32],
}

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, width, w, bias, y } = self;
        let weights = || w.chunks_exact(width).zip(bias);
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(bias.len())) {
            for (y, (w, bias)) in y.iter_mut().zip(weights()) {
                let sum = if width < NARROW {
                    x.iter().zip(w).fold(0.0, |sum: f32, (x, w)| x.max(0.0).mul_add(*w, sum))
                } else {
                    dot(simd, x, w)
                };
                *y = sum + bias;
            }
        }
    }
}

/// Σ relu(x)·w.
#[inline(always)]
fn dot<S: Simd>(simd: S, x: &[f32], w: &[f32]) -> f32 {
    let zero = simd.splat_f32s(0.0);
    let ((x, x_tail), (w, w_tail)) = (S::as_simd_f32s(x), S::as_simd_f32s(w));
    let mut sum = zero;
    for (x, w) in x.iter().zip(w) {
        sum = simd.mul_add_e_f32s(simd.max_f32s(*x, zero), *w, sum);
    }
    if !x_tail.is_empty() {
        let (x, w) = (simd.partial_load_f32s(x_tail), simd.partial_load_f32s(w_tail));
        sum = simd.mul_add_e_f32s(simd.max_f32s(x, zero), w, sum);
    }
    simd.reduce_sum_f32s(sum)
}

/// Adds the gradients of [`forward`]; that of `x` is overwritten if `accumulate` says so.
///
/// # Panics
///
/// When the lengths do not fit or there are more than [`MAX_OUTPUTS`] outputs.
#[allow(clippy::too_many_arguments)]
#[allow(unsafe_code)]
pub fn backward(
    x: &[f32],
    width: usize,
    w: &[f32],
    dy: &[f32],
    dx: Option<&mut [f32]>,
    accumulate: Accumulate,
    dw: Option<&mut [f32]>,
    d_bias: Option<&mut [f32]>,
) {
    let outputs = w.len() / width.max(1);
    check(x, width, w, outputs, dy);
    assert!(outputs <= MAX_OUTPUTS, "one or two outputs");
    assert!(dx.as_ref().is_none_or(|dx| dx.len() == x.len()), "gradient of the input");
    let (rows, all) = (rows_per_block(width), x.len() / width);
    let (cpu, dx) = (current(), dx.map(Scattered::new));
    let mut sums = scratch::zeroed(w.len() + outputs);
    sum_over_blocks(all.div_ceil(rows), &mut sums, |i, sums| {
        let range = i * rows..all.min((i + 1) * rows);
        let (from, len) = (range.start * width, range.len() * width);
        // SAFETY: the rows of this block, which no other block touches.
        let dx = dx.map(|dx| unsafe { dx.piece(from, len) });
        let (sums, bias_sums) = sums.split_at_mut(w.len());
        let dy = &dy[range.start * outputs..range.end * outputs];
        let block = Back { x: &x[from..from + len], width, w, dy, dx, accumulate, sums };
        match outputs {
            1 => cpu.run(BackOf::<1>(block)),
            _ => cpu.run(BackOf::<2>(block)),
        }
        for dy in dy.chunks_exact(outputs) {
            bias_sums.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy);
        }
    });
    let (weight_sums, bias_sums) = sums.split_at(w.len());
    for (d, sums) in [(dw, weight_sums), (d_bias, bias_sums)] {
        for (d, sum) in d.into_iter().flatten().zip(sums) {
            *d += sum;
        }
    }
}

/// The backward pass of a block of rows.
struct Back<'a> {
    x: &'a [f32],
    width: usize,
    w: &'a [f32],
    dy: &'a [f32],
    dx: Option<&'a mut [f32]>,
    accumulate: Accumulate,
    sums: &'a mut [f32],
}

struct BackOf<'a, const O: usize>(Back<'a>);

impl<const O: usize> WithSimd for BackOf<'_, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (mut block, lanes) = (self.0, S::F32_LANES);
        for at in (0..block.width).step_by(lanes) {
            block.column::<S, O>(simd, at);
        }
    }
}

impl Back<'_> {
    /// One vector of columns from `at` on, for all rows.
    ///
    /// A row narrower than a vector is written as a whole vector; the next row puts right what that
    /// wrote too much. If there are several vectors a row, the last one is written in part.
    // Indices instead of iterators: the sums have to stay in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn column<S: Simd, const O: usize>(&mut self, simd: S, at: usize) {
        let (width, lanes) = (self.width, S::F32_LANES);
        let count = lanes.min(width - at);
        let zero = simd.splat_f32s(0.0);
        let (mut sums, mut weights) = ([zero; O], [zero; O]);
        for o in 0..O {
            weights[o] = simd.partial_load_f32s(&self.w[o * width + at..][..count]);
        }
        let over = at == 0 && self.accumulate == Accumulate::Overwrite || count == lanes;
        for (row, dy) in self.dy.chunks_exact(O).enumerate() {
            let place = row * width + at;
            let whole = place + lanes <= self.x.len();
            let x = if whole {
                S::as_simd_f32s(&self.x[place..place + lanes]).0[0]
            } else {
                simd.partial_load_f32s(&self.x[place..place + count])
            };
            let (relu, mut d) = (simd.max_f32s(x, zero), zero);
            for o in 0..O {
                let dy = simd.splat_f32s(dy[o]);
                sums[o] = simd.mul_add_e_f32s(dy, relu, sums[o]);
                d = simd.mul_add_e_f32s(dy, weights[o], d);
            }
            let Some(dx) = &mut self.dx else { continue };
            let d = simd.select_f32s(simd.greater_than_f32s(x, zero), d, zero);
            let own = if whole && over { place..place + lanes } else { place..place + count };
            let own = &mut dx[own];
            match (self.accumulate, whole && over) {
                (Accumulate::Overwrite, true) => S::as_mut_simd_f32s(own).0[0] = d,
                (Accumulate::Overwrite, false) => simd.partial_store_f32s(own, d),
                (Accumulate::Add, _) => {
                    let sum = simd.add_f32s(simd.partial_load_f32s(own), d);
                    simd.partial_store_f32s(own, sum);
                }
            }
        }
        for o in 0..O {
            simd.partial_store_f32s(&mut self.sums[o * width + at..][..count], sums[o]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{assert_close, everywhere, numbers};

    fn exact(x: &[f32]) -> Vec<f64> {
        x.iter().map(|&x| f64::from(x)).collect()
    }

    #[test]
    fn results_and_gradients_agree_with_f64() {
        for (rows, width, outputs) in
            [(1, 1, 1), (4000, 2, 1), (3001, 6, 2), (700, 40, 1), (9, 87, 2)]
        {
            let x = numbers(1, rows * width, 1.0);
            let (w, bias) = (numbers(2, outputs * width, 1.0), numbers(3, outputs, 1.0));
            let dy = numbers(4, rows * outputs, 1.0);
            let old = numbers(5, x.len(), 1.0);
            let mut y = Vec::new();
            let mut dw = vec![0.0; w.len()];
            let mut db = vec![0.0; outputs];
            let mut dx = exact(&old);
            for (i, x) in x.chunks_exact(width).enumerate() {
                for o in 0..outputs {
                    let d = f64::from(dy[i * outputs + o]);
                    db[o] += d;
                    let mut sum = f64::from(bias[o]);
                    for (j, &x) in x.iter().enumerate() {
                        let relu = f64::from(x.max(0.0));
                        sum += relu * f64::from(w[o * width + j]);
                        dw[o * width + j] += d * relu;
                        if x > 0.0 {
                            dx[i * width + j] += d * f64::from(w[o * width + j]);
                        }
                    }
                    y.push(sum);
                }
            }
            let all: Vec<f64> = [y, dx, dw, db].concat();
            for mode in [Accumulate::Overwrite, Accumulate::Add] {
                let run = || {
                    let mut y = vec![f32::NAN; rows * outputs];
                    forward(&x, width, &w, &bias, &mut y);
                    let add = mode == Accumulate::Add;
                    let mut dx = if add { old.clone() } else { vec![f32::NAN; x.len()] };
                    let (mut dw, mut db) = (vec![0.0; w.len()], vec![0.0; outputs]);
                    backward(&x, width, &w, &dy, Some(&mut dx), mode, Some(&mut dw), Some(&mut db));
                    if !add {
                        dx.iter_mut().zip(&old).for_each(|(dx, old)| *dx += old);
                    }
                    [y, dx, dw, db].concat()
                };
                everywhere(run, |level, got| assert_close(level, got, &all, 3e-5));
            }
        }
    }
}
