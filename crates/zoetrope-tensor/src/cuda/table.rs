//! Rows put together from parts of other rows on the device: the twin of
//! [`cpu::table`](crate::cpu::table), one launch whatever the number of parts.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::kernel::{ByValue, Kernel, grid_for};
use super::{Gpu, ViewMut};
use crate::table::{MOST_PARTS, PickedColumns, Values};

static PUT: Kernel = Kernel::new("table", "table_put");
static PUT_WIDE: Kernel = Kernel::new("table", "table_put_wide");

const BLOCK: usize = 256;

/// What the kernels read of a part; widths in units of a thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
struct Piece {
    values: u64,
    rows: u64,
    /// Where the terms of each mean begin, or 0.
    terms: u64,
    stride: u32,
    /// The column of the result at which the part ends.
    end: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Pieces([Piece; MOST_PARTS]);

/// Writes `count` rows side by side into rows of a matrix: those that `to` names, or one after
/// another.
pub(crate) fn put(
    gpu: &Gpu,
    parts: &[PickedColumns<'_>],
    to: Option<&Arc<Vec<u32>>>,
    count: usize,
    target: ViewMut<'_>,
) {
    let width: usize = parts.iter().map(|part| part.source.width).sum();
    if count == 0 || width == 0 {
        return;
    }
    let part = |at: usize| parts.get(at).filter(|part| part.source.width > 0);
    let lists = [0, 1, 2].map(|at| part(at).map(|part| gpu.resident(part.rows)));
    let terms = [0, 1, 2].map(|at| part(at)?.terms.map(|terms| gpu.resident(terms)));
    let first = |part: &PickedColumns<'_>| {
        let Values::Device(values) = part.source.values else { panic!("this part is on the host") };
        values.ptr() + (part.source.start * size_of::<f32>()) as u64
    };
    let fours = |part: &PickedColumns<'_>| {
        let source = part.source;
        source.width.is_multiple_of(4)
            && source.stride.is_multiple_of(4)
            && first(part).is_multiple_of(16)
    };
    let wide =
        target.ptr().is_multiple_of(16) && (0..MOST_PARTS).all(|at| part(at).is_none_or(fours));
    let unit = if wide { 4 } else { 1 };
    let (mut pieces, mut end) = ([Piece::default(); MOST_PARTS], 0);
    for (at, piece) in pieces.iter_mut().enumerate() {
        if let (Some(part), Some(rows)) = (part(at), &lists[at]) {
            end += part.source.width / unit;
            piece.values = first(part);
            piece.rows = rows.view().ptr();
            piece.terms = terms[at].as_ref().map_or(0, |terms| terms.view().ptr());
            piece.stride = (part.source.stride / unit) as u32;
        }
        piece.end = end as u32;
    }
    let to = to.map(|list| gpu.resident(list));
    let to = to.as_ref().map(|list| list.view());
    let units = count * end;
    gpu.launch(
        if wide { &PUT_WIDE } else { &PUT },
        grid_for(units, BLOCK),
        BLOCK as u32,
        0,
        &[&ByValue(&Pieces(pieces)), &to, &(end as u32), &target, &(units as u64)],
    );
}
