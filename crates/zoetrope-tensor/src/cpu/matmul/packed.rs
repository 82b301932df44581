//! A product on one thread from packed panels: the micro-kernels of `gemm`, the memory of ours.
//!
//! `gemm` asks the system for memory each time it packs an operand. Here the panels lie in
//! `scratch`. As the micro-kernels write columns, everything is transposed: a *panel* holds some
//! columns of C (of op(B)) for a range of the inner dimension, a *tile* is a panel by a few rows.
//!
//! Left to `gemm`: products that need no packing, and processors other than x86-64 with FMA.
//! Time against `gemm` (15 November 2026, one core of a two-core virtual machine with AVX-512, best
//! of 15): 0.83 to 0.89 for small weight gradients (16×700×12, 96×64×32), 0.93 to 1.06 for linear
//! layers from 20×32×64 to 1000×256×512, 1.07 for 300×300×300 with both operands turned.

use super::kernels::{Kernels, best};
use super::{Accumulate, Product};
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;

/// Length of a piece of the inner dimension: a panel of it stays in the first-level cache.
pub(super) const INNER: usize = 512;
/// Elements of the packed columns, half of a second-level cache of 1 MiB.
const COLUMNS: usize = 128 * 1024;
/// Rows whose operand is packed at once.
const ROWS: usize = 768;
/// Panels of columns from which on packing the rows pays too: rows that lie contiguous are read
/// well as they are.
const PANELS: usize = 9;
const PANELS_IF_TURNED: usize = 3;

/// Whether `gemm` computes this product without packing: nothing, vectors, short inner dimensions,
/// and few results from rows and columns that lie contiguous.
fn needs_no_panels(product: &Product) -> bool {
    let [m, n, k] = product.shape;
    let (a_row, a_step) = product.a_strides;
    let (b_step, b_column) = product.b_strides;
    let contiguous = b_step == 1 && a_step == 1;
    m == 0
        || n == 0
        || k <= 2
        || (contiguous && (m * n <= 256 || m == 1 || n == 1))
        || (m == 1 && b_column == 1)
        || (n == 1 && a_row == 1 && product.c_stride == 1)
}

/// The micro-kernels for this product; none if it is left to `gemm`.
pub(super) fn kernels_for(product: &Product) -> Option<&'static Kernels> {
    best().filter(|_| !needs_no_panels(product))
}

/// Computes the product; false if that is left to `gemm`.
///
/// # Safety
///
/// The addresses cover the shape with the strides, and nothing else accesses the elements of C
/// meanwhile.
#[allow(unsafe_code)]
pub(super) unsafe fn run(product: &Product, accumulate: Accumulate) -> bool {
    let Some(kernels) = kernels_for(product) else { return false };
    // SAFETY: the caller's promise is the same; the processor has these instructions.
    unsafe { run_with(kernels, product, accumulate) };
    true
}

fn packs_rows(kernels: &Kernels, product: &Product) -> bool {
    let panels = if product.a_strides.1 == 1 { PANELS } else { PANELS_IF_TURNED };
    product.shape[1] >= panels * kernels.panel
}

/// # Safety
///
/// As for [`run`], and the processor can run the kernels.
#[allow(unsafe_code)]
unsafe fn run_with(kernels: &Kernels, product: &Product, accumulate: Accumulate) {
    let [m, n, k] = product.shape;
    let inner = k.min(INNER);
    let wide = (COLUMNS / inner / kernels.panel * kernels.panel)
        .clamp(kernels.panel, n.next_multiple_of(kernels.panel));
    let packs_rows = packs_rows(kernels, product);
    let high = if packs_rows { m.min(ROWS) } else { m };
    let mut columns = scratch::take(wide * inner);
    let mut rows =
        scratch::take(if packs_rows { high.next_multiple_of(kernels.rows) * inner } else { 0 });
    for depth in (0..k).step_by(inner) {
        let deep = inner.min(k - depth);
        let adds = depth > 0 || accumulate == Accumulate::Add;
        for row in (0..m).step_by(high) {
            let part = product.inner(depth, deep).rows(row, high.min(m - row));
            let tile_rows = if packs_rows {
                // SAFETY: `part` lies within the product, whose addresses the caller vouches for.
                unsafe {
                    pack(part.a, part.a_strides, [part.shape[0], deep], kernels.rows, &mut rows)
                };
                Some(&rows[..])
            } else {
                None
            };
            for column in (0..n).step_by(wide) {
                let part = part.columns(column, wide.min(n - column));
                let strides = (part.b_strides.1, part.b_strides.0);
                // SAFETY: as above.
                unsafe {
                    pack(part.b, strides, [part.shape[1], deep], kernels.panel, &mut columns)
                };
                // SAFETY: as above; the panels were packed for this part.
                unsafe { tiles(kernels, &part, &columns, tile_rows, adds) };
            }
        }
    }
}

