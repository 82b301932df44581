//! Rows to columns: what to do with each column, and the slow path that accepts every form.
//! Plain rows take the path in `fast_row`.

use std::borrow::Cow;

use crate::error::{Location, Problem};
use crate::table::chunk::{Chunk, IdChunk, LabelChunk};
use crate::table::date::{Calendar, DateForm, TimePart};
use crate::table::dialect::{Dialect, split_row};
use crate::table::fast_row::Step;
use crate::table::number;
use crate::table::timestamp::{self, Stamp};

/// What to do with a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Skip,
    Source,
    Destination,
    DecimalTime,
    DateTime(DateForm),
    /// A part of a time that stands in several columns.
    TimePart(TimePart),
    Weight,
    NumberLabel,
    TextLabel,
    Kind,
    Feature(usize),
    /// Several numbers in one field, separated by commas.
    FeatureList(usize, usize),
    SourceClass,
    DestinationClass,
}

/// How every row of a table is read.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) dialect: Dialect,
    /// One action per column of the file.
    pub(crate) actions: Vec<Action>,
    /// The same for plain rows; `None` if no row of this table can be plain.
    pub(crate) steps: Option<Vec<Step>>,
    /// Names for messages, one per column.
    pub(crate) names: Vec<String>,
    pub(crate) feature_width: usize,
    pub(crate) text_src: bool,
    pub(crate) text_dst: bool,
    pub(crate) has_time: bool,
    pub(crate) max_problems: usize,
}

impl Plan {
    /// Empty columns.
    pub(crate) fn new_chunk(&self) -> Chunk {
        let ids = |text: bool| if text { IdChunk::text() } else { IdChunk::Narrow(Vec::new()) };
        let label = if self.actions.contains(&Action::TextLabel) {
            LabelChunk::text()
        } else {
            LabelChunk::Numbers(Vec::new())
        };
        Chunk {
            src: ids(self.text_src),
            dst: ids(self.text_dst),
            time: Default::default(),
            weight: Vec::new(),
            label,
            kind: Vec::new(),
            features: Vec::new(),
            src_class: LabelChunk::text(),
            dst_class: LabelChunk::text(),
            rows: 0,
            lines: 0,
            missing_values: 0,
            without_destination: 0,
            problems: Vec::new(),
            bad_rows: 0,
            time_overflow: false,
        }
    }

    /// Reads all rows of a block that starts at a line start and ends at a line end.
    pub(crate) fn read_block(&self, path: &std::path::Path, block: &[u8], chunk: &mut Chunk) {
        let mut at = 0;
        while at < block.len() {
            if let Some(next) = self.fast_row(block, at, chunk) {
                at = next;
            } else {
                let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
                let line = block[at..end].strip_suffix(b"\r").unwrap_or(&block[at..end]);
                if !self.dialect.is_ignored(line) {
                    self.slow_row(path, at as u64, line, chunk);
                }
                at = end + 1;
            }
            chunk.lines += 1;
        }
    }

    /// Removes what was read of a row that is not complete.
    #[cold]
    pub(super) fn roll_back(&self, chunk: &mut Chunk) {
        let rows = chunk.rows;
        chunk.src.truncate(rows);
        chunk.dst.truncate(rows);
        chunk.time.ticks.truncate(rows);
        chunk.weight.truncate(rows);
        chunk.kind.truncate(rows);
        chunk.features.truncate(rows * self.feature_width);
        chunk.label.truncate(rows);
        chunk.src_class.truncate(rows);
        chunk.dst_class.truncate(rows);
    }

    fn slow_row(&self, path: &std::path::Path, byte: u64, line: &[u8], chunk: &mut Chunk) {
        let missing = chunk.missing_values;
        let Err(mut problem) = self.slow_fields(line, chunk) else {
            chunk.rows += 1;
            return;
        };
        self.roll_back(chunk);
        chunk.missing_values = missing;
        chunk.bad_rows += 1;
        if chunk.problems.len() < self.max_problems {
            problem.at.path = path.to_owned();
            problem.at.line = Some(chunk.lines);
            problem.at.byte = Some(byte);
            chunk.problems.push(problem);
        }
    }

    fn slow_fields(&self, line: &[u8], chunk: &mut Chunk) -> Result<(), Problem> {
        let fields = split_row(&self.dialect, line, self.actions.len()).map_err(|found| {
            Problem::new(Location::default(), "quotes that are closed on the same line", found)
        })?;
        if fields.count != self.actions.len() {
            let expected = format!("{} columns", self.actions.len());
            return Err(Problem::new(Location::default(), expected, format!("{}", fields.count)));
        }
        if self.feature_width != 0 {
            let width = chunk.features.len() + self.feature_width;
            chunk.features.resize(width, f32::NAN);
        }
        let mut calendar = Calendar::default();
        let mut last_part = None;
        for (column, (&action, field)) in self.actions.iter().zip(&fields.first).enumerate() {
            let field = field.trim_ascii();
            let read = match action {
                Action::TimePart(part) => {
                    last_part = Some(column);
                    calendar.take(part, field).then_some(()).ok_or(part.expected())
                }
                _ => self.slow_field(action, field, chunk),
            };
            read.map_err(|expected| self.problem(column, expected, field))?;
        }
        if let Some(column) = last_part {
            push_time(chunk, calendar.stamp(), "a day that the calendar has")
                .map_err(|expected| self.problem(column, expected, &fields.first[column]))?;
        }
        if self.dst_is_missing(&fields.first) {
            chunk.without_destination += 1;
        }
        Ok(())
    }

