//! From any data set to snapshots with features and targets.

use std::sync::Arc;

use zoetrope_data::dataset::{Signal, Standardise};
use zoetrope_data::{Dataset, SnapshotDataset};
use zoetrope_graph::{
    DiscretiseOptions, EventStore, Lifetime, Origin, SnapshotSequence, Targets, VertexFeatures,
    Windowing, Windows, discretise, suggest_window,
};

use crate::baseline::last_lag_column;
use crate::config::{Config, DataConfig, Scaling, TaskName};
use crate::error::TrainError;
use crate::sampling::{EdgeClassRule, hide_weights, label_snapshots};

/// Snapshots and what only their source could tell.
pub(super) struct Cut {
    pub(super) data: SnapshotDataset,
    pub(super) edge_labels: Option<(Arc<SnapshotSequence>, EdgeClassRule)>,
    /// The feature that holds the newest value of the target, where features are its lags.
    pub(super) newest_lag: Option<usize>,
}

/// Cuts events, takes lags, finds the classes of edges.
pub(super) fn snapshots(
    dataset: Dataset,
    config: &Config,
    warnings: &mut Vec<String>,
) -> Result<Cut, TrainError> {
    let classes = config.task.name == Some(TaskName::EdgeClassification);
    let mut cut = match dataset {
        Dataset::Events(store) => events(&store, &config.data, classes, warnings)?,
        Dataset::Snapshots(data) => given(data, &config.data)?,
    };
    if classes && cut.edge_labels.is_none() && cut.data.sequence.weight().is_some() {
        // The sign of a weight is the answer, so the model must not see the weights.
        let bare = hide_weights(&cut.data.sequence)?;
        let labelled = std::mem::replace(&mut cut.data.sequence, bare);
        cut.edge_labels = Some((Arc::new(labelled), EdgeClassRule::WeightSign));
    }
    Ok(cut)
}

fn given(mut data: SnapshotDataset, config: &DataConfig) -> Result<Cut, TrainError> {
    if config.window.is_some() {
        return Err(TrainError::Unfit {
            what: "data.window cuts events, but this data has snapshots already".to_owned(),
            advice: "leave data.window out".to_owned(),
        });
    }
    let mut newest_lag = None;
    if let Some(signal) = &mut data.signal {
        scale(signal, config.scaling);
        newest_lag = last_lag_column(signal, config.lags.unwrap_or(signal.lags));
    } else if config.scaling != Scaling::Auto {
        let scaling = config.scaling.name();
        return Err(TrainError::Unfit {
            what: format!(
                "data.scaling = \"{scaling}\" scales a measured series, but this data has none"
            ),
            advice: "leave data.scaling out".to_owned(),
        });
    }
    Ok(Cut { data: data.with_lags(config.lags)?, edge_labels: None, newest_lag })
}

fn scale(signal: &mut Signal, scaling: Scaling) {
    signal.standardise = match scaling {
        Scaling::Auto => signal.standardise,
        Scaling::Raw => Standardise::No,
        Scaling::ByVertex => Standardise::ByVertex { epsilon: 0.0 },
        Scaling::Overall => Standardise::Overall,
    };
}

fn events(
    store: &EventStore,
    config: &DataConfig,
    classes: bool,
    warnings: &mut Vec<String>,
) -> Result<Cut, TrainError> {
    if config.lags.is_some() || config.scaling != Scaling::Auto {
        return Err(TrainError::Unfit {
            what: "data.lags and data.scaling are for measured series, but this data has events"
                .to_owned(),
            advice: "leave them out".to_owned(),
        });
    }
    let chosen = match &config.window {
        Some(window) => window.clone(),
        None => {
            let width = suggest_window(store);
            warnings.push(format!(
                "events were cut into windows of {width}; choose another width with data.window"
            ));
            Windowing::Width { width, origin: Origin::Aligned }
        }
    };
    let windows = Windows::cut(store, &chosen)?;
    let options = DiscretiseOptions {
        merge: config.merge.into(),
        lifetime: if config.until_removed { Lifetime::UntilRemoved } else { Lifetime::Window },
        undirected: config.undirected,
        ..DiscretiseOptions::default()
    };
    let sequence = discretise(store, &windows, &options)?;
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
    let edge_labels = match classes && store.columns().label.is_some() {
        true => {
            let labelled = label_snapshots(store, &windows, &options)?;
            Some((Arc::new(labelled), EdgeClassRule::WeightIsClass))
        }
        false => None,
    };
    let names = store.names().clone();
    let data = SnapshotDataset { sequence, names, features, targets, signal: None };
    Ok(Cut { data, edge_labels, newest_lag: None })
}
