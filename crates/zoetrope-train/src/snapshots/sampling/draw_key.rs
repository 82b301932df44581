//! What a random draw is for.

use zoetrope_graph::random::{Draws, Random};

/// The stream of draws for training and the one for evaluation: neither repeats the other.
const TRAINING: u32 = 0x0A00;
const EVALUATION: u32 = 0x0A80;

/// Draws of one step have so many bits of position, the epoch the rest of 64.
const POSITION_BITS: u32 = 40;

/// What draws are keyed by beside the seed: the purpose, the epoch and the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DrawKey {
    stream: u32,
    epoch: u32,
    step: u32,
}

impl DrawKey {
    /// Draws to train on: others in each epoch.
    pub fn training(epoch: u32, step: u32) -> Self {
        Self { stream: TRAINING, epoch, step }
    }

    /// Draws to measure with: the same whenever the step is measured, so that epochs and models
    /// are compared on the same pairs.
    pub fn evaluation(step: u32) -> Self {
        Self { stream: EVALUATION, epoch: 0, step }
    }

    pub(super) fn draws(self, seed: u64, purpose: Purpose) -> Draws {
        let random = Random::new(seed, self.stream + purpose as u32).at_step(self.step);
        // 24 bits of the epoch: the ten-millionth epoch is beyond anyone's patience.
        Draws::new(random, u64::from(self.epoch) << POSITION_BITS)
    }
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(super) enum Purpose {
    Positives = 1,
    Negatives = 2,
    Candidates = 3,
}