/// Packs one panel of columns, all pieces of its inner dimension. `part` is that panel's part of a
/// product; `columns` has, one after another, the pieces of the inner dimension, and in each piece
/// the panels.
///
/// # Safety
///
/// The addresses of `part` cover its shape; nobody else accesses the places of this panel.
#[allow(unsafe_code)]
pub(super) unsafe fn pack_panel(
    kernels: &Kernels,
    part: &Product,
    panel: usize,
    panels: usize,
    columns: Scattered,
) {
    let [_, n, k] = part.shape;
    for depth in (0..k).step_by(INNER) {
        let deep = INNER.min(k - depth);
        let part = part.inner(depth, deep);
        let strides = (part.b_strides.1, part.b_strides.0);
        let len = kernels.panel * deep;
        // SAFETY: the places of one panel; the caller vouches for both.
        unsafe {
            let place = columns.piece(depth * panels * kernels.panel + panel * len, len);
            pack(part.b, strides, [n, deep], kernels.panel, place);
        }
    }
}

/// The packed columns of a whole product.
pub(super) struct Panels<'a> {
    pub(super) columns: &'a [f32],
    pub(super) count: usize,
}

impl Panels<'_> {
    /// Computes a part of the product whose columns begin with panel `first`.
    ///
    /// # Safety
    ///
    /// As for [`run_with`]; the panels are those of this product.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(
        &self,
        kernels: &Kernels,
        product: &Product,
        first: usize,
        accumulate: Accumulate,
    ) {
        let [m, _, k] = product.shape;
        let packs_rows = packs_rows(kernels, product);
        let high = m.min(ROWS);
        let room = high.next_multiple_of(kernels.rows) * k.min(INNER);
        let mut rows = scratch::take(if packs_rows { room } else { 0 });
        for depth in (0..k).step_by(INNER) {
            let deep = INNER.min(k - depth);
            let adds = depth > 0 || accumulate == Accumulate::Add;
            let columns = &self.columns[(depth * self.count + first * deep) * kernels.panel..];
            for row in (0..m).step_by(high) {
                let part = product.inner(depth, deep).rows(row, high.min(m - row));
                let tile_rows = packs_rows.then(|| {
                    let shape = [part.shape[0], deep];
                    // SAFETY: `part` lies within the product that the caller vouches for.
                    unsafe { pack(part.a, part.a_strides, shape, kernels.rows, &mut rows) };
                    &rows[..]
                });
                // SAFETY: as above; the panels were packed for these columns.
                unsafe { tiles(kernels, &part, columns, tile_rows, adds) };
            }
        }
    }
}

/// Depths that are packed at once if vectors lie apart: their cache lines are all in use.
const TURNED: usize = 16;

/// Neighbours from which on a copy of memory is quicker than a loop.
const SHORT: usize = 16;

