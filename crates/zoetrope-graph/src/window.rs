//! Windows: how the time axis of a stream is cut, and which events fall where.
//!
//! Owns boundaries and event ranges. A window covers `boundaries[i]..boundaries[i + 1]`, the end
//! not included, except that a boundary that would lie beyond [`Time::MAX`] stands there and
//! includes it. Events of equal time always fall into the same window, so windows do not depend
//! on the order of the input. It does not look at vertices.
//!
//! Finding the ranges is one galloping pass over the time column, from one window with events to the
//! next: O(windows with events × log(events per window)). Empty windows of equal width take neither
//! time nor memory.

mod suggest;

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;
use std::str::FromStr;

use crate::boundaries::Boundaries;
use crate::calendar::{self, CalendarUnit, Grid};
use crate::duration::Duration;
use crate::error::GraphError;
use crate::events::EventStore;
use crate::ranges::Ranges;
use crate::time::Time;

pub use suggest::{Suggestion, suggest_cut, suggest_window};

/// The most windows that a stream may be cut into: a wrong unit (1 ns over years) must be
/// an error, not an exhausted machine.
pub const MAX_WINDOWS: u64 = 1 << 22;

/// Where windows of fixed width start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// At multiples of the width from tick 0.
    #[default]
    Aligned,
    /// At the first event.
    FirstEvent,
    /// At multiples of the width from a given time.
    At(Time),
}

/// How to cut the time axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Windowing {
    /// Equally wide windows from the one with the first event to the one with the last.
    Width {
        /// The width.
        width: Duration,
        /// Where windows start.
        origin: Origin,
    },
    /// At least this many events in each window but the last: a window ends with the last event
    /// of equal time.
    Events(NonZeroU64),
    /// About this many windows with about equally many events; fewer if equal times make
    /// cuts coincide.
    Parts(NonZeroU64),
    /// Units of the UTC calendar; needs Unix times.
    Calendar(CalendarUnit),
    /// Given boundaries, strictly rising; events outside are left out.
    Boundaries(Vec<Time>),
}

impl FromStr for Windowing {
    type Err = GraphError;

    /// Reads `1d` (aligned width), `hour`, `day`, `week`, `month` (calendar), `500 events` or
    /// `20 parts`.
    fn from_str(text: &str) -> Result<Self, GraphError> {
        let text = text.trim();
        let counted = |suffix: &str| {
            text.strip_suffix(suffix).and_then(|number| number.trim_end().parse().ok())
        };
        if let Ok(unit) = text.parse() {
            return Ok(Self::Calendar(unit));
        }
        if let Some(events) = counted("events") {
            return Ok(Self::Events(events));
        }
        if let Some(parts) = counted("parts") {
            return Ok(Self::Parts(parts));
        }
        let width = text.parse().map_err(|_| GraphError::BadParameter {
            parameter: "window",
            value: text.chars().take(80).collect(),
            expected: "a width such as 1d, 6h or 30m, a number of ticks, one of hour, day, week \
                       and month, `500 events` or `20 parts`",
        })?;
        Ok(Self::Width { width, origin: Origin::Aligned })
    }
}

impl fmt::Display for Windowing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width { width, .. } => width.fmt(f),
            Self::Events(events) => write!(f, "{events} events"),
            Self::Parts(parts) => write!(f, "{parts} parts"),
            Self::Calendar(unit) => unit.fmt(f),
            Self::Boundaries(given) => write!(f, "{} given boundaries", given.len()),
        }
    }
}

/// Consecutive windows over a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    boundaries: Boundaries,
    ranges: Ranges,
}

impl Windows {
    /// Cuts the stream. A stream without events has no windows, unless boundaries are given.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] if the width does not fit the scale, the calendar is asked
    /// of times without a known origin or given boundaries do not rise;
    /// [`GraphError::TooManyWindows`] beyond [`MAX_WINDOWS`].
    pub fn cut(store: &EventStore, windowing: &Windowing) -> Result<Self, GraphError> {
        let time = store.time();
        if let Windowing::Boundaries(given) = windowing {
            return Self::given(time, Boundaries::Listed(given.clone()));
        }
        let (Some(&first), Some(&last)) = (time.first(), time.last()) else {
            let boundaries = Boundaries::Listed(vec![0]);
            return Ok(Self { boundaries, ranges: Ranges::empty(0, 0) });
        };
        let limited = |windows: i128| {
            if windows <= i128::from(MAX_WINDOWS) {
                Ok(())
            } else {
                Err(GraphError::TooManyWindows {
                    windows,
                    limit: MAX_WINDOWS,
                    suggestion: suggest_window(store).to_string(),
                })
            }
        };
        let boundaries = match windowing {
            Windowing::Boundaries(given) => Boundaries::Listed(given.clone()),
            Windowing::Width { width, origin } => {
                let width = width.ticks(store.scale())?;
                let origin = match origin {
                    Origin::Aligned => 0,
                    Origin::FirstEvent => first,
                    Origin::At(time) => *time,
                };
                regular(first, last, width, origin, limited)?
            }
            Windowing::Calendar(unit) => match calendar::grid(*unit, store.scale(), first, last)? {
                Grid::Regular { width, origin } => regular(first, last, width, origin, limited)?,
                Grid::Listed(starts) => closed(starts.into_iter().map(clamp).collect()),
            },
            Windowing::Events(events) => {
                limited((time.len() as u64 / events.get()).into())?;
                closed(by_count(time, |cut| cut.saturating_add(events.get())))
            }
            Windowing::Parts(parts) => {
                let parts = parts.get();
                limited(parts.into())?;
                let events = time.len() as u128;
                let quantile = |part: u64| (events * u128::from(part) / u128::from(parts)) as u64;
                // The first quantile beyond the cut: several coincide if times are equal.
                closed(by_count(time, |cut| {
                    let part = u128::from(cut) * u128::from(parts) / events;
                    (part as u64..=parts).map(quantile).find(|&next| next > cut).unwrap_or(u64::MAX)
                }))
            }
        };
        Self::given(time, boundaries)
    }

