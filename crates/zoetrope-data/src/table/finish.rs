//! From the columns of a table to an event store.

use std::path::Path;

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{Column, EventStore, TextTable, TimeOrder, TimeScale, TimeUnit, VertexId};

use crate::assemble::scale_of;
use crate::error::{DataError, Location};
use crate::numbering::{self, Numbered};
use crate::options::ReadOptions;
use crate::table::chunk::{Chunk, LabelChunk, TimeChunk};
use crate::table::dialect::Layout;
use crate::table::plan::TablePlan;
use crate::table::reading::unit_of_numbers;
use crate::table::row::Action;
use crate::table::{Preset, Table, TableReading, TimeReading};

/// Turns the columns of a file into an event store.
///
/// # Errors
/// [`DataError::Invalid`] with the bad rows (unless reading is lenient), or if no row is left.
pub(super) fn finish(
    path: &Path,
    layout: &Layout,
    plan: &TablePlan,
    preset: &Preset,
    options: &ReadOptions,
    mut table: Chunk,
) -> Result<Table, DataError> {
    report_problems(layout, options, &mut table)?;
    let rows = table.rows;
    if rows == 0 {
        return Err(DataError::invalid(Location::file(path), "at least one event", "none"));
    }
    let (skipped_rows, missing_values) = (table.bad_rows, table.missing_values);
    let mut warnings = warnings(plan, &table);
    let (mut time, digits) = times(path, plan, rows, &mut table)?;
    let brought = bring(plan, preset, options, digits, &mut time, &mut warnings);
    // Numbering looks at vertices alone and sorting at times alone.
    let (numbered, order) = rayon::join(
        || numbering::number(path, table.src, table.dst, plan.bipartite),
        || TimeOrder::sort(&mut time),
    );
    let wrong = |source| DataError::Graph { path: path.to_owned(), source };
    let (numbered, order) = (numbered?, order.map_err(wrong)?);
    let times = brought.unwrap_or_else(|| {
        let dates = has_dates(plan);
        let number = if dates {
            TimeUnit::Second
        } else {
            options.time_unit.unwrap_or_else(|| unit_of_numbers(time.last(), digits))
        };
        let scale = scale(plan, options, digits, &time);
        TimeReading { number, digits, dates, ..TimeReading::ticks(scale) }
    });
    let scale = times.scale();
    let (label, label_names) = labels(rows, table.label);
    if plan.roles.label.is_some() && label.is_none() {
        warnings
            .push("the label column is ignored: nearly every row has a label of its own".into());
    }
    let width = plan.rows.feature_width;
    let classes =
        plan.roles.classes.map(|_| (labels(rows, table.src_class), labels(rows, table.dst_class)));
    let classes = classes.and_then(|(src, dst)| {
        let classes = vertex_classes(&numbered.src, &numbered.dst, numbered.names.len(), src, dst);
        if classes.is_none() {
            warnings
                .push("two text columns ignored: their values are not constant per vertex".into());
        }
        classes
    });
    let columns = EventColumns {
        weight: (!table.weight.is_empty()).then(|| Column::from(table.weight)),
        label: label.map(Column::from),
        kind: (!table.kind.is_empty()).then(|| Column::from(table.kind)),
        features: (width > 0).then(|| Column::from(table.features)),
        feature_width: width,
    };
    let Numbered { src, dst, names } = numbered;
    let mut store =
        EventStore::with_order(src, dst, time, &order, columns, scale, names).map_err(wrong)?;
    store.label_names = label_names;
    if layout.header.is_some() || width > 0 {
        store.feature_names = plan.feature_names.clone();
    }
    if let Some((labels, names)) = classes {
        store.vertex_labels = Some(labels.into());
        store.vertex_label_names = names;
    }
    let reason = reason(layout, plan);
    let sorted = order.moves().is_none();
    let order = order.moves().filter(|_| preset.keep_order);
    let order = order.map(|moves| moves.iter().map(|&row| u64::from(row)).collect());
    let columns = plan.columns.clone();
    let reading = reading(layout, plan, times);
    Ok(Table {
        store,
        reason,
        sorted,
        order,
        skipped_rows,
        missing_values,
        warnings,
        columns,
        reading,
    })
}

