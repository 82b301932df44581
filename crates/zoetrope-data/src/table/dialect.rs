//! How a text table is written: separator, quotes, comments, header; found from its first rows.

use std::borrow::Cow;

use crate::table::kind::ColumnKind;
use crate::table::number;

/// How rows are split into fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The byte between fields.
    pub(crate) delimiter: u8,
    /// Whether any run of blanks separates, also leading and trailing ones.
    pub(crate) blanks: bool,
    /// Whether numbers have a decimal comma.
    pub(crate) decimal_comma: bool,
}

impl Dialect {
    pub(crate) fn of(delimiter: u8) -> Self {
        Self { delimiter, blanks: delimiter == b' ', decimal_comma: false }
    }

    /// Whether a line is blank or a comment.
    pub(crate) fn is_ignored(&self, line: &[u8]) -> bool {
        let line = line.trim_ascii_start();
        line.is_empty()
            || line.starts_with(b"#")
            || line.starts_with(b"%")
            || line.starts_with(b"//")
    }

    pub(crate) fn describe(&self) -> &'static str {
        match self.delimiter {
            _ if self.blanks => "separated by blanks",
            b',' => "separated by commas",
            b'\t' => "separated by tabs",
            b';' => "separated by semicolons",
            b'|' => "separated by bars",
            _ => "separated by a chosen character",
        }
    }
}

/// The fields of a row, as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    /// The first ones.
    pub(crate) first: Vec<Cow<'a, [u8]>>,
    /// How many there are in all.
    pub(crate) count: usize,
    most: usize,
}

impl<'a> Fields<'a> {
    fn push(&mut self, field: Cow<'a, [u8]>) {
        self.count += 1;
        if self.count <= self.most {
            self.first.push(field);
        }
    }
}

/// Splits a row and keeps its first `most` fields: a row of millions costs no more than it should
/// have. Quotes group, doubled quotes inside quotes stand for one.
///
/// # Errors
/// The text from the opening quote on, if it is not closed.
pub(crate) fn split_row<'a>(
    dialect: &Dialect,
    line: &'a [u8],
    most: usize,
) -> Result<Fields<'a>, String> {
    let mut fields = Fields { most, ..Fields::default() };
    let is_separator = |byte: u8| {
        if dialect.blanks { byte == b' ' || byte == b'\t' } else { byte == dialect.delimiter }
    };
    let mut at = 0;
    loop {
        if dialect.blanks {
            while at < line.len() && is_separator(line[at]) {
                at += 1;
            }
            if at == line.len() {
                return Ok(fields);
            }
        }
        if line.get(at) == Some(&b'"') {
            let (field, end) = quoted(line, at)?;
            fields.push(field);
            at = end;
        } else {
            let start = at;
            while at < line.len() && !is_separator(line[at]) {
                at += 1;
            }
            fields.push(Cow::Borrowed(&line[start..at]));
        }
        if at >= line.len() {
            return Ok(fields);
        }
        if !is_separator(line[at]) {
            return Err(String::from_utf8_lossy(&line[at..]).into_owned());
        }
        at += 1;
        if at == line.len() && !dialect.blanks {
            fields.push(Cow::Borrowed(&[]));
            return Ok(fields);
        }
    }
}

fn quoted(line: &[u8], start: usize) -> Result<(Cow<'_, [u8]>, usize), String> {
    let unclosed = || String::from_utf8_lossy(&line[start..]).into_owned();
    let mut text: Option<Vec<u8>> = None;
    let mut piece = start + 1;
    loop {
        let quote = memchr::memchr(b'"', &line[piece..]).ok_or_else(unclosed)? + piece;
        if line.get(quote + 1) == Some(&b'"') {
            text.get_or_insert_default().extend_from_slice(&line[piece..=quote]);
            piece = quote + 2;
            continue;
        }
        let field = match text {
            None => Cow::Borrowed(&line[piece..quote]),
            Some(mut text) => {
                text.extend_from_slice(&line[piece..quote]);
                Cow::Owned(text)
            }
        };
        return Ok((field, quote + 1));
    }
}

/// What the first rows of a table show.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) dialect: Dialect,
    /// Names of the columns, if a header gives them; may be fewer than `kinds`.
    pub(crate) header: Option<Vec<String>>,
    /// What the sampled rows have in each column.
    pub(crate) kinds: Vec<ColumnKind>,
    /// Sampled rows as text, for heuristics on values.
    pub(crate) sample: Vec<Vec<String>>,
    /// Where the first row of data starts.
    pub(crate) data_start: usize,
    /// How many lines stand before it.
    pub(crate) lines_before: u64,
}

/// At most this many rows are sampled.
const SAMPLE_ROWS: usize = 2_048;

