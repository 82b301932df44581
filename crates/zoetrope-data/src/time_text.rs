//! A point in time as a user types it.

use zoetrope_graph::{Time, TimeScale};

use crate::table::TimeReading;
use crate::table::timestamp::{decimal, iso, rescale};

/// A whole number of the data's own ticks, or, if ticks are Unix time, a date such as
/// `2013-12-31` or `2013-12-31 16:39:18`.
///
/// ```
/// # use zoetrope_data::parse_time;
/// # use zoetrope_graph::TimeScale;
/// assert_eq!(parse_time("86400", TimeScale::SECONDS), Some(86_400));
/// assert_eq!(parse_time("1970-01-02", TimeScale::UNIX_SECONDS), Some(86_400));
/// assert_eq!(parse_time("1970-01-02", TimeScale::SECONDS), None);
/// ```
pub fn parse_time(text: &str, scale: TimeScale) -> Option<Time> {
    let text = text.trim();
    if let Ok(ticks) = text.parse() {
        return Some(ticks);
    }
    let per_second = scale.unit.ticks_per_second().filter(|_| scale.unix)?;
    let stamp = iso(text.as_bytes())?;
    rescale(stamp.ticks, stamp.digits, per_second.ilog10() as u8)
}

impl TimeReading {
    /// A point in time as the table has it: a number, with decimals if ticks hold decimals, or a date if
    /// ticks count from 1970. What is finer than a tick is rounded down.
    pub fn parse(&self, text: &str) -> Option<Time> {
        let Some(stamp) = decimal(text.trim().as_bytes()) else {
            return parse_time(text, self.scale());
        };
        if self.digits >= stamp.digits {
            rescale(stamp.ticks, stamp.digits, self.digits)
        } else {
            Some(stamp.ticks.div_euclid(10i64.pow((stamp.digits - self.digits).into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use zoetrope_graph::{TimeScale, TimeUnit};

    use super::*;

    #[test]
    fn times_are_typed_as_the_table_has_them() {
        let scale = TimeScale { unit: TimeUnit::Millisecond, unix: false };
        let decimals = TimeReading { digits: 3, ..TimeReading::ticks(scale) };
        assert_eq!(decimals.parse("2.5"), Some(2_500));
        assert_eq!(decimals.parse("2"), Some(2_000));
        assert_eq!(TimeReading::ticks(scale).parse("2"), Some(2));
        assert_eq!(TimeReading::ticks(scale).parse("-2.5"), Some(-3));
        assert_eq!(decimals.parse("1970-01-02"), None);
        let unix = TimeReading::ticks(TimeScale::UNIX_SECONDS);
        assert_eq!(unix.parse("1970-01-02"), Some(86_400));
    }
}
