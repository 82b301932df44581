//! Discretisation: from a stream of events to a sequence of snapshots.
//!
//! Owns how the events of a window become edges. The order in which events act is canonical:
//! ascending time; at equal times removals before additions, additions by ascending weight. So
//! snapshots depend neither on the order of equal times in the input nor on the number of
//! threads: the snapshots of a shuffled file equal those of the sorted one, bit by bit.
//!
//! Sums are accumulated in f64 in that order and rounded to f32 once.

use rayon::prelude::*;

use crate::error::GraphError;
use crate::events::{EventKind, EventStore};
use crate::snapshot::{SnapshotSequence, edge_key};
use crate::time::Time;
use crate::window::Windows;

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
    /// Whether edges carry weights. An event without one weighs 1; where all weights would be 1
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
/// [`GraphError::TooMany`] where the snapshots would have more than `max_edges` edges together.
pub fn discretise(
    store: &EventStore,
    windows: &Windows,
    options: &DiscretiseOptions,
) -> Result<SnapshotSequence, GraphError> {
    let records: Vec<Vec<Record>> = (0..windows.len())
        .into_par_iter()
        .map(|window| records(store, windows.events(window), options))
        .collect();
    let mut living: Vec<(u64, f64)> = Vec::new();
    let mut state = std::collections::BTreeMap::<u64, Vec<f32>>::new();
    let mut offsets = vec![0_u64];
    for window in records {
        if options.lifetime == Lifetime::Window {
            state.clear();
        }
        for record in window {
            if record.add {
                state.entry(record.key).or_default().push(record.weight);
            } else {
                state.remove(&record.key);
            }
        }
        for (&key, weights) in &state {
            merge(options.merge, weights, |weight| living.push((key, weight)));
        }
        if living.len() as u64 > options.max_edges {
            return Err(GraphError::TooMany {
                what: "edges of all snapshots",
                count: living.len() as u64,
                limit: options.max_edges,
            });
        }
        offsets.push(living.len() as u64);
    }
    let src = living.par_iter().map(|&(key, _)| key as u32).collect();
    let dst = living.par_iter().map(|&(key, _)| (key >> 32) as u32).collect();
    let weight = has_weights(store, options)
        .then(|| living.par_iter().map(|&(_, weight)| weight as f32).collect());
    SnapshotSequence::from_sorted(store.vertices(), offsets, src, dst, weight)
        .with_boundaries(windows.boundaries().to_vec())
}

/// Whether the snapshots have a weight column.
fn has_weights(store: &EventStore, options: &DiscretiseOptions) -> bool {
    let ones = store.weight().is_none()
        && matches!(options.merge, Merge::Mean | Merge::Last | Merge::Keep);
    options.weighted && !ones
}

struct Record {
    key: u64,
    time: Time,
    add: bool,
    weight: f32,
}

fn records(
    store: &EventStore,
    events: std::ops::Range<usize>,
    options: &DiscretiseOptions,
) -> Vec<Record> {
    let mut records = Vec::with_capacity(events.len());
    for event in events {
        let (src, dst) = (store.src()[event], store.dst()[event]);
        if src == dst && !options.self_loops {
            continue;
        }
        let add = store.kind().is_none_or(|kind| kind[event] != EventKind::Remove as u8);
        let weight = store.weight().map_or(1.0, |weight| weight[event]);
        let time = store.time()[event];
        records.push(Record { key: edge_key(src, dst), time, add, weight });
        if options.undirected && src != dst {
            records.push(Record { key: edge_key(dst, src), time, add, weight });
        }
    }
    records.sort_by(|a, b| {
        (a.key, a.time, a.add)
            .cmp(&(b.key, b.time, b.add))
            .then_with(|| a.weight.total_cmp(&b.weight))
    });
    records
}

fn merge(merge: Merge, weights: &[f32], mut push: impl FnMut(f64)) {
    let sum = || weights.iter().fold(0.0, |sum, &weight| sum + f64::from(weight));
    match merge {
        Merge::Sum => push(sum()),
        Merge::Mean => push(sum() / weights.len() as f64),
        Merge::Last => push(weights[weights.len() - 1].into()),
        Merge::Count => push(weights.len() as f64),
        Merge::Keep => weights.iter().for_each(|&weight| push(weight.into())),
    }
}
