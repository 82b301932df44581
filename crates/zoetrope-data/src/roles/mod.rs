//! Which column of a table is the source, the destination, the time …
//!
//! Columns are judged by their names and by the values of the first rows: every column gets points
//! for every role, and the assignment with the most points is taken. If another one comes close,
//! the table is not read: [`DataError::Uncertain`] shows the best guess and the flags that confirm
//! it. A role that the user gave is taken as it is.
//!
//! [`DataError::Uncertain`]: crate::error::DataError::Uncertain

mod calendar;
mod doubt;
mod ends;
mod judge;
mod names;
mod position;
mod time;
mod values;
mod words;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Serialize;

use crate::error::{DataError, Location};
use crate::options::{ColumnMap, ColumnRef};
pub use crate::table::date::TimePart;
pub use crate::table::kind::ColumnKind;
use values::Facts;

/// Which column is what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// The source vertex.
    pub src: usize,
    /// The destination vertex.
    pub dst: usize,
    /// The time; the coarsest part of it if it stands in several columns.
    pub time: Option<usize>,
    /// The parts of a time that stands in several columns, from coarse to fine; else empty.
    pub time_parts: Vec<(usize, TimePart)>,
    /// The weight.
    pub weight: Option<usize>,
    /// The label.
    pub label: Option<usize>,
    /// Add or remove.
    pub kind: Option<usize>,
    /// The features, in order.
    pub features: Vec<usize>,
    /// Columns that hold a constant class of the source and of the destination vertex.
    pub classes: Option<(usize, usize)>,
}

impl Roles {
    /// All columns of the time.
    pub fn times(&self) -> impl Iterator<Item = usize> + '_ {
        let parts = self.time_parts.iter().map(|&(column, _)| column);
        let single = self.time.filter(|_| self.time_parts.is_empty());
        single.into_iter().chain(parts)
    }
}

/// A column and what it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnNote {
    /// Its name, or its position if the file has no header.
    pub name: String,
    /// Its first different values.
    pub values: String,
    /// What it was taken for.
    pub role: &'static str,
    /// Why.
    pub why: String,
}

/// Roles and how they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Which column is what.
    pub roles: Roles,
    /// The columns in order, as far as they are worth showing.
    pub columns: Vec<ColumnNote>,
    /// Whether the column names say that sources and destinations are numbered separately.
    pub apart: bool,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// A table before its columns have roles.
struct Columns<'a> {
    path: &'a Path,
    /// Names; positions if there is no header.
    names: Vec<String>,
    has_header: bool,
    facts: Vec<Facts>,
    given: Given,
}

/// Whether a row of names contains one for a source and one for a destination.
pub(crate) fn names_an_edge(row: &[String]) -> bool {
    let ends: Vec<Option<bool>> = row.iter().map(|name| names::end(name)).collect();
    ends.contains(&Some(true)) && ends.contains(&Some(false))
}

/// Whether a name is that of a time.
pub(crate) fn names_a_time(name: &str) -> bool {
    names::points(name).time > 5.0
}

/// Names the columns that are not used, if there are any.
pub(crate) fn unused_note(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(8).map(|name| crate::error::shorten(name)).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("columns not used: {}{more}", shown.join(", ")))
}

/// Whether a name is that of a label, such as `fraud`, rather than of any category.
pub(crate) fn names_a_label(name: &str) -> bool {
    names::points(name).label >= 6.0
}

/// Whether whole numbers under this name count years, days or other steps rather than seconds.
pub(crate) fn counts_steps(name: &str) -> bool {
    calendar::counts_steps(name)
}

/// Whether whole numbers are dates such as 20131231: all of them, under a name that says so, or so
/// many different ones that it cannot be chance.
pub(crate) fn is_date_of_digits<'a>(
    name: Option<&str>,
    values: impl Iterator<Item = &'a [u8]>,
) -> bool {
    calendar::is_date_of_digits(name, values)
}

/// Whether a header calls the ends of an edge users and items: these are numbered apart, as in
/// JODIE files.
pub(crate) fn names_users_and_items(names: &[String]) -> bool {
    let has =
        |wanted: [&str; 2]| names.iter().any(|name| wanted.contains(&name.to_lowercase().as_str()));
    has(["user", "user_id"]) && has(["item", "item_id"])
}

