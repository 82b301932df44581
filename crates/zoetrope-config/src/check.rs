//! Values that are fine by themselves and contradict each other.
//!
//! What would be ignored in silence is an error here, so that a run never differs from what its
//! user believes it to be.

use super::ignored::ignored;
use super::problem::ConfigProblem;
use super::{
    ClassWeights, Config, DecoderName, EmbeddingName, Frame, MessageName, ModelName,
    PartitionerName, ScheduleName, StrategyName, TaskName, UpdaterName, Variant,
};

/// All contradictions of a tree.
pub(super) fn contradictions(config: &Config) -> Vec<ConfigProblem> {
    let checks = [smoothing, frames, validation, schedule, model, events, task, ignored];
    checks.into_iter().flat_map(|check| check(config)).collect()
}

fn conflict(
    holds: bool,
    keys: impl Into<String>,
    reason: &str,
    advice: &str,
) -> Option<ConfigProblem> {
    holds.then(|| ConfigProblem::Conflict {
        keys: keys.into(),
        reason: reason.into(),
        advice: advice.into(),
    })
}

fn smoothing(config: &Config) -> Vec<ConfigProblem> {
    let data = &config.data;
    conflict(
        data.edge_life.is_some() && data.m_product.is_some(),
        "data.edge_life and data.m_product",
        "both smooth the same snapshots",
        "leave one of them out",
    )
    .into_iter()
    .collect()
}

