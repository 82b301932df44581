//! Values that are fine by themselves and contradict each other.
//!
//! What would be ignored in silence is an error here, so that a run never differs from what its
//! user believes it to be.

use super::ignored::ignored;
use super::problem::ConfigProblem;
use super::{Config, DecoderName, Frame, ModelName, ScheduleName, TaskName};

/// All contradictions of a tree.
pub(super) fn contradictions(config: &Config) -> Vec<ConfigProblem> {
    let checks = [frames, validation, schedule, model, task, ignored];
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

fn frames(config: &Config) -> Vec<ConfigProblem> {
    let train = &config.train;
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
    conflict(
        model.name == ModelName::Dysat && !model.hidden.is_multiple_of(model.heads),
        format!("model.hidden = {} and model.heads = {}", model.hidden, model.heads),
        "each head takes an equal share of the hidden width",
        "choose a hidden width that is a multiple of the heads",
    )
    .into_iter()
    .collect()
}

fn task(config: &Config) -> Vec<ConfigProblem> {
    let Some(task) = config.task.name else { return Vec::new() };
    let edges = matches!(task, TaskName::LinkPrediction | TaskName::EdgeClassification);
    let decoder = config.model.decoder;
    let fits = match decoder {
        DecoderName::Auto => true,
        DecoderName::Linear | DecoderName::Mlp => !edges,
        DecoderName::Dot => task == TaskName::LinkPrediction,
        DecoderName::Concat => edges,
    };
    let classes = matches!(task, TaskName::NodeRegression | TaskName::LinkPrediction);
    let metrics = task.metrics();
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name()).collect();
    let metric = config.task.metric;
    [
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
