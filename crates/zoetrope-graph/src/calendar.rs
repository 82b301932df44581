//! Hours, days, weeks and months of the UTC calendar as window boundaries.
//!
//! Owns where a calendar unit starts. It knows no time zones and no leap seconds: a Unix time
//! has neither.

use std::fmt;
use std::str::FromStr;

use crate::error::GraphError;
use crate::time::{Time, TimeScale};

/// A unit of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CalendarUnit {
    /// From full hour to full hour.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday midnight to Monday midnight.
    Week,
    /// From the first of the month to the first of the next.
    Month,
}

const DAY_SECONDS: i64 = 86_400;
/// 1970-01-01 was a Thursday: the Monday before lies three days earlier.
const MONDAY_SECONDS: i64 = -3 * DAY_SECONDS;

impl CalendarUnit {
    /// The name: `hour`, `day`, `week` or `month`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Width and origin in seconds of the units that are equally long.
    fn regular(self) -> Option<(i64, i64)> {
        match self {
            Self::Hour => Some((3_600, 0)),
            Self::Day => Some((DAY_SECONDS, 0)),
            Self::Week => Some((7 * DAY_SECONDS, MONDAY_SECONDS)),
            Self::Month => None,
        }
    }
}

impl fmt::Display for CalendarUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CalendarUnit {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        [Self::Hour, Self::Day, Self::Week, Self::Month]
            .into_iter()
            .find(|unit| unit.name() == text)
            .ok_or_else(|| GraphError::BadParameter {
                parameter: "calendar unit",
                value: text.chars().take(80).collect(),
                expected: "hour, day, week or month",
            })
    }
}

/// How the boundaries of a calendar unit lie over a stretch of time.
pub(crate) enum Grid {
    /// `origin + i × width` ticks.
    Regular { width: Time, origin: Time },
    /// The starts of the months that cover the stretch, and of the one after it.
    Listed(Vec<i128>),
}

/// The boundaries of `unit` that cover `first..=last`.
///
/// # Errors
/// [`GraphError::BadParameter`] if times do not count from 1970, or months lie outside the
/// years −9999 to 9999.
pub(crate) fn grid(
    unit: CalendarUnit,
    scale: TimeScale,
    first: Time,
    last: Time,
) -> Result<Grid, GraphError> {
    let bad = |expected| GraphError::BadParameter {
        parameter: "calendar window",
        value: unit.to_string(),
        expected,
    };
    let rate = scale.unit.ticks_per_second().filter(|_| scale.unix).ok_or_else(|| {
        bad("times that count from 1970 (UTC), which this data does not have; give a width instead")
    })?;
    if let Some((width, origin)) = unit.regular() {
        return Ok(Grid::Regular { width: width * rate, origin: origin * rate });
    }
    let outside = || bad("times between the years -9999 and 9999");
    let month_of = |time: Time| {
        let timestamp = jiff::Timestamp::from_second(time.div_euclid(rate)).ok()?;
        let date = timestamp.to_zoned(jiff::tz::TimeZone::UTC).date();
        Some(i32::from(date.year()) * 12 + i32::from(date.month()) - 1)
    };
    let (from, to) = (month_of(first).ok_or_else(outside)?, month_of(last).ok_or_else(outside)?);
    let starts: Option<Vec<i128>> =
        (from..=to + 1).map(|month| Some(month_start(month)? * i128::from(rate))).collect();
    starts.map(Grid::Listed).ok_or_else(outside)
}

/// Seconds from 1970 to the first of a month, months counted from January of year 0.
fn month_start(month: i32) -> Option<i128> {
    let year = i16::try_from(month.div_euclid(12)).ok()?;
    let date = jiff::civil::Date::new(year, month.rem_euclid(12) as i8 + 1, 1).ok()?;
    let days = date.since((jiff::Unit::Day, jiff::civil::date(1970, 1, 1))).ok()?.get_days();
    Some(i128::from(days) * i128::from(DAY_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_start_where_the_calendar_says() {
        assert_eq!(month_start(1970 * 12), Some(0));
        assert_eq!(month_start(1970 * 12 + 1), Some(31 * 86_400));
        // 2000-03-01 and 1969-12-01, from `date -u -d … +%s`.
        assert_eq!(month_start(2000 * 12 + 2), Some(951_868_800));
        assert_eq!(month_start(1969 * 12 + 11), Some(-2_678_400));
        assert_eq!(month_start(10_000 * 12), None);
    }

    #[test]
    fn an_unknown_origin_is_refused() {
        let error = grid(CalendarUnit::Day, TimeScale::SECONDS, 0, 1).err().unwrap().to_string();
        assert!(error.contains("count from 1970"), "{error}");
        assert!(grid(CalendarUnit::Day, TimeScale::UNIX_SECONDS, 0, 1).is_ok());
    }

    #[test]
    fn months_outside_the_calendar_are_refused() {
        let scale = TimeScale::UNIX_SECONDS;
        assert!(grid(CalendarUnit::Month, scale, i64::MIN, 0).is_err());
        assert!(grid(CalendarUnit::Month, scale, 0, i64::MAX).is_err());
    }

    #[test]
    fn names_parse_back() {
        for unit in [CalendarUnit::Hour, CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month]
        {
            assert_eq!(unit.name().parse::<CalendarUnit>().unwrap(), unit);
        }
        assert!("year".parse::<CalendarUnit>().is_err());
    }
}
