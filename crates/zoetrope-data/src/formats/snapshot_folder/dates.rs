//! The dates in the names of snapshots: one way of writing them for all names of a folder.

use jiff::civil::Date;
use zoetrope_graph::Time;

use crate::table::timestamp::days_from_civil;

/// How names write their dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `20200301` or `2020-03-01` with any separator, perhaps with hour, minute and second behind.
    Day,
    /// `01.03.2020`.
    DayFirst,
    /// `03.01.2020`.
    MonthFirst,
    /// `2020-03`.
    Month,
    /// `2020`.
    Year,
}

/// What the names of a folder say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Dates {
    /// The time of each name, and when the last snapshot ends.
    Known { times: Vec<Time>, end: Time },
    /// No value shows whether the day or the month comes first.
    Ambiguous,
    /// Every name has a date, and these two have the same.
    Repeated { one: usize, two: usize },
    /// Not every name has a date.
    None,
}

/// The times of names, in Unix seconds.
pub(super) fn of(names: &[&str]) -> Dates {
    let all = |form: Form| -> Option<Vec<(Time, Time)>> {
        names.iter().map(|name| form.of(name)).collect()
    };
    let forms = [Form::Day, Form::DayFirst, Form::MonthFirst, Form::Month, Form::Year];
    let Some((form, found)) = forms.into_iter().find_map(|form| Some((form, all(form)?))) else {
        return Dates::None;
    };
    if form == Form::DayFirst && all(Form::MonthFirst).is_some() {
        return Dates::Ambiguous;
    }
    let mut sorted: Vec<usize> = (0..found.len()).collect();
    sorted.sort_by_key(|&at| found[at]);
    let Some(&last) = sorted.last() else { return Dates::None };
    match sorted.windows(2).find(|pair| found[pair[0]].0 == found[pair[1]].0) {
        // Four digits may be any number.
        Some(_) if form == Form::Year => Dates::None,
        Some(pair) => Dates::Repeated { one: pair[0], two: pair[1] },
        None => {
            let end = found[last].1;
            Dates::Known { times: found.into_iter().map(|(time, _)| time).collect(), end }
        }
    }
}

impl Form {
    /// When the date in a name begins and ends.
    fn of(self, name: &str) -> Option<(Time, Time)> {
        let runs: Vec<&str> =
            name.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).collect();
        match self {
            Self::Day => {
                let split = |run: &&str| run.len() == 8;
                let whole = (0..runs.len()).filter(|&at| split(&runs[at])).find_map(|at| {
                    let run = runs[at];
                    Some((day(&run[..4], &run[4..6], &run[6..])?, at + 1))
                });
                let (start, next) = whole.or_else(|| {
                    (0..runs.len().saturating_sub(2))
                        .filter(|&at| runs[at].len() == 4)
                        .find_map(|at| Some((day(runs[at], runs[at + 1], runs[at + 2])?, at + 3)))
                })?;
                Some(clock(start, &runs[next..]))
            }
            Self::DayFirst | Self::MonthFirst => runs.windows(3).find_map(|parts| {
                let (day_of_month, month) = match self {
                    Self::DayFirst => (parts[0], parts[1]),
                    _ => (parts[1], parts[0]),
                };
                let start = day(parts[2], month, day_of_month)?;
                Some((start, start + DAY_SECONDS))
            }),
            Self::Month => runs.windows(2).find_map(|parts| {
                let start = day(parts[0], parts[1], "1").filter(|_| parts[1].len() == 2)?;
                let month: i64 = parts[1].parse().ok()?;
                let year: i64 = parts[0].parse().ok()?;
                let end = days([year + month / 12, month % 12 + 1, 1])? * DAY_SECONDS;
                Some((start, end))
            }),
            Self::Year => match runs[..] {
                [year] => {
                    let start = day(year, "1", "1")?;
                    let end = days([year.parse::<i64>().ok()? + 1, 1, 1])? * DAY_SECONDS;
                    Some((start, end))
                }
                _ => None,
            },
        }
    }
}

const DAY_SECONDS: i64 = 86_400;

/// Adds the hour, minute and second that stand behind a day, with two digits each.
fn clock(start: Time, runs: &[&str]) -> (Time, Time) {
    let (mut time, mut length) = (start, DAY_SECONDS);
    for (run, (unit, most)) in runs.iter().zip([(3600, 23), (60, 59), (1, 59)]) {
        let value = run.parse::<i64>().ok().filter(|&value| run.len() == 2 && value <= most);
        let Some(value) = value else { break };
        (time, length) = (time + unit * value, unit);
    }
    (time, time + length)
}

/// Midnight UTC of a year of four digits, a month and a day of one or two.
fn day(year: &str, month: &str, day: &str) -> Option<Time> {
    let number =
        |text: &str, most: usize| (text.len() <= most).then(|| text.parse::<i64>().ok()).flatten();
    // A number that happens to be a date of another age is just a number.
    let year = number(year, 4).filter(|year| (1900..2200).contains(year))?;
    Some(days([year, number(month, 2)?, number(day, 2)?])? * DAY_SECONDS)
}

fn days([year, month, day]: [i64; 3]) -> Option<i64> {
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
    date.ok().map(days_from_civil)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(names: &[&str]) -> Option<Vec<Time>> {
        match of(names) {
            Dates::Known { times, .. } => Some(times),
            _ => None,
        }
    }

    #[test]
    fn dates_are_found_in_names() {
        assert_eq!(times(&["as19971108.txt"]), Some(vec![878_947_200]));
        assert_eq!(times(&["net-2000-01-02.csv"]), Some(vec![946_771_200]));
        for name in ["g12345678.txt", "as19971308.txt", "step12.txt", "a2020b2021.txt"] {
            assert_eq!(of(&[name]), Dates::None, "{name}");
        }
        let hours = of(&["2020-03-01T05.csv", "2020-03-01T07.csv"]);
        let start = 1_583_020_800;
        let times = vec![start + 5 * 3600, start + 7 * 3600];
        assert_eq!(hours, Dates::Known { times, end: start + 8 * 3600 });
    }

    #[test]
    fn days_and_months_are_told_apart_by_all_names() {
        let (april, march) = (1_585_699_200, 1_585_612_800);
        assert_eq!(times(&["01.04.2020.csv", "31.03.2020.csv"]), Some(vec![april, march]));
        assert_eq!(times(&["04-01-2020.csv", "03-31-2020.csv"]), Some(vec![april, march]));
        assert_eq!(of(&["01.04.2020.csv", "02.04.2020.csv"]), Dates::Ambiguous);
    }

    #[test]
    fn months_and_years_are_times() {
        let months = of(&["flows_2018-12.csv", "flows_2018-11.csv"]);
        let times = vec![1_543_622_400, 1_541_030_400];
        assert_eq!(months, Dates::Known { times, end: 1_546_300_800 });
        let years = of(&["1990.csv", "1991.csv"]);
        let times = vec![631_152_000, 662_688_000];
        assert_eq!(years, Dates::Known { times, end: 694_224_000 });
    }
}
