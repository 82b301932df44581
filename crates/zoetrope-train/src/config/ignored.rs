//! Keys that the chosen model, optimiser or schedule does not read.
//!
//! A value other than the default that nobody would read is an error: its user believes that it
//! changes the run.

use super::problem::ConfigProblem;
use super::{Config, ModelName, OptimiserName, ScheduleName};

/// Every key that was changed and is not read.
pub(super) fn ignored(config: &Config) -> Vec<ConfigProblem> {
    let default = Config::default();
    let (model, usual) = (&config.model, &default.model);
    let name = model.name;
    let mut all = vec![
        ignored_unless(
            name == ModelName::Dysat || model.heads == usual.heads,
            ("model.heads", "model.name", name.name(), "dysat"),
        ),
        ignored_unless(
            name == ModelName::GcLstm || model.k == usual.k,
            ("model.k", "model.name", name.name(), "gc-lstm"),
        ),
        ignored_unless(
            name == ModelName::GcLstm || model.normalisation == usual.normalisation,
            ("model.normalisation", "model.name", name.name(), "gc-lstm"),
        ),
        ignored_unless(
            name == ModelName::TmGcn || model.bandwidth == usual.bandwidth,
            ("model.bandwidth", "model.name", name.name(), "tm-gcn"),
        ),
    ];
    all.extend(optimiser(config, &default));
    all.extend(schedule(config, &default));
    all.into_iter().flatten().collect()
}

fn optimiser(config: &Config, default: &Config) -> [Option<ConfigProblem>; 5] {
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

fn schedule(config: &Config, default: &Config) -> [Option<ConfigProblem>; 4] {
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

fn ignored_unless(
    fine: bool,
    (key, chooser, chosen, readers): (&str, &str, &str, &str),
) -> Option<ConfigProblem> {
    (!fine).then(|| ConfigProblem::Conflict {
        keys: format!("{key} and {chooser} = \"{chosen}\""),
        reason: format!("only {readers} would read it"),
        advice: format!("leave {key} out"),
    })
}
