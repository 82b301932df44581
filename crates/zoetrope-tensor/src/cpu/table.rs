//! Rows put together from parts of other rows.

use rayon::prelude::*;

use crate::table::{PickedColumns, Values};

/// Rows that one task writes.
const BLOCK: usize = 64;

/// Writes rows side by side into a matrix, one after another.
///
/// # Panics
/// If a part is on a GPU or a row out of range.
pub(crate) fn pick(parts: &[PickedColumns<'_>], y: &mut [f32]) {
    let width = width(parts);
    if width == 0 {
        return;
    }
    y.par_chunks_mut(BLOCK * width).enumerate().for_each(|(block, y)| {
        for (at, row) in y.chunks_exact_mut(width).enumerate() {
            write(parts, block * BLOCK + at, row);
        }
    });
}

/// Writes rows side by side into the rows `to` of a table.
///
/// # Panics
/// As [`pick`].
pub(crate) fn put(parts: &[PickedColumns<'_>], to: &[u32], table: &mut [f32]) {
    let width = width(parts);
    for (at, &row) in to.iter().enumerate() {
        write(parts, at, &mut table[row as usize * width..][..width]);
    }
}

fn width(parts: &[PickedColumns<'_>]) -> usize {
    parts.iter().map(|part| part.source.width).sum()
}

/// One row: its parts, or the means of the terms of a part.
fn write(parts: &[PickedColumns<'_>], at: usize, mut row: &mut [f32]) {
    for part in parts.iter().filter(|part| part.source.width > 0) {
        let source = part.source;
        let Values::Host(values) = source.values else { panic!("this part is on a GPU") };
        let (own, rest) = row.split_at_mut(source.width);
        row = rest;
        let values_of = |at: usize| {
            &values[part.rows[at] as usize * source.stride + source.start..][..source.width]
        };
        let Some(terms) = part.terms else {
            own.copy_from_slice(values_of(at));
            continue;
        };
        let terms = terms[at] as usize..terms[at + 1] as usize;
        let count = terms.len().max(1) as f32;
        own.fill(0.0);
        for term in terms {
            own.iter_mut().zip(values_of(term)).for_each(|(sum, value)| *sum += value);
        }
        own.iter_mut().for_each(|sum| *sum /= count);
    }
}
