//! Masked temporal self-attention: each vertex attends over its own time steps.

use crate::cpu::attention::{self, AttentionShape};
use crate::cpu::dropout::Dropout;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::ops::dropout::expect_rate;
use crate::tape::{Op, Tape, Var, expect_shape};

/// How a vertex attends over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionOptions {
    /// The number of snapshots stacked.
    pub steps: usize,
    /// The number of heads; the width is divided among them.
    pub heads: usize,
    /// Whether a step sees itself and earlier steps only.
    pub causal: bool,
    /// What scores are multiplied with, `1 / √(width of a head)` in most papers.
    pub scale: f32,
    /// Dropout on the attention weights.
    pub dropout: Option<Dropout>,
}

impl Tape {
    /// `softmax(q·kᵀ · scale)·v` per vertex and head, over `T·N × D` matrices stacked by time.
    /// Where `mask` (`T·N × 1`) is 0 the cell is neither attended to nor attends: its row is 0. Its
    /// values do not matter, but have to be finite.
    ///
    /// # Errors
    /// Where shapes differ, rows are not a multiple of the steps or the width of the heads, or the
    /// dropout rate is not in `[0, 1)`.
    pub fn temporal_attention(
        &mut self,
        [query, key, value]: [Var; 3],
        mask: Option<Var>,
        options: AttentionOptions,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(query);
        expect_shape("attention", "the key", shape, self.shape(key))?;
        expect_shape("attention", "the value", shape, self.shape(value))?;
        if let Some(mask) = mask {
            expect_shape("attention", "the mask", Shape::new(shape.rows, 1), self.shape(mask))?;
        }
        let divides = |name, count: usize, by: usize| match by > 0 && count.is_multiple_of(by) {
            true => Ok(()),
            false => Err(TensorError::Argument {
                operator: "attention",
                name,
                expected: "a divisor of the rows or the width",
                got: format!("{by} for {count}"),
            }),
        };
        divides("the number of steps", shape.rows, options.steps)?;
        divides("the number of heads", shape.cols, options.heads)?;
        if let Some(dropout) = options.dropout {
            expect_rate("attention", dropout.p)?;
        }
        let sizes = sizes(shape, options);
        let mut y = self.pool.take(shape.len());
        let mut saved = self.pool.take(sizes.probabilities_len());
        attention::attention_forward(
            sizes,
            self.value(query),
            self.value(key),
            self.value(value),
            mask.map(|mask| self.value(mask)),
            options.causal,
            options.scale,
            options.dropout,
            y.as_mut_slice(),
            saved.as_mut_slice(),
        );
        let op = Op::Attention { query, key, value, options };
        Ok(self.record(op, shape, y, Some(saved), &[query, key, value]))
    }

    pub(super) fn attention_backward(&mut self, op: &Op, node: Var, dy: &[f32]) {
        let Op::Attention { query, key, value, options } = *op else { unreachable!() };
        let shape = self.shape(query);
        let operands = [query, key, value];
        let mut opened = operands.map(|operand| self.open(operand));
        // The kernel writes all three gradients at once: one that nobody wants goes to scratch.
        let mut unwanted = operands.map(|_| None);
        for (opened, unwanted) in opened.iter().zip(&mut unwanted) {
            if opened.is_none() {
                *unwanted = Some(self.pool.take_zeroed(shape.len()));
            }
        }
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its weights");
        let [d_query, d_key, d_value] = {
            let mut slices = opened.iter_mut().zip(&mut unwanted).map(|(opened, unwanted)| {
                let wanted = opened.as_mut().map(|opened| opened.slice());
                wanted.or(unwanted.as_mut().map(|buffer| buffer.as_mut_slice()))
            });
            [(); 3].map(|()| slices.next().flatten().expect("each operand has a place"))
        };
        attention::attention_backward(
            sizes(shape, options),
            self.value(query),
            self.value(key),
            self.value(value),
            options.scale,
            options.dropout,
            saved.as_slice(),
            dy,
            d_query,
            d_key,
            d_value,
        );
        self.close(opened);
        unwanted.into_iter().flatten().for_each(|buffer| self.pool.give(buffer));
    }
}

fn sizes(shape: Shape, options: AttentionOptions) -> AttentionShape {
    AttentionShape {
        steps: options.steps,
        vertices: shape.rows / options.steps,
        width: shape.cols,
        heads: options.heads,
    }
}
