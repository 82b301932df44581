//! Matrix products C (+)= op(A)·op(B) on the device, with bias, summand and activation, one product
//! or a batch of equal ones; layers and their gradients (`layer`).
//!
//! Four paths, chosen by the shape alone:
//!
//! - `thin`: many rows times a small matrix, and the weight gradients that belong to it. Bound by
//!   memory; the library's kernels compute tiles of 32 to 128 columns and waste what is not there.
//!   Sides of 8 to 32 that are multiples of four go to tensor cores (`tiled`).
//! - `tile`: everything small. As fast as a launch, without the library's work on the host.
//! - cuBLASLt (`blas`): the rest, where arithmetic is the bound.
//! - a weight gradient too large for `thin` is a product of the other two.
//!
//! Not here: products over sparse matrices (`spmm`), the cells' own products (`recurrent`).

mod layer;
pub(super) mod thin;
mod tiled;

use super::activation;
use super::blas;
use super::kernel::{Arg, Kernel, grid_for};
use super::{Gpu, View, ViewMut};
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;
pub(crate) use layer::{Layer, Members};

static TILE: Kernel = Kernel::new("matmul", "matmul_tile");
static FINISH: Kernel = Kernel::new("matmul", "matmul_finish");

/// Rows and columns that a block of the `tile` path computes, and its threads.
const TILE_SIDE: usize = 32;
const BLOCK: usize = 256;
/// Multiply-adds of one product up to which `tile` takes it, and of a whole batch.
const TILE_MACS_MAX: usize = 1 << 18;
const TILE_BATCH_MACS_MAX: usize = 1 << 22;
/// Most members of a batch, the limit of a grid's second and third direction.
const MAX_BATCH: usize = 65_535;

/// A stored matrix `rows × cols` with a row stride; op(A) is its transpose if `transposed`. In a
/// batch, member `i` begins `i·step` elements behind the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatRef<'a> {
    pub(crate) data: View<'a>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
    pub(crate) step: usize,
    pub(crate) transposed: bool,
}

impl<'a> MatRef<'a> {
    /// A contiguous matrix, in a batch one of several behind each other.
    pub(crate) fn new(data: View<'a>, rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, stride: cols, step: rows * cols, transposed: false }
    }

    /// The transpose, without moving anything.
    pub(crate) fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Rows and columns of op(A).
    fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// Row and column strides of op(A).
    fn strides(&self) -> [usize; 2] {
        if self.transposed { [1, self.stride] } else { [self.stride, 1] }
    }
}

/// A matrix to write, `rows × cols` with a row stride and a step between members of a batch.
#[derive(Debug)]
pub(crate) struct MatMut<'a> {
    pub(crate) data: ViewMut<'a>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
    pub(crate) step: usize,
}

impl<'a> MatMut<'a> {
    /// A contiguous matrix, in a batch one of several behind each other.
    pub(crate) fn new(data: ViewMut<'a>, rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, stride: cols, step: rows * cols }
    }

    fn contiguous(&self) -> bool {
        self.stride == self.cols
    }
}

/// C = activation(op(A)·op(B) + bias + plus), for every member of a batch.
#[derive(Debug)]
pub(super) struct Product<'a> {
    pub(super) a: MatRef<'a>,
    pub(super) b: MatRef<'a>,
    pub(super) c: MatMut<'a>,
    /// One value per column.
    pub(super) bias: Option<View<'a>>,
    /// In the layout of C; C itself if the product is added to it.
    pub(super) plus: Option<View<'a>>,
    pub(super) activation: Activation,
    pub(super) batch: usize,
}

impl<'a> Product<'a> {
    fn new(a: MatRef<'a>, b: MatRef<'a>, c: MatMut<'a>, accumulate: Accumulate) -> Self {
        let old = View::new(c.data.ptr(), c.data.len());
        let plus = (accumulate == Accumulate::Add).then_some(old);
        Self { a, b, c, bias: None, plus, activation: Activation::Identity, batch: 1 }
    }

    /// Rows, columns and inner dimension.
    fn shape(&self) -> [usize; 3] {
        let ((m, k), (inner, n)) = (self.a.shape(), self.b.shape());
        debug_assert_eq!(k, inner, "inner dimensions of a product");
        debug_assert_eq!((m, n), (self.c.rows, self.c.cols), "shape of a product's result");
        [m, n, k]
    }

    /// Whether nothing happens to the product but that it is written or added.
    fn is_bare(&self) -> bool {
        let added = |plus: View| plus.ptr() == self.c.data.ptr();
        self.bias.is_none()
            && self.activation == Activation::Identity
            && self.plus.is_none_or(added)
    }

    fn run(self, gpu: &Gpu) {
        let [m, n, k] = self.shape();
        if m == 0 || n == 0 || self.batch == 0 {
            return;
        }
        let sums_rows = self.a.transposed && !self.b.transposed && self.is_bare();
        if !self.a.transposed && self.batch <= MAX_BATCH && thin::fits(k, n) {
            thin::forward(gpu, self, false);
        } else if sums_rows && self.c.contiguous() && thin::fits_weights(m, n) {
            let mode = if self.plus.is_some() { Accumulate::Add } else { Accumulate::Overwrite };
            let pass = thin::Pass {
                dy: self.a.t(),
                behind: None,
                x: self.b,
                rectified: false,
                strides: [n, 1],
                dx: None,
                dw: (self.c.data, mode),
                db: None,
                batch: self.batch,
            };
            thin::backward(gpu, pass);
        } else {
            let small = m * n * k <= TILE_MACS_MAX && m * n * k * self.batch <= TILE_BATCH_MACS_MAX;
            if small && self.batch <= MAX_BATCH || !blas::run(gpu, &self) {
                self.tile(gpu);
            }
        }
    }

    fn tile(self, gpu: &Gpu) {
        let [m, n, k] = self.shape();
        let (kind, parameter) = activation::code(self.activation);
        let [a_row, a_col] = self.a.strides().map(|stride| stride as u64);
        let [b_row, b_col] = self.b.strides().map(|stride| stride as u64);
        gpu.launch(
            &TILE,
            (grid_for(n, TILE_SIDE), grid_for(m, TILE_SIDE), self.batch as u32),
            BLOCK as u32,
            0,
            &[
                &self.a.data,
                &a_row,
                &a_col,
                &(self.a.step as u64),
                &self.b.data,
                &b_row,
                &b_col,
                &(self.b.step as u64),
                &self.bias,
                &self.plus,
                &self.c.data,
                &(self.c.stride as u64),
                &(self.c.step as u64),
                &kind,
                &parameter,
                &(m as u64),
                &(n as u64),
                &(k as u64),
            ],
        );
    }
}

/// y = activation(y + bias) over the rows of a product.
pub(super) fn finish(
    gpu: &Gpu,
    y: &ViewMut<'_>,
    cols: usize,
    bias: Option<View<'_>>,
    function: Activation,
) {
    let ((kind, parameter), len) = (activation::code(function), y.len());
    // Enough blocks to fill the GPU, so that a thread has several elements.
    let blocks = grid_for(len, 4 * BLOCK).min(16 * gpu.multiprocessors());
    let sizes = [len as u64, cols as u64];
    let arguments = [y as &dyn Arg, &bias, &kind, &parameter, &sizes[0], &sizes[1]];
    gpu.launch(&FINISH, blocks, BLOCK as u32, 0, &arguments);
}

/// C (+)= op(A)·op(B).
pub(crate) fn matmul(gpu: &Gpu, a: MatRef, b: MatRef, c: MatMut, accumulate: Accumulate) {
    Product::new(a, b, c, accumulate).run(gpu);
}
