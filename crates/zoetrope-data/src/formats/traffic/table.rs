//! A csv table of numbers, with a header or without.

use std::path::Path;

use crate::error::{DataError, Location, Problem};
use crate::options::{Limits, ReadOptions};
use crate::progress::Progress;
use crate::roles::names_a_time;
use crate::source::{Source, bare_name};
use crate::table::timestamp::{self, Stamp};

/// A table of numbers; NaN where a cell is empty or says so.
#[derive(Default)]
pub(super) struct Table {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f64>,
    /// The names of the columns.
    pub(super) header: Option<Vec<String>>,
    /// When each row was measured, as ticks and their decimals of a second, if the first column
    /// says so; it is then no sensor.
    pub(super) times: Option<Vec<Stamp>>,
    /// What stands in the first column.
    pub(super) leading: Leading,
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

/// The value of a cell: NaN where missing, `None` where it is no number.
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    if matches!(cell, b"" | b"nan" | b"NaN" | b"NAN" | b"NA" | b"null") {
        return Some(f64::NAN);
    }
    let value = fast_float2::parse::<f64, _>(cell).ok()?;
    (value as f32).is_finite().then_some(value)
}

/// What stands in front of the sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Leading {
    /// Nothing: the first column is a sensor.
    #[default]
    Sensor,
    /// The time of each row.
    Time,
    /// A number for each row, as pandas writes its index: a column without a name.
    Index,
}

/// What stands in the first column: times if a name or the first row of values says so.
pub(super) fn leading(first: &[String], second: Option<&[String]>) -> Leading {
    let [name, rest @ ..] = first else { return Leading::Sensor };
    let is_date = |cell: &String| {
        number(cell.as_bytes()).is_none() && timestamp::iso(cell.as_bytes()).is_some()
    };
    let value = second.and_then(|second| second.first());
    if is_date(name) || value.is_some_and(is_date) || names_a_time(name) {
        return Leading::Time;
    }
    let named = !rest.is_empty() && rest.iter().all(|name| !name.is_empty());
    let whole = value.is_some_and(|value| value.parse::<u64>().is_ok());
    match name.is_empty() && named && whole {
        true => Leading::Index,
        false => Leading::Sensor,
    }
}

/// A time as a date or as a number of seconds.
fn time(cell: &[u8]) -> Option<Stamp> {
    let cell = cell.trim_ascii();
    timestamp::decimal(cell).or_else(|| timestamp::iso(cell))
}

/// Whether the first row names columns: it has text, or whole numbers that all differ and that the
/// second row could not hold (a fraction there, or values all below them).
pub(super) fn is_header(first: &[String], second: Option<&[String]>) -> bool {
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
    /// Reads all of a table; with `takes_times` its first column may be the time.
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
        table.leading = match takes_times {
            true => leading(&cells, second.as_deref()),
            false => Leading::Sensor,
        };
        let sensors = usize::from(table.leading != Leading::Sensor);
        table.columns -= sensors;
        table.times = (table.leading == Leading::Time).then(Vec::new);
        let values = second.as_deref().map(|second| &second[sensors.min(second.len())..]);
        if options.header.unwrap_or_else(|| is_header(&cells[sensors..], values)) {
            table.header = Some(cells[sensors..].to_vec());
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
        let leading = self.leading;
        let mut stamp = None;
        let mut cell = |at: usize, cell: &[u8]| match number(cell) {
            _ if at == 0 && leading == Leading::Index => {}
            _ if at == 0 && leading == Leading::Time => {
                stamp = time(cell);
                if stamp.is_none() {
                    good = false;
                    let found = String::from_utf8_lossy(cell).into_owned();
                    problems.add(line, Some(at), "a time", &found);
                }
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
        let found = self.values.len() - start;
        if good && found != self.columns {
            good = false;
            let expected = format!("{} cells, as in the first row", self.columns);
            problems.add(line, None, &expected, &found.to_string());
        }
        if good {
            self.rows += 1;
            if let Some(times) = &mut self.times {
                times.extend(stamp);
            }
        } else {
            self.skipped += u64::from(problems.options.lenient);
            self.values.truncate(start);
            self.missing = missing;
        }
    }
}

fn check_columns(columns: usize, limits: &Limits, path: &Path) -> Result<(), DataError> {
    match columns > limits.columns {
        false => Ok(()),
        true => Err(DataError::Limit {
            at: Location::file(path).line(1),
            what: "the number of columns",
            limit: limits.columns as u64,
            advice: "convert the data to npz",
        }),
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
