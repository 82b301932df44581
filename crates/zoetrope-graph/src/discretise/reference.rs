//! The plain implementation that the fast one is tested against: one map, one event at a time.

use std::collections::BTreeMap;

use super::{DiscretiseOptions, Lifetime, Merge};
use crate::events::{EventKind, EventStore};
use crate::ranges::Ranges;
use crate::snapshot::{SnapshotSequence, edge_key};
use crate::window::Windows;

/// As [`super::discretise`], slowly, without the limit.
pub(super) fn discretise(
    store: &EventStore,
    windows: &Windows,
    options: &DiscretiseOptions,
) -> SnapshotSequence {
    let mut state = BTreeMap::<u64, Vec<f32>>::new();
    let (mut src, mut dst, mut weight, mut offsets) = (vec![], vec![], vec![], vec![0]);
    for window in 0..windows.len() {
        if options.lifetime == Lifetime::Window {
            state.clear();
        }
        for (key, add, weight) in acts(store, windows.events(window), options) {
            if add {
                state.entry(key).or_default().push(weight);
            } else {
                state.remove(&key);
            }
        }
        for (&key, weights) in &state {
            for value in merged(options.merge, weights) {
                src.push(key as u32);
                dst.push((key >> 32) as u32);
                weight.push(value as f32);
            }
        }
        offsets.push(src.len() as u64);
    }
    let ones = store.weight().is_none()
        && matches!(options.merge, Merge::Mean | Merge::Last | Merge::Keep);
    let weight = (options.weighted && !ones).then_some(weight);
    SnapshotSequence::from_sorted(
        store.vertices(),
        Ranges::from_offsets(&offsets),
        src,
        dst,
        weight,
    )
    .with_boundaries(windows.boundaries().clone())
    .unwrap()
}

/// What the events of a window do, in canonical order.
fn acts(
    store: &EventStore,
    events: std::ops::Range<usize>,
    options: &DiscretiseOptions,
) -> Vec<(u64, bool, f32)> {
    let mut acts = Vec::new();
    for event in events {
        let (src, dst) = (store.src()[event], store.dst()[event]);
        if src == dst && !options.self_loops {
            continue;
        }
        let add = store.kind().is_none_or(|kind| kind[event] != EventKind::Remove as u8);
        let weight = store.weight().map_or(1.0, |weight| weight[event]);
        acts.push((store.time()[event], add, weight, edge_key(src, dst)));
        if options.undirected && src != dst {
            acts.push((store.time()[event], add, weight, edge_key(dst, src)));
        }
    }
    acts.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.total_cmp(&b.2)));
    acts.into_iter().map(|(_, add, weight, key)| (key, add, weight)).collect()
}

fn merged(merge: Merge, weights: &[f32]) -> Vec<f64> {
    let sum = weights.iter().fold(0.0, |sum, &weight| sum + f64::from(weight));
    match merge {
        Merge::Sum => vec![sum],
        Merge::Mean => vec![sum / weights.len() as f64],
        Merge::Last => vec![weights[weights.len() - 1].into()],
        Merge::Count => vec![weights.len() as f64],
        Merge::Keep => weights.iter().map(|&weight| weight.into()).collect(),
    }
}
