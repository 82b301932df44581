//! Losses: mean of Σ w·l / Σ w over elements or rows, and its gradient.
//!
//! `weight` holds one weight (or 0/1 mask) per element, per row for the cross entropy; `None`
//! means all ones. When the weights sum to 0 the loss is 0 and so are the gradients. An element
//! of weight 0 does not count even if it is NaN. Sums are kept in f64.

use super::blocks::{for_each_block, lanewise, rows_per_block};
use super::math;
use super::reduce::sum_by;
use super::scratch;
use super::simd::{Lanewise, current};
use super::softmax::{ExpSum, SoftmaxRow};
use pulp::Simd;

/// Mean of (prediction − target)².
///
/// # Panics
///
/// When the lengths differ.
pub fn mse(prediction: &[f32], target: &[f32], weight: Option<&[f32]>) -> f32 {
    check(prediction, target, weight);
    mean(prediction.len(), weight, |i| {
        let d = f64::from(prediction[i]) - f64::from(target[i]);
        d * d
    })
}

/// d_prediction += d_loss · ∂mse/∂prediction.
///
/// # Panics
///
/// When the lengths differ.
pub fn mse_backward(
    prediction: &[f32],
    target: &[f32],
    weight: Option<&[f32]>,
    d_loss: f32,
    d_prediction: &mut [f32],
) {
    check(prediction, target, weight);
    let scale = 2.0 * per_weight(prediction.len(), weight, d_loss);
    gradient(SquareSlope, scale, prediction, target, weight, d_prediction);
}

/// Mean of |prediction − target|.
///
/// # Panics
///
/// When the lengths differ.
pub fn mae(prediction: &[f32], target: &[f32], weight: Option<&[f32]>) -> f32 {
    check(prediction, target, weight);
    mean(prediction.len(), weight, |i| (f64::from(prediction[i]) - f64::from(target[i])).abs())
}

/// d_prediction += d_loss · ∂mae/∂prediction, 0 if prediction and target are equal.
///
/// # Panics
///
/// When the lengths differ.
pub fn mae_backward(
    prediction: &[f32],
    target: &[f32],
    weight: Option<&[f32]>,
    d_loss: f32,
    d_prediction: &mut [f32],
) {
    check(prediction, target, weight);
    let scale = per_weight(prediction.len(), weight, d_loss);
    gradient(AbsoluteSlope, scale, prediction, target, weight, d_prediction);
}

/// Mean of the binary cross entropy of sigmoid(logit), the positive term times `pos_weight`.
///
/// # Panics
///
/// When the lengths differ.
pub fn bce_with_logits(
    logits: &[f32],
    target: &[f32],
    pos_weight: f32,
    weight: Option<&[f32]>,
) -> f32 {
    check(logits, target, weight);
    let mut terms = scratch::take(logits.len());
    lanewise(LogisticLoss(pos_weight), [logits, target], &mut terms);
    mean(logits.len(), weight, |i| f64::from(terms[i]))
}

/// d_logits += d_loss · ∂bce/∂logits.
///
/// # Panics
///
/// When the lengths differ.
pub fn bce_with_logits_backward(
    logits: &[f32],
    target: &[f32],
    pos_weight: f32,
    weight: Option<&[f32]>,
    d_loss: f32,
    d_logits: &mut [f32],
) {
    check(logits, target, weight);
    let scale = per_weight(logits.len(), weight, d_loss);
    gradient(LogisticSlope(pos_weight), scale, logits, target, weight, d_logits);
}

fn check(prediction: &[f32], target: &[f32], weight: Option<&[f32]>) {
    assert_eq!(prediction.len(), target.len(), "one target per prediction");
    if let Some(weight) = weight {
        assert_eq!(prediction.len(), weight.len(), "one weight per prediction");
    }
}

fn mean(len: usize, weight: Option<&[f32]>, term: impl Fn(usize) -> f64 + Sync) -> f32 {
    let total = total_weight(len, weight);
    if total == 0.0 {
        return 0.0;
    }
    let sum = match weight {
        None => sum_by(len, term),
        Some(w) => sum_by(len, |i| if w[i] == 0.0 { 0.0 } else { f64::from(w[i]) * term(i) }),
    };
    (sum / total) as f32
}

fn total_weight(len: usize, weight: Option<&[f32]>) -> f64 {
    weight.map_or(len as f64, |w| sum_by(len, |i| f64::from(w[i])))
}

/// d_loss / Σ w, or 0 when the weights sum to 0.
fn per_weight(len: usize, weight: Option<&[f32]>, d_loss: f32) -> f32 {
    let total = total_weight(len, weight);
    if total == 0.0 { 0.0 } else { (f64::from(d_loss) / total) as f32 }
}

/// The derivative of a term by the prediction.
trait TermSlope: Sync {
    fn slope<S: Simd>(&self, simd: S, prediction: S::f32s, target: S::f32s) -> S::f32s;
}

struct Gradient<T>(T, f32);

impl<T: TermSlope> Lanewise<2> for Gradient<T> {
    const READS_OUTPUT: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p, t]: [S::f32s; 2], d: S::f32s) -> S::f32s {
        simd.mul_add_e_f32s(self.0.slope(simd, p, t), simd.splat_f32s(self.1), d)
    }
}

