//! Ranges, averages and gaps of number columns.

use rayon::prelude::*;
use serde::Serialize;

/// Rows per task. Fixed, so that sums are added in the same order whatever the thread count.
const CHUNK_ROWS: usize = 16_384;

/// What a column of numbers holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumberSummary {
    /// Values, missing ones included.
    pub count: u64,
    /// Values that are not a number.
    pub missing: u64,
    /// Values that are infinite.
    pub infinite: u64,
    /// The least number.
    pub min: Option<f32>,
    /// The greatest number.
    pub max: Option<f32>,
    /// The average of the finite numbers.
    pub mean: Option<f64>,
    /// Values below zero.
    pub negative: u64,
}

impl NumberSummary {
    /// Whether all values are the same number.
    pub fn is_constant(&self) -> bool {
        self.count > 1 && self.missing == 0 && self.min.is_some() && self.min == self.max
    }
}

/// What a matrix of features holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureSummary {
    /// Features per row.
    pub width: usize,
    /// All values together.
    pub all: NumberSummary,
    /// The positions of features that never change.
    pub constant: Vec<usize>,
    /// The name of each feature, if the data has names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Each feature by itself.
    pub columns: Vec<NumberSummary>,
}

#[derive(Clone, Copy)]
struct Tally {
    count: u64,
    missing: u64,
    infinite: u64,
    negative: u64,
    min: f32,
    max: f32,
    sum: f64,
}

impl Tally {
    const EMPTY: Self = Self {
        count: 0,
        missing: 0,
        infinite: 0,
        negative: 0,
        min: f32::INFINITY,
        max: f32::NEG_INFINITY,
        sum: 0.0,
    };

    fn add(&mut self, value: f32) {
        self.count += 1;
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.negative += u64::from(value < 0.0);
        if value.is_finite() { self.sum += f64::from(value) } else { self.infinite += 1 }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.missing += other.missing;
        self.infinite += other.infinite;
        self.negative += other.negative;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    fn summary(&self) -> NumberSummary {
        let numbers = self.count - self.missing;
        let finite = numbers - self.infinite;
        NumberSummary {
            count: self.count,
            missing: self.missing,
            infinite: self.infinite,
            min: (numbers > 0).then_some(self.min),
            max: (numbers > 0).then_some(self.max),
            mean: (finite > 0).then(|| self.sum / finite as f64),
            negative: self.negative,
        }
    }
}

/// Summarises one column.
pub(super) fn summarise(values: &[f32]) -> NumberSummary {
    tally_rows(values, 1)[0].summary()
}

/// Summarises a row-major matrix as a whole and by column.
pub(super) fn summarise_rows(
    values: &[f32],
    width: usize,
    name: impl Fn(usize) -> Option<String>,
) -> FeatureSummary {
    let tallies = tally_rows(values, width);
    let mut all = Tally::EMPTY;
    for tally in &tallies {
        all.merge(tally);
    }
    let columns: Vec<NumberSummary> = tallies.iter().map(Tally::summary).collect();
    FeatureSummary {
        width,
        all: all.summary(),
        constant: (0..width).filter(|&column| columns[column].is_constant()).collect(),
        names: (0..width).map(name).collect::<Option<_>>().unwrap_or_default(),
        columns,
    }
}

fn tally_rows(values: &[f32], width: usize) -> Vec<Tally> {
    let mut total = vec![Tally::EMPTY; width];
    if width == 0 {
        return total;
    }
    // Wide rows get fewer rows a task, so that one huge matrix still spreads over the threads.
    let rows = (CHUNK_ROWS / width).max(1);
    let parts: Vec<Vec<Tally>> = values
        .par_chunks(rows * width)
        .map(|chunk| {
            let mut part = vec![Tally::EMPTY; width];
            for row in chunk.chunks(width) {
                for (tally, &value) in part.iter_mut().zip(row) {
                    tally.add(value);
                }
            }
            part
        })
        .collect();
    for part in &parts {
        for (total, part) in total.iter_mut().zip(part) {
            total.merge(part);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_infinite_values_are_counted_and_left_out_of_the_mean() {
        let summary = summarise(&[1.0, f32::NAN, -3.0, f32::INFINITY]);
        assert_eq!(summary.count, 4);
        assert_eq!(summary.missing, 1);
        assert_eq!(summary.infinite, 1);
        assert_eq!(summary.negative, 1);
        assert_eq!(summary.min, Some(-3.0));
        assert_eq!(summary.mean, Some(-1.0));
    }

    #[test]
    fn constant_features_are_found_by_position() {
        let summary = summarise_rows(&[1.0, 5.0, 2.0, 5.0], 2, |_| None);
        assert_eq!(summary.constant, [1]);
        assert_eq!(summary.all.max, Some(5.0));
    }

    #[test]
    fn the_mean_has_the_same_bits_with_one_two_and_eight_threads() {
        let values: Vec<f32> = (0..200_000).map(|i| ((i * 7919) % 1013) as f32 * 0.1).collect();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| summarise(&values)).mean.unwrap().to_bits()
        };
        assert_eq!(with(1), with(2));
        assert_eq!(with(1), with(8));
    }

    #[test]
    fn an_empty_matrix_has_no_range() {
        let summary = summarise_rows(&[], 3, |_| None);
        assert_eq!(summary.all.min, None);
        assert!(summary.constant.is_empty());
    }
}
