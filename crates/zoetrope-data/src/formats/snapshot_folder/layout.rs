//! What the rows of the members look like, found from the first member that has any.
//!
//! Most folders hold bare `from to [weight]` rows of whole numbers, which [`super::rows`] reads
//! without looking further. Anything else (names instead of numbers, a header, more columns) is a
//! table whose columns are chosen as in any other table; all members are then read alike.

use std::path::Path;

use crate::error::{DataError, Location};
use crate::options::{ColumnMap, ColumnRef, ReadOptions};
use crate::roles::{self, ColumnNote, Judged};
use crate::table::dialect::{self, Dialect};
use crate::table::number;
use crate::table::plan::{PADDED, column_names, has_integers};

/// Bytes of a member that are looked at.
const HEAD_BYTES: usize = 128 << 10;

/// How a table with other than bare rows is read.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) dialect: Dialect,
    /// The names of the columns; every member then starts with such a row.
    pub(super) header: Option<Vec<String>>,
    pub(super) src: usize,
    pub(super) dst: usize,
    pub(super) weight: Option<usize>,
    /// Whether identifiers are text.
    pub(super) text_ids: bool,
    pub(super) columns: Vec<ColumnNote>,
    pub(super) warnings: Vec<String>,
}

/// The layout of a member's uncompressed text, or `None` if its rows are bare.
///
/// # Errors
/// If the rows are no table, or it is uncertain which columns are the vertices.
pub(super) fn of(
    path: &Path,
    text: &[u8],
    options: &ReadOptions,
) -> Result<Option<Layout>, DataError> {
    let asked = options.columns != ColumnMap::default()
        || options.text_ids == Some(true)
        || options.delimiter.is_some();
    if !asked && super::rows::starts_bare(text) {
        return Ok(None);
    }
    let whole = text.len() <= HEAD_BYTES;
    let head = &text[..text.len().min(HEAD_BYTES)];
    let table =
        dialect::sniff(head, whole, options.delimiter, options.header).map_err(|found| {
            DataError::invalid(
                Location::file(path),
                "rows of edges: from, to and perhaps a weight",
                found,
            )
        })?;
    let names = table.header.as_ref().map(|_| column_names(&table));
    let header = names.as_deref();
    let mut map = options.columns.clone();
    if header.is_none() && map == ColumnMap::default() {
        // A snapshot has no times: the third column is a weight.
        use ColumnRef::Position;
        let third = table.kinds.get(2).filter(|kind| kind.is_number());
        (map.src, map.dst) = (Some(Position(0)), Some(Position(1)));
        map.weight = third.map(|_| Position(2));
    }
    let Judged { roles, mut columns, mut warnings, .. } = judge(path, header, &table, &map)?;
    if map != options.columns {
        // The positions above are ours, not the user's.
        columns.iter_mut().filter(|note| note.role != "not used").for_each(|note| {
            note.why = "its position".into();
        });
    }
    let is_measure =
        |column: usize| header.is_none_or(|names| !roles::names_a_time(&names[column]));
    let weight = roles.weight.or(match roles.features[..] {
        [only] if table.kinds[only].is_number() && is_measure(only) => Some(only),
        _ => None,
    });
    let weight = weight.filter(|_| options.columns.weight != Some(ColumnRef::Absent));
    if let Some(note) = weight.and_then(|weight| columns.get_mut(weight))
        && note.role == "feature"
    {
        (note.role, note.why) = ("weight", "the only number besides the ends".into());
    }
    let name = |column: usize| match header {
        Some(names) => crate::error::shorten(&names[column]),
        None => column.to_string(),
    };
    refuse_unused(path, options, &roles, weight, &name)?;
    if let Some(time) = roles.time {
        warnings.push(format!(
            "the times in column `{}` are not used, because each file is a snapshot; join the files \
             into one table to read them as events",
            name(time)
        ));
    }
    let used = [Some(roles.src), Some(roles.dst), weight];
    let unused: Vec<String> = (0..table.kinds.len())
        .filter(|column| !used.contains(&Some(*column)))
        .filter(|&column| roles.times().all(|time| time != column))
        .map(name)
        .take(8)
        .collect();
    if !unused.is_empty() {
        warnings.push(format!("columns not used: {}", unused.join(", ")));
    }
    let (src, dst) = (roles.src, roles.dst);
    let padded = [src, dst]
        .iter()
        .any(|&column| table.sample.iter().any(|row| number::is_padded(row[column].as_bytes())));
    if padded && options.text_ids.is_none() {
        warnings.push(PADDED.into());
    }
    let text = |column: usize| padded || !has_integers(&table, column);
    let text_ids = options.text_ids.unwrap_or(text(src) || text(dst));
    let header = names.clone();
    let dialect = table.dialect;
    Ok(Some(Layout { dialect, header, src, dst, weight, text_ids, columns, warnings }))
}

