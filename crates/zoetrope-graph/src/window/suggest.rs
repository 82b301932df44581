//! A sensible width for a stream that nobody has described.

use crate::duration::Duration;
use crate::events::EventStore;
use crate::time::Time;

/// A round width that cuts the stream into tens to a few hundred windows.
///
/// Aims at 100 windows over the middle 98 % of the events, so that one stray time does not decide,
/// but never at more than 1,000 over the whole stretch.
pub fn suggest_window(store: &EventStore) -> Duration {
    let time = store.time();
    let (Some(&first), Some(&last)) = (time.first(), time.last()) else {
        return Duration::Ticks(1);
    };
    let stretch = |from: Time, to: Time| (i128::from(to) - i128::from(from) + 1) as u128;
    let margin = time.len() / 100;
    let middle = stretch(time[margin], time[time.len() - 1 - margin]);
    let aim = (middle / 100).max(stretch(first, last) / 1_000).max(1);
    let scale = store.scale();
    let round: Vec<u128> = match scale.unit.ticks_per_second() {
        Some(rate) => human_widths().filter_map(|ns| in_ticks(ns, rate as u128)).collect(),
        None => decimal_widths().collect(),
    };
    // The nearest by ratio: 2 h is nearer to 3 h than to 1 h.
    let best = round.into_iter().min_by(|&a, &b| ratio(a, aim).total_cmp(&ratio(b, aim)));
    Duration::from_ticks(
        best.map_or(1, |ticks| u64::try_from(ticks).unwrap_or(u64::MAX >> 1)),
        scale,
    )
}

fn ratio(a: u128, b: u128) -> f64 {
    (a as f64 / b as f64).ln().abs()
}

fn in_ticks(nanoseconds: u128, rate: u128) -> Option<u128> {
    let tick = 1_000_000_000 / rate;
    nanoseconds.is_multiple_of(tick).then_some(nanoseconds / tick)
}

/// 1, 2, 5, 10, … up to 2^62.
fn decimal_widths() -> impl Iterator<Item = u128> {
    (0..19)
        .flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u128.pow(power)))
        .filter(|&w| w < 1 << 62)
}

/// Widths in nanoseconds that divide the clock or the calendar evenly.
fn human_widths() -> impl Iterator<Item = u128> {
    const SECOND: u128 = 1_000_000_000;
    const DAY: u128 = 86_400 * SECOND;
    let below = decimal_widths().take_while(|&width| width < SECOND);
    let clock = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200];
    let days = [1, 2, 7, 14, 28, 91, 364, 1_820, 3_640, 36_400];
    below.chain(clock.map(|seconds| seconds * SECOND)).chain(days.map(|days| days * DAY))
}
