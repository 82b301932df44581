//! How a table was read: which column was what, how it is written, what its times mean.
//!
//! A run saves it, and later tables (new data of the run, pairs to predict) are read the same way as
//! far as they have the same columns. What the user says overrides it.

use serde::{Deserialize, Deserializer, Serialize};
use zoetrope_graph::{Time, TimeScale, TimeUnit};

use crate::assemble::{guess_unit, looks_like_unix};
use crate::options::{ColumnMap, ColumnRef, ReadOptions};
use crate::roles::{ColumnNote, Roles};
use crate::table::dialect::{self, Layout};
use crate::table::plan::column_names;

/// How a table was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableReading {
    /// The separator of text tables, as one character; a blank stands for any blanks.
    #[serde(default)]
    pub delimiter: Option<char>,
    /// The names of the columns, if the table has a header.
    #[serde(default)]
    pub header: Option<Vec<String>>,
    /// The number of columns.
    pub columns: usize,
    /// The place of the source vertex, from 0.
    pub src: usize,
    /// The place of the destination vertex.
    pub dst: usize,
    /// The place of the time.
    pub time: Option<usize>,
    /// The places of the columns that together make the time, from coarse to fine; empty if one
    /// column does. They are found again by their names.
    #[serde(default)]
    pub time_parts: Vec<usize>,
    /// The place of the weight.
    pub weight: Option<usize>,
    /// The place of the label.
    pub label: Option<usize>,
    /// The place of the column that says whether an event adds or removes its edge.
    pub kind: Option<usize>,
    /// The places of the features.
    pub features: Vec<usize>,
    /// What times mean; None without a column of times.
    pub times: Option<TimeReading>,
    /// Whether source and destination number their vertices separately.
    pub bipartite: bool,
    /// Whether identifiers of sources and of destinations are text.
    pub text_ids: [bool; 2],
}

/// What the times of a table mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeReading {
    /// The length of a tick.
    pub unit: TimeUnit,
    /// Whether tick 0 is 1970-01-01 00:00 UTC.
    pub unix: bool,
    /// The unit of a whole number in the table.
    pub number: TimeUnit,
    /// How many decimals of a number in the table a tick holds: with 3, `1.5` became 1500 ticks.
    #[serde(deserialize_with = "digits")]
    pub digits: u8,
    /// Whether the table has dates rather than numbers.
    pub dates: bool,
}

impl TimeReading {
    /// Whole numbers of ticks.
    pub fn ticks(scale: TimeScale) -> Self {
        let TimeScale { unit, unix } = scale;
        Self { unit, unix, number: unit, digits: 0, dates: false }
    }

    /// What a tick means.
    pub fn scale(&self) -> TimeScale {
        TimeScale { unit: self.unit, unix: self.unix }
    }

    /// Brings times of another table to these ticks. `time` has ticks of `digits` decimals of the
    /// numbers in that table, whose unit may be `given`, or of the seconds of its `dates`.
    ///
    /// Returns how many times were rounded down, because they are finer than a tick; the order of times
    /// is kept. None, and nothing is changed, if they cannot be brought there: dates, if these ticks do
    /// not count from 1970, or numbers that do not fit 64 bits.
    pub(crate) fn bring(
        &self,
        time: &mut [Time],
        digits: u8,
        dates: bool,
        given: Option<TimeUnit>,
    ) -> Option<usize> {
        let ends = [time.iter().min().copied()?, time.iter().max().copied()?];
        let (first, unit) = if dates {
            (ends[0], TimeUnit::Second)
        } else {
            let [first, last] = ends.map(|end| end / 10i64.pow(u32::from(digits)));
            (first, given.unwrap_or_else(|| guess_unit(last)))
        };
        let own = i32::from(self.digits) - i32::from(digits);
        let shift = match (self.unix, dates) {
            (false, true) => return None,
            (false, false) => own,
            // The unit of a number that counts from 1970 is known by its size.
            (true, dates) if dates || given.is_some() || looks_like_unix(first, unit) => {
                own + decimals(self.number) - decimals(unit)
            }
            (true, _) => own,
        };
        if shift == 0 {
            return Some(0);
        }
        let factor = 10i64.checked_pow(shift.unsigned_abs())?;
        if shift > 0 {
            ends.iter().try_for_each(|end| end.checked_mul(factor).map(|_| ()))?;
            time.iter_mut().for_each(|time| *time *= factor);
            return Some(0);
        }
        let rounded = time.iter().filter(|time| time.rem_euclid(factor) != 0).count();
        time.iter_mut().for_each(|time| *time = time.div_euclid(factor));
        Some(rounded)
    }
}

