//! The rows of one member: parsed, checked and sorted, independently of all others.

use std::path::{Path, PathBuf};

use crate::error::{DataError, Location, Problem};
use crate::options::ReadOptions;
use crate::progress::Quiet;
use crate::source::{Compression, Source};
use crate::table::number;

use super::layout::{self, Layout};
use super::table::{self, NamedEdges};

/// Edges ordered by (target, source), with the ids of the file. Renumbering keeps the order of
/// ids, so the order of edges is final.
pub(super) enum Edges {
    /// `target << 32 | source`, if all ids are below 2^32.
    Narrow(Vec<u64>),
    /// (target, source).
    Wide(Vec<(i64, i64)>),
    /// Edges between names, in the order of the file: only numbering knows the order of names.
    Named(NamedEdges),
}

/// One member.
pub(super) struct Snapshot {
    pub(super) path: PathBuf,
    pub(super) edges: Edges,
    pub(super) weight: Option<Vec<f32>>,
    pub(super) skipped: u64,
    failure: Option<DataError>,
    problems: Vec<Problem>,
    total: u64,
}

impl Snapshot {
    /// Parses the rows of a member, compressed or not; bare ones without a layout.
    pub(super) fn parse(
        path: PathBuf,
        bytes: Vec<u8>,
        layout: Option<&Layout>,
        options: &ReadOptions,
    ) -> Self {
        let mut parser = Parser::new(path, options);
        let named = match (unpacked(&parser.path, bytes, options), layout) {
            (Ok(text), None) => {
                parser.run(&text);
                None
            }
            (Ok(text), Some(layout)) => table::run(&mut parser, layout, &text),
            (Err(error), _) => {
                parser.failure = Some(error);
                None
            }
        };
        parser.finish(named)
    }

    pub(super) fn len(&self) -> usize {
        match &self.edges {
            Edges::Narrow(edges) => edges.len(),
            Edges::Wide(edges) => edges.len(),
            Edges::Named(named) => named.edges.len(),
        }
    }
}

/// The text of a member.
///
/// # Errors
/// If it is compressed and damaged, or grows beyond the limit.
pub(super) fn unpacked(
    path: &Path,
    bytes: Vec<u8>,
    options: &ReadOptions,
) -> Result<Vec<u8>, DataError> {
    if Compression::of(&bytes) == Compression::None {
        return Ok(bytes);
    }
    Source::new(path, &bytes[..], &options.limits, &Quiet)?.read_all(u64::MAX)
}

/// Fails with the problems of all members, in their order, up to the limit.
///
/// # Errors
/// [`DataError::Invalid`], or the failure of the first member that could not be read at all.
pub(super) fn check(snapshots: &[Snapshot], options: &ReadOptions) -> Result<(), DataError> {
    let (mut problems, mut total) = (Vec::new(), 0);
    let weighted = snapshots.iter().find(|snapshot| snapshot.len() > 0).map(|s| s.weight.is_some());
    for snapshot in snapshots {
        if let Some(DataError::Invalid { problems: found, total: count }) = &snapshot.failure {
            problems.extend_from_slice(found);
            total += count;
        } else if let Some(failure) = &snapshot.failure {
            let at = Location::file(&snapshot.path);
            return Err(DataError::invalid(at, "a readable member", failure.to_string()));
        }
        problems.extend_from_slice(&snapshot.problems);
        total += snapshot.total;
        if snapshot.len() > 0 && weighted != Some(snapshot.weight.is_some()) {
            let at = Location::file(&snapshot.path);
            let (expected, found) = match weighted {
                Some(true) => ("weights, as the first snapshot has them", "none"),
                _ => ("no third column, as in the first snapshot", "weights"),
            };
            problems.push(Problem::new(at, expected, found));
            total += 1;
        }
    }
    if total == 0 {
        return Ok(());
    }
    problems.truncate(options.max_problems.max(1));
    Err(DataError::Invalid { problems, total })
}

/// Whether a text has anything but comments.
pub(super) fn has_rows(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.any(|line| !matches!(line.first(), None | Some(b'#' | b'%')))
}

