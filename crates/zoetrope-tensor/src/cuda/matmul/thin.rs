//! Launchers of `thin.cu`: many rows times a small matrix, and the gradients of that in one pass.
//!
//! The small matrix and a tile of rows are in shared memory, which bounds what fits; within the
//! bounds a product moves its operands once, by tensor cores if they can ([`tiled`]). What is
//! decided here (rows of a tile, shares of the rows) changes the order of sums only through
//! `Shares`, which looks at the shape alone.

use super::super::activation;
use super::super::kernel::{Kernel, grid_for};
use super::super::{Gpu, View, ViewMut, reduce};
use super::{MatRef, Product, tiled};
use crate::cpu::activation::Activation;
use crate::cpu::matmul::Accumulate;

const FILE: &str = "matmul/thin";
static FORWARD: [Kernel; 3] = [
    Kernel::new(FILE, "thin_forward_4"),
    Kernel::new(FILE, "thin_forward_2"),
    Kernel::new(FILE, "thin_forward_1"),
];
static BACKWARD: [Kernel; 3] = [
    Kernel::new(FILE, "thin_backward_4"),
    Kernel::new(FILE, "thin_backward_2"),
    Kernel::new(FILE, "thin_backward_1"),
];
static WEIGHTS_4: Kernel = Kernel::new(FILE, "thin_weights_4");
static WEIGHTS_8: Kernel = Kernel::new(FILE, "thin_weights_8");

/// Threads of a block, as the kernels have it.
const THREADS: usize = 256;
/// The widest row, and the most elements of the small matrix. From 4096 on the library is faster on an
/// H200: a frame with three products of 160 k rows by 32 × 128 took 2.20 ms with it, 2.42 ms without.
const MAX_WIDTH: usize = 256;
const MAX_WEIGHTS: usize = 4095;
/// Elements of the tiles of a block, 32 KiB: with the weights at most 48 KiB, so that four blocks fit
/// into a multiprocessor and one block into the oldest GPU.
const TILE: usize = 8192;
/// Most shares of a sum over rows, with cells of four and of eight: one wave of blocks on a GPU of 132
/// multiprocessors, of which each has registers for three blocks or for two.
const MAX_SHARES: [usize; 2] = [384, 256];

fn quads(cols: usize) -> usize {
    cols.div_ceil(4)
}

/// Distance of rows in a tile; an odd number of quads.
fn pitch(cols: usize) -> usize {
    4 * (quads(cols) | 1)
}

/// Elements of the small matrix with sides rounded up to quads.
fn weights_room(inner: usize, width: usize) -> usize {
    16 * quads(inner) * quads(width)
}

/// Whether a product with an `inner × width` matrix can go this way.
pub(crate) fn fits(inner: usize, width: usize) -> bool {
    (1..=MAX_WIDTH).contains(&inner)
        && (1..=MAX_WIDTH).contains(&width)
        && weights_room(inner, width) <= MAX_WEIGHTS
}

/// Cells of a weight gradient that threads own, with sides of so many elements.
fn cells(outs: usize, ins: usize, side: usize) -> usize {
    outs.div_ceil(side) * ins.div_ceil(side)
}

/// Whether both gradients can be computed in one pass.
pub(crate) fn fits_backward(outs: usize, ins: usize) -> bool {
    fits(outs, ins) && cells(outs, ins, 4) <= THREADS
}

/// Whether a sum over rows of outer products `outs × ins` can go this way.
pub(crate) fn fits_weights(outs: usize, ins: usize) -> bool {
    let widths = 1..=MAX_WIDTH;
    widths.contains(&outs) && widths.contains(&ins) && cells(outs, ins, 8) <= THREADS
}

/// How many rows a block takes at a time: an index into the kernels by rows of a thread, and the rows.
///
/// More rows a thread read the weights less often; fewer give small matrices enough blocks. Rows come
/// in fours, so that every tile begins at a multiple of 16 bytes.
fn tile_rows(
    gpu: &Gpu,
    rows: usize,
    batch: usize,
    width: usize,
    room_of_row: usize,
) -> (usize, usize) {
    let groups = THREADS / quads(width);
    let room = TILE / room_of_row;
    let whole = |rows: usize| (rows.min(room) / 4 * 4).max(4);
    let enough = |per_thread: usize| {
        let tile = whole(groups * per_thread);
        let blocks = rows.div_ceil(tile) * batch;
        2 * tile > groups * per_thread && blocks >= gpu.multiprocessors() as usize
    };
    match [4, 2].into_iter().position(enough) {
        Some(at) => (at, whole(groups * [4, 2][at])),
        None => (2, whole(groups)),
    }
}

fn bytes(elements: usize) -> u32 {
    (elements * size_of::<f32>()) as u32
}

/// C = activation(A·op(B) + bias + plus), A rectified first if asked.
pub(super) fn forward(gpu: &Gpu, product: Product<'_>, rectified: bool) {
    if !rectified && tiled::fits_forward(gpu, &product) {
        return tiled::forward(gpu, product);
    }
    let [rows, width, inner] = product.shape();
    let Product { a, b, c, bias, plus, activation: function, batch } = product;
    let room_of_row = pitch(inner).max(width);
    let (kernel, tile) = tile_rows(gpu, rows, batch, width, room_of_row);
    let (kind, parameter) = activation::code(function);
    let [w_row, w_col] = b.strides().map(|stride| stride as u32);
    // A block that takes several tiles brings the weights once.
    let blocks = grid_for(rows, tile).min(8 * gpu.multiprocessors());
    gpu.launch(
        &FORWARD[kernel],
        (blocks, batch as u32),
        THREADS as u32,
        bytes(weights_room(inner, width) + tile * room_of_row),
        &[
            &a.data,
            &(a.stride as u64),
            &(a.step as u64),
            &u32::from(rectified),
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
            &(tile as u32),
        ],
    );
}

