//! From the layout of a table and the user's wishes to one action per column.

use std::path::Path;

use zoetrope_graph::TextTable;

use crate::error::{DataError, Location};
use crate::options::ReadOptions;
use crate::roles::{self, ColumnNote, Judged, Roles};
use crate::table::Preset;
use crate::table::date::DateForm;
use crate::table::dialect::Layout;
use crate::table::fast_row;
use crate::table::kind::ColumnKind;
use crate::table::number;
use crate::table::row::{self, Action, Plan};
use crate::table::timestamp;

/// How a table is read, and what its columns are called.
#[derive(Debug)]
pub(super) struct TablePlan {
    pub(super) rows: Plan,
    pub(super) roles: Roles,
    /// Whether source and destination number their vertices separately.
    pub(super) bipartite: bool,
    pub(super) feature_names: TextTable,
    /// Columns that are not used, for a note.
    pub(super) unused: Vec<String>,
    /// All columns and what they were taken for; empty if the format fixes them.
    pub(super) columns: Vec<ColumnNote>,
    /// Whether times count years or other steps instead of seconds.
    pub(super) counts_steps: bool,
    /// What a user should know of the choice.
    pub(super) warnings: Vec<String>,
}

/// Decides what to do with each column.
///
/// # Errors
/// If no column can be the source, the destination or the time, or there are too many columns.
pub(super) fn make(
    path: &Path,
    layout: &Layout,
    preset: &Preset,
    options: &ReadOptions,
) -> Result<TablePlan, DataError> {
    let columns = layout.kinds.len();
    let named = layout.header.as_ref().map_or(0, Vec::len);
    if columns.max(named) > options.limits.columns {
        return Err(DataError::Limit {
            at: Location::file(path).line(layout.lines_before + 1),
            what: "the number of columns",
            limit: options.limits.columns as u64,
            advice: "store wide features as npy or Parquet",
        });
    }
    // A JODIE header names its list of features once, whether rows have any or not.
    if named > columns + 1 {
        return Err(DataError::invalid(
            Location::file(path).line(layout.lines_before + 1),
            format!("{named} columns, as the header names"),
            format!("{columns}"),
        ));
    }
    let Judged { roles, columns: notes, apart, mut warnings } =
        find_roles(path, layout, preset, options)?;
    let single =
        [Some(roles.src), Some(roles.dst), roles.time, roles.weight, roles.label, roles.kind];
    let last = single.into_iter().flatten().max().unwrap_or(1);
    if columns <= last {
        return Err(DataError::invalid(
            Location::file(path).line(layout.lines_before + 1),
            format!("at least {} columns", last + 1),
            format!("{columns}"),
        ));
    }
    let names = column_names(layout);
    let mut actions = vec![Action::Skip; columns];
    actions[roles.src] = Action::Source;
    actions[roles.dst] = Action::Destination;
    if let Some(column) = roles.time {
        actions[column] = time_action(path, layout, &names[column], column)?;
    }
    for &(column, part) in &roles.time_parts {
        actions[column] = Action::TimePart(part);
    }
    if let Some(column) = roles.weight {
        actions[column] = Action::Weight;
    }
    if let Some(column) = roles.kind {
        actions[column] = kind_action(layout, column);
    }
    if let Some(column) = roles.label {
        actions[column] = match layout.kinds[column] {
            ColumnKind::Text | ColumnKind::Date(_) => Action::TextLabel,
            _ => Action::NumberLabel,
        };
    }
    if let Some((src, dst)) = roles.classes {
        actions[src] = Action::SourceClass;
        actions[dst] = Action::DestinationClass;
    }
    let mut feature_width = 0;
    let mut feature_names = TextTable::default();
    for &column in &roles.features {
        let name = &names[column];
        let width = match layout.kinds[column] {
            ColumnKind::NumberList(width) => {
                actions[column] = Action::FeatureList(feature_width, width);
                (0..width)
                    .for_each(|index| feature_names.push(format!("{name}.{index}").as_bytes()));
                width
            }
            _ => {
                actions[column] = Action::Feature(feature_width);
                feature_names.push(name.as_bytes());
                1
            }
        };
        feature_width += width;
    }
    let unused = (0..columns)
        .filter(|&column| actions[column] == Action::Skip)
        .map(|column| names[column].clone())
        .collect();
    let padded = |column: usize| {
        let mut cells = layout.sample.iter().map(|row| row[column].as_bytes());
        cells.any(number::is_padded)
    };
    let usual = options.usual.as_deref();
    let text = |column: usize, side: usize| {
        let known = preset.text_ids.map(|text| text[side]);
        // What looks like integers in this table may have been text in the one before.
        let was_text = usual.map(|usual| usual.text_ids[side]).filter(|&text| text);
        let integers = has_integers(layout, column);
        let given = options.text_ids.or(known).or(was_text);
        given.unwrap_or_else(|| !integers || padded(column))
    };
    let judged = options.text_ids.is_none() && preset.text_ids.is_none();
    if judged && (padded(roles.src) || padded(roles.dst)) {
        warnings.push(PADDED.into());
    }
    // One id space is text if either side is, so that both sides name the same vertices.
    let (mut text_src, mut text_dst) = (text(roles.src, 0), text(roles.dst, 1));
    let bipartite = options.bipartite.or(usual.map(|usual| usual.bipartite));
    let bipartite = bipartite.unwrap_or_else(|| {
        preset.bipartite
            || apart
            || layout.header.as_deref().is_some_and(roles::names_users_and_items)
    });
    if !bipartite {
        text_src |= text_dst;
        text_dst |= text_src;
    }
    let has_time = roles.time.is_some();
    let steps = (!text_src && !text_dst).then(|| fast_row::steps(&actions)).flatten();
    let rows = Plan {
        dialect: layout.dialect,
        actions,
        steps,
        names,
        feature_width,
        text_src,
        text_dst,
        has_time,
        max_problems: options.max_problems,
    };
    let counts_steps = match (layout.header.is_some(), roles.time) {
        (true, Some(column)) => roles::counts_steps(&rows.names[column]),
        _ => false,
    };
    Ok(TablePlan {
        rows,
        roles,
        bipartite,
        feature_names,
        unused,
        columns: notes,
        counts_steps,
        warnings,
    })
}

