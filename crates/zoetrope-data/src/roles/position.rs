//! Roles of a table without names: `src dst t [w] [features]`, unless the values say otherwise.

use super::values::{Facts, TELLING_ROWS};
use super::{ColumnKind, Columns, Judged, Roles, doubt, missing};
use crate::error::DataError;

/// Roles by position and values.
///
/// # Errors
/// As [`super::judge`].
pub(super) fn by_position(columns: &Columns<'_>) -> Result<Judged, DataError> {
    let given = &columns.given;
    let ends_given = given.src.is_some() || given.dst.is_some();
    let first = match ends_given || given.time.is_some() {
        true => First::Vertex,
        false => first_column(&columns.facts),
    };
    let roles = assign(columns, &first)?;
    match first {
        First::Doubtful { what, .. } => Err(doubt::uncertain(columns, &roles, what)),
        _ => {
            let columns = doubt::notes(columns, &roles);
            Ok(Judged { roles, columns, apart: false, warnings: Vec::new() })
        }
    }
}

/// What the first column is.
enum First {
    /// A vertex, as usual, or a time that is known as such by its values.
    Vertex,
    /// The time, with the vertices behind it.
    Time,
    /// Perhaps the time, or an identifier of the row.
    Doubtful { what: String, is_row: bool },
}

/// Judges the first column by how much its values and those of the next two have in common.
fn first_column(facts: &[Facts]) -> First {
    let [first, second, third, ..] = facts else { return First::Vertex };
    let name = [first, second, third].iter().all(|facts| facts.can_name());
    let enough = first.present >= TELLING_ROWS && second.distinct() >= 5;
    if !name || !enough || third.rises || second.rises || third.unix {
        return First::Vertex;
    }
    let (behind, before) = (second.shared(third), first.shared(second));
    let ends = !second.is_unique() && !third.is_unique() && facts.len() > 3;
    let different = first.is_unique() && behind >= 0.2 && before <= 0.05;
    if ends && first.is_unique() && (first.counts || different && !first.rises) {
        let what = "every value of column 0 differs, as identifiers of rows do".to_owned();
        return First::Doubtful { what, is_row: true };
    }
    if first.rises && first.distinct() > 2 {
        if behind >= 0.5 && before <= 0.05 && !first.is_unique() {
            return First::Time;
        }
        if behind >= 0.2 && behind >= 3.0 * before {
            let what = "column 0 never falls, as a time does, and columns 1 and 2 share values";
            return First::Doubtful { what: what.to_owned(), is_row: false };
        }
    }
    First::Vertex
}

fn assign(columns: &Columns<'_>, first: &First) -> Result<Roles, DataError> {
    let given = &columns.given;
    let taken = given.taken();
    let count = columns.facts.len();
    let (first_is_time, skipped) = match first {
        First::Vertex => (false, None),
        First::Time => (true, None),
        First::Doubtful { is_row, .. } => (!is_row, is_row.then_some(0)),
    };
    let free = |column: &usize| !taken.contains(column) && Some(*column) != skipped;
    let guess = || if first_is_time { Some(0) } else { guess_time(&columns.facts, skipped) };
    let time = given.time.or_else(|| guess().filter(free));
    let mut ids = (0..count).filter(free).filter(|&column| Some(column) != time);
    let src = given.src.or_else(|| ids.next());
    let dst = given.dst.or_else(|| ids.next());
    let (Some(src), Some(dst)) = (src, dst) else {
        return Err(missing(columns.path, "source and a destination", "--src and --dst", &[]));
    };
    let used = |column: &usize| ![Some(src), Some(dst), time].contains(&Some(*column));
    let rest: Vec<usize> = (0..count).filter(free).filter(used).collect();
    let kind = |column: usize| columns.facts[column].kind;
    let texts: Vec<usize> =
        rest.iter().copied().filter(|&column| kind(column) == ColumnKind::Text).collect();
    let mut numbers = rest.iter().copied().filter(|&column| kind(column).is_measured());
    let weight = given.weight.or_else(|| numbers.next());
    let features = given.features.clone().unwrap_or_else(|| numbers.collect());
    let classes = match texts[..] {
        [first, second] if given.label.is_none() => Some((first, second)),
        _ => None,
    };
    Ok(Roles { src, dst, time, weight, label: given.label, kind: given.kind, features, classes })
}

/// A date column; else a column of plausible Unix times; else the third, or the fourth where
/// only that one does not decrease (of those that are not skipped).
fn guess_time(facts: &[Facts], skipped: Option<usize>) -> Option<usize> {
    let columns = || (0..facts.len()).filter(|&column| Some(column) != skipped);
    if let Some(column) = columns().find(|&column| facts[column].kind == ColumnKind::Date) {
        return Some(column);
    }
    let numeric: Vec<usize> = columns().filter(|&column| facts[column].kind.is_number()).collect();
    if let Some(&column) = numeric.iter().find(|&&column| facts[column].unix) {
        return Some(column);
    }
    let least = 2 + usize::from(skipped.is_some());
    let never_falls = |column: usize| facts[column].rises || facts[column].distinct() <= 1;
    let later: Vec<usize> = numeric.into_iter().filter(|&column| column >= least).collect();
    later.iter().copied().find(|&column| never_falls(column)).or(later.first().copied())
}
