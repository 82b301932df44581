//! The snapshot sequence, snapshot by snapshot: edges, active vertices, change.

use rayon::prelude::*;
use serde::Serialize;
use zoetrope_graph::{
    DiscretiseOptions, EventKind, EventStore, GraphError, Lifetime, Merge, SnapshotSequence,
    StepChange, Time, Windowing, Windows, discretise, presence::active_vertices,
};

/// More edges than this in all snapshots together are too many for a description: living edges
/// are stored again in each snapshot.
const MOST_EDGES: u64 = 1 << 28;

/// Of more snapshots only those with edges are listed.
const MOST_ROWS: usize = 1 << 16;

/// A snapshot sequence in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowReport {
    /// The window that cuts the events; absent if the data has snapshots already.
    pub width: Option<String>,
    /// The number of snapshots.
    pub snapshots: u64,
    /// Snapshots without an edge.
    pub empty: u64,
    /// Whether edges live until they are removed, because events remove edges.
    pub until_removed: bool,
    /// The average change rate; absent for a single snapshot.
    pub change_rate: Option<f64>,
    /// Each snapshot; of more than 65,536 those that have edges.
    pub rows: Vec<SnapshotRow>,
}

/// One snapshot in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SnapshotRow {
    /// Its number, from 0.
    pub snapshot: u64,
    /// When its window starts, if it has one.
    pub start: Option<Time>,
    /// Events in its window; equals `edges` if the data has snapshots already.
    pub events: u64,
    /// Its edges, events of one pair merged.
    pub edges: u64,
    /// Vertices with at least one edge.
    pub active: u64,
    /// The share of the edges of this snapshot and the one before that the two do not share (see
    /// [`StepChange`]); absent for the first snapshot.
    pub change: Option<f64>,
}

/// Cuts events into snapshots and describes them. Edges live until removed if events remove
/// edges, and for one window otherwise.
///
/// # Errors
/// If the window does not fit the times, or makes too many snapshots or edges.
pub fn describe_windows(
    store: &EventStore,
    windowing: &Windowing,
) -> Result<WindowReport, GraphError> {
    let windows = Windows::cut(store, windowing)?;
    let until_removed =
        store.kind().is_some_and(|kinds| kinds.contains(&(EventKind::Remove as u8)));
    let options = DiscretiseOptions {
        merge: Merge::Last,
        lifetime: if until_removed { Lifetime::UntilRemoved } else { Lifetime::Window },
        weighted: false,
        max_edges: MOST_EDGES,
        ..DiscretiseOptions::default()
    };
    let sequence = discretise(store, &windows, &options)?;
    let mut report = describe_snapshots(&sequence);
    for row in &mut report.rows {
        row.events = windows.events(row.snapshot as usize).len() as u64;
    }
    Ok(WindowReport { width: Some(windowing.to_string()), until_removed, ..report })
}

/// Describes the snapshots of a sequence; one row if the topology is constant.
pub fn describe_snapshots(sequence: &SnapshotSequence) -> WindowReport {
    let (stored, filled) = (sequence.ranges().len(), sequence.ranges().filled().len());
    let row = |step: usize| {
        let view = sequence.at(step);
        let change = |before| StepChange::between(sequence.at(before), view).change_rate();
        SnapshotRow {
            snapshot: step as u64,
            start: sequence.boundaries().map(|times| times.at(step)),
            events: view.len() as u64,
            edges: view.len() as u64,
            active: active_vertices(view).len() as u64,
            change: step.checked_sub(1).map(change),
        }
    };
    let rows: Vec<SnapshotRow> = if stored <= MOST_ROWS {
        (0..stored).into_par_iter().map(row).collect()
    } else {
        let filled = (0..filled).into_par_iter();
        filled.map(|place| row(sequence.ranges().nth_filled(place).0)).collect()
    };
    WindowReport {
        width: None,
        snapshots: sequence.steps() as u64,
        empty: (stored - filled) as u64,
        until_removed: false,
        change_rate: (stored > 1).then(|| all_changes(sequence) / (stored - 1) as f64),
        rows,
    }
}

