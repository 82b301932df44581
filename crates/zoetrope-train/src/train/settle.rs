//! What the data decides if nobody said anything: the model, the task, the windows, the epochs.
//!
//! The only place that does. It looks at a data set that was read and changes the configuration
//! before anything is made of either, so that the saved tree is the one that was trained.

use zoetrope_config::{Config, FeatureRule, Frame, ModelName, TaskName};
use zoetrope_data::split::Split;
use zoetrope_data::{Dataset, Format, GraphFacts, Loaded};
use zoetrope_graph::{EventStore, suggest_cut};

/// The fewest training events that a class needs before it is worth predicting.
const CLASS_EVENTS_MIN: usize = 10;

/// Training events of all epochs together, if the number of epochs is left to the data: a run on a
/// large stream ends in minutes.
const EVENTS_OF_A_RUN: usize = 1_000_000;

/// Edges of all frames of all epochs together, if the number of epochs is left to the data.
const EDGES_OF_A_RUN: usize = 1_000_000_000;

/// The fewest epochs that are left of a run on large snapshots.
const EPOCHS_MIN: usize = 5;

/// Puts what the data decides into the configuration. Returns what the user should know besides.
pub(super) fn settle(config: &mut Config, loaded: &Loaded) -> Vec<String> {
    let mut notes = Vec::new();
    if !config.is_given("model.name") {
        model(config, &loaded.dataset);
    }
    if let (Dataset::Events(store), None) = (&loaded.dataset, config.task.name) {
        task_of_events(config, store, loaded.notes.format, &mut notes);
    }
    match &loaded.dataset {
        Dataset::Events(store) => {
            window(config, store);
            epochs(config, store);
            learned_width(config, store.vertices());
        }
        Dataset::Snapshots(data) => {
            let edges = data.sequence.iter().map(|snapshot| snapshot.len()).sum();
            epochs_of_snapshots(config, data.sequence.steps(), edges);
            learned_width(config, data.sequence.vertices());
        }
    }
    notes
}

/// The same for snapshots of which only sizes are known.
pub(super) fn settle_counted(config: &mut Config, facts: &GraphFacts) {
    let steps = facts.steps;
    if !config.is_given("model.name") {
        let model = ModelName::DEFAULT_OF_SNAPSHOTS;
        *config = config.with_model(model);
        config.settle("model.name", model.name(), format!("the data has {steps} snapshots"));
    }
    let repeated = facts.constant.then_some(steps);
    let graph = facts.counts.clone().into_sequence(repeated);
    let edges = (0..steps).map(|step| graph.edges_at(step)).sum();
    epochs_of_snapshots(config, steps, edges);
}

/// An event model for events, a snapshot model for snapshots. Keys that only snapshot models read
/// say that events are to be cut.
fn model(config: &mut Config, dataset: &Dataset) {
    let snapshots = ModelName::DEFAULT_OF_SNAPSHOTS;
    let (model, because) = match dataset {
        Dataset::Snapshots(data) => {
            let steps = data.sequence.steps();
            (snapshots, format!("the data has {steps} snapshots"))
        }
        Dataset::Events(store) => {
            let events = format!("the data has {} events", store.len());
            match obstacle(config) {
                Some(obstacle) => (snapshots, format!("{events} and {obstacle}")),
                None => (ModelName::DEFAULT_OF_EVENTS, events),
            }
        }
    };
    *config = config.with_model(model);
    config.settle("model.name", model.name(), because);
}

/// What was asked for that the default event model does not do and the default snapshot model does.
fn obstacle(config: &Config) -> Option<String> {
    if config.train.ranks > 1 {
        return Some("event models train on one rank".to_owned());
    }
    let problems = config.with_model(ModelName::DEFAULT_OF_EVENTS).problems();
    let cut = config.with_model(ModelName::DEFAULT_OF_SNAPSHOTS).problems();
    let first = problems.first()?.to_string();
    // "data.window and model.name = …": the first of the two is what was asked for.
    let asked = first.split(" and ").next().unwrap_or(&first);
    cut.is_empty().then(|| format!("{asked} is for snapshot models, which cut events"))
}

