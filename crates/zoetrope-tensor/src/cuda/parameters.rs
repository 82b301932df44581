//! The parameters of a network on a GPU: values in one block, gradients in another.
//!
//! Flat, so that zeroing all gradients, taking their norm and an optimiser's step are one launch
//! each. A tape that is [bound](crate::Tape::bind) to them reads values here and adds gradients here:
//! nothing is copied, and addresses stay the same from step to step. Behind the gradients there is one more
//! value for each parameter, for ranks that add up gradients on their GPUs: whether one flowed into it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::gpu::lock;
use super::{Consumer, Gpu, Memory, View};
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
    /// Whether those behind the gradients count instead.
    reached_on_gpu: AtomicBool,
}

impl ParameterBlock {
    /// Room for parameters of the given lengths; values are unspecified, gradients are 0.
    pub fn new(gpu: &Gpu, lengths: impl IntoIterator<Item = usize>) -> Self {
        let (ranges, len) = placed(lengths);
        let fresh = |len: usize| {
            let bytes = len.max(1) * size_of::<f32>();
            Arc::new(gpu.charging(Consumer::Parameters, || gpu.allocate(bytes)))
        };
        let (values, gradients) = (fresh(len), fresh(len + ranges.len()));
        let reached = Mutex::new(vec![false; ranges.len()]);
        let reached_on_gpu = AtomicBool::new(false);
        let gpu = gpu.clone();
        let block = Self { gpu, values, gradients, ranges, len, reached, reached_on_gpu };
        // What lies between two parameters is part of sums over the whole block.
        block.whole(&block.values).clear();
        block.clear_gradients();
        block
    }

    /// How many values ranks add up for parameters of the given lengths: see
    /// [`ParameterBlock::gradients_to_share`].
    pub fn shared_len(lengths: impl IntoIterator<Item = usize>) -> usize {
        let (ranges, len) = placed(lengths);
        len + ranges.len()
    }

    fn whole(&self, memory: &Arc<Memory>) -> Buffer {
        Buffer::part(memory, 0..self.len)
    }

    /// The GPU.
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

    /// All gradients, and behind them for each parameter whether one flowed into it, as 1 or 0: what several
    /// ranks can add up where they lie. From now on a parameter counts as reached if its sum is above 0.
    pub fn gradients_to_share(&self) -> Buffer {
        let flags: Vec<f32> =
            self.reached().into_iter().map(|here| f32::from(u8::from(here))).collect();
        self.flags().write(&flags);
        self.reached_on_gpu.store(true, Ordering::Relaxed);
        Buffer::part(&self.gradients, 0..self.len + self.ranges.len())
    }

    fn flags(&self) -> Buffer {
        Buffer::part(&self.gradients, self.len..self.len + self.ranges.len())
    }

    /// Which parameters a gradient flowed into on any rank, not 0 if it did: where ranks have added them up
    /// on the GPU.
    pub(super) fn shared_flags(&self) -> Option<View<'_, u32>> {
        let shared = self.reached_on_gpu.load(Ordering::Relaxed);
        // A sum of ones and zeros is 0 exactly if no bit of it is set.
        shared.then(|| View::new(self.flags().view().ptr(), self.ranges.len()))
    }

    /// Sets all gradients to 0; no parameter counts as reached.
    pub fn clear_gradients(&self) {
        lock(&self.reached).fill(false);
        self.reached_on_gpu.store(false, Ordering::Relaxed);
        self.gradients().clear();
    }

    /// Says which parameters a gradient flowed into, here or elsewhere.
    ///
    /// # Panics
    /// If there is not one for each parameter.
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

/// Where parameters of these lengths lie, and how many values that takes.
fn placed(lengths: impl IntoIterator<Item = usize>) -> (Vec<Range<usize>>, usize) {
    let (mut ranges, mut len) = (Vec::new(), 0);
    for length in lengths {
        ranges.push(len..len + length);
        len = (len + length).next_multiple_of(GRAIN);
    }
    (ranges, len)
}
