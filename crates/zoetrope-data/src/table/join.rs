//! Blocks to one event store.

use std::path::Path;

use rayon::prelude::*;
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{Column, EventStore, TextTable, TimeScale, TimeUnit, VertexId};

use crate::assemble::{is_sorted, scale_of};
use crate::error::{DataError, Location, Problem};
use crate::numbering;
use crate::options::ReadOptions;
use crate::table::chunk::{Chunk, IdChunk, Interner, LabelChunk, TimeChunk};
use crate::table::dialect::Layout;
use crate::table::plan::TablePlan;
use crate::table::row::Action;
use crate::table::timestamp::rescale;
use crate::table::{Preset, Table};

/// Joins the chunks of a file, column by column, freeing each behind it.
///
/// # Errors
/// [`DataError::Invalid`] with the bad rows (unless reading is lenient), or where no row is left.
pub(super) fn join(
    path: &Path,
    layout: &Layout,
    plan: &TablePlan,
    preset: &Preset,
    options: &ReadOptions,
    mut chunks: Vec<Chunk>,
) -> Result<Table, DataError> {
    let skipped_rows = report_problems(layout, options, &mut chunks)?;
    let rows: usize = chunks.iter().map(|chunk| chunk.src.len()).sum();
    if rows == 0 {
        return Err(DataError::invalid(Location::file(path), "at least one event", "none"));
    }
    let mut warnings = warnings(plan, &chunks, skipped_rows);
    let missing_values = chunks.iter().map(|chunk| chunk.missing_values).sum();

    let take = |column: &mut dyn FnMut(&mut Chunk) -> IdChunk, chunks: &mut [Chunk]| {
        chunks.iter_mut().map(column).collect::<Vec<IdChunk>>()
    };
    let none = || IdChunk::Narrow(Vec::new());
    let src = take(&mut |chunk| std::mem::replace(&mut chunk.src, none()), &mut chunks);
    let dst = take(&mut |chunk| std::mem::replace(&mut chunk.dst, none()), &mut chunks);
    let bipartite = options.bipartite.unwrap_or(preset.bipartite);
    let numbered = numbering::number(path, src, dst, bipartite)?;
    let (time, scale) = join_times(path, plan, options, rows, &mut chunks)?;
    let (label, label_names) = join_labels(rows, chunks.iter_mut().map(|chunk| &mut chunk.label));
    let weight = join_column(rows, chunks.iter_mut().map(|chunk| &mut chunk.weight));
    let kind = join_column(rows, chunks.iter_mut().map(|chunk| &mut chunk.kind));
    let width = plan.rows.feature_width;
    let features = join_column(rows * width, chunks.iter_mut().map(|chunk| &mut chunk.features));
    let classes = plan.roles.classes.map(|_| {
        let src = join_labels(rows, chunks.iter_mut().map(|chunk| &mut chunk.src_class));
        let dst = join_labels(rows, chunks.iter_mut().map(|chunk| &mut chunk.dst_class));
        (src, dst)
    });
    drop(chunks);

    let classes = classes.and_then(|(src, dst)| {
        let classes = vertex_classes(&numbered.src, &numbered.dst, numbered.names.len(), src, dst);
        if classes.is_none() {
            warnings
                .push("two text columns ignored: their values are not constant per vertex".into());
        }
        classes
    });
    let sorted = is_sorted(&time);
    let order = (preset.keep_order && !sorted).then(|| stable_order(&time));
    let columns = EventColumns {
        weight: weight.map(Column::from),
        label: label.map(Column::from),
        kind: kind.map(Column::from),
        features: (width > 0).then(|| features.map(Column::from)).flatten(),
        feature_width: width,
    };
    let mut store =
        EventStore::new(numbered.src, numbered.dst, time, columns, scale, numbered.names)
            .map_err(|source| DataError::Graph { path: path.to_owned(), source })?;
    store.label_names = label_names;
    if layout.header.is_some() || width > 0 {
        store.feature_names = plan.feature_names.clone();
    }
    if let Some((labels, names)) = classes {
        store.vertex_labels = Some(labels.into());
        store.vertex_label_names = names;
    }
    let reason = reason(layout, plan);
    Ok(Table { store, reason, sorted, order, skipped_rows, missing_values, warnings })
}

/// Turns block-relative lines into lines of the file. Fails unless reading is lenient.
fn report_problems(
    layout: &Layout,
    options: &ReadOptions,
    chunks: &mut [Chunk],
) -> Result<u64, DataError> {
    let total: u64 = chunks.iter().map(|chunk| chunk.bad_rows).sum();
    if total == 0 || options.lenient {
        return Ok(total);
    }
    let mut problems: Vec<Problem> = Vec::new();
    let mut lines = layout.lines_before + 1;
    for chunk in chunks {
        for mut problem in chunk.problems.drain(..) {
            problem.at.line = problem.at.line.map(|line| line + lines);
            problems.push(problem);
        }
        lines += chunk.lines;
    }
    problems.truncate(options.max_problems);
    Err(DataError::Invalid { problems, total })
}

