//! Features and targets from a measured series.
//!
//! Owns the rule by which the reference loaders turn a series into samples. Sample `i` takes
//!
//! - features: the (scaled) values of steps `i..i + lags`, side by side for each vertex, oldest
//!   first, the channels of a step together;
//! - target: the (scaled) target of step `i + lags`;
//! - topology: that of snapshot `i`, the first of the window, as the reference loaders pair them.
//!
//! A missing value (NaN) is the last known value of its vertex and channel among the features; the
//! mean that the scale was fitted with if nothing is known before it. Among the targets it stays
//! NaN, which means that there is none.
//!
//! It does not choose the number of lags: the reader proposes one, the configuration may change it.
//! How values are scaled is in [`scaling`](crate::scaling).

use rayon::prelude::*;
use zoetrope_graph::{GraphError, SnapshotSequence, Targets, VertexFeatures};

use crate::dataset::{OneHot, Signal, SnapshotDataset};
use crate::error::DataError;
use crate::scaling::SeriesScaling;

impl SnapshotDataset {
    /// Replaces the signal by features and targets with `lags` lags, or with as many as the
    /// reference loader takes, scaled as that loader does: over all steps, the last ones included.
    /// Data without a signal is returned as it is.
    ///
    /// # Errors
    /// [`DataError::BadParameter`] if `lags` is 0, leaves no sample, or is given for data that
    /// has no series to take lags of.
    pub fn with_lags(self, lags: Option<usize>) -> Result<Self, DataError> {
        let scaling = self.signal.as_ref().map(Signal::fit_reference);
        self.with_scaled_lags(lags, scaling.as_ref())
    }

    /// The same on a scale that was fitted on this series or on an earlier one of these vertices.
    ///
    /// # Errors
    /// As [`with_lags`](Self::with_lags), and if there is no scale or it does not fit the series.
    pub fn with_scaled_lags(
        mut self,
        lags: Option<usize>,
        scaling: Option<&SeriesScaling>,
    ) -> Result<Self, DataError> {
        let samples = self.samples(lags)?;
        let Some(signal) = self.signal.take() else { return Ok(self) };
        check_sizes(&signal, &self.sequence)?;
        let vertices = signal.values.vertices();
        let scaling = scaling
            .filter(|scaling| scaling.is_sound() && scaling.fits(&signal))
            .filter(|scaling| scaling.vertices().is_none_or(|count| count == vertices))
            .ok_or_else(|| {
                bad("scaling", "of another series", "one that was fitted on this one")
            })?;
        let lags = lags.unwrap_or(signal.lags);
        self.features = Some(features(&signal, scaling, lags, samples)?);
        self.targets = Some(targets(&signal, scaling, lags, samples)?);
        self.sequence = self.sequence.first_steps(samples);
        Ok(self)
    }

    /// How many samples the series makes with `lags` lags; as many as there are snapshots without
    /// one.
    ///
    /// # Errors
    /// [`DataError::BadParameter`] if `lags` is 0, leaves no sample, or is given for data that
    /// has no series to take lags of.
    pub fn samples(&self, lags: Option<usize>) -> Result<usize, DataError> {
        let steps = self.sequence.steps();
        let Some(signal) = &self.signal else {
            return match lags {
                None => Ok(steps),
                Some(lags) => Err(bad("lags", lags, "no lags: this data has its own features")),
            };
        };
        let lags = lags.unwrap_or(signal.lags);
        let samples = match lags {
            0 => 0,
            _ => (steps + usize::from(signal.repeat_last_target)).saturating_sub(lags),
        };
        if samples == 0 || lags > steps {
            let expected = format!("at least 1 and fewer than the {steps} steps");
            return Err(bad("lags", lags, &expected));
        }
        Ok(samples)
    }
}

