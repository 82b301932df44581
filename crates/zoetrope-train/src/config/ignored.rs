//! Keys that the chosen model, optimiser or schedule does not read.
//!
//! A value other than the default that nobody would read is an error: its user believes that it
//! changes the run.

use super::problem::ConfigProblem;
use super::{Config, EmbeddingName, ModelName, OptimiserName, ScheduleName, UpdaterName};

/// Keys that only models of snapshots read.
const OF_SNAPSHOTS: &[&str] = &[
    "data.lags",
    "data.window",
    "data.merge",
    "data.until_removed",
    "data.undirected",
    "data.weights",
    "data.scaling",
    "data.missing",
    "data.edge_life",
    "data.m_product",
    "task.theta",
    "task.all_pairs",
    "train.frame",
    "train.stride",
    "train.carry_state",
    "train.loss",
    "train.shuffle",
    "train.truncate",
    "plan.name",
    "plan.reuse",
    "plan.group",
    "plan.order",
    "plan.difference",
    "plan.blocks",
    "plan.recompute",
    "plan.strategy",
    "plan.members",
    "plan.overlap",
    "plan.device_transport",
    "plan.timeout",
];

/// Keys that only models of events read.
const OF_EVENTS: &[&str] = &[
    "data.drop_features",
    "data.inductive",
    "model.time_width",
    "model.updater",
    "model.message",
    "model.combine",
    "model.mailbox",
    "model.embedding",
    "model.neighbours",
    "model.sampling",
    "task.neighbours",
    "task.equal_times",
    "task.pool",
    "task.negatives_file",
    "task.own_features",
    "train.chunks",
    "train.settle",
    "plan.deduplicate",
    "plan.prefetch",
];

/// Every key that was changed and is not read.
pub(super) fn ignored(config: &Config) -> Vec<ConfigProblem> {
    let default = Config::defaults_of(config.model.name, config.model.variant);
    let mut all = kind(config, &default);
    match config.model.name.is_stream() {
        true => all.extend(parts(config, &default)),
        false => all.extend(model(config, &default)),
    }
    all.extend(optimiser(config, &default));
    all.extend(schedule(config, &default));
    all.into_iter().flatten().collect()
}

/// Keys of the other kind of model.
fn kind(config: &Config, default: &Config) -> Vec<Option<ConfigProblem>> {
    let name = config.model.name;
    let (keys, readers): (&[&str], _) = match name.is_stream() {
        true => (OF_SNAPSHOTS, "models of snapshots"),
        false => (OF_EVENTS, "models of events"),
    };
    let (given, usual) = (config.entries(), default.entries());
    let mut found = Vec::new();
    for (section, (given, usual)) in Config::SECTIONS.into_iter().zip(given.iter().zip(&usual)) {
        for ((key, value), (_, usual)) in given.iter().zip(usual) {
            let key = format!("{section}.{key}");
            let fine = !keys.contains(&key.as_str()) || value == usual;
            found.push(ignored_unless(fine, (&key, "model.name", name.name(), readers)));
        }
    }
    found
}

/// Keys that only some models of snapshots read.
fn model(config: &Config, default: &Config) -> Vec<Option<ConfigProblem>> {
    let (model, usual) = (&config.model, &default.model);
    let name = model.name;
    let of = |read, key, readers| ignored_unless(read, (key, "model.name", name.name(), readers));
    vec![
        of(name == ModelName::Dysat || model.heads == usual.heads, "model.heads", "dysat"),
        of(name == ModelName::GcLstm || model.k == usual.k, "model.k", "gc-lstm"),
        of(
            name == ModelName::GcLstm || model.normalisation == usual.normalisation,
            "model.normalisation",
            "gc-lstm",
        ),
        of(
            name == ModelName::TmGcn || model.bandwidth == usual.bandwidth,
            "model.bandwidth",
            "tm-gcn",
        ),
    ]
}

/// Keys that only some models of events read, depending on the parts they are made of.
fn parts(config: &Config, default: &Config) -> Vec<Option<ConfigProblem>> {
    let (model, usual) = (&config.model, &default.model);
    let name = model.name.name();
    let memory = model.name.has_memory();
    let transformer = model.updater_in_force() == Some(UpdaterName::Transformer);
    let neighbours = model.reads_neighbours();
    let attends = transformer || model.embedding_in_force() == EmbeddingName::Attention;
    let of = |read, key, readers| ignored_unless(read, (key, "model.name", name, readers));
    let remembering = "tgn, jodie and apan";
    let attending = "attention over neighbours or mails";
    let sampling = "attention or a sum over neighbours and delivery to neighbours";
    let samples = neighbours || model.delivers_to_neighbours();
    vec![
        of(model.k == usual.k, "model.k", "gc-lstm"),
        of(model.normalisation == usual.normalisation, "model.normalisation", "gc-lstm"),
        of(model.bandwidth == usual.bandwidth, "model.bandwidth", "tm-gcn"),
        of(memory || model.updater.is_none(), "model.updater", remembering),
        of(memory || config.train.settle == 0, "train.settle", remembering),
        of(memory || model.message == usual.message, "model.message", remembering),
        of(memory || model.combine.is_none(), "model.combine", remembering),
        of(
            transformer || model.mailbox.is_none_or(|mails| mails == 1),
            "model.mailbox",
            "a transformer updater",
        ),
        of(attends || model.heads == usual.heads || model.heads == 1, "model.heads", attending),
        of(attends || model.dropout == usual.dropout, "model.dropout", attending),
        of(
            neighbours || model.layers.is_none(),
            "model.layers",
            "attention or a sum over neighbours",
        ),
        of(samples || model.neighbours.is_none(), "model.neighbours", sampling),
        of(samples || model.sampling.is_none(), "model.sampling", sampling),
    ]
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
