//! Rows picked by index, and their gradients added back.

use super::blocks::{for_each_block, rows_per_block};
use rayon::prelude::*;

/// Elements below which adding back runs on one thread.
const SERIAL_ELEMENTS_MAX: usize = 1 << 15;

/// `y[i] = x[indices[i]]` for rows of `width` elements.
///
/// # Panics
///
/// When `y` does not have one row per index, or an index lies outside `x`.
pub fn gather_rows(x: &[f32], width: usize, indices: &[u32], y: &mut [f32]) {
    assert_eq!(y.len(), indices.len() * width, "one row per index");
    if width == 0 {
        return;
    }
    let block = rows_per_block(width);
    for_each_block(y, block * width, |i, y| {
        for (y, &index) in y.chunks_exact_mut(width).zip(&indices[i * block..]) {
            y.copy_from_slice(&x[index as usize * width..][..width]);
        }
    });
}

/// `dx[indices[i]] += dy[i]` for rows of `width` elements.
///
/// A thread owns a range of destination rows and looks through all indices for them; each row
/// gets its terms in the order of the indices, whatever the number of ranges.
///
/// # Panics
///
/// When `dy` does not have one row per index, or an index lies outside `dx`.
pub fn scatter_add_rows(dy: &[f32], width: usize, indices: &[u32], dx: &mut [f32]) {
    assert_eq!(dy.len(), indices.len() * width, "one row per index");
    if width == 0 || indices.is_empty() {
        return;
    }
    let rows = dx.len() / width;
    assert!(indices.iter().all(|&i| (i as usize) < rows), "indices below {rows}");
    let ranges = rayon::current_num_threads();
    if ranges == 1 || dy.len() <= SERIAL_ELEMENTS_MAX {
        return add_range(dy, width, indices, 0, dx);
    }
    let per_range = rows.div_ceil(ranges);
    dx.par_chunks_mut(per_range * width)
        .enumerate()
        .for_each(|(i, dx)| add_range(dy, width, indices, i * per_range, dx));
}

/// Adds the rows whose destination lies in `dx`, which begins at row `from`.
fn add_range(dy: &[f32], width: usize, indices: &[u32], from: usize, dx: &mut [f32]) {
    let rows = dx.len() / width;
    for (dy, &index) in dy.chunks_exact(width).zip(indices) {
        let row = (index as usize).wrapping_sub(from);
        if row < rows {
            for (dx, dy) in dx[row * width..(row + 1) * width].iter_mut().zip(dy) {
                *dx += dy;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{assert_close, everywhere, numbers};

    #[test]
    fn rows_come_back_where_they_were_taken_from() {
        for width in [1, 3, 32, 70] {
            let rows = 300;
            let x = numbers(1, rows * width, 1.0);
            let indices: Vec<u32> = (0..2000u32).map(|i| (i * i + 7 * i) % 299).collect();
            let gathered = || {
                let mut y = vec![0.0; indices.len() * width];
                gather_rows(&x, width, &indices, &mut y);
                y
            };
            everywhere(gathered, |_, y| {
                for (i, &index) in indices.iter().enumerate() {
                    assert_eq!(y[i * width..][..width], x[index as usize * width..][..width]);
                }
            });
            let dy = numbers(2, indices.len() * width, 1.0);
            let mut expected = vec![1.0; rows * width];
            for (i, &index) in indices.iter().enumerate() {
                for j in 0..width {
                    expected[index as usize * width + j] += f64::from(dy[i * width + j]);
                }
            }
            let scattered = || {
                let mut dx = vec![1.0; rows * width];
                scatter_add_rows(&dy, width, &indices, &mut dx);
                dx
            };
            everywhere(scattered, |level, dx| assert_close(level, dx, &expected, 1e-5));
        }
    }

    #[test]
    #[should_panic(expected = "indices below 2")]
    fn an_index_outside_is_refused() {
        scatter_add_rows(&[1.0], 1, &[2], &mut [0.0; 2]);
    }
}
