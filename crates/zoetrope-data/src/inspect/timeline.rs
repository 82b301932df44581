//! When things happen: range, resolution, the longest silence, a window that suits.

use rayon::prelude::*;
use serde::Serialize;
use zoetrope_graph::{EventStore, SnapshotSequence, Time, TimeScale, TimeUnit};

/// The time range of a data set, in ticks of its unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeReport {
    /// The first event or step; absent if there is none.
    pub first: Option<Time>,
    /// The last event or step.
    pub last: Option<Time>,
    /// Whether the file was in time order.
    pub sorted: bool,
    /// The length of a tick.
    pub unit: TimeUnit,
    /// Whether tick 0 is the Unix epoch.
    pub unix: bool,
    /// How many different times there are.
    pub distinct: u64,
    /// The greatest number of ticks that divides every distance between events.
    pub resolution: Option<u64>,
    /// The longest time in which nothing happens.
    pub longest_gap: Option<Gap>,
}

/// A time in which nothing happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// When the last event before it happened.
    pub after: Time,
    /// How long it lasts.
    pub ticks: u64,
}

impl TimeReport {
    /// From the first to the last event, in ticks.
    pub fn span(&self) -> u64 {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.abs_diff(first),
            _ => 0,
        }
    }

    /// What the ticks mean.
    pub fn scale(&self) -> TimeScale {
        TimeScale { unit: self.unit, unix: self.unix }
    }
}

#[derive(Clone, Copy)]
struct Gaps {
    distinct: u64,
    divisor: u64,
    longest: u64,
    after: Time,
}

impl Gaps {
    const NONE: Self = Self { distinct: 0, divisor: 0, longest: 0, after: 0 };

    fn add(&mut self, from: Time, to: Time) {
        let ticks = to.abs_diff(from);
        if ticks == 0 {
            return;
        }
        self.distinct += 1;
        if self.divisor != 1 {
            self.divisor = greatest_common_divisor(self.divisor, ticks);
        }
        if ticks > self.longest {
            (self.longest, self.after) = (ticks, from);
        }
    }

    fn merge(self, later: Self) -> Self {
        Self {
            distinct: self.distinct + later.distinct,
            divisor: greatest_common_divisor(self.divisor, later.divisor),
            longest: self.longest.max(later.longest),
            after: if later.longest > self.longest { later.after } else { self.after },
        }
    }
}

fn greatest_common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

pub(super) fn of_events(store: &EventStore, sorted: bool) -> TimeReport {
    let time = store.time();
    const CHUNK: usize = 1 << 16;
    let parts: Vec<Gaps> = (0..time.len().div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut gaps = Gaps::NONE;
            // One more than the chunk, so that the step into the next chunk is seen too.
            let end = ((chunk + 1) * CHUNK + 1).min(time.len());
            for pair in time[chunk * CHUNK..end].windows(2) {
                gaps.add(pair[0], pair[1]);
            }
            gaps
        })
        .collect();
    let gaps = parts.into_iter().fold(Gaps::NONE, Gaps::merge);
    TimeReport {
        first: time.first().copied(),
        last: time.last().copied(),
        sorted,
        unit: store.scale().unit,
        unix: store.scale().unix,
        distinct: gaps.distinct + u64::from(!time.is_empty()),
        resolution: (gaps.divisor > 0).then_some(gaps.divisor),
        longest_gap: (gaps.longest > 0).then_some(Gap { after: gaps.after, ticks: gaps.longest }),
    }
}

pub(super) fn of_snapshots(sequence: &SnapshotSequence, sorted: bool) -> TimeReport {
    let steps = sequence.steps() as i64;
    TimeReport {
        first: (steps > 0).then_some(0),
        last: (steps > 0).then_some(steps - 1),
        sorted,
        unit: TimeUnit::Step,
        unix: false,
        distinct: steps as u64,
        resolution: (steps > 1).then_some(1),
        longest_gap: None,
    }
}