/// Copies `count` vectors, each `deep` long, into panels of `width` in which neighbours lie side by
/// side. The places of vectors that the last panel lacks keep what they hold: the results that
/// micro-kernels compute from them are not stored.
///
/// # Safety
///
/// `x` can be read at `i·across + l·along` for all `i < count` and `l < deep`.
#[allow(unsafe_code)]
unsafe fn pack(
    x: *const f32,
    (across, along): (isize, isize),
    [count, deep]: [usize; 2],
    width: usize,
    y: &mut [f32],
) {
    for (panel, y) in y.chunks_exact_mut(width * deep).enumerate().take(count.div_ceil(width)) {
        let first = panel * width;
        let here = width.min(count - first);
        let x = x.wrapping_offset(first as isize * across);
        for (block, y) in y.chunks_mut(width * TURNED).enumerate() {
            let x = x.wrapping_offset((block * TURNED) as isize * along);
            for (l, y) in y.chunks_exact_mut(width).enumerate() {
                let x = x.wrapping_offset(l as isize * along);
                if across == 1 && here >= SHORT {
                    // SAFETY: `here` neighbours from vector `first` on, at one depth.
                    y[..here].copy_from_slice(unsafe { std::slice::from_raw_parts(x, here) });
                    continue;
                }
                for (i, y) in y[..here].iter_mut().enumerate() {
                    // SAFETY: vector `first + i`, below the count, at one depth.
                    *y = unsafe { *x.offset(i as isize * across) };
                }
            }
        }
    }
}

/// All tiles of a part of C whose columns, and perhaps rows, are packed.
///
/// # Safety
///
/// As for [`run_with`], for this part.
#[allow(unsafe_code)]
unsafe fn tiles(
    kernels: &Kernels,
    part: &Product,
    columns: &[f32],
    rows: Option<&[f32]>,
    adds: bool,
) {
    let [m, n, deep] = part.shape;
    for row in (0..m).step_by(kernels.rows) {
        let high = kernels.rows.min(m - row);
        let (factors, factor_strides) = match rows {
            Some(rows) => (rows[row * deep..].as_ptr(), (kernels.rows as isize, 1)),
            None => {
                let a = part.a.wrapping_offset(row as isize * part.a_strides.0);
                (a, (part.a_strides.1, part.a_strides.0))
            }
        };
        for column in (0..n).step_by(kernels.panel) {
            let wide = kernels.panel.min(n - column);
            let panel = &columns[column * deep..(column + kernels.panel) * deep];
            let tile = Tiles {
                shape: [wide, high, deep],
                vectors: panel.as_ptr(),
                vector_stride: kernels.panel as isize,
                factors,
                factor_strides,
                results: part.c.wrapping_add(row * part.c_stride + column),
                result_stride: part.c_stride,
            };
            // SAFETY: the kernel reads `deep` times `wide` columns, rounded up to whole vectors,
            // of a panel that is wider; `high` rows of A; and writes `wide` times `high`
            // elements of C. The processor has its instructions by the caller's promise.
            unsafe { tile.one(kernels, adds) };
        }
    }
}

/// results[j] (+)= Σ over l of factors(j, l)·vectors[l], by addresses.
pub(super) struct Tiles {
    /// Width of a vector, number of results, inner dimension.
    pub(super) shape: [usize; 3],
    pub(super) vectors: *const f32,
    pub(super) vector_stride: isize,
    pub(super) factors: *const f32,
    /// Along the inner dimension, and from result to result.
    pub(super) factor_strides: (isize, isize),
    pub(super) results: *mut f32,
    pub(super) result_stride: usize,
}

