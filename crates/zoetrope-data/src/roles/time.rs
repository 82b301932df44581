//! Which column is the time, or which columns together; and whether to ask.

use super::judge::Scored;
use super::values::TELLING_ROWS;
use super::{ColumnKind, TimePart, doubt};
use crate::table::date::ACCEPTED;
use crate::table::timestamp;

/// The best column must be so many points ahead of the next one to be taken unasked.
const TIME_MARGIN: f64 = 1.0;
/// A column with fewer points is no time.
const LEAST_POINTS: f64 = 2.0;

/// A name that says what rows may be ordered by is no time yet: its values must rise, too.
const ORDER_POINTS: f64 = 1.5;

/// What was found out about the time.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// The column, or the coarsest of several.
    pub(super) time: Option<usize>,
    /// The parts, if several columns make the time.
    pub(super) parts: Vec<(usize, TimePart)>,
    /// Why it is uncertain.
    pub(super) doubt: Option<String>,
}

impl Timing {
    /// All columns of the time.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.time.into_iter().chain(self.parts.iter().map(|&(column, _)| column))
    }
}

impl Scored<'_> {
    /// The time, as the user said or as names and values show it.
    pub(super) fn timing(&self, taken: &[usize]) -> Timing {
        let given = &self.columns.given;
        if given.time.is_some() || given.no_time {
            return Timing { time: given.time, ..Timing::default() };
        }
        let (best, rival) = self.time(taken);
        let parts = self.parts_of_time(best, taken);
        if let Some(&(first, _)) = parts.first() {
            return Timing { time: Some(first), parts, doubt: None };
        }
        let name = |column: usize| doubt::quoted(&self.columns.names[column]);
        if let Some(rival) = rival {
            let doubt = Some(format!("{} could be the time as well", name(rival)));
            return Timing { time: best, doubt, ..Timing::default() };
        }
        if let Some((best, finer)) =
            best.and_then(|best| Some((best, self.finer_unit(best, taken)?)))
        {
            let doubt = format!("{} and {} make no time without a year", name(best), name(finer));
            return Timing { time: Some(best), doubt: Some(doubt), ..Timing::default() };
        }
        let free = || (0..self.points.len()).filter(|column| !taken.contains(column));
        let ordering = free().find(|&column| Some(column) != best && self.may_order(column));
        match (best, ordering) {
            // Found because it rises, beside a name that says more.
            (Some(best), Some(other)) if self.only_rises(best) => {
                let doubt = Some(format!("{} could be the time as well", name(other)));
                return Timing { time: Some(best), doubt, ..Timing::default() };
            }
            (Some(_), _) => return Timing { time: best, ..Timing::default() },
            (None, Some(column)) => {
                let doubt = format!(
                    "{} is called what rows are ordered by, but its values do not rise from row to row \
                     (--no-time, if it is no time and the rows are in order)",
                    name(column)
                );
                return Timing { time: Some(column), doubt: Some(doubt), ..Timing::default() };
            }
            (None, None) => {}
        }
        if let Some(column) = free().find(|&column| self.is_unreadable_time(column)) {
            let doubt = format!(
                "{} is called a time, but its values are not read as times ({ACCEPTED} are); if the \
                 rows are in the order of time, --no-time takes it",
                name(column)
            );
            return Timing { doubt: Some(doubt), ..Timing::default() };
        }
        if let Some(column) = free().find(|&column| self.comes_round(column)) {
            let doubt = format!(
                "{} falls again and again, as an hour or a day does, and nothing else is the time; if \
                 the rows are in the order of time, --no-time takes it",
                name(column)
            );
            return Timing { doubt: Some(doubt), ..Timing::default() };
        }
        if let Some(column) =
            free().find(|&column| self.rises_unnamed(column) || self.rises_in_groups(column, taken))
        {
            let doubt = format!(
                "{} never falls, as a time does, but is not called one (--no-time, if it is none)",
                name(column)
            );
            return Timing { time: Some(column), doubt: Some(doubt), ..Timing::default() };
        }
        Timing::default()
    }

    /// Whether a column is called a time and holds text that is none.
    fn is_unreadable_time(&self, column: usize) -> bool {
        let facts = self.facts(column);
        facts.kind == ColumnKind::Text && facts.present > 0 && self.points[column].time >= 6.0
    }

    /// Whether a column without a telling name rises from row to row, other than by one.
    fn rises_unnamed(&self, column: usize) -> bool {
        self.numbers_rows_by_value(column) && !self.facts(column).counts
    }

    /// Whether numbers that repeat rise from row to row under the name of something else, which is
    /// none of a measure, and do not come from a vertex by whose number the rows are sorted.
    fn rises_in_groups(&self, column: usize, taken: &[usize]) -> bool {
        let (facts, points) = (self.facts(column), &self.points[column]);
        let ends = taken.iter().filter(|&&end| end != column);
        facts.kind.is_number()
            && self.rises_enough(column)
            && !facts.is_unique()
            && !points.measure
            && points.weight == 0.0
            && points.label == 0.0
            && !super::judge::is_numbered_feature(&self.columns.names[column])
            && !ends.into_iter().any(|&end| self.facts(end).determines(facts))
    }

    /// Whether there are enough values to judge, and they rise.
    pub(super) fn rises_enough(&self, column: usize) -> bool {
        let facts = self.facts(column);
        facts.rises && facts.present >= TELLING_ROWS && facts.distinct() > 2
    }

    /// Whether a column is called what rows may be ordered by, and holds numbers that change.
    fn may_order(&self, column: usize) -> bool {
        let facts = self.facts(column);
        self.points[column].order
            && facts.kind.is_number()
            && facts.present > 0
            && !facts.is_constant()
            && !facts.has_two_numbers()
            && !facts.binary
    }

    /// Whether nothing but rising numbers says that a column is the time.
    fn only_rises(&self, column: usize) -> bool {
        let (facts, points) = (self.facts(column), &self.points[column]);
        let named = points.time > 0.0 || points.order || self.is_interval(column);
        !named && facts.kind.is_number() && !facts.unix
    }

    /// Whether a column holds whole numbers that all differ and rise, under a name that says
    /// nothing: it counts or names rows.
    pub(super) fn numbers_rows_by_value(&self, column: usize) -> bool {
        let (facts, points) = (self.facts(column), &self.points[column]);
        facts.kind == ColumnKind::Integer
            && facts.is_unique()
            && facts.rises
            && !points.measure
            && points.weight == 0.0
            && points.time == 0.0
            && points.label == 0.0
            && !super::judge::is_numbered_feature(&self.columns.names[column])
    }

    /// The best column for the time, and one that could be it as well.
    fn time(&self, taken: &[usize]) -> (Option<usize>, Option<usize>) {
        let mut all: Vec<(f64, usize)> = (0..self.points.len())
            .filter(|column| !taken.contains(column))
            .map(|column| (self.time_points(column), column))
            .filter(|&(points, _)| points >= LEAST_POINTS)
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

    pub(super) fn time_points(&self, column: usize) -> f64 {
        let (facts, points) = (self.facts(column), &self.points[column]);
        let name = match self.interval {
            Some(interval) if interval.start == column => 7.0,
            Some(interval) if interval.end == column => 5.0,
            _ if points.time == 0.0 && points.order => ORDER_POINTS,
            _ => points.time,
        };
        if points.other_date || self.comes_round(column) {
            return -20.0;
        }
        if facts.present == 0 {
            return name + if matches!(facts.kind, ColumnKind::Date(_)) { 6.0 } else { 0.0 };
        }
        let values = match facts.kind {
            ColumnKind::Date(_) => 6.0,
            ColumnKind::Integer | ColumnKind::Decimal if facts.unix => 4.0,
            ColumnKind::Integer | ColumnKind::Decimal => 0.0,
            // A column that is called the time stays it with bad rows in it: reading names them.
            ColumnKind::Text if name > 9.0 && self.has_times(column) => return name - 4.0,
            ColumnKind::Empty | ColumnKind::NumberList(_) | ColumnKind::Text => return -20.0,
        };
        let rises = if self.rises_enough(column) {
            2.0
        } else if points.order && facts.nearly_rises() {
            1.0
        } else {
            0.0
        };
        let mut total = name + values + rises;
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

    /// Whether at least half of the values of a column of text are numbers or dates.
    fn has_times(&self, column: usize) -> bool {
        let is_time = |text: &&String| {
            let text = text.as_bytes();
            timestamp::decimal(text).is_some() || timestamp::iso(text).is_some()
        };
        let facts = self.facts(column);
        2 * facts.values().filter(is_time).count() >= facts.distinct()
    }
}
