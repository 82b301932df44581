//! Launchers of `tiled.cu`: many rows times a small matrix by tensor cores, and the gradients of that in
//! one pass.

use super::super::activation;
use super::super::kernel::{Kernel, grid_for};
use super::super::{Gpu, reduce};
use super::thin::{Pass, Shares};
use super::{MatRef, Product};
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;

const FILE: &str = "matmul/tiled";
/// By pieces of the inner dimension, then of the columns.
static FORWARD: [[Kernel; 2]; 2] = [
    [Kernel::new(FILE, "tiled_forward_1_1"), Kernel::new(FILE, "tiled_forward_1_2")],
    [Kernel::new(FILE, "tiled_forward_2_1"), Kernel::new(FILE, "tiled_forward_2_2")],
];
/// By pieces of the outputs, then of the inputs.
static BACKWARD: [[Kernel; 2]; 2] = [
    [Kernel::new(FILE, "tiled_backward_1_1"), Kernel::new(FILE, "tiled_backward_1_2")],
    [Kernel::new(FILE, "tiled_backward_2_1"), Kernel::new(FILE, "tiled_backward_2_2")],
];
static WEIGHTS: [[Kernel; 2]; 2] = [
    [Kernel::new(FILE, "tiled_weights_1_1"), Kernel::new(FILE, "tiled_weights_1_2")],
    [Kernel::new(FILE, "tiled_weights_2_1"), Kernel::new(FILE, "tiled_weights_2_2")],
];

/// The compute capability from which on tensor cores know TF32.
const LEAST_COMPUTE: u32 = 80;
/// Warps of a block, rows of a tile, columns of a piece, as the kernels have them.
const WARPS: usize = 4;
const ROWS: usize = 16;
const PIECE: usize = 16;
/// Rows from which on there is something for every multiprocessor, and the sides of the small matrix.
const LEAST_ROWS: usize = 1024;
const SIDES: std::ops::RangeInclusive<usize> = 8..=2 * PIECE;
/// Blocks of a product that a multiprocessor has registers for.
const RESIDENT: u32 = 5;
/// Most shares of a sum over rows: one wave of blocks on a GPU of 132 multiprocessors.
const MAX_SHARES: usize = 396;

/// Whether rows of a matrix are read four values at a time.
fn is_whole(address: u64, stride: usize, step: usize) -> bool {
    address.is_multiple_of(16) && stride.is_multiple_of(4) && step.is_multiple_of(4)
}

fn fits(gpu: &Gpu, rows: usize, batch: usize, sides: [usize; 2]) -> bool {
    gpu.compute() >= LEAST_COMPUTE
        && rows * batch >= LEAST_ROWS
        && sides.iter().all(|side| SIDES.contains(side) && side.is_multiple_of(4))
}

/// Which of two kernels: sides of one piece, or of two.
fn pieces(side: usize) -> usize {
    side.div_ceil(PIECE) - 1
}

/// Bytes of the small matrix, each element in two parts.
fn table(sides: [usize; 2]) -> usize {
    let octets = sides.map(|side| 2 * (pieces(side) + 1));
    octets[0] * octets[1] * 32 * 4 * size_of::<f32>()
}

/// Whether a product goes this way.
pub(super) fn fits_forward(gpu: &Gpu, product: &Product<'_>) -> bool {
    let [rows, width, inner] = product.shape();
    let Product { a, c, plus, .. } = product;
    fits(gpu, rows, product.batch, [inner, width])
        && is_whole(a.data.ptr(), a.stride, a.step)
        && is_whole(c.data.ptr() | plus.map_or(0, |plus| plus.ptr()), c.stride, c.step)
}

/// C = activation(A·op(B) + bias + plus).
pub(super) fn forward(gpu: &Gpu, product: Product<'_>) {
    let [rows, width, inner] = product.shape();
    let Product { a, b, c, bias, plus, activation: function, batch } = product;
    let (kind, parameter) = activation::code(function);
    let [w_row, w_col] = b.strides().map(|stride| stride as u32);
    let blocks = grid_for(rows, WARPS * ROWS).min(RESIDENT * gpu.multiprocessors());
    gpu.launch(
        &FORWARD[pieces(inner)][pieces(width)],
        (blocks, batch as u32),
        (WARPS * 32) as u32,
        table([inner, width]) as u32,
        &[
            &a.data,
            &(a.stride as u64),
            &(a.step as u64),
            &b.data,
            &w_row,
            &w_col,
            &(b.step as u64),
            &bias,
            &plus,
            &c.data,
            &(c.stride as u64),
            &(c.step as u64),
            &kind,
            &parameter,
            &(rows as u64),
            &(inner as u32),
            &(width as u32),
        ],
    );
}

/// Whether gradients go this way.
pub(super) fn fits_backward(gpu: &Gpu, pass: &Pass<'_>) -> bool {
    let Pass { dy, behind, x, dx, batch, .. } = pass;
    let whole = |matrix: &MatRef<'_>, other: u64| {
        is_whole(matrix.data.ptr() | other, matrix.stride, matrix.step)
    };
    !pass.rectified
        && fits(gpu, x.rows, *batch, [dy.cols, x.cols])
        && whole(dy, behind.map_or(0, |(y, _)| y.ptr()))
        && whole(x, dx.as_ref().map_or(0, |(_, dx, _)| dx.ptr()))
}

/// Computes dW, and dx and db if they are wanted.
pub(super) fn backward(gpu: &Gpu, pass: Pass<'_>) {
    let Pass { dy, behind, x, strides, dx, dw: (dw, mode), db, batch, .. } = pass;
    let (rows, outs, ins) = (x.rows, dy.cols, x.cols);
    let shares = Shares::new(rows, [outs, ins], batch, MAX_SHARES, ROWS);
    let (kernels, weights) = match &dx {
        Some(_) => (&BACKWARD, table([outs, ins])),
        None => (&WEIGHTS, 0),
    };
    let row = [outs, ins].map(|side| PIECE * (pieces(side) + 1) + 8).iter().sum::<usize>();
    let split = outs * ins;
    let len = split + if db.is_some() { outs } else { 0 };
    let mut parts = (shares.count > 1).then(|| gpu.take(shares.count * batch * len));
    let (kind, parameter) = activation::code(behind.map_or(Activation::Identity, |(_, f)| f));
    let [w_row, w_col] = strides.map(|stride| stride as u32);
    let dx_mode = dx.as_ref().map_or(Accumulate::Overwrite, |(.., mode)| *mode);
    let (w, dx) = dx.map(|(w, dx, _)| (w, dx)).unzip();
    gpu.launch(
        &kernels[pieces(outs)][pieces(ins)],
        (shares.count as u32, batch as u32),
        (WARPS * 32) as u32,
        (weights + WARPS * ROWS * row * size_of::<f32>()) as u32,
        &[
            &dy.data,
            &behind.map(|(y, _)| y),
            &(dy.stride as u64),
            &(dy.step as u64),
            &kind,
            &parameter,
            &x.data,
            &(x.stride as u64),
            &(x.step as u64),
            &w,
            &w_row,
            &w_col,
            &dx,
            &dx_mode,
            &dw,
            &mode,
            &db,
            &parts.as_mut().map(|parts| parts.view_mut()),
            &(rows as u64),
            &(shares.rows as u64),
            &(outs as u32),
            &(ins as u32),
        ],
    );
    if let Some(parts) = &parts {
        reduce::add_shares(gpu, parts.view(), shares.count, batch, split, dw, mode, db);
    }
}