/// Whether the first rows of a text are bare: whole numbers and perhaps a weight, without names.
/// Some of them may be wrong, which reading will say.
pub(super) fn starts_bare(text: &[u8]) -> bool {
    let options = ReadOptions::default();
    let mut parser = Parser::new(PathBuf::new(), &options);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let rows = lines.filter(|line| !matches!(line.first(), None | Some(b'#' | b'%')));
    let rows: Vec<&[u8]> = rows.take(16).collect();
    let named = rows.first().is_some_and(|first| parser.is_header(first));
    let good: Vec<bool> = rows.iter().map(|line| parser.row(line).is_ok()).collect();
    let most = 2 * good.iter().filter(|&&good| good).count() >= rows.len();
    let padded = |line: &&[u8]| {
        let fields = line.split(|&byte| is_separator(byte)).filter(|field| !field.is_empty());
        fields.take(2).any(number::is_padded)
    };
    rows.is_empty() || !named && (good[0] || most) && !rows.iter().any(padded)
}

/// Whether a file holds edges: bare rows, or a table whose names say so. With `dated` names any
/// table with two columns of vertices will do.
pub(super) fn looks_like_edges(path: &Path, dated: bool) -> bool {
    let options = ReadOptions::default();
    let mut head = vec![0; 16 << 10];
    let filled = Source::open(path, &options.limits, &Quiet)
        .and_then(|mut source| source.fill(&mut head))
        .unwrap_or(0);
    let text = &head[..filled];
    let end = if filled < head.len() {
        filled
    } else {
        text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0)
    };
    let text = &text[..end];
    if starts_bare(text) {
        let mut parser = Parser::new(path.to_owned(), &options);
        parser.run(text);
        return parser.total == 0 && !(parser.narrow.is_empty() && parser.wide.is_empty());
    }
    (dated || layout::names_an_edge(text))
        && matches!(
            layout::of(path, text, &options),
            Ok(Some(_)) | Err(DataError::Uncertain { .. } | DataError::Unsupported { .. })
        )
}

pub(super) struct Parser<'a> {
    path: PathBuf,
    options: &'a ReadOptions,
    narrow: Vec<u64>,
    wide: Vec<(i64, i64)>,
    weights: Vec<f32>,
    weighted: Option<bool>,
    skipped: u64,
    failure: Option<DataError>,
    problems: Vec<Problem>,
    total: u64,
}

const WHOLE: &str = "a whole number (--text-ids takes names, also with zeros in front)";

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',' | b';')
}

impl<'a> Parser<'a> {
    fn new(path: PathBuf, options: &'a ReadOptions) -> Self {
        Self {
            path,
            options,
            narrow: Vec::new(),
            wide: Vec::new(),
            weights: Vec::new(),
            weighted: None,
            skipped: 0,
            failure: None,
            problems: Vec::new(),
            total: 0,
        }
    }

