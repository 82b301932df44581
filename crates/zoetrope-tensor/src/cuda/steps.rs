//! What the steps of an epoch leave on the card: their losses, and how many there were.
//!
//! A step does not wait for its loss: it is added to a list that is read once an epoch. The counters
//! are on the card, so that a recorded step counts on when it is launched again.

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
    /// The position in the list, and the number of steps since training began.
    counters: Scratch<u32>,
}

impl Steps {
    /// Room for the losses of so many steps; `done` were made before.
    pub fn new(gpu: &Gpu, room: usize, done: u32) -> Self {
        let mut steps = Self { gpu: gpu.clone(), losses: gpu.take(room), counters: gpu.take_of(2) };
        steps.restart(done);
        steps
    }

    /// How many losses there is room for.
    pub fn room(&self) -> usize {
        self.losses.len()
    }

    /// An empty list; `done` steps were made before.
    pub fn restart(&mut self, done: u32) {
        self.gpu.upload(&[0, done], self.counters.view_mut());
        self.gpu.zero(self.losses.view_mut());
    }

    /// The number of steps since training began, on the card.
    pub(crate) fn counter(&self) -> View<'_, u32> {
        self.counters.view().slice(1..2)
    }

    /// Adds `factor` times a loss to that of the current step.
    pub(crate) fn add(&mut self, loss: View<'_>, factor: f32) {
        let (losses, at) = (self.losses.view_mut(), self.counters.view());
        self.gpu.launch(&ADD, 1, 1, 0, &[&loss, &factor, &losses, &at]);
    }

    /// Goes on to the next step; one without a loss leaves no place in the list.
    pub fn advance(&mut self, counted: bool) {
        let counters = self.counters.view_mut();
        self.gpu.launch(&ADVANCE, 1, 1, 0, &[&counters, &u32::from(counted)]);
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