/// The roles of a table whose times are of no use, so that none of them is asked about.
fn judge(
    path: &Path,
    header: Option<&[String]>,
    table: &dialect::Layout,
    map: &ColumnMap,
) -> Result<Judged, DataError> {
    let judged = |map: &ColumnMap| roles::judge(path, header, &table.kinds, &table.sample, map);
    match judged(map) {
        Err(DataError::Uncertain { .. }) if map.time.is_none() => {
            judged(&ColumnMap { time: Some(ColumnRef::Absent), ..map.clone() })
        }
        judged => judged,
    }
}

/// Refuses what snapshots cannot hold: a label, named by the user or by its column, and columns
/// that the user named and nothing would use.
fn refuse_unused(
    path: &Path,
    options: &ReadOptions,
    roles: &roles::Roles,
    weight: Option<usize>,
    name: &dyn Fn(usize) -> String,
) -> Result<(), DataError> {
    let given = &options.columns;
    let refused = |what: &str, column: usize, otherwise: &str| {
        Err(DataError::Unsupported {
            at: Location::file(path).column(name(column)),
            what: format!("{what} in a folder of snapshots"),
            advice: format!(
                "join the files into one table with a column for the date to read them as \
                 events{otherwise}"
            ),
        })
    };
    if let Some(label) = roles.label
        && (given.label.is_some() || roles::names_a_label(&name(label)))
    {
        return refused("a label of edges", label, ", or leave the label out with --no-label");
    }
    if let (Some(time), Some(_)) = (roles.time, &given.time) {
        return refused("a time of edges", time, "");
    }
    let features = given.features.as_ref().map(|_| &roles.features);
    let unused = features.into_iter().flatten().find(|&&column| Some(column) != weight);
    match unused {
        Some(&column) => refused("a feature of edges besides the weight", column, ""),
        None => Ok(()),
    }
}

/// Whether a table's first row names the ends of an edge, so that a folder of such tables holds
/// graphs.
pub(super) fn names_an_edge(text: &[u8]) -> bool {
    let head = &text[..text.len().min(HEAD_BYTES)];
    let header = dialect::sniff(head, true, None, None).ok().and_then(|table| table.header);
    header.is_some_and(|names| roles::names_an_edge(&names))
}

impl Layout {
    /// Where the columns of a member are whose header may order them otherwise: source,
    /// destination and weight.
    pub(super) fn places(&self, names: &[String]) -> Result<(usize, usize, Option<usize>), String> {
        let Some(known) = &self.header else { return Ok((self.src, self.dst, self.weight)) };
        let place = |column: usize| {
            if names.get(column) == Some(&known[column]) {
                Ok(column)
            } else {
                names
                    .iter()
                    .position(|name| *name == known[column])
                    .ok_or_else(|| format!("a column `{}`", crate::error::shorten(&known[column])))
            }
        };
        Ok((place(self.src)?, place(self.dst)?, self.weight.map(place).transpose()?))
    }
}
