//! The scale of a measured series: fitted on its first steps, applied to all, undone in predictions.
//!
//! A scale that is fitted on the whole series knows its end: every scaled value then depends on
//! values that were measured after it. So [`Signal::fit`] takes the steps it may look at. What it
//! finds is a plain value that can be saved, and applied to another series of the same vertices.
//!
//! [`Signal::fit_reference`] is the exception, for comparisons with PyG-Temporal, whose loaders
//! standardise over all steps.
//!
//! Missing values (NaN) count in no mean, and stay NaN.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zoetrope_graph::VertexFeatures;

use crate::dataset::{Signal, Standardise};

/// Over which values a mean and a deviation are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaledBy {
    /// Values stay as they are.
    Nothing,
    /// Each vertex and channel by its own.
    Vertex,
    /// Each channel by that of all vertices.
    Channel,
}

/// Means and deviations, side by side.
///
/// They are rounded to twelve digits, so that they are the same after they were written as decimal
/// text and read again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Moments {
    /// What is subtracted.
    pub mean: Vec<f64>,
    /// What is divided by; a value becomes 0 if this is 0 (only in the reference loaders' scale).
    pub deviation: Vec<f64>,
}

/// A fitted scale of a measured series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesScaling {
    /// Over which values means and deviations were taken.
    pub by: ScaledBy,
    /// How many steps of the series it was fitted on, from the first.
    pub steps: usize,
    /// Of the series whose lags are the features.
    pub values: SeriesMoments,
    /// Of the series to predict, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<SeriesMoments>,
    /// Whether the target is `ln(1 + scaled target)`.
    pub log_target: bool,
}

/// The moments of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesMoments {
    /// One pair for each channel, over all vertices. Vertices without moments of their own have
    /// these.
    pub channel: Moments,
    /// One pair for each vertex and channel (the channels of a vertex together), if the series is
    /// scaled by vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertex: Option<Moments>,
}

impl Signal {
    /// The scale of the first `steps` steps. `standardise` says over which values; its `epsilon` is
    /// not read, because a vertex whose series does not change in these steps (or has no value
    /// there) is divided by the deviation of its channel instead.
    pub fn fit(&self, standardise: Standardise, steps: usize) -> SeriesScaling {
        let by = match standardise {
            Standardise::No => ScaledBy::Nothing,
            Standardise::ByVertex { .. } => ScaledBy::Vertex,
            Standardise::Overall => ScaledBy::Channel,
        };
        let of = |series: &VertexFeatures| {
            let groups = series.vertices() * series.width();
            let known = &series.values()[..steps.min(series.steps()) * groups];
            let channel = safe(moments(known, series.width()), None);
            let vertex = (by == ScaledBy::Vertex)
                .then(|| pack(safe(moments(known, groups), Some(&channel))));
            SeriesMoments { channel: pack(channel), vertex }
        };
        self.scaling(by, steps, of)
    }

    /// The scale of the reference loader: over all steps, and as [`Signal::standardise`] says.
    pub fn fit_reference(&self) -> SeriesScaling {
        let (by, epsilon) = match self.standardise {
            Standardise::No => (ScaledBy::Nothing, 0.0),
            Standardise::ByVertex { epsilon } => (ScaledBy::Vertex, epsilon),
            Standardise::Overall => (ScaledBy::Channel, 0.0),
        };
        let of = |series: &VertexFeatures| {
            let found = |groups| {
                let found = moments(series.values(), groups);
                let padded = found
                    .into_iter()
                    .map(|found| Found { deviation: found.deviation + epsilon, ..found });
                pack(padded.collect())
            };
            let groups = series.vertices() * series.width();
            let vertex = (by == ScaledBy::Vertex).then(|| found(groups));
            SeriesMoments { channel: found(series.width()), vertex }
        };
        self.scaling(by, self.values.steps(), of)
    }

    fn scaling(
        &self,
        by: ScaledBy,
        steps: usize,
        of: impl Fn(&VertexFeatures) -> SeriesMoments,
    ) -> SeriesScaling {
        let steps = steps.min(self.values.steps());
        let (values, target) = (of(&self.values), self.target.as_ref().map(&of));
        SeriesScaling { by, steps, values, target, log_target: self.log_target }
    }

