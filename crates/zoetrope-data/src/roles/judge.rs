//! Roles of a table with a header: points for names and values, and the best assignment.

use super::names::{self, NamePoints};
use super::values::{Facts, TELLING_ROWS};
use super::{ColumnKind, Columns, Judged, Roles, doubt, missing};
use crate::error::DataError;

/// An assignment must be so many points ahead of the next one to be taken unasked.
const MARGIN: f64 = 2.0;
/// The same for the time, which is judged by itself.
const TIME_MARGIN: f64 = 1.0;
/// A pair of columns with fewer points is no edge.
const LEAST_POINTS: f64 = -4.0;
/// So many columns are tried as either end.
const MOST_CANDIDATES: usize = 24;

/// Roles by names and values.
///
/// # Errors
/// As [`super::judge`].
pub(super) fn by_name(columns: &Columns<'_>) -> Result<Judged, DataError> {
    let table = Scored::new(columns);
    let given = &columns.given;
    let (src, dst, ends_rival) = table.ends()?;
    let mut taken = given.taken();
    taken.extend([src, dst]);
    let (time, time_rival) = match given.time {
        Some(time) => (Some(time), None),
        None => table.time(&taken),
    };
    taken.extend(time);
    let weight = given.weight.or_else(|| table.weight(&taken));
    taken.extend(weight);
    let (label, other_labels) = match given.label {
        Some(label) => (Some(label), Vec::new()),
        None => table.label(&taken),
    };
    taken.extend(label);
    let listed = |list: &[&str]| {
        let named =
            |known: &&str| columns.names.iter().position(|name| name.to_lowercase() == *known);
        list.iter().find_map(named)
    };
    let kind = given.kind.or_else(|| listed(names::KIND).filter(|kind| !taken.contains(kind)));
    taken.extend(kind);
    let features = given.features.clone().unwrap_or_else(|| table.features(&taken));
    let warnings = other_labels
        .iter()
        .filter(|column| features.contains(column))
        .map(|&column| {
            let name = crate::error::shorten(&columns.names[column]);
            format!(
                "`{name}` looks like a label too and is read as a feature: --label names the label"
            )
        })
        .collect();
    let apart = table.points[src].actor
        && table.points[dst].thing
        && columns.facts[src].shared(&columns.facts[dst]) * number_of(&columns.facts[src]) < 0.2;
    let roles = Roles { src, dst, time, weight, label, kind, features, classes: None };
    if let Some(rival) = ends_rival {
        let [one, two] = rival.map(|column| doubt::quoted(&columns.names[column]));
        let what = format!("{one} and {two} could be the vertices as well");
        return Err(doubt::uncertain(columns, &roles, what));
    }
    if let Some(rival) = time_rival {
        let what = format!("{} could be the time as well", doubt::quoted(&columns.names[rival]));
        return Err(doubt::uncertain(columns, &roles, what));
    }
    let columns = doubt::notes(columns, &roles);
    Ok(Judged { roles, columns, apart, warnings })
}

/// Shared integers say nothing: both sides may count from 0.
fn number_of(facts: &Facts) -> f64 {
    if facts.kind == ColumnKind::Integer { 0.0 } else { 1.0 }
}

/// A table with the points of its names.
struct Scored<'a> {
    columns: &'a Columns<'a>,
    points: Vec<NamePoints>,
}

/// The ends of an edge, and two columns that could be them as well.
type Ends = (usize, usize, Option<[usize; 2]>);

impl<'a> Scored<'a> {
    fn new(columns: &'a Columns<'a>) -> Self {
        Self { columns, points: columns.names.iter().map(|name| names::points(name)).collect() }
    }

    fn facts(&self, column: usize) -> &Facts {
        &self.columns.facts[column]
    }

