//! From the configuration to an optimiser and its learning rate.

use zoetrope_nn::optimiser::{Method, Schedule, ScheduleState};

use crate::config::{OptimiserName, ScheduleName, TrainConfig};

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
pub(super) fn slots(config: &TrainConfig) -> usize {
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
        return config.lr * (epoch + 1) as f64 / config.warm_up as f64;
    }
    let share = schedule(config).share(epoch - config.warm_up, state);
    (config.lr * share).max(config.min_lr)
}
