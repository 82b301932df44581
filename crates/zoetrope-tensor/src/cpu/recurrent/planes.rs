//! Rows of stacked matrices as planes of a block, and back.
//!
//! In the layout of rows the planes of the state are the rows themselves; in that of lanes they
//! are turned, 16 vertices at a time so that the cache lines of both sides stay at hand. Lanes
//! beyond the last vertex hold zeros.

use super::{Layout, SequenceBlock};
use crate::cpu::matmul::{Accumulate, WHOLE_VECTOR};
use crate::cpu::reduce::add_rows;
use crate::cpu::simd::Cpu;
use pulp::{Simd, WithSimd};

impl SequenceBlock {
    /// Rows of a matrix of any width as a product's operand reads them: themselves, or turned
    /// into `spare`.
    pub(crate) fn operand<'a>(
        &self,
        rows: &'a [f32],
        width: usize,
        spare: &'a mut [f32],
    ) -> &'a [f32] {
        match self.layout {
            Layout::Rows => rows,
            Layout::Lanes => {
                let spare = &mut spare[..self.room * width];
                turn(rows, width, self.room, spare);
                spare
            }
        }
    }

    /// The mask with the value of a vertex at each of its cells.
    pub(crate) fn spread_mask(&self, mask: &[f32], plane: &mut [f32]) {
        let hidden = self.hidden;
        match self.layout {
            Layout::Rows => {
                for (row, &value) in plane.chunks_exact_mut(hidden).zip(mask) {
                    row.fill(value);
                }
            }
            Layout::Lanes => {
                for row in plane.chunks_exact_mut(self.room) {
                    row[..mask.len()].copy_from_slice(mask);
                    row[mask.len()..].fill(0.0);
                }
            }
        }
    }

    /// A bias for each feature of each plane, as element-wise loops take it.
    pub(crate) fn bias<'a>(&self, values: &'a [f32]) -> Bias<'a> {
        Bias { values, hidden: self.hidden, room: self.room, layout: self.layout }
    }
}

/// A value for each feature of some planes. A plane is gone through in *runs*: in the layout of
/// rows a run is a vertex and has an element for each feature, in that of lanes a run is a feature.
#[derive(Clone, Copy)]
pub(crate) struct Bias<'a> {
    values: &'a [f32],
    hidden: usize,
    room: usize,
    layout: Layout,
}

impl Bias<'_> {
    /// Vectors of a run.
    #[inline(always)]
    pub(crate) fn run_len<S: Simd>(&self) -> usize {
        let len = if self.layout == Layout::Rows { self.hidden } else { self.room };
        (len / S::F32_LANES).max(1)
    }

    /// The values of one vector for the planes `from..from + N`.
    #[inline(always)]
    pub(crate) fn at<S: Simd, const N: usize>(
        &self,
        simd: S,
        from: usize,
        run: usize,
        vector: usize,
    ) -> [S::f32s; N] {
        let mut values = [simd.splat_f32s(0.0); N];
        for (i, value) in values.iter_mut().enumerate() {
            let own = &self.values[(from + i) * self.hidden..][..self.hidden];
            *value = match self.layout {
                Layout::Rows => vectors::<S>(own)[vector],
                Layout::Lanes => simd.splat_f32s(own[run]),
            };
        }
        values
    }
}

/// The vectors of a plane or of its beginning.
#[inline(always)]
pub(crate) fn vectors<S: Simd>(x: &[f32]) -> &[S::f32s] {
    S::as_simd_f32s(x).0
}

/// The same to write.
#[inline(always)]
pub(crate) fn vectors_mut<S: Simd>(x: &mut [f32]) -> &mut [S::f32s] {
    S::as_mut_simd_f32s(x).0
}

/// d·y·(1 − y): the gradient before a logistic function from that after it.
#[inline(always)]
pub(crate) fn logistic_slope<S: Simd>(simd: S, d: S::f32s, y: S::f32s) -> S::f32s {
    simd.mul_f32s(d, simd.mul_f32s(y, simd.sub_f32s(simd.splat_f32s(1.0), y)))
}