impl<T: TermSlope> Lanewise<3> for Gradient<T> {
    const READS_OUTPUT: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p, t, w]: [S::f32s; 3], d: S::f32s) -> S::f32s {
        let factor = simd.mul_f32s(w, simd.splat_f32s(self.1));
        let sum = simd.mul_add_e_f32s(self.0.slope(simd, p, t), factor, d);
        simd.select_f32s(simd.equal_f32s(w, simd.splat_f32s(0.0)), d, sum)
    }
}

fn gradient<T: TermSlope>(
    slope: T,
    scale: f32,
    prediction: &[f32],
    target: &[f32],
    weight: Option<&[f32]>,
    out: &mut [f32],
) {
    if scale == 0.0 {
        return;
    }
    match weight {
        None => lanewise(Gradient(slope, scale), [prediction, target], out),
        Some(w) => lanewise(Gradient(slope, scale), [prediction, target, w], out),
    }
}

struct SquareSlope;
impl TermSlope for SquareSlope {
    #[inline(always)]
    fn slope<S: Simd>(&self, simd: S, p: S::f32s, t: S::f32s) -> S::f32s {
        simd.sub_f32s(p, t)
    }
}

struct AbsoluteSlope;
impl TermSlope for AbsoluteSlope {
    #[inline(always)]
    fn slope<S: Simd>(&self, simd: S, p: S::f32s, t: S::f32s) -> S::f32s {
        let (one, zero) = (simd.splat_f32s(1.0), simd.splat_f32s(0.0));
        let below = simd.select_f32s(simd.less_than_f32s(p, t), simd.neg_f32s(one), zero);
        simd.select_f32s(simd.greater_than_f32s(p, t), one, below)
    }
}

/// (1 − t)·x + (1 + (q − 1)·t)·softplus(−x) with the weight q of positives.
struct LogisticLoss(f32);
impl Lanewise<2> for LogisticLoss {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x, t]: [S::f32s; 2], _: S::f32s) -> S::f32s {
        let one = simd.splat_f32s(1.0);
        let factor = simd.mul_add_e_f32s(simd.splat_f32s(self.0 - 1.0), t, one);
        let linear = simd.mul_f32s(simd.sub_f32s(one, t), x);
        simd.mul_add_e_f32s(factor, math::softplus(simd, simd.neg_f32s(x)), linear)
    }
}

/// (1 − t) − (1 + (q − 1)·t)·sigmoid(−x).
struct LogisticSlope(f32);
impl TermSlope for LogisticSlope {
    #[inline(always)]
    fn slope<S: Simd>(&self, simd: S, x: S::f32s, t: S::f32s) -> S::f32s {
        let one = simd.splat_f32s(1.0);
        let factor = simd.mul_add_e_f32s(simd.splat_f32s(self.0 - 1.0), t, one);
        let other = math::sigmoid(simd, simd.neg_f32s(x));
        simd.sub_f32s(simd.sub_f32s(one, t), simd.mul_f32s(factor, other))
    }
}

/// Mean over rows of `−ln softmax(logits[row])[target[row]]`, weighted per row.
///
/// # Panics
///
/// When the lengths do not fit or a target is not below `classes`.
pub fn cross_entropy(
    logits: &[f32],
    classes: usize,
    target: &[u32],
    weight: Option<&[f32]>,
) -> f32 {
    check_rows(logits, classes, target, weight);
    let mut terms = scratch::take(target.len());
    let block = rows_per_block(classes);
    let cpu = current().for_width(classes);
    for_each_block(&mut terms, block, |i, terms| {
        for (row, term) in (i * block..).zip(terms) {
            let logits = &logits[row * classes..][..classes];
            let (max, sum) = cpu.run(ExpSum { x: logits, y: None });
            *term = max - logits[target[row] as usize] + sum.ln();
        }
    });
    mean(target.len(), weight, |row| f64::from(terms[row]))
}

/// d_logits += d_loss · ∂cross_entropy/∂logits.
///
/// # Panics
///
/// When the lengths do not fit or a target is not below `classes`.
pub fn cross_entropy_backward(
    logits: &[f32],
    classes: usize,
    target: &[u32],
    weight: Option<&[f32]>,
    d_loss: f32,
    d_logits: &mut [f32],
) {
    check_rows(logits, classes, target, weight);
    assert_eq!(logits.len(), d_logits.len(), "gradient of the logits");
    let scale = per_weight(target.len(), weight, d_loss);
    if scale == 0.0 {
        return;
    }
    let block = rows_per_block(classes);
    let cpu = current().for_width(classes);
    for_each_block(d_logits, block * classes, |i, d_logits| {
        let mut p = scratch::take(classes);
        for (row, d) in (i * block..).zip(d_logits.chunks_exact_mut(classes)) {
            let scale = scale * weight.map_or(1.0, |w| w[row]);
            if scale == 0.0 {
                continue;
            }
            cpu.run(SoftmaxRow { x: &logits[row * classes..][..classes], y: &mut p });
            for (d, p) in d.iter_mut().zip(&p[..]) {
                *d += scale * p;
            }
            d[target[row] as usize] -= scale;
        }
    });
}

fn check_rows(logits: &[f32], classes: usize, target: &[u32], weight: Option<&[f32]>) {
    assert_eq!(logits.len(), target.len() * classes, "one row of logits per target");
    if let Some(weight) = weight {
        assert_eq!(target.len(), weight.len(), "one weight per row");
    }
    assert!(target.iter().all(|&t| (t as usize) < classes), "targets below {classes}");
}

#[cfg(test)]
mod tests;
