//! Products with a dimension of a few, if packing operands would be most of the work.
//!
//! First layers have one or two input features, evolving weights are as narrow as the features, and
//! the last layer has one output. Three ways, chosen by shape:
//!
//! - `rows`: a result row fits into one or two vectors; a vector per row, whatever the width,
//! - `dots`: a few results from long rows; vectors along the rows,
//! - `gradient`: C = AᵀB of tall matrices, one of them narrow, in blocks of rows added in order.
//!
//! Wide results from a short inner dimension (`outer`) use the inner loop of the sparse kernels.

mod dots;
mod gradient;
mod outer;
mod rows;

use super::{Accumulate, Epilogue, MatMut, MatRef};
use crate::cpu::simd::{Cpu, Level};

/// Computes C = epilogue(op(A)·op(B) (+ C)) for checked shapes; gives C back if that is left to
/// the general product.
pub(super) fn run<'a>(
    a: MatRef,
    b: MatRef,
    c: MatMut<'a>,
    accumulate: Accumulate,
    epilogue: &Epilogue,
) -> Option<MatMut<'a>> {
    let ((m, k), n) = (a.shape(), c.cols);
    let lanes = lanes(epilogue.cpu);
    if a.transposed {
        if !gradient::fits(b, [m, n, k]) {
            return Some(c);
        }
        gradient::run(a, b, c, accumulate, epilogue);
    } else if dots::fits([m, n, k], lanes) {
        dots::run(a, b, c, accumulate, epilogue);
    } else if rows::fits([m, n, k], c.stride, lanes) {
        rows::run(a, b, c, accumulate, epilogue);
    } else if outer::fits(n, k) {
        outer::run(a, b, c, accumulate, epilogue);
    } else {
        return Some(c);
    }
    None
}

fn lanes(cpu: Cpu) -> usize {
    match cpu.level() {
        Level::Scalar => 1,
        Level::Neon => 4,
        Level::Avx2 => 8,
        Level::Avx512 => 16,
    }
}

/// Copies op(B) into rows of `wide` elements, the rest of them 0.
fn padded_rows(b: MatRef, wide: usize, y: &mut [f32]) {
    let (_, n) = b.shape();
    let (row, step) = b.strides();
    for (l, y) in y.chunks_exact_mut(wide).enumerate() {
        y[n..].fill(0.0);
        for (j, y) in y[..n].iter_mut().enumerate() {
            *y = b.data[l * row as usize + j * step as usize];
        }
    }
}