    /// Makes every value that equals one of `codes` a missing one, and returns how many are missing
    /// then, of how many.
    pub fn mark_missing(&mut self, codes: &[f64]) -> (u64, u64) {
        let codes: Vec<f32> = codes.iter().map(|&code| code as f32).collect();
        let mut count = (0, 0);
        for series in std::iter::once(&mut self.values).chain(self.target.as_mut()) {
            for value in series.values_mut() {
                if codes.contains(value) {
                    *value = f32::NAN;
                }
                count.0 += u64::from(value.is_nan());
            }
            count.1 += series.values().len() as u64;
        }
        count
    }
}

impl SeriesScaling {
    /// Whether every channel lies about 0 and 1 as it is, as a series does that was standardised before
    /// it was written, or one of shares and ratios.
    pub fn fits_as_it_is(&self) -> bool {
        const MEAN_MAX: f64 = 3.0;
        const DEVIATIONS: std::ops::RangeInclusive<f64> = 0.03..=3.0;
        std::iter::once(&self.values).chain(&self.target).all(|moments| {
            let Moments { mean, deviation } = &moments.channel;
            mean.iter().zip(deviation).all(|(mean, deviation)| {
                mean.abs() <= MEAN_MAX && (*deviation == 0.0 || DEVIATIONS.contains(deviation))
            })
        })
    }

    /// The moments of the series to predict.
    fn of_target(&self) -> &SeriesMoments {
        self.target.as_ref().unwrap_or(&self.values)
    }

    /// The scaled values of the series whose lags are the features. NaN stays NaN.
    pub(crate) fn scale_values(&self, series: &VertexFeatures) -> Vec<f32> {
        self.scaled(series, &self.values)
    }

    /// The scaled values of the series to predict, without the logarithm. NaN stays NaN.
    pub(crate) fn scale_target(&self, series: &VertexFeatures) -> Vec<f32> {
        self.scaled(series, self.of_target())
    }

    fn scaled(&self, series: &VertexFeatures, moments: &SeriesMoments) -> Vec<f32> {
        let moments = match self.by {
            ScaledBy::Nothing => return series.values().to_vec(),
            _ => moments.in_force(),
        };
        let groups = moments.mean.len().max(1);
        series
            .values()
            .iter()
            .enumerate()
            .map(|(at, &value)| {
                let (mean, deviation) = (moments.mean[at % groups], moments.deviation[at % groups]);
                if deviation == 0.0 && !value.is_nan() {
                    0.0
                } else {
                    ((f64::from(value) - mean) / deviation) as f32
                }
            })
            .collect()
    }

    /// What stands for a value of a channel of which nothing is known yet: the mean that was fitted,
    /// scaled.
    pub(crate) fn unknown(&self, channel: usize) -> f32 {
        match self.by {
            ScaledBy::Nothing => self.values.channel.mean[channel] as f32,
            _ => 0.0,
        }
    }

    /// The same scale for other vertices, each of which is one of these or new. Returns it and how
    /// many are new: those get the moments of their channel.
    ///
    /// # Panics
    /// If a place is beyond the vertices that this was fitted on.
    pub fn for_vertices(&self, places: &[Option<usize>]) -> (Self, usize) {
        let moved = |moments: &SeriesMoments| SeriesMoments {
            channel: moments.channel.clone(),
            vertex: moments.vertex.as_ref().map(|vertex| {
                let width = moments.channel.mean.len();
                let mut made = Moments::default();
                for place in places {
                    let (from, first) = match place {
                        Some(place) => (vertex, place * width),
                        None => (&moments.channel, 0),
                    };
                    made.mean.extend_from_slice(&from.mean[first..first + width]);
                    made.deviation.extend_from_slice(&from.deviation[first..first + width]);
                }
                made
            }),
        };
        let (values, target) = (moved(&self.values), self.target.as_ref().map(moved));
        let new = match self.by {
            ScaledBy::Vertex => places.iter().filter(|place| place.is_none()).count(),
            _ => 0,
        };
        (Self { values, target, ..self.clone() }, new)
    }

    /// How many vertices have moments of their own; None if the scale is not by vertex.
    pub fn vertices(&self) -> Option<usize> {
        let width = self.values.channel.mean.len().max(1);
        self.values.vertex.as_ref().map(|vertex| vertex.mean.len() / width)
    }

