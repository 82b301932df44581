//! Losses: one number from predictions and targets.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cpu::loss;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Var, expect_shape};

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
    /// `Σ w·l / Σ w`, and 0 where all weights are 0. No gradient flows into target and weight.
    ///
    /// # Errors
    /// Where the shapes do not fit.
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
        let (p, t) = (self.value(prediction), self.value(target));
        let w = weight.map(|weight| self.value(weight));
        y.as_mut_slice()[0] = match loss {
            Loss::Mse => loss::mse(p, t, w),
            Loss::Mae => loss::mae(p, t, w),
            Loss::BinaryCrossEntropy { positive_weight } => {
                loss::bce_with_logits(p, t, positive_weight, w)
            }
        };
        let op = Op::Loss { loss, prediction, target, weight };
        Ok(self.record(op, Shape::new(1, 1), y, None, &[prediction]))
    }

    pub(super) fn loss_backward(
        &mut self,
        loss: Loss,
        prediction: Var,
        target: Var,
        weight: Option<Var>,
        dy: &Buffer,
    ) {
        if let Some(mut dp) = self.open(prediction) {
            let (p, t) = (self.value(prediction), self.value(target));
            let w = weight.map(|weight| self.value(weight));
            match loss {
                Loss::Mse => loss::mse_backward(p, t, w, dy.as_slice()[0], dp.slice()),
                Loss::Mae => loss::mae_backward(p, t, w, dy.as_slice()[0], dp.slice()),
                Loss::BinaryCrossEntropy { positive_weight } => {
                    loss::bce_with_logits_backward(
                        p,
                        t,
                        positive_weight,
                        w,
                        dy.as_slice()[0],
                        dp.slice(),
                    );
                }
            }
            self.close([Some(dp)]);
        }
    }

    /// The cross-entropy of logits, one row an example, against the classes
    /// `labels[start..start + rows]`; each row counts as `weight` (one column) says.
    ///
    /// # Errors
    /// Where there are fewer labels, a label is no class, or the weight is not one column.
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
        let w = weight.map(|weight| self.value(weight));
        y.as_mut_slice()[0] = loss::cross_entropy(self.value(logits), shape.cols, classes, w);
        let op = Op::CrossEntropy { logits, labels: Arc::clone(labels), start, weight };
        Ok(self.record(op, Shape::new(1, 1), y, None, &[logits]))
    }

    pub(super) fn cross_entropy_backward(
        &mut self,
        logits: Var,
        classes: &[u32],
        weight: Option<Var>,
        dy: &Buffer,
    ) {
        let cols = self.shape(logits).cols;
        if let Some(mut d_logits) = self.open(logits) {
            let w = weight.map(|weight| self.value(weight));
            let value = self.value(logits);
            loss::cross_entropy_backward(
                value,
                cols,
                classes,
                w,
                dy.as_slice()[0],
                d_logits.slice(),
            );
            self.close([Some(d_logits)]);
        }
    }
}
