//! The matrices of a sequence on the device a group at a time, copied ahead of their use.
//!
//! Device memory has room for two groups: while products read one, the copy stream brings the other
//! from page-locked host memory. A copy waits until everything that was launched before it was asked
//! for is done, so that nothing still reads what it overwrites; products wait for the copies of
//! their group. Kernels find matrices through one table of addresses, which is changed when the next
//! group is entered: a recorded launch serves all groups.
//!
//! Every matrix of every group is sent whole where [`Difference::Off`] is chosen. Otherwise one that
//! the group before has as well stays where it is, and the others are sent as differences where that
//! pays ([`coded`](super::coded)); kernels on the compute stream, which waits for copies anyhow, make
//! the same words out of them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys;

use super::coded::{Coded, Differences, Sent};
use super::locked::Lock;
use super::{Limits, Slices, put_names};
use crate::cuda::{Event, Gpu, Queue, Scratch, View, Work};
use crate::sparse::{Difference, Sequence, Side};

/// One side of a sequence, of which one group is on the device and another on its way.
#[derive(Debug)]
pub(super) struct Streamed {
    gpu: Gpu,
    /// What keeps the pages of the matrices locked, where they are copied from there.
    _locks: Vec<Lock>,
    members: Vec<Arc<Slices>>,
    /// What blocks are made from where they are not copied.
    coded: Option<Coded>,
    limits: Limits,
    /// Whether what is on the card is not sent again.
    keeps: bool,
    /// Places of one matrix each, twice as many as a group has.
    places: Scratch<u32>,
    stride: usize,
    /// The group that products read, and the addresses of its matrices.
    current: Group,
    coming: Option<Group>,
    forms: Scratch<u64>,
}

/// Consecutive matrices that are on the device or on their way.
#[derive(Debug, Default)]
struct Group {
    steps: Range<usize>,
    /// Where each lies.
    places: Vec<usize>,
    /// The last ones, which were not there before.
    new: Range<usize>,
    /// What was sent for them where they are made on the card, and into which of two areas.
    sent: Vec<Sent>,
    area: usize,
    /// After the copies.
    copied: Option<Event>,
}

impl Group {
    fn holds(&self, steps: &Range<usize>) -> bool {
        self.steps.start <= steps.start && steps.end <= self.steps.end
    }

    fn place(&self, step: usize) -> Option<usize> {
        self.steps.contains(&step).then(|| self.places[step - self.steps.start])
    }
}

impl Streamed {
    pub(super) fn new(gpu: &Gpu, sequence: &Sequence, side: Side, at_once: usize) -> Self {
        let members: Vec<_> =
            sequence.members().iter().map(|member| Arc::clone(member.slices(side))).collect();
        let stride = members.iter().map(|slices| slices.words().len()).max().unwrap_or(0);
        // Whole lines of the device's memory.
        let stride = stride.next_multiple_of(64);
        let at_once = at_once.min(members.len());
        let difference = sequence.difference();
        let codes = match difference {
            Difference::Auto => Differences::pay(sequence, side),
            Difference::On => true,
            Difference::Off => false,
        };
        let coded = codes.then(|| {
            let differences = Differences::new(gpu, sequence, side);
            Coded::new(gpu, sequence, side, at_once, differences)
        });
        let mut locked = HashSet::new();
        let mut locks = Vec::new();
        if coded.is_none() {
            let own = members.iter().map(|slices| slices.pages());
            let once = own.filter(|pages| locked.insert(pages.as_ptr()));
            locks.extend(once.filter_map(|pages| Lock::new(gpu, pages)));
        }
        Self {
            gpu: gpu.clone(),
            _locks: locks,
            limits: Limits::of(members.iter()),
            members,
            coded,
            keeps: difference != Difference::Off,
            places: gpu.take_of(2 * at_once * stride),
            stride,
            current: Group::default(),
            coming: None,
            forms: gpu.take_of(at_once),
        }
    }