/// The sum of the changes from each snapshot to the next. From an empty one to an empty one nothing
/// changes; from one with edges to an empty one everything.
fn all_changes(sequence: &SnapshotSequence) -> f64 {
    let ranges = sequence.ranges();
    let change = |step: usize| {
        let before = step.checked_sub(1).map(|before| {
            StepChange::between(sequence.at(before), sequence.at(step)).change_rate()
        });
        let ends = step + 1 < ranges.len() && ranges.get(step + 1).is_empty();
        before.unwrap_or(0.0) + if ends { 1.0 } else { 0.0 }
    };
    ranges.filled().map(|(step, _)| change(step)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::events::EventColumns;
    use zoetrope_graph::{TimeScale, VertexNames};

    fn store(events: &[(u32, u32, i64)], kinds: Option<Vec<u8>>) -> EventStore {
        EventStore::new(
            events.iter().map(|event| event.0).collect(),
            events.iter().map(|event| event.1).collect(),
            events.iter().map(|event| event.2).collect(),
            EventColumns { kind: kinds.map(Into::into), ..EventColumns::default() },
            TimeScale::SECONDS,
            VertexNames::identity(70),
        )
        .unwrap()
    }

    #[test]
    fn each_window_has_its_edges_active_vertices_and_change() {
        let store = store(&[(0, 1, 0), (0, 1, 1), (2, 69, 2), (0, 1, 10), (3, 1, 25)], None);
        let report = describe_windows(&store, &"10s".parse().unwrap()).unwrap();
        assert_eq!(report.snapshots, 3);
        let rows: Vec<_> =
            report.rows.iter().map(|row| (row.events, row.edges, row.active, row.change)).collect();
        assert_eq!(rows, [(3, 2, 4, None), (1, 1, 2, Some(1.0 / 3.0)), (1, 1, 2, Some(1.0))]);
        assert_eq!(report.change_rate, Some(2.0 / 3.0));
        assert_eq!(report.width.as_deref(), Some("10s"));
    }

    #[test]
    fn edges_live_until_removed_where_events_remove_edges() {
        let store = store(&[(0, 1, 0), (2, 3, 0), (0, 1, 20)], Some(vec![0, 0, 1]));
        let report = describe_windows(&store, &"10s".parse().unwrap()).unwrap();
        assert!(report.until_removed);
        let edges: Vec<u64> = report.rows.iter().map(|row| row.edges).collect();
        assert_eq!(edges, [2, 2, 1]);
    }

    #[test]
    fn empty_snapshots_are_counted_and_do_not_change() {
        let store = store(&[(0, 1, 0), (0, 1, 39)], None);
        let report = describe_windows(&store, &"10s".parse().unwrap()).unwrap();
        assert_eq!(report.empty, 2);
        assert_eq!(report.rows[2].change, Some(0.0));
        assert_eq!(report.rows[3].change, Some(1.0));
    }

    #[test]
    fn of_very_many_snapshots_those_with_edges_are_listed() {
        let store = store(&[(0, 1, 0), (0, 1, 1), (2, 3, 4_000_000)], None);
        let report = describe_windows(&store, &"1s".parse().unwrap()).unwrap();
        assert_eq!((report.snapshots, report.empty), (4_000_001, 3_999_998));
        let rows: Vec<_> =
            report.rows.iter().map(|row| (row.snapshot, row.events, row.change)).collect();
        assert_eq!(rows, [(0, 1, None), (1, 1, Some(0.0)), (4_000_000, 1, Some(1.0))]);
        // One edge goes, another comes.
        assert_eq!(report.change_rate, Some(2.0 / 4_000_000.0));
    }

    #[test]
    fn a_constant_topology_is_one_row() {
        let sequence = SnapshotSequence::constant(3, 10, vec![0], vec![1], None).unwrap();
        let report = describe_snapshots(&sequence);
        assert_eq!((report.snapshots, report.rows.len()), (10, 1));
        assert_eq!(report.change_rate, None);
    }
}
