//! A snapshot sequence as sparklines and as a table.

use zoetrope_data::inspect::{SnapshotRow, WindowReport};
use zoetrope_graph::TimeScale;

use super::human::{moment, number, percent, plural, whole};
use super::sparkline::sparkline;
use super::table::{Align, Table};
use crate::terminal::Style;

/// Columns that a sparkline takes at most: with its name and three numbers a line stays within
/// 80 columns.
const PICTURE: usize = 40;

/// One sparkline each for edges, active vertices and change.
pub(crate) fn pictures(report: &WindowReport, asked: bool, style: Style) -> String {
    let heading = match &report.width {
        Some(width) if asked => format!("Snapshots of {width}"),
        Some(width) => format!("Snapshots at the suggested window, {width}"),
        None => "Snapshots".into(),
    };
    let mut notes = plural(report.snapshots, "snapshot");
    if report.empty > 0 {
        notes.push_str(&format!(", {} of them empty", whole(report.empty)));
    }
    if report.width.is_some() && (report.rows.len() as u64) < report.snapshots {
        notes.push_str(" and not shown");
    }
    if report.until_removed {
        notes.push_str(", edges live until removed");
    }
    let mut table = Table::new(&[
        ("", Align::Left),
        ("", Align::Left),
        ("min", Align::Right),
        ("mean", Align::Right),
        ("max", Align::Right),
    ]);
    let mut picture = |name: &str, value: &dyn Fn(&SnapshotRow) -> Option<f64>, share: bool| {
        let series: Vec<Option<f64>> = report.rows.iter().map(value).collect();
        let format = |value: f64| if share { percent(value) } else { number(value.round()) };
        let Some((min, mean, max)) = spread(&series) else { return };
        table.row([
            name.to_owned(),
            style.blue(&sparkline(&series, PICTURE)),
            format(min),
            format(mean),
            format(max),
        ]);
    };
    if report.width.is_some() {
        picture("events", &|row| Some(row.events as f64), false);
    }
    picture("edges", &|row| Some(row.edges as f64), false);
    picture("active", &|row| Some(row.active as f64), false);
    picture("change", &|row| row.change, true);
    format!("\n{}  {}\n{}", style.bold(&heading), style.dim(&notes), table.render(style))
}

fn spread(series: &[Option<f64>]) -> Option<(f64, f64, f64)> {
    let values: Vec<f64> = series.iter().flatten().copied().collect();
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    Some((min, values.iter().sum::<f64>() / values.len() as f64, max))
}

/// At most `most` snapshots; of more, the first and the last ones.
pub(crate) fn table(report: &WindowReport, scale: TimeScale, most: usize, style: Style) -> String {
    if most == 0 || report.rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("snapshot", Align::Right),
        ("from", Align::Left),
        ("events", Align::Right),
        ("edges", Align::Right),
        ("active", Align::Right),
        ("change", Align::Right),
    ]);
    let count = report.rows.len();
    let (head, tail) =
        if count <= most { (count, count) } else { (most.div_ceil(2), count - most / 2) };
    for (index, row) in report.rows.iter().enumerate() {
        if index == head && tail > head {
            table.row(["…".into()]);
        }
        if index >= head && index < tail {
            continue;
        }
        table.row([
            whole(row.snapshot),
            row.start.map_or_else(String::new, |start| moment(start, scale)),
            whole(row.events),
            whole(row.edges),
            whole(row.active),
            row.change.map_or_else(|| "–".into(), percent),
        ]);
    }
    format!("\n{}", table.render(style))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(count: u64) -> WindowReport {
        let row = |index: u64| SnapshotRow {
            snapshot: index,
            start: Some(index as i64 * 10),
            events: index,
            edges: index,
            active: index,
            change: (index > 0).then_some(0.5),
        };
        WindowReport {
            width: Some("10s".into()),
            snapshots: count,
            empty: 1,
            until_removed: false,
            change_rate: Some(0.5),
            rows: (0..count).map(row).collect(),
        }
    }

    #[test]
    fn long_tables_show_the_first_and_the_last_snapshots() {
        let text = table(&report(100), TimeScale::SECONDS, 4, Style::PLAIN);
        let first: Vec<&str> =
            text.lines().skip(2).map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(first, ["0", "1", "…", "98", "99"]);
    }

    #[test]
    fn pictures_stay_within_eighty_columns() {
        let text = pictures(&report(3_000), true, Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("3,000 snapshots, 1 of them empty"));
    }
}
