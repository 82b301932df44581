//! Matrix products C (+)= op(A)·op(B), with an optional bias and activation while C is in cache.
//!
//! The micro-kernels of `gemm-f32` compute fixed blocks, each on one thread, from operands packed
//! by `packed` (or by `gemm-f32` if it packs nothing). A product is cut into a `grid` of tasks,
//! or along the inner dimension when C is small (weight gradients of tall matrices), with the
//! partial sums added in order. The choice and the boundaries depend on the shape only.
//!
//! Measured (15 November 2026, one core of a busy two-core AMD EPYC virtual machine with AVX-512,
//! shortest of many runs; the floor is the core's 118 GFLOP/s at 3.7 GHz): 129×96×8 takes 2.7 µs
//! (63 % of the floor), 20000×96×32 97 GFLOP/s (82 %), the weight gradient 96×32×20000 98 GFLOP/s
//! (83 %). `gemm-f32` allocates its packing buffers for each call; nothing here does.
//!
//! Kernels that are parallel over something else and lay their operands out themselves
//! (`recurrent`) call the micro-kernels through `direct`. Not here: products over sparse matrices
//! (`spmm`).

pub(crate) mod backward;
mod direct;
mod epilogue;
mod grid;
mod kernels;
mod packed;
mod thin;

use rayon::prelude::*;

use super::activation::Activation;
use super::scratch;
use super::simd::current;
pub(crate) use direct::{Factors, Results, Vectors, WHOLE_VECTOR, direct};
use epilogue::Epilogue;

/// Multiply-adds below which a product is one call on this thread (about five microseconds).
const ONE_CALL_MACS_MAX: usize = 1 << 18;
/// Length of a block of the inner dimension, at least, and how many blocks at most.
const MIN_INNER: usize = 1024;
const MAX_INNER_BLOCKS: usize = 32;
/// Largest C (elements) for which partial sums are worth their memory.
const MAX_PARTIAL: usize = 1 << 17;

/// A stored matrix `rows × cols` with a row stride; op(A) is its transpose if `transposed`.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a> {
    /// The elements, row by row.
    pub data: &'a [f32],
    /// Stored rows.
    pub rows: usize,
    /// Stored columns.
    pub cols: usize,
    /// Distance between the beginnings of rows.
    pub stride: usize,
    /// Whether the product uses the transpose.
    pub transposed: bool,
}

impl<'a> MatRef<'a> {
    /// A contiguous matrix.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, stride: cols, transposed: false }
    }

    /// The transpose, without moving anything.
    pub fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Rows and columns of op(A).
    fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// Row and column strides of op(A).
    fn strides(&self) -> (isize, isize) {
        let stride = self.stride as isize;
        if self.transposed { (1, stride) } else { (stride, 1) }
    }

    fn check(&self) {
        check_extent(self.data.len(), self.rows, self.cols, self.stride);
    }
}

/// A matrix to write, `rows × cols` with a row stride.
#[derive(Debug)]
pub struct MatMut<'a> {
    /// The elements, row by row.
    pub data: &'a mut [f32],
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Distance between the beginnings of rows.
    pub stride: usize,
}

impl<'a> MatMut<'a> {
    /// A contiguous matrix.
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        Self { data, rows, cols, stride: cols }
    }
}

fn check_extent(len: usize, rows: usize, cols: usize, stride: usize) {
    assert!(stride >= cols, "row stride {stride} is shorter than a row of {cols}");
    if rows > 0 && cols > 0 {
        let need = (rows - 1) * stride + cols;
        assert!(len >= need, "a {rows}x{cols} matrix needs {need} elements, has {len}");
    }
}

/// Whether a kernel replaces its output or adds to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulate {
    /// The old values are ignored.
    Overwrite,
    /// The result is added to the old values.
    Add,
}

/// C (+)= op(A)·op(B).
///
/// # Panics
///
/// When the shapes do not fit.
pub fn matmul(a: MatRef, b: MatRef, c: MatMut, accumulate: Accumulate) {
    linear(a, b, None, Activation::Identity, c, accumulate);
}

/// C = activation(op(A)·op(B) (+ C) + bias), the bias one value per column.
///
/// # Panics
///
/// When the shapes do not fit.
#[allow(unsafe_code)]
pub fn linear(
    a: MatRef,
    b: MatRef,
    bias: Option<&[f32]>,
    activation: Activation,
    c: MatMut,
    accumulate: Accumulate,
) {
    let ((m, k), (inner, n)) = (a.shape(), b.shape());
    assert_eq!(k, inner, "inner dimensions of a product");
    assert_eq!((m, n), (c.rows, c.cols), "shape of a product's result");
    a.check();
    b.check();
    check_extent(c.data.len(), c.rows, c.cols, c.stride);
    if let Some(bias) = bias {
        assert_eq!(bias.len(), n, "one bias per column");
    }
    if m == 0 || n == 0 {
        return;
    }
    let epilogue = Epilogue { bias, activation, cpu: current() };
    let Some(mut c) = thin::run(a, b, c, accumulate, &epilogue) else { return };
    let product = Product::new(a, b, &mut c);
    match split(m, n, k) {
        Split::Whole => {
            // SAFETY: the extents of the three matrices were checked above, and `c` is borrowed
            // mutably for the whole call.
            unsafe { product.run(accumulate) };
            epilogue.apply(c.data, m, n, c.stride);
        }
        // SAFETY: as above.
        Split::Grid => unsafe { grid::run(&product, accumulate, &epilogue) },
        Split::Inner(inner) => {
            split_inner(product, inner, c.data, accumulate);
            epilogue.apply(c.data, m, n, c.stride);
        }
    }
}

