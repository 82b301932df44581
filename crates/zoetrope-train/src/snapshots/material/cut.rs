//! From any data set to snapshots with features and targets.

use std::sync::Arc;

use zoetrope_config::{
    Config, DataConfig, FeatureRule, FeatureScaling, MissingFeatures, ModelName, Scaling, TaskName,
};
use zoetrope_data::assemble::scale_of;
use zoetrope_data::split::Split;
use zoetrope_data::{Dataset, SnapshotDataset};
use zoetrope_dist::Ranks;
use zoetrope_graph::{
    Boundaries, DiscretiseOptions, EventStore, Lifetime, SnapshotSequence, Suggestion, Targets,
    Time, TimeScale, VertexFeatures, Windows, discretise, suggest_cut, suggest_window,
};

use super::by_step::{self, Made};
use crate::answers::texts;
use crate::error::TrainError;
use crate::scaling::columns::Table;
use crate::scaling::{EdgeWeights, FittedScaling, Scaled, scale_series};
use crate::snapshots::baseline::last_lag_column;
use crate::snapshots::sampling::{EdgeClassRule, hide_weights, label_snapshots};

/// Snapshots and what only their source could tell.
pub(super) struct Cut {
    pub(super) data: SnapshotDataset,
    /// What is known of snapshots that are made when they are needed.
    pub(super) made: Option<Made>,
    /// Whether the process of one of several ranks would make its own.
    pub(super) splits: bool,
    pub(super) edge_labels: Option<(Arc<SnapshotSequence>, EdgeClassRule)>,
    /// The feature that holds the newest value of the target, if features are its lags.
    pub(super) newest_lag: Option<usize>,
    /// What it was scaled by.
    pub(super) scaled: Scaled,
    /// What the data calls its times and classes.
    pub(super) named: Named,
}

/// What the data calls its times and classes, for files of predictions.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) scale: Option<TimeScale>,
    pub(super) vertex_classes: Vec<String>,
    pub(super) edge_classes: Vec<String>,
    /// The row of a series that is predicted at each step.
    pub(super) rows: Option<Vec<usize>>,
    /// When these rows begin and the last one ends.
    pub(super) row_times: Option<Boundaries>,
}

impl Named {
    fn of(store: &EventStore) -> Self {
        Self {
            scale: Some(store.scale()),
            vertex_classes: texts(&store.vertex_label_names),
            edge_classes: texts(&store.label_names),
            rows: None,
            row_times: None,
        }
    }

    /// Of snapshots with times of their own.
    fn dated(data: &SnapshotDataset, lags: Option<usize>) -> Self {
        let boundaries = data.sequence.boundaries();
        let scale = boundaries.map(|boundaries| scale_of(boundaries.iter(), None));
        let scale = scale.filter(|scale| scale.unix);
        let Some(signal) = &data.signal else { return Self { scale, ..Self::default() } };
        let (lags, last) = (lags.unwrap_or(signal.lags), data.sequence.steps().saturating_sub(1));
        let Ok(samples) = data.samples(Some(lags)) else { return Self::default() };
        // A step is known by the row that it predicts; a loader may repeat the last one.
        let rows: Vec<usize> = (0..samples).map(|sample| (sample + lags).min(last)).collect();
        let row_times = boundaries.map(|boundaries| {
            let starts = rows.iter().map(|&row| boundaries.at(row));
            starts.chain(boundaries.last()).collect::<Vec<Time>>().into()
        });
        Self { scale, row_times, rows: Some(rows), ..Self::default() }
    }
}

/// Cuts events, takes lags, finds the classes of edges.
pub(super) fn snapshots(
    dataset: Dataset,
    config: &Config,
    saved: Option<&FittedScaling>,
    ranks: Option<&Ranks>,
    warnings: &mut Vec<String>,
) -> Result<Cut, TrainError> {
    let classes = config.task.name == Some(TaskName::EdgeClassification);
    let mut cut = match dataset {
        Dataset::Events(store) => {
            let weights = saved.and_then(|saved| saved.edge_weights);
            events(&store, config, classes, weights, ranks, warnings)?
        }
        Dataset::Snapshots(data) => given(data, &config.data, saved, warnings)?,
    };
    scale_features(&mut cut, &config.data, saved, warnings)?;
    if classes && cut.edge_labels.is_none() && cut.data.sequence.weight().is_some() {
        // The sign of a weight is the answer, so the model must not see the weights.
        let bare = hide_weights(&cut.data.sequence)?;
        let labelled = std::mem::replace(&mut cut.data.sequence, bare);
        cut.edge_labels = Some((Arc::new(labelled), EdgeClassRule::WeightSign));
    }
    Ok(cut)
}

