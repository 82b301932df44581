//! Discretisation: from a stream of events to a sequence of snapshots.
//!
//! Owns how the events of a window become edges. The order in which events act is canonical:
//! ascending time; at equal times removals before additions, additions by ascending weight. So
//! snapshots depend neither on the order of equal times in the input nor on the number of
//! threads: the snapshots of a shuffled file equal those of the sorted one, bit by bit.
//!
//! Sums are accumulated in f64 in that order and rounded to f32 once.
//!
//! Files: `collect` packs an edge and a position into one integer of as few bits as the vertices
//! need, `sort` orders them, `partition` splits large windows for many threads, `fold` merges the
//! events of an edge, `windowed` and `living` are the two lifetimes, `join` lays the pieces end to
//! end; `by_window` makes some snapshots without the others.
//!
//! Floor of [`Lifetime::Window`]: 8 bytes an event read (source, destination; 12 with weights) and
//! up to 12 an edge written, 20 bytes or about 2 ns at 10 GB/s. What is measured is mostly the
//! sort (three to five passes over 8 bytes) and the first touch of the result's pages: 18 to 29 ns
//! of processor time an event without weights, 14 to 39 ns with, so a tenth of the floor or less,
//! for 5 million generated events in 1, 10, 1,000 or 1,000,000 windows; the most is one window with
//! weights, whose weights are fetched from all over memory. 18 ns (2.9 ms in all) for the 157,474
//! wikipedia events in hours.
//! `bench/graph`, 2 cores of an AMD EPYC shared with other work, 15 November 2026.

mod by_window;
mod collect;
mod fold;
mod join;
mod living;
mod partition;
#[cfg(test)]
mod reference;
mod sort;
#[cfg(test)]
mod tests;
mod windowed;

use crate::error::GraphError;
use crate::events::EventStore;
use crate::snapshot::SnapshotSequence;
use crate::window::Windows;
pub use by_window::WindowSource;
use collect::Job;

/// What becomes of several events of one edge in one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// One edge whose weight is the sum.
    #[default]
    Sum,
    /// One edge whose weight is the mean.
    Mean,
    /// One edge with the weight of the latest event; of several at that time, the greatest.
    Last,
    /// One edge whose weight is the number of events.
    Count,
    /// Parallel edges in order of time, equal times by weight.
    Keep,
}

/// How long an edge lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// A snapshot has the edges that were added in its window and not removed after, within it.
    #[default]
    Window,
    /// A snapshot has the edges that were added in or before its window and not removed since;
    /// an edge that was removed and added again lives, and merges what came after the removal.
    UntilRemoved,
}

/// How events become edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscretiseOptions {
    /// What becomes of several events of one edge.
    pub merge: Merge,
    /// How long an edge lives.
    pub lifetime: Lifetime,
    /// Whether self-loops stay.
    pub self_loops: bool,
    /// Whether each event also acts on the reverse edge; self-loops act once.
    pub undirected: bool,
    /// Whether edges carry weights. An event without one weighs 1; if all weights would be 1
    /// by construction there is no column.
    pub weighted: bool,
    /// The most edges that all snapshots may have together; living edges are stored again in
    /// each window.
    pub max_edges: u64,
}

impl Default for DiscretiseOptions {
    fn default() -> Self {
        Self {
            merge: Merge::Sum,
            lifetime: Lifetime::Window,
            self_loops: true,
            undirected: false,
            weighted: true,
            max_edges: 1 << 31,
        }
    }
}

/// Cuts a stream into one snapshot per window, with the windows' boundaries attached.
///
/// # Errors
/// [`GraphError::TooManyEdges`] if the snapshots would have more than `max_edges` edges
/// together, [`GraphError::ShapeMismatch`] if the windows were cut from a longer stream.
pub fn discretise(
    store: &EventStore,
    windows: &Windows,
    options: &DiscretiseOptions,
) -> Result<SnapshotSequence, GraphError> {
    let covered = windows.ranges().end() as usize;
    if covered > store.len() {
        let what = "events that windows cover against events of the store";
        return Err(GraphError::ShapeMismatch { what, left: covered, right: store.len() });
    }
    let job = Job::new(store, options);
    let (ranges, src, dst, weight) = match options.lifetime {
        Lifetime::Window => windowed::snapshots(&job, windows)?,
        Lifetime::UntilRemoved => living::snapshots(&job, windows)?,
    };
    SnapshotSequence::from_sorted(store.vertices(), ranges, src, dst, weight)
        .with_boundaries(windows.boundaries().clone())
}
