//! Numbers, times and sizes as people write them.

use jiff::Timestamp;
use zoetrope_graph::{Time, TimeScale, TimeUnit};

/// A whole number with separators: `1,283,194`.
pub(crate) fn whole(number: u64) -> String {
    group(&number.to_string())
}

/// A whole number with a sign and separators.
pub(crate) fn signed(number: i64) -> String {
    let digits = group(&number.unsigned_abs().to_string());
    if number < 0 { format!("-{digits}") } else { digits }
}

fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with about four significant digits: `0.0223`, `17.1`, `1,283`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return value.to_string();
    }
    if size != 0.0 && !(1e-3..1e15).contains(&size) {
        return trim(format!("{value:.2e}"));
    }
    if size >= 1000.0 || value.fract() == 0.0 {
        return signed(value.round() as i64);
    }
    let decimals = match size {
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 4,
    };
    trim(format!("{value:.decimals$}"))
}

/// Drops zeros that say nothing at the end of a fraction.
fn trim(text: String) -> String {
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (text.as_str(), String::new()),
    };
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    format!("{mantissa}{exponent}")
}

/// A share as per cent: `22.9 %`, `0.0021 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let text = match percent {
        percent if percent == 0.0 || percent == 100.0 => format!("{percent:.0}"),
        percent if percent > 99.9 => "over 99.9".into(),
        percent if percent >= 0.1 => format!("{percent:.1}"),
        percent => number(percent),
    };
    format!("{text} %")
}

/// A size in bytes: `812 B`, `1.4 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A large number in words: `6.3 million`.
pub(crate) fn million(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{:.1} billion", value / 1e9),
        value if value >= 1e6 => format!("{:.1} million", value / 1e6),
        value => whole(value.round() as u64),
    }
}

/// Seconds that something took: `0.12 s`, `3 min 20 s`.
pub(crate) fn elapsed(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.0995 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 60.0 => format!("{seconds:.2} s"),
        seconds => format!("{} min {:02.0} s", (seconds / 60.0) as u64, seconds % 60.0),
    }
}

/// A stretch of time in its best unit: `31.0 days`, `5.2 years`, `120 steps`.
pub(crate) fn span(ticks: u64, unit: TimeUnit) -> String {
    let Some(rate) = unit.ticks_per_second() else {
        return plural(ticks, "step");
    };
    let seconds = ticks as f64 / rate as f64;
    const DAY: f64 = 86_400.0;
    let (value, name) = match seconds {
        seconds if seconds >= 730.5 * DAY => (seconds / (365.25 * DAY), "years"),
        seconds if seconds >= 2.0 * DAY => (seconds / DAY, "days"),
        seconds if seconds >= 7200.0 => (seconds / 3600.0, "hours"),
        seconds if seconds >= 120.0 => (seconds / 60.0, "minutes"),
        seconds if seconds >= 1.0 || seconds == 0.0 => return format!("{} s", number(seconds)),
        seconds if seconds >= 1e-3 => return format!("{} ms", number(seconds * 1e3)),
        seconds if seconds >= 1e-6 => return format!("{} µs", number(seconds * 1e6)),
        seconds => return format!("{} ns", number(seconds * 1e9)),
    };
    if value >= 10_000.0 {
        format!("{} {name}", whole(value.round() as u64))
    } else {
        format!("{value:.1} {name}")
    }
}

/// A point in time: a date if the origin is known, ticks otherwise.
pub(crate) fn moment(time: Time, scale: TimeScale) -> String {
    date(time, scale).unwrap_or_else(|| {
        let suffix = match scale.unit {
            TimeUnit::Step => return format!("step {}", signed(time)),
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "µs",
            TimeUnit::Nanosecond => "ns",
        };
        format!("{} {suffix}", signed(time))
    })
}

/// The date of a Unix time, or `None` if the origin is unknown or no calendar reaches it.
fn date(time: Time, scale: TimeScale) -> Option<String> {
    let rate = scale.unit.ticks_per_second().filter(|_| scale.unix)?;
    let timestamp = Timestamp::from_second(time.div_euclid(rate)).ok()?;
    let text = timestamp.strftime("%Y-%m-%d %H:%M:%S").to_string();
    Some(text.strip_suffix(" 00:00:00").map(str::to_owned).unwrap_or(text))
}

/// A count with its noun: `1 vertex` needs more than an s, so nouns with an irregular plural
/// are spelt out by the caller.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", whole(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_grouped_by_three() {
        assert_eq!(whole(0), "0");
        assert_eq!(whole(999), "999");
        assert_eq!(whole(1_000), "1,000");
        assert_eq!(whole(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(signed(-1_234), "-1,234");
        assert_eq!(signed(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn numbers_keep_about_four_digits() {
        assert_eq!(number(17.066), "17.07");
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(-3.0), "-3");
        assert_eq!(number(12_345.6), "12,346");
        assert_eq!(number(2.1e-5), "2.1e-5");
        assert_eq!(number(f64::INFINITY), "inf");
    }

    #[test]
    fn sizes_and_shares_read_naturally() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(percent(0.2292), "22.9 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.9999), "over 99.9 %");
    }

    #[test]
    fn spans_choose_their_unit() {
        assert_eq!(span(2_678_373, TimeUnit::Second), "31.0 days");
        assert_eq!(span(120, TimeUnit::Step), "120 steps");
        assert_eq!(span(5 * 365 * 86_400_000, TimeUnit::Millisecond), "5.0 years");
        assert_eq!(span(20, TimeUnit::Second), "20 s");
        assert_eq!(span(1_500, TimeUnit::Microsecond), "1.5 ms");
    }

    #[test]
    fn moments_are_dates_only_where_the_origin_is_known() {
        assert_eq!(moment(86_400, TimeScale::UNIX_SECONDS), "1970-01-02");
        assert_eq!(moment(1, TimeScale::UNIX_SECONDS), "1970-01-01 00:00:01");
        assert_eq!(moment(86_400, TimeScale::SECONDS), "86,400 s");
        assert_eq!(moment(Time::MAX, TimeScale::UNIX_SECONDS), "9,223,372,036,854,775,807 s");
    }
}
