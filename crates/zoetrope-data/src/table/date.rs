//! How the dates of a column are written, and times that stand in several columns.
//!
//! ISO dates are read by `timestamp`; this module knows the other spellings. Whether `05/01/2021`
//! is in May or in January cannot be seen in one value: the column decides, by a value above 12.

use jiff::civil::Date;

use crate::table::timestamp::{self, Stamp, days_from_civil};

/// How a date is written; a time of day may follow if there are days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateForm {
    /// `2013-12-31 16:39:18`, also with slashes, offsets and fractions.
    Iso,
    /// `31.12.2013`, with points, slashes or hyphens.
    DayFirst,
    /// `12/31/2013`, with points, slashes or hyphens.
    MonthFirst,
    /// One of the last two: no value tells which.
    DayOrMonthFirst,
    /// `2013-12`: the first of the month.
    Month,
    /// `2013Q4`: the first of the quarter.
    Quarter,
    /// `20131231`, `201312` or `20131231163918`.
    Digits,
}

/// The spellings that are read, for messages.
pub const ACCEPTED: &str = "numbers, 2013-12-31 16:39:18, 31.12.2013 16:39, 12/31/2013, 20131231, \
                            2013-12, 2013Q4";

impl DateForm {
    /// The form that at least nine of ten values have.
    pub(crate) fn of(values: &[&[u8]]) -> Option<Self> {
        let count = |form: Self| values.iter().filter(|value| form.parse(value).is_some()).count();
        let most = |count: usize| count > 0 && count * 10 >= values.len() * 9;
        if most(count(Self::Iso)) {
            return Some(Self::Iso);
        }
        let (days, months) = (count(Self::DayFirst), count(Self::MonthFirst));
        if most(days.max(months)) {
            return Some(match days.cmp(&months) {
                std::cmp::Ordering::Greater => Self::DayFirst,
                std::cmp::Ordering::Less => Self::MonthFirst,
                std::cmp::Ordering::Equal => Self::DayOrMonthFirst,
            });
        }
        [Self::Month, Self::Quarter].into_iter().find(|&form| most(count(form)))
    }

    /// A whole field, or `None` if it is no date of this form.
    pub(crate) fn parse(self, field: &[u8]) -> Option<Stamp> {
        let text = std::str::from_utf8(field).ok()?.trim();
        match self {
            Self::Iso => timestamp::iso(field).or_else(|| {
                let (date, rest) = triple(text, [4, 2, 2])?;
                at(day(date)?, rest)
            }),
            Self::DayFirst => {
                let ([day_of_month, month, year], rest) = triple(text, [2, 2, 4])?;
                at(day([year, month, day_of_month])?, rest)
            }
            Self::MonthFirst => {
                let ([month, day_of_month, year], rest) = triple(text, [2, 2, 4])?;
                at(day([year, month, day_of_month])?, rest)
            }
            Self::DayOrMonthFirst => None,
            Self::Month => {
                let (year, month) = text.split_once(['-', '/'])?;
                at(day([digits(year, 4)?, digits(month, 2)?, 1])?, "")
            }
            Self::Quarter => {
                let (year, quarter) = text.split_once(['Q', 'q'])?;
                let year = year.trim_end_matches(['-', ' ', '/']);
                let quarter = digits(quarter, 1).filter(|quarter| (1..=4).contains(quarter))?;
                at(day([digits(year, 4)?, 3 * quarter - 2, 1])?, "")
            }
            Self::Digits => compact(text),
        }
    }

    /// An example, for messages.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Iso => "a date such as 2013-12-31 16:39:18",
            Self::DayFirst => "a date such as 31.12.2013, the day first as in other rows",
            Self::MonthFirst => "a date such as 12/31/2013, the month first as in other rows",
            Self::DayOrMonthFirst => "a date such as 2013-12-31",
            Self::Month => "a month such as 2013-12",
            Self::Quarter => "a quarter such as 2013Q4",
            Self::Digits => "a date such as 20131231",
        }
    }
}

/// A unit of a time that stands in several columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimePart {
    /// The day, as a date.
    Date(DateForm),
    /// The year.
    Year,
    /// The month, from 1.
    Month,
    /// The day of the month.
    Day,
    /// The hour of the day.
    Hour,
    /// The minute of the hour.
    Minute,
    /// The second of the minute.
    Second,
    /// The time of day, as `16:39[:18]`.
    Clock,
}

impl TimePart {
    /// What should stand in the field, for messages.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Date(form) => form.example(),
            Self::Year => "a year",
            Self::Month => "a month from 1 to 12",
            Self::Day => "a day from 1 to 31",
            Self::Hour => "an hour from 0 to 23",
            Self::Minute => "a minute from 0 to 59",
            Self::Second => "a second from 0 to 59",
            Self::Clock => "a time of day such as 16:39",
        }
    }

    /// The values that the unit can have.
    pub(crate) fn range(self) -> Option<(i64, i64)> {
        match self {
            Self::Date(_) | Self::Clock => None,
            Self::Year => Some((1000, 3000)),
            Self::Month => Some((1, 12)),
            Self::Day => Some((1, 31)),
            Self::Hour => Some((0, 23)),
            Self::Minute | Self::Second => Some((0, 59)),
        }
    }
}

