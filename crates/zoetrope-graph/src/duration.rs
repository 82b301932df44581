//! Lengths of time as people write them: `1d`, `6h`, `30m`, `90s`, `500ms`, `1d12h`, or ticks.
//!
//! Owns parsing, printing and conversion to the ticks of a [`TimeScale`]. It knows no months or
//! years: those have no fixed length and are calendar windows.

use std::fmt;
use std::str::FromStr;

use crate::error::GraphError;
use crate::time::{Time, TimeScale};

const ACCEPTED: &str =
    "a length such as 1d, 6h, 30m, 90s, 2w, 500ms or 1d12h, or a number of ticks";

/// Suffixes and their nanoseconds, longest first; `m` is a minute.
const UNITS: [(&str, u64); 8] = [
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A positive length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duration {
    /// Ticks of whatever scale the data has.
    Ticks(u64),
    /// Nanoseconds; needs data whose ticks have a length.
    Nanoseconds(u64),
}

impl Duration {
    /// A length of whole seconds.
    pub const fn seconds(seconds: u32) -> Self {
        Self::Nanoseconds(seconds as u64 * 1_000_000_000)
    }

    /// The length in ticks of `scale`.
    ///
    /// # Errors
    /// [`GraphError::BadParameter`] if ticks have no length, or the length is not a whole,
    /// positive number of ticks below 2^63.
    pub fn ticks(self, scale: TimeScale) -> Result<Time, GraphError> {
        let bad = |expected| {
            Err(GraphError::BadParameter {
                parameter: "duration",
                value: self.to_string(),
                expected,
            })
        };
        let ticks = match (self, scale.unit.ticks_per_second()) {
            (Self::Ticks(ticks), _) => ticks,
            (Self::Nanoseconds(_), None) => {
                return bad("a plain number: the times of this data are steps without a length");
            }
            (Self::Nanoseconds(length), Some(rate)) => {
                let tick = 1_000_000_000 / rate as u64;
                if length % tick != 0 {
                    return bad("a whole number of ticks of this data");
                }
                length / tick
            }
        };
        match Time::try_from(ticks) {
            Ok(ticks) if ticks > 0 => Ok(ticks),
            _ => bad("a length above 0 and below 2^63 ticks"),
        }
    }

    /// `ticks` of `scale` as a length that prints in human units if the scale has them.
    pub fn from_ticks(ticks: u64, scale: TimeScale) -> Self {
        let tick = scale.unit.ticks_per_second().map(|rate| 1_000_000_000 / rate as u64);
        tick.and_then(|tick| ticks.checked_mul(tick)).map_or(Self::Ticks(ticks), Self::Nanoseconds)
    }
}

impl FromStr for Duration {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        parse(text.trim()).ok_or_else(|| GraphError::BadParameter {
            parameter: "duration",
            value: text.chars().take(80).collect(),
            expected: ACCEPTED,
        })
    }
}

fn parse(text: &str) -> Option<Duration> {
    if let Ok(ticks) = text.parse::<u64>() {
        return (ticks > 0 && !text.starts_with('+')).then_some(Duration::Ticks(ticks));
    }
    let mut rest = text;
    let mut total = 0_u64;
    let mut last = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().ok()?;
        let tail = rest[digits..].trim_start();
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let unit = unit_length(&tail[..letters])?;
        // `30m 1d` is more often a typo than an intention, `1m1m` always is.
        if unit >= last {
            return None;
        }
        last = unit;
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = tail[letters..].trim_start();
    }
    (total > 0).then_some(Duration::Nanoseconds(total))
}

fn unit_length(suffix: &str) -> Option<u64> {
    let suffix = match suffix {
        "week" | "weeks" => "w",
        "day" | "days" => "d",
        "hour" | "hours" => "h",
        "min" | "minute" | "minutes" => "m",
        "sec" | "second" | "seconds" => "s",
        "µs" | "μs" => "us",
        other => other,
    };
    UNITS.iter().find(|(name, _)| *name == suffix).map(|&(_, length)| length)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ticks(ticks) => write!(f, "{ticks}"),
            Self::Nanoseconds(0) => f.write_str("0s"),
            Self::Nanoseconds(mut rest) => {
                for (name, length) in UNITS {
                    if rest >= length {
                        write!(f, "{}{name}", rest / length)?;
                        rest %= length;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::TimeUnit;
    use proptest::prelude::*;

    #[test]
    fn human_lengths_become_ticks_of_the_scale() {
        let ticks = |text: &str, scale| text.parse::<Duration>().unwrap().ticks(scale).unwrap();
        assert_eq!(ticks("1d", TimeScale::SECONDS), 86_400);
        assert_eq!(ticks("6h", TimeScale::SECONDS), 21_600);
        assert_eq!(ticks("30m", TimeScale::SECONDS), 1_800);
        assert_eq!(ticks("90s", TimeScale::SECONDS), 90);
        assert_eq!(ticks("2w", TimeScale::SECONDS), 1_209_600);
        assert_eq!(ticks("1d 12 h", TimeScale::SECONDS), 129_600);
        assert_eq!(ticks("17", TimeScale::STEPS), 17);
        let milli = TimeScale { unit: TimeUnit::Millisecond, unix: true };
        assert_eq!(ticks("500ms", milli), 500);
        assert_eq!(ticks("2 minutes", milli), 120_000);
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in ["", "0", "0s", "-1d", "+3", "d", "1x", "1d1d", "1h1d", "1.5d", "99999999999w"]
        {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_length_that_the_ticks_cannot_express_is_refused() {
        assert!("500ms".parse::<Duration>().unwrap().ticks(TimeScale::SECONDS).is_err());
        assert!("1d".parse::<Duration>().unwrap().ticks(TimeScale::STEPS).is_err());
        assert!(Duration::Ticks(u64::MAX).ticks(TimeScale::STEPS).is_err());
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(length in 1_u64.., human: bool) {
            let length = if human { Duration::Nanoseconds(length) } else { Duration::Ticks(length) };
            prop_assert_eq!(length.to_string().parse::<Duration>().unwrap(), length);
        }
    }
}