    /// The best pair of columns for source and destination.
    fn ends(&self) -> Result<Ends, DataError> {
        let given = &self.columns.given;
        let taken = given.taken();
        let values: Vec<f64> = (0..self.points.len()).map(|column| self.vertex(column)).collect();
        let score = |column: usize, source: bool| {
            let name = self.end_points(column, source);
            // Earlier columns first, by so little that it only decides between equals.
            name + values[column] - 0.05 * column.min(40) as f64
        };
        let best_of = |source: bool, given: Option<usize>| -> Vec<usize> {
            if let Some(column) = given {
                return vec![column];
            }
            let mut all: Vec<usize> =
                (0..self.points.len()).filter(|column| !taken.contains(column)).collect();
            all.sort_by(|&one, &two| score(two, source).total_cmp(&score(one, source)));
            all.truncate(MOST_CANDIDATES);
            all
        };
        let (sources, destinations) = (best_of(true, given.src), best_of(false, given.dst));
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for &src in &sources {
            for &dst in destinations.iter().filter(|&&dst| dst != src) {
                let points = score(src, true) + score(dst, false) + self.pair(src, dst);
                pairs.push((points, src, dst));
            }
        }
        // Equal points: the earlier columns.
        pairs.sort_by(|one, two| two.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(two.1, two.2))));
        let names = &self.columns.names;
        let fail = |what: &str, flag: &str| missing(self.columns.path, what, flag, names);
        let Some(&(points, src, dst)) = pairs.first() else {
            return Err(fail("source and a destination", "--src and --dst"));
        };
        let both_given = given.src.is_some() && given.dst.is_some();
        let weak = |column, source| self.end_points(column, source) + values[column] < LEAST_POINTS;
        if points < LEAST_POINTS {
            // A column that the user named is not judged: its reader says what is wrong with it.
            match (given.src, given.dst) {
                (None, None) if weak(src, true) => return Err(fail("source", "--src")),
                (None, None) => return Err(fail("destination", "--dst")),
                (None, Some(_)) if weak(src, true) => return Err(fail("source", "--src")),
                (Some(_), None) if weak(dst, false) => return Err(fail("destination", "--dst")),
                _ => {}
            }
        }
        let same = |one: usize, two: usize| {
            let (one_facts, two_facts) = (self.facts(one), self.facts(two));
            one == two || one_facts.determines(two_facts) && two_facts.determines(one_facts)
        };
        let rival = pairs.iter().skip(1).find(|&&(other, a, b)| {
            other > points - MARGIN
                && other >= LEAST_POINTS
                && !(a == dst && b == src)
                && !(same(a, src) && same(b, dst))
                && !(same(a, dst) && same(b, src))
        });
        Ok((src, dst, rival.filter(|_| !both_given).map(|&(_, a, b)| [a, b])))
    }

    /// What a name says about an end. A column that says nothing itself may refine the one before
    /// it: in `From Bank, Account, To Bank, Account` accounts are what money moves between.
    fn end_points(&self, column: usize, source: bool) -> f64 {
        let of = |points: &NamePoints| if source { points.src } else { points.dst };
        let own = &self.points[column];
        let before = column.checked_sub(1).map(|before| (before, &self.points[before]));
        if let Some((before, points)) = before
            && points.directed
            && !own.directed
            && of(own) > 0.0
            && of(own) < 6.0
            && self.facts(column).can_name()
            && self.facts(column).determines(self.facts(before))
            && self.facts(column).distinct() > self.facts(before).distinct()
        {
            return of(own).max(of(points)) + 1.0;
        }
        of(own)
    }

    /// What the values of a column say about whether it names vertices.
    fn vertex(&self, column: usize) -> f64 {
        let facts = self.facts(column);
        match facts.kind {
            ColumnKind::Date | ColumnKind::NumberList(_) => return -20.0,
            ColumnKind::Empty => return -8.0,
            ColumnKind::Decimal if facts.present == 0 => return -6.0,
            ColumnKind::Decimal if !facts.can_name() => return -12.0,
            _ => {}
        }
        let mut points = if facts.kind == ColumnKind::Decimal { -1.0 } else { 0.0 };
        if self.numbers_rows(column) {
            points -= 8.0;
        }
        if facts.is_constant() {
            points -= 3.0;
        } else if facts.binary && facts.present >= TELLING_ROWS {
            points -= 4.0;
        }
        points
    }

    /// Whether a column holds identifiers of rows: every value differs, and there are two other
    /// columns that could be the ends of an edge.
    fn numbers_rows(&self, column: usize) -> bool {
        let others = (0..self.points.len()).filter(|&other| {
            let (facts, points) = (self.facts(other), &self.points[other]);
            other != column
                && facts.can_name()
                && !facts.is_unique()
                && !facts.is_constant()
                && !facts.binary
                && !points.measure
                && points.time == 0.0
                && points.label == 0.0
                && points.weight == 0.0
                && !(facts.rises && facts.kind == ColumnKind::Integer)
        });
        self.facts(column).is_unique() && others.take(2).count() == 2
    }

    /// What two columns say together.
    fn pair(&self, src: usize, dst: usize) -> f64 {
        let names = &self.columns.names;
        let mut points = if src < dst { 0.5 } else { 0.0 };
        if names::are_opposite(&names[src], &names[dst]) && src < dst {
            let letters = [src, dst].iter().all(|&end| names[end].len() == 1);
            points += if letters { 20.0 } else { 4.0 };
        }
        let (one, two) = (self.facts(src), self.facts(dst));
        if one.present == 0 || two.present == 0 {
            return points;
        }
        if one.equals(two) {
            return points - 6.0;
        }
        let kinds = [one.kind, two.kind].map(|kind| kind == ColumnKind::Text);
        match (kinds, one.shared(two) >= 0.2) {
            ([true, true], true) => points += 2.0,
            ([false, false], true) => points += 1.0,
            ([true, false] | [false, true], _) => points -= 2.0,
            _ => {}
        }
        points
    }

    /// The best column for the time, and one that could be it as well.
    fn time(&self, taken: &[usize]) -> (Option<usize>, Option<usize>) {
        let mut all: Vec<(f64, usize)> = (0..self.points.len())
            .filter(|column| !taken.contains(column))
            .map(|column| (self.time_points(column), column))
            .filter(|&(points, _)| points >= 2.0)
            .collect();
        all.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        let Some(&(points, best)) = all.first() else { return (None, None) };
        let rival = all.iter().skip(1).find(|&&(other, column)| {
            other > points - TIME_MARGIN
                && self.facts(column).present > 0
                && !self.facts(column).orders_like(self.facts(best))
        });
        (Some(best), rival.map(|&(_, column)| column))
    }

    fn time_points(&self, column: usize) -> f64 {
        let (facts, points) = (self.facts(column), &self.points[column]);
        let name = points.time;
        if facts.present == 0 {
            return name + if facts.kind == ColumnKind::Date { 6.0 } else { 0.0 };
        }
        let values = match facts.kind {
            ColumnKind::Date => 6.0,
            ColumnKind::Integer | ColumnKind::Decimal if facts.unix => 4.0,
            ColumnKind::Integer | ColumnKind::Decimal => 0.0,
            // A column that is called the time stays it with bad rows in it: reading names them.
            ColumnKind::Text if name > 9.0 => return name - 4.0,
            ColumnKind::Empty | ColumnKind::NumberList(_) | ColumnKind::Text => return -20.0,
        };
        let rises = facts.rises && facts.present >= TELLING_ROWS && facts.distinct() > 2;
        let mut total = name + values + if rises { 2.0 } else { 0.0 };
        for (is, cost) in [
            (facts.is_constant(), 3.0),
            (facts.binary && facts.present >= TELLING_ROWS, 6.0),
            (name == 0.0 && (points.measure || points.row || points.directed), 6.0),
            (name == 0.0 && facts.is_unique() && values == 0.0, 2.0),
        ] {
            total -= if is { cost } else { 0.0 };
        }
        total
    }

    /// A column of that name; with several that only sound like it, none.
    fn weight(&self, taken: &[usize]) -> Option<usize> {
        let free = || (0..self.points.len()).filter(|column| !taken.contains(column));
        let points = |column: usize| self.points[column].weight;
        let mut named: Vec<usize> = free().filter(|&column| points(column) > 9.0).collect();
        named.sort_by(|&one, &two| points(two).total_cmp(&points(one)));
        let empty = |column: usize| {
            self.facts(column).kind == ColumnKind::Empty && self.columns.names[column] == "weight"
        };
        let number = |column: usize| self.facts(column).kind.is_number();
        if let Some(&column) = named.first() {
            return Some(column).filter(|&column| number(column) || empty(column));
        }
        let mut alike = free().filter(|&column| points(column) > 0.0 && number(column));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// The best column for the label, and others that sound like one.
    fn label(&self, taken: &[usize]) -> (Option<usize>, Vec<usize>) {
        let score = |column: usize| {
            let (facts, points) = (self.facts(column), &self.points[column]);
            let certain = points.label > 9.0;
            if points.label == 0.0 || matches!(facts.kind, ColumnKind::NumberList(_)) {
                return 0.0;
            }
            let measured = points.measure && points.label > 5.0 && !facts.binary;
            if !certain && (facts.is_unique() || facts.kind == ColumnKind::Date || measured) {
                return 0.0;
            }
            points.label + if facts.binary { 2.0 } else { 0.0 }
        };
        let mut all: Vec<usize> = (0..self.points.len())
            .filter(|column| !taken.contains(column) && score(*column) > 0.0)
            .collect();
        all.sort_by(|&one, &two| score(two).total_cmp(&score(one)));
        let others = all.iter().skip(1).copied().filter(|&column| score(column) >= 6.0).collect();
        (all.first().copied(), others)
    }

    /// All other columns of numbers that do not number or name rows.
    fn features(&self, taken: &[usize]) -> Vec<usize> {
        (0..self.points.len())
            .filter(|column| !taken.contains(column))
            .filter(|&column| {
                let (facts, name) = (self.facts(column), &self.columns.names[column]);
                let rows = self.points[column].row && facts.is_unique();
                !rows
                    && !names::is_row_name(name)
                    && match facts.kind {
                        ColumnKind::Empty => is_numbered_feature(name),
                        kind => kind.is_number() || matches!(kind, ColumnKind::NumberList(_)),
                    }
            })
            .collect()
    }
}

/// `f0`, `f1`, …: what Zoetrope calls features without names; they count even where every value
/// is missing.
fn is_numbered_feature(name: &str) -> bool {
    name.strip_prefix('f').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
