//! Blocks of vertices in lanes: a vector holds one column of one time step for as many vertices
//! as it has lanes, so that every width, number of heads and number of steps fills whole vectors.
//!
//! A block is cut into groups of one vertex per lane. Row `group · T + step` of a matrix in lanes
//! has its columns side by side, a vector each. Lanes beyond the last vertex hold zeros if rows
//! are turned in; what is computed in them is finite and goes nowhere.

use super::AttentionShape;
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;

/// Some consecutive vertices.
#[derive(Clone, Copy)]
pub(super) struct VertexBlock {
    pub(super) shape: AttentionShape,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl VertexBlock {
    pub(super) fn groups(&self, lanes: usize) -> usize {
        (self.to - self.from).div_ceil(lanes)
    }

    /// Rows of a matrix in lanes.
    pub(super) fn rows(&self, lanes: usize) -> usize {
        self.groups(lanes) * self.shape.steps
    }

    /// The first vertex of a group and how many it has.
    pub(super) fn members(&self, group: usize, lanes: usize) -> (usize, usize) {
        let first = self.from + group * lanes;
        (first, lanes.min(self.to - first))
    }

    /// Columns `at..at + D` of a matrix in lanes that is `wide` columns wide, from rows.
    #[inline(always)]
    pub(super) fn turn_in(&self, lanes: usize, x: &[f32], at: usize, wide: usize, y: &mut [f32]) {
        let AttentionShape { steps, width, .. } = self.shape;
        for group in 0..self.groups(lanes) {
            let (first, count) = self.members(group, lanes);
            for step in 0..steps {
                let x = &x[self.shape.row(step, first)..][..count * width];
                let row = (group * steps + step) * wide + at;
                let y = &mut y[row * lanes..(row + width) * lanes];
                if count < lanes {
                    y.fill(0.0);
                }
                transpose(x, [count, width, width], y, lanes);
            }
        }
    }

    /// The reverse: rows (+)= columns `at..at + D` of a matrix in lanes.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn turn_out(
        &self,
        lanes: usize,
        x: &[f32],
        at: usize,
        wide: usize,
        y: Scattered,
        accumulate: Accumulate,
    ) {
        let AttentionShape { steps, width, .. } = self.shape;
        for group in 0..self.groups(lanes) {
            let (first, count) = self.members(group, lanes);
            for step in 0..steps {
                let row = (group * steps + step) * wide + at;
                let x = &x[row * lanes..(row + width) * lanes];
                // SAFETY: rows of vertices of this block, which belongs to one thread.
                let y = unsafe { y.piece(self.shape.row(step, first), count * width) };
                match accumulate {
                    Accumulate::Overwrite => transpose(x, [width, count, lanes], y, width),
                    Accumulate::Add => add_transposed(x, [width, count, lanes], y, width),
                }
            }
        }
    }
}

/// y[j, i] = x[i, j] for `rows × cols` elements with rows of x `apart` and of y `width` long.
///
/// By tiles of four by four, which the compiler turns in registers.
#[inline(always)]
fn transpose(x: &[f32], [rows, cols, apart]: [usize; 3], y: &mut [f32], width: usize) {
    let (high, tiles) = (rows / 4 * 4, cols / 4);
    for i in (0..high).step_by(4) {
        let mut four = [&[][..]; 4];
        for u in 0..4 {
            four[u] = &x[(i + u) * apart..][..cols].as_chunks::<4>().0[..tiles];
        }
        for tile in 0..tiles {
            let [a, b, c, d] = [four[0][tile], four[1][tile], four[2][tile], four[3][tile]];
            for v in 0..4 {
                let y = &mut y[(4 * tile + v) * width + i..][..4];
                y[0] = a[v];
                y[1] = b[v];
                y[2] = c[v];
                y[3] = d[v];
            }
        }
        for j in 4 * tiles..cols {
            for u in i..i + 4 {
                y[j * width + u] = x[u * apart + j];
            }
        }
    }
    for i in high..rows {
        for j in 0..cols {
            y[j * width + i] = x[i * apart + j];
        }
    }
}

/// y[j, i] += x[i, j], as [`transpose`].
#[inline(always)]
fn add_transposed(x: &[f32], [rows, cols, apart]: [usize; 3], y: &mut [f32], width: usize) {
    for (j, y) in y.chunks_exact_mut(width).take(cols).enumerate() {
        for (i, y) in y[..rows].iter_mut().enumerate() {
            *y += x[i * apart + j];
        }
    }
}
