//! Which column of a table is the source, the destination, the time …

use std::path::Path;

use crate::error::{DataError, Location};
use crate::options::{ColumnMap, ColumnRef};
pub use crate::table::kind::ColumnKind;

const SOURCE: &[&str] = &[
    "src",
    "source",
    "from",
    "u",
    "user_id",
    "user",
    "sender",
    "source_id",
    "src_id",
    "from_id",
    "from_address",
    "from_node_id",
    "fromnodeid",
    "source_subreddit",
    "item.u",
    "start",
    "head",
    "caller",
    "origin",
    "node1",
    "id1",
    "initiator",
    "payer",
    "nameorig",
];
const DESTINATION: &[&str] = &[
    "dst",
    "dest",
    "destination",
    "target",
    "to",
    "i",
    "v",
    "item_id",
    "item",
    "receiver",
    "recipient",
    "target_id",
    "dst_id",
    "to_id",
    "to_address",
    "to_node_id",
    "tonodeid",
    "target_subreddit",
    "item.v",
    "end",
    "tail",
    "callee",
    "node2",
    "id2",
    "payee",
    "namedest",
];
const TIME: &[&str] = &[
    "time",
    "t",
    "ts",
    "timestamp",
    "datetime",
    "date",
    "unixtime",
    "unix_time",
    "unixts",
    "epoch",
    "block_timestamp",
    "item.t",
    "created_at",
    "event_time",
    "step",
    "day",
    "year",
];
const WEIGHT: &[&str] = &["weight", "w", "value", "amount", "rating", "edge_weight", "count"];
const LABEL: &[&str] = &[
    "label",
    "state_label",
    "y",
    "class",
    "target_label",
    "link_sentiment",
    "item.T",
    "is_fraud",
    "isfraud",
    "event_type",
    "type",
    "sign",
];
const KIND: &[&str] = &["kind", "op", "operation", "action"];
/// Columns that number rows or name them: never features.
const ROW_NAMES: &[&str] =
    &["", "idx", "index", "row", "unnamed: 0", "ext_roll", "post_id", "hash"];

/// Which column is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// The source vertex.
    pub src: usize,
    /// The destination vertex.
    pub dst: usize,
    /// The time.
    pub time: Option<usize>,
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

/// Whether a row of names contains one for a source and one for a destination.
pub(crate) fn names_an_edge(names: &[String]) -> bool {
    find(names, SOURCE).is_some() && find(names, DESTINATION).is_some()
}

/// Whether a header calls the ends of an edge users and items: these are numbered apart, as in
/// JODIE files.
pub(crate) fn names_users_and_items(names: &[String]) -> bool {
    let has =
        |wanted: [&str; 2]| names.iter().any(|name| wanted.contains(&name.to_lowercase().as_str()));
    has(["user", "user_id"]) && has(["item", "item_id"])
}

/// Roles from the names of the columns; what the user said goes first.
///
/// # Errors
/// Where a column that the user named does not exist, or no column can be the source or the
/// destination.
pub fn roles_by_name(
    path: &Path,
    names: &[String],
    kinds: &[ColumnKind],
    map: &ColumnMap,
) -> Result<Roles, DataError> {
    let given = Given::new(path, names, kinds.len(), map)?;
    let named = |column: usize| names.get(column).map_or("f", String::as_str);
    let mut taken = given.taken();
    let mut pick = |given: Option<usize>, known: &[&str]| {
        let found = given.or_else(|| find(names, known).filter(|column| !taken.contains(column)));
        taken.extend(found);
        found
    };
    let src = pick(given.src, SOURCE).ok_or_else(|| missing(path, "source", "--src", names))?;
    let dst =
        pick(given.dst, DESTINATION).ok_or_else(|| missing(path, "destination", "--dst", names))?;
    let time = pick(given.time, TIME);
    let weight = pick(given.weight, WEIGHT).filter(|&column| {
        let empty_weight = kinds[column] == ColumnKind::Empty && named(column) == "weight";
        given.weight.is_some() || kinds[column].is_number() || empty_weight
    });
    let label = pick(given.label, LABEL);
    let kind = pick(given.kind, KIND);
    let features = given.features.clone().unwrap_or_else(|| {
        (0..kinds.len())
            .filter(|column| !taken.contains(column))
            .filter(|&column| !ROW_NAMES.contains(&named(column).to_lowercase().as_str()))
            .filter(|&column| match kinds[column] {
                ColumnKind::Empty => is_numbered_feature(named(column)),
                kind => kind.is_number() || matches!(kind, ColumnKind::NumberList(_)),
            })
            .collect()
    });
    Ok(Roles { src, dst, time, weight, label, kind, features, classes: None })
}

