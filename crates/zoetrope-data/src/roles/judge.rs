//! Roles of a table with a header: points for names and values, and the best assignment.

use super::ends::Interval;
use super::names::{self, NamePoints};
use super::time::Timing;
use super::values::Facts;
use super::words;
use super::{ColumnKind, Columns, Judged, Roles, doubt};
use crate::error::DataError;

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
    let timing = table.timing(&taken);
    taken.extend(timing.columns());
    let weight = if given.no_weight { None } else { given.weight.or_else(|| table.weight(&taken)) };
    taken.extend(weight);
    let (label, other_labels) = match given.label {
        Some(label) => (Some(label), Vec::new()),
        None if given.no_label => (None, Vec::new()),
        None => table.label(&taken),
    };
    taken.extend(label);
    let listed = |list: &[&str]| {
        let named =
            |known: &&str| columns.names.iter().position(|name| name.to_lowercase() == *known);
        list.iter().find_map(named)
    };
    let kind = given.kind.or_else(|| listed(words::KIND).filter(|kind| !taken.contains(kind)));
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
    let Timing { time, parts: time_parts, doubt: time_doubt } = timing;
    let classes = None;
    let roles = Roles { src, dst, time, time_parts, weight, label, kind, features, classes };
    let interval = table.interval.filter(|interval| !interval.certain);
    let no_time = given.no_time || time.is_none() && time_doubt.is_some();
    let ends_rival = ends_rival.or(interval.map(|interval| [interval.start, interval.end]));
    if let Some(rival) = ends_rival {
        let [one, two] = rival.map(|column| doubt::quoted(&columns.names[column]));
        let what = format!("{one} and {two} could be the vertices as well");
        return Err(doubt::uncertain(columns, &roles, what, no_time));
    }
    if let Some(end) = table.doubtful_end(src, dst) {
        let what = format!(
            "by its name {} is no vertex, and nothing else is the other end of an edge (rows with one vertex \
             each, as readings of sensors, are no edges)",
            doubt::quoted(&columns.names[end])
        );
        return Err(doubt::uncertain(columns, &roles, what, no_time));
    }
    if let Some(what) = time_doubt {
        return Err(doubt::uncertain(columns, &roles, what, no_time));
    }
    if given.features.is_none()
        && let Some(&list) = roles.features.iter().find(|&&column| table.is_two_or_one(column))
    {
        let what = format!(
            "the values of {} could be two numbers each, or one with a decimal comma: write a decimal \
             point, or name the features with --feature",
            doubt::quoted(&columns.names[list])
        );
        return Err(doubt::uncertain(columns, &roles, what, no_time));
    }
    let columns = doubt::notes(columns, &roles);
    Ok(Judged { roles, columns, apart, warnings })
}

/// Shared integers say nothing: both sides may count from 0.
fn number_of(facts: &Facts) -> f64 {
    if facts.kind == ColumnKind::Integer { 0.0 } else { 1.0 }
}

/// A table with the points of its names.
pub(super) struct Scored<'a> {
    pub(super) columns: &'a Columns<'a>,
    pub(super) points: Vec<NamePoints>,
    /// Columns that are the start and the end of a time and not of an edge.
    pub(super) interval: Option<Interval>,
}

impl<'a> Scored<'a> {
    fn new(columns: &'a Columns<'a>) -> Self {
        let points = columns.names.iter().map(|name| names::points(name)).collect();
        let mut scored = Self { columns, points, interval: None };
        scored.interval = scored.find_interval();
        scored
    }

    pub(super) fn facts(&self, column: usize) -> &Facts {
        &self.columns.facts[column]
    }

    pub(super) fn is_interval(&self, column: usize) -> bool {
        self.interval.is_some_and(|found| found.start == column || found.end == column)
    }

    /// Whether a list of two could be one number with a decimal comma, or with commas between
    /// thousands.
    fn is_two_or_one(&self, column: usize) -> bool {
        let digits = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        let facts = self.facts(column);
        facts.kind == ColumnKind::NumberList(2) && facts.present > 0 && facts.values().all(digits)
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
            if !certain
                && (facts.is_unique() || matches!(facts.kind, ColumnKind::Date(_)) || measured)
            {
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
                    && !self.numbers_rows_by_value(column)
                    && !names::is_row_name(name)
                    && match facts.kind {
                        ColumnKind::Empty => is_numbered_feature(name),
                        kind => kind.is_number() || matches!(kind, ColumnKind::NumberList(_)),
                    }
            })
            .collect()
    }
}

/// `f0`, `f1`, …: what Zoetrope calls features without names; they count even if every value
/// is missing.
pub(super) fn is_numbered_feature(name: &str) -> bool {
    name.strip_prefix('f').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
