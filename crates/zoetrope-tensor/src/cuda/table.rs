//! Rows put together from parts of other rows on the device: the twin of
//! [`cpu::table`](crate::cpu::table), one launch whatever the number of parts. Of a part that is on the host, the
//! rows that are picked are sent.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::kernel::{ByValue, Kernel, grid_for};
use super::{Gpu, Scratch, ViewMut};
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

/// A part on the device, with its lists.
struct Placed {
    /// The address of the first value of row 0.
    first: u64,
    width: usize,
    stride: usize,
    rows: Arc<Scratch<u32>>,
    terms: Option<Arc<Scratch<u32>>>,
    /// Rows that were sent, which have to stay until the kernel is launched.
    _sent: Option<Scratch>,
}

impl Placed {
    fn new(gpu: &Gpu, part: &PickedColumns<'_>) -> Self {
        let source = part.source;
        let (width, terms) = (source.width, part.terms.map(|terms| gpu.resident(terms)));
        match source.values {
            Values::Device(values) => {
                let first = values.ptr() + (source.start * size_of::<f32>()) as u64;
                let (stride, rows) = (source.stride, gpu.resident(part.rows));
                Self { first, width, stride, rows, terms, _sent: None }
            }
            Values::Host(values) => {
                let mut picked = Vec::with_capacity(part.rows.len() * width);
                for &row in part.rows.iter() {
                    let start = row as usize * source.stride + source.start;
                    picked.extend_from_slice(&values[start..start + width]);
                }
                let sent = gpu.uploaded(&picked);
                let each: Vec<u32> = (0..part.rows.len() as u32).collect();
                let (first, rows) = (sent.view().ptr(), Arc::new(gpu.uploaded(&each)));
                Self { first, width, stride: width, rows, terms, _sent: Some(sent) }
            }
        }
    }
}

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
    let placed: [Option<Placed>; MOST_PARTS] = std::array::from_fn(|at| {
        let part = parts.get(at).filter(|part| part.source.width > 0)?;
        Some(Placed::new(gpu, part))
    });
    let fours = |part: &Placed| {
        part.width.is_multiple_of(4)
            && part.stride.is_multiple_of(4)
            && part.first.is_multiple_of(16)
    };
    let wide = target.ptr().is_multiple_of(16) && placed.iter().flatten().all(fours);
    let unit = if wide { 4 } else { 1 };
    let (mut pieces, mut end) = ([Piece::default(); MOST_PARTS], 0);
    for (piece, part) in pieces.iter_mut().zip(&placed) {
        if let Some(part) = part {
            end += part.width / unit;
            piece.values = part.first;
            piece.rows = part.rows.view().ptr();
            piece.terms = part.terms.as_ref().map_or(0, |terms| terms.view().ptr());
            piece.stride = (part.stride / unit) as u32;
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