/// How a product is cut into blocks.
#[derive(Debug, PartialEq, Eq)]
enum Split {
    Whole,
    Grid,
    Inner(usize),
}

fn split(m: usize, n: usize, k: usize) -> Split {
    let work = m.saturating_mul(n).saturating_mul(k);
    if work <= ONE_CALL_MACS_MAX {
        return Split::Whole;
    }
    if k >= 2 * MIN_INNER && m * n <= MAX_PARTIAL && k >= 4 * m.max(n) {
        return Split::Inner(k.div_ceil(MAX_INNER_BLOCKS).max(MIN_INNER));
    }
    Split::Grid
}

/// Sums blocks of the inner dimension into scratch, then adds them to C in order.
#[allow(unsafe_code)]
fn split_inner(product: Product, inner: usize, c: &mut [f32], accumulate: Accumulate) {
    let [m, n, k] = product.shape;
    let blocks = k.div_ceil(inner);
    let mut parts = scratch::take(blocks * m * n);
    parts.par_chunks_mut(m * n).enumerate().for_each(|(i, part)| {
        let from = i * inner;
        let mut block = product.inner(from, inner.min(k - from));
        block.c = part.as_mut_ptr();
        block.c_stride = n;
        // SAFETY: a range of the inner dimension of a checked product, written to a chunk of
        // m·n elements that this closure owns.
        unsafe { block.run(Accumulate::Overwrite) };
    });
    if accumulate == Accumulate::Overwrite {
        for row in c.chunks_mut(product.c_stride).take(m) {
            row[..n].fill(0.0);
        }
    }
    for part in parts.chunks_exact(m * n) {
        for (row, part) in c.chunks_mut(product.c_stride).zip(part.chunks_exact(n)) {
            for (c, part) in row.iter_mut().zip(part) {
                *c += part;
            }
        }
    }
}

/// A product by addresses, so that blocks of it can be handed to threads.
#[derive(Clone, Copy)]
struct Product {
    shape: [usize; 3],
    a: *const f32,
    a_strides: (isize, isize),
    b: *const f32,
    b_strides: (isize, isize),
    c: *mut f32,
    c_stride: usize,
}

// SAFETY: only addresses and sizes; every use states why its accesses are exclusive.
#[allow(unsafe_code)]
unsafe impl Send for Product {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Product {}

impl Product {
    fn new(a: MatRef, b: MatRef, c: &mut MatMut) -> Self {
        let ((m, k), (_, n)) = (a.shape(), b.shape());
        Self {
            shape: [m, n, k],
            a: a.data.as_ptr(),
            a_strides: a.strides(),
            b: b.data.as_ptr(),
            b_strides: b.strides(),
            c: c.data.as_mut_ptr(),
            c_stride: c.stride,
        }
    }

    fn rows(mut self, from: usize, count: usize) -> Self {
        self.a = self.a.wrapping_offset(from as isize * self.a_strides.0);
        self.c = self.c.wrapping_add(from * self.c_stride);
        self.shape[0] = count;
        self
    }

    fn columns(mut self, from: usize, count: usize) -> Self {
        self.b = self.b.wrapping_offset(from as isize * self.b_strides.1);
        self.c = self.c.wrapping_add(from);
        self.shape[1] = count;
        self
    }

    fn inner(mut self, from: usize, count: usize) -> Self {
        self.a = self.a.wrapping_offset(from as isize * self.a_strides.1);
        self.b = self.b.wrapping_offset(from as isize * self.b_strides.0);
        self.shape[2] = count;
        self
    }

    /// Computes the product on this thread.
    ///
    /// # Safety
    ///
    /// The addresses cover the shape with the strides, and nothing else accesses the elements
    /// of C meanwhile.
    #[allow(unsafe_code)]
    unsafe fn run(self, accumulate: Accumulate) {
        // SAFETY: the caller's promise is the same.
        if unsafe { packed::run(&self, accumulate) } {
            return;
        }
        let [m, n, k] = self.shape;
        let add = accumulate == Accumulate::Add;
        let old = if add { 1.0 } else { 0.0 };
        let gemm = gemm_f32::gemm::f32::get_gemm_fn();
        // The microkernels want a column-major result: Cᵀ = op(B)ᵀ·op(A)ᵀ is one.
        // SAFETY: the caller vouches for the addresses; sides and strides are passed in the
        // order columns, rows of the transposed product.
        unsafe {
            gemm(
                n,
                m,
                k,
                self.c,
                self.c_stride as isize,
                1,
                add,
                self.b,
                self.b_strides.0,
                self.b_strides.1,
                self.a,
                self.a_strides.0,
                self.a_strides.1,
                old,
                1.0,
                false,
                false,
                false,
                gemm_common::Parallelism::None,
            );
        }
    }
}

#[cfg(test)]
mod tests;
