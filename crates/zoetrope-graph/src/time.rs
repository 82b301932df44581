//! Exact time: 64-bit ticks, what a tick means, and how times and stretches of time read.
//!
//! Owns the scale of a time column and the text for people. It does not parse: times come from
//! files through `zoetrope-data`, lengths of time through [`crate::duration`].

use serde::{Deserialize, Serialize};

/// A point in time, in ticks of the graph's [`TimeScale`].
pub type Time = i64;

/// How long a tick is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// A step of a sequence, with no length in seconds.
    Step,
    /// 1 s.
    Second,
    /// 1 ms.
    Millisecond,
    /// 1 µs.
    Microsecond,
    /// 1 ns.
    Nanosecond,
}

impl TimeUnit {
    /// Ticks in one second; `None` for steps.
    pub fn ticks_per_second(self) -> Option<i64> {
        match self {
            Self::Step => None,
            Self::Second => Some(1),
            Self::Millisecond => Some(1_000),
            Self::Microsecond => Some(1_000_000),
            Self::Nanosecond => Some(1_000_000_000),
        }
    }

    /// The symbol: `s`, `ms`, `µs`, `ns`, or `steps`.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Step => "steps",
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "µs",
            Self::Nanosecond => "ns",
        }
    }
}

/// What the integers of a time column mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeScale {
    /// The length of a tick.
    pub unit: TimeUnit,
    /// Whether tick 0 is 1970-01-01 00:00 UTC; otherwise the origin is unknown.
    pub unix: bool,
}

impl TimeScale {
    /// Seconds with an unknown origin, the convention of the JODIE data sets.
    pub const SECONDS: Self = Self { unit: TimeUnit::Second, unix: false };
    /// Steps of a sequence.
    pub const STEPS: Self = Self { unit: TimeUnit::Step, unix: false };
    /// Unix seconds.
    pub const UNIX_SECONDS: Self = Self { unit: TimeUnit::Second, unix: true };

    /// A time for people: `2004-04-15 12:34:56.5 UTC` if the origin is known, `36 s` if it
    /// is not, `step 7` for steps. Times beyond the year 9999 stay ticks.
    pub fn format_time(self, time: Time) -> String {
        let Some(rate) = self.unit.ticks_per_second() else {
            return format!("step {time}");
        };
        let plain = || format!("{time} {}", self.unit.symbol());
        if !self.unix {
            return plain();
        }
        let Ok(second) = jiff::Timestamp::from_second(time.div_euclid(rate)) else {
            return plain();
        };
        let text = second.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S");
        match time.rem_euclid(rate) {
            0 => format!("{text} UTC"),
            rest => {
                let digits = rate.ilog10() as usize;
                let fraction = format!("{rest:0digits$}");
                format!("{text}.{} UTC", fraction.trim_end_matches('0'))
            }
        }
    }

    /// The length of time between two times for people, in its two largest units: `30 d 23 h`,
    /// `6 y 12 d` (years of 365 days), `17 steps`. The order of the two does not matter.
    pub fn format_span(self, from: Time, to: Time) -> String {
        let ticks = from.abs_diff(to);
        let Some(rate) = self.unit.ticks_per_second() else {
            return format!("{ticks} {}", if ticks == 1 { "step" } else { "steps" });
        };
        let mut rest = u128::from(ticks) * (1_000_000_000 / rate as u128);
        let start = SPAN_UNITS.iter().position(|&(_, length)| rest >= length);
        let Some(start) = start else { return "0 s".into() };
        let mut parts = Vec::with_capacity(2);
        for &(name, length) in SPAN_UNITS[start..].iter().take(2) {
            if rest >= length {
                parts.push(format!("{} {name}", rest / length));
            }
            rest %= length;
        }
        parts.join(" ")
    }
}

/// Units of a stretch and their nanoseconds, longest first.
const SPAN_UNITS: [(&str, u128); 8] = [
    ("y", 365 * 86_400_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("µs", 1_000),
    ("ns", 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: TimeScale = TimeScale { unit: TimeUnit::Millisecond, unix: true };
    const NANO: TimeScale = TimeScale { unit: TimeUnit::Nanosecond, unix: true };

    #[test]
    fn times_read_as_dates_where_the_origin_is_known() {
        assert_eq!(TimeScale::UNIX_SECONDS.format_time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(TimeScale::UNIX_SECONDS.format_time(951_868_800), "2000-03-01 00:00:00 UTC");
        assert_eq!(MILLI.format_time(-500), "1969-12-31 23:59:59.5 UTC");
        assert_eq!(NANO.format_time(1), "1970-01-01 00:00:00.000000001 UTC");
        assert_eq!(TimeScale::SECONDS.format_time(36), "36 s");
        assert_eq!(TimeScale::STEPS.format_time(7), "step 7");
    }

    #[test]
    fn spans_read_in_their_two_largest_units() {
        let span = |seconds| TimeScale::SECONDS.format_span(0, seconds);
        assert_eq!(span(2_678_373), "30 d 23 h");
        assert_eq!(span(90), "1 min 30 s");
        assert_eq!(span(86_400), "1 d");
        assert_eq!(span(86_401), "1 d");
        assert_eq!(span(0), "0 s");
        assert_eq!(span(400 * 86_400), "1 y 35 d");
        assert_eq!(MILLI.format_span(5, 1), "4 ms");
        assert_eq!(TimeScale::STEPS.format_span(3, 4), "1 step");
    }

    #[test]
    fn the_ends_of_the_time_axis_have_a_text() {
        for scale in [TimeScale::UNIX_SECONDS, TimeScale::SECONDS, TimeScale::STEPS, MILLI, NANO] {
            for time in [Time::MIN, Time::MIN + 1, -1, Time::MAX] {
                assert!(!scale.format_time(time).is_empty());
            }
            assert!(!scale.format_span(Time::MIN, Time::MAX).is_empty());
        }
    }
}