/// At most this many columns are sampled: more than the limit on columns lets through, so that a
/// wider table is refused, and few enough that it costs no memory to find out.
const SAMPLE_COLUMNS: usize = (64 << 10) + 1;

/// Finds the layout of a table from its first bytes, or says what is missing.
///
/// # Errors
/// A sentence for the user, if there is no row or no separator fits.
pub(crate) fn sniff(
    head: &[u8],
    whole: bool,
    delimiter: Option<u8>,
    header: Option<bool>,
) -> Result<Layout, &'static str> {
    let skip = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let lines = sample_lines(&head[skip..], whole);
    if lines.is_empty() {
        return Err("no row of data");
    }
    if !head.contains(&b'\n') && head.trim_ascii_end().contains(&b'\r') {
        return Err("lines that end with a carriage return alone; convert the line ends");
    }
    let dialect = match delimiter {
        Some(delimiter) => Dialect::of(delimiter),
        None => find_dialect(&lines).ok_or("no separator splits the rows into equal columns")?,
    };
    let rows: Vec<Vec<String>> = lines.iter().map(|line| texts(&dialect, line.text)).collect();
    let columns = usual_width(rows.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(&rows));
    let data = |from: usize| -> Vec<&Vec<String>> {
        rows[from..].iter().filter(|row| row.len() == columns).collect()
    };
    let kinds_of = |rows: &[&Vec<String>]| -> Vec<ColumnKind> {
        (0..columns)
            .map(|column| ColumnKind::of(rows.iter().map(|row| row[column].as_str())))
            .collect()
    };
    let rest = data(1);
    let has_header = header.unwrap_or_else(|| looks_like_header(&rows[0], &kinds_of(&rest)));
    let first = usize::from(has_header);
    let mut kinds = kinds_of(&data(first));
    let mut sample: Vec<Vec<String>> = data(first).into_iter().cloned().collect();
    let data_line = lines.get(first);
    let decimal_comma = delimiter_is_free(&dialect) && replace_commas(&mut sample, &mut kinds);
    Ok(Layout {
        dialect: Dialect { decimal_comma, ..dialect },
        header: has_header.then(|| rows[0].clone()),
        kinds,
        sample,
        data_start: data_line.map_or(head.len(), |line| line.start + skip),
        lines_before: data_line.map_or(lines[0].number + 1, |line| line.number),
    })
}

/// Whether a comma can be part of a number: it separates nothing.
fn delimiter_is_free(dialect: &Dialect) -> bool {
    dialect.delimiter != b','
}

/// Finds columns of numbers with a decimal comma, such as `41,66`, and writes them with a point.
fn replace_commas(sample: &mut [Vec<String>], kinds: &mut [ColumnKind]) -> bool {
    let mut any = false;
    for column in 0..kinds.len() {
        if !matches!(kinds[column], ColumnKind::NumberList(2) | ColumnKind::Text) {
            continue;
        }
        let cells = || sample.iter().map(|row| row[column].as_bytes());
        let present = cells().filter(|cell| !number::is_missing(cell)).count();
        let commas = cells().filter(|cell| number::with_point(cell).is_some()).count();
        let whole = cells().filter(|cell| number::integer(cell).is_some()).count();
        if commas == 0 || (commas + whole) * 10 < present * 9 {
            continue;
        }
        any = true;
        kinds[column] = ColumnKind::Decimal;
        for row in sample.iter_mut() {
            if let Some(text) = number::with_point(row[column].as_bytes()) {
                row[column] = String::from_utf8_lossy(&text).into_owned();
            }
        }
    }
    any
}

struct Line<'a> {
    text: &'a [u8],
    start: usize,
    number: u64,
}

fn sample_lines(head: &[u8], whole: bool) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut number = 0;
    let plain = Dialect::of(b',');
    while start < head.len() && lines.len() <= SAMPLE_ROWS {
        let end = memchr::memchr(b'\n', &head[start..]).map(|end| start + end);
        let Some(end) = end.or(whole.then_some(head.len())) else { break };
        let text = head[start..end].strip_suffix(b"\r").unwrap_or(&head[start..end]);
        if !plain.is_ignored(text) {
            lines.push(Line { text, start, number });
        }
        start = end + 1;
        number += 1;
    }
    lines
}

fn texts(dialect: &Dialect, line: &[u8]) -> Vec<String> {
    let fields = split_row(dialect, line, SAMPLE_COLUMNS).unwrap_or_default().first;
    let texts = fields.iter();
    texts.map(|field| String::from_utf8_lossy(field.trim_ascii()).into_owned()).collect()
}

