//! Bias and activation of a block of a product while it is in cache.

use pulp::{Simd, WithSimd};

use crate::cpu::activation::{Activation, Function, Visitor};
use crate::cpu::simd::Cpu;

/// What is done to a block of C after its product.
#[derive(Clone, Copy)]
pub(super) struct Epilogue<'a> {
    pub(super) bias: Option<&'a [f32]>,
    pub(super) activation: Activation,
    pub(super) cpu: Cpu,
}

impl<'a> Epilogue<'a> {
    /// The same for some columns only.
    pub(super) fn of_columns(&self, from: usize, count: usize) -> Self {
        Self { bias: self.bias.map(|bias| &bias[from..from + count]), ..*self }
    }

    #[allow(unsafe_code)]
    pub(super) fn apply(&self, c: &mut [f32], rows: usize, cols: usize, stride: usize) {
        assert!(rows == 0 || c.len() >= (rows - 1) * stride + cols, "a block of a product");
        // SAFETY: inside a slice that is borrowed mutably.
        unsafe { self.apply_at(c.as_mut_ptr(), [rows, cols], stride) }
    }

    /// The same by address.
    ///
    /// # Safety
    ///
    /// `c` has these rows and columns, and nothing else accesses them meanwhile.
    #[allow(unsafe_code)]
    pub(super) unsafe fn apply_at(&self, c: *mut f32, [rows, cols]: [usize; 2], stride: usize) {
        if self.bias.is_none() && self.activation == Activation::Identity {
            return;
        }
        let (bias, cpu) = (self.bias, self.cpu);
        self.activation.visit(EpilogueRows { bias, cpu, c, rows, cols, stride });
    }
}

/// Rows whose elements nothing else accesses.
struct EpilogueRows<'a> {
    bias: Option<&'a [f32]>,
    cpu: Cpu,
    c: *mut f32,
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
    #[allow(unsafe_code)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows: EpilogueRows { bias, c, rows, cols, stride, .. }, f } = self;
        let (bias_heads, bias_tail) = S::as_simd_f32s(bias.unwrap_or(&[]));
        for row in 0..rows {
            // SAFETY: who made this vouches for all rows.
            let row = unsafe { std::slice::from_raw_parts_mut(c.wrapping_add(row * stride), cols) };
            let (heads, tail) = S::as_mut_simd_f32s(row);
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
