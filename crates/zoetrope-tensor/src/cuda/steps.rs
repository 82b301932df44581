//! What the steps of an epoch leave on the card: their losses.
//!
//! A step does not wait for its loss: it is added to a list that is read once an epoch. The place in
//! the list is kept on the card, so that a recorded step goes on when it is launched again.

use super::kernel::Kernel;
use super::memory::Scratch;
use super::{Gpu, View};

static ADD: Kernel = Kernel::new("steps", "steps_add");
static ADVANCE: Kernel = Kernel::new("steps", "steps_advance");

/// Losses of steps, in order.
#[derive(Debug)]
pub struct Steps {
    gpu: Gpu,
    losses: Scratch,
    /// The place of the current step in the list.
    place: Scratch<u32>,
}

impl Steps {
    /// Room for the losses of so many steps.
    pub fn new(gpu: &Gpu, room: usize) -> Self {
        let mut steps = Self { gpu: gpu.clone(), losses: gpu.take(room), place: gpu.take_of(1) };
        steps.restart();
        steps
    }

    /// How many losses there is room for.
    pub fn room(&self) -> usize {
        self.losses.len()
    }

    /// An empty list.
    pub fn restart(&mut self) {
        self.gpu.upload(&[0], self.place.view_mut());
        self.gpu.zero(self.losses.view_mut());
    }

    /// Adds `factor` times a loss to that of the current step.
    pub(crate) fn add(&mut self, loss: View<'_>, factor: f32) {
        let (losses, at) = (self.losses.view_mut(), self.place.view());
        self.gpu.launch(&ADD, 1, 1, 0, &[&loss, &factor, &losses, &at]);
    }

    /// Goes on to the next step; one without a loss leaves no place in the list.
    pub fn advance(&mut self, counted: bool) {
        let place = self.place.view_mut();
        self.gpu.launch(&ADVANCE, 1, 1, 0, &[&place, &u32::from(counted)]);
    }

    /// The losses of the first `count` steps; waits for them.
    ///
    /// # Panics
    /// Where there are not so many.
    pub fn read(&self, count: usize) -> Vec<f32> {
        let mut losses = vec![0.0; count];
        self.gpu.download(self.losses.view().slice(0..count), &mut losses);
        losses
    }
}