fn frames(config: &Config) -> Vec<ConfigProblem> {
    let train = &config.train;
    if config.model.name.is_stream() {
        return Vec::new();
    }
    let truncated = match (train.truncate, train.frame) {
        (Some(truncate), Frame::Steps(frame)) => truncate > frame,
        _ => false,
    };
    [
        conflict(
            train.carry_state && train.shuffle,
            "train.carry_state and train.shuffle",
            "a hidden state can only go on to the frame that follows in time",
            "set one of them to false",
        ),
        conflict(
            train.carry_state && train.batch_size > 1,
            format!("train.carry_state and train.batch_size = {}", train.batch_size),
            "the frames of one update are computed from the same weights, side by side",
            "set train.batch_size = 1",
        ),
        conflict(
            truncated,
            format!("train.truncate = {} and train.frame = {}", shown(train.truncate), train.frame),
            "a frame is shorter than the stretch through which gradients may flow",
            "lower train.truncate or leave it out",
        ),
        conflict(
            train.truncate.is_some() && config.plan.blocks.is_some_and(|blocks| blocks > 1),
            "train.truncate and plan.blocks",
            "gradients flow from block to block, but not beyond a stretch",
            "leave one of them out",
        ),
        conflict(
            config.plan.members.is_some() && config.plan.strategy != StrategyName::Hybrid,
            "plan.members",
            "only plan.strategy = \"hybrid\" would read it",
            "leave it out, or choose the strategy",
        ),
        conflict(
            config.plan.partitioner == PartitionerName::Metis
                && config.plan.strategy != StrategyName::Vertex,
            "plan.partitioner = \"metis\"",
            "METIS makes few edges between parts, which only plan.strategy = \"vertex\" asks for",
            "leave it out, or choose the strategy",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn validation(config: &Config) -> Vec<ConfigProblem> {
    let absent = !config.data.split.has_validation();
    let split = format!("data.split = \"{}\"", config.data.split);
    let reason = "the split holds no validation part that could be watched";
    let advice = "use three shares, for example data.split = \"70/15/15\"";
    let patience = shown(config.train.patience);
    [
        conflict(
            absent && config.train.patience.is_some(),
            format!("train.patience = {patience} and {split}"),
            reason,
            advice,
        ),
        conflict(
            absent && config.train.schedule == ScheduleName::Plateau,
            format!("train.schedule = \"plateau\" and {split}"),
            reason,
            advice,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn schedule(config: &Config) -> Vec<ConfigProblem> {
    let train = &config.train;
    [
        conflict(
            train.schedule == ScheduleName::WarmUp && train.warm_up == 0,
            "train.schedule = \"warm-up\" and train.warm_up = 0",
            "the learning rate would rise over no epoch",
            "set train.warm_up to a number of epochs",
        ),
        conflict(
            train.warm_up > train.epochs,
            format!("train.warm_up = {} and train.epochs = {}", train.warm_up, train.epochs),
            "training would end before the learning rate is reached",
            "lower train.warm_up",
        ),
        conflict(
            train.settle > train.epochs,
            format!("train.settle = {} and train.epochs = {}", train.settle, train.epochs),
            "memory cannot stand still for more epochs than there are",
            "lower train.settle",
        ),
        conflict(
            train.min_lr > train.lr,
            format!("train.min_lr = {} and train.lr = {}", train.min_lr, train.lr),
            "the lowest learning rate is above the first",
            "lower train.min_lr",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn model(config: &Config) -> Vec<ConfigProblem> {
    let model = &config.model;
    let name = model.name;
    let attends = if name.is_stream() {
        model.embedding_in_force() == EmbeddingName::Attention
            || model.updater_in_force() == Some(UpdaterName::Transformer)
    } else {
        name == ModelName::Dysat
    };
    let (variants, names): (&[Variant], _) = match name {
        ModelName::Tgn => (&[Variant::Tgl, Variant::Pyg], "tgl or pyg"),
        name if name.is_stream() => (&[Variant::Tgl], "tgl"),
        _ => (&[Variant::Pygt, Variant::Paper], "pygt or paper"),
    };
    [
        conflict(
            attends && !model.hidden.is_multiple_of(model.heads),
            format!("model.hidden = {} and model.heads = {}", model.hidden, model.heads),
            "each head takes an equal share of the hidden width",
            "choose a hidden width that is a multiple of the heads",
        ),
        conflict(
            !variants.contains(&model.variant),
            format!("model.variant = \"{}\" and model.name = \"{name}\"", model.variant),
            "that source does not have the model",
            &format!("use {names}, or leave model.variant out"),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What event models cannot be made of, and how their batches cannot be cut.
fn events(config: &Config) -> Vec<ConfigProblem> {
    let (model, train) = (&config.model, &config.train);
    if !model.name.is_stream() {
        return Vec::new();
    }
    let embedding = model.embedding_in_force();
    let of_memory = matches!(embedding, EmbeddingName::Identity | EmbeddingName::Time);
    let transformer = model.updater_in_force() == Some(UpdaterName::Transformer);
    let (chunks, batch) = (train.chunks.unwrap_or(1), train.batch_size);
    let pyg = model.variant == Variant::Pyg;
    [
        conflict(
            !model.name.has_memory() && of_memory,
            format!("model.embedding = \"{embedding}\" and model.name = \"{}\"", model.name),
            "the model has no memory to make embeddings of",
            "use attention or sum, or a model with memory",
        ),
        conflict(
            model.name == ModelName::Apan && !transformer,
            format!("model.updater = \"{}\" and model.name = \"apan\"", shown(model.updater)),
            "apan is attention over mails",
            "leave model.updater out, or use tgn",
        ),
        conflict(
            transformer && model.reads_neighbours(),
            format!("model.embedding = \"{embedding}\" and model.name = \"{}\"", model.name),
            "attention over mails answers questions, and neighbours are not asked",
            "use identity or time, or leave model.embedding out",
        ),
        conflict(
            transformer && model.message != MessageName::Identity,
            format!("model.message = \"{}\" and model.name = \"{}\"", model.message, model.name),
            "attention over mails reads them as they are",
            "leave model.message out",
        ),
        conflict(
            model.name != ModelName::Apan && transformer,
            format!("model.updater = \"transformer\" and model.name = \"{}\"", model.name),
            "attention over mails is apan's",
            "use gru, rnn or lstm, or model.name = \"apan\"",
        ),
        conflict(
            pyg && (model.embedding.is_some_and(|name| name != EmbeddingName::Attention)
                || model.layers.is_some_and(|layers| layers != 1)),
            "model.variant = \"pyg\" and model.embedding or model.layers",
            "PyG's TGN is one layer of attention",
            "leave them out, or use model.variant = \"tgl\"",
        ),
        conflict(
            !batch.is_multiple_of(chunks),
            format!("train.chunks = {chunks} and train.batch_size = {batch}"),
            "batches are shifted by whole chunks",
            "choose a batch size that is a multiple of the chunks",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn task(config: &Config) -> Vec<ConfigProblem> {
    let Some(task) = config.task.name else { return Vec::new() };
    let stream = config.model.name.is_stream();
    let possible = if stream { TaskName::NodeRegression } else { TaskName::EdgeRegression } != task;
    let edges = matches!(
        task,
        TaskName::LinkPrediction | TaskName::EdgeClassification | TaskName::EdgeRegression
    );
    let decoder = config.model.decoder;
    let fits = match decoder {
        DecoderName::Auto => true,
        DecoderName::Linear | DecoderName::Mlp => !edges,
        DecoderName::Dot => task == TaskName::LinkPrediction,
        DecoderName::Concat => edges,
    };
    let classes = matches!(
        task,
        TaskName::NodeRegression | TaskName::LinkPrediction | TaskName::EdgeRegression
    );
    let metrics = if stream {
        task.stream_metrics(config.task.classes.unwrap_or(2))
    } else {
        task.metrics(config.task.classes.unwrap_or(2))
    };
    let weighted = config.task.class_weights != ClassWeights::Equal;
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
    let metric = config.task.metric;
    let kind = if stream { "event" } else { "snapshot" };
    [
        conflict(
            !possible,
            format!("task.name = \"{task}\" and model.name = \"{}\"", config.model.name),
            &format!("{kind} models do not do this task"),
            if stream {
                "use edge-regression for the weights of events"
            } else {
                "use edge-regression with tgn, jodie, apan or tgat"
            },
        ),
        conflict(
            config.task.negatives_file.is_some() && task != TaskName::LinkPrediction,
            format!("task.negatives_file and task.name = \"{task}\""),
            "only link-prediction has edges that did not happen",
            "leave task.negatives_file out",
        ),
        conflict(
            !fits,
            format!("model.decoder = \"{decoder}\" and task.name = \"{task}\""),
            "the decoder does not answer this task",
            "leave model.decoder out, or use linear or mlp for vertices, concat or dot for edges",
        ),
        conflict(
            classes && config.task.classes.is_some(),
            format!("task.classes = {} and task.name = \"{task}\"", shown(config.task.classes)),
            "this task has no classes",
            "leave task.classes out",
        ),
        conflict(
            classes && weighted,
            format!(
                "task.class_weights = {} and task.name = \"{task}\"",
                config.task.class_weights
            ),
            "this task has no classes",
            "leave task.class_weights out",
        ),
        conflict(
            config.task.own_features == Some(true) && task == TaskName::LinkPrediction,
            "task.own_features = true and task.name = \"link-prediction\"",
            "a pair that did not happen has no features to ask with",
            "leave task.own_features out, or use edge-classification or edge-regression",
        ),
        conflict(
            config.task.all_pairs && task != TaskName::LinkPrediction,
            format!("task.all_pairs = true and task.name = \"{task}\""),
            "only link-prediction ranks pairs",
            "leave task.all_pairs out",
        ),
        conflict(
            metric.is_some_and(|metric| !metrics.contains(&metric)),
            format!("task.metric = \"{}\" and task.name = \"{task}\"", shown(metric)),
            "the task is not judged by this metric",
            &format!("use one of {}", names.join(", ")),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "none".into(), |value| value.to_string())
}