/// The parts of one row's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calendar {
    date: Option<Stamp>,
    year: i64,
    month: i64,
    day: i64,
    clock: Stamp,
}

impl Default for Calendar {
    fn default() -> Self {
        Self { date: None, year: 1970, month: 1, day: 1, clock: Stamp { ticks: 0, digits: 0 } }
    }
}

impl Calendar {
    /// Takes a part; `false` if the field is none.
    pub(crate) fn take(&mut self, part: TimePart, field: &[u8]) -> bool {
        match part {
            TimePart::Date(form) => self.date = form.parse(field),
            TimePart::Clock => {
                let clock = std::str::from_utf8(field).ok().and_then(|text| clock(text.trim()));
                return clock.map(|clock| self.clock = clock).is_some();
            }
            _ => return self.number(part, crate::table::number::integer(field)),
        }
        self.date.is_some()
    }

    /// The same for a number.
    pub(crate) fn number(&mut self, part: TimePart, value: Option<i64>) -> bool {
        let known = |range: (i64, i64)| value.filter(|value| (range.0..=range.1).contains(value));
        let Some(value) = part.range().and_then(known) else { return false };
        match part {
            TimePart::Year => self.year = value,
            TimePart::Month => self.month = value,
            TimePart::Day => self.day = value,
            TimePart::Hour => self.clock.ticks += 3600 * value,
            TimePart::Minute => self.clock.ticks += 60 * value,
            _ => self.clock.ticks += value,
        }
        true
    }

    /// The time of the row; `None` if there is no such day.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let Stamp { ticks, digits } = self.clock;
        let date = match self.date {
            Some(date) => date,
            None => at(day([self.year, self.month, self.day])?, "")?,
        };
        let finest = digits.max(date.digits);
        let ticks = timestamp::rescale(ticks, digits, finest)?;
        let date = timestamp::rescale(date.ticks, date.digits, finest)?;
        Some(Stamp { ticks: date.checked_add(ticks)?, digits: finest })
    }
}

/// Whether a text is a time of day.
pub(crate) fn is_clock(text: &str) -> bool {
    text.contains(':') && clock(text).is_some()
}

/// Three numbers of at most so many digits (the year has all four), separated alike, and what
/// follows them.
fn triple(text: &str, lengths: [usize; 3]) -> Option<([i64; 3], &str)> {
    let end = text.find([' ', 'T', ',']).unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    let separator = date.chars().find(|letter| matches!(letter, '.' | '/' | '-'))?;
    let mut parts = date.split(separator);
    let mut numbers = [0; 3];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let part = parts.next()?;
        let fits = if length == 4 { part.len() == 4 } else { part.len() <= length };
        *number = fits.then(|| digits(part, part.len())).flatten()?;
    }
    parts.next().is_none().then_some((numbers, rest.trim_start_matches([' ', 'T', ','])))
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let plain = text.len() == count && count > 0 && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// `20131231`, `201312`, and a time of day of four or six digits behind the former.
fn compact(text: &str) -> Option<Stamp> {
    if !matches!(text.len(), 6 | 8 | 12 | 14) || !text.is_ascii() {
        return None;
    }
    let part = |from: usize, to: usize| digits(text.get(from..to)?, to - from);
    let year = part(0, 4).filter(|year| (1900..2200).contains(year))?;
    let day_of_month = if text.len() == 6 { 1 } else { part(6, 8)? };
    let date = day([year, part(4, 6)?, day_of_month])?;
    let clock = match text.len() {
        12 => format!("{}:{}", &text[8..10], &text[10..]),
        14 => format!("{}:{}:{}", &text[8..10], &text[10..12], &text[12..]),
        _ => String::new(),
    };
    at(date, &clock)
}

/// Days since 1970 of a year, a month and a day.
fn day([year, month, day]: [i64; 3]) -> Option<i64> {
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
    date.ok().map(days_from_civil)
}

/// A day and a time of day, which may be missing.
fn at(day: i64, time: &str) -> Option<Stamp> {
    let Stamp { ticks, digits } = match time {
        "" => Stamp { ticks: 0, digits: 0 },
        time => clock(time)?,
    };
    let midnight = timestamp::rescale(day * 86_400, 0, digits)?;
    Some(Stamp { ticks: midnight.checked_add(ticks)?, digits })
}