fn given(
    data: SnapshotDataset,
    config: &DataConfig,
    saved: Option<&FittedScaling>,
    warnings: &mut Vec<String>,
) -> Result<Cut, TrainError> {
    if config.window.is_some() {
        return Err(TrainError::Unfit {
            what: "data.window cuts events, but this data has snapshots already".to_owned(),
            advice: "leave data.window out".to_owned(),
        });
    }
    let mut newest_lag = None;
    if let Some(signal) = &data.signal {
        newest_lag = last_lag_column(signal, config.lags.unwrap_or(signal.lags));
    } else if let Some(key) = of_series(config) {
        return Err(TrainError::Unfit {
            what: format!("data.{key} is for a measured series, but this data has none"),
            advice: format!("leave data.{key} out"),
        });
    }
    let named = Named::dated(&data, config.lags);
    let mut scaled = Scaled::default();
    let saved = saved.and_then(|saved| saved.series.as_ref());
    let data = scale_series(data, config, saved, &mut scaled, warnings)?;
    let made = None;
    Ok(Cut { data, made, splits: false, edge_labels: None, newest_lag, scaled, named })
}

/// The first key that was given and is for measured series only.
fn of_series(config: &DataConfig) -> Option<&'static str> {
    let given =
        [(config.scaling != Scaling::Auto, "scaling"), (!config.missing.0.is_empty(), "missing")];
    given.into_iter().find_map(|(given, key)| given.then_some(key))
}

/// Scales the features that the data has of its vertices, if they are used: not lags of a series,
/// which have the scale of the series.
///
/// Features of every snapshot are fitted on the training snapshots; features that never change are
/// known from the first snapshot on, so they are fitted on all vertices.
fn scale_features(
    cut: &mut Cut,
    config: &DataConfig,
    saved: Option<&FittedScaling>,
    warnings: &mut Vec<String>,
) -> Result<(), TrainError> {
    let of_series = cut.scaled.fitted.series.is_some();
    let saved = saved.and_then(|saved| saved.vertex_features.as_ref());
    let Some(features) = cut.data.features.as_ref().filter(|features| features.width() > 0) else {
        let used = config.features == FeatureRule::Auto && !of_series;
        return Table::absent("vertex", saved.filter(|_| used));
    };
    // A missing value that may not be is refused with its step and vertex when features are stacked.
    let refused = config.missing_features == MissingFeatures::Refuse
        && features.values().iter().any(|value| value.is_nan());
    if of_series || refused || config.features != FeatureRule::Auto {
        return Ok(());
    }
    let (steps, vertices) = (features.steps(), features.vertices());
    let training = match steps {
        1 => 1,
        steps => Split::by_snapshots(steps, config.split.fractions()).train.end,
    };
    let names: Vec<String> = (0..features.width()).map(|column| column.to_string()).collect();
    let table = Table { values: features.values(), names: &names, row: "vertex" };
    // The references train on the features of snapshots as they are given, and weights that were
    // trained there must fit here: unless a rule is named, so does Zoetrope.
    let mut rules = config.clone();
    if rules.feature_scaling == FeatureScaling::Auto {
        rules.feature_scaling = FeatureScaling::None;
    }
    let found = table.scale(&rules, saved, |row| row < training * vertices, warnings)?;
    if let Some(values) = found.values {
        let width = found.fitted.width();
        cut.data.features = Some(VertexFeatures::new(steps, vertices, width, values)?);
    }
    cut.scaled.of_run |= found.of_run;
    cut.scaled.missing_features += found.missing;
    cut.scaled.fitted.vertex_features = Some(found.fitted);
    Ok(())
}

