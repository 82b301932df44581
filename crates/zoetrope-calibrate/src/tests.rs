//! Operators that are measured, without a clock: which they are, and what a quick measurement of a few gives.

use std::time::Duration;

use zoetrope_tensor::{Device, Family};

use crate::grids::GRIDS;
use crate::host;
use crate::operators::Point;

/// The smallest point of a family.
fn smallest(family: Family) -> Point {
    let grid = GRIDS.iter().find(|grid| grid.family == family).expect("each family has a grid");
    grid.points()[0]
}

#[test]
fn the_operator_of_a_point_has_the_size_that_its_table_says() {
    for family in Family::ALL {
        let point = smallest(family);
        let taken = point.measure(&Device::Cpu, Duration::ZERO).unwrap();
        let operation = taken.operation;
        let size = [operation.rows, operation.inner, operation.width];
        let [rows, inner, width] = [point.rows, point.inner, point.width].map(|of| of as f64);
        assert_eq!((operation.family, size[0], size[2]), (family, rows, width), "{family:?}");
        // Entries that are drawn twice are one; a band has less at its start.
        assert!(size[1] <= inner && size[1] > 0.5 * inner, "{family:?}: {} of {inner}", size[1]);
        for floor in [operation.forward, operation.backward] {
            assert!(floor.bytes > 0.0, "{family:?}");
        }
        assert!(taken.seconds.iter().all(|&seconds| seconds > 0.0), "{family:?}");
    }
}

#[test]
fn skewed_matrices_are_more_skewed_than_even_ones() {
    let point = |skew| Point { family: Family::Sparse, rows: 512, inner: 8, width: 4, skew };
    let deviations = [0.0, 0.3, 0.6, 0.9].map(|skew| point(skew).deviation());
    assert_eq!(deviations[0], 0.0);
    assert!(deviations.is_sorted_by(|left, right| left < right), "{deviations:?}");
}

#[test]
fn dates_are_those_of_the_calendar() {
    assert_eq!(host::date_of(0), "1970-01-01 00:00 UTC");
    assert_eq!(host::date_of(951_782_400), "2000-02-29 00:00 UTC");
    assert_eq!(host::date_of(1_795_089_540), "2026-11-19 11:59 UTC");
}
