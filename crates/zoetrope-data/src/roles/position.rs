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
    let time_given = given.time.is_some() || given.no_time;
    let first = if ends_given || time_given { First::Vertex } else { first_column(&columns.facts) };
    let relation = if ends_given { Relation::None } else { relation(&columns.facts) };
    let (roles, time_doubt) = assign(columns, &first, relation)?;
    let doubt = match (&first, relation, time_doubt) {
        (First::Doubtful { what, .. }, ..) => Some(what.clone()),
        (_, Relation::Likely, _) => Some(
            "columns 0 and 2 share their values, and column 1 has few, as the relation between a \
             subject and an object has"
                .to_owned(),
        ),
        (_, _, Some(doubt)) if !time_given => Some(doubt),
        _ => None,
    };
    if let Some(what) = doubt {
        return Err(doubt::uncertain(columns, &roles, what, given.no_time));
    }
    let columns = doubt::notes(columns, &roles);
    Ok(Judged { roles, columns, apart: false, warnings: Vec::new() })
}

/// Whether the second column is the relation of `subject relation object time` rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    None,
    /// Whole numbers that look like it.
    Likely,
    /// Names that only the first and the third column share.
    Certain,
}

/// Judges by what the first three columns share.
fn relation(facts: &[Facts]) -> Relation {
    let [first, second, third, _, ..] = facts else { return Relation::None };
    let telling = [first, second, third].iter().all(|facts| {
        facts.can_name() && facts.present >= TELLING_ROWS && !facts.unix && !facts.rises
    });
    let few = 2 * second.distinct() <= first.distinct().min(third.distinct());
    let share = first.shared(third);
    let beside = first.shared(second).max(second.shared(third));
    if !telling || !few || share < 0.2 || share < 2.0 * beside {
        return Relation::None;
    }
    let text = |facts: &Facts| facts.kind == ColumnKind::Text;
    if text(first) && text(third) && beside == 0.0 { Relation::Certain } else { Relation::Likely }
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

/// The roles, and why the time may be another column or none.
fn assign(
    columns: &Columns<'_>,
    first: &First,
    relation: Relation,
) -> Result<(Roles, Option<String>), DataError> {
    let given = &columns.given;
    let taken = given.taken();
    let count = columns.facts.len();
    let (first_is_time, skipped) = match first {
        First::Vertex => (false, None),
        First::Time => (true, None),
        First::Doubtful { is_row, .. } => (!is_row, is_row.then_some(0)),
    };
    let between = (relation != Relation::None).then_some(1);
    let free = |column: &usize| !taken.contains(column) && Some(*column) != skipped;
    let (guess, doubt) = match (first_is_time, given.no_time) {
        (_, true) => (None, None),
        (true, _) => (Some(0), None),
        _ => guess_time(&columns.facts, skipped, between, &taken),
    };
    let time = given.time.or_else(|| guess.filter(free));
    let mut ids =
        (0..count).filter(free).filter(|&column| Some(column) != time && Some(column) != between);
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
    let measured = |column: &usize| {
        kind(*column).is_number() || matches!(kind(*column), ColumnKind::NumberList(_))
    };
    let numbers: Vec<usize> = rest.iter().copied().filter(measured).collect();
    // What stands between the ends is a kind of edge rather than its weight.
    let weight = if given.no_weight {
        None
    } else {
        given.weight.or(numbers.iter().copied().find(|&column| column > src.min(dst) + 1))
    };
    let features = given
        .features
        .clone()
        .unwrap_or_else(|| numbers.into_iter().filter(|&column| Some(column) != weight).collect());
    let classes = match texts[..] {
        [first, second] if given.label.is_none() => Some((first, second)),
        _ => None,
    };
    let (label, kind) = (given.label, given.kind);
    let time_parts = Vec::new();
    let roles = Roles { src, dst, time, time_parts, weight, label, kind, features, classes };
    Ok((roles, doubt))
}

/// A date column; else a column of plausible Unix times; else, from the third on, one that rises,
/// or nearly so, or the only one that changes; and why that may be wrong.
fn guess_time(
    facts: &[Facts],
    skipped: Option<usize>,
    between: Option<usize>,
    taken: &[usize],
) -> (Option<usize>, Option<String>) {
    let columns =
        || (0..facts.len()).filter(|&column| Some(column) != skipped && !taken.contains(&column));
    if let Some(column) =
        columns().find(|&column| matches!(facts[column].kind, ColumnKind::Date(_)))
    {
        return (Some(column), None);
    }
    let numeric: Vec<usize> = columns().filter(|&column| facts[column].kind.is_number()).collect();
    if let Some(&column) = numeric.iter().find(|&&column| facts[column].unix) {
        return (Some(column), None);
    }
    let least = 2 + usize::from(skipped.is_some()) + usize::from(between.is_some());
    let later: Vec<usize> = numeric.into_iter().filter(|&column| column >= least).collect();
    let find =
        |test: &dyn Fn(&Facts) -> bool| later.iter().copied().find(|&column| test(&facts[column]));
    let rises =
        find(&|facts| facts.rises && facts.distinct() > 2).or_else(|| find(&|facts| facts.rises));
    if let Some(column) = rises.or_else(|| find(&Facts::nearly_rises)) {
        return (Some(column), None);
    }
    let changing: Vec<usize> =
        later.iter().copied().filter(|&column| !facts[column].is_constant()).collect();
    // Fewer rows than tell anything are read in the usual order.
    let telling = |&&column: &&usize| {
        let facts = &facts[column];
        facts.present >= TELLING_ROWS
            && facts.kind == ColumnKind::Integer
            && !facts.has_two_numbers()
    };
    let guess = changing.first().or(later.first()).copied();
    let rival = changing.iter().skip(1).find(telling).map(|rival| {
        format!("column {rival} could be the time as well (no column rises from row to row)")
    });
    let weight = guess.filter(|&column| facts[column].looks_like_a_weight()).map(|column| {
        format!(
            "column {column} falls as often as it rises and has few values, or fractions of 1, as \
             weights have: if it is the time, say --time {column}; if it is a weight, say --no-time"
        )
    });
    (guess, rival.or(weight))
}
