//! A csv table of numbers, with a header or without.

use std::path::Path;

use crate::error::{DataError, Location, Problem};
use crate::options::{Limits, ReadOptions};
use crate::progress::Progress;
use crate::roles::names_a_time;
use crate::source::{Source, bare_name};
use crate::table::date::DateForm;
use crate::table::timestamp::{self, Stamp};

/// A table of numbers; NaN if a cell is empty or says so.
#[derive(Default)]
pub(super) struct Table {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f64>,
    /// The names of the columns.
    pub(super) header: Option<Vec<String>>,
    /// When each row was measured, as ticks and their decimals of a second, if a column says so.
    pub(super) times: Option<Vec<Stamp>>,
    /// What each row is called, if the first column says so.
    pub(super) index: Vec<String>,
    /// The columns that are no sensors.
    pub(super) others: Others,
    pub(super) missing: u64,
    pub(super) skipped: u64,
}

/// Whether a file is worth a closer look: a csv by name, whose start has several columns.
pub(super) fn may_be_table(path: &Path, head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let wide = || split(line, delimiter(line)).len() >= super::LEAST_SENSORS;
    is_csv(path) && (head.is_empty() || wide())
}

/// Whether the name is that of a table.
pub(super) fn is_csv(path: &Path) -> bool {
    let name = bare_name(path).to_ascii_lowercase();
    [".csv", ".tsv", ".txt"].iter().any(|suffix| name.ends_with(suffix))
}

/// The separator of a line: the first of comma, semicolon and tab that it has, else blanks.
pub(super) fn delimiter(line: &[u8]) -> u8 {
    [b',', b';', b'\t'].into_iter().find(|byte| line.contains(byte)).unwrap_or(b' ')
}

/// The cells of a line. Quotes protect separators and are taken off.
pub(super) fn split(line: &[u8], delimiter: u8) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = Vec::new();
    let mut quoted = false;
    let mut bytes = line.trim_ascii().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                cell.push(b'"');
            }
            b'"' => quoted = !quoted,
            _ if byte == delimiter && !quoted => {
                // Blanks may come in runs.
                if delimiter != b' ' || !cell.is_empty() {
                    cells.push(text(&std::mem::take(&mut cell)));
                }
            }
            _ => cell.push(byte),
        }
    }
    cells.push(text(&cell));
    cells
}

fn text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell.trim_ascii()).into_owned()
}

/// The value of a cell: NaN if missing, `None` if it is no number.
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    if matches!(cell, b"" | b"nan" | b"NaN" | b"NAN" | b"NA" | b"null") {
        return Some(f64::NAN);
    }
    let value = fast_float2::parse::<f64, _>(cell).ok()?;
    (value as f32).is_finite().then_some(value)
}

/// Which columns of a table are no sensors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Others {
    /// The time of each row.
    pub(super) time: Option<usize>,
    /// The hour, beside a date.
    pub(super) hour: Option<usize>,
    /// A name or number for each row, as pandas writes its index: the first column, without a name.
    pub(super) index: bool,
}

impl Others {
    /// Finds them by the names or the first two rows of values.
    pub(super) fn of(first: &[String], second: Option<&[String]>) -> Self {
        let value = |at: usize| second.and_then(|second| second.get(at));
        let is_date = |cell: &String| {
            number(cell.as_bytes()).is_none() && date_time(cell.as_bytes()).is_some()
        };
        // In front of the sensors any name of a time will do; elsewhere it is the whole name.
        let named = |at: usize| {
            let words = first[at].split(|c: char| !c.is_alphanumeric()).count();
            names_a_time(&first[at]) && (at == 0 || words == 1)
        };
        let dated = |at: usize| is_date(&first[at]) || value(at).is_some_and(is_date);
        let epoch = |at: usize| {
            let numbers = [Some(&first[at]), value(at)];
            let [Some(one), Some(two)] =
                numbers.map(|cell| cell.and_then(|cell| number(cell.as_bytes())))
            else {
                return false;
            };
            (3e8..4.2e12).contains(&one) && one < two && one.fract() == 0.0
        };
        let columns = || 0..first.len();
        let time = columns().find(|&at| dated(at)).or_else(|| columns().find(|&at| named(at)));
        if let Some(time) = time {
            let is_hour = |at: &usize| *at != time && first[*at].eq_ignore_ascii_case("hour");
            return Self { time: Some(time), hour: columns().find(is_hour), index: false };
        }
        if first.len() > 1 && epoch(0) && !epoch(1) {
            return Self { time: Some(0), ..Self::default() };
        }
        let rest_named = first.len() > 1 && first[1..].iter().all(|name| !name.is_empty());
        let names_row = value(0)
            .is_some_and(|value| value.parse::<u64>().is_ok() || first[1..].contains(value));
        Self {
            index: first.first().is_some_and(String::is_empty) && rest_named && names_row,
            ..Self::default()
        }
    }

