//! The scale of a measured series in a run.

use serde::{Deserialize, Serialize};
use zoetrope_config::{DataConfig, Scaling};
use zoetrope_data::SnapshotDataset;
use zoetrope_data::dataset::{Signal, Standardise};
use zoetrope_data::scaling::SeriesScaling;
use zoetrope_data::split::Split;
use zoetrope_graph::{VertexId, VertexNames};

use super::Scaled;
use crate::error::TrainError;

/// The scale of a measured series, with what is needed to apply it to another file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedSeries {
    /// `data.scaling`.
    pub rule: String,
    /// The names of the vertices in the order of their moments, if the scale is by vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertices: Option<Vec<String>>,
    /// The numbers.
    pub scaling: SeriesScaling,
}

impl FittedSeries {
    pub(super) fn is_sound(&self) -> bool {
        let named = self.vertices.as_ref().map(Vec::len);
        self.scaling.is_sound() && self.scaling.vertices() == named
    }

    /// The same numbers in the order of the vertices of another file, and how many of these are new.
    fn for_names(&self, names: &VertexNames) -> (Self, usize) {
        let Some(known) = &self.vertices else { return (self.clone(), 0) };
        let wanted = all_names(names);
        if *known == wanted {
            return (self.clone(), 0);
        }
        let places: std::collections::HashMap<&str, usize> =
            known.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let places: Vec<Option<usize>> =
            wanted.iter().map(|name| places.get(name.as_str()).copied()).collect();
        let (scaling, new) = self.scaling.for_vertices(&places);
        (Self { rule: self.rule.clone(), vertices: Some(wanted), scaling }, new)
    }
}

fn all_names(names: &VertexNames) -> Vec<String> {
    (0..names.len()).map(|vertex| names.name(vertex as VertexId).into_owned()).collect()
}

/// The scale that the format of a series has, by numbers of the training steps. Files without one hold
/// standardised values, or else other values than their format is for: these are scaled by vertex.
fn automatic(signal: &Signal, steps: usize, warnings: &mut Vec<String>) -> SeriesScaling {
    let usual = signal.fit(signal.standardise, steps);
    let plain = signal.standardise == Standardise::No
        && !signal.log_target
        && signal.one_hot.is_none()
        && !usual.fits_as_it_is();
    if !plain {
        return usual;
    }
    warnings.push(
        "files of this layout hold series that are standardised already, but this one is not: it is \
         scaled by vertex (data.scaling=raw trains on the values as they are)"
            .to_owned(),
    );
    signal.fit(Standardise::ByVertex { epsilon: 0.0 }, steps)
}

/// Scales the series of a data set and takes its lags: by the numbers of a run if it has been scaled
/// by the same rule, by numbers that are fitted on the training part otherwise.
///
/// The training part of lagged data is more than as many steps of the series: its last sample reads
/// the steps up to its own target.
pub(crate) fn scale_series(
    mut data: SnapshotDataset,
    config: &DataConfig,
    saved: Option<&FittedSeries>,
    scaled: &mut Scaled,
    warnings: &mut Vec<String>,
) -> Result<SnapshotDataset, TrainError> {
    let samples = data.samples(config.lags)?;
    let Some(signal) = &mut data.signal else { return Ok(data) };
    scaled.missing_values = signal.mark_missing(&config.missing.0);
    let lags = config.lags.unwrap_or(signal.lags);
    let rule = config.scaling.name();
    let fitted = match saved {
        Some(saved) if saved.rule == rule => {
            if !saved.scaling.fits(signal) {
                return Err(TrainError::Unfit {
                    what: "the run scales a series with other channels than this data has".into(),
                    advice: "give data of the kind that the run was trained on".to_owned(),
                });
            }
            let (fitted, new) = saved.for_names(&data.names);
            if new > 0 {
                warnings.push(format!(
                    "{new} vertices are not in the run's data: they are scaled by the mean and \
                     deviation of all its vertices"
                ));
            }
            scaled.of_run = true;
            fitted
        }
        _ => {
            if let Some(saved) = saved {
                warnings.push(format!(
                    "data.scaling = \"{rule}\", but the run was trained with \"{}\": the scale is \
                     fitted on this data",
                    saved.rule
                ));
            }
            let training = Split::by_snapshots(samples, config.split.fractions()).train.end;
            let steps = training + lags;
            let scaling = match config.scaling {
                Scaling::Pygt => signal.fit_reference(),
                Scaling::Auto => automatic(signal, steps, warnings),
                Scaling::Train => signal.fit(signal.standardise, steps),
                Scaling::Raw => signal.fit(Standardise::No, steps),
                Scaling::ByVertex => signal.fit(Standardise::ByVertex { epsilon: 0.0 }, steps),
                Scaling::Overall => signal.fit(Standardise::Overall, steps),
            };
            let vertices = scaling.vertices().map(|_| all_names(&data.names));
            FittedSeries { rule: rule.to_owned(), vertices, scaling }
        }
    };
    scaled.own_units = fitted.scaling.own_units();
    let data = data.with_scaled_lags(config.lags, Some(&fitted.scaling))?;
    scaled.fitted.series = Some(fitted);
    Ok(data)
}