fn warnings(plan: &TablePlan, chunks: &[Chunk], skipped_rows: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if skipped_rows > 0 {
        warnings.push(format!("{skipped_rows} bad rows skipped"));
    }
    let without: u64 = chunks.iter().map(|chunk| chunk.without_destination).sum();
    if without > 0 {
        warnings.push(format!("{without} rows without a destination, kept as self-loops"));
    }
    if !plan.rows.has_time {
        warnings.push("no time column: events are numbered by row".into());
    }
    if !plan.unused.is_empty() {
        let shown: Vec<&str> = plan.unused.iter().take(8).map(String::as_str).collect();
        let more = plan.unused.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = shown.iter().map(|name| crate::error::shorten(name)).collect::<Vec<_>>();
        warnings.push(format!("columns not used: {}{more}", names.join(", ")));
    }
    warnings
}

fn reason(layout: &Layout, plan: &TablePlan) -> String {
    let name = |column: usize| crate::error::shorten(&plan.rows.names[column]);
    let header = if layout.header.is_some() { "a header" } else { "no header" };
    let mut parts =
        vec![format!("source `{}`, destination `{}`", name(plan.roles.src), name(plan.roles.dst))];
    parts.extend(plan.roles.time.map(|column| format!("time `{}`", name(column))));
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

/// Times at the finest precision that any block met.
fn join_times(
    path: &Path,
    plan: &TablePlan,
    options: &ReadOptions,
    rows: usize,
    chunks: &mut [Chunk],
) -> Result<(Vec<i64>, TimeScale), DataError> {
    if !plan.rows.has_time {
        return Ok(((0..rows as i64).collect(), TimeScale::STEPS));
    }
    let digits = chunks.iter().map(|chunk| chunk.time.digits).max().unwrap_or(0);
    let mut time = Vec::with_capacity(rows);
    for chunk in chunks {
        let TimeChunk { ticks, digits: from } = std::mem::take(&mut chunk.time);
        if from == digits {
            time.extend_from_slice(&ticks);
            continue;
        }
        for ticks in ticks {
            let finer = rescale(ticks, from, digits).ok_or_else(|| {
                let expected = format!("times that fit 64 bits with {digits} decimals");
                DataError::invalid(Location::file(path), expected, format!("{ticks}"))
            })?;
            time.push(finer);
        }
    }
    let unit = match digits {
        0 => options.time_unit,
        3 => Some(TimeUnit::Millisecond),
        6 => Some(TimeUnit::Microsecond),
        _ => Some(TimeUnit::Nanosecond),
    };
    let mut scale = scale_of(&time, unit);
    if plan.rows.actions.contains(&Action::IsoTime) {
        scale = TimeScale { unit: unit.unwrap_or(TimeUnit::Second), unix: true };
    }
    Ok((time, scale))
}

/// One column from its blocks; `None` where the file has no such column.
fn join_column<'a, T: Copy + 'a>(
    length: usize,
    parts: impl Iterator<Item = &'a mut Vec<T>>,
) -> Option<Vec<T>> {
    let mut column = Vec::new();
    for part in parts {
        let part = std::mem::take(part);
        if column.capacity() == 0 && !part.is_empty() {
            column.reserve_exact(length);
        }
        column.extend_from_slice(&part);
    }
    (length > 0 && column.len() == length).then_some(column)
}

/// Labels as numbers; text becomes class numbers in the order of the names.
fn join_labels<'a>(
    rows: usize,
    parts: impl Iterator<Item = &'a mut LabelChunk>,
) -> (Option<Vec<f32>>, TextTable) {
    let mut numbers = Vec::new();
    let mut texts = Interner::default();
    for part in parts {
        match std::mem::replace(part, LabelChunk::Numbers(Vec::new())) {
            LabelChunk::Numbers(values) => numbers.extend_from_slice(&values),
            LabelChunk::Text { codes, table } => {
                let fresh: Vec<u32> =
                    table.into_texts().iter().map(|text| texts.code(text)).collect();
                numbers.extend(codes.into_iter().map(|code| fresh[code as usize] as f32));
            }
        }
    }
    if numbers.len() != rows {
        return (None, TextTable::default());
    }
    let texts = texts.into_texts();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&code| texts.get(code));
    let mut class = vec![0.0; texts.len()];
    order.iter().enumerate().for_each(|(rank, &code)| class[code] = rank as f32);
    if !class.is_empty() {
        numbers.iter_mut().for_each(|value| *value = class[*value as usize]);
    }
    (Some(numbers), order.into_iter().map(|code| texts.get(code)).collect())
}

type Labels = (Option<Vec<f32>>, TextTable);

/// A constant class per vertex out of the class columns of sources and destinations, or `None`
/// where a vertex has two.
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

/// The rows in time order, equal times in file order.
fn stable_order(time: &[i64]) -> Vec<u64> {
    let mut order: Vec<u64> = (0..time.len() as u64).collect();
    order.par_sort_by_key(|&row| time[row as usize]);
    order
}
