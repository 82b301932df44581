//! Gradients under construction: opening one to add to it, closing it again.
//!
//! A kernel may write the gradients of several operands at once. Operands can be the same matrix
//! or look at the same one, so a gradient that is already open is lent a block of zeros instead,
//! which is added when it closes.

use crate::buffer::Buffer;
use crate::cpu::elementwise;
use crate::cpu::matmul::Accumulate;
use crate::cuda::{self, Sink, ViewMut};
use crate::tape::{Tape, Value, Var};

/// The gradient of a node.
#[derive(Debug, Default)]
pub(crate) enum Gradient {
    /// Nothing has flowed here yet.
    #[default]
    Absent,
    /// What has flowed here so far.
    Held(Buffer),
    /// The same from this value on, for as many as there are; nothing has flowed to the others.
    Part(Buffer, usize),
    /// Lent to a kernel.
    Open,
}

/// A gradient lent to a kernel.
#[derive(Debug)]
pub(crate) struct Opened {
    buffer: Buffer,
    root: Var,
    /// The value of the root that the block begins with.
    base: usize,
    offset: usize,
    len: usize,
    /// Lent zeros, because the gradient itself is open already.
    apart: bool,
    /// What had flowed there before: added when it closes, if the kernel overwrites.
    before: Gradient,
    /// Whether the kernel has to overwrite instead of add: the block is fresh and not zeroed.
    pub(crate) mode: Accumulate,
}

impl Opened {
    /// Where the kernel writes.
    pub(crate) fn slice(&mut self) -> &mut [f32] {
        let from = self.offset - self.base;
        &mut self.buffer.as_mut_slice()[from..from + self.len]
    }

    /// The same for a kernel that only adds: a fresh block is zeroed first.
    pub(crate) fn slice_to_add(&mut self) -> &mut [f32] {
        let fresh = std::mem::replace(&mut self.mode, Accumulate::Add) == Accumulate::Overwrite;
        let slice = self.slice();
        if fresh {
            slice.fill(0.0);
        }
        slice
    }

    /// Where the kernel of a GPU writes.
    pub(crate) fn view(&mut self) -> ViewMut<'_> {
        let from = self.offset - self.base;
        let part = self.buffer.view().slice(from..from + self.len);
        ViewMut::new(part.ptr(), part.len())
    }

    /// The same with the mode.
    pub(crate) fn target(&mut self) -> (ViewMut<'_>, Accumulate) {
        let mode = self.mode;
        (self.view(), mode)
    }
}

/// What a kernel of a GPU gets of a gradient that may not be wanted.
pub(crate) fn sink(opened: &mut Option<Opened>) -> Sink<'_> {
    let mode = opened.as_ref().map_or(Accumulate::Add, |one| one.mode);
    Sink { place: opened.as_mut().map(Opened::view), mode }
}

impl Tape {
    /// The gradient of a matrix after [`Tape::backward`]; None if the loss does not depend on
    /// it. Only leaves keep theirs.
    ///
    /// # Panics
    /// If the tape computes on a GPU: [`Tape::gradient_block`] is for any device.
    pub fn gradient(&self, var: Var) -> Option<&[f32]> {
        self.gradient_block(var).map(Buffer::as_slice)
    }

    /// The gradient of a matrix on the tape's device.
    pub fn gradient_block(&self, var: Var) -> Option<&Buffer> {
        match self.gradients.get(var.index as usize) {
            Some(Gradient::Held(buffer)) => Some(buffer),
            _ => None,
        }
    }

