//! Slices of a stream: consecutive events by position or by time, without a copy.

use std::ops::Range;

use crate::events::{EventKind, EventStore};
use crate::ids::{EventId, VertexId};
use crate::time::Time;

/// One event with its optional values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event<'a> {
    /// Where it starts.
    pub src: VertexId,
    /// Where it ends.
    pub dst: VertexId,
    /// When it happens.
    pub time: Time,
    /// Its weight; 1 if the stream has none.
    pub weight: f32,
    /// Its label.
    pub label: Option<f32>,
    /// What it does to its edge.
    pub kind: EventKind,
    /// Its features; empty if the stream has none.
    pub features: &'a [f32],
}

/// Consecutive events of a store.
#[derive(Debug, Clone, Copy)]
pub struct EventView<'a> {
    store: &'a EventStore,
    start: usize,
    end: usize,
}

impl EventStore {
    /// All events as a view.
    pub fn all(&self) -> EventView<'_> {
        EventView { store: self, start: 0, end: self.len() }
    }

    /// Events by position.
    ///
    /// # Panics
    /// If `range` does not lie within `0..len`.
    pub fn view(&self, range: Range<usize>) -> EventView<'_> {
        assert!(range.start <= range.end && range.end <= self.len(), "events {range:?}");
        EventView { store: self, start: range.start, end: range.end }
    }

    /// The events from `times.start` on and before `times.end`, by binary search.
    pub fn between(&self, times: Range<Time>) -> EventView<'_> {
        let start = self.position(times.start);
        EventView { store: self, start, end: self.position(times.end).max(start) }
    }

    /// The position of the first event that is not before `time`; the length if all are.
    pub fn position(&self, time: Time) -> usize {
        self.time().partition_point(|&at| at < time)
    }

    /// The times of the first and of the last event.
    pub fn time_range(&self) -> Option<(Time, Time)> {
        Some((*self.time().first()?, *self.time().last()?))
    }

    /// One event.
    ///
    /// # Panics
    /// If `event` is not below [`len`](Self::len).
    pub fn event(&self, event: EventId) -> Event<'_> {
        let at = event as usize;
        let width = self.feature_width();
        Event {
            src: self.src()[at],
            dst: self.dst()[at],
            time: self.time()[at],
            weight: self.weight().map_or(1.0, |weight| weight[at]),
            label: self.label().map(|label| label[at]),
            kind: match self.kind() {
                Some(kind) if kind[at] == EventKind::Remove as u8 => EventKind::Remove,
                _ => EventKind::Add,
            },
            features: self.features().map_or(&[], |values| &values[at * width..][..width]),
        }
    }
}

impl<'a> EventView<'a> {
    /// The store that the events belong to.
    pub fn store(self) -> &'a EventStore {
        self.store
    }

    /// The positions of the events in the store.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The number of events.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether there is no event.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Sources.
    pub fn src(self) -> &'a [VertexId] {
        &self.store.src()[self.range()]
    }

    /// Destinations.
    pub fn dst(self) -> &'a [VertexId] {
        &self.store.dst()[self.range()]
    }

    /// Times; ascending.
    pub fn time(self) -> &'a [Time] {
        &self.store.time()[self.range()]
    }

    /// Weights.
    pub fn weight(self) -> Option<&'a [f32]> {
        self.store.weight().map(|weight| &weight[self.range()])
    }

    /// Labels.
    pub fn label(self) -> Option<&'a [f32]> {
        self.store.label().map(|label| &label[self.range()])
    }

    /// Kinds as numbers; see [`EventKind`].
    pub fn kind(self) -> Option<&'a [u8]> {
        self.store.kind().map(|kind| &kind[self.range()])
    }

    /// Features, `len × feature_width`.
    pub fn features(self) -> Option<&'a [f32]> {
        let width = self.store.feature_width();
        self.store.features().map(|values| &values[self.start * width..self.end * width])
    }

    /// The events one by one.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Event<'a>> {
        self.range().map(move |event| self.store.event(event as EventId))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EventColumns;
    use crate::ids::VertexNames;
    use crate::time::TimeScale;

    fn example() -> EventStore {
        let columns = EventColumns {
            weight: Some(vec![0.5, 1.5, 2.5].into()),
            kind: Some(vec![0, 0, 1].into()),
            features: Some(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into()),
            feature_width: 2,
            ..EventColumns::default()
        };
        // Out of order, so that the views show the sorted stream.
        let (src, dst, time) = (vec![2, 0, 1], vec![0, 1, 2], vec![30, -10, 20]);
        EventStore::new(src, dst, time, columns, TimeScale::STEPS, VertexNames::identity(3))
            .unwrap()
    }

    #[test]
    fn a_view_cuts_every_column_alike() {
        let store = example();
        let view = store.view(1..3);
        assert_eq!(
            (view.src(), view.dst(), view.time()),
            (&[1, 2][..], &[2, 0][..], &[20, 30][..])
        );
        assert_eq!(view.weight(), Some(&[2.5, 0.5][..]));
        assert_eq!(view.kind(), Some(&[1, 0][..]));
        assert_eq!(view.features(), Some(&[5.0, 6.0, 1.0, 2.0][..]));
        assert_eq!(view.label(), None);
        let events: Vec<Event<'_>> = view.iter().collect();
        assert_eq!(events[0].kind, EventKind::Remove);
        assert_eq!(events[1].features, [1.0, 2.0]);
    }

    #[test]
    fn times_select_from_the_start_on_and_before_the_end() {
        let store = example();
        assert_eq!(store.between(-10..20).range(), 0..1);
        assert_eq!(store.between(-9..31).range(), 1..3);
        assert_eq!(store.between(Time::MIN..Time::MAX).len(), 3);
        let (late, early) = (25, 0);
        assert!(store.between(late..early).is_empty());
        assert_eq!(store.time_range(), Some((-10, 30)));
    }

    #[test]
    #[should_panic(expected = "events 2..4")]
    fn positions_beyond_the_end_are_a_bug_of_the_caller() {
        example().view(2..4);
    }
}
