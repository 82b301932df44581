//! Batch normalisation (over rows, per column) and layer normalisation (over columns, per row).
//!
//! ```text
//! x̂ = (x − mean) / √(variance + eps)    y = x̂·weight + bias
//! ```
//!
//! The variance of a batch is divided by the number of rows; running statistics are kept by the
//! caller. Sums over rows go by fixed blocks in f32 around a first mean, so that large offsets do
//! not cancel.

use super::blocks::{for_each_block, rows_per_block, sum_over_blocks};
use super::matmul::Accumulate;
use super::reduce::column_sums;
use super::scratch::{self, Scratch};
use super::simd::current;
pub use layer::{layer_norm_backward, layer_norm_forward};

mod layer;

/// Mean and inverse standard deviation of every column (biased variance).
///
/// # Panics
///
/// When the lengths do not fit `rows × cols`.
pub fn batch_statistics(
    x: &[f32],
    rows: usize,
    cols: usize,
    eps: f32,
    mean: &mut [f32],
    inverse_std: &mut [f32],
) {
    assert_eq!((mean.len(), inverse_std.len()), (cols, cols), "one statistic per column");
    mean.fill(0.0);
    column_sums(x, rows, cols, mean);
    let share = 1.0 / rows.max(1) as f32;
    mean.iter_mut().for_each(|mean| *mean *= share);
    let wide = together(cols);
    let (mut squares, means) = (scratch::zeroed(wide), repeated(mean, wide));
    let block = rows_per_block(wide) * wide;
    let (cpu, means) = (current(), &means[..]);
    sum_over_blocks(x.len().div_ceil(block.max(1)), &mut squares, |i, squares| {
        let x = &x[i * block..x.len().min((i + 1) * block)];
        cpu.run(|| {
            for row in x.chunks(wide) {
                for ((square, x), mean) in squares.iter_mut().zip(row).zip(means) {
                    *square += (x - mean) * (x - mean);
                }
            }
        });
    });
    for (j, inverse) in inverse_std.iter_mut().enumerate() {
        *inverse = 1.0 / (folded(&squares, cols, j) * share + eps).sqrt();
    }
}

/// Elements of the fewest rows of `cols` elements that are worth a loop: rows of a few elements are
/// taken several at a time, as one row of repeated columns.
fn together(cols: usize) -> usize {
    const ELEMENTS_MIN: usize = 64;
    if cols == 0 { 0 } else { cols * ELEMENTS_MIN.div_ceil(cols) }
}

/// The values of columns repeated for `wide` elements.
fn repeated(values: &[f32], wide: usize) -> Scratch {
    let mut all = scratch::take(wide);
    for part in all.chunks_exact_mut(values.len().max(1)) {
        part.copy_from_slice(values);
    }
    all
}

/// The sum of column `j` from the sums of repeated columns.
fn folded(sums: &[f32], cols: usize, j: usize) -> f32 {
    sums[j..].iter().step_by(cols).sum()
}

/// y = (x − mean)·inverse_std·weight + bias, all per column: batch statistics in training, given
/// ones in evaluation.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn batch_norm_forward(
    x: &[f32],
    cols: usize,
    mean: &[f32],
    inverse_std: &[f32],
    weight: Option<&[f32]>,
    bias: Option<&[f32]>,
    y: &mut [f32],
) {
    assert_eq!(x.len(), y.len(), "matrices of one shape");
    assert_eq!((mean.len(), inverse_std.len()), (cols, cols), "one statistic per column");
    check_affine(weight, bias, cols);
    if cols == 0 {
        return;
    }
    let (mut scale, shift) = affine(weight, bias, cols);
    scale.iter_mut().zip(inverse_std).for_each(|(scale, inverse)| *scale *= inverse);
    let wide = together(cols);
    let all = [repeated(mean, wide), repeated(&scale, wide), repeated(&shift, wide)];
    let [mean, scale, shift] = [&all[0][..], &all[1][..], &all[2][..]];
    let block = rows_per_block(wide) * wide;
    let cpu = current();
    for_each_block(y, block, |i, y| {
        let x = &x[i * block..][..y.len()];
        cpu.run(|| {
            for (x, y) in x.chunks(wide).zip(y.chunks_mut(wide)) {
                let cells = y.iter_mut().zip(x).zip(mean).zip(scale).zip(shift);
                for ((((y, x), mean), scale), shift) in cells {
                    *y = (x - mean) * scale + shift;
                }
            }
        });
    });
}