    /// Whether a column is none of them.
    pub(super) fn is_sensor(&self, at: usize) -> bool {
        self.time != Some(at) && self.hour != Some(at) && !(self.index && at == 0)
    }

    /// The cells of the sensors.
    pub(super) fn sensors(&self, cells: &[String]) -> Vec<String> {
        let sensors = cells.iter().enumerate().filter(|(at, _)| self.is_sensor(*at));
        sensors.map(|(_, cell)| cell.clone()).collect()
    }
}

/// A time as a date or as a number of seconds.
fn time(cell: &[u8]) -> Option<Stamp> {
    let cell = cell.trim_ascii();
    timestamp::decimal(cell).or_else(|| date_time(cell))
}

/// A date of a form that one value is enough to know.
fn date_time(cell: &[u8]) -> Option<Stamp> {
    DateForm::Iso.parse(cell)
}

/// Whether the first row names columns: it has a name in the place of the time, or text, or whole
/// numbers that all differ and that the second row could not hold (a fraction there, or values all
/// below them).
pub(super) fn is_header(others: &Others, first: &[String], second: Option<&[String]>) -> bool {
    let names_time = others.time.is_some_and(|at| time(first[at].as_bytes()).is_none());
    if names_time || others.index {
        return true;
    }
    let (first, second) = (others.sensors(first), second.map(|second| others.sensors(second)));
    let second = second.as_deref();
    if first.iter().any(|cell| number(cell.as_bytes()).is_none()) {
        return true;
    }
    let ids: Option<Vec<u64>> = first.iter().map(|cell| cell.parse().ok()).collect();
    let (Some(mut ids), Some(second)) = (ids, second) else { return false };
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return false;
    }
    let values = second.iter().filter_map(|cell| number(cell.as_bytes()));
    second.iter().any(|cell| cell.contains('.'))
        || values.fold(0.0, f64::max) < ids.first().map_or(0.0, |&id| id as f64)
}

impl Table {
    /// Puts the rows into another order.
    pub(super) fn sort(&mut self, order: &[usize]) {
        let row = |row: usize| &self.values[row * self.columns..(row + 1) * self.columns];
        let values = order.iter().flat_map(|&at| row(at).to_vec()).collect();
        self.times = self.times.take().map(|times| order.iter().map(|&at| times[at]).collect());
        if self.index.len() == order.len() {
            self.index = order.iter().map(|&at| self.index[at].clone()).collect();
        }
        self.values = values;
    }

    /// Reads all of a table; with `takes_times` a column may be the time or name the rows.
    ///
    /// # Errors
    /// [`DataError::Invalid`] with line and column of each ragged row and each cell that is no
    /// number; [`DataError::Limit`] for rows with too many columns.
    pub(super) fn read(
        path: &Path,
        takes_times: bool,
        options: &ReadOptions,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        let content = Source::open(path, &options.limits, progress)?.read_all(u64::MAX)?;
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
        let mut lines = (1..).zip(content.split(|&byte| byte == b'\n')).filter(|(_, line)| {
            let line = line.trim_ascii();
            !line.is_empty() && line[0] != b'#'
        });
        let mut table = Self::default();
        let mut ahead: Vec<(u64, &[u8])> = lines.by_ref().take(2).collect();
        let Some(&(_, first)) = ahead.first() else { return Ok(table) };
        let delimiter = options.delimiter.unwrap_or_else(|| delimiter(first));
        let cells = split(first, delimiter);
        table.columns = cells.len();
        check_columns(table.columns, &options.limits, path)?;
        let second = ahead.get(1).map(|(_, line)| split(line, delimiter));
        if takes_times {
            table.others = Others::of(&cells, second.as_deref());
        }
        let names = table.others.sensors(&cells);
        table.columns = names.len();
        table.times = table.others.time.map(|_| Vec::new());
        let named = || is_header(&table.others, &cells, second.as_deref());
        if options.header.unwrap_or_else(named) {
            table.header = Some(names);
            ahead.remove(0);
        }
        let mut problems = Problems { path, options, list: Vec::new(), total: 0 };
        for (number, line) in ahead.into_iter().chain(lines) {
            table.row(number, line, delimiter, &mut problems);
        }
        match problems.total {
            0 => Ok(table),
            total => Err(DataError::Invalid { problems: problems.list, total }),
        }
    }

