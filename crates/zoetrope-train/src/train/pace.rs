//! When a due checkpoint is begun: at once, as long as saving takes a small share of the time.

use std::time::{Duration, Instant};

/// The longest that a due checkpoint waits because of what saving costs.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A save that was begun.
#[derive(Debug, Clone, Copy)]
struct Begun {
    at: Instant,
    /// How long it took; None while it is under way.
    took: Option<Duration>,
}

/// The times of saves, and the share of the time that they may take.
///
/// A save that took `t` is followed by the next one `t / share` after it began at the earliest, or
/// [`LONGEST_WAIT`] after it if that is sooner. So saves take no more than `share` of the time, unless
/// a single one takes longer than that share of the longest wait.
#[derive(Debug)]
pub(super) struct Pace {
    share: Option<f64>,
    last: Option<Begun>,
}

impl Pace {
    /// The pace of a run without saves so far; without a share nothing ever waits.
    pub(super) fn new(share: Option<f64>) -> Self {
        Self { share, last: None }
    }

    /// A save was begun.
    pub(super) fn begun(&mut self, at: Instant) {
        self.last = Some(Begun { at, took: None });
    }

    /// The save that was begun last is over.
    pub(super) fn over(&mut self, took: Duration) {
        if let Some(last) = &mut self.last {
            last.took = Some(took);
        }
    }

    /// Whether a due checkpoint may be begun.
    pub(super) fn allows(&self, now: Instant) -> bool {
        let (Some(share), Some(last)) = (self.share, self.last) else { return true };
        let earned = last.took.map(|took| took.as_secs_f64() / share);
        let wait = earned.unwrap_or(f64::INFINITY).min(LONGEST_WAIT.as_secs_f64());
        now.duration_since(last.at).as_secs_f64() >= wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn saves_take_no_more_than_their_share_of_the_time() {
        // Epochs of 25 ms, each of which is due, and saves of 2 to 5 ms.
        let (start, mut pace) = (Instant::now(), Pace::new(Some(0.03)));
        let (mut spent, mut saves) = (Duration::ZERO, 0);
        for epoch in 1..=4000 {
            let now = start + 25 * epoch * MS;
            if pace.allows(now) {
                let took = (2 + epoch % 4) * MS;
                pace.begun(now);
                pace.over(took);
                (spent, saves) = (spent + took, saves + 1);
            }
        }
        let share = spent.as_secs_f64() / (4000.0 * 0.025);
        assert!(share <= 0.03 + 5e-5, "{share}");
        // And no less often than that: at the first end of an epoch after the time is earned.
        assert!(share > 0.02 && saves > 500, "{share} {saves}");
    }

    #[test]
    fn the_first_save_and_cheap_ones_never_wait() {
        let (start, mut pace) = (Instant::now(), Pace::new(Some(0.03)));
        for epoch in 0..100 {
            let now = start + 1000 * epoch * MS;
            assert!(pace.allows(now), "{epoch}");
            pace.begun(now);
            pace.over(29 * MS);
        }
    }

    #[test]
    fn a_save_waits_ten_seconds_at_most_however_long_the_last_one_takes() {
        let (start, mut pace) = (Instant::now(), Pace::new(Some(0.03)));
        pace.begun(start);
        assert!(!pace.allows(start + 9999 * MS));
        assert!(pace.allows(start + 10_000 * MS));
        pace.over(5000 * MS);
        assert!(!pace.allows(start + 9999 * MS));
        assert!(pace.allows(start + 10_000 * MS));
    }

    #[test]
    fn without_a_share_nothing_waits() {
        let (start, mut pace) = (Instant::now(), Pace::new(None));
        pace.begun(start);
        assert!(pace.allows(start));
    }
}
