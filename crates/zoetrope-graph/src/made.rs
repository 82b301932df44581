//! Snapshots that are made when they are asked for, from something that is smaller or not in memory.
//!
//! Owns which of them are kept, and in what portions they are made. It does not know what they are made from.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::counted::SnapshotCounts;
use crate::error::GraphError;
use crate::snapshot::{SnapshotSequence, SnapshotView};

/// Edges that are made at once if their snapshots are let go again: enough for all threads, and some tens of
/// megabytes while they are ordered.
const EDGES_AT_ONCE: usize = 1 << 20;

/// Bytes of an edge while a portion is made: records to sort, edges in pieces and end to end; and, if they are smoothed,
/// all their occurrences.
const PORTION_EDGE_BYTES: u64 = 64;

/// Bytes that a portion of a sequence takes while it is made; the arguments are the edges of the largest snapshot and of
/// all snapshots.
pub fn portion_bytes(largest: usize, edges: usize) -> u64 {
    EDGES_AT_ONCE.max(largest).min(edges) as u64 * PORTION_EDGE_BYTES
}

/// What makes snapshots. The same steps give the same snapshots, bit by bit, whatever they are made together with.
pub trait SnapshotSource: Send + Sync {
    /// Some consecutive snapshots, as a sequence of their own.
    ///
    /// # Errors
    /// If they cannot be made.
    fn make(&self, steps: Range<usize>) -> Result<SnapshotSequence, GraphError>;

    /// About how many edges have to be looked at to make a snapshot.
    fn size(&self, step: usize) -> usize;

    /// The sizes of the snapshots, if nothing else is known of them: they cannot be made.
    fn counts(&self) -> Option<&SnapshotCounts> {
        None
    }
}

/// A source, what is known of its snapshots, and those that were kept.
pub(crate) struct Made {
    source: Arc<dyn SnapshotSource>,
    edges: Vec<u64>,
    kept: Vec<OnceLock<Box<SnapshotSequence>>>,
}

impl Made {
    pub(crate) fn new(source: Arc<dyn SnapshotSource>, edges: Vec<u64>) -> Self {
        let kept = edges.iter().map(|_| OnceLock::new()).collect();
        Self { source, edges, kept }
    }

    pub(crate) fn counts(&self) -> Option<&SnapshotCounts> {
        self.source.counts()
    }

    /// The number of edges of each snapshot.
    pub(crate) fn edges(&self) -> &[u64] {
        &self.edges
    }

    /// A snapshot, as a sequence of one step.
    pub(crate) fn kept(&self, step: usize) -> Result<&SnapshotSequence, GraphError> {
        let place = &self.kept[step];
        if place.get().is_none() {
            let made = Box::new(self.source.make(step..step + 1)?);
            // Another thread may have been faster, with the same.
            let _ = place.set(made);
        }
        Ok(place.get().expect("it was made"))
    }

    /// Edges of the snapshots that are kept.
    pub(crate) fn held_edges(&self) -> usize {
        self.kept.iter().filter_map(OnceLock::get).map(|kept| kept.stored_edges()).sum()
    }

    pub(crate) fn visit<E: From<GraphError>>(
        &self,
        steps: Range<usize>,
        see: impl FnMut(usize, SnapshotView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        visit(&*self.source, steps, see)
    }
}

/// Shows the snapshots that a source makes, portion by portion.
///
/// # Errors
/// What `see` returns, and if a snapshot cannot be made.
pub fn visit<E: From<GraphError>>(
    source: &dyn SnapshotSource,
    steps: Range<usize>,
    mut see: impl FnMut(usize, SnapshotView<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut from = steps.start;
    while from < steps.end {
        let (mut until, mut edges) = (from + 1, source.size(from));
        while until < steps.end && edges + source.size(until) <= EDGES_AT_ONCE {
            edges += source.size(until);
            until += 1;
        }
        let made = source.make(from..until)?;
        for step in from..until {
            see(step, made.at(step - from))?;
        }
        from = until;
    }
    Ok(())
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept.iter().filter(|kept| kept.get().is_some()).count();
        f.debug_struct("Made").field("steps", &self.edges.len()).field("kept", &kept).finish()
    }
}

/// Two are equal if they are one: what they would make is not compared.
impl PartialEq for Made {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{EventColumns, EventStore};
    use crate::ids::VertexNames;
    use crate::random::Random;
    use crate::smooth::{SmoothSource, Smoothing};
    use crate::time::TimeScale;
    use crate::{DiscretiseOptions, Lifetime, WindowSource, Windowing, Windows, discretise};