    fn run(&mut self, text: &[u8]) {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut first_row = true;
        let mut start = 0;
        let mut number = 0;
        while start < text.len() {
            number += 1;
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at);
            let line = text[start..end].trim_ascii();
            start = end + 1;
            if line.is_empty() || line[0] == b'#' || line[0] == b'%' {
                continue;
            }
            let header = std::mem::take(&mut first_row) && self.is_header(line);
            if !header && let Err((column, expected, found)) = self.row(line) {
                self.refuse(number, column, expected, found);
            }
        }
    }

    /// Names of columns without a comment sign.
    fn is_header(&self, line: &[u8]) -> bool {
        self.options.header.unwrap_or(line[0].is_ascii_alphabetic() || line[0] == b'"')
    }

    fn row(&mut self, line: &[u8]) -> Result<(), (&'static str, &'static str, String)> {
        let mut rest = line;
        let src = integer(&mut rest).map_err(|found| ("source", WHOLE, found))?;
        let dst = integer(&mut rest).map_err(|found| ("target", WHOLE, found))?;
        let weight = match rest {
            [] => None,
            _ => Some(weight(rest)?),
        };
        match (*self.weighted.get_or_insert(weight.is_some()), weight) {
            (true, Some(weight)) => self.weights.push(weight),
            (false, None) => {}
            (true, None) => return Err(("weight", "a weight, as other rows have", "none".into())),
            (false, Some(_)) => {
                let found = String::from_utf8_lossy(rest).into_owned();
                return Err(("weight", "two columns, as in other rows", found));
            }
        }
        self.edge(src, dst);
        Ok(())
    }

    /// Takes an edge between numbers.
    pub(super) fn edge(&mut self, src: i64, dst: i64) {
        match (u32::try_from(src), u32::try_from(dst)) {
            (Ok(src), Ok(dst)) if self.wide.is_empty() => {
                self.narrow.push(u64::from(dst) << 32 | u64::from(src));
            }
            _ => {
                let widen = |edge: u64| ((edge >> 32) as i64, (edge & 0xffff_ffff) as i64);
                self.wide.extend(std::mem::take(&mut self.narrow).into_iter().map(widen));
                self.wide.push((dst, src));
            }
        }
    }

    /// Takes the weight of the edge just taken, in a table if all edges have one or none has.
    pub(super) fn weigh(&mut self, weight: Option<f32>) {
        self.weighted = Some(weight.is_some());
        self.weights.extend(weight);
    }

    pub(super) fn refuse(&mut self, line: u64, column: &str, expected: &str, found: String) {
        if self.options.lenient {
            self.skipped += 1;
            return;
        }
        self.total += 1;
        if self.problems.len() < self.options.max_problems.max(1) {
            let at = Location::file(&self.path).line(line).column(column);
            self.problems.push(Problem::new(at, expected, found));
        }
    }

    fn finish(mut self, named: Option<NamedEdges>) -> Snapshot {
        let weighted = self.weighted == Some(true);
        let mut weight = weighted.then_some(self.weights);
        let edges = if let Some(named) = named {
            Edges::Named(named)
        } else if self.wide.is_empty() {
            sort(&mut self.narrow, weight.as_mut());
            Edges::Narrow(self.narrow)
        } else {
            sort(&mut self.wide, weight.as_mut());
            Edges::Wide(self.wide)
        };
        Snapshot {
            path: self.path,
            edges,
            weight,
            skipped: self.skipped,
            failure: self.failure,
            problems: self.problems,
            total: self.total,
        }
    }
}

/// Sorts edges, and their weights with them; equal edges keep the order of their weights.
pub(super) fn sort<T: Ord + Copy>(edges: &mut Vec<T>, weight: Option<&mut Vec<f32>>) {
    let Some(weight) = weight else { return edges.sort_unstable() };
    let mut rows: Vec<(T, f32)> = edges.iter().copied().zip(weight.iter().copied()).collect();
    rows.sort_by_key(|&(edge, _)| edge);
    *edges = rows.iter().map(|&(edge, _)| edge).collect();
    *weight = rows.into_iter().map(|(_, weight)| weight).collect();
}

/// Takes a whole number and the separators after it off the line.
fn integer(rest: &mut &[u8]) -> Result<i64, String> {
    let text = *rest;
    let refused = || {
        let end = text.iter().position(|&byte| is_separator(byte)).unwrap_or(text.len());
        match &text[..end] {
            [] => "no value".to_owned(),
            field => String::from_utf8_lossy(field).into_owned(),
        }
    };
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let mut value = 0i64;
    let mut at = start;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10) {
        let digit = i64::from(digit);
        value =
            value.checked_mul(10).and_then(|tens| tens.checked_add(digit)).ok_or_else(refused)?;
        at += 1;
    }
    // `007` and `7` are two names, which only text keeps apart.
    let padded = at - start > 1 && text[start] == b'0';
    if at == start || padded || text.get(at).is_some_and(|&byte| !is_separator(byte)) {
        return Err(refused());
    }
    while text.get(at).is_some_and(|&byte| is_separator(byte)) {
        at += 1;
    }
    *rest = &text[at..];
    Ok(if negative { -value } else { value })
}

fn weight(text: &[u8]) -> Result<f32, (&'static str, &'static str, String)> {
    let found = || String::from_utf8_lossy(text).into_owned();
    match fast_float2::parse::<f32, _>(text) {
        Ok(weight) if weight.is_finite() => Ok(weight),
        _ => Err(("weight", "one finite number at the end of the row", found())),
    }
}