/// How the rows of a sum are shared out: by the shape alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) count: usize,
    pub(super) rows: usize,
}

impl Shares {
    /// At most so many shares for all members of a batch together, of multiples of `grain` rows.
    pub(super) fn new(
        rows: usize,
        [outs, ins]: [usize; 2],
        batch: usize,
        most: usize,
        grain: usize,
    ) -> Self {
        // Partial sums, written and read again, are to be small beside the rows.
        let worth = rows * (outs + ins) / (4 * outs * (ins + 1));
        let count = worth.min(most / batch.max(1)).max(1);
        let rows_of_share = rows.div_ceil(count).max(1).next_multiple_of(grain);
        Self { count: rows.div_ceil(rows_of_share).max(1), rows: rows_of_share }
    }

    fn of_cells(rows: usize, outs: usize, ins: usize, batch: usize) -> Self {
        let most = MAX_SHARES[usize::from(cells(outs, ins, 4) > THREADS)];
        Self::new(rows, [outs, ins], batch, most, 4)
    }
}

/// The gradients of x·op(W) in one pass over the rows.
pub(crate) struct Pass<'a> {
    pub(crate) dy: MatRef<'a>,
    /// The layer's output and activation, if dy is the gradient behind one.
    pub(crate) behind: Option<(View<'a>, Activation)>,
    pub(crate) x: MatRef<'a>,
    /// Whether the layer reads relu(x).
    pub(crate) rectified: bool,
    /// Where a member of the batch has the element of W that leads from an input to an output:
    /// the distance of outputs and that of inputs. Members lie behind each other without gaps.
    pub(crate) strides: [usize; 2],
    /// W, and where the gradient of x goes in the layout of x, if anywhere.
    pub(crate) dx: Option<(View<'a>, ViewMut<'a>, Accumulate)>,
    pub(crate) dw: (ViewMut<'a>, Accumulate),
    /// The sums of the gradient before the activation are added to it.
    pub(crate) db: Option<ViewMut<'a>>,
    pub(crate) batch: usize,
}

/// Computes dW, and dx and db if they are wanted. [`fits_backward`] with dx, [`fits_weights`]
/// without.
pub(crate) fn backward(gpu: &Gpu, pass: Pass<'_>) {
    if tiled::fits_backward(gpu, &pass) {
        return tiled::backward(gpu, pass);
    }
    let Pass { dy, behind, x, rectified, strides, dx, dw: (dw, mode), db, batch } = pass;
    let (rows, outs, ins) = (x.rows, dy.cols, x.cols);
    let shares = Shares::of_cells(rows, outs, ins, batch);
    let room_of_row = pitch(outs) + pitch(ins);
    let (kernel, tile, side, weights) = if dx.is_some() {
        let blocks = shares.count * batch;
        let (kernel, tile) = tile_rows(gpu, shares.rows, blocks, ins, room_of_row);
        (&BACKWARD[kernel], tile, 4, weights_room(outs, ins))
    } else {
        let tile = (TILE / room_of_row).min(THREADS).min(shares.rows) / 4 * 4;
        let narrow = cells(outs, ins, 4) <= THREADS;
        let (kernel, side) = if narrow { (&WEIGHTS_4, 4) } else { (&WEIGHTS_8, 8) };
        (kernel, tile, side, 0)
    };
    let room = weights + (tile * room_of_row + SLACK).max(joined_room(side));
    let split = outs * ins;
    let len = split + if db.is_some() { outs } else { 0 };
    let mut parts = (shares.count > 1).then(|| gpu.take(shares.count * batch * len));
    let (kind, parameter) = activation::code(behind.map_or(Activation::Identity, |(_, f)| f));
    let [w_row, w_col] = strides.map(|stride| stride as u32);
    let dx_mode = dx.as_ref().map_or(Accumulate::Overwrite, |(.., mode)| *mode);
    let (w, dx) = dx.map(|(w, dx, _)| (w, dx)).unzip();
    gpu.launch(
        kernel,
        (shares.count as u32, batch as u32),
        THREADS as u32,
        bytes(room),
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
            &u32::from(rectified),
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
            &(tile as u32),
        ],
    );
    if let Some(parts) = &parts {
        reduce::add_shares(gpu, parts.view(), shares.count, batch, split, dw, mode, db);
    }
}

/// What the last cell may read behind the tiles.
const SLACK: usize = 4;

/// Elements in which half a block leaves its cells and column sums for the other half.
fn joined_room(side: usize) -> usize {
    (side * side + side) * THREADS / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_rows_and_are_few_beside_them() {
        for rows in [0, 1, 3, 4, 129, 2064, 20_000, 1_600_000, 16_000_000] {
            for (outs, ins) in [(1, 1), (6, 2), (18, 6), (32, 32), (128, 128)] {
                for batch in [1, 3, 16, 1000] {
                    let shares = Shares::of_cells(rows, outs, ins, batch);
                    assert!(shares.count >= 1 && shares.rows.is_multiple_of(4));
                    assert!(shares.count * shares.rows >= rows);
                    assert!((shares.count - 1) * shares.rows < rows.max(1));
                    assert!(shares.count == 1 || shares.count * batch <= MAX_SHARES[0]);
                }
            }
        }
    }

    #[test]
    fn what_fits_has_a_tile_of_rows_in_shared_memory() {
        for inner in 1..=MAX_WIDTH {
            for width in (1..=MAX_WIDTH).filter(|&width| fits(inner, width)) {
                assert!(TILE / pitch(inner).max(width) >= 4);
                assert!(TILE / (pitch(inner) + pitch(width)) >= 4);
            }
        }
    }
}
