//! A series of numbers as one line of blocks.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One block a number, from zero to the greatest; a blank if there is none.
///
/// A series longer than `width` is averaged in `width` stretches of about equal length.
pub(crate) fn sparkline(series: &[Option<f64>], width: usize) -> String {
    let points = squeeze(series, width);
    let most = points.iter().flatten().copied().fold(0.0, f64::max);
    points
        .iter()
        .map(|point| match point {
            None => ' ',
            Some(value) if *value <= 0.0 || most <= 0.0 => '·',
            Some(value) => LEVELS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
        })
        .collect()
}

fn squeeze(series: &[Option<f64>], width: usize) -> Vec<Option<f64>> {
    if series.len() <= width {
        return series.to_vec();
    }
    (0..width)
        .map(|column| {
            let stretch =
                &series[column * series.len() / width..(column + 1) * series.len() / width];
            let values: Vec<f64> = stretch.iter().flatten().copied().collect();
            if values.is_empty() {
                None
            } else {
                Some(values.iter().sum::<f64>() / values.len() as f64)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_follow_the_values() {
        let series = [Some(0.0), Some(1.0), Some(8.0), None, Some(4.0)];
        assert_eq!(sparkline(&series, 10), "·▁█ ▄");
    }

    #[test]
    fn long_series_are_averaged_to_the_width() {
        let series: Vec<_> = (0..100).map(|i| Some(f64::from(i / 50))).collect();
        assert_eq!(sparkline(&series, 4), "··██");
    }
}
