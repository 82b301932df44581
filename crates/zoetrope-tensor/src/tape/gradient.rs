//! Gradients under construction: opening one to add to it, closing it again.
//!
//! A kernel may write the gradients of several operands at once. Operands can be the same matrix
//! or look at the same one, so a gradient that is already open is lent a block of zeros instead,
//! which is added when it closes.

use crate::buffer::Buffer;
use crate::cpu::elementwise;
use crate::cpu::matmul::Accumulate;
use crate::cuda::{self, Sink, ViewMut};
use crate::device::Device;
use crate::tape::{Tape, Value, Var};

/// The gradient of a node.
#[derive(Debug, Default)]
pub(crate) enum Gradient {
    /// Nothing has flowed here yet.
    #[default]
    Absent,
    /// What has flowed here so far.
    Held(Buffer),
    /// Lent to a kernel.
    Open,
}

/// A gradient lent to a kernel.
#[derive(Debug)]
pub(crate) struct Opened {
    buffer: Buffer,
    root: Var,
    offset: usize,
    len: usize,
    /// Lent zeros, because the gradient itself is open already.
    apart: bool,
    /// Whether the kernel has to overwrite instead of add: the block is fresh and not zeroed.
    pub(crate) mode: Accumulate,
}

impl Opened {
    /// Where the kernel writes.
    pub(crate) fn slice(&mut self) -> &mut [f32] {
        match self.apart {
            true => self.buffer.as_mut_slice(),
            false => &mut self.buffer.as_mut_slice()[self.offset..self.offset + self.len],
        }
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

    /// Where the kernel of a card writes.
    pub(crate) fn view(&mut self) -> ViewMut<'_> {
        let whole = self.buffer.view();
        let part = match self.apart {
            true => whole,
            false => whole.slice(self.offset..self.offset + self.len),
        };
        ViewMut::new(part.ptr(), part.len())
    }

    /// The same with the mode.
    pub(crate) fn target(&mut self) -> (ViewMut<'_>, Accumulate) {
        let mode = self.mode;
        (self.view(), mode)
    }
}

/// What a kernel of a card gets of a gradient that may not be wanted.
pub(crate) fn sink(opened: &mut Option<Opened>) -> Sink<'_> {
    let mode = opened.as_ref().map_or(Accumulate::Add, |one| one.mode);
    Sink { place: opened.as_mut().map(Opened::view), mode }
}

impl Tape {
    /// The gradient of a matrix after [`Tape::backward`]; None where the loss does not depend on
    /// it. Only leaves keep theirs.
    ///
    /// # Panics
    /// Where the tape computes on a card: [`Tape::gradient_block`] is for any device.
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

    /// Changes the gradient of the parameter `slot` for a block of the same length, whose values the
    /// tape forgets; false where the loss does not depend on the parameter.
    ///
    /// # Panics
    /// Where the lengths differ.
    pub fn exchange_gradient(&mut self, slot: usize, block: &mut Buffer) -> bool {
        let var = self.parameters.get(slot).copied().flatten();
        let held = var.and_then(|var| self.gradients.get_mut(var.index as usize));
        let Some(Gradient::Held(gradient)) = held else { return false };
        assert_eq!(gradient.len(), block.len(), "a gradient is as long as its parameter");
        std::mem::swap(gradient, block);
        true
    }

    /// Opens the gradient of an operand to add to it; None where no gradient is needed.
    pub(crate) fn open(&mut self, var: Var) -> Option<Opened> {
        self.open_as(var, false)
    }

    /// Opens the gradient of an operand for a kernel that can overwrite a fresh block, which saves
    /// zeroing it: the kernel has to follow `mode`.
    pub(crate) fn open_to_overwrite(&mut self, var: Var) -> Option<Opened> {
        self.open_as(var, true)
    }

    /// The same where an operand may be absent.
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
        let bound = match self.node(root).value {
            Value::Bound(slot) => Some(slot),
            _ => None,
        };
        let slot = &mut self.gradients[root.index as usize];
        let (buffer, apart, mode) = match (std::mem::replace(slot, Gradient::Open), bound) {
            (Gradient::Held(buffer), _) => (buffer, false, Accumulate::Add),
            // Holds what earlier frames of the same update left.
            (Gradient::Absent, Some(slot)) => {
                (self.bound().gradient_of(slot), false, Accumulate::Add)
            }
            (Gradient::Absent, None) if can_overwrite && len == whole => {
                (self.pool.take(whole), false, Accumulate::Overwrite)
            }
            (Gradient::Absent, None) => (self.pool.take_zeroed(whole), false, Accumulate::Add),
            (Gradient::Open, _) => (self.pool.take_zeroed(len), true, Accumulate::Add),
        };
        Some(Opened { buffer, root, offset, len, apart, mode })
    }

    /// Takes lent gradients back.
    pub(crate) fn close<const N: usize>(&mut self, opened: [Option<Opened>; N]) {
        self.close_all(opened.into_iter().flatten());
    }

    pub(crate) fn close_all(&mut self, opened: impl IntoIterator<Item = Opened>) {
        // A gradient lent apart was opened after the one it belongs to, so by now that one is back.
        for one in opened {
            let slot = &mut self.gradients[one.root.index as usize];
            if !one.apart {
                *slot = Gradient::Held(one.buffer);
                continue;
            }
            let Gradient::Held(sum) = slot else { unreachable!("closed in the order of opening") };
            let range = one.offset..one.offset + one.len;
            match self.pool.device() {
                Device::Cpu => {
                    let target = &mut sum.as_mut_slice()[range];
                    elementwise::scale_add(1.0, one.buffer.as_slice(), target);
                }
                Device::Cuda(gpu) => {
                    let mut whole = sum.view_mut();
                    cuda::elementwise::scale_add(gpu, 1.0, one.buffer.view(), whole.slice(range));
                }
            }
            self.pool.give(one.buffer);
        }
    }
}
