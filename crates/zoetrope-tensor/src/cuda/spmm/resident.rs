//! The matrices of a sequence on the device, to stay there.
//!
//! They are copied once, without the values that follow from factors; or, if [`Difference::On`] is
//! chosen, as differences to those before them ([`coded`](super::coded)), out of which the GPU makes
//! the same words. That is fewer bytes on the bus, but taking differences costs the host more than one
//! copy does: it is not done unasked.

use std::ops::Range;
use std::sync::Arc;

use super::coded::Coded;
use super::{Limits, Slices, put_names};
use crate::cuda::{Gpu, Scratch, View, ViewMut};
use crate::sparse::{Difference, Sequence, Side};

/// Snapshots that are sent as differences at a time.
const AT_A_TIME: usize = 16;

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
        let blocks = match sequence.difference() {
            Difference::On => by_differences(gpu, sequence, side),
            Difference::Auto | Difference::Off => {
                slices().map(|slices| on_gpu(gpu, slices, || copied(gpu, slices))).collect()
            }
        };
        let addresses: Vec<u64> = blocks.iter().map(|block| block.view().ptr()).collect();
        let forms = gpu.uploaded(&addresses);
        if slices().any(|slices| slices.is_factored()) {
            put_names(gpu, forms.view());
        }
        Self { forms, limits: Limits::of(slices()), _blocks: blocks }
    }

    /// The addresses of some consecutive matrices.
    pub(super) fn forms(&self, steps: Range<usize>) -> View<'_, u64> {
        self.forms.view().slice(steps)
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }
}

/// The block of a matrix, made if the GPU has none yet; values that follow from factors come later.
fn on_gpu(
    gpu: &Gpu,
    slices: &Arc<Slices>,
    make: impl FnOnce() -> Scratch<u32>,
) -> Arc<Scratch<u32>> {
    gpu.derived(slices, 0, make)
}

fn copied(gpu: &Gpu, slices: &Slices) -> Scratch<u32> {
    let mut block = gpu.take_of(slices.words().len());
    let essence = slices.essence();
    gpu.upload(essence, block.view_mut().slice(0..essence.len()));
    block
}

fn by_differences(gpu: &Gpu, sequence: &Sequence, side: Side) -> Vec<Arc<Scratch<u32>>> {
    let members = sequence.members();
    let slices: Vec<_> = members.iter().map(|member| member.slices(side)).collect();
    let room = |slices: &&Arc<Slices>| on_gpu(gpu, slices, || gpu.take_of(slices.words().len()));
    let blocks: Vec<_> = slices.iter().map(room).collect();
    let mut coded = Coded::new(gpu, sequence, side);
    for from in (0..members.len()).step_by(AT_A_TIME) {
        for part in coded.choose(from..members.len().min(from + AT_A_TIME)) {
            let put = |words: &[u32], to: View<'_, u32>| {
                gpu.upload(words, ViewMut::new(to.ptr(), words.len()));
            };
            let own = &blocks[part.steps.clone()];
            match coded.piece(&part) {
                Some((words, to)) => put(words, to),
                None => own.iter().zip(&slices[part.steps.clone()]).for_each(|(block, slices)| {
                    put(slices.essence(), block.view());
                }),
            }
            // Uploads and what is made of them are on different queues.
            gpu.wait();
            coded.rebuild(&part, &own.iter().map(|block| block.view()).collect::<Vec<_>>());
            gpu.mark_copies().wait();
        }
    }
    blocks
}
