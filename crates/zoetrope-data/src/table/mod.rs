//! Text tables: one event a line, in whatever dialect.
//!
//! [`read`] looks at the first rows, decides separator, header and the role of each column, then
//! reads the file in parallel blocks and joins them into an [`EventStore`]. Formats that are
//! text tables underneath (edge lists, JODIE, the csv parts of TGL and TGN) differ only in the
//! [`Preset`] they pass.

pub(crate) mod chunk;
pub mod date;
pub(crate) mod dialect;
mod fast_row;
mod finish;
pub mod kind;
pub(crate) mod number;
mod pipeline;
pub(crate) mod plan;
pub mod reading;
pub(crate) mod row;
pub(crate) mod timestamp;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use date::DateForm;
use kind::ColumnKind;
use zoetrope_graph::EventStore;

use crate::error::{DataError, Location};
use crate::options::ReadOptions;
use crate::progress::Progress;
use crate::source::Source;
pub use reading::{TableReading, TimeReading};

/// What a format knows about its columns beforehand; empty for a free edge list.
#[derive(Debug, Clone, Default)]
pub struct Preset {
    /// Fixed roles by position; otherwise names and values decide.
    pub roles: Option<crate::roles::Roles>,
    /// Whether source and destination number their vertices separately.
    pub bipartite: bool,
    /// Whether to report the row of the file that each event came from: features of TGL and TGN
    /// stand in files of their own, in row order.
    pub keep_order: bool,
    /// Whether identifiers of sources and of destinations are text, if that is known.
    pub text_ids: Option<[bool; 2]>,
    /// The ticks that times are brought to.
    pub times: Option<TimeReading>,
}

/// A table as read.
#[derive(Debug)]
pub struct Table {
    /// The events.
    pub store: EventStore,
    /// What was decided about the file, in words.
    pub reason: String,
    /// Whether the rows were in time order.
    pub sorted: bool,
    /// The row (from 0, good rows only) that each event came from, if it was asked for and
    /// the rows were not in time order.
    pub order: Option<Vec<u64>>,
    /// Bad rows that were skipped.
    pub skipped_rows: u64,
    /// Missing values, kept as NaN.
    pub missing_values: u64,
    /// What a user should know.
    pub warnings: Vec<String>,
    /// The columns and what they were taken for; empty if the format fixes them.
    pub columns: Vec<crate::roles::ColumnNote>,
    /// How it was read, so that other tables can be read the same way.
    pub reading: TableReading,
}

/// How much of the file is looked at before it is read.
const HEAD_BYTES: usize = 128 << 10;

