//! The parameters of a network on a card: values in one block, gradients in another.
//!
//! Flat, so that zeroing all gradients, taking their norm and an optimiser's step are one launch
//! each. A tape that is [bound](crate::Tape::bind) to them reads values here and adds gradients here:
//! nothing is copied, and addresses stay the same from step to step.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::gpu::lock;
use super::{Gpu, Memory, View};
use crate::buffer::Buffer;

/// Parameters begin at multiples of so many values: 16 bytes, what a thread loads at once.
const GRAIN: usize = 4;

/// Values and gradients of all parameters.
#[derive(Debug)]
pub struct ParameterBlock {
    gpu: Gpu,
    values: Arc<Memory>,
    gradients: Arc<Memory>,
    ranges: Vec<Range<usize>>,
    len: usize,
    /// Which parameters a gradient flowed into since they were cleared.
    reached: Mutex<Vec<bool>>,
}

impl ParameterBlock {
    /// Room for parameters of the given lengths; values are unspecified, gradients are 0.
    pub fn new(gpu: &Gpu, lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut ranges = Vec::new();
        let mut len = 0;
        for length in lengths {
            ranges.push(len..len + length);
            len = (len + length).next_multiple_of(GRAIN);
        }
        let fresh = || Arc::new(gpu.allocate(len.max(1) * size_of::<f32>()));
        let (values, gradients) = (fresh(), fresh());
        let reached = Mutex::new(vec![false; ranges.len()]);
        let block = Self { gpu: gpu.clone(), values, gradients, ranges, len, reached };
        // What lies between two parameters is part of sums over the whole block.
        block.whole(&block.values).clear();
        block.clear_gradients();
        block
    }

    fn whole(&self, memory: &Arc<Memory>) -> Buffer {
        Buffer::part(memory, 0..self.len)
    }

    /// The card.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The number of values, with those between parameters.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the parameters lie.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The values of a parameter.
    pub fn values_of(&self, slot: usize) -> Buffer {
        Buffer::part(&self.values, self.ranges[slot].clone())
    }

    /// The gradient of a parameter, which something is about to flow into.
    pub(crate) fn gradient_of(&self, slot: usize) -> Buffer {
        lock(&self.reached)[slot] = true;
        Buffer::part(&self.gradients, self.ranges[slot].clone())
    }

    /// The values of a parameter on the device.
    pub(crate) fn value_view(&self, slot: usize) -> View<'_> {
        self.values.view(self.len).slice(self.ranges[slot].clone())
    }

    /// All values, to be changed.
    pub fn values(&self) -> Buffer {
        self.whole(&self.values)
    }

    /// All gradients, to be changed.
    pub fn gradients(&self) -> Buffer {
        self.whole(&self.gradients)
    }

    /// Sets all gradients to 0; no parameter counts as reached.
    pub fn clear_gradients(&self) {
        lock(&self.reached).fill(false);
        self.gradients().clear();
    }

    /// Says which parameters a gradient flowed into, here or elsewhere.
    ///
    /// # Panics
    /// Where there is not one for each parameter.
    pub fn set_reached(&self, reached: impl IntoIterator<Item = bool>) {
        let mut own = lock(&self.reached);
        let mut count = 0;
        for (place, reached) in own.iter_mut().zip(reached) {
            (*place, count) = (reached, count + 1);
        }
        assert_eq!(count, own.len(), "one for each parameter");
    }

    /// Which parameters a gradient flowed into.
    pub fn reached(&self) -> Vec<bool> {
        lock(&self.reached).clone()
    }
}
