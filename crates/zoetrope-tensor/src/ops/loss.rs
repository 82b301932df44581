//! Losses: one number from predictions and targets.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::loss;
use crate::cuda::loss::Examples;
use crate::cuda::{self, View};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape, sink};

/// How predictions are compared with targets. All are means over the weighted entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Mean squared error.
    Mse,
    /// Mean absolute error.
    Mae,
    /// Binary cross-entropy of logits; positive targets count `positive_weight` times.
    BinaryCrossEntropy {
        /// The weight of positive targets, 1 for none.
        positive_weight: f32,
    },
}

impl Tape {
    /// The loss of `prediction` against `target`, each entry counting as `weight` says:
    /// `Σ w·l / Σ w`, and 0 if all weights are 0. No gradient flows into target and weight.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn loss(
        &mut self,
        loss: Loss,
        prediction: Var,
        target: Var,
        weight: Option<Var>,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(prediction);
        expect_shape("loss", "the target", shape, self.shape(target))?;
        if let Some(weight) = weight {
            expect_shape("loss", "the weight", shape, self.shape(weight))?;
        }
        let mut y = self.pool.take(1);
        let mut total = self.gpu().is_some().then(|| self.pool.take(cuda::loss::TOTAL));
        match (self.gpu(), &mut total) {
            (Some(gpu), Some(total)) => {
                let w = weight.map(|weight| self.view(weight));
                let operands = [self.view(prediction), self.view(target)];
                cuda::loss::forward(gpu, loss, operands, w, y.view_mut(), total.view_mut());
            }
            _ => {
                let (p, t) = (self.value(prediction), self.value(target));
                let w = weight.map(|weight| self.value(weight));
                y.as_mut_slice()[0] = match loss {
                    Loss::Mse => loss::mse(p, t, w),
                    Loss::Mae => loss::mae(p, t, w),
                    Loss::BinaryCrossEntropy { positive_weight } => {
                        loss::bce_with_logits(p, t, positive_weight, w)
                    }
                };
            }
        }
        let op = Op::Loss { loss, prediction, target, weight };
        Ok(self.record(op, Shape::new(1, 1), y, total, &[prediction]))
    }

    pub(super) fn loss_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::Loss { loss, prediction, target, weight } = *op else { return };
        let mut dp = self.open_to_overwrite(prediction);
        if let Some(gpu) = self.gpu() {
            let w = weight.map(|weight| self.view(weight));
            let (operands, factors) =
                ([self.view(prediction), self.view(target)], self.loss_factors(node, dy));
            cuda::loss::backward(gpu, loss, operands, w, factors, sink(&mut dp));
        } else if let Some(dp) = &mut dp {
            let (p, t) = (self.value(prediction), self.value(target));
            let w = weight.map(|weight| self.value(weight));
            let (d_loss, dp) = (dy.as_slice()[0], dp.slice_to_add());
            match loss {
                Loss::Mse => loss::mse_backward(p, t, w, d_loss, dp),
                Loss::Mae => loss::mae_backward(p, t, w, d_loss, dp),
                Loss::BinaryCrossEntropy { positive_weight } => {
                    loss::bce_with_logits_backward(p, t, positive_weight, w, d_loss, dp);
                }
            }
        }
        self.close([dp]);
    }

    /// The gradient of a loss and the sum of its weights, on the GPU.
    fn loss_factors<'a>(&'a self, node: Var, dy: &'a Buffer) -> [View<'a>; 2] {
        let total = self.node(node).saved.as_ref().expect("the forward pass kept the weights' sum");
        [dy.view(), total.view()]
    }

    /// The cross-entropy of logits, one row an example, against the classes
    /// `labels[start..start + rows]`; each row counts as `weight` (one column) says.
    ///
    /// # Errors
    /// If there are fewer labels, a label is no class, or the weight is not one column.
    pub fn cross_entropy(
        &mut self,
        logits: Var,
        labels: &Arc<Vec<u32>>,
        start: usize,
        weight: Option<Var>,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(logits);
        let end = start.saturating_add(shape.rows);
        let Some(classes) = labels.get(start..end) else {
            let (index, count) = (end, labels.len());
            return Err(TensorError::OutOfRange {
                operator: "cross_entropy",
                what: "label",
                index,
                count,
            });
        };
        if let Some(&class) = classes.iter().find(|&&class| class as usize >= shape.cols) {
            let (index, count) = (class as usize, shape.cols);
            return Err(TensorError::OutOfRange {
                operator: "cross_entropy",
                what: "class",
                index,
                count,
            });
        }
        if let Some(weight) = weight {
            let column = Shape::new(shape.rows, 1);
            expect_shape("cross_entropy", "the weight", column, self.shape(weight))?;
        }
        let mut y = self.pool.take(1);
        let mut total = self.gpu().is_some().then(|| self.pool.take(cuda::loss::TOTAL));
        match (self.gpu(), &mut total) {
            (Some(gpu), Some(total)) => {
                let examples = self.examples(logits, labels, start, weight);
                cuda::loss::cross_entropy(gpu, &examples, y.view_mut(), total.view_mut());
            }
            _ => {
                let w = weight.map(|weight| self.value(weight));
                let value = self.value(logits);
                y.as_mut_slice()[0] = loss::cross_entropy(value, shape.cols, classes, w);
            }
        }
        let op = Op::CrossEntropy { logits, labels: Arc::clone(labels), start, weight };
        Ok(self.record(op, Shape::new(1, 1), y, total, &[logits]))
    }

    pub(super) fn cross_entropy_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::CrossEntropy { logits, ref labels, start, weight } = *op else { return };
        let shape = self.shape(logits);
        let mut d_logits = self.open_to_overwrite(logits);
        if let Some(gpu) = self.gpu() {
            let examples = self.examples(logits, labels, start, weight);
            let factors = self.loss_factors(node, dy);
            cuda::loss::cross_entropy_backward(gpu, &examples, factors, sink(&mut d_logits));
        } else if let Some(d_logits) = &mut d_logits {
            let (value, w) = (self.value(logits), weight.map(|weight| self.value(weight)));
            let (classes, d_loss) = (&labels[start..start + shape.rows], dy.as_slice()[0]);
            let d_logits = d_logits.slice_to_add();
            loss::cross_entropy_backward(value, shape.cols, classes, w, d_loss, d_logits);
        }
        self.close([d_logits]);
    }

    fn examples<'a>(
        &'a self,
        logits: Var,
        labels: &'a Arc<Vec<u32>>,
        start: usize,
        weight: Option<Var>,
    ) -> Examples<'a> {
        let weight = weight.map(|weight| self.view(weight));
        let classes = self.shape(logits).cols;
        Examples { logits: self.view(logits), classes, labels, start, weight }
    }
}