/// Reads a text table.
///
/// # Errors
/// If the file cannot be read, no layout fits, or rows are bad and `options.lenient` is off.
pub fn read(
    path: &Path,
    preset: &Preset,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Table, DataError> {
    let mut source = Source::open(path, &options.limits, progress)?;
    let (head, whole) = read_head(&mut source, options)?;
    let layout = match options.usual.as_deref() {
        Some(usual) => usual.sniff_data(&head, whole, options),
        None => dialect::sniff(&head, whole, options.delimiter, options.header),
    };
    let mut layout = layout.map_err(|found| {
        DataError::invalid(Location::file(path), "rows of an event table", found)
    })?;
    if !whole {
        settle_dates(path, &mut layout, options)?;
    }
    let plan = plan::make(path, &layout, preset, options)?;
    let rows = &head[layout.data_start..];
    let start = layout.data_start as u64;
    let columns = pipeline::read_rows(&plan.rows, source, rows, start, &options.limits)?;
    finish::finish(path, &layout, &plan, preset, options, columns)
}

/// Reads on until a value above 12 shows whether the days or the months of dates such as 05/01/2021
/// come first, if the first rows do not.
fn settle_dates(
    path: &Path,
    layout: &mut dialect::Layout,
    options: &ReadOptions,
) -> Result<(), DataError> {
    let unsettled = ColumnKind::Date(DateForm::DayOrMonthFirst);
    if !layout.kinds.contains(&unsettled) {
        return Ok(());
    }
    let source = Source::open(path, &options.limits, &crate::progress::Quiet)?;
    let mut reader = BufReader::new(source);
    let mut line = Vec::new();
    while layout.kinds.contains(&unsettled) {
        line.clear();
        let most = options.limits.line_bytes as u64;
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
        if read.map_err(|error| DataError::reading(path, error))? == 0 {
            break;
        }
        let Ok(fields) = dialect::split_row(&layout.dialect, &line, layout.kinds.len()) else {
            continue;
        };
        for (kind, field) in layout.kinds.iter_mut().zip(&fields.first) {
            if *kind == unsettled {
                let is = |form: DateForm| form.parse(field.trim_ascii()).is_some();
                *kind = match (is(DateForm::DayFirst), is(DateForm::MonthFirst)) {
                    (true, false) => ColumnKind::Date(DateForm::DayFirst),
                    (false, true) => ColumnKind::Date(DateForm::MonthFirst),
                    _ => unsettled,
                };
            }
        }
    }
    Ok(())
}

/// Whether the rows in `head` have a column of times; `None` if it is uncertain what they are.
pub(crate) fn find_time(path: &Path, head: &[u8]) -> Option<bool> {
    let options = ReadOptions::default();
    let Ok(layout) = dialect::sniff(head, true, None, None) else { return Some(false) };
    match plan::make(path, &layout, &Preset::default(), &options) {
        Ok(plan) => Some(plan.rows.has_time),
        Err(DataError::Uncertain { .. }) => None,
        Err(_) => Some(false),
    }
}

/// The first bytes, up to a line end; more than usual only if the first line is longer.
pub(crate) fn read_head(
    source: &mut Source<'_>,
    options: &ReadOptions,
) -> Result<(Vec<u8>, bool), DataError> {
    let mut head = Vec::new();
    loop {
        let start = head.len();
        head.resize(start + HEAD_BYTES, 0);
        let filled = source.fill(&mut head[start..])?;
        head.truncate(start + filled);
        if filled < HEAD_BYTES {
            return Ok((head, true));
        }
        if head.contains(&b'\n') {
            return Ok((head, false));
        }
        if head.len() > options.limits.line_bytes {
            return Err(DataError::Limit {
                at: Location::file(source.path()).line(1),
                what: "the length of a line in bytes",
                limit: options.limits.line_bytes as u64,
                advice: "check that the file has line ends",
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Quiet;

    fn load(text: &str) -> Result<Table, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        read(&path, &Preset::default(), &ReadOptions::default(), &Quiet)
    }

    #[test]
    fn times_in_several_columns_sort_the_events() {
        let text = "year,month,day,origin,dest\n2013,2,1,a,b\n2013,1,31,b,c\n2013,2,30,c,d\n";
        let error = load(text).unwrap_err().to_string();
        assert!(error.contains(":4") && error.contains("a day that the calendar has"), "{error}");
        let table = load(&text.replace("2013,2,30", "2013,2,28")).unwrap();
        assert_eq!(table.store.time(), [1_359_590_400, 1_359_676_800, 1_362_009_600]);
        assert!(!table.sorted && table.reason.contains("time `year` and `month` and `day`"));
        let clock =
            load("src,dst,date,time\n1,2,2021-01-31,01:00\n2,3,2021-01-31,00:30\n").unwrap();
        assert_eq!(clock.store.time(), [1_612_053_000, 1_612_054_800]);
    }

    #[test]
    fn days_and_months_are_told_apart_far_down_the_file() {
        let rows = |last: &str| {
            let mut text = "from,to,when\n".to_owned();
            (0..9000)
                .for_each(|row| text.push_str(&format!("{},{},05/01/2021\n", row % 7, row % 5)));
            text + last
        };
        let table = load(&rows("1,2,13/01/2021\n")).unwrap();
        assert_eq!(table.store.time()[0], 1_609_804_800);
        let error = load(&rows("1,2,06/01/2021\n")).unwrap_err().to_string();
        assert!(error.contains("whether the day or the month comes first"), "{error}");
    }

    #[test]
    fn decimal_commas_zeros_in_front_and_years_are_read_as_what_they_are() {
        let table = load("from;to;time;amount\n1;2;0;41,66\n2;3;1;7\n").unwrap();
        assert_eq!(table.store.weight(), Some(&[41.66, 7.0][..]));
        let table = load("src,dst,time\n007,8,0\n7,8,1\n").unwrap();
        assert_eq!(table.store.vertices(), 3);
        let mut late: String = "src,dst,time\n".into();
        (0..9000).for_each(|row| late.push_str(&format!("{},{},{row}\n", row % 7, row % 5)));
        let error = load(&(late + "007,8,9001\n")).unwrap_err().to_string();
        assert!(error.contains("--text-ids"), "{error}");
        let table = load("exporter,importer,year\na,b,1990\nb,c,1991\n").unwrap();
        assert_eq!(table.store.scale(), zoetrope_graph::TimeScale::STEPS);
        assert_eq!(table.store.time(), [1990, 1991]);
        let table = load("src,dst,date\n1,2,20210131\n2,3,20210201\n").unwrap();
        assert_eq!(table.store.time(), [1_612_051_200, 1_612_137_600]);
    }
}
