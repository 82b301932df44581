//! Matrix products, and the linear layer with bias and activation fused.

use crate::buffer::Buffer;
use crate::cpu::activation::{self, Activation};
use crate::cpu::matmul::backward::LargeLayer;
use crate::cpu::matmul::{self, Accumulate, MatMut, MatRef};
use crate::cpu::past_caches::STREAMING_BYTES_MIN;
use crate::cpu::{elementwise, reduce};
use crate::cuda::matmul::{self as device, Layer, Members};
use crate::cuda::{self, View};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Tape, Var, expect_shape};

/// A whole matrix as an operand of a kernel.
fn operand(data: &[f32], shape: Shape, transposed: bool) -> MatRef<'_> {
    MatRef { data, rows: shape.rows, cols: shape.cols, stride: shape.cols, transposed }
}

fn result(data: &mut [f32], shape: Shape) -> MatMut<'_> {
    MatMut { data, rows: shape.rows, cols: shape.cols, stride: shape.cols }
}

/// The same on a GPU.
fn operand_on(data: View<'_>, shape: Shape, transposed: bool) -> device::MatRef<'_> {
    device::MatRef { transposed, ..device::MatRef::new(data, shape.rows, shape.cols) }
}

/// A factor of a product, transposed first or not: a matrix of the tape, or a gradient.
#[derive(Clone, Copy)]
enum Factor<'a> {
    Of(Var, bool),
    Given(&'a Buffer, Shape, bool),
}

fn linear_layer(input: Shape, stored: Shape, activation: Activation) -> Layer {
    let (rows, ins, outs) = (input.rows, input.cols, stored.rows);
    Layer { rows, ins, outs, transposed: true, activation, members: Members::One }
}

fn turned(shape: Shape, transposed: bool) -> Shape {
    if transposed { Shape::new(shape.cols, shape.rows) } else { shape }
}

impl Tape {
    /// `a · b`.
    ///
    /// # Errors
    /// If `b` has not as many rows as `a` has columns.
    pub fn matmul(&mut self, a: Var, b: Var) -> Result<Var, TensorError> {
        self.matmul_turned(a, false, b, false)
    }

    /// `a · b` with either operand transposed first.
    ///
    /// # Errors
    /// If the inner dimensions differ.
    pub fn matmul_turned(
        &mut self,
        a: Var,
        a_transposed: bool,
        b: Var,
        b_transposed: bool,
    ) -> Result<Var, TensorError> {
        let (left, right) = (self.shape(a), self.shape(b));
        let (m, inner) = (turned(left, a_transposed).rows, turned(left, a_transposed).cols);
        let n = turned(right, b_transposed).cols;
        expect_shape(
            "matmul",
            "the second factor",
            Shape::new(inner, n),
            turned(right, b_transposed),
        )?;
        let shape = Shape::new(m, n);
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => matmul::matmul(
                operand(self.value(a), left, a_transposed),
                operand(self.value(b), right, b_transposed),
                result(y.as_mut_slice(), shape),
                Accumulate::Overwrite,
            ),
            Some(gpu) => device::matmul(
                gpu,
                operand_on(self.view(a), left, a_transposed),
                operand_on(self.view(b), right, b_transposed),
                device::MatMut::new(y.view_mut(), m, n),
                Accumulate::Overwrite,
            ),
        }
        let op = Op::Matmul { a, b, a_transposed, b_transposed };
        Ok(self.record(op, shape, y, None, &[a, b]))
    }

    pub(super) fn matmul_backward(
        &mut self,
        node: Var,
        [a, b]: [Var; 2],
        [a_transposed, b_transposed]: [bool; 2],
        dy: &Buffer,
    ) {
        let (left, right, out) = (self.shape(a), self.shape(b), self.shape(node));
        if self.gpu().is_some() && !a_transposed {
            let (rows, ins, outs) = (left.rows, left.cols, out.cols);
            let (transposed, activation) = (b_transposed, Activation::Identity);
            let layer = Layer { rows, ins, outs, transposed, activation, members: Members::One };
            return self.layer_backward(&layer, node, [a, b], None, dy);
        }
        // C = op(A)·op(B): d op(A) = dC·op(B)ᵀ and d op(B) = op(A)ᵀ·dC, transposed back into the
        // layout in which the operand is stored.
        let (dc, dc_turned) = (Factor::Given(dy, out, false), Factor::Given(dy, out, true));
        if let Some(mut da) = self.open_to_overwrite(a) {
            let factors = if a_transposed {
                [Factor::Of(b, b_transposed), dc_turned]
            } else {
                [dc, Factor::Of(b, !b_transposed)]
            };
            self.product(factors, &mut da, left);
            self.close([Some(da)]);
        }
        if let Some(mut db) = self.open_to_overwrite(b) {
            let factors = if b_transposed {
                [dc_turned, Factor::Of(a, a_transposed)]
            } else {
                [Factor::Of(a, !a_transposed), dc]
            };
            self.product(factors, &mut db, right);
            self.close([Some(db)]);
        }
    }

    /// Writes or adds a product to a gradient of that shape.
    fn product(&self, [first, second]: [Factor<'_>; 2], to: &mut Opened, shape: Shape) {
        let mode = to.mode;
        match self.gpu() {
            None => {
                let matrix = |factor| match factor {
                    Factor::Of(var, turned) => operand(self.value(var), self.shape(var), turned),
                    Factor::Given(data, shape, turned) => operand(data.as_slice(), shape, turned),
                };
                matmul::matmul(matrix(first), matrix(second), result(to.slice(), shape), mode);
            }
            Some(gpu) => {
                let matrix = |factor| match factor {
                    Factor::Of(var, turned) => operand_on(self.view(var), self.shape(var), turned),
                    Factor::Given(data, shape, turned) => operand_on(data.view(), shape, turned),
                };
                let to = device::MatMut::new(to.view(), shape.rows, shape.cols);
                device::matmul(gpu, matrix(first), matrix(second), to, mode);
            }
        }
    }

    /// The gradients of a layer on a GPU: opened together, so that one pass can compute all.
    pub(super) fn layer_backward(
        &mut self,
        layer: &Layer,
        node: Var,
        [x, weight]: [Var; 2],
        bias: Option<Var>,
        dy: &Buffer,
    ) {
        let (mut dx, mut dw) = (self.open_to_overwrite(x), self.open_to_overwrite(weight));
        let mut db = self.open_optional(bias);
        layer.backward(
            self.gpu().expect("only called for tapes on a GPU"),
            [self.view(x), self.view(weight)],
            [self.view(node), dy.view()],
            dx.as_mut().map(Opened::target),
            dw.as_mut().map(Opened::target),
            db.as_mut().map(Opened::view),
        );
        self.close([dx, dw, db]);
    }

    /// `activation(x · weightᵀ + bias)`, `weight` being `out × in` as PyTorch stores it.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn linear(
        &mut self,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        activation: Activation,
    ) -> Result<Var, TensorError> {
        self.linear_plus(x, weight, bias, None, activation)
    }

    /// `activation(x · weightᵀ + plus + bias)`: a layer over concatenated inputs without the
    /// concatenation, its other half being `plus`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn linear_plus(
        &mut self,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        plus: Option<Var>,
        activation: Activation,
    ) -> Result<Var, TensorError> {
        let (input, stored) = (self.shape(x), self.shape(weight));
        expect_shape("linear", "the weight", Shape::new(stored.rows, input.cols), stored)?;
        let shape = Shape::new(input.rows, stored.rows);
        if let Some(bias) = bias {
            expect_shape("linear", "the bias", Shape::new(1, stored.rows), self.shape(bias))?;
        }
        if let Some(plus) = plus {
            expect_shape("linear", "the summand", shape, self.shape(plus))?;
        }
        let mut y = self.pool.take(shape.len());
        match self.gpu() {
            None => {
                let mut mode = Accumulate::Overwrite;
                if let Some(plus) = plus {
                    y.as_mut_slice().copy_from_slice(self.value(plus));
                    mode = Accumulate::Add;
                }
                matmul::linear(
                    operand(self.value(x), input, false),
                    operand(self.value(weight), stored, true),
                    bias.map(|bias| self.value(bias)),
                    activation,
                    result(y.as_mut_slice(), shape),
                    mode,
                );
            }
            Some(gpu) => linear_layer(input, stored, activation).forward(
                gpu,
                [self.view(x), self.view(weight)],
                bias.map(|bias| self.view(bias)),
                plus.map(|plus| self.view(plus)),
                y.view_mut(),
            ),
        }
        let inputs = [x, weight, bias.unwrap_or(x), plus.unwrap_or(x)];
        let piece = self.piece.filter(|_| plus.is_none());
        let op = Op::Linear { x, weight, bias, plus, activation, piece };
        Ok(self.record(op, shape, y, None, &inputs))
    }

    /// The gradients of a large layer, some rows at a time, so that what the activation makes of `dy` is
    /// still in the cache for each of the three that follow from it. Blocks depend on shapes only.
    fn linear_backward_by_blocks(
        &mut self,
        node: Var,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        activation: Activation,
        dy: &Buffer,
    ) {
        let (input, stored) = (self.shape(x), self.shape(weight));
        let (mut dx, mut dw) = (self.open_to_overwrite(x), self.open_to_overwrite(weight));
        let mut db = self.open_optional(bias);
        let layer = LargeLayer {
            x: operand(self.value(x), input, false),
            weight: operand(self.value(weight), stored, false),
            y: self.value(node),
            activation,
        };
        layer.backward(
            dy.as_slice(),
            dx.as_mut().map(|dx| (dx.mode, dx.slice())),
            dw.as_mut().map(|dw| (dw.mode, dw.slice())),
            db.as_mut().map(Opened::slice),
        );
        self.close([dx, dw, db]);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn linear_backward(
        &mut self,
        node: Var,
        x: Var,
        weight: Var,
        bias: Option<Var>,
        plus: Option<Var>,
        activation: Activation,
        dy: &Buffer,
    ) {
        let (input, stored, out) = (self.shape(x), self.shape(weight), self.shape(node));
        if self.gpu().is_some() {
            let layer = linear_layer(input, stored, activation);
            self.layer_backward(&layer, node, [x, weight], bias, dy);
            let Some(mut dp) = plus.and_then(|plus| self.open_to_overwrite(plus)) else { return };
            let (gpu, (to, mode)) = (self.gpu().expect("as above"), dp.target());
            cuda::activation::backward(gpu, activation, self.view(node), dy.view(), to, mode);
            return self.close([Some(dp)]);
        }
        if size_of_val(dy.as_slice()) > STREAMING_BYTES_MIN && plus.is_none() && x != weight {
            return self.linear_backward_by_blocks(node, x, weight, bias, activation, dy);
        }
        let mut before = None;
        if activation != Activation::Identity {
            let mut dz = self.pool.take(out.len());
            let mode = Accumulate::Overwrite;
            activation::backward(
                activation,
                self.value(node),
                dy.as_slice(),
                dz.as_mut_slice(),
                mode,
            );
            before = Some(dz);
        }
        let dz = before.as_ref().map_or(dy.as_slice(), |dz| dz.as_slice());
        if let Some(mut dx) = self.open_to_overwrite(x) {
            let mode = dx.mode;
            let weight = operand(self.value(weight), stored, false);
            matmul::matmul(operand(dz, out, false), weight, result(dx.slice(), input), mode);
            self.close([Some(dx)]);
        }
        if let Some(mut dw) = self.open_to_overwrite(weight) {
            let mode = dw.mode;
            let x = operand(self.value(x), input, false);
            matmul::matmul(operand(dz, out, true), x, result(dw.slice(), stored), mode);
            self.close([Some(dw)]);
        }
        if let Some(mut db) = self.open_optional(bias) {
            reduce::column_sums(dz, out.rows, out.cols, db.slice());
            self.close([Some(db)]);
        }
        if let Some(mut dp) = self.open_optional(plus) {
            elementwise::scale_add(1.0, dz, dp.slice());
            self.close([Some(dp)]);
        }
        if let Some(dz) = before {
            self.pool.give(dz);
        }
    }
}
