//! From the configuration to an optimiser and its learning rate.

use zoetrope_config::{OptimiserName, ScheduleName, TrainConfig};
use zoetrope_nn::optimiser::{Method, Schedule, ScheduleState};

/// The optimiser that `[train]` names.
pub(super) fn method(config: &TrainConfig) -> Method {
    let weight_decay = config.weight_decay as f32;
    let momentum = config.momentum as f32;
    let epsilon = config.epsilon as f32;
    let adam = |decoupled| Method::Adam {
        beta1: config.beta1 as f32,
        beta2: config.beta2 as f32,
        epsilon,
        weight_decay,
        decoupled,
    };
    match config.optimiser {
        OptimiserName::Sgd => Method::Sgd { momentum, weight_decay, nesterov: false },
        OptimiserName::Adam => adam(false),
        OptimiserName::AdamW => adam(true),
        OptimiserName::RmsProp => {
            Method::RmsProp { alpha: config.rho as f32, epsilon, weight_decay, momentum }
        }
    }
}

/// The arrays that it keeps for each weight.
pub(crate) fn slots(config: &TrainConfig) -> usize {
    match (config.optimiser, config.momentum > 0.0) {
        (OptimiserName::Sgd, false) => 0,
        (OptimiserName::Sgd, true) | (OptimiserName::RmsProp, false) => 1,
        _ => 2,
    }
}

/// The schedule that `[train]` names, without its warm-up.
pub(super) fn schedule(config: &TrainConfig) -> Schedule {
    let floor = config.min_lr / config.lr;
    match config.schedule {
        ScheduleName::Constant | ScheduleName::WarmUp => Schedule::Constant,
        ScheduleName::Step => Schedule::Step { every: config.step_every, factor: config.decay },
        ScheduleName::Cosine => {
            let epochs = config.epochs.saturating_sub(config.warm_up).max(1);
            Schedule::Cosine { epochs, floor }
        }
        ScheduleName::Plateau => {
            Schedule::Plateau { patience: config.plateau_patience, factor: config.decay }
        }
    }
}

/// The learning rate of an epoch, counted from 0.
pub(super) fn rate(config: &TrainConfig, epoch: usize, state: &ScheduleState) -> f64 {
    if epoch < config.warm_up {
        return config.lr * Schedule::WarmUp { epochs: config.warm_up }.share(epoch, state);
    }
    let share = schedule(config).share(epoch - config.warm_up, state);
    (config.lr * share).max(config.min_lr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn rates(settings: &[&str], epochs: usize) -> Vec<f64> {
        let config = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
        let train = config.build().unwrap().train;
        let state = ScheduleState::default();
        (0..epochs).map(|epoch| rate(&train, epoch, &state)).collect()
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
        let cosine =
            ["train.lr=0.01", "train.schedule=cosine", "train.epochs=10", "train.min_lr=0.001"];
        let cosine = rates(&cosine, 11);
        assert_eq!(cosine[0], 0.01);
        assert!((cosine[10] - 0.001).abs() < 1e-12 && cosine.is_sorted_by(|a, b| a > b));
    }
}
