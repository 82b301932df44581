//! The snapshot sequence, snapshot by snapshot: edges, active vertices, change.

use rayon::prelude::*;
use serde::Serialize;
use zoetrope_graph::{
    DiscretiseOptions, EventKind, EventStore, GraphError, Lifetime, Merge, Presence,
    SnapshotSequence, StepChange, Time, Windowing, Windows, discretise,
};

/// More edges than this in all snapshots together are too many for a description: living edges
/// are stored again in each snapshot.
const MOST_EDGES: u64 = 1 << 28;

/// A snapshot sequence in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowReport {
    /// The window that cuts the events; absent where the data has snapshots already.
    pub width: Option<String>,
    /// The number of snapshots.
    pub snapshots: u64,
    /// Snapshots without an edge.
    pub empty: u64,
    /// Whether edges live until they are removed, because events remove edges.
    pub until_removed: bool,
    /// The average change rate; absent for a single snapshot.
    pub change_rate: Option<f64>,
    /// Each snapshot.
    pub rows: Vec<SnapshotRow>,
}

/// One snapshot in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SnapshotRow {
    /// When its window starts, where it has one.
    pub start: Option<Time>,
    /// Events in its window; equals `edges` where the data has snapshots already.
    pub events: u64,
    /// Its edges, events of one pair merged.
    pub edges: u64,
    /// Vertices with at least one edge.
    pub active: u64,
    /// The share of the edges of this snapshot and the one before that the two do not share (see
    /// [`StepChange`]); absent for the first snapshot.
    pub change: Option<f64>,
}

/// Cuts events into snapshots and describes them. Edges live until removed where events remove
/// edges, and for one window otherwise.
///
/// # Errors
/// Where the window does not fit the times, or makes too many snapshots or edges.
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
    for (window, row) in report.rows.iter_mut().enumerate() {
        row.events = windows.events(window).len() as u64;
    }
    Ok(WindowReport { width: Some(windowing.to_string()), until_removed, ..report })
}

/// Describes the snapshots of a sequence; one row where the topology is constant.
pub fn describe_snapshots(sequence: &SnapshotSequence) -> WindowReport {
    let stored = sequence.offsets().len() - 1;
    let presence = Presence::of(sequence);
    let active = presence.active_per_step();
    let rows: Vec<SnapshotRow> = (0..stored)
        .into_par_iter()
        .map(|step| {
            let view = sequence.at(step);
            let change = |before| StepChange::between(sequence.at(before), view).change_rate();
            SnapshotRow {
                start: sequence.boundaries().map(|boundaries| boundaries[step]),
                events: view.len() as u64,
                edges: view.len() as u64,
                active: active[step].into(),
                change: step.checked_sub(1).map(change),
            }
        })
        .collect();
    let changes: Vec<f64> = rows.iter().filter_map(|row| row.change).collect();
    WindowReport {
        width: None,
        snapshots: sequence.steps() as u64,
        empty: rows.iter().filter(|row| row.edges == 0).count() as u64,
        until_removed: false,
        change_rate: (!changes.is_empty())
            .then(|| changes.iter().sum::<f64>() / changes.len() as f64),
        rows,
    }
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
    fn a_constant_topology_is_one_row() {
        let sequence = SnapshotSequence::constant(3, 10, vec![0], vec![1], None).unwrap();
        let report = describe_snapshots(&sequence);
        assert_eq!((report.snapshots, report.rows.len()), (10, 1));
        assert_eq!(report.change_rate, None);
    }
}