    fn problem(&self, column: usize, expected: &str, field: &[u8]) -> Problem {
        let at = Location::default().column(&self.names[column]);
        Problem::new(at, expected, format!("`{}`", String::from_utf8_lossy(field)))
    }

    /// Whether a row of text identifiers has no destination.
    fn dst_is_missing(&self, fields: &[Cow<'_, [u8]>]) -> bool {
        self.text_dst
            && self
                .actions
                .iter()
                .position(|&action| action == Action::Destination)
                .is_some_and(|column| fields[column].trim_ascii().is_empty())
    }

    fn slow_field(
        &self,
        action: Action,
        field: &[u8],
        chunk: &mut Chunk,
    ) -> Result<(), &'static str> {
        match action {
            Action::Skip | Action::TimePart(_) => {}
            Action::Source if self.text_src && field.is_empty() => return Err("an identifier"),
            Action::Source => push_id(&mut chunk.src, field)?,
            Action::Destination if self.text_dst && field.is_empty() => {
                // A row without a destination (a contract creation, say) happened to its source.
                self.copy_source(chunk)?;
            }
            Action::Destination => push_id(&mut chunk.dst, field)?,
            Action::DecimalTime => {
                let stamp = timestamp::decimal(&self.pointed(field));
                push_time(chunk, stamp, "a time as a number, as in other rows")?;
            }
            Action::DateTime(form) => push_time(chunk, form.parse(field), form.example())?,
            Action::Weight => {
                let value = self.optional_number(field, chunk)?;
                chunk.weight.push(value);
            }
            Action::NumberLabel => {
                let value = self.optional_number(field, chunk)?;
                if let LabelChunk::Numbers(labels) = &mut chunk.label {
                    labels.push(value);
                }
            }
            Action::TextLabel => push_class(&mut chunk.label, field),
            Action::SourceClass => push_class(&mut chunk.src_class, field),
            Action::DestinationClass => push_class(&mut chunk.dst_class, field),
            Action::Kind => chunk.kind.push(event_kind(field).ok_or("add or remove")?),
            Action::Feature(index) => {
                let value = self.optional_number(field, chunk)?;
                let start = chunk.features.len() - self.feature_width;
                chunk.features[start + index] = value;
            }
            Action::FeatureList(first, width) => {
                let mut values = field.split(|&byte| byte == b',');
                let start = chunk.features.len() - self.feature_width + first;
                for index in 0..width {
                    let value = values.next().ok_or("as many numbers as in the first row")?;
                    chunk.features[start + index] = optional_number(value.trim_ascii(), chunk)?;
                }
                if values.next().is_some() {
                    return Err("as many numbers as in the first row");
                }
            }
        }
        Ok(())
    }

    fn optional_number(&self, field: &[u8], chunk: &mut Chunk) -> Result<f32, &'static str> {
        optional_number(&self.pointed(field), chunk)
    }

    /// A number with a decimal point, whatever the file writes.
    fn pointed<'f>(&self, field: &'f [u8]) -> Cow<'f, [u8]> {
        if self.dialect.decimal_comma {
            number::with_point(field).map_or(Cow::Borrowed(field), Cow::Owned)
        } else {
            Cow::Borrowed(field)
        }
    }

    fn copy_source(&self, chunk: &mut Chunk) -> Result<(), &'static str> {
        let (IdChunk::Text { codes, table }, IdChunk::Text { codes: to, table: to_table }) =
            (&chunk.src, &mut chunk.dst)
        else {
            return Err("an identifier");
        };
        // The destination column may stand before the source column: then there is nothing yet.
        if codes.len() <= to.len() {
            return Err("an identifier");
        }
        let code = to_table.code(table.text(codes[to.len()]));
        to.push(code);
        Ok(())
    }
}

fn push_id(ids: &mut IdChunk, field: &[u8]) -> Result<(), &'static str> {
    if ids.is_text() {
        ids.push_text(field);
        return Ok(());
    }
    if number::is_padded(field) {
        return Err("an identifier without zeros in front (--text-ids keeps them)");
    }
    let value = number::integer(field)
        .ok_or("an integer identifier as in the first rows (--text-ids reads any text)")?;
    ids.push_integer(value);
    Ok(())
}

fn push_time(
    chunk: &mut Chunk,
    stamp: Option<Stamp>,
    expected: &'static str,
) -> Result<(), &'static str> {
    let stamp = stamp.ok_or(expected)?;
    if chunk.time.push(stamp) {
        Ok(())
    } else {
        Err("a time that fits 64 bits at the precision of the other rows")
    }
}

fn push_class(class: &mut LabelChunk, field: &[u8]) {
    if let LabelChunk::Text { codes, table } = class {
        codes.push(table.code(field));
    }
}

fn optional_number(field: &[u8], chunk: &mut Chunk) -> Result<f32, &'static str> {
    if number::is_missing(field) {
        chunk.missing_values += 1;
        return Ok(f32::NAN);
    }
    number::float(field).filter(|value| value.is_finite()).ok_or("a finite number")
}

/// `add` and `remove` in the spellings that occur.
pub(crate) fn event_kind(field: &[u8]) -> Option<u8> {
    match field.to_ascii_lowercase().as_slice() {
        b"add" | b"+" | b"+1" | b"1" | b"insert" | b"create" | b"a" => Some(0),
        b"remove" | b"-" | b"-1" | b"delete" | b"del" | b"r" | b"d" => Some(1),
        _ => None,
    }
}