    fn given(time: &[Time], boundaries: Boundaries) -> Result<Self, GraphError> {
        let rises = match &boundaries {
            Boundaries::Regular { count, .. } => *count > 0,
            Boundaries::Listed(times) => {
                !times.is_empty() && times.windows(2).all(|pair| pair[0] < pair[1])
            }
        };
        if !rises {
            return Err(GraphError::BadParameter {
                parameter: "window boundaries",
                value: format!("{} of them", boundaries.len()),
                expected: "at least one time, each later than the one before",
            });
        }
        let windows = boundaries.len() - 1;
        let mut position = gallop(time, 0, boundaries.at(0));
        let mut ranges = Ranges::empty(windows, position as u64);
        // From one window that has events to the next: those between them are not looked at.
        while let Some(&next) = time.get(position) {
            let window = match boundaries.up_to(next).checked_sub(1) {
                Some(window) if window < windows => window,
                // The end of time belongs to the last window.
                Some(_) if next == Time::MAX && windows > 0 => windows - 1,
                _ => break,
            };
            let end = match boundaries.at(window + 1) {
                Time::MAX => time.len(),
                end => gallop(time, position, end),
            };
            ranges.fill(window, (end - position) as u64);
            position = end;
        }
        Ok(Self { boundaries, ranges })
    }

    /// Some consecutive windows.
    ///
    /// # Panics
    /// If there are no such windows.
    pub fn part(&self, windows: Range<usize>) -> Self {
        let boundaries = self.boundaries.of_windows(windows.clone());
        Self { boundaries, ranges: self.ranges.part(windows) }
    }

    /// The number of windows.
    pub fn len(&self) -> usize {
        self.boundaries.len() - 1
    }

    /// Whether there is no window.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The start of each window and the end of the last.
    pub fn boundaries(&self) -> &Boundaries {
        &self.boundaries
    }

    /// The events of each window, by position; events before the first and behind the last belong to
    /// no window.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// The events of a window, by position.
    ///
    /// # Panics
    /// If `window` is not below [`len`](Self::len).
    pub fn events(&self, window: usize) -> Range<usize> {
        self.ranges.get(window)
    }

    /// The times that a window covers.
    ///
    /// # Panics
    /// If `window` is not below [`len`](Self::len).
    pub fn times(&self, window: usize) -> Range<Time> {
        self.boundaries.at(window)..self.boundaries.at(window + 1)
    }

    /// How many events lie in no window, given the length of the stream.
    pub fn left_out(&self, events: usize) -> usize {
        let covered = self.ranges.end() - self.ranges.start();
        events - covered as usize
    }
}

/// Boundaries at `origin + i × width` that cover `first..=last`.
fn regular(
    first: Time,
    last: Time,
    width: Time,
    origin: Time,
    limited: impl Fn(i128) -> Result<(), GraphError>,
) -> Result<Boundaries, GraphError> {
    // 128 bits: the stretch from `Time::MIN` to `Time::MAX` does not fit into 64.
    let [first, last, width, origin] = [first, last, width, origin].map(i128::from);
    let start = first - (first - origin).rem_euclid(width);
    let windows = (last - start) / width + 1;
    limited(windows)?;
    let end = start + windows * width;
    if start < i128::from(Time::MIN) || end > i128::from(Time::MAX) {
        // Boundaries that would lie beyond the ends of time fall together there.
        return Ok(closed((0..=windows).map(|window| clamp(start + window * width)).collect()));
    }
    let count = windows as usize + 1;
    Ok(Boundaries::Regular { start: start as Time, width: width as Time, count })
}

/// A window that would start at [`Time::MAX`] could not end later: it joins the one before, or
/// starts a tick earlier if it is the only one.
fn closed(mut boundaries: Vec<Time>) -> Boundaries {
    boundaries.dedup();
    if boundaries == [Time::MAX] {
        boundaries.insert(0, Time::MAX - 1);
    }
    Boundaries::Listed(boundaries)
}

fn clamp(time: i128) -> Time {
    time.clamp(Time::MIN.into(), Time::MAX.into()) as Time
}

/// Boundaries at the times of events, at or after the positions that `next` asks for.
fn by_count(time: &[Time], next: impl Fn(u64) -> u64) -> Vec<Time> {
    let last = time[time.len() - 1];
    let mut boundaries = vec![time[0]];
    let mut cut = 0_u64;
    loop {
        let wanted = next(cut);
        if wanted >= time.len() as u64 {
            break;
        }
        // Equal times stay together: the window takes the whole run that it ends in.
        let before = time[wanted as usize - 1];
        let position = match before.checked_add(1) {
            Some(after) => gallop(time, wanted as usize, after),
            None => time.len(),
        };
        if position == time.len() {
            break;
        }
        boundaries.push(time[position]);
        cut = position as u64;
    }
    boundaries.push(last.saturating_add(1));
    boundaries
}

/// The first position from `start` on whose time is not below `boundary`.
fn gallop(time: &[Time], start: usize, boundary: Time) -> usize {
    let mut step = 1;
    let mut low = start;
    while low + step <= time.len() && time[low + step - 1] < boundary {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(time.len());
    low + time[low..high].partition_point(|&time| time < boundary)
}

#[cfg(test)]
mod tests;
