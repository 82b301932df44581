//! Parallel loops over blocks whose boundaries depend on shapes only.

use rayon::prelude::*;

use super::simd::{Lanewise, Map, current};

/// Elements of one block of an element-wise loop: 64 KiB a slice, a few microseconds of work.
pub(crate) const ELEMENTS: usize = 16 * 1024;

/// Calls `f(index, block)` for the blocks of `block` elements of `y`, in parallel if there are
/// several.
pub(crate) fn for_each_block(
    y: &mut [f32],
    block: usize,
    f: impl Fn(usize, &mut [f32]) + Sync + Send,
) {
    let block = block.max(1);
    if y.len() <= block {
        if !y.is_empty() {
            f(0, y);
        }
        return;
    }
    y.par_chunks_mut(block).enumerate().for_each(|(i, y)| f(i, y));
}

/// Rows of a block so that it holds about [`ELEMENTS`] elements, at least one.
pub(crate) fn rows_per_block(cols: usize) -> usize {
    (ELEMENTS / cols.max(1)).max(1)
}

/// Applies `f` lane by lane to whole slices of the length of `y`.
///
/// # Panics
///
/// When a length differs.
pub(crate) fn lanewise<F: Lanewise<N>, const N: usize>(f: F, x: [&[f32]; N], y: &mut [f32]) {
    for x in x {
        assert_eq!(x.len(), y.len(), "slices of an element-wise kernel have one length");
    }
    let cpu = current();
    for_each_block(y, ELEMENTS, |i, y| {
        let from = i * ELEMENTS;
        let x = x.map(|x| &x[from..from + y.len()]);
        cpu.run(Map { f: &f, x, y });
    });
}

/// Calls `f(block, sum)` for each block with a part of `sums` of its own, then adds the parts to
/// `total` in the order of the blocks.
pub(crate) fn sum_over_blocks(
    blocks: usize,
    total: &mut [f32],
    f: impl Fn(usize, &mut [f32]) + Sync + Send,
) {
    let width = total.len();
    if blocks == 0 || width == 0 {
        return;
    }
    let mut parts = super::scratch::zeroed(blocks * width);
    for_each_block(&mut parts, width, f);
    for part in parts.chunks_exact(width) {
        for (total, part) in total.iter_mut().zip(part) {
            *total += part;
        }
    }
}