fn features(
    signal: &Signal,
    scaling: &SeriesScaling,
    lags: usize,
    samples: usize,
) -> Result<VertexFeatures, DataError> {
    let vertices = signal.values.vertices();
    let (values, width) = match &signal.one_hot {
        Some(one_hot) => {
            let width = one_hot.sizes.iter().map(|&size| size as usize).sum();
            (one_hot_columns(one_hot), width)
        }
        None => {
            let width = signal.values.width();
            let mut values = scaling.scale_values(&signal.values);
            carry_forward(&mut values, vertices * width, |column| scaling.unknown(column % width));
            (values, width)
        }
    };
    let mut lagged = vec![0.0f32; samples * vertices * lags * width];
    if !lagged.is_empty() {
        lagged.par_chunks_mut(vertices * lags * width).enumerate().for_each(|(sample, rows)| {
            for (vertex, row) in rows.chunks_mut(lags * width).enumerate() {
                for (lag, cells) in row.chunks_mut(width).enumerate() {
                    let from = ((sample + lag) * vertices + vertex) * width;
                    cells.copy_from_slice(&values[from..from + width]);
                }
            }
        });
    }
    VertexFeatures::new(samples, vertices, lags * width, lagged).map_err(graph)
}

/// Replaces missing values by the last known one of their column, and by `unknown` before the first.
fn carry_forward(values: &mut [f32], columns: usize, unknown: impl Fn(usize) -> f32) {
    if !values.iter().any(|value| value.is_nan()) {
        return;
    }
    let mut last: Vec<f32> = (0..columns).map(unknown).collect();
    for row in values.chunks_mut(columns) {
        for (value, last) in row.iter_mut().zip(&mut last) {
            if value.is_nan() {
                *value = *last;
            } else {
                *last = *value;
            }
        }
    }
}

fn targets(
    signal: &Signal,
    scaling: &SeriesScaling,
    lags: usize,
    samples: usize,
) -> Result<Targets, DataError> {
    let series = signal.target.as_ref().unwrap_or(&signal.values);
    let values = scaling.scale_target(series);
    let (steps, vertices, width) = (series.steps(), series.vertices(), series.width());
    let mut targets = Vec::with_capacity(samples * vertices);
    for sample in 0..samples {
        let step = (sample + lags).min(steps - 1);
        let row = &values[step * vertices * width..(step + 1) * vertices * width];
        targets.extend(
            row.iter().step_by(width).map(|&value| {
                if signal.log_target { f64::from(value).ln_1p() as f32 } else { value }
            }),
        );
    }
    Targets::new(samples, vertices, None, targets).map_err(graph)
}

fn one_hot_columns(one_hot: &OneHot) -> Vec<f32> {
    let width: usize = one_hot.sizes.iter().map(|&size| size as usize).sum();
    let mut values = vec![0.0; one_hot.classes.len() / one_hot.sizes.len() * width];
    let rows = one_hot.classes.chunks_exact(one_hot.sizes.len());
    for (row, classes) in values.chunks_exact_mut(width).zip(rows) {
        let mut start = 0;
        for (&size, &class) in one_hot.sizes.iter().zip(classes) {
            row[start + class as usize] = 1.0;
            start += size as usize;
        }
    }
    values
}

/// Refuses a signal whose parts do not fit each other or the sequence.
pub(crate) fn check_sizes(signal: &Signal, sequence: &SnapshotSequence) -> Result<(), DataError> {
    let wanted = (sequence.steps(), sequence.vertices() as usize);
    for series in [Some(&signal.values), signal.target.as_ref()].into_iter().flatten() {
        let got = (series.steps(), series.vertices());
        if got != wanted || series.width() == 0 {
            let value = format!("{} × {} × {}", got.0, got.1, series.width());
            let expected = format!("{} steps × {} vertices × channels", wanted.0, wanted.1);
            return Err(bad("signal", value, &expected));
        }
    }
    if let Some(one_hot) = &signal.one_hot {
        let columns = one_hot.sizes.len();
        let whole = columns > 0 && one_hot.classes.len() == wanted.0 * wanted.1 * columns;
        let in_range =
            |row: &[u8]| row.iter().zip(&one_hot.sizes).all(|(class, size)| class < size);
        if !whole || !one_hot.classes.chunks_exact(columns).all(in_range) {
            return Err(bad("one_hot", one_hot.classes.len(), "classes below their column's size"));
        }
    }
    Ok(())
}

