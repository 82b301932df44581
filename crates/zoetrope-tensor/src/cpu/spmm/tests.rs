//! Sparse products against f64 at all widths.

use super::*;
use crate::cpu::trial::{assert_close, everywhere, numbers, sparse};

#[test]
fn all_widths_agree_with_f64() {
    let m = sparse(5, 137, 90, 900);
    for width in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 128, 200] {
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
                spmm(m.view(), &x, width, &mut y, accumulate);
                y
            };
            everywhere(run, |level, y| assert_close(level, y, &expected, 2e-6));
        }
    }
}

#[test]
fn a_group_is_the_products_one_after_another() {
    let ms: Vec<_> = (0..5).map(|i| sparse(i, 60, 60, 300 * i as usize)).collect();
    let views: Vec<_> = ms.iter().map(|m| m.view()).collect();
    let width = 24;
    let x = numbers(1, 5 * 60 * width, 1.0);
    let run = || {
        let mut y = vec![f32::NAN; 5 * 60 * width];
        spmm_group(&views, &x, 60, width, &mut y, Accumulate::Overwrite);
        y
    };
    everywhere(run, |level, y| {
        crate::cpu::simd::with_level(level, || {
            let mut one = vec![0.0; 60 * width];
            for (i, m) in views.iter().enumerate() {
                let range = i * 60 * width..(i + 1) * 60 * width;
                spmm(*m, &x[range.clone()], width, &mut one, Accumulate::Overwrite);
                assert_eq!(one, y[range]);
            }
        });
    });
}

#[test]
fn matrices_without_rows_or_entries_are_fine() {
    let empty = CsrRef { rows: 0, offsets: &[0], columns: &[], values: &[] };
    spmm(empty, &[], 3, &mut [], Accumulate::Overwrite);
    let blank = CsrRef { rows: 2, offsets: &[0, 0, 0], columns: &[], values: &[] };
    let mut y = [5.0; 4];
    spmm(blank, &[], 2, &mut y, Accumulate::Add);
    assert_eq!(y, [5.0; 4]);
    spmm(blank, &[], 2, &mut y, Accumulate::Overwrite);
    assert_eq!(y, [0.0; 4]);
}
