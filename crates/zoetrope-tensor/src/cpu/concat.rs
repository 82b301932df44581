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
        let pairs = x
            .zip(y.chunks_exact_mut(y_cols))
            .map(|(x, y)| (&x[from..from + count], &mut y[to..to + count]));
        match accumulate {
            Accumulate::Overwrite => copy_rows(pairs, count),
            Accumulate::Add => {
                pairs.for_each(|(x, y)| y.iter_mut().zip(x).for_each(|(y, x)| *y += x));
            }
        }
    });
}

/// Copies rows of `count` elements: the common widths are known to the compiler, because a call
/// for each narrow row would cost more than its copy.
fn copy_rows<'a>(pairs: impl Iterator<Item = (&'a [f32], &'a mut [f32])>, count: usize) {
    match count {
        1 => copy_arrays::<1>(pairs),
        2 => copy_arrays::<2>(pairs),
        3 => copy_arrays::<3>(pairs),
        4 => copy_arrays::<4>(pairs),
        6 => copy_arrays::<6>(pairs),
        8 => copy_arrays::<8>(pairs),
        16 => copy_arrays::<16>(pairs),
        32 => copy_arrays::<32>(pairs),
        _ => pairs.for_each(|(x, y)| y.copy_from_slice(x)),
    }
}

fn copy_arrays<'a, const N: usize>(pairs: impl Iterator<Item = (&'a [f32], &'a mut [f32])>) {
    for (x, y) in pairs {
        if let (Some(x), Some(y)) = (x.first_chunk::<N>(), y.first_chunk_mut::<N>()) {
            *y = *x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::test_support::{everywhere, numbers};

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