fn bad(parameter: &str, value: impl ToString, expected: &str) -> DataError {
    DataError::BadParameter {
        parameter: parameter.to_owned(),
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}

fn graph(source: GraphError) -> DataError {
    DataError::Graph { path: "signal".into(), source }
}

#[cfg(test)]
mod tests {
    use zoetrope_graph::VertexNames;

    use super::*;
    use crate::dataset::Standardise;

    fn data(signal: Signal) -> SnapshotDataset {
        let (steps, vertices) = (signal.values.steps(), signal.values.vertices() as u32);
        let offsets = (0..=steps as u64).collect();
        let src = (0..steps as u32).map(|step| step % vertices).collect();
        let sequence = SnapshotSequence::new(vertices, offsets, src, vec![0; steps], None).unwrap();
        SnapshotDataset {
            sequence,
            names: VertexNames::identity(vertices),
            features: None,
            targets: None,
            signal: Some(signal),
        }
    }

    fn series(steps: usize, vertices: usize, values: &[f32]) -> VertexFeatures {
        VertexFeatures::new(steps, vertices, 1, values.to_vec()).unwrap()
    }

    #[test]
    fn sample_i_has_the_lags_from_i_on_the_target_after_them_and_topology_i() {
        let signal = Signal::new(series(4, 2, &[1., 10., 2., 20., 3., 30., 4., 40.]), 2);
        let made = data(signal).with_lags(None).unwrap();
        let features = made.features.unwrap();
        assert_eq!(features.at(0), [1., 2., 10., 20.]);
        assert_eq!(features.at(1), [2., 3., 20., 30.]);
        assert_eq!(made.targets.unwrap().values(), [3., 30., 4., 40.]);
        assert_eq!(made.sequence.steps(), 2);
        assert_eq!(made.sequence.at(1).src, [1]);
    }

    #[test]
    fn standardising_leaves_missing_values_out() {
        let mut signal = Signal::new(series(3, 1, &[1., f32::NAN, 3.]), 1);
        signal.standardise = Standardise::ByVertex { epsilon: 0.0 };
        let made = data(signal).with_lags(None).unwrap();
        assert_eq!(made.features.unwrap().values(), [-1., -1.]);
        let targets = made.targets.unwrap();
        assert!(targets.values()[0].is_nan() && targets.values()[1] == 1.0);
    }

    #[test]
    fn a_missing_feature_is_the_last_known_value_and_never_a_later_one() {
        let nan = f32::NAN;
        let signal = Signal::new(series(5, 2, &[nan, 8., 2., nan, nan, nan, 6., nan, 1., 1.]), 1);
        let made = data(signal).with_lags(None).unwrap();
        // Vertex 0 knows nothing at first: the mean of all known values stands for it.
        let mean = (8.0 + 2.0 + 6.0 + 1.0 + 1.0) / 5.0;
        assert_eq!(made.features.unwrap().values(), [mean, 8., 2., 8., 2., 8., 6., 8.]);
    }

    #[test]
    fn a_series_that_never_changes_becomes_zero_not_nan() {
        let mut signal = Signal::new(series(3, 1, &[5., 5., 5.]), 1);
        signal.standardise = Standardise::ByVertex { epsilon: 0.0 };
        let made = data(signal).with_lags(None).unwrap();
        assert_eq!(made.features.unwrap().values(), [0., 0.]);
    }

    #[test]
    fn lags_that_leave_no_sample_are_refused() {
        let signal = || Signal::new(series(4, 1, &[1., 2., 3., 4.]), 2);
        for lags in [0, 4, 5, usize::MAX] {
            assert!(data(signal()).with_lags(Some(lags)).is_err(), "{lags}");
        }
        assert_eq!(data(signal()).with_lags(Some(3)).unwrap().sequence.steps(), 1);
        let mut repeating = signal();
        repeating.repeat_last_target = true;
        let made = data(repeating).with_lags(Some(4)).unwrap();
        assert_eq!(made.targets.unwrap().values(), [4.]);
    }
}
