//! Time quantiles that agree with NumPy's and stay exact when its doubles do not.

use zoetrope_graph::Time;

/// Up to here a double holds every integer.
const EXACT_IN_DOUBLE: u64 = 1 << 53;

/// The greatest integer not above the `fraction` quantile of `sorted` times, interpolated
/// linearly between the two nearest (`numpy.quantile`, its default method), so that
/// `t ≤ quantile` and `t ≤` this choose the same events.
///
/// Times below 2^53 go through the same double-precision steps as NumPy, rounding included,
/// because a peer's split is only comparable if it is the same split. Larger ones (nanoseconds)
/// would lose their last digits there and are interpolated in integers.
///
/// # Panics
/// If `sorted` is empty or `fraction` is outside 0 to 1.
pub fn time_quantile(sorted: &[Time], fraction: f64) -> Time {
    assert!(!sorted.is_empty(), "the quantile of nothing");
    assert!((0.0..=1.0).contains(&fraction), "fraction {fraction} is outside 0 to 1");
    let last = sorted.len() - 1;
    let position = last as f64 * fraction;
    let below = (position.floor() as usize).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let part = position - below as f64;
    if low.unsigned_abs().max(high.unsigned_abs()) <= EXACT_IN_DOUBLE {
        return interpolate(low as f64, high as f64, part).floor() as Time;
    }
    // The product above is off by at most one part in 2^52: a position that close to the next
    // event is that event, not a nanosecond before it.
    if 1.0 - part <= position * 2.0 * f64::EPSILON {
        return high;
    }
    low.saturating_add_unsigned(share(high.abs_diff(low), part))
}

/// NumPy's interpolation: from the nearer end, which keeps it monotone and exact at both.
fn interpolate(low: f64, high: f64, part: f64) -> f64 {
    if part < 0.5 { low + (high - low) * part } else { high - (high - low) * (1.0 - part) }
}

/// `⌊difference × part⌋` for `part` in `[0, 1)`; never more than the difference.
fn share(difference: u64, part: f64) -> u64 {
    let scaled = (part * (1u64 << 53) as f64) as u64;
    ((u128::from(difference) * u128::from(scaled)) >> 53) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nanoseconds_keep_their_last_digit() {
        let start = 1_700_000_000_000_000_001;
        let sorted: Vec<Time> = (0..11).map(|event| start + event).collect();
        assert_eq!(time_quantile(&sorted, 0.7), start + 7);
        assert_eq!(time_quantile(&sorted, 0.75), start + 7);
        assert_eq!(time_quantile(&sorted, 1.0), start + 10);
    }

    #[test]
    fn the_widest_times_do_not_overflow() {
        let sorted = [Time::MIN, Time::MAX];
        assert_eq!(time_quantile(&sorted, 0.0), Time::MIN);
        assert_eq!(time_quantile(&sorted, 0.5), -1);
        assert_eq!(time_quantile(&sorted, 1.0), Time::MAX);
    }

    proptest! {
        #[test]
        fn quantiles_lie_between_their_neighbours_and_rise_with_the_fraction(
            mut times in prop::collection::vec(any::<i64>(), 1..50),
            fractions in (0.0f64..=1.0, 0.0f64..=1.0),
        ) {
            times.sort_unstable();
            let (low, high) = (fractions.0.min(fractions.1), fractions.0.max(fractions.1));
            let (first, second) = (time_quantile(&times, low), time_quantile(&times, high));
            prop_assert!(times[0] <= first && first <= second);
            prop_assert!(second <= times[times.len() - 1]);
        }
    }
}