    fn row(&mut self, line: u64, text: &[u8], delimiter: u8, problems: &mut Problems<'_>) {
        let start = self.values.len();
        let missing = self.missing;
        let mut good = true;
        let others = self.others.clone();
        let (mut stamp, mut hours) = (None, Some(0));
        let mut cell = |at: usize, cell: &[u8]| match number(cell) {
            value if others.hour == Some(at) => {
                hours = value.filter(|hour| (0.0..24.0).contains(hour)).map(|hour| hour as i64);
            }
            _ if others.time == Some(at) => {
                stamp = time(cell);
                if stamp.is_none() {
                    good = false;
                    let found = String::from_utf8_lossy(cell).into_owned();
                    problems.add(line, Some(at), "a time", &found);
                }
            }
            _ if others.index && at == 0 => {
                self.index.push(String::from_utf8_lossy(cell.trim_ascii()).into_owned());
            }
            Some(value) => {
                self.missing += u64::from(value.is_nan());
                self.values.push(value);
            }
            None => {
                good = false;
                let found = String::from_utf8_lossy(cell).into_owned();
                problems.add(line, Some(at), "a number", &found);
            }
        };
        if text.contains(&b'"') || delimiter == b' ' {
            let cells = split(text, delimiter);
            cells.iter().enumerate().for_each(|(at, text)| cell(at, text.as_bytes()));
        } else {
            let cells = text.split(|&byte| byte == delimiter);
            cells.enumerate().for_each(|(at, text)| cell(at, text));
        }
        if good && hours.is_none() {
            good = false;
            problems.add(line, others.hour, "an hour from 0 to 23", "another value");
        }
        let found = self.values.len() - start;
        if good && found != self.columns {
            good = false;
            let expected = format!("{} cells, as in the first row", self.columns);
            problems.add(line, None, &expected, &found.to_string());
        }
        if good {
            self.rows += 1;
            if let Some(times) = &mut self.times {
                let seconds = 3600 * hours.unwrap_or(0);
                times.extend(stamp.map(|Stamp { ticks, digits }| Stamp {
                    ticks: ticks + seconds * 10i64.pow(u32::from(digits)),
                    digits,
                }));
            }
        } else {
            self.index.truncate(self.rows);
            self.skipped += u64::from(problems.options.lenient);
            self.values.truncate(start);
            self.missing = missing;
        }
    }
}

fn check_columns(columns: usize, limits: &Limits, path: &Path) -> Result<(), DataError> {
    if columns > limits.columns {
        Err(DataError::Limit {
            at: Location::file(path).line(1),
            what: "the number of columns",
            limit: limits.columns as u64,
            advice: "convert the data to npz",
        })
    } else {
        Ok(())
    }
}

struct Problems<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
    list: Vec<Problem>,
    total: u64,
}

impl Problems<'_> {
    fn add(&mut self, line: u64, column: Option<usize>, expected: &str, found: &str) {
        if self.options.lenient {
            return;
        }
        self.total += 1;
        if self.list.len() < self.options.max_problems.max(1) {
            let mut at = Location::file(self.path).line(line);
            if let Some(column) = column {
                at = at.column(format!("column {}", column + 1));
            }
            self.list.push(Problem::new(at, expected, found));
        }
    }
}