    /// Whether every list is as long as the others ask for, and every number is finite: what is read
    /// from a file need not be.
    pub fn is_sound(&self) -> bool {
        let finite = |moments: &Moments| {
            let all = moments.mean.iter().chain(&moments.deviation);
            moments.mean.len() == moments.deviation.len() && all.clone().all(|x| x.is_finite())
        };
        let series = |moments: &SeriesMoments| {
            let width = moments.channel.mean.len();
            width > 0
                && finite(&moments.channel)
                && moments.vertex.is_some() == (self.by == ScaledBy::Vertex)
                && moments
                    .vertex
                    .as_ref()
                    .is_none_or(|vertex| finite(vertex) && vertex.mean.len().is_multiple_of(width))
        };
        let vertices = |moments: &SeriesMoments| {
            moments.vertex.as_ref().map(|vertex| vertex.mean.len() / moments.channel.mean.len())
        };
        series(&self.values)
            && self
                .target
                .as_ref()
                .is_none_or(|target| series(target) && vertices(target) == vertices(&self.values))
    }

    /// Whether it was fitted on series of the same shape: as many channels, and a target of its own
    /// or none.
    pub fn fits(&self, signal: &Signal) -> bool {
        let width = |moments: &SeriesMoments| moments.channel.mean.len();
        width(&self.values) == signal.values.width()
            && self.target.as_ref().map(width) == signal.target.as_ref().map(VertexFeatures::width)
    }

    /// How predictions become values in the data's own units; None if they are that already.
    pub fn own_units(&self) -> Option<OwnUnits> {
        if self.by == ScaledBy::Nothing {
            return self.log_target.then_some(OwnUnits { log: true, moments: vec![(0.0, 1.0)] });
        }
        let series = self.of_target();
        // The target is channel 0 of its series.
        let (moments, width) = (series.in_force(), series.channel.mean.len().max(1));
        let pairs = moments.mean.iter().copied().zip(moments.deviation.iter().copied());
        Some(OwnUnits { log: self.log_target, moments: pairs.step_by(width).collect() })
    }
}

impl SeriesMoments {
    fn in_force(&self) -> &Moments {
        self.vertex.as_ref().unwrap_or(&self.channel)
    }
}

/// From the scale that a model predicts on to the data's own units.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnUnits {
    log: bool,
    /// Mean and deviation: one pair for all vertices, or one for each.
    moments: Vec<(f64, f64)>,
}

impl OwnUnits {
    /// Replaces scaled values by those in the data's own units. `values` hold whole steps: one value
    /// for each vertex, in the order of the vertices.
    pub fn undo(&self, values: &mut [f32]) {
        for (at, value) in values.iter_mut().enumerate() {
            let (mean, deviation) = self.moments[at % self.moments.len()];
            let scaled = if self.log { f64::from(*value).exp_m1() } else { f64::from(*value) };
            *value = (scaled * deviation + mean) as f32;
        }
    }
}

/// The moments of one group of values.
#[derive(Debug, Clone, Copy)]
struct Found {
    count: usize,
    mean: f64,
    deviation: f64,
}

/// Mean and population deviation of every `groups`-th value. Sums are in step order, so that the
/// number of threads does not matter.
fn moments(values: &[f32], groups: usize) -> Vec<Found> {
    let present = |at: &usize| !values[*at].is_nan();
    (0..groups)
        .into_par_iter()
        .map(|group| {
            let members = || (group..values.len()).step_by(groups).filter(present);
            let count = members().count();
            let divisor = count.max(1) as f64;
            let mean = members().map(|at| f64::from(values[at])).sum::<f64>() / divisor;
            let squares = members().map(|at| (f64::from(values[at]) - mean).powi(2)).sum::<f64>();
            Found { count, mean, deviation: (squares / divisor).sqrt() }
        })
        .collect()
}

/// Moments that can be divided by. A group without a value has the mean of its channel; one that
/// does not change, beyond what rounding to f32 does to a constant, has the channel's deviation, and
/// a channel that does not change has 1: its values only lose their mean.
fn safe(found: Vec<Found>, channel: Option<&[Found]>) -> Vec<Found> {
    let one = |(group, found): (usize, Found)| {
        let fallback = channel.map(|channel| channel[group % channel.len()]);
        let mean = match (found.count, fallback) {
            (0, Some(fallback)) => fallback.mean,
            _ => found.mean,
        };
        let changes = found.deviation > 1e-6 * mean.abs();
        let deviation = if changes {
            found.deviation
        } else {
            fallback.map_or(1.0, |fallback| fallback.deviation)
        };
        Found { mean, deviation, ..found }
    };
    found.into_iter().enumerate().map(one).collect()
}

fn pack(found: Vec<Found>) -> Moments {
    Moments {
        mean: found.iter().map(|found| rounded(found.mean)).collect(),
        deviation: found.iter().map(|found| rounded(found.deviation)).collect(),
    }
}

