//! Which two columns are the ends of an edge, and which only look like it because they are the
//! start and the end of a time.

use super::judge::Scored;
use super::names::{self, NamePoints};
use super::values::TELLING_ROWS;
use super::{ColumnKind, missing};
use crate::error::DataError;

/// An assignment must be so many points ahead of the next one to be taken unasked.
const MARGIN: f64 = 2.0;
/// A pair of columns with fewer points is no edge.
const LEAST_POINTS: f64 = -4.0;
/// So many columns are tried as either end.
const MOST_CANDIDATES: usize = 24;

/// The ends of an edge, and two columns that could be them as well.
pub(super) type Ends = (usize, usize, Option<[usize; 2]>);

/// Two columns that hold the start and the end of a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the values show it; else they could be the vertices as well.
    pub(super) certain: bool,
}

impl Scored<'_> {
    /// Columns called `start` and `end` or `from` and `to`, in a table that has other vertices and
    /// no other time.
    pub(super) fn find_interval(&self) -> Option<Interval> {
        let names = &self.columns.names;
        let taken = self.columns.given.taken();
        let count = names.len().min(MOST_CANDIDATES);
        let free = |column: &usize| !taken.contains(column);
        let measured = |column: &usize| {
            let kind = self.facts(*column).kind;
            kind.is_number() || matches!(kind, ColumnKind::Date(_))
        };
        let pairs = (0..count).filter(free).filter(measured).flat_map(|start| {
            let ends = (0..count).filter(free).filter(measured);
            ends.map(move |end| (start, end))
        });
        let mut pairs = pairs.filter(|&(one, two)| names::are_interval(&names[one], &names[two]));
        let (start, end) = pairs.next()?;
        let others = || (0..count).filter(|&column| column != start && column != end);
        let timed = |column: usize| self.time_points(column) >= 5.0;
        let given = &self.columns.given;
        if given.time.is_some() || others().any(timed) {
            return None;
        }
        let vertices: Vec<usize> = others().filter(|&column| self.may_be_vertex(column)).collect();
        let named_alike = vertices
            .iter()
            .any(|&one| vertices.iter().any(|&two| names::are_opposite(&names[one], &names[two])));
        let ends_given = given.src.is_some() && given.dst.is_some();
        if vertices.len() < 2 && !ends_given {
            return None;
        }
        let dates = matches!(self.facts(start).kind, ColumnKind::Date(_));
        let ordered = self.facts(start).never_exceeds(self.facts(end));
        Some(Interval { start, end, certain: ends_given || dates || named_alike && ordered })
    }

    /// Whether nothing speaks against a column being a vertex: its values repeat, and its name is
    /// none of a measure, time, label, weight or numbered feature.
    fn may_be_vertex(&self, column: usize) -> bool {
        let (facts, points) = (self.facts(column), &self.points[column]);
        let feature = |name: &str| {
            let words = names::words(name);
            matches!(words.first().map(String::as_str), Some("f" | "x" | "feat" | "feature"))
        };
        facts.can_name()
            && !facts.is_unique()
            && !facts.is_constant()
            && !facts.binary
            && !facts.has_two_numbers()
            && !points.measure
            && points.time == 0.0
            && points.label == 0.0
            && points.weight == 0.0
            && !(facts.rises && facts.present >= TELLING_ROWS && facts.kind == ColumnKind::Integer)
            && !feature(&self.columns.names[column])
    }

    /// The best pair of columns for source and destination.
    pub(super) fn ends(&self) -> Result<Ends, DataError> {
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

    /// A column that was taken for an end although its name is that of a time or of a measured number: the
    /// rows of such a table may have a vertex each, as readings of sensors do, and are then no edges.
    pub(super) fn doubtful_end(&self, src: usize, dst: usize) -> Option<usize> {
        let given = &self.columns.given;
        let ends = [(src, given.src, true), (dst, given.dst, false)];
        let doubtful = ends.into_iter().filter(|&(column, given, source)| {
            let points = &self.points[column];
            let number = self.facts(column).kind.is_number();
            let measured = points.time > 0.0 || points.weight > 0.0 || points.measure;
            given.is_none() && number && measured && self.end_points(column, source) <= 0.0
        });
        doubtful.map(|(column, ..)| column).next()
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
        if self.is_interval(column) {
            return -20.0;
        }
        if self.orders_others(column) {
            return -20.0;
        }
        match facts.kind {
            ColumnKind::Date(_) | ColumnKind::NumberList(_) => return -20.0,
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
        } else if facts.has_two_numbers() {
            points -= 12.0;
        } else if facts.binary && facts.present >= TELLING_ROWS {
            points -= 4.0;
        }
        points
    }

    /// Whether a column that is called what rows are ordered by, such as `start`, orders them: two
    /// other columns are called the ends of an edge, or they share values that this one has not.
    fn orders_others(&self, column: usize) -> bool {
        let (facts, points) = (self.facts(column), &self.points[column]);
        let given = &self.columns.given;
        let count = self.points.len().min(MOST_CANDIDATES);
        let measured = facts.kind.is_number() || matches!(facts.kind, ColumnKind::Date(_));
        if !points.order || !measured || [given.src, given.dst].contains(&Some(column)) {
            return false;
        }
        let names = &self.columns.names;
        let vertices: Vec<usize> = (0..count)
            .filter(|&other| other != column && self.may_be_vertex(other))
            .filter(|&other| !self.points[other].order)
            .collect();
        let mut pairs =
            vertices.iter().flat_map(|&one| vertices.iter().map(move |&two| (one, two)));
        pairs.any(|(one, two)| {
            let of = |column: usize| &self.points[column];
            let named = of(one).src > 2.0 && of(two).dst > 2.0;
            let beside = self.facts(one).shared(facts).max(self.facts(two).shared(facts));
            let alike = self.facts(one).shared(self.facts(two)) >= 0.2
                && (beside <= 0.05 || self.rises_enough(column));
            one != two && (named || names::are_opposite(&names[one], &names[two]) || alike)
        })
    }

    /// Whether a column holds identifiers of rows: every value differs, and there are two other
    /// columns that could be the ends of an edge.
    fn numbers_rows(&self, column: usize) -> bool {
        let others =
            (0..self.points.len()).filter(|&other| other != column && self.may_be_vertex(other));
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
}
