//! The classes that the Twitter-tennis loader makes of a degree and a transitivity.

/// Classes of the logarithm of the degree, then of the transitivity.
pub(super) const SIZES: [u8; 2] = [5, 11];

/// The logarithm of the degree rounded up, at most 4; and the transitivity in tenths. `None` if
/// the numbers are no degree and transitivity.
pub(super) fn classes(degree: f64, transitivity: f64) -> Option<[u8; 2]> {
    let plausible = degree >= 0.0 && (0.0..=1.0).contains(&transitivity);
    plausible.then(|| {
        let magnitude = (degree + 1.0).ln().ceil().min(4.0);
        [magnitude as u8, (transitivity * 10.0).floor() as u8]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_and_transitivities_fall_into_the_loaders_classes() {
        assert_eq!(classes(0.0, 0.0), Some([0, 0]));
        assert_eq!(classes(1.0, 0.7), Some([1, 7]));
        assert_eq!(classes(29.0, 0.022), Some([4, 0]));
        assert_eq!(classes(1e6, 1.0), Some([4, 10]));
        assert_eq!(classes(-1.0, 0.5), None);
        assert_eq!(classes(1.0, 1.1), None);
        assert_eq!(classes(f64::NAN, 0.0), None);
    }
}