/// A number of decimals that a reader may have found.
fn digits<'de, D: Deserializer<'de>>(value: D) -> Result<u8, D::Error> {
    let digits = u8::deserialize(value)?;
    if digits <= 9 {
        Ok(digits)
    } else {
        Err(serde::de::Error::custom("a tick holds at most 9 decimals"))
    }
}

/// The unit of the whole numbers in a column whose ticks of `digits` decimals end at `last`.
pub(crate) fn unit_of_numbers(last: Option<&Time>, digits: u8) -> TimeUnit {
    guess_unit(last.map_or(0, |last| last / 10i64.pow(u32::from(digits))))
}

/// The decimals of a second that a unit holds; none for steps.
fn decimals(unit: TimeUnit) -> i32 {
    unit.ticks_per_second().map_or(0, |ticks| ticks.ilog10() as i32)
}

/// Stands for a role that is judged anew.
const JUDGED: Option<ColumnRef> = Some(ColumnRef::Absent);

/// How a table compares with one that was read before.
pub(crate) struct Followed {
    /// The columns to read; what the user named goes first.
    pub(crate) columns: ColumnMap,
    /// Whether the roles of the earlier table hold.
    pub(crate) holds: bool,
    /// What a user should know.
    pub(crate) warning: Option<String>,
}

impl TableReading {
    /// Which of `columns` columns has which role. How identifiers and times are written is left open.
    pub(crate) fn of_roles(roles: &Roles, columns: usize) -> Self {
        Self {
            delimiter: None,
            header: None,
            columns,
            src: roles.src,
            dst: roles.dst,
            time: roles.time,
            time_parts: roles.time_parts.iter().map(|&(column, _)| column).collect(),
            weight: roles.weight,
            label: roles.label,
            kind: roles.kind,
            features: roles.features.clone(),
            times: None,
            bipartite: false,
            text_ids: [false; 2],
        }
    }

    /// The place of a column of the earlier table in one with these names, or with this many columns
    /// and no names.
    pub(crate) fn place(
        &self,
        column: usize,
        names: Option<&[String]>,
        count: usize,
    ) -> Option<usize> {
        match (&self.header, names) {
            (Some(own), Some(names)) => {
                let name = own.get(column)?;
                // Names may repeat: the second of them stays the second.
                let before = own[..column].iter().filter(|other| *other == name).count();
                let same = names.iter().enumerate().filter(|(_, other)| *other == name);
                same.map(|(at, _)| at).nth(before)
            }
            // Without names columns are known by their places, if there are as many.
            (_, None) => Some(column).filter(|&column| count == self.columns && column < count),
            (None, Some(_)) => None,
        }
    }

    /// The place of the time, if it is one column.
    pub(crate) fn single_time(&self) -> Option<usize> {
        self.time.filter(|_| self.time_parts.is_empty())
    }

    /// Takes away the roles that were judged and that neither the user nor this table named.
    pub(crate) fn close(&self, map: &ColumnMap, roles: &mut Roles, notes: &mut [ColumnNote]) {
        let time = if self.time_parts.is_empty() { map.time.clone() } else { JUDGED };
        close(&ColumnMap { time, ..map.clone() }, roles, notes);
        if roles.time.is_none() {
            roles.time_parts.clear();
        }
    }

    /// The name of a column, if it has one.
    pub fn name(&self, column: usize) -> Option<&str> {
        self.header.as_ref().and_then(|names| names.get(column)).map(String::as_str)
    }

    /// Whether source, destination and time of the earlier table are in one with these columns.
    fn has_roles(&self, names: Option<&[String]>, count: usize) -> bool {
        let there = |column: usize| self.place(column, names, count).is_some();
        there(self.src) && there(self.dst) && self.time.is_none_or(there)
    }