/// Adds the gradients of [`batch_norm_forward`] with the statistics of the batch itself; that of the
/// input is overwritten if `accumulate` says so.
///
/// # Panics
///
/// When the lengths do not fit.
#[allow(clippy::too_many_arguments)]
pub fn batch_norm_backward(
    x: &[f32],
    cols: usize,
    mean: &[f32],
    inverse_std: &[f32],
    weight: Option<&[f32]>,
    dy: &[f32],
    dx: Option<&mut [f32]>,
    accumulate: Accumulate,
    d_weight: Option<&mut [f32]>,
    d_bias: Option<&mut [f32]>,
) {
    assert_eq!(x.len(), dy.len(), "matrices of one shape");
    assert_eq!((mean.len(), inverse_std.len()), (cols, cols), "one statistic per column");
    check_affine(weight, None, cols);
    if cols == 0 || x.is_empty() {
        return;
    }
    let rows = x.len() / cols;
    let cpu = current();
    let wide = together(cols);
    let means = repeated(mean, wide);
    let means = &means[..];
    // Σ dy and Σ dy·(x − mean) per column.
    let mut sums = scratch::zeroed(2 * wide);
    let block = rows_per_block(wide) * wide;
    sum_over_blocks(x.len().div_ceil(block), &mut sums, |i, sums| {
        let range = i * block..x.len().min((i + 1) * block);
        let (x, dy) = (&x[range.clone()], &dy[range]);
        let (plain, scaled) = sums.split_at_mut(wide);
        cpu.run(|| {
            for (x, dy) in x.chunks(wide).zip(dy.chunks(wide)) {
                let cells = plain.iter_mut().zip(&mut *scaled).zip(x).zip(dy).zip(means);
                for ((((plain, scaled), x), dy), mean) in cells {
                    *plain += dy;
                    *scaled += dy * (x - mean);
                }
            }
        });
    });
    let (plain, scaled) = sums.split_at_mut(wide);
    for j in 0..cols {
        plain[j] = folded(plain, cols, j);
        scaled[j] = folded(scaled, cols, j) * inverse_std[j];
    }
    for (d, sums) in [(d_bias, &plain[..cols]), (d_weight, &scaled[..cols])] {
        for (d, sum) in d.into_iter().flatten().zip(sums) {
            *d += sum;
        }
    }
    let Some(dx) = dx else { return };
    let sums = [&plain[..cols], &scaled[..cols]];
    let statistics = [mean, inverse_std];
    batch_norm_input_gradient(x, cols, statistics, weight, dy, sums, rows, dx, accumulate);
}

/// What the gradient of the input is made of, per column: `a`, the centre of `dy`, `b`; each `cols` values of
/// `factors`. `plain` is Σ dy and `scaled` Σ dy·x̂ over all `rows` of the batch.
///
/// # Panics
///
/// When the lengths do not fit.
pub fn input_gradient_factors(
    inverse_std: &[f32],
    weight: Option<&[f32]>,
    [plain, scaled]: [&[f32]; 2],
    rows: usize,
    factors: &mut [f32],
) {
    let share = 1.0 / rows as f32;
    let cols = inverse_std.len();
    assert_eq!(factors.len(), 3 * cols, "three factors a column");
    for j in 0..cols {
        let a = weight.map_or(1.0, |w| w[j]) * inverse_std[j];
        factors[j] = a;
        factors[cols + j] = share * plain[j];
        factors[2 * cols + j] = -a * share * inverse_std[j] * scaled[j];
    }
}

/// The gradient of the input of [`batch_norm_forward`] with the statistics of a batch of `rows` rows, of which
/// `x` are some or all: dx = a·(dy − mean of dy) + b·(x − mean), all factors per column.
///
/// # Panics
///
/// When the lengths do not fit.
#[allow(clippy::too_many_arguments)]
pub fn batch_norm_input_gradient(
    x: &[f32],
    cols: usize,
    [mean, inverse_std]: [&[f32]; 2],
    weight: Option<&[f32]>,
    dy: &[f32],
    sums: [&[f32]; 2],
    rows: usize,
    dx: &mut [f32],
    accumulate: Accumulate,
) {
    assert_eq!(dx.len(), x.len(), "gradient of the input");
    let wide = together(cols);
    let block = rows_per_block(wide) * wide;
    let mut found = scratch::take(3 * cols);
    input_gradient_factors(inverse_std, weight, sums, rows, &mut found);
    let means = repeated(mean, wide);
    let [a, centre, b] =
        [0, 1, 2].map(|part| repeated(&found[part * cols..(part + 1) * cols], wide));
    let (cpu, [means, a, centre, b]) = (current(), [&means[..], &a[..], &centre[..], &b[..]]);
    let adds = accumulate == Accumulate::Add;
    for_each_block(dx, block, |i, dx| {
        let range = i * block..i * block + dx.len();
        let (x, dy) = (&x[range.clone()], &dy[range]);
        cpu.run(|| {
            let rows = x.chunks(wide).zip(dy.chunks(wide));
            for ((x, dy), dx) in rows.zip(dx.chunks_mut(wide)) {
                let cells = dx.iter_mut().zip(x).zip(dy).zip(means).zip(a).zip(centre).zip(b);
                for ((((((dx, x), dy), mean), a), centre), b) in cells {
                    let d = a * (dy - centre) + b * (x - mean);
                    *dx = if adds { *dx + d } else { d };
                }
            }
        });
    });
}

/// Adds the gradients of [`batch_norm_forward`] with given statistics (evaluation).
///
/// # Panics
///
/// When the lengths do not fit.
pub fn batch_norm_fixed_backward(
    cols: usize,
    inverse_std: &[f32],
    weight: Option<&[f32]>,
    dy: &[f32],
    dx: &mut [f32],
) {
    assert_eq!(dx.len(), dy.len(), "matrices of one shape");
    for (dx, dy) in dx.chunks_exact_mut(cols.max(1)).zip(dy.chunks_exact(cols.max(1))) {
        for j in 0..cols {
            dx[j] += dy[j] * inverse_std[j] * weight.map_or(1.0, |w| w[j]);
        }
    }
}

fn check_affine(weight: Option<&[f32]>, bias: Option<&[f32]>, cols: usize) {
    assert!(weight.is_none_or(|w| w.len() == cols), "one weight per column");
    assert!(bias.is_none_or(|b| b.len() == cols), "one bias per column");
}

/// Factors and terms per column: the given ones, or ones and zeros.
fn affine(weight: Option<&[f32]>, bias: Option<&[f32]>, cols: usize) -> (Scratch, Scratch) {
    let (mut scale, mut shift) = (scratch::take(cols), scratch::take(cols));
    match weight {
        Some(weight) => scale.copy_from_slice(weight),
        None => scale.fill(1.0),
    }
    match bias {
        Some(bias) => shift.copy_from_slice(bias),
        None => shift.fill(0.0),
    }
    (scale, shift)
}

#[cfg(test)]
mod tests;
