//! What the steps of an epoch leave on the GPU: their losses, and their number.
//!
//! A step does not wait for its loss: it is added to a list that is read once an epoch. The place in
//! the list and the number of the step are kept on the GPU, so that a recorded step that is
//! launched again writes the next loss and drops other values.

use std::sync::Arc;

use super::kernel::Kernel;
use super::memory::{Memory, Scratch};
use super::{Gpu, View, ViewMut};

static ADD: Kernel = Kernel::new("steps", "steps_add");
static ADVANCE: Kernel = Kernel::new("steps", "steps_advance");

/// The number of the step that a GPU is at, on the GPU.
#[derive(Debug, Clone)]
pub struct StepCounter(Arc<Memory>);

impl StepCounter {
    /// Where kernels read it.
    pub(super) fn ptr(&self) -> u64 {
        self.0.ptr()
    }

    /// For [`Steps`], which alone changes it, in the order of launches.
    fn view_mut(&self) -> ViewMut<'_, u32> {
        ViewMut::new(self.0.ptr(), 1)
    }
}

/// Losses of steps, in order.
#[derive(Debug)]
pub struct Steps {
    gpu: Gpu,
    losses: Scratch,
    /// The place of the current step in the list.
    place: Scratch<u32>,
    counter: StepCounter,
}

impl Steps {
    /// Room for the losses of so many steps, from step 0 on.
    pub fn new(gpu: &Gpu, room: usize) -> Self {
        let counter = StepCounter(Arc::new(gpu.allocate(size_of::<u32>())));
        let (losses, place) = (gpu.take(room), gpu.take_of(1));
        let mut steps = Self { gpu: gpu.clone(), losses, place, counter };
        steps.restart(0);
        steps
    }

    /// How many losses there is room for.
    pub fn room(&self) -> usize {
        self.losses.len()
    }

    /// The number of the current step.
    pub fn counter(&self) -> &StepCounter {
        &self.counter
    }

    /// An empty list, at the step of that number.
    pub fn restart(&mut self, number: u32) {
        self.gpu.upload(&[0], self.place.view_mut());
        self.gpu.upload(&[number], self.counter.view_mut());
        self.gpu.zero(self.losses.view_mut());
    }

    /// Adds `factor` times a loss to that of the current step.
    pub(crate) fn add(&mut self, loss: View<'_>, factor: f32) {
        let (losses, at) = (self.losses.view_mut(), self.place.view());
        self.gpu.launch(&ADD, 1, 1, 0, &[&loss, &factor, &losses, &at]);
    }

    /// Goes on to the next step; one without a loss leaves no place in the list.
    pub fn advance(&mut self, counted: bool) {
        let (place, number) = (self.place.view_mut(), self.counter.view_mut());
        self.gpu.launch(&ADVANCE, 1, 1, 0, &[&place, &u32::from(counted), &number]);
    }

    /// The losses of the first `count` steps; waits for them.
    ///
    /// # Panics
    /// If fewer losses were kept.
    pub fn read(&self, count: usize) -> Vec<f32> {
        let mut losses = vec![0.0; count];
        self.gpu.download(self.losses.view().slice(0..count), &mut losses);
        losses
    }
}
