//! From any data set to snapshots with features and targets.

use zoetrope_data::{Dataset, Signal, SnapshotDataset, Standardise};
use zoetrope_graph::{
    DiscretiseOptions, EventStore, Lifetime, Origin, Targets, VertexFeatures, Windowing, Windows,
    discretise, suggest_window,
};

use crate::config::{DataConfig, Scaling};
use crate::error::TrainError;

/// Cuts events, takes lags.
pub(super) fn snapshots(
    dataset: Dataset,
    config: &DataConfig,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, TrainError> {
    match dataset {
        Dataset::Events(store) => cut(&store, config, warnings),
        Dataset::Snapshots(mut data) => {
            if let Some(window) = &config.window {
                return Err(TrainError::Unfit {
                    what: format!("data.window = \"{window}\" cuts events, but this data has snapshots already"),
                    advice: "leave data.window out".to_owned(),
                });
            }
            if let Some(signal) = &mut data.signal {
                scale(signal, config.scaling);
            } else if config.scaling != Scaling::Auto {
                return Err(TrainError::Unfit {
                    what: format!("data.scaling = \"{}\" scales a measured series, but this data has none", config.scaling.name()),
                    advice: "leave data.scaling out".to_owned(),
                });
            }
            Ok(data.with_lags(config.lags)?)
        }
    }
}

fn scale(signal: &mut Signal, scaling: Scaling) {
    signal.standardise = match scaling {
        Scaling::Auto => signal.standardise,
        Scaling::Raw => Standardise::No,
        Scaling::ByVertex => Standardise::ByVertex { epsilon: 0.0 },
        Scaling::Overall => Standardise::Overall,
    };
}

fn cut(
    store: &EventStore,
    config: &DataConfig,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, TrainError> {
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
        Some((width, values)) => {
            Some(VertexFeatures::new(1, vertices, *width, values.to_vec())?)
        }
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
    let names = store.names().clone();
    Ok(SnapshotDataset { sequence, names, features, targets, signal: None })
}
