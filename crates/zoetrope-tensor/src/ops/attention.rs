//! Masked temporal self-attention: each vertex attends over its own time steps, alone or with the
//! projections and the linear layer around it.

use crate::buffer::Buffer;
use crate::cpu::attention::{self, AttentionLayer, AttentionRule, AttentionShape, LayerGradients};
use crate::cpu::dropout::Dropout;
use crate::cuda::attention as device;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::ops::dropout::expect_rate;
use crate::ops::recurrent::lent;
use crate::tape::{Op, Opened, Tape, Var, expect_shape, sink};

/// Why a gradient that is not opened can be written.
const PLACE: &str = "what nobody wants has scratch";

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
    /// `N × 1`: the bits of the numbers of vertices, which dropout depends on; their places if None.
    pub numbers: Option<Var>,
}

/// The parameters of a [layer](Tape::temporal_layer) of attention over time, all on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemporalParameters {
    /// A row for each step, added to the input; at least as many as there are steps.
    pub positions: Var,
    /// Queries, keys and values from the input, each `in × out`.
    pub projections: [Var; 3],
    /// The linear layer after the attention, `out × in`.
    pub weight: Var,
    /// Its bias, one row.
    pub bias: Var,
}

impl Tape {
    /// `softmax(q·kᵀ · scale)·v` per vertex and head, over `T·N × D` matrices stacked by time.
    /// If `mask` (`T·N × 1`) is 0 the cell is neither attended to nor attends: its row is 0. Its
    /// values do not matter, but have to be finite.
    ///
    /// # Errors
    /// If shapes differ, rows are not a multiple of the steps or the width of the heads, or the
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
        self.expect_attention(shape, mask, options)?;
        let mut y = self.pool.take(shape.len());
        let (inputs, sizes) = ([query, key, value], sizes(shape, options));
        match self.gpu() {
            None => attention::attention_forward(
                sizes,
                self.attention_rule(mask, options),
                inputs.map(|input| self.value(input)),
                y.as_mut_slice(),
            ),
            Some(gpu) => device::attention_forward(
                gpu,
                sizes,
                self.attention_rule_on_gpu(mask, options),
                inputs.map(|input| self.view(input)),
                y.view_mut(),
            ),
        }
        let op = Op::Attention { query, key, value, mask, options };
        Ok(self.record(op, shape, y, None, &inputs))
    }

    /// Refuses options that do not fit matrices of a shape.
    fn expect_attention(
        &self,
        shape: Shape,
        mask: Option<Var>,
        options: AttentionOptions,
    ) -> Result<(), TensorError> {
        if let Some(mask) = mask {
            expect_shape("attention", "the mask", Shape::new(shape.rows, 1), self.shape(mask))?;
        }
        let divides = |name, count: usize, by: usize| {
            if by > 0 && count.is_multiple_of(by) {
                Ok(())
            } else {
                Err(TensorError::Argument {
                    operator: "attention",
                    name,
                    expected: "a divisor of the rows or the width",
                    got: format!("{by} for {count}"),
                })
            }
        };
        divides("the number of steps", shape.rows, options.steps)?;
        divides("the number of heads", shape.cols, options.heads)?;
        if let Some(numbers) = options.numbers {
            let column = Shape::new(shape.rows / options.steps, 1);
            expect_shape("attention", "the numbers of vertices", column, self.shape(numbers))?;
        }
        options.dropout.map_or(Ok(()), |dropout| expect_rate("attention", dropout.p))
    }

    fn attention_rule(&self, mask: Option<Var>, options: AttentionOptions) -> AttentionRule<'_> {
        let AttentionOptions { causal, scale, dropout, numbers, .. } = options;
        let [mask, numbers] = [mask, numbers].map(|var| var.map(|var| self.value(var)));
        AttentionRule { mask, causal, scale, dropout, numbers }
    }

    fn attention_rule_on_gpu(
        &self,
        mask: Option<Var>,
        options: AttentionOptions,
    ) -> device::AttentionRule<'_> {
        let AttentionOptions { causal, scale, dropout, numbers, .. } = options;
        let [mask, numbers] = [mask, numbers].map(|var| var.map(|var| self.view(var)));
        device::AttentionRule { mask, causal, scale, dropout, numbers }
    }

    pub(super) fn attention_backward(&mut self, op: &Op, dy: &Buffer) {
        let Op::Attention { query, key, value, mask, options } = *op else { unreachable!() };
        let shape = self.shape(query);
        let operands = [query, key, value];
        let mut opened = operands.map(|operand| self.open(operand));
        // The kernel writes all three gradients at once: one that is not wanted goes to scratch memory.
        let mut unwanted = operands.map(|_| None);
        for (opened, unwanted) in opened.iter().zip(&mut unwanted) {
            if opened.is_none() {
                *unwanted = Some(self.pool.take_zeroed(shape.len()));
            }
        }
        let mut places = opened.iter_mut().zip(&mut unwanted);
        let mut next = || places.next().expect("each operand has a place");
        let sizes = sizes(shape, options);
        match self.gpu() {
            None => attention::attention_backward(
                sizes,
                self.attention_rule(mask, options),
                operands.map(|operand| self.value(operand)),
                dy.as_slice(),
                [(); 3].map(|()| match next() {
                    (Some(opened), _) => opened.slice(),
                    (None, unwanted) => unwanted.as_mut().expect(PLACE).as_mut_slice(),
                }),
            ),
            Some(gpu) => device::attention_backward(
                gpu,
                sizes,
                self.attention_rule_on_gpu(mask, options),
                operands.map(|operand| self.view(operand)),
                dy.view(),
                [(); 3].map(|()| match next() {
                    (Some(opened), _) => opened.view(),
                    (None, unwanted) => unwanted.as_mut().expect(PLACE).view_mut(),
                }),
            ),
        }
        self.close(opened);
        unwanted.into_iter().flatten().for_each(|buffer| self.pool.give(buffer));
    }

    /// A layer of attention over time with its projections, in one pass over memory:
    /// `relu(o·Wᵀ + b) + o + x'` with `x' = x + positions` and `o` the
    /// [attention](Tape::temporal_attention) of `x'·Q`, `x'·K` and `x'·V`, for `T·N × D` matrices
    /// stacked by time. A cell that is not there keeps `x'` and `relu(b)`.
    ///
    /// # Errors
    /// As [`Tape::temporal_attention`], and if the shapes of the parameters do not fit.
    pub fn temporal_layer(
        &mut self,
        x: Var,
        parameters: TemporalParameters,
        mask: Option<Var>,
        options: AttentionOptions,
    ) -> Result<Var, TensorError> {
        let shape = self.shape(x);
        self.expect_attention(shape, mask, options)?;
        let TemporalParameters { positions, projections, weight, bias } = parameters;
        let square = Shape::new(shape.cols, shape.cols);
        for projection in projections {
            expect_shape("temporal_layer", "a projection", square, self.shape(projection))?;
        }
        expect_shape("temporal_layer", "the weight", square, self.shape(weight))?;
        let row = Shape::new(1, shape.cols);
        expect_shape("temporal_layer", "the bias", row, self.shape(bias))?;
        let given = self.shape(positions);
        let enough = Shape::new(given.rows.max(options.steps), shape.cols);
        expect_shape("temporal_layer", "the positions", enough, given)?;
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => attention::layer_forward(
                sizes(shape, options),
                self.attention_rule(mask, options),
                self.attention_layer(parameters),
                self.value(x),
                y.as_mut_slice(),
            ),
            Some(gpu) => device::layer_forward(
                gpu,
                sizes(shape, options),
                self.attention_rule_on_gpu(mask, options),
                self.attention_layer_on_gpu(parameters),
                self.view(x),
                y.view_mut(),
            ),
        }
        let [query, key, value] = projections;
        let inputs = [x, positions, query, key, value, weight, bias];
        let op = Op::TemporalLayer { x, parameters, mask, options };
        Ok(self.record(op, shape, y, None, &inputs))
    }

    fn attention_layer(&self, parameters: TemporalParameters) -> AttentionLayer<'_> {
        let TemporalParameters { positions, projections, weight, bias } = parameters;
        AttentionLayer {
            positions: self.value(positions),
            projections: projections.map(|projection| self.value(projection)),
            weight: self.value(weight),
            bias: self.value(bias),
        }
    }

    fn attention_layer_on_gpu(&self, parameters: TemporalParameters) -> device::AttentionLayer<'_> {
        let TemporalParameters { positions, projections, weight, bias } = parameters;
        device::AttentionLayer {
            positions: self.view(positions),
            projections: projections.map(|projection| self.view(projection)),
            weight: self.view(weight),
            bias: self.view(bias),
        }
    }

    pub(super) fn temporal_layer_backward(&mut self, op: &Op, dy: &Buffer) {
        let Op::TemporalLayer { x, parameters, mask, options } = *op else { unreachable!() };
        let TemporalParameters { positions, projections, weight, bias } = parameters;
        let mut dx = self.open_to_overwrite(x);
        let mut others = [positions, projections[0], projections[1], projections[2], weight, bias]
            .map(|parameter| self.open(parameter));
        let sizes = sizes(self.shape(x), options);
        match self.gpu() {
            None => {
                let [positions, query, key, value, weight, bias] =
                    others.each_mut().map(|one| one.as_mut().map(Opened::slice));
                attention::layer_backward(
                    sizes,
                    self.attention_rule(mask, options),
                    self.attention_layer(parameters),
                    self.value(x),
                    dy.as_slice(),
                    LayerGradients {
                        x: lent(&mut dx),
                        positions,
                        projections: [query, key, value],
                        weight,
                        bias,
                    },
                );
            }
            Some(gpu) => {
                let [positions, query, key, value, weight, bias] =
                    others.each_mut().map(|one| one.as_mut().map(Opened::view));
                device::layer_backward(
                    gpu,
                    sizes,
                    self.attention_rule_on_gpu(mask, options),
                    self.attention_layer_on_gpu(parameters),
                    self.view(x),
                    dy.view(),
                    device::LayerGradients {
                        x: sink(&mut dx),
                        positions,
                        projections: [query, key, value],
                        weight,
                        bias,
                    },
                );
            }
        }
        self.close([dx]);
        self.close(others);
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