/// Finds the roles of the columns of a table; what the user said goes first. `names` is the
/// header if there is one, `sample` the first rows as text (none if there are only types).
///
/// # Errors
/// If a column that the user named does not exist, no column can be the source or the
/// destination, or it is uncertain which columns are.
pub fn judge(
    path: &Path,
    names: Option<&[String]>,
    kinds: &[ColumnKind],
    sample: &[Vec<String>],
    map: &ColumnMap,
) -> Result<Judged, DataError> {
    // A header may name more or fewer columns than the rows have.
    let fitted = |names: &[String]| -> Vec<String> {
        let name = |column: usize| names.get(column).cloned().unwrap_or_default();
        (0..kinds.len()).map(name).collect()
    };
    let names = names.map(fitted);
    let names = names.as_deref();
    let given = Given::new(path, names.unwrap_or_default(), kinds.len(), map)?;
    let positions = || (0..kinds.len()).map(|column| column.to_string()).collect();
    let columns = Columns {
        path,
        has_header: names.is_some(),
        names: names.map_or_else(positions, <[String]>::to_vec),
        facts: kinds.iter().enumerate().map(|(at, &kind)| Facts::of(kind, sample, at)).collect(),
        given,
    };
    if columns.has_header { judge::by_name(&columns) } else { position::by_position(&columns) }
}

/// What the user said, resolved to positions.
#[derive(Default)]
struct Given {
    /// Roles that no column has.
    no_time: bool,
    no_weight: bool,
    no_label: bool,
    src: Option<usize>,
    dst: Option<usize>,
    time: Option<usize>,
    weight: Option<usize>,
    label: Option<usize>,
    kind: Option<usize>,
    features: Option<Vec<usize>>,
}

impl Given {
    fn new(
        path: &Path,
        names: &[String],
        columns: usize,
        map: &ColumnMap,
    ) -> Result<Self, DataError> {
        let absent = |reference: &Option<ColumnRef>| *reference == Some(ColumnRef::Absent);
        let one = |reference: &Option<ColumnRef>| {
            let present = reference.as_ref().filter(|column| **column != ColumnRef::Absent);
            present.map(|column| resolve(path, names, columns, column)).transpose()
        };
        Ok(Self {
            no_time: absent(&map.time),
            no_weight: absent(&map.weight),
            no_label: absent(&map.label),
            src: one(&map.src)?,
            dst: one(&map.dst)?,
            time: one(&map.time)?,
            weight: one(&map.weight)?,
            label: one(&map.label)?,
            kind: one(&map.kind)?,
            features: map
                .features
                .as_ref()
                .map(|list| {
                    list.iter().map(|column| resolve(path, names, columns, column)).collect()
                })
                .transpose()?,
        })
    }

    fn taken(&self) -> Vec<usize> {
        let single = [self.src, self.dst, self.time, self.weight, self.label, self.kind];
        single.into_iter().flatten().chain(self.features.iter().flatten().copied()).collect()
    }
}

fn resolve(
    path: &Path,
    names: &[String],
    columns: usize,
    reference: &ColumnRef,
) -> Result<usize, DataError> {
    let found = match reference {
        ColumnRef::Position(position) => (*position < columns).then_some(*position),
        ColumnRef::Name(name) => names.iter().position(|known| known == name),
        ColumnRef::Absent => None,
    };
    found.ok_or_else(|| {
        let wanted = match reference {
            ColumnRef::Position(position) => format!("column {position} of {columns}"),
            ColumnRef::Name(name) => format!("`{name}`"),
            ColumnRef::Absent => "no column".to_owned(),
        };
        let known = match names {
            [] => format!("columns 0 to {} (the file has no header)", columns.saturating_sub(1)),
            names => format!("one of {}", names.join(", ")),
        };
        DataError::invalid(Location::file(path), known, wanted)
    })
}

fn missing(path: &Path, what: &str, flag: &str, names: &[String]) -> DataError {
    let expected = format!("a column for the {what} (name it with {flag})");
    let found = match names {
        [] => "too few columns".to_owned(),
        names => format!("columns {}", names.join(", ")),
    };
    DataError::invalid(Location::file(path), expected, found)
}
