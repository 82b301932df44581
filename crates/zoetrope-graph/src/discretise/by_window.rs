//! The snapshots of some windows without those of the others.

use std::ops::Range;
use std::sync::Arc;

use super::collect::{Job, removes};
use super::{DiscretiseOptions, Lifetime, windowed};
use crate::error::GraphError;
use crate::events::EventStore;
use crate::made::SnapshotSource;
use crate::snapshot::SnapshotSequence;
use crate::window::Windows;

/// Events and how they are cut: makes the snapshots of any windows, each as [`discretise`](super::discretise) makes it.
///
/// Events of a mapped store leave memory when they have been read.
#[derive(Debug)]
pub struct WindowSource {
    store: Arc<EventStore>,
    windows: Windows,
    options: DiscretiseOptions,
    removals: bool,
}

impl WindowSource {
    /// None if a snapshot depends on more than its own window.
    ///
    /// # Panics
    /// If the windows were cut from a longer stream.
    pub fn new(
        store: Arc<EventStore>,
        windows: Windows,
        options: DiscretiseOptions,
    ) -> Option<Self> {
        assert!(windows.ranges().end() as usize <= store.len(), "windows of this stream");
        let removals = removes(&store);
        if let Some(kind) = &store.columns().kind {
            kind.let_go(0..store.len());
        }
        (options.lifetime == Lifetime::Window).then_some(Self { store, windows, options, removals })
    }
}

impl SnapshotSource for WindowSource {
    fn make(&self, steps: Range<usize>) -> Result<SnapshotSequence, GraphError> {
        let job = Job::with_removals(&self.store, &self.options, self.removals);
        let windows = self.windows.part(steps);
        let (ranges, src, dst, weight) = windowed::snapshots(&job, &windows)?;
        let events = windows.ranges();
        self.store.let_go(events.start() as usize..events.end() as usize);
        let made = SnapshotSequence::from_sorted(self.store.vertices(), ranges, src, dst, weight);
        made.with_boundaries(windows.boundaries().clone())
    }

    fn size(&self, step: usize) -> usize {
        self.windows.events(step).len()
    }
}