    /// Some events with weights, in windows of which some are empty.
    fn events() -> (Arc<EventStore>, Windows) {
        let random = Random::new(5, 1);
        let end = |at: u64| random.below(at, 30) as u32;
        let (src, dst) = (0..900).map(|at| (end(2 * at), end(2 * at + 1))).unzip();
        let time = (0..900).map(|at| at / 40 * 7 % 160 + at % 3).collect();
        let weight = (0..900).map(|at| random.unit(at) as f32 + 0.1).collect::<Vec<f32>>();
        let columns = EventColumns { weight: Some(weight.into()), ..EventColumns::default() };
        let names = VertexNames::identity(30);
        let store = EventStore::new(src, dst, time, columns, TimeScale::SECONDS, names).unwrap();
        let windows = Windows::cut(&store, &"4".parse::<Windowing>().unwrap()).unwrap();
        (Arc::new(store), windows)
    }

    fn source(options: DiscretiseOptions) -> Option<WindowSource> {
        let (store, windows) = events();
        WindowSource::new(store, windows, options)
    }

    #[test]
    fn snapshots_that_are_made_alone_are_those_of_the_whole_bit_by_bit() {
        let (store, windows) = events();
        for undirected in [false, true] {
            let options = DiscretiseOptions { undirected, ..DiscretiseOptions::default() };
            let whole = discretise(&store, &windows, &options).unwrap();
            let plain = Arc::new(source(options).unwrap());
            let none: Option<Smoothing> = None;
            for smoothing in [none, Some(Smoothing::EdgeLife(3)), Some(Smoothing::MProduct(4))] {
                let whole = smoothing.map_or_else(|| whole.clone(), |s| s.apply(&whole).unwrap());
                let source: Arc<dyn SnapshotSource> = match smoothing {
                    Some(smoothing) => {
                        Arc::new(SmoothSource::new(plain.clone(), smoothing).unwrap())
                    }
                    None => plain.clone(),
                };
                for length in [1, 3, whole.steps()] {
                    for from in 0..=whole.steps() - length {
                        let part = source.make(from..from + length).unwrap();
                        for step in 0..length {
                            assert_eq!(
                                part.at(step),
                                whole.at(from + step),
                                "{smoothing:?} {from}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_visited_is_let_go_and_what_is_asked_for_stays() {
        let (store, windows) = events();
        let options = DiscretiseOptions::default();
        let whole = discretise(&store, &windows, &options).unwrap();
        let edges: Vec<u64> = whole.iter().map(|view| view.len() as u64).collect();
        let made = SnapshotSequence::made_by(30, edges, Arc::new(source(options).unwrap()));
        assert_eq!((made.steps(), made.stored_edges()), (whole.steps(), whole.stored_edges()));
        let mut seen = Vec::new();
        let look = |step, view: SnapshotView<'_>| {
            assert_eq!(view, whole.at(step));
            seen.push(step);
            Ok::<_, GraphError>(())
        };
        made.visit(2..9, look).unwrap();
        assert_eq!(seen, (2..9).collect::<Vec<_>>());
        assert_eq!(made.held_edges(), 0);
        made.keep(3).unwrap();
        assert_eq!((made.at(3), made.at(4)), (whole.at(3), whole.at(4)));
        assert_eq!(made.held_edges(), whole.at(3).len() + whole.at(4).len());
        assert_eq!(made.edges_at(5), whole.edges_at(5));
    }

    #[test]
    fn edges_that_live_on_cannot_be_made_from_their_window_alone() {
        let lifetime = Lifetime::UntilRemoved;
        assert!(source(DiscretiseOptions { lifetime, ..DiscretiseOptions::default() }).is_none());
    }
}
