//! Times from text: decimal ticks and ISO dates, exact to the nanosecond.
//!
//! A decimal time such as `1289241911.72836` becomes an integer number of 10^-digits seconds
//! without passing through a float. `digits` is 0, 3, 6 or 9 so that the result has a name
//! (second, milli-, micro-, nanosecond).

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::table::number::unsigned_at;

/// A point in time: `ticks` of 10^-`digits` seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) ticks: i64,
    pub(crate) digits: u8,
}

/// Rounds a number of fraction digits up to 0, 3, 6 or 9.
fn named_digits(digits: usize) -> u8 {
    (digits.min(9).div_ceil(3) * 3) as u8
}

/// `ticks` at another number of digits; `None` if it overflows.
pub(crate) fn rescale(ticks: i64, from: u8, to: u8) -> Option<i64> {
    if to >= from {
        ticks.checked_mul(10i64.pow(u32::from(to - from)))
    } else {
        Some(ticks / 10i64.pow(u32::from(from - to)))
    }
}

/// A whole field as a decimal or scientific number of seconds (or of any other unit: the caller
/// decides what tick 1 means). Digits beyond the ninth are rounded.
pub(crate) fn decimal(field: &[u8]) -> Option<Stamp> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    let plain = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if !plain(whole) || !plain(fraction) {
        return scientific(field);
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let significant =
        fraction.len() - fraction.iter().rev().take_while(|&&byte| byte == b'0').count();
    let scale = named_digits(significant);
    let mut value = 0i128;
    for &byte in whole.iter().take(30) {
        value = value * 10 + i128::from(byte - b'0');
    }
    if whole.len() > 30 {
        return None;
    }
    for place in 0..usize::from(scale) {
        value = value * 10 + fraction.get(place).map_or(0, |&byte| i128::from(byte - b'0'));
    }
    let round_up = fraction.get(usize::from(scale)).is_some_and(|&byte| byte >= b'5');
    value += i128::from(round_up);
    let ticks = i64::try_from(if negative { -value } else { value }).ok()?;
    Some(Stamp { ticks, digits: scale })
}

/// A plain unsigned decimal from `bytes[at..]` for the fast path: at most 18 digits before the
/// point, at most nine behind it, no exponent.
#[inline(always)]
pub(crate) fn decimal_at(bytes: &[u8], at: usize) -> Option<(Stamp, usize)> {
    let (whole, end) = unsigned_at(bytes, at)?;
    match bytes.get(end) {
        Some(b'.') => fraction_at(bytes, end + 1, whole),
        _ => Some((Stamp { ticks: whole as i64, digits: 0 }, end)),
    }
}

fn fraction_at(bytes: &[u8], at: usize, whole: u64) -> Option<(Stamp, usize)> {
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + length;
    if length > 9 {
        return None;
    }
    let zeros = bytes[at..end].iter().rev().take_while(|&&byte| byte == b'0').count();
    let digits = named_digits(length - zeros);
    let mut fraction = 0;
    for place in 0..usize::from(digits) {
        let digit = if place < length { bytes[at + place] - b'0' } else { 0 };
        fraction = fraction * 10 + i64::from(digit);
    }
    let ticks = rescale(whole as i64, 0, digits)?.checked_add(fraction)?;
    Some((Stamp { ticks, digits }, end))
}

/// `1.2e9` and the like, as far as double precision is exact about it.
fn scientific(field: &[u8]) -> Option<Stamp> {
    let value: f64 = fast_float2::parse(field).ok()?;
    (value.is_finite() && value.fract() == 0.0 && value.abs() <= (1i64 << 53) as f64)
        .then_some(Stamp { ticks: value as i64, digits: 0 })
}

/// A whole field as an ISO 8601 date or date-time; without an offset it is taken as UTC.
pub(crate) fn iso(field: &[u8]) -> Option<Stamp> {
    let text = std::str::from_utf8(field).ok()?.trim();
    if let Some(stamp) = plain_iso(text.as_bytes()) {
        return Some(stamp);
    }
    // Anything with an offset, a fraction or another separator goes through the full parser.
    if !text.as_bytes().first()?.is_ascii_digit() && !text.starts_with(['-', '+']) {
        return None;
    }
    let nanoseconds = if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        instant.as_nanosecond()
    } else {
        let local: DateTime = text.parse().ok()?;
        TimeZone::UTC.to_timestamp(local).ok()?.as_nanosecond()
    };
    let mut ticks = nanoseconds;
    let mut digits = 9;
    while digits > 0 && ticks % 1000 == 0 {
        ticks /= 1000;
        digits -= 3;
    }
    Some(Stamp { ticks: i64::try_from(ticks).ok()?, digits })
}

