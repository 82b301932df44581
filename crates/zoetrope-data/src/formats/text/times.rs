//! Exact times as text.

use zoetrope_graph::{Time, TimeScale, TimeUnit};

use crate::error::DataError;

/// How times are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeStyle {
    /// The integer that the store holds, in its own unit.
    #[default]
    Ticks,
    /// Seconds, with as many decimals as the unit has (`12.345` for milliseconds).
    Seconds,
    /// ISO 8601 in UTC (`2013-12-31T16:39:18Z`); needs times that count from 1970.
    Iso,
}

/// A way to write the times of one store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeFormat {
    style: TimeStyle,
    ticks_per_second: i64,
    digits: usize,
}

impl TimeFormat {
    /// Prepares a style for a scale.
    pub(crate) fn new(style: TimeStyle, scale: TimeScale) -> Result<Self, DataError> {
        let ticks_per_second = scale.unit.ticks_per_second().unwrap_or(1);
        if style == TimeStyle::Iso && (!scale.unix || scale.unit == TimeUnit::Step) {
            return Err(DataError::BadParameter {
                parameter: "time".into(),
                value: "iso".into(),
                expected: "ticks or seconds: these times do not count from 1970-01-01".into(),
            });
        }
        let digits = ticks_per_second.ilog10() as usize;
        Ok(Self { style, ticks_per_second, digits })
    }

    /// Appends a time.
    pub(crate) fn append(&self, time: Time, buffer: &mut Vec<u8>) {
        match self.style {
            TimeStyle::Ticks => integer(time, buffer),
            TimeStyle::Seconds => {
                if time < 0 {
                    buffer.push(b'-');
                }
                let size = time.unsigned_abs();
                let per_second = self.ticks_per_second.unsigned_abs();
                unsigned(size / per_second, buffer);
                self.append_fraction(size % per_second, buffer);
            }
            TimeStyle::Iso => self.append_iso(time, buffer),
        }
    }

    fn append_fraction(&self, ticks: u64, buffer: &mut Vec<u8>) {
        if self.digits != 0 {
            buffer.push(b'.');
            padded(ticks, self.digits, buffer);
        }
    }

    fn append_iso(&self, time: Time, buffer: &mut Vec<u8>) {
        let seconds = time.div_euclid(self.ticks_per_second);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400) as u64);
        let (year, month, day) = civil_from_days(days);
        if !(0..=9999).contains(&year) {
            buffer.push(if year < 0 { b'-' } else { b'+' });
            padded(year.unsigned_abs(), 6, buffer);
        } else {
            padded(year.unsigned_abs(), 4, buffer);
        }
        for (mark, value) in [
            (b'-', month),
            (b'-', day),
            (b'T', second / 3600),
            (b':', second / 60 % 60),
            (b':', second % 60),
        ] {
            buffer.push(mark);
            padded(value, 2, buffer);
        }
        self.append_fraction(time.rem_euclid(self.ticks_per_second) as u64, buffer);
        buffer.push(b'Z');
    }
}

/// Year, month and day of a number of days since 1970-01-01: the year is counted from March, so
/// that the leap day is its last and month lengths follow one linear rule.
fn civil_from_days(days: i64) -> (i64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u64, day as u64)
}

fn padded(value: u64, width: usize, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    buffer.resize(start + width, b'0');
    let mut rest = value;
    for place in (start..start + width).rev() {
        buffer[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Appends an integer in decimal.
pub(crate) fn integer(value: i64, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends an unsigned integer in decimal.
pub(crate) fn unsigned(value: u64, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(style: TimeStyle, unit: TimeUnit, time: Time) -> String {
        let format = TimeFormat::new(style, TimeScale { unit, unix: true }).unwrap();
        let mut buffer = Vec::new();
        format.append(time, &mut buffer);
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn seconds_keep_every_digit_of_the_unit() {
        assert_eq!(text(TimeStyle::Seconds, TimeUnit::Second, -7), "-7");
        assert_eq!(text(TimeStyle::Seconds, TimeUnit::Millisecond, 12_045), "12.045");
        assert_eq!(text(TimeStyle::Seconds, TimeUnit::Microsecond, -1), "-0.000001");
        assert_eq!(
            text(TimeStyle::Seconds, TimeUnit::Nanosecond, i64::MIN),
            "-9223372036.854775808"
        );
    }

    #[test]
    fn iso_needs_an_epoch() {
        let error = TimeFormat::new(TimeStyle::Iso, TimeScale::SECONDS).unwrap_err();
        assert!(error.to_string().contains("1970"), "{error}");
        assert_eq!(text(TimeStyle::Iso, TimeUnit::Second, -1), "1969-12-31T23:59:59Z");
        assert_eq!(text(TimeStyle::Iso, TimeUnit::Millisecond, -1), "1969-12-31T23:59:59.999Z");
        assert_eq!(text(TimeStyle::Iso, TimeUnit::Second, 951_782_400), "2000-02-29T00:00:00Z");
    }

    proptest! {
        #[test]
        fn iso_agrees_with_the_calendar_library(
            seconds in -62_000_000_000i64..250_000_000_000, micros in 0i64..1_000_000,
        ) {
            let ours = text(TimeStyle::Iso, TimeUnit::Microsecond, seconds * 1_000_000 + micros);
            let theirs: jiff::Timestamp = ours.parse().unwrap();
            prop_assert_eq!(theirs.as_microsecond(), seconds * 1_000_000 + micros);
        }
    }
}
