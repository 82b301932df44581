//! Bias and activation of a block of a product while it is in cache.

use pulp::{Simd, WithSimd};

use crate::cpu::activation::{Activation, Function, Visitor};
use crate::cpu::simd::Cpu;

/// What is done to a block of C after its product.
pub(super) struct Epilogue<'a> {
    pub(super) bias: Option<&'a [f32]>,
    pub(super) activation: Activation,
    pub(super) cpu: Cpu,
}

impl Epilogue<'_> {
    pub(super) fn apply(&self, c: &mut [f32], rows: usize, cols: usize, stride: usize) {
        if self.bias.is_none() && self.activation == Activation::Identity {
            return;
        }
        self.activation.visit(EpilogueRows {
            bias: self.bias,
            cpu: self.cpu,
            c,
            rows,
            cols,
            stride,
        });
    }
}

struct EpilogueRows<'a> {
    bias: Option<&'a [f32]>,
    cpu: Cpu,
    c: &'a mut [f32],
    rows: usize,
    cols: usize,
    stride: usize,
}

impl Visitor for EpilogueRows<'_> {
    type Output = ();

    fn visit<F: Function>(self, f: F) {
        self.cpu.run(EpilogueWith { rows: self, f });
    }
}

struct EpilogueWith<'a, F> {
    rows: EpilogueRows<'a>,
    f: F,
}

impl<F: Function> WithSimd for EpilogueWith<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows: EpilogueRows { bias, c, rows, cols, stride, .. }, f } = self;
        let (bias_heads, bias_tail) = S::as_simd_f32s(bias.unwrap_or(&[]));
        for row in c.chunks_mut(stride).take(rows) {
            let (heads, tail) = S::as_mut_simd_f32s(&mut row[..cols]);
            if bias.is_some() {
                for (y, b) in heads.iter_mut().zip(bias_heads) {
                    *y = f.value(simd, simd.add_f32s(*y, *b));
                }
            } else {
                for y in heads.iter_mut() {
                    *y = f.value(simd, *y);
                }
            }
            if !tail.is_empty() {
                let y = simd.partial_load_f32s(tail);
                let b = simd.partial_load_f32s(bias_tail);
                let y = if bias.is_some() { simd.add_f32s(y, b) } else { y };
                simd.partial_store_f32s(tail, f.value(simd, y));
            }
        }
    }
}
