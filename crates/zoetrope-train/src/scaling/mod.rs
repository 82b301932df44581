//! The numbers by which a run scales what it learns from.
//!
//! Owns fitting them on the training part (never on anything later), saving them with the run in
//! `scaling.json`, reading them back, and saying in short what was done. A run's numbers are applied
//! to new data as they are: fitted again, the same value would mean something else to the model.
//!
//! The arithmetic of measured series is in [`zoetrope_data::scaling`]; that of feature columns is in
//! [`columns`].

pub mod columns;
mod series;
mod shape;

use std::path::Path;

use serde::{Deserialize, Serialize};
use zoetrope_config::Scaling;
use zoetrope_data::scaling::{OwnUnits, ScaledBy, SeriesScaling};
use zoetrope_run::{ColumnCounts, RunFolder, ScalingSummary, SeriesSummary, read_if_there};

use crate::error::TrainError;

pub use columns::{FittedColumn, FittedColumns};
pub use series::FittedSeries;
pub(crate) use series::scale_series;

/// The version of the file's layout.
const SCHEMA: u32 = 1;

/// What `scaling.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedScaling {
    /// The version of this layout.
    pub schema: u32,
    /// Of a measured series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<FittedSeries>,
    /// Of the features of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_features: Option<FittedColumns>,
    /// Of the features of vertices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertex_features: Option<FittedColumns>,
    /// Of the number that is predicted for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_target: Option<TargetScale>,
    /// What was decided about the weights of edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_weights: Option<EdgeWeights>,
}

/// Whether a model sees the weights of edges, as the training part decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EdgeWeights {
    /// Whether it does.
    pub kept: bool,
    /// Their mean, for one that is missing later.
    pub mean: f64,
}

/// Mean and deviation of a number that is predicted, on the training part. The network answers on that
/// scale, and answers are brought back to the data's own units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TargetScale {
    /// What is taken away.
    pub mean: f64,
    /// What the rest is divided by.
    pub deviation: f64,
}

impl Default for TargetScale {
    fn default() -> Self {
        Self { mean: 0.0, deviation: 1.0 }
    }
}

impl TargetScale {
    /// The scale of some values; missing ones do not count.
    pub(crate) fn of(values: &[f32]) -> Self {
        let known =
            || values.iter().filter(|value| value.is_finite()).map(|&value| f64::from(value));
        let count = known().count();
        if count == 0 {
            return Self::default();
        }
        let mean = known().sum::<f64>() / count as f64;
        let variance = known().map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
        // Values that are all the same stay what they are, but for their mean.
        let deviation = Some(variance.sqrt()).filter(|found| *found > 1e-6 * mean.abs().max(1e-30));
        Self { mean, deviation: deviation.unwrap_or(1.0) }
    }

    /// A value on this scale.
    pub(crate) fn apply(self, value: f32) -> f32 {
        ((f64::from(value) - self.mean) / self.deviation) as f32
    }

    /// A value on this scale in the data's own units.
    pub(crate) fn undo(self, value: f32) -> f32 {
        (f64::from(value) * self.deviation + self.mean) as f32
    }

    fn is_sound(&self) -> bool {
        self.mean.is_finite() && self.deviation.is_finite() && self.deviation > 0.0
    }
}

impl Default for FittedScaling {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            series: None,
            event_features: None,
            vertex_features: None,
            event_target: None,
            edge_weights: None,
        }
    }
}

impl FittedScaling {
    /// Reads the numbers of a run; None if it has none.
    ///
    /// # Errors
    /// If the file cannot be read, or does not hold what this version writes.
    pub fn read(run: &Path) -> Result<Option<Self>, TrainError> {
        let path = run.join(RunFolder::SCALING);
        let Some(text) = read_if_there(&path)? else { return Ok(None) };
        let wrong = |why: String| TrainError::Unfit {
            what: format!("{}: {why}", path.display()),
            advice: "train again, or restore the file from a copy of the run".to_owned(),
        };
        let read: Self = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if read.schema != SCHEMA {
            return Err(wrong(format!("layout {} is not {SCHEMA}", read.schema)));
        }
        let columns = [&read.event_features, &read.vertex_features];
        let sound = read.series.as_ref().is_none_or(FittedSeries::is_sound)
            && columns.into_iter().flatten().all(FittedColumns::is_sound)
            && read.event_target.as_ref().is_none_or(TargetScale::is_sound);
        if sound {
            Ok(Some(read))
        } else {
            Err(wrong("its numbers do not belong together".to_owned()))
        }
    }