fn reading(layout: &Layout, plan: &TablePlan, times: TimeReading) -> TableReading {
    TableReading {
        delimiter: Some(char::from(layout.dialect.delimiter)),
        header: crate::table::reading::names(layout),
        times: plan.rows.has_time.then_some(times),
        bipartite: plan.bipartite,
        text_ids: [plan.rows.text_src, plan.rows.text_dst],
        ..TableReading::of_roles(&plan.roles, layout.kinds.len())
    }
}

/// Whether times are dates rather than numbers.
fn has_dates(plan: &TablePlan) -> bool {
    let dates = |action: &Action| matches!(action, Action::DateTime(_) | Action::TimePart(_));
    plan.rows.actions.iter().any(dates)
}

/// Brings times to the ticks that they should have, if that is known and possible.
fn bring(
    plan: &TablePlan,
    preset: &Preset,
    options: &ReadOptions,
    digits: u8,
    time: &mut [i64],
    warnings: &mut Vec<String>,
) -> Option<TimeReading> {
    let before = options.usual.as_ref().and_then(|usual| usual.times);
    // Who names another unit than that of the earlier table means it.
    let before = before.filter(|before| {
        let named = options.time_unit.filter(|_| before.digits == 0 && digits == 0);
        named.is_none_or(|unit| unit == before.unit)
    });
    let to = preset.times.or(before).filter(|_| plan.rows.has_time)?;
    let dates = has_dates(plan);
    let given = options.time_unit.filter(|_| preset.times.is_none());
    match to.bring(time, digits, dates, given) {
        Some(rounded) => {
            if rounded > 0 {
                let unit = to.unit.symbol();
                warnings.push(format!(
                    "{rounded} times are finer than a tick of the run's data (1 {unit}): rounded down"
                ));
            }
            Some(to)
        }
        None => {
            let what = if dates { "dates" } else { "numbers too large for its unit" };
            warnings.push(format!("times are {what}, unlike those of the run's data"));
            None
        }
    }
}

/// Fails with the bad rows, unless reading is lenient.
fn report_problems(
    layout: &Layout,
    options: &ReadOptions,
    table: &mut Chunk,
) -> Result<(), DataError> {
    if table.bad_rows == 0 || options.lenient {
        return Ok(());
    }
    let mut problems = std::mem::take(&mut table.problems);
    for problem in &mut problems {
        problem.at.line = problem.at.line.map(|line| line + layout.lines_before + 1);
    }
    Err(DataError::Invalid { problems, total: table.bad_rows })
}

fn warnings(plan: &TablePlan, table: &Chunk) -> Vec<String> {
    let mut warnings = plan.warnings.clone();
    if table.bad_rows > 0 {
        warnings.push(format!("{} bad rows skipped", table.bad_rows));
    }
    if table.without_destination > 0 {
        let without = table.without_destination;
        warnings.push(format!("{without} rows without a destination, kept as self-loops"));
    }
    if plan.rows.dialect.decimal_comma {
        warnings.push("numbers are read with a decimal comma".into());
    }
    if !plan.rows.has_time {
        warnings.push("no time column: events are numbered by row".into());
    }
    warnings.extend(crate::roles::unused_note(&plan.unused));
    warnings
}

fn reason(layout: &Layout, plan: &TablePlan) -> String {
    let name = |column: usize| crate::error::shorten(&plan.rows.names[column]);
    let header = if layout.header.is_some() { "a header" } else { "no header" };
    let mut parts =
        vec![format!("source `{}`, destination `{}`", name(plan.roles.src), name(plan.roles.dst))];
    let times: Vec<String> =
        plan.roles.times().map(|column| format!("`{}`", name(column))).collect();
    if !times.is_empty() {
        parts.push(format!("time {}", times.join(" and ")));
    }
    parts.extend(plan.roles.weight.map(|column| format!("weight `{}`", name(column))));
    parts.extend(plan.roles.label.map(|column| format!("label `{}`", name(column))));
    if plan.rows.feature_width > 0 {
        parts.push(format!("{} features", plan.rows.feature_width));
    }
    format!(
        "{} columns {}, {header}; {}",
        layout.kinds.len(),
        layout.dialect.describe(),
        parts.join(", ")
    )
}

