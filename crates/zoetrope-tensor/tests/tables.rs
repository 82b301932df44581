//! Tables by themselves: rows that are put together, written and read back, on every device.

use std::sync::Arc;

use zoetrope_tensor::cuda::PATH_VARIABLE;
use zoetrope_tensor::{Device, Fixed, Gpu, PickedColumns, Table, Tape};

/// The processor, and a GPU if there is one.
fn devices() -> Vec<Device> {
    match Gpu::open(0) {
        Ok(gpu) => vec![Device::Cpu, Device::Cuda(gpu)],
        // Without a GPU nothing can be compared; if CUDA was promised that is a failure.
        Err(error) if std::env::var_os(PATH_VARIABLE).is_none() => {
            eprintln!("not on a GPU: {error}");
            vec![Device::Cpu]
        }
        Err(error) => panic!("{error}"),
    }
}

fn value(row: usize, column: usize) -> f32 {
    (row * 37 + column * 11) as f32 / 8.0
}

fn values(rows: usize, width: usize) -> Vec<f32> {
    (0..rows * width).map(|at| value(at / width, at % width)).collect()
}

fn table(device: &Device, rows: usize, width: usize) -> Table {
    let mut table = Table::new(device, rows, width);
    table.write(&(0..rows as u32).collect::<Vec<_>>(), &values(rows, width));
    table
}

/// Widths that move 16 bytes at a time, and others.
const WIDTHS: [[usize; 3]; 5] = [[8, 4, 12], [3, 5, 1], [4, 0, 8], [4, 6, 0], [100, 100, 172]];

#[test]
fn rows_are_put_together_side_by_side() {
    for device in devices() {
        for widths in WIDTHS {
            let [first, second, third] = widths.map(|width| table(&device, 9, width));
            let lists =
                [[8, 0, 3, 3], [1, 1, 7, 0], [2, 5, 4, 8]].map(|list| Arc::new(list.to_vec()));
            let mut tape = Tape::on(device.clone());
            let parts = [&first, &second, &third].map(Table::all);
            let parts = [0, 1, 2].map(|at| PickedColumns::new(parts[at], &lists[at]));
            let picked = tape.picked(4, &parts);
            let expected: Vec<f32> = (0..4)
                .flat_map(|row| (0..3).map(move |part| (row, part)))
                .flat_map(|(row, part)| {
                    let from = lists[part][row] as usize;
                    (0..widths[part]).map(move |column| value(from, column))
                })
                .collect();
            assert_eq!(tape.read(picked), expected, "{device:?} {widths:?}");
            // Into another table, and out of the tape again.
            let mut kept = Table::new(&device, 6, widths.iter().sum());
            let to = Arc::new(vec![5, 1, 0, 4]);
            kept.put(&to, &parts);
            assert_eq!(kept.read(&to), expected, "{device:?} {widths:?}");
            assert!(kept.read(&[2, 3]).iter().all(|&value| value == 0.0));
            kept.clear(&[0, 1, 2, 3, 4, 5]);
            tape.keep_rows(picked, &mut kept);
            assert_eq!((kept.rows(), kept.width()), (4, widths.iter().sum()));
            assert_eq!(kept.read(&[0, 1, 2, 3]), expected, "{device:?} {widths:?}");
        }
    }
}

#[test]
fn columns_of_a_wider_table_are_a_part_of_their_own() {
    for device in devices() {
        for start in [0, 2, 4] {
            let wide = table(&device, 5, 12);
            let rows = Arc::new(vec![4, 2]);
            let mut tape = Tape::on(device.clone());
            let picked = tape.picked(2, &[PickedColumns::new(wide.columns(start, 8), &rows)]);
            let row = |row| (start..start + 8).map(move |column| value(row, column));
            assert_eq!(tape.read(picked), row(4).chain(row(2)).collect::<Vec<_>>(), "{start}");
        }
    }
}

#[test]
fn means_add_their_terms_in_order() {
    for device in devices() {
        for widths in [[4, 8], [3, 2]] {
            let [single, several] = widths.map(|width| table(&device, 7, width));
            let (rows, terms) = (Arc::new(vec![6, 5, 4]), Arc::new(vec![0, 3, 3, 4]));
            let named = Arc::new(vec![1, 2, 6, 3]);
            let mut tape = Tape::on(device.clone());
            let means = PickedColumns::means(several.all(), &named, &terms);
            let picked = tape.picked(3, &[PickedColumns::new(single.all(), &rows), means]);
            let mut expected = Vec::new();
            for (row, terms) in [(6, &[1, 2, 6][..]), (5, &[]), (4, &[3])] {
                expected.extend((0..widths[0]).map(|column| value(row, column)));
                expected.extend((0..widths[1]).map(|column| {
                    let sum = terms.iter().fold(0.0, |sum, &row| sum + value(row, column));
                    sum / terms.len().max(1) as f32
                }));
            }
            assert_eq!(tape.read(picked), expected, "{device:?} {widths:?}");
        }
    }
}

#[test]
fn rows_that_never_change_are_shared_with_a_tape() {
    for device in devices() {
        let Some(gpu) = device.gpu() else { continue };
        let fixed = Fixed::new(gpu, 6, &values(50, 6));
        let mut tape = Tape::on(device.clone());
        let uploaded = gpu.copied_bytes()[0];
        let all = tape.fixed(&fixed);
        assert_eq!(gpu.copied_bytes()[0], uploaded, "nothing is copied again");
        assert_eq!(tape.read(all), values(50, 6));
        let rows = Arc::new(vec![49, 7]);
        let picked = tape.picked(2, &[PickedColumns::new(fixed.all(), &rows)]);
        let launches = gpu.launches();
        tape.picked(
            2,
            &[PickedColumns::new(fixed.all(), &rows), PickedColumns::new(fixed.all(), &rows)],
        );
        assert_eq!(gpu.launches(), launches + 1, "one launch whatever the number of parts");
        assert_eq!(tape.read(picked), [&values(50, 6)[49 * 6..], &values(50, 6)[42..48]].concat());
    }
}

#[test]
fn a_table_without_rows_or_columns_is_no_special_case() {
    for device in devices() {
        let (none, empty) = (Table::new(&device, 0, 4), Arc::new(Vec::new()));
        let mut tape = Tape::on(device.clone());
        let picked = tape.picked(0, &[PickedColumns::new(none.all(), &empty)]);
        assert!(tape.read(picked).is_empty());
        let (narrow, rows) = (Table::new(&device, 3, 0), Arc::new(vec![0, 1]));
        let picked = tape.picked(2, &[PickedColumns::new(narrow.all(), &rows)]);
        assert_eq!(tape.shape(picked).rows, 2);
    }
}
