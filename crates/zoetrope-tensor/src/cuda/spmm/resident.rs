//! The matrices of a sequence on the device, to stay there.

use std::ops::Range;
use std::sync::Arc;

use super::{Limits, Slices};
use crate::cuda::{Gpu, Scratch, View};
use crate::sparse::{Sequence, Side};

/// One side of all matrices of a sequence, and the table of their addresses.
///
/// Groups cut from the sequence take a part of the table, so that cutting costs nothing here either.
#[derive(Debug)]
pub(super) struct Resident {
    forms: Scratch<u64>,
    limits: Limits,
    /// Kept because the table points at them; matrices that occur twice are here once.
    _blocks: Vec<Arc<Scratch<u32>>>,
}

impl Resident {
    /// Copies what is not on the device yet.
    pub(super) fn new(gpu: &Gpu, sequence: &Sequence, side: Side) -> Self {
        // One after another: a matrix makes its slices in parallel, and while it waits for them must
        // not be asked for them again.
        let slices = || sequence.members().iter().map(|member| member.slices(side));
        let upload = |slices: &Arc<Slices>| gpu.derived(slices, 0, || gpu.uploaded(slices.words()));
        let blocks: Vec<_> = slices().map(upload).collect();
        let addresses: Vec<u64> = blocks.iter().map(|block| block.view().ptr()).collect();
        Self { forms: gpu.uploaded(&addresses), limits: Limits::of(slices()), _blocks: blocks }
    }

    /// The addresses of some consecutive matrices.
    pub(super) fn forms(&self, steps: Range<usize>) -> View<'_, u64> {
        self.forms.view().slice(steps)
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }
}
