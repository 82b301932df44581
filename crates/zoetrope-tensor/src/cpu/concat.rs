//! Copying a range of columns between matrices: concatenation, slices and their gradients.

use super::blocks::{for_each_block, rows_per_block};
use super::matmul::Accumulate;

/// y[:, to..to + count] (+)= x[:, from..from + count] for `rows` rows.
///
/// # Panics
///
/// When a range of columns or the number of rows does not fit.
#[allow(clippy::too_many_arguments)]
pub fn copy_columns(
    x: &[f32],
    x_cols: usize,
    from: usize,
    count: usize,
    y: &mut [f32],
    y_cols: usize,
    to: usize,
    rows: usize,
    accumulate: Accumulate,
) {
    assert!(from + count <= x_cols && to + count <= y_cols, "a range of columns");
    assert!(x.len() >= rows * x_cols && y.len() >= rows * y_cols, "{rows} rows");
    if count == 0 || rows == 0 {
        return;
    }
    let block = rows_per_block(count);
    for_each_block(&mut y[..rows * y_cols], block * y_cols, |i, y| {
        let x = x[i * block * x_cols..].chunks_exact(x_cols);
        for (x, y) in x.zip(y.chunks_exact_mut(y_cols)) {
            let (x, y) = (&x[from..from + count], &mut y[to..to + count]);
            match accumulate {
                Accumulate::Overwrite => y.copy_from_slice(x),
                Accumulate::Add => y.iter_mut().zip(x).for_each(|(y, x)| *y += x),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::trial::{everywhere, numbers};

    #[test]
    fn only_the_named_columns_change() {
        let (rows, x_cols, y_cols) = (2500, 9, 13);
        let (x, y) = (numbers(1, rows * x_cols, 1.0), numbers(2, rows * y_cols, 1.0));
        for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
            let run = || {
                let mut y = y.clone();
                copy_columns(&x, x_cols, 2, 5, &mut y, y_cols, 7, rows, accumulate);
                y
            };
            everywhere(run, |_, new| {
                for i in 0..rows * y_cols {
                    let (row, col) = (i / y_cols, i % y_cols);
                    let expected = match (col, accumulate) {
                        (7..12, Accumulate::Overwrite) => x[row * x_cols + col - 5],
                        (7..12, Accumulate::Add) => y[i] + x[row * x_cols + col - 5],
                        _ => y[i],
                    };
                    assert_eq!(new[i], expected);
                }
            });
        }
    }
}