    /// The layout of a table that is probably written as the earlier one was.
    ///
    /// # Errors
    /// As [`dialect::sniff`].
    pub(crate) fn sniff(
        &self,
        head: &[u8],
        whole: bool,
        options: &ReadOptions,
        is_like: impl Fn(&Self, Option<&[String]>, usize) -> bool,
    ) -> Result<Layout, &'static str> {
        let delimiter = self.delimiter.and_then(|letter| u8::try_from(letter).ok());
        // A header is one that has the names of the earlier one.
        let header = options.header.or(self.header.as_ref().map(|_| true));
        let before = dialect::sniff(head, whole, options.delimiter.or(delimiter), header);
        match before {
            Ok(layout) if is_like(self, names(&layout).as_deref(), layout.kinds.len()) => {
                Ok(layout)
            }
            _ => dialect::sniff(head, whole, options.delimiter, options.header),
        }
    }

    /// [`sniff`](Self::sniff) for data that goes on from the earlier table.
    pub(crate) fn sniff_data(
        &self,
        head: &[u8],
        whole: bool,
        options: &ReadOptions,
    ) -> Result<Layout, &'static str> {
        self.sniff(head, whole, options, Self::has_roles)
    }

    /// The roles of the earlier table in one with these columns.
    pub(crate) fn follow(
        &self,
        given: &ColumnMap,
        names: Option<&[String]>,
        count: usize,
    ) -> Followed {
        let stated = stated(given, names);
        // A column that the user gave another role has no other one.
        let place =
            |column: usize| self.place(column, names, count).filter(|at| !stated.contains(at));
        let one = |given: &Option<ColumnRef>, usual: Option<usize>| {
            given.clone().or_else(|| usual.and_then(place).map(ColumnRef::Position))
        };
        if !self.has_roles(names, count) {
            let roles = [Some(self.src), Some(self.dst), self.time];
            let ends_given = given.src.is_some() && given.dst.is_some();
            let timed = self.time.is_none() || given.time.is_some();
            let missing: Vec<String> = roles
                .into_iter()
                .flatten()
                .filter(|&column| self.place(column, names, count).is_none())
                .map(|column| self.name(column).map_or_else(|| column.to_string(), quoted))
                .collect();
            let warning = (!(ends_given && timed)).then(|| match self.header {
                Some(_) => format!(
                    "there are no columns {} as in the data of the run: which column is what was \
                     judged anew, look at it with `zoetrope data inspect`",
                    missing.join(", ")
                ),
                None => format!(
                    "there are {count} columns, but {} without a header in the data of the run: \
                     which column is what was judged anew, look at it with `zoetrope data inspect`",
                    self.columns
                ),
            });
            return Followed { columns: given.clone(), holds: false, warning };
        }
        let warning = (names.is_none() && self.header.is_some()).then(|| {
            "there is no header: columns are taken by their places in the data of the run".into()
        });
        let features =
            || self.features.iter().filter_map(|&at| place(at)).map(ColumnRef::Position).collect();
        let columns = ColumnMap {
            src: one(&given.src, Some(self.src)),
            dst: one(&given.dst, Some(self.dst)),
            time: one(&given.time, self.single_time()),
            weight: one(&given.weight, self.weight),
            label: one(&given.label, self.label),
            kind: one(&given.kind, self.kind),
            features: given.features.clone().or_else(|| Some(features())),
        };
        Followed { columns, holds: true, warning }
    }
}

/// Takes away the roles that were judged and that neither the user nor the earlier table named.
fn close(map: &ColumnMap, roles: &mut Roles, notes: &mut [ColumnNote]) {
    let single = [
        (&map.time, &mut roles.time),
        (&map.weight, &mut roles.weight),
        (&map.label, &mut roles.label),
        (&map.kind, &mut roles.kind),
    ];
    for (named, role) in single {
        if let (None, Some(column)) = (named, *role) {
            *role = None;
            if let Some(note) = notes.get_mut(column) {
                (note.role, note.why) = ("not used", "not used in the data of the run".into());
            }
        }
    }
}

