//! Sparse products against f64 at all widths.

use pulp::{Simd, WithSimd};

use super::*;
use crate::cpu::sparse_sum::{Terms, sum_rows};
use crate::cpu::test_support::{Sparse, assert_close, everywhere, numbers, sparse};

#[test]
fn all_widths_agree_with_f64() {
    let m = sparse(5, 137, 90, 900);
    let arranged = Arranged::new(m.view(), 90);
    for width in
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 128, 200, 256, 300]
    {
        let x = numbers(1, 90 * width, 1.0);
        let old = numbers(2, 137 * width, 1.0);
        for accumulate in [Accumulate::Overwrite, Accumulate::Add] {
            let mut expected = vec![0.0; old.len()];
            for row in 0..m.rows {
                for j in 0..width {
                    let at = row * width + j;
                    if accumulate == Accumulate::Add {
                        expected[at] = f64::from(old[at]);
                    }
                    for e in m.view().entries(row) {
                        let c = m.columns[e] as usize;
                        expected[at] += f64::from(m.values[e]) * f64::from(x[c * width + j]);
                    }
                }
            }
            let run = || {
                let mut y = old.clone();
                spmm(&arranged, &x, width, &mut y, accumulate);
                y
            };
            everywhere(run, |level, y| assert_close(level, y, &expected, 2e-6));
        }
    }
}

#[test]
fn a_group_is_the_products_one_after_another() {
    let ms: Vec<_> = (0..5).map(|i| sparse(i, 60, 60, 300 * i as usize)).collect();
    let arranged: Vec<_> = ms.iter().map(|m| Arranged::new(m.view(), 60)).collect();
    let views: Vec<_> = arranged.iter().collect();
    let width = 24;
    let x = numbers(1, 5 * 60 * width, 1.0);
    let run = || {
        let mut y = vec![f32::NAN; 5 * 60 * width];
        spmm_group(&views, &x, width, &mut y, Accumulate::Overwrite);
        y
    };
    everywhere(run, |level, y| {
        crate::cpu::simd::with_level(level, || {
            let mut one = vec![0.0; 60 * width];
            for (i, m) in views.iter().enumerate() {
                let range = i * 60 * width..(i + 1) * 60 * width;
                spmm(m, &x[range.clone()], width, &mut one, Accumulate::Overwrite);
                assert_eq!(one, y[range]);
            }
        });
    });
}

#[test]
fn matrices_without_rows_or_entries_are_fine() {
    let empty = CsrRef { rows: 0, offsets: &[0], columns: &[], values: &[] };
    spmm(&Arranged::new(empty, 0), &[], 3, &mut [], Accumulate::Overwrite);
    let blank = CsrRef { rows: 2, offsets: &[0, 0, 0], columns: &[], values: &[] };
    let blank = &Arranged::new(blank, 0);
    let mut y = [5.0; 4];
    spmm(blank, &[], 2, &mut y, Accumulate::Add);
    assert_eq!(y, [5.0; 4]);
    spmm(blank, &[], 2, &mut y, Accumulate::Overwrite);
    assert_eq!(y, [0.0; 4]);
}

/// Long rows, short rows, empty rows, several windows, x beyond the second-level cache.
#[test]
fn bits_are_those_of_the_rows_one_by_one() {
    let (rows, cols) = (3000, 20_000);
    let m = sparse(9, rows, cols, 30_000);
    let arranged = Arranged::new(m.view(), cols);
    assert!(arranged.windows() > 3);
    for width in [5, 12, 16, 24, 32, 40, 48, 64, 100] {
        let x = numbers(1, cols * width, 1.0);
        let run = || {
            let mut y = vec![f32::NAN; rows * width];
            spmm(&arranged, &x, width, &mut y, Accumulate::Overwrite);
            y
        };
        everywhere(run, |level, y| {
            let plain = Plain { m: &m, x: &x, width };
            let one_by_one = crate::cpu::simd::with_level(level, || current().run(plain));
            assert!(y.iter().zip(&one_by_one).all(|(a, b)| a.to_bits() == b.to_bits()));
        });
    }
}

/// The rows in their own order, with the sum that other sparse kernels use.
struct Plain<'a> {
    m: &'a Sparse,
    x: &'a [f32],
    width: usize,
}

impl WithSimd for Plain<'_> {
    type Output = Vec<f32>;

    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let mut y = vec![0.0; self.m.rows * self.width];
        for (row, y) in y.chunks_exact_mut(self.width).enumerate() {
            let terms =
                Entries { m: self.m, from: self.m.offsets[row] as usize, row, width: self.width };
            sum_rows(simd, terms, self.x, y, Accumulate::Overwrite);
        }
        y
    }
}

#[derive(Clone, Copy)]
struct Entries<'a> {
    m: &'a Sparse,
    from: usize,
    row: usize,
    width: usize,
}

impl Terms for Entries<'_> {
    fn len(&self) -> usize {
        self.m.view().entries(self.row).len()
    }

    fn term(&self, i: usize) -> (f32, usize) {
        let entry = self.from + i;
        (self.m.values[entry], self.m.columns[entry] as usize * self.width)
    }
}