/// `YYYY-MM-DD`, `YYYY-MM-DD?HH:MM` and `YYYY-MM-DD?HH:MM:SS` by position, with `-` or `/` in the
/// date: what nearly every file has.
fn plain_iso(text: &[u8]) -> Option<Stamp> {
    if !matches!(text.len(), 10 | 16 | 19) || !matches!(text[4], b'-' | b'/') || text[7] != text[4]
    {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        text[range].iter().try_fold(0i64, |value, &byte| {
            byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
        })
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let date = jiff::civil::Date::new(year as i16, month as i8, day as i8).ok()?;
    let mut seconds = days_from_civil(date) * 86_400;
    if text.len() > 10 {
        let separators = matches!(text[10], b' ' | b'T')
            && text[13] == b':'
            && text.get(16).is_none_or(|&byte| byte == b':');
        let second = if text.len() == 19 { number(17..19)? } else { 0 };
        let (hour, minute) = (number(11..13)?, number(14..16)?);
        if !separators || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        seconds += hour * 3600 + minute * 60 + second;
    }
    Some(Stamp { ticks: seconds, digits: 0 })
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar: whole 400-year eras plus the days
/// of a year that starts in March, so that the leap day is its last.
pub(crate) fn days_from_civil(date: jiff::civil::Date) -> i64 {
    let (month, day) = (i64::from(date.month()), i64::from(date.day()));
    let year = i64::from(date.year()) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ticks: i64, digits: u8) -> Option<Stamp> {
        Some(Stamp { ticks, digits })
    }

    #[test]
    fn decimals_stay_exact() {
        assert_eq!(decimal(b"1289241911.72836"), stamp(1_289_241_911_728_360, 6));
        assert_eq!(decimal(b"0.0"), stamp(0, 0));
        assert_eq!(decimal(b"36.500"), stamp(36_500, 3));
        assert_eq!(decimal(b"-1.5"), stamp(-1_500, 3));
        assert_eq!(decimal(b"1.23456789012"), stamp(1_234_567_890, 9));
        assert_eq!(decimal(b"1.2e9"), stamp(1_200_000_000, 0));
        assert_eq!(decimal(b"9223372036854775807"), stamp(i64::MAX, 0));
        for bad in [&b"9223372036854775808"[..], b"", b".", b"-", b"12x", b"nan", b"1e400"] {
            assert_eq!(decimal(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn the_cursor_agrees_with_the_whole_field() {
        for text in ["0", "0.0", "36.5", "1289241911.72836", "7.000000001", "7.", "12.340"] {
            let (stamp, end) = decimal_at(text.as_bytes(), 0).unwrap();
            assert_eq!((Some(stamp), end), (decimal(text.as_bytes()), text.len()), "{text}");
        }
    }

    #[test]
    fn iso_dates_become_unix_time() {
        assert_eq!(iso(b"1970-01-01"), stamp(0, 0));
        assert_eq!(iso(b"2008-09-11 03:16:14"), stamp(1_221_102_974, 0));
        assert_eq!(iso(b"2013-12-31T16:39:18Z"), stamp(1_388_507_958, 0));
        assert_eq!(iso(b"2000-02-29"), stamp(951_782_400, 0));
        assert_eq!(iso(b"1969-12-31 23:59:59"), stamp(-1, 0));
        assert_eq!(iso(b"2022/09/01 00:20"), stamp(1_661_991_600, 0));
        assert_eq!(iso(b"2022/09/01"), stamp(1_661_990_400, 0));
        assert_eq!(iso(b"2022/09-01"), None);
        assert_eq!(iso(b"2020-01-01T00:00:00.25+01:00"), stamp(1_577_833_200_250, 3));
        for bad in [&b"2001-02-29"[..], b"2001-13-01", b"2001-01-01 24:00:00", b"x", b"20010101x"] {
            assert_eq!(iso(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }
}