/// The places of the columns that a user named, as far as they are there.
fn stated(given: &ColumnMap, names: Option<&[String]>) -> Vec<usize> {
    let single = [&given.src, &given.dst, &given.time, &given.weight, &given.label, &given.kind];
    let features = given.features.iter().flatten();
    let place = |column: &ColumnRef| match column {
        ColumnRef::Position(place) => Some(*place),
        ColumnRef::Name(name) => names?.iter().position(|other| other == name),
        ColumnRef::Absent => None,
    };
    single.into_iter().flatten().chain(features).filter_map(place).collect()
}

/// The names of the columns of a layout with a header.
pub(crate) fn names(layout: &Layout) -> Option<Vec<String>> {
    layout.header.as_ref().map(|_| column_names(layout))
}

fn quoted(name: &str) -> String {
    format!("`{}`", crate::error::shorten(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(header: Option<&[&str]>, columns: usize) -> TableReading {
        TableReading {
            delimiter: Some(','),
            header: header.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            columns,
            src: 0,
            dst: 1,
            time: Some(2),
            time_parts: vec![],
            weight: None,
            label: None,
            kind: None,
            features: vec![],
            times: None,
            bipartite: false,
            text_ids: [false; 2],
        }
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn columns_are_found_by_name_and_the_second_of_a_name_stays_the_second() {
        let before = reading(Some(&["bank", "account", "bank", "t"]), 4);
        let names = texts(&["t", "bank", "x", "bank", "account"]);
        assert_eq!(before.place(0, Some(&names), 5), Some(1));
        assert_eq!(before.place(2, Some(&names), 5), Some(3));
        assert_eq!(before.place(3, Some(&names[1..]), 4), None);
        assert_eq!(before.place(3, None, 4), Some(3), "as many columns, no header");
        assert_eq!(before.place(1, None, 3), None);
        assert_eq!(reading(None, 4).place(1, Some(&names), 5), None);
    }

    #[test]
    fn what_a_user_names_has_no_second_role() {
        let mut before = reading(Some(&["a", "b", "start", "end"]), 4);
        before.weight = Some(3);
        let names = texts(&["a", "b", "start", "end"]);
        let time = Some(ColumnRef::Name("end".into()));
        let given = ColumnMap { time: time.clone(), ..ColumnMap::default() };
        let found = before.follow(&given, Some(&names), 4);
        assert!(found.holds && found.warning.is_none());
        assert_eq!((found.columns.time, found.columns.weight), (time, None));
        let other = before.follow(&ColumnMap::default(), Some(&texts(&["a", "c", "start"])), 3);
        assert!(!other.holds && other.warning.unwrap().contains("`b`"));
    }

    #[test]
    fn times_come_to_the_ticks_of_the_earlier_table() {
        let of = |unit, unix, digits| TimeReading {
            digits,
            number: if digits == 0 { unit } else { TimeUnit::Second },
            ..TimeReading::ticks(TimeScale { unit, unix })
        };
        let bring = |to: TimeReading, time: &[Time], digits, dates| {
            let mut time = time.to_vec();
            to.bring(&mut time, digits, dates, None).map(|lost| (time, lost))
        };
        let seconds = of(TimeUnit::Second, false, 0);
        // One decimal time made milliseconds of all of them.
        let found = bring(seconds, &[10_000, 11_500, -1], 3, false);
        assert_eq!(found, Some((vec![10, 11, -1], 2)));
        let decimal = of(TimeUnit::Millisecond, false, 3);
        assert_eq!(bring(decimal, &[7], 0, false), Some((vec![7_000], 0)));
        assert_eq!(bring(seconds, &[1_600_000_000], 0, true), None, "dates");
        let unix = of(TimeUnit::Millisecond, true, 0);
        assert_eq!(bring(unix, &[1_600_000_000], 0, true), Some((vec![1_600_000_000_000], 0)));
        assert_eq!(bring(unix, &[1_600_000_000], 0, false), Some((vec![1_600_000_000_000], 0)));
        let same = bring(unix, &[1_600_000_000_000], 0, false);
        assert_eq!(same, Some((vec![1_600_000_000_000], 0)));
        let finer = bring(of(TimeUnit::Second, true, 0), &[1_600_000_000_900], 3, false);
        assert_eq!(finer, Some((vec![1_600_000_000], 1)));
        assert_eq!(bring(decimal, &[i64::MAX], 0, false), None);
    }
}
