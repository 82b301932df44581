//! Years, months, days and hours in columns of their own: which together make a time, and which only
//! repeat periodically.

use std::collections::HashSet;

use super::judge::Scored;
use super::names;
use super::{ColumnKind, TimePart};
use crate::table::date::DateForm;

/// The unit that a name speaks of, and its other words: `pickup_hour` is an hour of `pickup`.
fn unit(name: &str) -> Option<(TimePart, Vec<String>)> {
    let mut words = names::words(name);
    words.retain(|word| word != "of");
    if words.iter().any(|word| word == "week") {
        return None;
    }
    let of = |word: &str| match word {
        "year" | "yr" | "yyyy" => Some(TimePart::Year),
        "month" => Some(TimePart::Month),
        "day" | "dayofmonth" | "dom" => Some(TimePart::Day),
        "hour" | "hr" => Some(TimePart::Hour),
        "minute" => Some(TimePart::Minute),
        "second" => Some(TimePart::Second),
        _ => None,
    };
    let units: Vec<usize> = (0..words.len()).filter(|&at| of(&words[at]).is_some()).collect();
    let at = match units[..] {
        [at] => at,
        // `day_of_month`, `hour_of_day`; the day of a year is another thing.
        [at, next] if next == at + 1 => {
            let pair = (of(&words[at])?, of(&words[next])?);
            let known = [(TimePart::Day, TimePart::Month), (TimePart::Hour, TimePart::Day)];
            known.contains(&pair).then_some(at)?
        }
        _ => return None,
    };
    let part = of(&words[at])?;
    words.drain(at..at + units.len());
    Some((part, words))
}

/// The values that a unit has that comes round again, by name.
fn cycle(name: &str) -> Option<(f64, f64)> {
    let words = names::words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if has(&["weekday", "dow", "dayofweek"]) || has(&["day"]) && has(&["week"]) {
        return Some((0.0, 7.0));
    }
    match unit(name) {
        Some((TimePart::Year, _)) => None,
        Some((part, _)) => {
            part.range().map(|(least, most)| (least.min(0) as f64, most as f64 + 1.0))
        }
        None if has(&["week"]) => Some((0.0, 53.0)),
        None if has(&["quarter"]) => Some((0.0, 4.0)),
        None => None,
    }
}

/// See [`super::counts_steps`].
pub(super) fn counts_steps(name: &str) -> bool {
    let words = names::words(name);
    let steps =
        ["year", "quarter", "semester", "month", "week", "day", "hour", "minute", "step", "tick"];
    words.iter().any(|word| steps.contains(&word.as_str())) || names::counts_one_by_one(name)
}

/// See [`super::is_date_of_digits`].
pub(super) fn is_date_of_digits<'a>(
    name: Option<&str>,
    values: impl Iterator<Item = &'a [u8]>,
) -> bool {
    let mut different = HashSet::new();
    for value in values.filter(|value| !crate::table::number::is_missing(value)) {
        if DateForm::Digits.parse(value).is_none() {
            return false;
        }
        different.insert(value);
    }
    let telling = ["date", "day", "month", "datum", "fecha", "sqldate"];
    let named = name.is_some_and(|name| {
        names::words(name).iter().any(|word| {
            telling.contains(&word.as_str())
                || names::points(word).time > 0.0 && word.ends_with("date")
        })
    });
    different.len() >= if named { 1 } else { 10 }
}