fn events(
    store: &EventStore,
    whole: &Config,
    classes: bool,
    saved: Option<EdgeWeights>,
    ranks: Option<&Ranks>,
    warnings: &mut Vec<String>,
) -> Result<Cut, TrainError> {
    let config = &whole.data;
    if let Some(key) = of_series(config).or(config.lags.map(|_| "lags")) {
        return Err(TrainError::Unfit {
            what: format!("data.{key} is for a measured series, but this data has events"),
            advice: format!("leave data.{key} out"),
        });
    }
    if store.feature_width() > 0 {
        warnings.push(format!(
            "the {} features of events are not read by snapshot models: event models (--model {}) \
             read them",
            store.feature_width(),
            ModelName::DEFAULT_OF_EVENTS.name()
        ));
    }
    let chosen = match &config.window {
        Some(window) => window.clone(),
        None => {
            let found = suggest_cut(store);
            let width = found.width;
            warnings.push(format!(
                "events were cut into windows of {width}; choose another width with data.window"
            ));
            warnings.extend(strays(store, &found));
            found.windowing
        }
    };
    let windows = Windows::cut(store, &chosen)?;
    must_be_sensible(store, &windows)?;
    let options = DiscretiseOptions {
        merge: config.merge.into(),
        lifetime: if config.until_removed { Lifetime::UntilRemoved } else { Lifetime::Window },
        undirected: config.undirected,
        ..DiscretiseOptions::default()
    };
    let (sequence, made) = match by_step::snapshots(store, &windows, options, whole, saved, ranks)?
    {
        Some((sequence, made)) => (sequence, Some(made)),
        None => (discretise(store, &windows, &options)?, None),
    };
    let splits = by_step::can_be_made(&options, &windows, whole)
        && !sequence.weight().unwrap_or_default().iter().any(by_step::is_odd);
    let vertices = store.vertices() as usize;
    let features = match &store.vertex_features {
        Some((width, values)) => Some(VertexFeatures::new(1, vertices, *width, values.to_vec())?),
        None => None,
    };
    let targets = match &store.vertex_labels {
        Some(values) => {
            let classes = store.vertex_label_names.len() as u32;
            let classes = (classes > 0).then_some(classes);
            Some(Targets::new(1, vertices, classes, values.to_vec())?)
        }
        None => None,
    };
    let edge_labels = if classes && store.columns().label.is_some() {
        let labelled = label_snapshots(store, &windows, &options)?;
        Some((Arc::new(labelled), EdgeClassRule::WeightIsClass))
    } else {
        None
    };
    let names = store.names().clone();
    let data = SnapshotDataset { sequence, names, features, targets, signal: None };
    let (scaled, named) = (Scaled::default(), Named::of(store));
    Ok(Cut { data, made, splits, edge_labels, newest_lag: None, scaled, named })
}

/// Refuses windows of which nearly all are empty. A sequence of them takes no memory, but a model
/// computes every snapshot, and features and states have a row for every vertex of each.
fn must_be_sensible(store: &EventStore, windows: &Windows) -> Result<(), TrainError> {
    const WINDOWS_MIN: u64 = 1 << 16;
    const EMPTY_FOR_EACH_EVENT: u64 = 16;
    let limit = WINDOWS_MIN + EMPTY_FOR_EACH_EVENT * store.len() as u64;
    if windows.len() as u64 > limit {
        Err(TrainError::Unfit {
            what: format!(
                "{} events make {} windows, of which {} are empty",
                store.len(),
                windows.len(),
                windows.len() - windows.ranges().filled().len()
            ),
            advice: format!("choose a wider data.window, such as {}", suggest_window(store)),
        })
    } else {
        Ok(())
    }
}

/// Names the events that lie far away from all others.
fn strays(store: &EventStore, found: &Suggestion) -> Option<String> {
    const NAMED: usize = 3;
    let (before, after) = (found.stray_before, found.stray_after);
    let events: Vec<usize> = (0..before).chain(store.len() - after..store.len()).collect();
    if events.is_empty() {
        return None;
    }
    let name = |vertex: u32| store.names().name(vertex).to_string();
    let shown = events.iter().take(NAMED).map(|&event| {
        let ends = [store.src()[event], store.dst()[event]].map(name);
        let time = store.scale().format_time(store.time()[event]);
        format!("{} → {} at {time}", ends[0], ends[1])
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = if events.len() > NAMED { ", …" } else { "" };
    let (count, joined) = match (events.len(), before, after) {
        (1, 1, _) => ("1 event lies".to_owned(), "is in the first window"),
        (1, _, _) => ("1 event lies".to_owned(), "is in the last window"),
        (count, _, 0) => (format!("{count} events lie"), "are in the first window"),
        (count, 0, _) => (format!("{count} events lie"), "are in the last window"),
        (count, _, _) => (format!("{count} events lie"), "are in the first or the last window"),
    };
    Some(format!("{count} far from all others in time and {joined} ({shown}{more}): check them"))
}