/// The task of the labels of events, if at least two classes can be learned and judged.
fn task_of_events(
    config: &mut Config,
    store: &EventStore,
    format: Format,
    notes: &mut Vec<String>,
) {
    let stream = config.model.name.is_stream();
    let Some(labels) = store.label() else {
        if stream {
            config.task.name = Some(TaskName::LinkPrediction);
            config.settle("task.name", "link-prediction", "events have no labels".to_owned());
            if store.vertex_labels.is_some() {
                notes.push(
                    "vertices have labels, which event models do not predict: \
                     try --model tgcn --task node-classification"
                        .to_owned(),
                );
            }
        }
        return;
    };
    // The labels of JODIE's and TGN's files are those of the user, at the time of the event.
    let task = match format {
        Format::JodieCsv | Format::MlTriple | Format::Tgl => TaskName::NodeClassification,
        _ => TaskName::EdgeClassification,
    };
    if !stream && task == TaskName::NodeClassification {
        return;
    }
    let (task, because) = match learnable(config, store, labels) {
        Ok(classes) => (task, format!("events have labels of {classes} classes")),
        Err(why) => {
            let other = task.name();
            notes.push(format!(
                "labels of events are not the task, because {why}; --task {other} makes them the task"
            ));
            (TaskName::LinkPrediction, why)
        }
    };
    config.task.name = Some(task);
    config.settle("task.name", task.name(), because);
}

/// The number of classes that every part has and training has enough of, if there are two.
fn learnable(config: &Config, store: &EventStore, labels: &[f32]) -> Result<usize, String> {
    let is_class = |label: f32| label >= 0.0 && label.fract() == 0.0 && label < 65536.0;
    if labels.iter().any(|&label| !label.is_nan() && !is_class(label)) {
        return Err("labels are not classes, which are whole numbers or names".to_owned());
    }
    let split = Split::by_time(store, config.data.split.fractions());
    let mut counts: Vec<[usize; 3]> = Vec::new();
    for (part, range) in [&split.train, &split.validation, &split.test].into_iter().enumerate() {
        for &label in labels[range.clone()].iter().filter(|label| !label.is_nan()) {
            let class = label as usize;
            if counts.len() <= class {
                counts.resize(class + 1, [0; 3]);
            }
            counts[class][part] += 1;
        }
    }
    let empty = [false, split.validation.is_empty(), split.test.is_empty()];
    let enough = |counts: &&[usize; 3]| {
        counts[0] >= CLASS_EVENTS_MIN && (1..3).all(|part| empty[part] || counts[part] > 0)
    };
    let present = counts.iter().filter(|counts| counts.iter().sum::<usize>() > 0).count();
    match counts.iter().filter(enough).count() {
        0 | 1 if present < 2 => Err("all labels are the same".to_owned()),
        0 | 1 => Err(format!(
            "fewer than two classes have {CLASS_EVENTS_MIN} events to train on and some in every \
             part"
        )),
        classes => Ok(classes),
    }
}

/// The width of the windows into which a snapshot model's events are cut, so that a file that goes on
/// is cut as the run's was. Windows around stray events belong to their data and are not kept.
fn window(config: &mut Config, store: &EventStore) {
    if config.model.name.is_stream() || config.data.window.is_some() {
        return;
    }
    let found = suggest_cut(store);
    if found.stray_before + found.stray_after == 0 {
        config.data.window = Some(found.windowing);
        let because = "events are cut into about a hundred windows".to_owned();
        config.settle("data.window", found.width, because);
    }
}

/// The width of learned features, which must stay if the number of vertices grows.
fn learned_width(config: &mut Config, vertices: u32) {
    if config.data.features == FeatureRule::Learned && config.data.learned_width.is_none() {
        let width = config.data.learned_width_for(config.model.hidden, vertices as usize);
        config.data.learned_width = Some(width);
        let because = format!("model.hidden = {} and {vertices} vertices", config.model.hidden);
        config.settle("data.learned_width", width, because);
    }
}

/// Fewer epochs of large snapshots.
fn epochs_of_snapshots(config: &mut Config, steps: usize, edges: usize) {
    if config.is_given("train.epochs") {
        return;
    }
    // A snapshot is in as many frames as start while it lasts.
    let repeated = match config.train.frame {
        Frame::Steps(frame) => frame.min(steps).div_ceil(config.train.stride.max(1)),
        Frame::All => 1,
    };
    let least = EPOCHS_MIN.max(config.train.warm_up);
    let fit = (EDGES_OF_A_RUN / (edges * repeated).max(1)).max(least);
    if fit < config.train.epochs {
        config.train.epochs = fit;
        let because = format!("{steps} snapshots have {edges} edges");
        config.settle("train.epochs", fit, because);
    }
}

/// Fewer epochs of a long stream.
fn epochs(config: &mut Config, store: &EventStore) {
    if !config.model.name.is_stream() || config.is_given("train.epochs") {
        return;
    }
    let training = Split::by_time(store, config.data.split.fractions()).train.len();
    // What was asked of the epochs must still fit into them.
    let least = (config.train.settle + 1).max(config.train.warm_up);
    let fit = (EVENTS_OF_A_RUN / training.max(1)).max(1).max(least);
    if fit < config.train.epochs {
        config.train.epochs = fit;
        let because = format!("there are {training} events to train on");
        config.settle("train.epochs", fit, because);
    }
}
