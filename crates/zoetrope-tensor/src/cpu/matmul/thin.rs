//! Products with a dimension of a few: c[i] = Σₗ a(i, l)·b[l] for a short inner dimension, and the
//! gradient of its weight, C = AᵀB for a B of a few columns.
//!
//! First layers have one or two input features. Such a product moves its result and does hardly
//! any arithmetic, so packing the operands as the general product does would be most of the work.
//! Floor (15 November 2026, one core of a busy two-core AMD EPYC virtual machine with AVX-512):
//! 20000×32×2 must move 2.7 MB, 90 µs at the 30 GB/s of a plain copy; measured 103 µs (87 %),
//! against 318 µs by the general product.

use pulp::{Simd, WithSimd};

use super::{Accumulate, Epilogue, MatMut, MatRef};
use crate::cpu::blocks::{for_each_block, rows_per_block, sum_over_blocks};
use crate::cpu::scratch;
use crate::cpu::sparse_sum::{Terms, sum_rows};

/// Largest inner dimension and smallest number of columns for this way.
const MAX_INNER: usize = 4;
const MIN_COLUMNS: usize = 8;

/// Whether a product of this shape is computed here.
pub(super) fn fits(a: MatRef, n: usize, k: usize) -> bool {
    !a.transposed && (1..=MAX_INNER).contains(&k) && n >= MIN_COLUMNS
}

/// C = epilogue(A·op(B) (+ C)) for checked shapes.
pub(super) fn run(a: MatRef, b: MatRef, c: MatMut, accumulate: Accumulate, epilogue: &Epilogue) {
    let (n, k, stride) = (c.cols, a.cols, c.stride);
    let (row, step) = b.strides();
    let mut rows_of_b = scratch::take(k * n);
    for (l, out) in rows_of_b.chunks_exact_mut(n).enumerate() {
        for (j, out) in out.iter_mut().enumerate() {
            *out = b.data[l * row as usize + j * step as usize];
        }
    }
    let b = &rows_of_b[..];
    let rows = rows_per_block(n);
    let end = (c.rows - 1) * stride + n;
    for_each_block(&mut c.data[..end], rows * stride, |i, c| {
        let first = i * rows * a.stride;
        epilogue.cpu.run(Rows {
            a: MatRef { data: &a.data[first..], ..a },
            b,
            n,
            c,
            stride,
            accumulate,
        });
        epilogue.apply(c, c.len().div_ceil(stride), n, stride);
    });
}

/// Rows of A and B whose products are summed at a time.
const INNER: usize = 1024;

/// Whether a weight gradient of this shape is computed here.
pub(super) fn fits_gradient(a: MatRef, b: MatRef, m: usize, n: usize) -> bool {
    a.transposed && !b.transposed && (1..=MAX_INNER).contains(&n) && m >= MIN_COLUMNS
}

/// C = epilogue(AᵀB (+ C)) for checked shapes: blocks of the inner dimension, added in order.
pub(super) fn run_gradient(
    a: MatRef,
    b: MatRef,
    c: MatMut,
    accumulate: Accumulate,
    epilogue: &Epilogue,
) {
    let (m, n, k) = (c.rows, c.cols, a.rows);
    let mut columns = scratch::zeroed(n * m);
    sum_over_blocks(k.div_ceil(INNER), &mut columns, |i, columns| {
        let rows = i * INNER..k.min((i + 1) * INNER);
        epilogue.cpu.run(Columns { a, b, rows, columns });
    });
    for (i, c) in c.data.chunks_mut(c.stride).take(m).enumerate() {
        for (j, c) in c[..n].iter_mut().enumerate() {
            let sum = columns[j * m + i];
            *c = if accumulate == Accumulate::Add { *c + sum } else { sum };
        }
    }
    epilogue.apply(c.data, m, n, c.stride);
}

/// The columns of C, one after another, from some rows of A and B.
struct Columns<'a> {
    a: MatRef<'a>,
    b: MatRef<'a>,
    rows: std::ops::Range<usize>,
    columns: &'a mut [f32],
}

impl WithSimd for Columns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, b, rows, columns } = self;
        for (j, column) in columns.chunks_exact_mut(a.cols).enumerate() {
            let terms = Column { b, j, from: rows.start, len: rows.len(), stride: a.stride };
            sum_rows(simd, terms, a.data, column, Accumulate::Overwrite);
        }
    }
}

/// A column of B: factors of the rows of A.
#[derive(Clone, Copy)]
struct Column<'a> {
    b: MatRef<'a>,
    j: usize,
    from: usize,
    len: usize,
    stride: usize,
}

impl Terms for Column<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        let row = self.from + i;
        (self.b.data[row * self.b.stride + self.j], row * self.stride)
    }
}

/// Rows of C on one thread.
struct Rows<'a> {
    a: MatRef<'a>,
    b: &'a [f32],
    n: usize,
    c: &'a mut [f32],
    stride: usize,
    accumulate: Accumulate,
}

impl WithSimd for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, b, n, c, stride, accumulate } = self;
        for (i, c) in c.chunks_mut(stride).enumerate() {
            let terms = Row { a: &a.data[i * a.stride..][..a.cols], n };
            sum_rows(simd, terms, b, &mut c[..n], accumulate);
        }
    }
}

/// A row of A: factors of the rows of B.
#[derive(Clone, Copy)]
struct Row<'a> {
    a: &'a [f32],
    n: usize,
}

impl Terms for Row<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.a.len()
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        (self.a[i], i * self.n)
    }
}