impl Tiles {
    /// Computes a tile that one micro-kernel covers.
    ///
    /// # Safety
    ///
    /// The addresses cover the shape, vectors rounded up to whole ones; nothing else accesses the
    /// results meanwhile; the processor can run the kernels.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn one(&self, kernels: &Kernels, adds: bool) {
        let [wide, high, deep] = self.shape;
        let old = if adds { 1.0 } else { 0.0 };
        // SAFETY: the caller's promise; sides and strides in the order of the micro-kernel.
        unsafe {
            kernels.of(wide, high)(
                wide,
                high,
                deep,
                self.results,
                self.vectors,
                self.factors,
                self.result_stride as isize,
                1,
                self.vector_stride,
                self.factor_strides.0,
                self.factor_strides.1,
                old,
                1.0,
                u8::from(adds),
                false,
                false,
                false,
                std::ptr::null(),
            );
        }
    }

    /// Computes everything on this thread, tile by tile, or by `gemm` if there are no kernels.
    ///
    /// # Safety
    ///
    /// The addresses cover the shape, vectors rounded up to whole ones, and nothing else accesses
    /// the results meanwhile.
    #[allow(unsafe_code)]
    pub(super) unsafe fn run(&self, adds: bool) {
        let [width, count, deep] = self.shape;
        let Some(kernels) = best() else {
            let product = Product {
                shape: [count, width, deep],
                a: self.factors,
                a_strides: (self.factor_strides.1, self.factor_strides.0),
                b: self.vectors,
                b_strides: (self.vector_stride, 1),
                c: self.results,
                c_stride: self.result_stride,
            };
            let accumulate = if adds { Accumulate::Add } else { Accumulate::Overwrite };
            // SAFETY: the caller's promise is the same.
            return unsafe { product.run(accumulate) };
        };
        for from in (0..width).step_by(kernels.panel) {
            for first in (0..count).step_by(kernels.rows) {
                let tile = Self {
                    shape: [kernels.panel.min(width - from), kernels.rows.min(count - first), deep],
                    vectors: self.vectors.wrapping_add(from),
                    factors: self.factors.wrapping_offset(first as isize * self.factor_strides.1),
                    results: self.results.wrapping_add(first * self.result_stride + from),
                    ..*self
                };
                // SAFETY: a part of what the caller vouches for; the processor has the kernels.
                unsafe { tile.one(kernels, adds) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels::available;
    use super::super::{MatMut, MatRef};
    use super::*;
    use crate::cpu::test_support::numbers;

    fn check(kernels: &Kernels, [m, k, n]: [usize; 3], turned: [bool; 2], accumulate: Accumulate) {
        let (a, b) = (numbers(1, m * k, 1.0), numbers(2, k * n, 1.0));
        let left = if turned[0] { MatRef::new(&a, k, m).t() } else { MatRef::new(&a, m, k) };
        let right = if turned[1] { MatRef::new(&b, n, k).t() } else { MatRef::new(&b, k, n) };
        let stride = n + 3;
        let mut c = vec![2.0; m * stride];
        let mut result = MatMut { data: &mut c, rows: m, cols: n, stride };
        let product = Product::new(left, right, &mut result);
        // SAFETY: addresses and shapes of whole matrices that only this test knows; the kernels
        // are those of this processor.
        #[allow(unsafe_code)]
        unsafe {
            run_with(kernels, &product, accumulate);
        }
        for (i, row) in c.chunks_exact(stride).enumerate() {
            for (j, &got) in row.iter().enumerate() {
                let term = |l: usize| {
                    let a = if turned[0] { a[l * m + i] } else { a[i * k + l] };
                    let b = if turned[1] { b[j * k + l] } else { b[l * n + j] };
                    f64::from(a) * f64::from(b)
                };
                let expected = match (j < n, accumulate) {
                    (false, _) => 2.0,
                    (true, Accumulate::Overwrite) => (0..k).map(term).sum(),
                    (true, Accumulate::Add) => 2.0 + (0..k).map(term).sum::<f64>(),
                };
                let close = (f64::from(got) - expected).abs() <= 1e-5 * expected.abs().max(10.0);
                assert!(close, "{m}x{k}x{n} {turned:?} at {i}, {j}: {got}, not {expected}");
            }
        }
    }

    #[test]
    fn panels_of_every_instruction_set_give_the_product() {
        let shapes = [
            [1, 3, 1],
            [6, 3, 64],
            [7, 5, 17],
            [13, 33, 65],
            [3, 700, 5],
            [5, 9, 200],
            [800, 4, 210],
            [9, 520, 600],
        ];
        for kernels in available() {
            for shape in shapes {
                for turned in [[false, false], [false, true], [true, false], [true, true]] {
                    check(kernels, shape, turned, Accumulate::Overwrite);
                    check(kernels, shape, turned, Accumulate::Add);
                }
            }
        }
    }
}