/// `16:39`, `16:39:18.5` or `4:39 PM` as the time since midnight.
fn clock(text: &str) -> Option<Stamp> {
    let upper = text.to_ascii_uppercase();
    let halves = [(" AM", 0), ("AM", 0), (" PM", 12), ("PM", 12)];
    let half = halves.into_iter().find_map(|(end, hours)| Some((upper.strip_suffix(end)?, hours)));
    let (time, afternoon) =
        half.map_or((upper.as_str(), None), |(time, hours)| (time, Some(hours)));
    let mut parts = time.split(':');
    let whole = |part: Option<&str>, most: i64| {
        let part = part.filter(|part| part.len() <= 2)?;
        digits(part, part.len()).filter(|&value| value <= most)
    };
    let mut hour = whole(parts.next(), 23)?;
    if let Some(hours) = afternoon {
        hour = Some(hour).filter(|hour| (1..=12).contains(hour))? % 12 + hours;
    }
    let minute = whole(parts.next(), 59)?;
    let second = match parts.next() {
        None => Stamp { ticks: 0, digits: 0 },
        Some(second) => timestamp::decimal(second.as_bytes()).filter(|second| {
            (0..60).contains(&(second.ticks / 10i64.pow(u32::from(second.digits))))
                && !second_is_signed(time)
        })?,
    };
    let minutes = timestamp::rescale(3600 * hour + 60 * minute, 0, second.digits)?;
    parts.next().is_none().then_some(Stamp { ticks: minutes + second.ticks, digits: second.digits })
}

fn second_is_signed(time: &str) -> bool {
    time.contains(['-', '+'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<DateForm> {
        DateForm::of(&values.iter().map(|value| value.as_bytes()).collect::<Vec<_>>())
    }

    fn seconds(form: DateForm, text: &str) -> Option<i64> {
        form.parse(text.as_bytes()).map(|stamp| stamp.ticks / 10i64.pow(u32::from(stamp.digits)))
    }

    #[test]
    fn a_value_above_twelve_tells_days_from_months() {
        assert_eq!(of(&["05/01/2021", "13/01/2021"]), Some(DateForm::DayFirst));
        assert_eq!(of(&["05/01/2021", "1/31/2021 3:04 PM"]), Some(DateForm::MonthFirst));
        assert_eq!(of(&["05.01.2021", "06.01.2021"]), Some(DateForm::DayOrMonthFirst));
        assert_eq!(of(&["2021-01-05", "2021-01-31 07:00:00 PM"]), Some(DateForm::Iso));
        assert_eq!(of(&["2010-01", "2010-12"]), Some(DateForm::Month));
        assert_eq!(of(&["2010Q1", "2010-Q4"]), Some(DateForm::Quarter));
        assert_eq!(of(&["10.0.0.1", "1.2.3"]), None);
        assert_eq!(of(&["Monday", "05/01/21"]), None);
    }

    #[test]
    fn every_form_is_read_as_the_same_day() {
        let day = seconds(DateForm::Iso, "2021-01-31").unwrap();
        assert_eq!(day, 1_612_051_200);
        assert_eq!(seconds(DateForm::DayFirst, "31.01.2021"), Some(day));
        assert_eq!(seconds(DateForm::MonthFirst, "01/31/2021"), Some(day));
        assert_eq!(seconds(DateForm::Digits, "20210131"), Some(day));
        assert_eq!(seconds(DateForm::Digits, "20210131010203"), Some(day + 3723));
        assert_eq!(seconds(DateForm::MonthFirst, "1/31/2021 12:00:05 AM"), Some(day + 5));
        assert_eq!(seconds(DateForm::DayFirst, "31/1/2021 13:00"), Some(day + 13 * 3600));
        assert_eq!(seconds(DateForm::Quarter, "2021Q1"), Some(1_609_459_200));
        assert_eq!(seconds(DateForm::Month, "2021-01"), Some(1_609_459_200));
        for bad in ["31.02.2021", "1.1.21", "31.01.2021 25:00", "31.01.2021 13:00 PM", "31-01/2021"]
        {
            assert_eq!(seconds(DateForm::DayFirst, bad), None, "{bad}");
        }
        assert_eq!(seconds(DateForm::Digits, "20211331"), None);
        assert_eq!(seconds(DateForm::Quarter, "2021Q5"), None);
    }

    #[test]
    fn parts_of_a_time_are_put_together() {
        let mut calendar = Calendar::default();
        for (part, field) in
            [(TimePart::Year, "2021"), (TimePart::Month, "1"), (TimePart::Day, "31")]
        {
            assert!(calendar.take(part, field.as_bytes()));
        }
        assert!(calendar.take(TimePart::Hour, b"23") && !calendar.take(TimePart::Minute, b"60"));
        assert_eq!(calendar.stamp().unwrap().ticks, 1_612_051_200 + 23 * 3600);
        assert!(!calendar.take(TimePart::Month, b"13") && calendar.take(TimePart::Month, b"2"));
        assert_eq!(calendar.stamp(), None);
        let mut calendar = Calendar::default();
        assert!(calendar.take(TimePart::Date(DateForm::Iso), b"2021-01-31"));
        assert!(calendar.take(TimePart::Clock, b"01:02:03.5"));
        let stamp = Stamp { ticks: (1_612_051_200 + 3723) * 1000 + 500, digits: 3 };
        assert_eq!(calendar.stamp(), Some(stamp));
    }
}