/// The nearest number of twelve decimal digits. Such numbers survive JSON to the bit: their digits
/// are below 2^53, and the power of ten that they are scaled by is exact.
pub fn rounded(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(steps: usize, vertices: usize, values: &[f32]) -> Signal {
        Signal::new(VertexFeatures::new(steps, vertices, 1, values.to_vec()).unwrap(), 1)
    }

    const BY_VERTEX: Standardise = Standardise::ByVertex { epsilon: 0.0 };

    #[test]
    fn what_comes_after_the_fitted_steps_changes_nothing() {
        let now = signal(4, 2, &[1., 10., 3., 30., 5., 20., 7., 0.]);
        let other = signal(4, 2, &[1., 10., 3., 30., 1e6, f32::NAN, -1e6, 4.]);
        for standardise in [Standardise::No, BY_VERTEX, Standardise::Overall] {
            assert_eq!(now.fit(standardise, 2), other.fit(standardise, 2));
            assert_ne!(now.fit(standardise, 3), other.fit(standardise, 3));
        }
        let fitted = now.fit(BY_VERTEX, 2);
        let scaled = fitted.scale_values(&now.values);
        assert_eq!(scaled, [-1., -1., 1., 1., 3., 0., 5., -2.]);
        let mut back = scaled;
        fitted.own_units().unwrap().undo(&mut back);
        assert_eq!(back, now.values.values());
    }

    #[test]
    fn a_series_that_is_constant_or_empty_while_fitting_has_the_scale_of_its_channel() {
        let nan = f32::NAN;
        let series = signal(3, 3, &[5., 1., nan, 5., 3., nan, 50., 5., 7.]);
        let fitted = series.fit(BY_VERTEX, 2);
        let (moments, channel) = (fitted.values.vertex.as_ref().unwrap(), &fitted.values.channel);
        assert_eq!((moments.mean[0], moments.mean[2]), (5.0, channel.mean[0]));
        assert_eq!((moments.deviation[0], moments.deviation[2]), {
            (channel.deviation[0], channel.deviation[0])
        });
        assert!(fitted.scale_values(&series.values)[6..].iter().all(|value| value.is_finite()));
        let constant = signal(2, 1, &[4., 4.]).fit(Standardise::Overall, 2);
        assert_eq!(constant.values.channel.deviation, [1.0]);
    }

    #[test]
    fn the_reference_scale_is_over_all_steps_and_zero_where_nothing_changes() {
        let mut series = signal(3, 2, &[1., 5., 2., 5., 3., 5.]);
        series.standardise = BY_VERTEX;
        let scaled = series.fit_reference().scale_values(&series.values);
        let end = (1.5f64.sqrt()) as f32;
        assert_eq!(scaled, [-end, 0., 0., 0., end, 0.]);
    }

    #[test]
    fn other_vertices_take_their_own_moments_and_new_ones_those_of_the_channel() {
        let fitted = signal(2, 2, &[1., 10., 3., 30.]).fit(BY_VERTEX, 2);
        let (moved, new) = fitted.for_vertices(&[Some(1), None, Some(0)]);
        let vertex = moved.values.vertex.as_ref().unwrap();
        assert_eq!((new, &vertex.mean[..]), (1, &[20., 11., 2.][..]));
        assert!(moved.is_sound() && moved.vertices() == Some(3));
    }

    #[test]
    fn codes_become_missing_and_logarithms_are_undone() {
        let mut series = signal(2, 2, &[0., 10., -1., 3.]);
        assert_eq!(series.mark_missing(&[0.0, -1.0]), (2, 4));
        assert!(series.values.values()[0].is_nan() && series.values.values()[2].is_nan());
        series.log_target = true;
        let units = series.fit(Standardise::No, 2).own_units().unwrap();
        let mut value = [3f32.ln_1p()];
        units.undo(&mut value);
        assert!((value[0] - 3.0).abs() < 1e-6);
        assert_eq!(signal(1, 1, &[1.0]).fit(Standardise::No, 1).own_units(), None);
    }

    #[test]
    fn moments_are_the_same_after_they_were_written_and_read() {
        let values: Vec<f32> = (0..400).map(|at| ((at * 7919) % 1009) as f32 * 1.37e-3).collect();
        let fitted = signal(100, 4, &values).fit(BY_VERTEX, 71);
        let text = serde_json::to_string(&fitted).unwrap();
        assert_eq!(serde_json::from_str::<SeriesScaling>(&text).unwrap(), fitted);
    }
}
