//! Decoded row groups, joined into an event store.

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{EventStore, NameTable, TextTable, TimeScale, TimeUnit, VertexNames};

use crate::assemble::{RawEvents, assemble};
use crate::dataset::{Dataset, Loaded, Notes};
use crate::error::{DataError, Location, Problem};
use crate::format::Format;
use crate::formats::parquet::columns::{Features, Ids, Keep, Labels, Times, extend};
use crate::formats::parquet::decode::{DecodedColumn, Values};
use crate::formats::parquet::footer::Note;
use crate::formats::parquet::reader::Plan;
use crate::formats::parquet::schema::Stored;
use crate::roles::{self, Roles};
use crate::table::reading::{TableReading, TimeReading};

/// Everything read so far.
#[derive(Default)]
pub(super) struct Gathered {
    src: Ids,
    dst: Ids,
    times: Times,
    weight: Vec<f32>,
    labels: Labels,
    kind: Vec<u8>,
    features: Features,
    rows: u64,
    missing: u64,
    bad_rows: u64,
    problems: Vec<Problem>,
}

impl Gathered {
    /// Takes the columns of a row group, in the order of `plan.wanted`.
    pub(super) fn take(
        &mut self,
        plan: &Plan<'_>,
        group: usize,
        mut parts: Vec<DecodedColumn>,
    ) -> Result<(), DataError> {
        let rows = plan.opened.metadata.row_group(group).num_rows() as usize;
        if !plan.roles.time_parts.is_empty() {
            let shown: Vec<DecodedColumn> =
                parts.drain(2..2 + plan.roles.time_parts.len()).collect();
            parts.insert(2, plan.join_times(group, rows, shown));
        }
        let mut bad: Vec<usize> =
            parts.iter_mut().flat_map(|part| std::mem::take(&mut part.bad_rows)).collect();
        bad.sort_unstable();
        bad.dedup();
        self.bad_rows += bad.len() as u64;
        for part in &mut parts {
            self.missing += part.missing;
            self.problems.append(&mut part.problems);
        }
        self.problems.sort_by_key(|problem| problem.at.line);
        self.problems.truncate(plan.options.max_problems);
        if self.bad_rows != 0 && !plan.options.lenient {
            return Ok(());
        }
        let keep: Option<Vec<bool>> = (!bad.is_empty()).then(|| {
            let mut keep = vec![true; rows];
            bad.iter().for_each(|&row| keep[row] = false);
            keep
        });
        self.rows += (rows - bad.len()) as u64;
        self.append(plan, group, rows, parts, keep.as_deref())
    }

    fn append(
        &mut self,
        plan: &Plan<'_>,
        group: usize,
        rows: usize,
        parts: Vec<DecodedColumn>,
        keep: Keep<'_>,
    ) -> Result<(), DataError> {
        let roles = &plan.roles;
        let mut parts = parts.into_iter().map(|part| part.values);
        let mut next = |present: bool| present.then(|| parts.next()).flatten();
        next(true).into_iter().for_each(|values| self.src.push(values, keep));
        next(true).into_iter().for_each(|values| self.dst.push(values, keep));
        if let Some(values) = next(roles.time.is_some())
            && !self.times.push(values, keep)
        {
            let at = Location::file(plan.path).line(plan.first_rows[group]);
            return Err(DataError::invalid(at, "times that fit 64 bits", "more decimals"));
        }
        if let Some(Values::Numbers(values)) = next(roles.weight.is_some()) {
            extend(&mut self.weight, &values, keep);
        }
        next(roles.label.is_some()).into_iter().for_each(|values| self.labels.push(values, keep));
        if let Some(Values::Kinds(values)) = next(roles.kind.is_some()) {
            extend(&mut self.kind, &values, keep);
        }
        let features: Vec<Values> = parts.collect();
        if features.is_empty() {
            return Ok(());
        }
        self.features.push(features, rows, keep).map_err(|column| {
            let leaf = &plan.leaves[roles.features[column]];
            let at = Location::file(plan.path).line(plan.first_rows[group]).column(&leaf.name);
            let expected = format!("lists of {} numbers", self.features.widths[column]);
            DataError::invalid(at, expected, "another length in this row group")
        })?;
        let width: usize = self.features.widths.iter().sum();
        plan.within_budget(plan.rows.saturating_mul(4 * width as u64))
    }

