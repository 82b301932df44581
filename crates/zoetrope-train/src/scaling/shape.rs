//! What a column of features holds, and which scale suits it.

use super::columns::ColumnScale;

/// `sign(x) · ln(1 + |x|)`.
pub(super) fn signed_log(value: f64) -> f64 {
    value.abs().ln_1p().copysign(value)
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    count: u64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// The fourth standardised moment: 3 for a normal distribution, 9 for an exponential one.
    kurtosis: f64,
    /// Whether there are zeros and ones only.
    flags: bool,
    /// Whether a value is missing.
    pub(super) gaps: bool,
}

impl Shape {
    /// The shapes of some columns side by side. Values that are not finite count nowhere.
    pub(super) fn of<'a>(
        rows: impl Iterator<Item = &'a [f32]> + Clone,
        columns: usize,
        change: impl Fn(f64) -> f64,
    ) -> Vec<Self> {
        let empty =
            Self { count: 0, mean: 0.0, deviation: 0.0, kurtosis: 0.0, flags: true, gaps: false };
        let mut shapes = vec![empty; columns];
        for row in rows.clone() {
            for (shape, &value) in shapes.iter_mut().zip(row) {
                shape.gaps |= value.is_nan();
                if value.is_finite() {
                    shape.count += 1;
                    shape.mean += change(f64::from(value));
                    shape.flags &= value == 0.0 || value == 1.0;
                }
            }
        }
        shapes.iter_mut().for_each(|shape| shape.mean /= shape.count.max(1) as f64);
        // Sums of second and fourth powers, until they are divided below.
        for row in rows {
            for (shape, &value) in shapes.iter_mut().zip(row) {
                if value.is_finite() {
                    let square = (change(f64::from(value)) - shape.mean).powi(2);
                    shape.deviation += square;
                    shape.kurtosis += square * square;
                }
            }
        }
        for shape in &mut shapes {
            let count = shape.count.max(1) as f64;
            let variance = shape.deviation / count;
            let fourth = shape.kurtosis / count;
            shape.kurtosis = if variance > 0.0 { fourth / (variance * variance) } else { 0.0 };
            shape.deviation = variance.sqrt();
        }
        shapes
    }
}

/// How `auto` scales a column:
///
/// - zeros and ones (flags, one-hot columns) stay as they are;
/// - so does a column that a network can take as it is: its mean within ±2, its deviation from 0.1
///   to 3;
/// - a column with a heavy tail (its fourth standardised moment is above 12; that of an exponential
///   distribution is 9), as amounts and counts have, is scaled after its logarithm was taken;
/// - every other column is standardised.
pub(super) fn choose(shape: &Shape) -> ColumnScale {
    let fine = shape.mean.abs() <= 2.0 && (0.1..=3.0).contains(&shape.deviation);
    if shape.flags || fine {
        ColumnScale::None
    } else if shape.kurtosis > 12.0 {
        ColumnScale::Log
    } else {
        ColumnScale::Standard
    }
}