    fn block(&self, place: usize) -> View<'_, u32> {
        self.places.view().slice(place * self.stride..(place + 1) * self.stride)
    }

    /// Begins to copy some consecutive matrices, unless they are there or on their way.
    pub(super) fn prefetch(&mut self, steps: Range<usize>) {
        let known = [Some(&self.current), self.coming.as_ref()];
        if known.into_iter().flatten().any(|group| group.holds(&steps)) {
            return;
        }
        let mut group = self.place(steps);
        if let Some(coded) = &mut self.coded {
            group.sent = coded.choose(group.new.clone());
        }
        let gpu = &self.gpu;
        let before = gpu.mark();
        gpu.make_current();
        // SAFETY: stream and event are alive.
        let result = unsafe { sys::cuStreamWaitEvent(gpu.copy_stream(), before.handle(), 0) };
        gpu.attempt("waiting for products", result);
        let (begin, uploaded) = (gpu.mark_copies(), gpu.copied_bytes()[0]);
        match &self.coded {
            None => {
                for step in group.new.clone() {
                    let place = group.place(step).expect("a new one is one of the group's");
                    self.copy(self.members[step].essence(), self.block(place));
                }
            }
            Some(coded) => {
                for (words, at) in coded.pieces(&group.sent) {
                    self.copy(words, coded.staging(group.area).slice(at..at + words.len()));
                }
            }
        }
        let bytes = (gpu.copied_bytes()[0] - uploaded) as usize;
        gpu.count_streaming(Work::Transfer(bytes), begin, gpu.mark_copies());
        group.copied = Some(gpu.mark_copies());
        self.coming = Some(group);
    }

    /// A group whose matrices stay where they are or get places that the current one does not use.
    fn place(&self, steps: Range<usize>) -> Group {
        let kept = match self.current.steps.contains(&steps.start) && self.keeps {
            true => steps.start..self.current.steps.end,
            false => steps.start..steps.start,
        };
        let new = kept.end..steps.end;
        let free = (0..2 * self.forms.len()).filter(|at| !self.current.places.contains(at));
        let there = kept.filter_map(|step| self.current.place(step));
        let places = there.chain(free.take(new.len())).collect();
        let area = 1 - self.current.area;
        Group { steps, places, new, area, ..Group::default() }
    }

    /// Copies words that live as long as this and do not change.
    fn copy(&self, from: &[u32], to: View<'_, u32>) {
        let bytes = size_of_val(from);
        // SAFETY: the source lives as long as `members` and `coded`, for whose copies `drop` waits, and
        // does not change; the target has as many bytes.
        let result = self.gpu.spanned("matrices", Queue::Copy, |stream| unsafe {
            sys::cuMemcpyHtoDAsync_v2(to.ptr(), from.as_ptr().cast(), bytes, stream)
        });
        self.gpu.attempt("copying matrices", result);
        self.gpu.count_uploaded(bytes);
    }

    /// Lets products that are launched from here on read some consecutive matrices.
    pub(super) fn enter(&mut self, steps: Range<usize>) {
        if self.current.holds(&steps) {
            return;
        }
        self.prefetch(steps);
        let Some(mut group) = self.coming.take() else { return };
        if let Some(copied) = group.copied.take() {
            self.gpu.compute_after(copied.handle());
        }
        self.current = group;
        self.rebuild();
        let bytes = (self.stride * size_of::<u32>()) as u64;
        let first = self.places.view().ptr();
        let addresses = self.current.places.iter().map(|&place| first + place as u64 * bytes);
        let addresses: Vec<u64> = addresses.collect();
        self.gpu.upload(&addresses, self.forms.view_mut().slice(0..addresses.len()));
        self.complete();
    }

    /// Makes the blocks that were sent as differences.
    fn rebuild(&mut self) {
        let Self { gpu, coded: Some(coded), current, places, stride, .. } = self else { return };
        let begin = gpu.mark();
        for sent in &current.sent {
            let place = current.place(sent.step).expect("what was sent is one of the group's");
            let block = places.view().slice(place * *stride..(place + 1) * *stride);
            coded.rebuild(current.area, sent, block);
        }
        gpu.count_streaming(Work::Rebuild, begin, gpu.mark());
    }

    /// Computes what stands for the values that were not copied.
    fn complete(&self) {
        let Group { steps, new, .. } = &self.current;
        if !self.members[new.clone()].iter().any(|slices| slices.is_factored()) {
            return;
        }
        let forms = self.forms.view().slice(new.start - steps.start..new.end - steps.start);
        put_names(&self.gpu, forms);
    }

    /// The addresses of some matrices of the group that was entered.
    pub(super) fn forms(&self, steps: Range<usize>) -> View<'_, u64> {
        let first = self.current.steps.start;
        self.forms.view().slice(steps.start - first..steps.end - first)
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        // What is copied from and to goes with this.
        self.gpu.mark_copies().wait();
    }
}
