//! The matrices of a sequence on the device a group at a time, copied ahead of their use.
//!
//! Device memory has room for two groups: while products read one, the copy stream brings the other
//! from page-locked host memory. A copy waits until everything that was launched before it was asked
//! for is done, so that nothing still reads what it overwrites; products wait for the copies of
//! their group. Kernels find matrices through one table of addresses, which is changed when the next
//! group is entered: a recorded launch serves all groups.
//!
//! Every matrix of every group is sent whole if [`Difference::Off`] is chosen. Otherwise one that
//! the group before has as well stays where it is, and the others are sent as differences if that
//! pays ([`coded`](super::coded)); kernels on the copy stream make the same words out of them, beside
//! what is computed meanwhile.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys;

use super::coded::{Coded, SentRun};
use super::locked::Lock;
use super::{Limits, Slices, put_names};
use crate::cuda::{Event, Gpu, Queue, Scratch, View, Work};
use crate::sparse::{Difference, Sequence, Side};

/// One side of a sequence, of which one group is on the device and another is being copied.
#[derive(Debug)]
pub(super) struct Streamed {
    gpu: Gpu,
    /// What keeps the pages of the matrices locked that are copied as they are, by their address.
    locks: HashMap<usize, Option<Lock>>,
    members: Vec<Arc<Slices>>,
    /// What blocks are made from if they are not copied.
    coded: Option<Coded>,
    limits: Limits,
    /// Whether what is on the GPU is not sent again.
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
    /// After the copies and what is made of them.
    arrived: Option<Event>,
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
        let codes = Coded::is_used(sequence, side, at_once);
        Self {
            gpu: gpu.clone(),
            locks: HashMap::new(),
            limits: Limits::of(members.iter()),
            members,
            coded: codes.then(|| Coded::new(gpu, sequence, side)),
            keeps: sequence.difference() != Difference::Off,
            places: gpu.take_of(2 * at_once * stride),
            stride,
            current: Group::default(),
            coming: None,
            forms: gpu.take_of(at_once),
        }
    }

    /// From now on nothing counts as being on the GPU: what is sent next does not depend on what was before.
    pub(super) fn forget(&mut self) {
        (self.current, self.coming) = (Group::default(), None);
        if let Some(coded) = &mut self.coded {
            coded.forget();
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
        let parts = match &mut self.coded {
            None => vec![SentRun::whole(group.new.clone())],
            Some(coded) => coded.choose(group.new.clone()),
        };
        for part in parts.iter().filter(|part| part.is_whole()) {
            self.lock(part.steps.clone());
        }
        let gpu = &self.gpu;
        let before = gpu.mark();
        gpu.make_current();
        // SAFETY: stream and event are alive.
        let result = unsafe { sys::cuStreamWaitEvent(gpu.copy_stream(), before.handle(), 0) };
        gpu.attempt("waiting for products", result);
        let (begin, uploaded) = (gpu.mark_copies(), gpu.copied_bytes()[0]);
        for part in &parts {
            if let Some((words, to)) = self.coded.as_ref().and_then(|coded| coded.piece(part)) {
                self.copy(words, to);
            } else {
                for step in part.steps.clone() {
                    let place = group.place(step).expect("a new one is one of the group's");
                    self.copy(self.members[step].essence(), self.block(place));
                }
            }
        }
        let bytes = (gpu.copied_bytes()[0] - uploaded) as usize;
        gpu.count_streamed(bytes);
        gpu.count_streaming(Work::Transfer(bytes), begin, gpu.mark_copies());
        self.rebuild(&group, &parts);
        group.arrived = Some(self.gpu.mark_copies());
        self.coming = Some(group);
    }

    /// Locks the pages of some matrices.
    fn lock(&mut self, steps: Range<usize>) {
        for slices in &self.members[steps] {
            let pages = slices.pages();
            let lock = self.locks.entry(pages.as_ptr() as usize);
            lock.or_insert_with(|| Lock::new(&self.gpu, pages));
        }
    }

    /// Makes the blocks that are sent as differences.
    fn rebuild(&mut self, group: &Group, parts: &[SentRun]) {
        let Self { gpu, coded: Some(coded), places, stride, .. } = self else { return };
        let begin = gpu.mark_copies();
        for part in parts {
            let at = part.steps.clone().filter_map(|step| group.place(step));
            let block = |place: usize| places.view().slice(place * *stride..(place + 1) * *stride);
            coded.rebuild(part, &at.map(block).collect::<Vec<_>>());
        }
        gpu.count_streaming(Work::Rebuild, begin, gpu.mark_copies());
    }

    /// A group whose matrices stay where they are or get places that the current one does not use.
    fn place(&self, steps: Range<usize>) -> Group {
        let kept = if self.current.steps.contains(&steps.start) && self.keeps {
            steps.start..self.current.steps.end
        } else {
            steps.start..steps.start
        };
        let new = kept.end..steps.end;
        let free = (0..2 * self.forms.len()).filter(|at| !self.current.places.contains(at));
        let there = kept.filter_map(|step| self.current.place(step));
        let places = there.chain(free.take(new.len())).collect();
        Group { steps, places, new, arrived: None }
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
        if let Some(arrived) = group.arrived.take() {
            self.gpu.compute_after(arrived.handle());
        }
        self.current = group;
        let bytes = (self.stride * size_of::<u32>()) as u64;
        let first = self.places.view().ptr();
        let addresses = self.current.places.iter().map(|&place| first + place as u64 * bytes);
        let addresses: Vec<u64> = addresses.collect();
        self.gpu.upload(&addresses, self.forms.view_mut().slice(0..addresses.len()));
        self.complete();
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
