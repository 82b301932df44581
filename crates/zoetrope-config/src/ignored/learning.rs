//! Keys that the chosen optimiser or schedule does not read.

use super::ignored_unless;
use crate::problem::ConfigProblem;
use crate::{Config, OptimiserName, ScheduleName};

pub(super) fn optimiser(config: &Config, default: &Config) -> [Option<ConfigProblem>; 5] {
    let (train, usual) = (&config.train, &default.train);
    let name = train.optimiser;
    let adam = matches!(name, OptimiserName::Adam | OptimiserName::AdamW);
    let momentum = matches!(name, OptimiserName::Sgd | OptimiserName::RmsProp);
    let of =
        |read, key, readers| ignored_unless(read, (key, "train.optimiser", name.name(), readers));
    [
        of(momentum || train.momentum == usual.momentum, "train.momentum", "sgd and rmsprop"),
        of(adam || train.beta1 == usual.beta1, "train.beta1", "adam and adamw"),
        of(adam || train.beta2 == usual.beta2, "train.beta2", "adam and adamw"),
        of(name == OptimiserName::RmsProp || train.rho == usual.rho, "train.rho", "rmsprop"),
        of(
            name != OptimiserName::Sgd || train.epsilon == usual.epsilon,
            "train.epsilon",
            "adam, adamw and rmsprop",
        ),
    ]
}

pub(super) fn schedule(config: &Config, default: &Config) -> [Option<ConfigProblem>; 4] {
    let (train, usual) = (&config.train, &default.train);
    let name = train.schedule;
    let step = name == ScheduleName::Step;
    let plateau = name == ScheduleName::Plateau;
    let cosine = name == ScheduleName::Cosine;
    let of =
        |read, key, readers| ignored_unless(read, (key, "train.schedule", name.name(), readers));
    [
        of(step || train.step_every == usual.step_every, "train.step_every", "step"),
        of(step || plateau || train.decay == usual.decay, "train.decay", "step and plateau"),
        of(
            plateau || train.plateau_patience == usual.plateau_patience,
            "train.plateau_patience",
            "plateau",
        ),
        of(
            step || plateau || cosine || train.min_lr == usual.min_lr,
            "train.min_lr",
            "step, cosine and plateau",
        ),
    ]
}
