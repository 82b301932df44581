//! Training that nobody watches: all that a program needs which wants a trained model.

use std::time::Instant;

use zoetrope_config::Config;

use crate::error::TrainError;
use crate::interrupt::Interrupt;
use crate::observer::Unobserved;
use crate::train::{Finished, train, train_by_threads};

/// Trains as the configuration says, by as many ranks as it says, and leaves everything in a run folder:
/// `output.dir`, or a fresh one under `runs/`. Signals are left to the program.
///
/// # Errors
/// As [`train`].
pub fn train_unobserved(config: Config) -> Result<Finished, TrainError> {
    let (begun, interrupt) = (Instant::now(), Interrupt::new());
    if config.train.ranks > 1 {
        return train_by_threads(config, begun, &interrupt, Box::new(Unobserved));
    }
    // On a thread of the pool: from outside it every parallel kernel would wait for a wake-up.
    rayon::scope(|_| train(config, begun, &interrupt, &mut Unobserved))
}
