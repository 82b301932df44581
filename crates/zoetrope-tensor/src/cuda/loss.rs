//! Losses: `Σ w·l / Σ w` over elements or rows, and its gradient. The result stays on the GPU.

use std::sync::Arc;

use super::elementwise::{BLOCK, fours, lanes, singles};
use super::{Gpu, Kernel, Sink, View, ViewMut};
use crate::ops::loss::Loss;

static SUMS: Kernel = Kernel::new("loss", "loss_sums");
static JOIN: Kernel = Kernel::new("loss", "loss_join");
static BACKWARD: Kernel = Kernel::new("loss", "loss_backward");
static CROSS_ENTROPY: Kernel = Kernel::new("loss", "loss_cross_entropy");
static CROSS_ENTROPY_BACKWARD: Kernel = Kernel::new("loss", "loss_cross_entropy_backward");

/// Values of a tape's block that hold the sum of weights, an f64, from the forward pass to the
/// backward pass.
pub(crate) const TOTAL: usize = 2;

/// The number of a loss in `loss.cu`, and the weight of positive targets.
fn code(loss: Loss) -> (u32, f32) {
    match loss {
        Loss::Mse => (0, 0.0),
        Loss::Mae => (1, 0.0),
        Loss::BinaryCrossEntropy { positive_weight } => (2, positive_weight),
    }
}

/// Blocks of the first phase: by length alone, so that every GPU adds up in the same order.
fn sum_blocks(items: usize) -> u32 {
    items.div_ceil(8 * BLOCK as usize).clamp(1, 1024) as u32
}

/// The loss of `p` against `t`; `total` is kept for [`backward`].
pub(crate) fn forward(
    gpu: &Gpu,
    loss: Loss,
    [p, t]: [View<'_>; 2],
    weight: Option<View<'_>>,
    y: ViewMut<'_>,
    total: ViewMut<'_>,
) {
    let ((kind, positive), len) = (code(loss), p.len());
    let blocks = sum_blocks(len);
    let mut parts = gpu.take_of::<f64>(2 * blocks as usize);
    let arguments: [&dyn super::Arg; 7] =
        [&kind, &positive, &p, &t, &weight, &(len as u64), &parts.view_mut()];
    gpu.launch(&SUMS, blocks, BLOCK, 0, &arguments);
    gpu.launch(&JOIN, 1, BLOCK, 0, &[&parts.view(), &blocks, &y, &total]);
}

/// `dp (+)= d_loss · ∂loss/∂p`.
pub(crate) fn backward(
    gpu: &Gpu,
    loss: Loss,
    [p, t]: [View<'_>; 2],
    weight: Option<View<'_>>,
    [d_loss, total]: [View<'_>; 2],
    dp: Sink<'_>,
) {
    let ((kind, positive), len) = (code(loss), p.len());
    gpu.launch(
        &BACKWARD,
        fours(len),
        BLOCK,
        0,
        &[&kind, &positive, &p, &t, &weight, &d_loss, &total, &dp.place, &dp.mode, &(len as u64)],
    );
}

/// Logits, one row an example, with the classes `labels[start..start + rows]`.
pub(crate) struct Examples<'a> {
    pub(crate) logits: View<'a>,
    pub(crate) classes: usize,
    pub(crate) labels: &'a Arc<Vec<u32>>,
    pub(crate) start: usize,
    pub(crate) weight: Option<View<'a>>,
}

impl Examples<'_> {
    fn rows(&self) -> usize {
        self.logits.len().checked_div(self.classes).unwrap_or(0)
    }
}

/// The mean over rows of `−ln softmax(logits[row])[label]`; `total` is kept for the backward pass.
pub(crate) fn cross_entropy(
    gpu: &Gpu,
    examples: &Examples<'_>,
    y: ViewMut<'_>,
    total: ViewMut<'_>,
) {
    let (rows, lanes) = (examples.rows(), lanes(examples.classes));
    let blocks = sum_blocks(rows * lanes as usize);
    let labels = gpu.resident(examples.labels);
    let labels = labels.view().slice(examples.start..examples.start + rows);
    let mut parts = gpu.take_of::<f64>(2 * blocks as usize);
    gpu.launch(
        &CROSS_ENTROPY,
        blocks,
        BLOCK,
        0,
        &[
            &examples.logits,
            &(examples.classes as u32),
            &lanes,
            &labels,
            &examples.weight,
            &(rows as u64),
            &parts.view_mut(),
        ],
    );
    gpu.launch(&JOIN, 1, BLOCK, 0, &[&parts.view(), &blocks, &y, &total]);
}

/// `d_logits (+)= d_loss · ∂cross_entropy/∂logits`.
pub(crate) fn cross_entropy_backward(
    gpu: &Gpu,
    examples: &Examples<'_>,
    [d_loss, total]: [View<'_>; 2],
    d_logits: Sink<'_>,
) {
    let (rows, lanes) = (examples.rows(), lanes(examples.classes));
    let labels = gpu.resident(examples.labels);
    let labels = labels.view().slice(examples.start..examples.start + rows);
    gpu.launch(
        &CROSS_ENTROPY_BACKWARD,
        singles(rows * lanes as usize),
        BLOCK,
        0,
        &[
            &examples.logits,
            &(examples.classes as u32),
            &lanes,
            &labels,
            &examples.weight,
            &d_loss,
            &total,
            &d_logits.place,
            &d_logits.mode,
            &(rows as u64),
        ],
    );
}
