//! Learning rates over time.

use serde::{Deserialize, Serialize};

/// How the learning rate changes from epoch to epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// Always the same.
    Constant,
    /// Times `factor` every `every` epochs (PyTorch's `StepLR`).
    Step {
        /// Epochs between two reductions.
        every: usize,
        /// What the rate is multiplied with.
        factor: f64,
    },
    /// Half a cosine from the full rate down to `floor` times it after `epochs`
    /// (PyTorch's `CosineAnnealingLR`).
    Cosine {
        /// Epochs of the descent.
        epochs: usize,
        /// The share that is left at the end.
        floor: f64,
    },
    /// Linear from `1 / epochs` of the rate up to the full rate, then constant.
    WarmUp {
        /// Epochs of the climb.
        epochs: usize,
    },
    /// Times `factor` when the watched loss has not fallen for more than `patience` epochs
    /// (PyTorch's `ReduceLROnPlateau` with its relative threshold of 1e-4).
    Plateau {
        /// Epochs to wait.
        patience: usize,
        /// What the rate is multiplied with.
        factor: f64,
    },
}

/// What a schedule remembers; part of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScheduleState {
    /// The product of all reductions on a plateau.
    pub factor: f64,
    /// The best loss so far.
    pub best: Option<f64>,
    /// Epochs since then.
    pub waited: usize,
}

impl Default for ScheduleState {
    fn default() -> Self {
        Self { factor: 1.0, best: None, waited: 0 }
    }
}

impl Schedule {
    /// The share of the full learning rate in an epoch, counted from 0.
    pub fn share(self, epoch: usize, state: &ScheduleState) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Step { every, factor } => factor.powi((epoch / every.max(1)) as i32),
            Self::Cosine { epochs, floor } => {
                let done = (epoch as f64 / epochs.max(1) as f64).min(1.0);
                floor + (1.0 - floor) * 0.5 * (1.0 + (std::f64::consts::PI * done).cos())
            }
            Self::WarmUp { epochs } => ((epoch + 1) as f64 / epochs.max(1) as f64).min(1.0),
            Self::Plateau { .. } => state.factor,
        }
    }

    /// Takes note of the loss at the end of an epoch.
    pub fn observe(self, loss: f64, state: &mut ScheduleState) {
        let Self::Plateau { patience, factor } = self else { return };
        // PyTorch's relative threshold: a fall below 1e-4 of the best does not count.
        if state.best.is_none_or(|best| loss < best * (1.0 - 1e-4)) {
            state.best = Some(loss);
            state.waited = 0;
            return;
        }
        state.waited += 1;
        if state.waited > patience {
            state.factor *= factor;
            state.waited = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(schedule: Schedule, epochs: usize) -> Vec<f64> {
        (0..epochs).map(|epoch| schedule.share(epoch, &ScheduleState::default())).collect()
    }

    #[test]
    fn a_step_schedule_falls_at_each_multiple() {
        let schedule = Schedule::Step { every: 2, factor: 0.5 };
        assert_eq!(shares(schedule, 5), [1.0, 1.0, 0.5, 0.5, 0.25]);
    }

    #[test]
    fn a_cosine_ends_at_its_floor() {
        let shares = shares(Schedule::Cosine { epochs: 4, floor: 0.0 }, 6);
        assert_eq!(shares[0], 1.0);
        assert!((shares[2] - 0.5).abs() < 1e-12);
        assert!(shares[4].abs() < 1e-12 && shares[5].abs() < 1e-12);
    }

    #[test]
    fn a_warm_up_climbs_in_equal_steps() {
        assert_eq!(shares(Schedule::WarmUp { epochs: 4 }, 5), [0.25, 0.5, 0.75, 1.0, 1.0]);
    }

    #[test]
    fn a_plateau_reduces_after_more_than_its_patience() {
        let schedule = Schedule::Plateau { patience: 1, factor: 0.1 };
        let mut state = ScheduleState::default();
        for (loss, share) in [(1.0, 1.0), (1.0, 1.0), (0.99999, 0.1), (0.5, 0.1)] {
            schedule.observe(loss, &mut state);
            assert!((schedule.share(0, &state) - share).abs() < 1e-12, "{loss}");
        }
    }
}