/// `f0`, `f1`, …: what Zoetrope calls features without names; they count even where every value
/// is missing.
fn is_numbered_feature(name: &str) -> bool {
    name.strip_prefix('f').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Roles of a table without names: `src dst t [w] [features]`, unless the values say otherwise.
///
/// # Errors
/// As [`roles_by_name`].
pub(crate) fn roles_by_position(
    path: &Path,
    kinds: &[ColumnKind],
    sample: &[Vec<String>],
    map: &ColumnMap,
) -> Result<Roles, DataError> {
    let given = Given::new(path, &[], kinds.len(), map)?;
    let taken = given.taken();
    let free = |column: &usize| !taken.contains(column);
    let time = given.time.or_else(|| guess_time(kinds, sample).filter(free));
    let mut ids = (0..kinds.len()).filter(free).filter(|&column| Some(column) != time);
    let src = given.src.or_else(|| ids.next());
    let dst = given.dst.or_else(|| ids.next());
    let (Some(src), Some(dst)) = (src, dst) else {
        return Err(missing(path, "source and a destination", "--src and --dst", &[]));
    };
    let used = |column: &usize| ![Some(src), Some(dst), time].contains(&Some(*column));
    let rest: Vec<usize> = (0..kinds.len()).filter(free).filter(used).collect();
    let texts: Vec<usize> =
        rest.iter().copied().filter(|&column| kinds[column] == ColumnKind::Text).collect();
    let mut numbers = rest.iter().copied().filter(|&column| kinds[column].is_measured());
    let weight = given.weight.or_else(|| numbers.next());
    let features = given.features.clone().unwrap_or_else(|| numbers.collect());
    let classes = match texts[..] {
        [first, second] if given.label.is_none() => Some((first, second)),
        _ => None,
    };
    Ok(Roles { src, dst, time, weight, label: given.label, kind: given.kind, features, classes })
}

/// A date column; else a column of plausible Unix times; else the third, or the fourth where
/// only that one does not decrease.
fn guess_time(kinds: &[ColumnKind], sample: &[Vec<String>]) -> Option<usize> {
    if let Some(column) = kinds.iter().position(|&kind| kind == ColumnKind::Date) {
        return Some(column);
    }
    let values = |column: usize| -> Vec<f64> {
        sample.iter().filter_map(|row| row[column].parse().ok()).collect()
    };
    let numeric: Vec<usize> =
        (0..kinds.len()).filter(|&column| kinds[column].is_number()).collect();
    let unix = |value: &f64| {
        [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (3e8 * unit..4.2e9 * unit).contains(value))
    };
    let is_unix = |column: &usize| values(*column).iter().all(unix);
    if let Some(&column) = numeric.iter().find(|column| is_unix(column)) {
        return Some(column);
    }
    let rises = |column: &usize| values(*column).windows(2).all(|pair| pair[0] <= pair[1]);
    let later: Vec<usize> = numeric.into_iter().filter(|&column| column >= 2).collect();
    later.iter().copied().find(rises).or(later.first().copied())
}

/// What the user said, resolved to positions.
struct Given {
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
        let one = |reference: &Option<ColumnRef>| {
            reference.as_ref().map(|column| resolve(path, names, columns, column)).transpose()
        };
        Ok(Self {
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
    };
    found.ok_or_else(|| {
        let wanted = match reference {
            ColumnRef::Position(position) => format!("column {position} of {columns}"),
            ColumnRef::Name(name) => format!("`{name}`"),
        };
        let known = match names {
            [] => format!("columns 0 to {} (the file has no header)", columns.saturating_sub(1)),
            names => format!("one of {}", names.join(", ")),
        };
        DataError::invalid(Location::file(path), known, wanted)
    })
}

/// The first column with one of the known names; exact spelling before lower case, so that
/// `item.t` and `item.T` are told apart.
fn find(names: &[String], known: &[&str]) -> Option<usize> {
    let exact = known.iter().find_map(|known| names.iter().position(|name| name == known));
    exact.or_else(|| {
        known.iter().find_map(|known| names.iter().position(|name| name.to_lowercase() == *known))
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
