//! Layers y = activation(x·op(W) + b), one or a batch of them, and their gradients.

use super::super::{Gpu, View, ViewMut, activation, reduce};
use super::{MatMut, MatRef, Product, thin};
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;

/// Where the members of a batch of layers have their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    /// There is one layer.
    One,
    /// So many, each with its rows below those of the one before.
    Below(usize),
    /// So many, each with its columns beside those of the one before.
    Beside(usize),
}

/// The shape of a layer or of equal layers, whose weights lie behind each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer {
    /// Rows, inputs and outputs of one member.
    pub(crate) rows: usize,
    pub(crate) ins: usize,
    pub(crate) outs: usize,
    /// Whether W is stored `outs × ins`.
    pub(crate) transposed: bool,
    pub(crate) activation: Activation,
    pub(crate) members: Members,
}

/// A gradient to be written or added to.
type Target<'a> = Option<(ViewMut<'a>, Accumulate)>;

impl Layer {
    fn batch(&self) -> usize {
        match self.members {
            Members::One => 1,
            Members::Below(count) | Members::Beside(count) => count,
        }
    }

    /// Distances of rows and of members for `cols` columns.
    fn distances(&self, cols: usize) -> [usize; 2] {
        match self.members {
            Members::One | Members::Below(_) => [cols, self.rows * cols],
            Members::Beside(count) => [count * cols, cols],
        }
    }

    fn read_rows<'a>(&self, data: View<'a>, cols: usize) -> MatRef<'a> {
        let [stride, step] = self.distances(cols);
        MatRef { data, rows: self.rows, cols, stride, step, transposed: false }
    }

    fn written_rows<'a>(&self, data: ViewMut<'a>, cols: usize) -> MatMut<'a> {
        let [stride, step] = self.distances(cols);
        MatMut { data, rows: self.rows, cols, stride, step }
    }

    fn weights<'a>(&self, data: View<'a>) -> MatRef<'a> {
        if self.transposed {
            MatRef::new(data, self.outs, self.ins).t()
        } else {
            MatRef::new(data, self.ins, self.outs)
        }
    }

    /// y = activation(x·op(W) + bias + plus).
    pub(crate) fn forward(
        &self,
        gpu: &Gpu,
        [x, w]: [View<'_>; 2],
        bias: Option<View<'_>>,
        plus: Option<View<'_>>,
        y: ViewMut<'_>,
    ) {
        let (activation, batch) = (self.activation, self.batch());
        let (a, b, c) =
            (self.read_rows(x, self.ins), self.weights(w), self.written_rows(y, self.outs));
        Product { a, b, c, bias, plus, activation, batch }.run(gpu);
    }

    /// y = relu(x)·op(W) + bias, for a layer that [`thin::fits`].
    pub(crate) fn forward_rectified(
        &self,
        gpu: &Gpu,
        [x, w]: [View<'_>; 2],
        bias: View<'_>,
        y: ViewMut<'_>,
    ) {
        let (a, b, c) =
            (self.read_rows(x, self.ins), self.weights(w), self.written_rows(y, self.outs));
        let bare = Product::new(a, b, c, Accumulate::Overwrite);
        thin::forward(gpu, Product { bias: Some(bias), ..bare }, true);
    }

    /// The pass over the rows that computes dW, and dx and db if they are wanted.
    #[allow(clippy::too_many_arguments)]
    fn pass<'a>(
        &self,
        [x, dy]: [View<'a>; 2],
        behind: Option<(View<'a>, Activation)>,
        dx: Option<(View<'a>, ViewMut<'a>, Accumulate)>,
        dw: (ViewMut<'a>, Accumulate),
        db: Option<ViewMut<'a>>,
    ) -> thin::Pass<'a> {
        let (x, dy) = (self.read_rows(x, self.ins), self.read_rows(dy, self.outs));
        let strides = if self.transposed { [self.ins, 1] } else { [1, self.outs] };
        thin::Pass { dy, behind, x, rectified: false, strides, dx, dw, db, batch: self.batch() }
    }

    /// The gradients of [`Layer::forward_rectified`]; sums are added.
    pub(crate) fn backward_rectified(
        &self,
        gpu: &Gpu,
        [x, w, dy]: [View<'_>; 3],
        dx: Target<'_>,
        dw: ViewMut<'_>,
        db: Option<ViewMut<'_>>,
    ) {
        let dx = dx.map(|(dx, mode)| (w, dx, mode));
        let pass = self.pass([x, dy], None, dx, (dw, Accumulate::Add), db);
        thin::backward(gpu, thin::Pass { rectified: true, ..pass });
    }

    /// The gradients that are wanted, from y and its gradient; `db` is added to.
    pub(crate) fn backward(
        &self,
        gpu: &Gpu,
        [x, w]: [View<'_>; 2],
        [y, dy]: [View<'_>; 2],
        dx: Target<'_>,
        dw: Target<'_>,
        db: Option<ViewMut<'_>>,
    ) {
        let (outs, ins) = (self.outs, self.ins);
        let derived = self.activation != Activation::Identity;
        let behind = derived.then_some((y, self.activation));
        let (dx, dw) = match (dx, dw) {
            // Both in one pass, without writing the gradient before the activation down.
            (Some((dx, mode)), Some(dw)) if thin::fits_backward(outs, ins) => {
                let dx = Some((w, dx, mode));
                return thin::backward(gpu, self.pass([x, dy], behind, dx, dw, db));
            }
            (None, Some(dw)) if thin::fits_weights(outs, ins) => {
                return thin::backward(gpu, self.pass([x, dy], behind, None, dw, db));
            }
            others => others,
        };
        let before = derived.then(|| {
            let (function, mode) = (self.activation, Accumulate::Overwrite);
            let mut dz = gpu.take(dy.len());
            activation::backward(gpu, function, y, dy, dz.view_mut(), mode);
            dz
        });
        let dz = before.as_ref().map_or(dy, |dz| dz.view());
        let (batch, dz_rows) = (self.batch(), self.read_rows(dz, outs));
        if let Some((dx, mode)) = dx {
            let bare = Product::new(dz_rows, self.weights(w).t(), self.written_rows(dx, ins), mode);
            Product { batch, ..bare }.run(gpu);
        }
        match dw {
            Some(dw) if thin::fits_weights(outs, ins) => {
                return thin::backward(gpu, self.pass([x, dz], None, None, dw, db));
            }
            Some((dw, mode)) => {
                let x = self.read_rows(x, ins);
                let (a, b) = if self.transposed { (dz_rows, x) } else { (x, dz_rows) };
                let bare = Product::new(a.t(), b, MatMut::new(dw, a.cols, b.cols), mode);
                Product { batch, ..bare }.run(gpu);
            }
            None => {}
        }
        if let Some(db) = db {
            reduce::column_sums(gpu, dz, self.rows, outs, db);
        }
    }
}