    /// Whether nothing was fitted.
    pub fn is_empty(&self) -> bool {
        self.series.is_none()
            && self.event_features.is_none()
            && self.vertex_features.is_none()
            && self.event_target.is_none()
            && self.edge_weights.is_none()
    }
}

/// What a data set was scaled by, and how much of it was missing.
#[derive(Debug, Clone, Default)]
pub struct Scaled {
    /// The numbers.
    pub fitted: FittedScaling,
    /// Whether they are those of a run, rather than fitted on this data.
    pub of_run: bool,
    /// Missing values of the measured series, and all of its values.
    pub missing_values: (u64, u64),
    /// Missing features of events and vertices.
    pub missing_features: u64,
    /// How predictions become values in the data's own units, if they are not that already.
    pub own_units: Option<OwnUnits>,
}

impl Scaled {
    /// Whether predictions are written on the scale of PyG-Temporal's loader unless the user says
    /// otherwise.
    pub fn is_reference(&self) -> bool {
        self.fitted.series.as_ref().is_some_and(|series| series.rule == Scaling::Pygt.name())
    }

    /// What the numbers were fitted on.
    fn fitted_on(&self) -> &'static str {
        match (self.of_run, self.is_reference()) {
            (true, _) => "the run's data",
            (false, true) => "all steps, as PyG-Temporal's loader",
            (false, false) => "the training part",
        }
    }

    /// How a measured series was scaled, for the protocol of `summary.json`; None if the data has none.
    pub(crate) fn protocol(&self) -> Option<serde_json::Value> {
        let series = self.fitted.series.as_ref()?;
        Some(serde_json::json!({
            "rule": series.rule,
            "by": by(&series.scaling),
            "fitted_on": self.fitted_on(),
            "fitted_steps": series.scaling.steps,
        }))
    }

    /// In short, for `summary.json` and reports; None if nothing was scaled or missing.
    pub fn summary(&self) -> Option<ScalingSummary> {
        let series = self.fitted.series.as_ref().map(|series| {
            let scaling = &series.scaling;
            SeriesSummary {
                rule: series.rule.clone(),
                by: by(scaling).to_owned(),
                fitted_steps: scaling.steps,
                missing: self.missing_values.0,
                values: self.missing_values.1,
            }
        });
        let of = |columns: &Option<FittedColumns>| columns.as_ref().map(FittedColumns::counts);
        let (events, vertices) =
            (of(&self.fitted.event_features), of(&self.fitted.vertex_features));
        let untouched = |counts: &Option<ColumnCounts>| {
            counts.is_none_or(|counts| counts.standard + counts.log + counts.indicators == 0)
        };
        let idle = |series: &SeriesSummary| series.by == "nothing" && series.missing == 0;
        let nothing = series.as_ref().is_none_or(idle)
            && self.own_units.is_none()
            && untouched(&events)
            && untouched(&vertices)
            && self.missing_features == 0;
        (!nothing).then(|| ScalingSummary {
            file: RunFolder::SCALING.to_owned(),
            fitted_on: self.fitted_on().to_owned(),
            series,
            event_features: events,
            vertex_features: vertices,
            missing_features: self.missing_features,
            own_units: self.own_units.is_some(),
        })
    }
}

/// Over which values the means of a series were taken.
fn by(scaling: &SeriesScaling) -> &'static str {
    match scaling.by {
        ScaledBy::Nothing => "nothing",
        ScaledBy::Vertex => "vertex",
        ScaledBy::Channel => "all vertices",
    }
}