/// The separator under which most rows, the header among them, have the same number (≥ 2) of
/// columns. Earlier candidates win ties: a tab in a file of tabs is deliberate, a blank may be
/// part of a date.
fn find_dialect(lines: &[Line<'_>]) -> Option<Dialect> {
    let mut best: Option<(usize, Dialect)> = None;
    for delimiter in [b'\t', b',', b';', b'|', b' '] {
        let dialect = Dialect::of(delimiter);
        let widths: Vec<usize> = lines
            .iter()
            .map(|line| split_row(&dialect, line.text, 0).map_or(0, |fields| fields.count))
            .collect();
        let usual = mode(&widths);
        if usual < 2 {
            continue;
        }
        let agreeing = widths.iter().filter(|&&width| width == usual).count();
        if best.is_none_or(|(most, _)| agreeing > most) {
            best = Some((agreeing, dialect));
        }
    }
    best.map(|(_, dialect)| dialect)
}

fn usual_width(rows: &[Vec<String>]) -> usize {
    let widths: Vec<usize> = rows.iter().map(Vec::len).collect();
    mode(&widths)
}

fn mode(values: &[usize]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let mut best = (0, 0);
    for group in sorted.chunk_by(|a, b| a == b) {
        if group.len() > best.0 {
            best = (group.len(), group[0]);
        }
    }
    best.1
}

/// A first row is a header if it has text in a column that otherwise holds numbers or dates,
/// or if it names a column `src`, `source` and the like.
fn looks_like_header(first: &[String], kinds: &[ColumnKind]) -> bool {
    let differs = first.iter().zip(kinds).any(|(name, kind)| {
        !number::is_missing(name.as_bytes())
            && kind.is_measured()
            && !ColumnKind::of([name.as_str()]).is_measured()
    });
    let shorter = first.len() < kinds.len() && first.iter().any(|name| name.contains("feature"));
    differs || shorter || crate::roles::names_an_edge(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(dialect: u8, line: &str) -> Vec<String> {
        texts(&Dialect::of(dialect), line.as_bytes())
    }

    #[test]
    fn rows_are_split_with_quotes_and_blanks() {
        assert_eq!(fields(b',', "1,2,"), ["1", "2", ""]);
        assert_eq!(fields(b',', r#""a ""b"", c",2"#), [r#"a "b", c"#, "2"]);
        assert_eq!(fields(b' ', "  1 \t 2  3 "), ["1", "2", "3"]);
        assert_eq!(fields(b' ', r#""2004-03-23 20:11:55" 3 3"#), ["2004-03-23 20:11:55", "3", "3"]);
        assert!(split_row(&Dialect::of(b','), br#"1,"2"#, 9).is_err());
        assert!(split_row(&Dialect::of(b','), br#""1"x,2"#, 9).is_err());
    }

    #[test]
    fn layouts_of_the_usual_dialects_are_found() {
        let layout = |text: &str| sniff(text.as_bytes(), true, None, None).unwrap();
        let wikipedia = layout("u,i,ts,label\n0,8227,0,0\n1,8228,36,0\n");
        assert_eq!(wikipedia.dialect, Dialect::of(b','));
        assert_eq!(wikipedia.header.as_ref().unwrap()[2], "ts");
        assert_eq!((wikipedia.data_start, wikipedia.lines_before), (13, 1));
        let epinions = layout("% asym signed\n1 2 -1 979081200\n3 4 1 979081200\n");
        assert!(epinions.dialect.blanks && epinions.header.is_none());
        assert_eq!((epinions.data_start, epinions.lines_before), (14, 1));
        let school = layout("1254386420\t1558\t1567\t3B\t3B\n1254386420\t1560\t1570\t3B\t5A\n");
        assert_eq!((school.dialect.delimiter, school.header), (b'\t', None));
        let social = layout("item.u,item.v,item.t,item.T\n42,50,2008-09-11 03:16:14,AE\n");
        assert_eq!(social.kinds[2], ColumnKind::Date(crate::table::date::DateForm::Iso));
        let comma = layout("from;to;time;amount\n1;2;3;41,66\n2;3;4;1.041,5\n3;4;5;7\n");
        assert!(comma.dialect.decimal_comma && comma.kinds[3] == ColumnKind::Decimal);
        assert_eq!(comma.sample[1][3], "1041.5");
        let lists = layout("from\tto\ttime\tf\n1\t2\t3\t0.5,0.25\n2\t3\t4\t0.5,1.5\n");
        assert!(!lists.dialect.decimal_comma && lists.kinds[3] == ColumnKind::NumberList(2));
        assert!(sniff(b"# only\n# comments\n", true, None, None).is_err());
        assert!(sniff(b"word\nword\n", true, None, None).is_err());
    }
}
