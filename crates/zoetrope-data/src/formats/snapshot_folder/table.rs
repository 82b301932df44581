//! The rows of a member that is a table: columns by name or position, identifiers of any kind.

use zoetrope_graph::TextTable;

use super::layout::Layout;
use super::rows::Parser;
use crate::table::chunk::Interner;
use crate::table::dialect::split_row;
use crate::table::number;

/// Edges between names: (target, source) as numbers of `names`.
#[derive(Debug, Default)]
pub(super) struct NamedEdges {
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) names: TextTable,
}

type Refused = (&'static str, &'static str, String);

/// Reads all rows of `text`.
pub(super) fn run(parser: &mut Parser<'_>, layout: &Layout, text: &[u8]) -> Option<NamedEdges> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut names = Interner::default();
    let mut edges = Vec::new();
    let mut places = layout.header.is_none().then_some((layout.src, layout.dst, layout.weight));
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if layout.dialect.is_ignored(line) {
            continue;
        }
        let Some((src, dst, weight)) = places else {
            match header(layout, line) {
                Ok(found) => places = Some(found),
                Err((column, expected, found)) => {
                    parser.refuse(number, column, expected, found);
                    return layout.text_ids.then(NamedEdges::default);
                }
            }
            continue;
        };
        let most = src.max(dst).max(weight.unwrap_or(0)) + 1;
        let outcome = row(layout, line, most).and_then(|fields| {
            let weight = weight.map(|column| weight_of(&fields[column])).transpose()?;
            let (src, dst) = (&fields[src][..], &fields[dst][..]);
            if layout.text_ids {
                for (id, column) in [(src, "source"), (dst, "target")] {
                    if id.is_empty() {
                        return Err((column, "a name", "no value".to_owned()));
                    }
                }
                edges.push((names.code(dst), names.code(src)));
            } else {
                parser.edge(integer(src, "source")?, integer(dst, "target")?);
            }
            parser.weigh(weight);
            Ok(())
        });
        if let Err((column, expected, found)) = outcome {
            parser.refuse(number, column, expected, found);
        }
    }
    layout.text_ids.then(|| NamedEdges { edges, names: names.into_texts() })
}

fn header(layout: &Layout, line: &[u8]) -> Result<(usize, usize, Option<usize>), Refused> {
    let fields = row(layout, line, usize::MAX)?;
    let names: Vec<String> =
        fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    layout.places(&names).map_err(|missing| {
        let expected = "the columns of the first file";
        ("header", expected, format!("no {}", missing.trim_start_matches("a ")))
    })
}

/// The first `most` fields of a row, without blanks around them.
fn row(layout: &Layout, line: &[u8], most: usize) -> Result<Vec<Vec<u8>>, Refused> {
    let fields =
        split_row(&layout.dialect, line, most).map_err(|found| ("row", "closed quotes", found))?;
    if most != usize::MAX && fields.first.len() < most {
        return Err(("row", "as many columns as in the first file", fields.count.to_string()));
    }
    Ok(fields.first.iter().map(|field| field.trim_ascii().to_vec()).collect())
}

fn weight_of(field: &[u8]) -> Result<f32, Refused> {
    let found = || String::from_utf8_lossy(field).into_owned();
    number::float(field)
        .filter(|weight| weight.is_finite())
        .ok_or_else(|| ("weight", "a finite number", found()))
}

fn integer(field: &[u8], column: &'static str) -> Result<i64, Refused> {
    let found = || match field {
        [] => "no value".to_owned(),
        field => String::from_utf8_lossy(field).into_owned(),
    };
    number::integer(field)
        .filter(|_| !number::is_padded(field))
        .ok_or_else(|| (column, "a whole number (--text-ids takes names)", found()))
}
