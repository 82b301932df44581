//! Gradients of a range of the neighbours' rows, gathered from the slots that read them.

use pulp::{Simd, WithSimd};

use super::NeighbourCall;
use crate::cpu::matmul::Accumulate;
use crate::cpu::sparse_sum::{Terms, sum_rows};
use crate::cpu::spmm::CsrRef;

pub(super) struct Sources<'a> {
    pub(super) call: &'a NeighbourCall<'a>,
    /// The slots of each row.
    pub(super) readers: CsrRef<'a>,
    pub(super) terms: &'a [f32],
    pub(super) d_out: &'a [f32],
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) d_rows: &'a mut [f32],
}

impl WithSimd for Sources<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { call, readers, terms, d_out, from, to, d_rows } = self;
        let width = call.rows.1;
        for (row, d_row) in (from..to).zip(d_rows.chunks_exact_mut(width)) {
            let slots = &readers.columns[readers.entries(row)];
            let through_sums = Readers::<false> { call, slots, terms };
            sum_rows(simd, through_sums, d_out, d_row, Accumulate::Add);
            let through_scores = Readers::<true> { call, slots, terms };
            sum_rows(simd, through_scores, call.queries, d_row, Accumulate::Add);
        }
    }
}

/// What reaches a row through sums, or with `SCORES` through scores: one entry for each slot and
/// head.
#[derive(Clone, Copy)]
struct Readers<'a, const SCORES: bool> {
    call: &'a NeighbourCall<'a>,
    slots: &'a [u32],
    terms: &'a [f32],
}

impl<const SCORES: bool> Terms for Readers<'_, SCORES> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.slots.len() * self.call.heads
    }

    #[inline(always)]
    fn term(&self, i: usize) -> (f32, usize) {
        let heads = self.call.heads;
        let (slot, head) = (self.slots[i / heads] as usize, i % heads);
        let target = self.call.layout.target_of_slot[slot] as usize;
        let row = if SCORES { self.call.layout.query[target] as usize } else { target };
        let kind = usize::from(SCORES);
        let factor = self.terms[(2 * slot + kind) * heads + head];
        (factor, (row * heads + head) * self.call.width())
    }
}
