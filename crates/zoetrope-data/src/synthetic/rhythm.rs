//! Event times in order, block by block: a Poisson-like stream that follows a daily rhythm.
//!
//! The stream is cut into blocks of equally many events. A block owns an interval of *even time*
//! (in which the rate is constant), draws its times inside and sorts them, so that blocks are
//! independent of each other and their concatenation is sorted. Even time becomes clock time
//! through the inverse of the accumulated rate `x - rhythm · sin(2πx) / 2π` of each day, whose
//! rate `1 - rhythm · cos(2πx)` is lowest at midnight and highest at noon.

use std::f64::consts::TAU;
use std::ops::Range;

use zoetrope_graph::Time;
use zoetrope_graph::random::Random;

/// Events of one block.
pub(super) const BLOCK: u64 = 1 << 14;
pub(super) const DAY_SECONDS: f64 = 86_400.0;
const CELLS: usize = 1440;

/// Turns event numbers into times.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    events: u64,
    days: f64,
    /// Clock time of day at the even times `k / CELLS`.
    inverse: Vec<f64>,
}

impl Clock {
    pub(super) fn new(events: u64, days: u64, rhythm: f64) -> Self {
        let accumulated = |x: f64| x - rhythm * (TAU * x).sin() / TAU;
        let invert = |cell: usize| {
            let wanted = cell as f64 / CELLS as f64;
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..52 {
                let middle = (low + high) / 2.0;
                if accumulated(middle) < wanted { low = middle } else { high = middle }
            }
            high
        };
        let inverse = (0..=CELLS).map(invert).collect();
        Self { events, days: days as f64, inverse }
    }

    /// The number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.events.div_ceil(BLOCK)
    }

    /// The events of a block.
    pub(super) fn events_of(&self, block: u64) -> Range<u64> {
        block * BLOCK..((block + 1) * BLOCK).min(self.events)
    }

    /// The times of a block's events in seconds, ascending.
    pub(super) fn times(&self, block: u64, random: Random) -> Vec<Time> {
        let events = self.events_of(block);
        let (start, length) = (events.start as f64, (events.end - events.start) as f64);
        let mut times: Vec<Time> = events
            .map(|event| {
                let even = (start + length * random.unit(event)) / self.events as f64;
                (self.clock_days(even * self.days) * DAY_SECONDS) as Time
            })
            .collect();
        times.sort_unstable();
        times
    }

    fn clock_days(&self, even_days: f64) -> f64 {
        let day = even_days.floor().min(self.days - 1.0);
        let cell = (even_days - day) * CELLS as f64;
        let below = (cell as usize).min(CELLS - 1);
        let (low, high) = (self.inverse[below], self.inverse[below + 1]);
        day + low + (high - low) * (cell - below as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_rise_over_block_borders_and_fill_the_span() {
        let clock = Clock::new(100_000, 10, 0.8);
        let random = Random::new(1, 1);
        let times: Vec<Time> =
            (0..clock.blocks()).flat_map(|block| clock.times(block, random)).collect();
        assert_eq!(times.len(), 100_000);
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(times[0] >= 0 && times[99_999] < 10 * 86_400);
    }

    #[test]
    fn noon_is_busier_than_midnight_by_the_asked_amount() {
        let clock = Clock::new(200_000, 10, 0.8);
        let random = Random::new(1, 1);
        let mut hours = [0.0f64; 24];
        for block in 0..clock.blocks() {
            for time in clock.times(block, random) {
                hours[(time % 86_400 / 3600) as usize] += 1.0;
            }
        }
        // Mean rate of the hour over the mean rate of the day: 1 ∓ 0.8 · cos, about 0.21 and
        // 1.79; 1,800 events at least make the standard error below 2.5 %.
        let mean = 200_000.0 / 24.0;
        let ratios = [(hours[0] + hours[23]) / 2.0 / mean, (hours[11] + hours[12]) / 2.0 / mean];
        assert!((ratios[0] - 0.21).abs() < 0.03 && (ratios[1] - 1.79).abs() < 0.08, "{ratios:?}");
    }
}