/// Rows of several planes side by side into these planes.
pub(crate) fn to_planes(block: SequenceBlock, rows: &[f32], planes: &mut [f32], mode: Accumulate) {
    let (plane, hidden) = (block.plane(), block.hidden);
    if plane == 0 {
        return;
    }
    let width = planes.len() / plane * hidden;
    match block.layout {
        Layout::Rows => {
            for (gate, plane) in planes.chunks_exact_mut(plane).enumerate() {
                let parts = rows.chunks_exact(width).map(|row| &row[gate * hidden..][..hidden]);
                for (to, from) in plane.chunks_exact_mut(hidden).zip(parts) {
                    put(to, from, mode);
                }
            }
        }
        Layout::Lanes if mode == Accumulate::Overwrite => turn(rows, width, block.room, planes),
        Layout::Lanes => {
            for (v, row) in rows.chunks_exact(width).enumerate() {
                for (to, from) in planes[v..].iter_mut().step_by(block.room).zip(row) {
                    *to += from;
                }
            }
        }
    }
}

/// Planes into rows of them side by side.
pub(crate) fn to_rows(block: SequenceBlock, planes: &[f32], rows: &mut [f32], mode: Accumulate) {
    let (plane, hidden) = (block.plane(), block.hidden);
    if plane == 0 {
        return;
    }
    let width = planes.len() / plane * hidden;
    match block.layout {
        Layout::Rows => {
            for (gate, plane) in planes.chunks_exact(plane).enumerate() {
                let parts =
                    rows.chunks_exact_mut(width).map(|row| &mut row[gate * hidden..][..hidden]);
                for (to, from) in parts.zip(plane.chunks_exact(hidden)) {
                    put(to, from, mode);
                }
            }
        }
        Layout::Lanes => turn_back(planes, block.room, width, rows, mode),
    }
}

#[inline(always)]
fn put(to: &mut [f32], from: &[f32], mode: Accumulate) {
    match mode {
        Accumulate::Overwrite => to.copy_from_slice(from),
        Accumulate::Add => {
            for (to, from) in to.iter_mut().zip(from) {
                *to += from;
            }
        }
    }
}

/// Rows of `width` elements to `width` rows of `room`.
fn turn(rows: &[f32], width: usize, room: usize, turned: &mut [f32]) {
    if width == 0 {
        return;
    }
    for (group, rows) in rows.chunks(width * WHOLE_VECTOR).enumerate() {
        let from = group * WHOLE_VECTOR;
        let count = rows.len() / width;
        for (k, turned) in turned.chunks_exact_mut(room).enumerate() {
            let turned = &mut turned[from..from + WHOLE_VECTOR];
            for (to, row) in turned.iter_mut().zip(rows.chunks_exact(width)) {
                *to = row[k];
            }
            turned[count..].fill(0.0);
        }
    }
    let count = (rows.len() / width).next_multiple_of(WHOLE_VECTOR);
    if count < room {
        for turned in turned.chunks_exact_mut(room) {
            turned[count..].fill(0.0);
        }
    }
}

/// `width` rows of `room` back to rows of `width` elements.
pub(super) fn turn_back(
    turned: &[f32],
    room: usize,
    width: usize,
    rows: &mut [f32],
    mode: Accumulate,
) {
    if width == 0 {
        return;
    }
    for (group, rows) in rows.chunks_mut(width * WHOLE_VECTOR).enumerate() {
        let from = group * WHOLE_VECTOR;
        for (k, turned) in turned.chunks_exact(room).enumerate() {
            let turned = &turned[from..from + WHOLE_VECTOR];
            for (row, &value) in rows.chunks_exact_mut(width).zip(turned) {
                match mode {
                    Accumulate::Overwrite => row[k] = value,
                    Accumulate::Add => row[k] += value,
                }
            }
        }
    }
}

/// sums[feature] += the sum of the planes over the block's vertices.
pub(crate) fn sum_features(cpu: Cpu, block: SequenceBlock, planes: &[f32], sums: &mut [f32]) {
    let hidden = block.hidden;
    match block.layout {
        Layout::Rows => {
            let gates = sums.chunks_exact_mut(hidden.max(1));
            for (plane, sums) in planes.chunks_exact(block.plane().max(1)).zip(gates) {
                cpu.run(|| add_rows(&plane[..block.count * hidden], sums));
            }
        }
        Layout::Lanes => cpu.run(LaneSums { planes, room: block.room, sums }),
    }
}

/// Sums along lanes; those beyond the last vertex hold zeros.
struct LaneSums<'a> {
    planes: &'a [f32],
    room: usize,
    sums: &'a mut [f32],
}

impl WithSimd for LaneSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (row, sum) in self.planes.chunks_exact(self.room).zip(self.sums) {
            let mut total = simd.splat_f32s(0.0);
            for x in S::as_simd_f32s(row).0 {
                total = simd.add_f32s(total, *x);
            }
            *sum += simd.reduce_sum_f32s(total);
        }
    }
}