    /// Swaps the gradient of the parameter `slot` with a block of the same length, whose values count for
    /// nothing on the tape; false if the loss does not depend on the parameter.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn exchange_gradient(&mut self, slot: usize, block: &mut Buffer) -> bool {
        let var = self.parameters.get(slot).copied().flatten();
        let held = var.and_then(|var| self.gradients.get_mut(var.index as usize));
        let Some(Gradient::Held(gradient)) = held else { return false };
        assert_eq!(gradient.len(), block.len(), "a gradient is as long as its parameter");
        std::mem::swap(gradient, block);
        true
    }

    /// Opens the gradient of an operand to add to it; None if no gradient is needed.
    pub(crate) fn open(&mut self, var: Var) -> Option<Opened> {
        self.open_as(var, false)
    }

    /// Opens the gradient of an operand for a kernel that can overwrite a fresh block, which saves
    /// zeroing it: the kernel has to follow `mode`.
    pub(crate) fn open_to_overwrite(&mut self, var: Var) -> Option<Opened> {
        self.open_as(var, true)
    }

    /// The same if an operand may be absent.
    pub(crate) fn open_optional(&mut self, var: Option<Var>) -> Option<Opened> {
        var.and_then(|var| self.open(var))
    }

    /// Whether the gradient that an operand's is part of is lent to a kernel.
    pub(crate) fn is_open(&self, var: Var) -> bool {
        matches!(self.gradients[self.root(var).0.index as usize], Gradient::Open)
    }

    /// The same for a kernel that can overwrite a fresh block or not.
    pub(crate) fn open_as(&mut self, var: Var, can_overwrite: bool) -> Option<Opened> {
        if !self.needs_gradient(var) {
            return None;
        }
        let (root, offset) = self.root(var);
        let len = self.shape(var).len();
        let whole = self.shape(root).len();
        let node = self.node(root);
        let can_be_part = len < whole && self.takes_part(&node.op, offset..offset + len);
        let bound = match node.value {
            Value::Bound(slot) => Some(slot),
            _ => None,
        };
        let slot = &mut self.gradients[root.index as usize];
        let (add, overwrite) = (Accumulate::Add, Accumulate::Overwrite);
        let mut before = Gradient::Absent;
        let (buffer, base, mode) = match (std::mem::replace(slot, Gradient::Open), bound) {
            (Gradient::Held(buffer), _) => (buffer, 0, add),
            (Gradient::Part(buffer, from), _) if (from, buffer.len()) == (offset, len) => {
                (buffer, from, add)
            }
            // The little that is there is added to what the kernel writes, not the other way round.
            (part @ Gradient::Part(..), _) if can_overwrite && offset == 0 => {
                before = part;
                (self.pool.take(whole), 0, overwrite)
            }
            (Gradient::Part(buffer, from), _) => (self.whole(buffer, from, whole), 0, add),
            // Holds what earlier frames of the same update left.
            (Gradient::Absent, Some(slot)) => (self.bound().gradient_of(slot), 0, add),
            (Gradient::Absent, None) if can_overwrite && len == whole => {
                (self.pool.take(whole), 0, overwrite)
            }
            (Gradient::Absent, None) if can_be_part && can_overwrite => {
                (self.pool.take(len), offset, overwrite)
            }
            (Gradient::Absent, None) if can_be_part => (self.pool.take_zeroed(len), offset, add),
            (Gradient::Absent, None) => (self.pool.take_zeroed(whole), 0, add),
            (Gradient::Open, _) => {
                let buffer = self.pool.take_zeroed(len);
                let (base, apart) = (offset, true);
                return Some(Opened { buffer, root, base, offset, len, apart, before, mode: add });
            }
        };
        Some(Opened { buffer, root, base, offset, len, apart: false, before, mode })
    }

    /// Opens the gradient of an operand for a kernel that overwrites it in a given block, with which it
    /// is done row by row before it writes there. The block stays where it was if it is too small, or
    /// the gradient has one already.
    pub(crate) fn open_over(&mut self, var: Var, spent: &mut Option<Buffer>) -> Option<Opened> {
        if !self.needs_gradient(var) {
            return None;
        }
        let ((root, offset), len) = (self.root(var), self.shape(var).len());
        let whole = self.shape(root).len();
        let is_bound = matches!(self.node(root).value, Value::Bound(_));
        let slot = &mut self.gradients[root.index as usize];
        let is_free = matches!(slot, Gradient::Absent | Gradient::Part(..)) && !is_bound;
        match spent.take() {
            Some(block) if is_free && offset == 0 && block.room() >= whole => {
                let before = std::mem::replace(slot, Gradient::Open);
                let (buffer, mode) = (block.reshaped(whole), Accumulate::Overwrite);
                Some(Opened { buffer, root, base: 0, offset, len, apart: false, before, mode })
            }
            block => {
                *spent = block;
                self.open_to_overwrite(var)
            }
        }
    }

    /// A gradient of `len` values of which some, from `from` on, are given and the others are 0.
    pub(crate) fn whole(&self, part: Buffer, from: usize, len: usize) -> Buffer {
        let mut whole = self.pool.take_zeroed(len);
        let range = from..from + part.len();
        match self.gpu() {
            None => whole.as_mut_slice()[range].copy_from_slice(part.as_slice()),
            Some(gpu) => gpu.copy(part.view(), whole.view_mut().slice(range)),
        }
        self.pool.give(part);
        whole
    }

    /// Takes lent gradients back.
    pub(crate) fn close<const N: usize>(&mut self, opened: [Option<Opened>; N]) {
        self.close_all(opened.into_iter().flatten());
    }

    pub(crate) fn close_all(&mut self, opened: impl IntoIterator<Item = Opened>) {
        // A gradient lent apart was opened after the one it belongs to, so by now that one is back.
        for one in opened {
            let at = one.root.index as usize;
            if !one.apart {
                self.gradients[at] = self.with_before(one);
                continue;
            }
            let range = one.offset..one.offset + one.len;
            let (mut sum, base) = match std::mem::replace(&mut self.gradients[at], Gradient::Open) {
                Gradient::Held(sum) => (sum, 0),
                Gradient::Part(sum, from)
                    if from <= range.start && range.end <= from + sum.len() =>
                {
                    (sum, from)
                }
                Gradient::Part(sum, from) => (self.whole(sum, from, self.shape(one.root).len()), 0),
                _ => unreachable!("closed in the order of opening"),
            };
            self.add_at(&mut sum, range.start - base, &one.buffer);
            self.pool.give(one.buffer);
            self.gradients[at] = self.gradient_from(one.root, sum, base);
        }
    }

    /// A gradient that is lent no longer, and whatever it was before.
    fn with_before(&self, one: Opened) -> Gradient {
        let mut block = one.buffer;
        if one.mode == Accumulate::Overwrite && one.base == 0 {
            // What the kernel was not asked for.
            let rest = one.len..block.len();
            match self.gpu() {
                None => block.as_mut_slice()[rest].fill(0.0),
                Some(gpu) => gpu.zero(block.view_mut().slice(rest)),
            }
        }
        if let Gradient::Part(before, from) = one.before {
            self.add_at(&mut block, from, &before);
            self.pool.give(before);
        }
        self.gradient_from(one.root, block, one.base)
    }

    /// The gradient of a node of which a block has the values from `base` on.
    fn gradient_from(&self, root: Var, block: Buffer, base: usize) -> Gradient {
        if block.len() == self.shape(root).len() {
            Gradient::Held(block)
        } else {
            Gradient::Part(block, base)
        }
    }

    /// Adds values to those of a block from `at` on.
    fn add_at(&self, block: &mut Buffer, at: usize, values: &Buffer) {
        let range = at..at + values.len();
        match self.gpu() {
            None => {
                let target = &mut block.as_mut_slice()[range];
                elementwise::scale_add(1.0, values.as_slice(), target);
            }
            Some(gpu) => {
                let mut all = block.view_mut();
                cuda::elementwise::scale_add(gpu, 1.0, values.view(), all.slice(range));
            }
        }
    }
}
