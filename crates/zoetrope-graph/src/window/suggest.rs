//! A sensible width of windows, if the user gives none.

use std::ops::Range;

use super::{Origin, Windowing, regular};
use crate::duration::Duration;
use crate::events::EventStore;
use crate::time::Time;

/// Windows for a stream that nobody has described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The width of a window.
    pub width: Duration,
    /// How to cut. Stray events are in the first or the last window.
    pub windowing: Windowing,
    /// How many events lie alone before all others, further away than these are from each other.
    pub stray_before: usize,
    /// How many lie alone behind them.
    pub stray_after: usize,
}

/// A round width that cuts the stream into tens to a few hundred windows.
///
/// Aims at 100 windows over the middle 98 % of the events, and never at more than 1,000 over all
/// that are not stray.
pub fn suggest_window(store: &EventStore) -> Duration {
    width_of(store, &core(store.time()))
}

/// Windows of the width that [`suggest_window`] finds. One stray time does not make thousands of
/// empty windows: what lies far away from all other events joins the first or the last window.
pub fn suggest_cut(store: &EventStore) -> Suggestion {
    let time = store.time();
    let core = core(time);
    let width = width_of(store, &core);
    let (stray_before, stray_after) = (core.start, time.len() - core.end);
    let aligned = Windowing::Width { width, origin: Origin::Aligned };
    let windowing = match (stray_before + stray_after, width.ticks(store.scale())) {
        (0, _) | (_, Err(_)) => aligned,
        (_, Ok(ticks)) => {
            let ends = (time[core.start], time[core.end - 1]);
            // As many as fit the width that was chosen for them.
            match regular(ends.0, ends.1, ticks, 0, |_| Ok(())) {
                Ok(found) => {
                    let mut boundaries: Vec<Time> = found.iter().collect();
                    boundaries[0] = boundaries[0].min(time[0]);
                    let last = boundaries.len() - 1;
                    let end = time[time.len() - 1].saturating_add(1);
                    boundaries[last] = boundaries[last].max(end);
                    Windowing::Boundaries(boundaries)
                }
                Err(_) => aligned,
            }
        }
    };
    Suggestion { width, windowing, stray_before, stray_after }
}

/// The share of the events at either end that may be stray.
const STRAY_SHARE: usize = 100;

/// The fewest events of which one can be called stray.
const EVENTS_MIN: usize = 20;

/// The events that are not stray: of those at either end, up to a hundredth of all, what a gap
/// separates that is longer than all of the stretch between the two hundredths.
fn core(time: &[Time]) -> Range<usize> {
    if time.len() < EVENTS_MIN {
        return 0..time.len();
    }
    let margin = time.len().div_ceil(STRAY_SHARE);
    let (low, high) = (margin, time.len() - 1 - margin);
    let gap = |at: usize| stretch(time[at], time[at + 1]) - 1;
    let middle = stretch(time[low], time[high]) - 1;
    if middle == 0 {
        return 0..time.len();
    }
    let start = (0..low).rev().find(|&at| gap(at) > middle).map_or(0, |at| at + 1);
    let end = (high..time.len() - 1).find(|&at| gap(at) > middle).map_or(time.len(), |at| at + 1);
    start..end
}

/// The ticks from one time to another, both included.
fn stretch(from: Time, to: Time) -> u128 {
    (i128::from(to) - i128::from(from) + 1) as u128
}

fn width_of(store: &EventStore, core: &Range<usize>) -> Duration {
    let time = &store.time()[core.clone()];
    let (Some(&first), Some(&last)) = (time.first(), time.last()) else {
        return Duration::Ticks(1);
    };
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