impl Scored<'_> {
    /// Whether a column is a unit that comes round again: the hours of many days.
    pub(super) fn comes_round(&self, column: usize) -> bool {
        let facts = self.facts(column);
        let within = |(least, most): (f64, f64)| {
            facts.range.is_some_and(|(low, high)| least <= low && high <= most)
        };
        facts.kind.is_number()
            && facts.falls > 1
            && cycle(&self.columns.names[column]).is_some_and(within)
    }

    /// The unit that a column holds, if its values fit.
    fn part(&self, column: usize) -> Option<(TimePart, Vec<String>)> {
        let facts = self.facts(column);
        let (part, others) = unit(&self.columns.names[column])?;
        let (least, most) = part.range()?;
        let within = |(low, high)| least as f64 <= low && high <= most as f64;
        let fits = facts.present == 0 || facts.range.is_some_and(within);
        (facts.kind == ColumnKind::Integer && fits && !self.points[column].other_date)
            .then_some((part, others))
    }

    /// The columns that together make the time which `best` would be alone: year, month and so on,
    /// or a date and the hour or time of day. Empty if they are not.
    pub(super) fn parts_of_time(
        &self,
        best: Option<usize>,
        taken: &[usize],
    ) -> Vec<(usize, TimePart)> {
        let free = || (0..self.points.len()).filter(|column| !taken.contains(column));
        let parts: Vec<(usize, TimePart, Vec<String>)> = free()
            .filter_map(|column| self.part(column).map(|(part, others)| (column, part, others)))
            .collect();
        let date = best.and_then(|best| match self.facts(best).kind {
            ColumnKind::Date(form) if self.has_days_alone(best) => Some((best, form)),
            _ => None,
        });
        if let Some((best, form)) = date {
            let mut time = vec![(best, TimePart::Date(form))];
            let others = without_time_words(&self.columns.names[best]);
            let clock = free().find(|&column| {
                self.facts(column).clock
                    && without_time_words(&self.columns.names[column]) == others
            });
            let fine =
                finer(&parts, &others, &[TimePart::Hour, TimePart::Minute, TimePart::Second]);
            match clock {
                Some(clock) => time.push((clock, TimePart::Clock)),
                None => time.extend(fine),
            }
            return if time.len() > 1 { time } else { Vec::new() };
        }
        // A time of its own needs no parts.
        let alone = best.is_some_and(|best| parts.iter().all(|&(column, ..)| column != best));
        let year = parts.iter().find(|(_, part, _)| *part == TimePart::Year);
        let (Some((year, _, others)), false) = (year, alone) else { return Vec::new() };
        let units = [TimePart::Month, TimePart::Day, TimePart::Hour, TimePart::Minute];
        let fine = finer(&parts, others, &units);
        if fine.is_empty() { Vec::new() } else { [vec![(*year, TimePart::Year)], fine].concat() }
    }

    /// A finer unit beside the month, day or hour that `best` is: without a year they make no time.
    pub(super) fn finer_unit(&self, best: usize, taken: &[usize]) -> Option<usize> {
        let (unit, others) = self.part(best).filter(|(unit, _)| *unit != TimePart::Year)?;
        let mut free = (0..self.points.len()).filter(|column| !taken.contains(column));
        free.find(|&column| {
            self.part(column).is_some_and(|(part, words)| part != unit && words == others)
        })
    }

    /// Whether dates have no time of day.
    fn has_days_alone(&self, column: usize) -> bool {
        self.facts(column).values().all(|value| !value.contains(':'))
    }
}

/// The parts of these units with these other words in their names, as far as none is missing in
/// between: an hour without a day makes no time.
fn finer(
    parts: &[(usize, TimePart, Vec<String>)],
    others: &[String],
    units: &[TimePart],
) -> Vec<(usize, TimePart)> {
    let of = |unit: &TimePart| {
        let mut alike = parts.iter().filter(|(_, part, words)| part == unit && words == others);
        alike.next().map(|&(column, part, _)| (column, part))
    };
    units.iter().map_while(of).collect()
}

/// The words of a name without those that say that it is a time.
fn without_time_words(name: &str) -> Vec<String> {
    let mut words = names::words(name);
    words.retain(|word| names::points(word).time == 0.0);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_by_their_names() {
        assert_eq!(unit("Year"), Some((TimePart::Year, vec![])));
        assert_eq!(unit("pickup_hour"), Some((TimePart::Hour, vec!["pickup".to_owned()])));
        assert_eq!(unit("day_of_month"), Some((TimePart::Day, vec![])));
        assert_eq!(unit("hour_of_day"), Some((TimePart::Hour, vec![])));
        for name in ["day_of_week", "day_of_year", "weekday", "time", "yearly"] {
            assert_eq!(unit(name), None, "{name}");
        }
        assert!(counts_steps("year") && counts_steps("Step") && !counts_steps("timestamp"));
        for name in ["blockNumber", "turn_number", "round", "season", "slot"] {
            assert!(counts_steps(name), "{name}");
        }
        assert!(!counts_steps("block_time") && !counts_steps("start"));
    }

    #[test]
    fn digits_are_dates_under_a_name_that_says_so() {
        let values = |text: &'static str| text.split(' ').map(str::as_bytes);
        assert!(is_date_of_digits(Some("date"), values("20210131 20210201")));
        assert!(is_date_of_digits(Some("SQLDATE"), values("20210131")));
        assert!(!is_date_of_digits(Some("date"), values("20210131 20210199")));
        assert!(!is_date_of_digits(Some("time"), values("20210131 20210201")));
        assert!(!is_date_of_digits(None, values("20210131 20210201")));
    }
}