/// The time column, and how many decimals of the file's unit a tick has.
fn times(
    path: &Path,
    plan: &TablePlan,
    rows: usize,
    table: &mut Chunk,
) -> Result<(Vec<i64>, u8), DataError> {
    if !plan.rows.has_time {
        return Ok(((0..rows as i64).collect(), 0));
    }
    let TimeChunk { ticks, digits } = std::mem::take(&mut table.time);
    if table.time_overflow {
        let expected = format!("times that fit 64 bits with {digits} decimals");
        return Err(DataError::invalid(Location::file(path), expected, "larger ones"));
    }
    Ok((ticks, digits))
}

/// What a tick of the sorted times means.
fn scale(plan: &TablePlan, options: &ReadOptions, digits: u8, time: &[i64]) -> TimeScale {
    if !plan.rows.has_time {
        return TimeScale::STEPS;
    }
    let unit = match digits {
        0 => options.time_unit,
        3 => Some(TimeUnit::Millisecond),
        6 => Some(TimeUnit::Microsecond),
        _ => Some(TimeUnit::Nanosecond),
    };
    if has_dates(plan) {
        TimeScale { unit: unit.unwrap_or(TimeUnit::Second), unix: true }
    } else {
        let ends = [time.first().copied(), time.last().copied()];
        let unit = unit.or(plan.counts_steps.then_some(TimeUnit::Step));
        scale_of(ends.into_iter().flatten(), unit)
    }
}

/// Classes beyond this many are no numbers that single precision tells apart.
const MOST_CLASSES: usize = 1 << 24;

/// Labels as numbers; text becomes class numbers in the order of the names. `None` if the
/// file has no such column, or so many different texts that they are no classes.
fn labels(rows: usize, column: LabelChunk) -> Labels {
    match column {
        LabelChunk::Numbers(numbers) => {
            ((numbers.len() == rows).then_some(numbers), TextTable::default())
        }
        LabelChunk::Text { codes, table } => {
            let texts = table.into_texts();
            if codes.len() != rows || texts.len() > MOST_CLASSES {
                return (None, TextTable::default());
            }
            let mut order: Vec<usize> = (0..texts.len()).collect();
            order.sort_by_key(|&code| texts.get(code));
            let mut class = vec![0.0; texts.len()];
            order.iter().enumerate().for_each(|(rank, &code)| class[code] = rank as f32);
            let numbers = codes.into_iter().map(|code| class[code as usize]).collect();
            (Some(numbers), order.into_iter().map(|code| texts.get(code)).collect())
        }
    }
}

type Labels = (Option<Vec<f32>>, TextTable);

/// A constant class per vertex out of the class columns of sources and destinations, or `None`
/// if a vertex has two.
fn vertex_classes(
    src: &[VertexId],
    dst: &[VertexId],
    vertices: usize,
    src_class: Labels,
    dst_class: Labels,
) -> Option<(Vec<f32>, TextTable)> {
    let mut names: Vec<&[u8]> = src_class.1.iter().chain(dst_class.1.iter()).collect();
    names.sort_unstable();
    names.dedup();
    let mut labels = vec![f32::NAN; vertices];
    for (ids, (classes, texts)) in [(src, &src_class), (dst, &dst_class)] {
        let rank: Vec<f32> = texts
            .iter()
            .map(|text| names.binary_search(&text).map_or(f32::NAN, |rank| rank as f32))
            .collect();
        for (&vertex, &class) in ids.iter().zip(classes.as_ref()?) {
            let label = &mut labels[vertex as usize];
            let class = rank[class as usize];
            if label.is_nan() {
                *label = class;
            } else if *label != class {
                return None;
            }
        }
    }
    Some((labels, names.into_iter().collect()))
}
