//! C = A·op(B) with rows of C of at most two vectors: a vector holds a row, however narrow.
//!
//! Rows lie close together, so a whole vector is stored for each and the next row overwrites what
//! it stored too much; only the last rows of a block are stored by halves. A masked store for each
//! row would cost more than the arithmetic. Bias and activation are applied in registers.

use pulp::{Simd, WithSimd};

use super::{Accumulate, Epilogue, MatMut, MatRef, padded_rows};
use crate::cpu::activation::{Function, Visitor};
use crate::cpu::blocks::{for_each_block, rows_per_block};
use crate::cpu::scratch;

/// Rows of C from which on this way pays.
const MIN_ROWS: usize = 8;
/// Largest inner dimension if two vectors are needed; the general product is as good beyond.
const MAX_INNER_OF_TWO: usize = 8;
/// Largest inner dimension of all: the padded B stays in the first-level cache.
const MAX_INNER: usize = 128;
/// Rows of C at a time: independent sums hide the latency of an addition.
const AT_ONCE: usize = 4;

/// Whether a product of this shape is computed here.
pub(super) fn fits([m, n, k]: [usize; 3], stride: usize, lanes: usize) -> bool {
    let inner = if n <= lanes { MAX_INNER } else { MAX_INNER_OF_TWO };
    stride == n && m >= MIN_ROWS && n <= 2 * lanes && (1..=inner).contains(&k)
}

/// C = epilogue(A·op(B) (+ C)) for checked shapes.
pub(super) fn run(a: MatRef, b: MatRef, c: MatMut, accumulate: Accumulate, epilogue: &Epilogue) {
    let (n, k) = (c.cols, a.cols);
    let lanes = super::lanes(epilogue.cpu);
    let vectors = n.div_ceil(lanes);
    let wide = vectors * lanes;
    let mut padded = scratch::take((k + 1) * wide);
    let (rows_of_b, bias) = padded.split_at_mut(k * wide);
    padded_rows(b, wide, rows_of_b);
    bias.fill(0.0);
    if let Some(values) = epilogue.bias {
        bias[..n].copy_from_slice(values);
    }
    let (b, bias, has_bias) = (&*rows_of_b, &*bias, epilogue.bias.is_some());
    let rows = rows_per_block(n.max(k)).next_multiple_of(AT_ONCE);
    for_each_block(&mut c.data[..c.rows * n], rows * n, |i, c| {
        let a = MatRef { data: &a.data[i * rows * a.stride..], ..a };
        let block = ThinRows { a, b, bias, has_bias, n, c, accumulate };
        epilogue.activation.visit(BlockVisitor { block, epilogue, vectors });
    });
}

/// Some rows of C on one thread.
struct ThinRows<'a> {
    a: MatRef<'a>,
    b: &'a [f32],
    bias: &'a [f32],
    has_bias: bool,
    n: usize,
    c: &'a mut [f32],
    accumulate: Accumulate,
}

struct BlockVisitor<'a, 'e> {
    block: ThinRows<'a>,
    epilogue: &'a Epilogue<'e>,
    vectors: usize,
}

impl Visitor for BlockVisitor<'_, '_> {
    type Output = ();

    fn visit<F: Function>(self, f: F) {
        let Self { block, epilogue, vectors } = self;
        match vectors {
            1 => epilogue.cpu.run(WithWidth::<F, 1> { block, f }),
            _ => epilogue.cpu.run(WithWidth::<F, 2> { block, f }),
        }
    }
}

struct WithWidth<'a, F, const V: usize> {
    block: ThinRows<'a>,
    f: F,
}

impl<F: Function, const V: usize> WithSimd for WithWidth<'_, F, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { block, f } = self;
        let count = block.c.len() / block.n;
        let mut some = Vectors::<S, F, V> {
            simd,
            b: S::as_simd_f32s(block.b).0,
            bias: S::as_simd_f32s(block.bias).0,
            block,
            f,
        };
        let fours = count / AT_ONCE * AT_ONCE;
        for i in (0..fours).step_by(AT_ONCE) {
            some.rows::<AT_ONCE>(i);
        }
        for i in fours..count {
            some.rows::<1>(i);
        }
    }
}

/// A block with its vectors.
struct Vectors<'a, S: Simd, F, const V: usize> {
    simd: S,
    b: &'a [S::f32s],
    bias: &'a [S::f32s],
    block: ThinRows<'a>,
    f: F,
}

impl<S: Simd, F: Function, const V: usize> Vectors<'_, S, F, V> {
    /// The rows `i..i + R` of C.
    // Indices instead of iterators: the sums have to stay in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn rows<const R: usize>(&mut self, i: usize) {
        let simd = self.simd;
        let (a, k) = (self.block.a, self.block.a.cols);
        let mut factors = [&[][..]; R];
        for (r, factors) in factors.iter_mut().enumerate() {
            *factors = &a.data[(i + r) * a.stride..][..k];
        }
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for (l, b) in self.b.chunks_exact(V).enumerate().take(k) {
            for r in 0..R {
                let factor = simd.splat_f32s(factors[r][l]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f32s(factor, b[v], sums[r][v]);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            self.store(i + r, sums);
        }
    }

    // Indices instead of iterators: the sums have to stay in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn store(&mut self, i: usize, sums: &[S::f32s; V]) {
        let (simd, lanes, n) = (self.simd, S::F32_LANES, self.block.n);
        let whole = self.block.accumulate == Accumulate::Overwrite;
        for v in 0..V {
            let at = i * n + v * lanes;
            let end = (i + 1) * n;
            let own = &mut self.block.c[at..end.min(at + lanes)];
            let mut sum = sums[v];
            if !whole {
                sum = simd.add_f32s(simd.partial_load_f32s(own), sum);
            }
            if self.block.has_bias {
                sum = simd.add_f32s(sum, self.bias[v]);
            }
            let value = self.f.value(simd, sum);
            if whole && at + lanes <= self.block.c.len() {
                S::as_mut_simd_f32s(&mut self.block.c[at..at + lanes]).0[0] = value;
            } else {
                simd.partial_store_f32s(&mut self.block.c[at..end.min(at + lanes)], value);
            }
        }
    }
}
