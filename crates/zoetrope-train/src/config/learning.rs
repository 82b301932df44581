//! The optimiser, schedule and learning rate that `[train]` describes.

use zoetrope_nn::optimiser::{Method, Schedule, ScheduleState};

use super::{OptimiserName, ScheduleName, TrainConfig};

impl TrainConfig {
    /// The optimiser with its numbers.
    pub fn method(&self) -> Method {
        let (momentum, weight_decay) = (self.momentum as f32, self.weight_decay as f32);
        let (beta1, beta2) = (self.beta1 as f32, self.beta2 as f32);
        let epsilon = self.epsilon as f32;
        match self.optimiser {
            OptimiserName::Sgd => Method::Sgd { momentum, weight_decay, nesterov: false },
            name @ (OptimiserName::Adam | OptimiserName::AdamW) => {
                let decoupled = name == OptimiserName::AdamW;
                Method::Adam { beta1, beta2, epsilon, weight_decay, decoupled }
            }
            OptimiserName::RmsProp => {
                Method::RmsProp { alpha: self.rho as f32, epsilon, weight_decay, momentum }
            }
        }
    }

    /// The schedule that follows the warm-up.
    pub fn schedule(&self) -> Schedule {
        match self.schedule {
            // The warm-up itself is in `learning_rate`, for it may precede any schedule.
            ScheduleName::Constant | ScheduleName::WarmUp => Schedule::Constant,
            ScheduleName::Step => Schedule::Step { every: self.step_every, factor: self.decay },
            ScheduleName::Cosine => Schedule::Cosine {
                epochs: self.epochs - self.warm_up.min(self.epochs),
                floor: self.min_lr / self.lr,
            },
            ScheduleName::Plateau => {
                Schedule::Plateau { patience: self.plateau_patience, factor: self.decay }
            }
        }
    }

    /// The learning rate of an epoch, counted from 0.
    pub fn learning_rate(&self, epoch: usize, state: &ScheduleState) -> f64 {
        let warm_up = Schedule::WarmUp { epochs: self.warm_up };
        let climb = if self.warm_up == 0 { 1.0 } else { warm_up.share(epoch, state) };
        let share = self.schedule().share(epoch.saturating_sub(self.warm_up), state);
        climb * (self.lr * share).max(self.min_lr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn rates(settings: &[&str], epochs: usize) -> Vec<f64> {
        let config = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
        let train = config.build().unwrap().train;
        let state = ScheduleState::default();
        (0..epochs).map(|epoch| train.learning_rate(epoch, &state)).collect()
    }

    #[test]
    fn a_warm_up_precedes_any_schedule() {
        let steps = ["train.lr=1", "train.schedule=step", "train.step_every=2", "train.warm_up=2"];
        assert_eq!(rates(&steps, 6), [0.5, 1.0, 1.0, 1.0, 0.5, 0.5]);
        let alone = ["train.lr=1", "train.schedule=warm-up", "train.warm_up=4"];
        assert_eq!(rates(&alone, 6), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn no_schedule_falls_below_the_lowest_rate() {
        let step = ["train.lr=1", "train.schedule=step", "train.step_every=1", "train.min_lr=0.3"];
        assert_eq!(rates(&step, 4), [1.0, 0.5, 0.3, 0.3]);
        let cosine = ["train.schedule=cosine", "train.epochs=10", "train.min_lr=0.001"];
        let cosine = rates(&cosine, 11);
        assert_eq!(cosine[0], 0.01);
        assert!((cosine[10] - 0.001).abs() < 1e-12 && cosine.is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn optimisers_take_the_numbers_that_they_read() {
        let mut train = TrainConfig { weight_decay: 0.5, ..TrainConfig::default() };
        assert!(matches!(train.method(), Method::Adam { decoupled: false, beta1: 0.9, .. }));
        train.optimiser = OptimiserName::AdamW;
        assert!(matches!(train.method(), Method::Adam { decoupled: true, .. }));
        train.optimiser = OptimiserName::RmsProp;
        assert!(matches!(train.method(), Method::RmsProp { alpha: 0.99, weight_decay: 0.5, .. }));
    }
}
