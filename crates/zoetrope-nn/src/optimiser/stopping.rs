//! Early stopping: enough epochs without progress end a run.

use serde::{Deserialize, Serialize};

/// Which way a measure gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Errors and losses.
    Lower,
    /// Accuracies and ranks.
    Higher,
}

/// Watches one measure; part of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    direction: Direction,
    /// Epochs without progress that end the run; None watches without ending it.
    patience: Option<usize>,
    best: Option<f64>,
    best_epoch: usize,
    waited: usize,
}

impl EarlyStopping {
    /// Nothing seen yet.
    pub fn new(direction: Direction, patience: Option<usize>) -> Self {
        Self { direction, patience, best: None, best_epoch: 0, waited: 0 }
    }

    /// Takes note of an epoch's measure and tells whether it is the best so far.
    pub fn observe(&mut self, epoch: usize, value: f64) -> bool {
        let better = match (self.best, self.direction) {
            (None, _) => !value.is_nan(),
            (Some(best), Direction::Lower) => value < best,
            (Some(best), Direction::Higher) => value > best,
        };
        if better {
            (self.best, self.best_epoch, self.waited) = (Some(value), epoch, 0)
        } else {
            self.waited += 1
        }
        better
    }

    /// Whether the run has waited long enough.
    pub fn is_over(&self) -> bool {
        self.patience.is_some_and(|patience| self.waited >= patience)
    }

    /// The best epoch and the epochs since, for a checkpoint.
    pub fn counters(&self) -> (usize, usize) {
        (self.best_epoch, self.waited)
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, best: Option<f64>, best_epoch: usize, waited: usize) {
        (self.best, self.best_epoch, self.waited) = (best, best_epoch, waited);
    }

    /// The best measure and its epoch.
    pub fn best(&self) -> Option<(usize, f64)> {
        self.best.map(|best| (self.best_epoch, best))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_after_its_patience() {
        let mut stopping = EarlyStopping::new(Direction::Lower, Some(2));
        let better: Vec<bool> = [3.0, 2.0, 2.0, f64::NAN]
            .iter()
            .enumerate()
            .map(|(e, &v)| stopping.observe(e, v))
            .collect();
        assert_eq!(better, [true, true, false, false]);
        assert!(stopping.is_over());
        assert_eq!(stopping.best(), Some((1, 2.0)));
    }

    #[test]
    fn a_higher_measure_is_better_where_said_so() {
        let mut stopping = EarlyStopping::new(Direction::Higher, None);
        assert!(stopping.observe(0, 0.5) && stopping.observe(1, 0.6) && !stopping.observe(2, 0.6));
        assert!(!stopping.is_over());
    }
}
