//! Keys that the chosen model does not read.

use super::{ignored_unless, unread_if};
use crate::problem::ConfigProblem;
use crate::{Config, EmbeddingName, FeatureRule, ModelName, UpdaterName, Variant};

/// Keys that only snapshot models read.
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
    "plan.reuse",
    "plan.group",
    "plan.record",
    "plan.order",
    "plan.difference",
    "plan.blocks",
    "plan.recompute",
    "plan.block_states",
    "plan.strategy",
    "plan.members",
    "plan.overlap",
    "plan.device_transport",
    "plan.timeout",
];

/// Keys that only event models read.
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

/// Keys of the other kind of model.
pub(super) fn kind(config: &Config, default: &Config) -> Vec<Option<ConfigProblem>> {
    let name = config.model.name;
    let (keys, readers): (&[&str], _) = if name.is_stream() {
        (OF_SNAPSHOTS, "snapshot models")
    } else {
        (OF_EVENTS, "event models")
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

/// Keys that only some snapshot models read.
pub(super) fn model(config: &Config, default: &Config) -> Vec<Option<ConfigProblem>> {
    let (model, usual) = (&config.model, &default.model);
    let name = model.name;
    let of = |read, key, readers| ignored_unless(read, (key, "model.name", name.name(), readers));
    vec![
        unread_if(
            has_square_weights(config) && !widens_learned_features(config),
            config,
            (
                "model.hidden",
                &format!("model.name = \"{name}\" of model.variant = \"{}\"", model.variant),
                "its weights are square, so that it is as wide as the features of a vertex",
                "leave model.hidden out, or use model.variant = \"paper\"",
            ),
        ),
        unread_if(
            matches!(name, ModelName::GcLstm | ModelName::Dysat)
                || config.data.features == FeatureRule::Learned,
            config,
            (
                "plan.reuse",
                &format!("model.name = \"{name}\" on {} features", config.data.features),
                "there is no first aggregation that stays the same",
                "leave plan.reuse out",
            ),
        ),
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

/// EvolveGCN of PyG-Temporal.
fn has_square_weights(config: &Config) -> bool {
    matches!(config.model.name, ModelName::EvolveGcnO | ModelName::EvolveGcnH)
        && config.model.variant == Variant::Pygt
}

/// Whether the hidden width bounds that of features which are learned. The configuration that a run leaves says
/// both, with a width that is not above the bound.
fn widens_learned_features(config: &Config) -> bool {
    let bounds = config.data.learned_width.is_none_or(|width| width <= config.model.hidden);
    config.data.features == FeatureRule::Learned && bounds
}

/// Keys that only some event models read, depending on the parts they are made of.
pub(super) fn parts(config: &Config, default: &Config) -> Vec<Option<ConfigProblem>> {
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
        unread_if(
            !samples,
            config,
            (
                "task.neighbours",
                &format!("model.name = \"{name}\""),
                &format!("only {sampling} would read it"),
                "leave task.neighbours out",
            ),
        ),
        of(samples || model.neighbours.is_none(), "model.neighbours", sampling),
        of(samples || model.sampling.is_none(), "model.sampling", sampling),
    ]
}
