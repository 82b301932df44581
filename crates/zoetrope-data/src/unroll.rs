//! Snapshots as events: each edge of snapshot `t` happens at the start of its window, or at step
//! `t` if the snapshots have no times.

use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{Column, EventStore, GraphError, TimeScale};

use crate::dataset::SnapshotDataset;

/// The edges of all snapshots in time order. A constant topology happens once, at its first
/// step. Features and targets per step have no place in a stream and stay behind.
///
/// # Errors
/// As [`EventStore::new`].
pub fn events_of(data: &SnapshotDataset) -> Result<EventStore, GraphError> {
    let sequence = &data.sequence;
    let mut time = Vec::with_capacity(sequence.stored_edges());
    for (step, edges) in sequence.ranges().filled() {
        let start = sequence.boundaries().map_or(step as i64, |times| times.at(step));
        time.resize(time.len() + edges.len(), start);
    }
    let columns = EventColumns {
        weight: sequence.weight().map(|weight| Column::from(weight.to_vec())),
        ..EventColumns::default()
    };
    let scale = match sequence.boundaries() {
        Some(boundaries) => crate::assemble::scale_of(boundaries.iter(), None),
        None => TimeScale::STEPS,
    };
    EventStore::new(
        sequence.src().to_vec(),
        sequence.dst().to_vec(),
        time,
        columns,
        scale,
        data.names.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use zoetrope_graph::{SnapshotSequence, VertexNames};

    #[test]
    fn every_edge_of_every_snapshot_becomes_an_event_of_its_step() {
        let sequence = SnapshotSequence::new(
            3,
            vec![0, 2, 2, 3],
            vec![1, 0, 2],
            vec![0, 1, 1],
            Some(vec![1.0, 2.0, 3.0]),
        )
        .unwrap();
        let data = SnapshotDataset {
            sequence,
            names: VertexNames::identity(3),
            features: None,
            targets: None,
            signal: None,
        };
        let events = events_of(&data).unwrap();
        assert_eq!(events.time(), [0, 0, 2]);
        assert_eq!((events.src(), events.dst()), (&[1, 0, 2][..], &[0, 1, 1][..]));
        assert_eq!(events.weight(), Some(&[1.0, 2.0, 3.0][..]));
    }
}