    pub(super) fn finish(
        self,
        plan: &Plan<'_>,
        names: &[String],
        apart: bool,
    ) -> Result<Loaded, DataError> {
        let (path, options, roles) = (plan.path, plan.options, &plan.roles);
        if self.bad_rows != 0 && !options.lenient {
            return Err(DataError::Invalid { problems: self.problems, total: self.bad_rows });
        }
        if self.rows == 0 {
            return Err(DataError::invalid(Location::file(path), "at least one event", "none"));
        }
        let mut notes = Notes::new(Format::Parquet, reason(plan, names));
        notes.files = vec![path.to_owned()];
        notes.skipped_rows = self.bad_rows;
        notes.missing_values = self.missing;
        if self.bad_rows != 0 {
            notes.warnings.push(format!("{} bad rows skipped", self.bad_rows));
        }
        let note = plan.opened.note.as_ref();
        let (time, scale) = match roles.time {
            None => {
                notes.warnings.push("no time column: events are numbered by row".into());
                ((0..self.rows as i64).collect(), TimeScale::STEPS)
            }
            Some(column) => {
                let steps = roles::counts_steps(&names[column]).then_some(TimeUnit::Step);
                let dated = plan.leaves[column].form.is_some() || !roles.time_parts.is_empty();
                let unit = options.time_unit.or(steps.filter(|_| !dated));
                let (time, mut guessed, warning) = self.times.finish(unit);
                guessed.unix |= dated;
                notes.warnings.extend(warning);
                let stored = &plan.leaves[column].stored;
                let typed = match stored {
                    _ if !roles.time_parts.is_empty() => None,
                    &Stored::Timestamp(unit) => Some(TimeScale { unit, unix: true }),
                    Stored::Date => Some(TimeScale::UNIX_SECONDS),
                    Stored::Int96 => Some(TimeScale { unit: TimeUnit::Nanosecond, unix: true }),
                    _ => None,
                };
                let noted = note.filter(|_| options.time_unit.is_none()).map(|note| note.scale);
                (time, typed.or(noted).unwrap_or(guessed))
            }
        };
        let (labels, label_names) = self.labels.finish();
        let width: usize = self.features.widths.iter().sum();
        let columns = EventColumns {
            weight: roles.weight.map(|_| self.weight.into()),
            label: roles.label.map(|_| labels.into()),
            kind: roles.kind.map(|_| self.kind.into()),
            features: (width != 0).then(|| self.features.values.into()),
            feature_width: width,
        };
        let usual = options.usual.as_deref();
        let (mut time, mut scale) = (time, scale);
        let mut times = TimeReading::ticks(scale);
        let before = usual.and_then(|usual| usual.times).filter(|_| roles.time.is_some());
        if let Some(before) = before.filter(|before| before.scale() != scale) {
            // Times know their unit here, so that only the length of a tick may differ.
            let both = before.unix && scale.unix;
            match both.then(|| before.bring(&mut time, 0, false, Some(scale.unit))).flatten() {
                Some(_) => (scale, times) = (before.scale(), before),
                None => notes.warnings.push("times are unlike those of the run's data".into()),
            }
        }
        let bipartite = options.bipartite.or(usual.map(|usual| usual.bipartite));
        let bipartite = bipartite.unwrap_or_else(|| match note {
            Some(note) => note.bipartite,
            None => apart || roles::names_users_and_items(names),
        });
        notes.reading = Some(TableReading {
            header: Some(names.to_vec()),
            times: roles.time.map(|_| times),
            bipartite,
            text_ids: [self.src.integers().is_none(), self.dst.integers().is_none()],
            ..TableReading::of_roles(roles, names.len())
        });
        let sorted = time.is_sorted();
        let identity = note.and_then(|note| identity_ids(note, bipartite, &self.src, &self.dst));
        let (mut store, _) = match identity {
            Some((src, dst, names)) => EventStore::new(src, dst, time, columns, scale, names)
                .map(|store| (store, sorted))
                .map_err(|source| DataError::Graph { path: path.to_owned(), source })?,
            None => {
                let (src, dst) = (self.src.finish(), self.dst.finish());
                assemble(path, RawEvents { src, dst, time, scale, columns, bipartite })?
            }
        };
        notes.sorted = sorted;
        store.label_names = label_names;
        if note.is_none_or(|note| note.named_features) {
            store.feature_names = feature_names(roles, names, &self.features.widths);
        }
        Ok(Loaded { dataset: Dataset::Events(store), notes })
    }
}

/// Vertices as the writer's store had them, if the identifiers were its own numbers. `None`
/// if the note does not fit the data, or declares far more vertices than events can name.
fn identity_ids(
    note: &Note,
    bipartite: bool,
    src: &Ids,
    dst: &Ids,
) -> Option<(Vec<u32>, Vec<u32>, VertexNames)> {
    let (first, second) = note.identity?;
    let (src, dst) = (src.integers()?, dst.integers()?);
    let total = u64::from(first) + u64::from(second.unwrap_or(0));
    let plausible = (8 * src.len() as u64).max(1 << 16).min(u64::from(u32::MAX));
    if second.is_some() != bipartite || total > plausible {
        return None;
    }
    let below = |ids: &[i64], count: u32, shift: u32| -> Option<Vec<u32>> {
        ids.iter()
            .map(|&id| u32::try_from(id).ok().filter(|&id| id < count).map(|id| id + shift))
            .collect()
    };
    let src = below(src, first, 0)?;
    let dst = match second {
        Some(second) => below(dst, second, first)?,
        None => below(dst, first, 0)?,
    };
    let names =
        VertexNames { first: NameTable::Identity(first), second: second.map(NameTable::Identity) };
    Some((src, dst, names))
}

fn feature_names(roles: &Roles, names: &[String], widths: &[usize]) -> TextTable {
    let mut table = TextTable::default();
    for (&column, &width) in roles.features.iter().zip(widths) {
        match width {
            1 => table.push(names[column].as_bytes()),
            _ => (0..width)
                .for_each(|index| table.push(format!("{}.{index}", names[column]).as_bytes())),
        }
    }
    table
}

fn reason(plan: &Plan<'_>, names: &[String]) -> String {
    let roles = &plan.roles;
    let name = |column: usize| crate::error::shorten(&names[column]);
    let mut parts = vec![format!(
        "Parquet with {} columns; source `{}`, destination `{}`",
        names.len(),
        name(roles.src),
        name(roles.dst)
    )];
    let times: Vec<String> = roles.times().map(|column| format!("`{}`", name(column))).collect();
    if !times.is_empty() {
        parts.push(format!("time {}", times.join(" and ")));
    }
    parts.extend(roles.weight.map(|column| format!("weight `{}`", name(column))));
    parts.extend(roles.label.map(|column| format!("label `{}`", name(column))));
    if !roles.features.is_empty() {
        parts.push(format!("{} feature columns", roles.features.len()));
    }
    parts.join(", ")
}