/// Said if identifiers have zeros in front.
pub(crate) const PADDED: &str =
    "identifiers have zeros in front and are read as text: 007 and 7 are two vertices";

/// Whether a column can hold identifiers that are integers.
pub(crate) fn has_integers(layout: &Layout, column: usize) -> bool {
    match layout.kinds[column] {
        ColumnKind::Integer | ColumnKind::Empty => true,
        ColumnKind::Decimal => {
            number::are_whole(layout.sample.iter().map(|row| row[column].as_str()))
        }
        _ => false,
    }
}

fn find_roles(
    path: &Path,
    layout: &Layout,
    preset: &Preset,
    options: &ReadOptions,
) -> Result<Judged, DataError> {
    if let Some(roles) = &preset.roles {
        let mut roles = roles.clone();
        let exists = |column: &usize| *column < layout.kinds.len();
        roles.features.retain(exists);
        for role in [&mut roles.time, &mut roles.weight, &mut roles.label, &mut roles.kind] {
            *role = role.filter(exists);
        }
        return Ok(Judged { roles, columns: Vec::new(), apart: false, warnings: Vec::new() });
    }
    let names = layout.header.as_ref().map(|_| column_names(layout));
    let (kinds, sample) = (&layout.kinds, &layout.sample);
    let Some(usual) = &options.usual else {
        return roles::judge(path, names.as_deref(), kinds, sample, &options.columns);
    };
    let followed = usual.follow(&options.columns, names.as_deref(), kinds.len());
    let mut judged = roles::judge(path, names.as_deref(), kinds, sample, &followed.columns)?;
    if followed.holds {
        usual.close(&followed.columns, &mut judged.roles, &mut judged.columns);
    }
    judged.warnings.extend(followed.warning);
    Ok(judged)
}

/// Names from the header; columns beyond it are features `f0`, `f1`, … as in JODIE files, and
/// columns of a file without a header go by their position.
pub(crate) fn column_names(layout: &Layout) -> Vec<String> {
    let columns = layout.kinds.len();
    let Some(header) = &layout.header else {
        return (0..columns).map(|column| column.to_string()).collect();
    };
    let named = if header.len() < columns { header.len().saturating_sub(1) } else { columns };
    let beyond = (0..columns - named).map(|index| format!("f{index}"));
    header[..named].iter().cloned().chain(beyond).collect()
}

/// How a time is read: as a date if its values are dates, as a number otherwise.
fn time_action(
    path: &Path,
    layout: &Layout,
    name: &str,
    column: usize,
) -> Result<Action, DataError> {
    let cells = || layout.sample.iter().map(|row| row[column].as_bytes());
    let named = layout.header.is_some().then_some(name);
    let form = match layout.kinds[column] {
        ColumnKind::Date(form) => Some(form),
        ColumnKind::Integer => roles::is_date_of_digits(named, cells()).then_some(DateForm::Digits),
        // A few bad rows hide the kind: they are to be reported, not to decide.
        ColumnKind::Text => {
            let dates = cells().filter(|cell| timestamp::decimal(cell).is_none());
            let dates = dates.filter(|cell| timestamp::iso(cell).is_some()).count();
            (2 * dates > layout.sample.len()).then_some(DateForm::Iso)
        }
        _ => None,
    };
    match form {
        None => Ok(Action::DecimalTime),
        Some(DateForm::DayOrMonthFirst) => {
            let shown = cells().next().map(String::from_utf8_lossy).unwrap_or_default();
            Err(day_or_month(path, name, &shown))
        }
        Some(form) => Ok(Action::DateTime(form)),
    }
}

/// The error for dates of which no value is above 12.
pub(crate) fn day_or_month(path: &Path, column: &str, shown: &str) -> DataError {
    let expected = "dates that show whether the day or the month comes first (a value above 12), or \
                    dates such as 2013-12-31";
    let at = Location::file(path).column(column);
    DataError::invalid(at, expected, format!("`{shown}` and the like"))
}

/// A column called `action` is a kind only if its values say add or remove.
fn kind_action(layout: &Layout, column: usize) -> Action {
    let known = layout
        .sample
        .iter()
        .filter(|row| row::event_kind(row[column].as_bytes()).is_some())
        .count();
    if 2 * known > layout.sample.len() { Action::Kind } else { Action::Skip }
}
