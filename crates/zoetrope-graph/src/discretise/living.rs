//! Snapshots of edges that live until they are removed.
//!
//! Each snapshot is the one before merged with the sorted events of its window, so a window costs
//! its living edges, which it has to write anyway. Windows depend on each other; edges do not:
//! ranges of keys ("shards") run through all windows side by side, and their pieces of each
//! snapshot are laid end to end. The shards do not show in the result.
//!
//! Peak memory: the sorted records (8 or 16 bytes an event) and twice the result.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::Merge;
use super::collect::Job;
use super::fold::Additions;
use super::join::{ADVICE, Columns, EdgeRun, edge_bytes, ranges};
use super::partition::{self, WINDOW_EVENTS_MAX};
use super::sort::{Word, sort};
use crate::error::GraphError;
use crate::ranges::Ranges;
use crate::window::Windows;

/// Records per shard below which another shard is not worth its bookkeeping.
const SHARD_RECORDS: usize = 4_096;

/// An edge that lives, with the merged weight of its additions so far.
#[derive(Clone, Copy)]
struct Edge {
    key: u64,
    value: f64,
    count: u64,
}

pub(super) fn snapshots(job: &Job<'_>, windows: &Windows) -> Result<Columns, GraphError> {
    let longest = windows.ranges().filled().map(|(_, events)| events.len()).max().unwrap_or(0);
    if job.narrow(longest) {
        snapshots_of::<u64>(job, windows, longest)
    } else {
        snapshots_of::<u128>(job, windows, longest)
    }
}

fn snapshots_of<W: Word>(
    job: &Job<'_>,
    windows: &Windows,
    longest: usize,
) -> Result<Columns, GraphError> {
    let bits = job.position_bits(longest);
    let records: Vec<Vec<W>> = (0..windows.ranges().filled().len())
        .into_par_iter()
        .map(|place| sorted_window(job, windows.ranges().nth_filled(place).1, bits))
        .collect();
    // Each edge is held twice: in the piece of its shard and in the result.
    let fits = zoetrope_heap::free() / (2 * edge_bytes(job));
    let most = job.options.max_edges.min(fits);
    let produced = AtomicU64::new(0);
    let shards: Option<Vec<EdgeRun>> = shard_keys(&records, bits)
        .into_par_iter()
        .map(|keys| Shard { job, windows, bits, keys, most }.run(&records, &produced))
        .collect();
    let shards = shards.ok_or_else(|| refused(job, fits))?;
    drop(records);
    let own = |shard: &EdgeRun| ranges(job, windows.len(), shard.counts.iter().copied());
    let places: Vec<Ranges> = shards.iter().map(own).collect::<Result<_, _>>()?;
    let edges = |window| places.iter().map(|places| places.get(window).len() as u64).sum();
    let all = ranges(job, windows.len(), (0..windows.len()).map(|window| (window, edges(window))))?;
    let gather_ids = |column: fn(&EdgeRun) -> &[u32]| gather(&all, &shards, &places, column);
    let src = gather_ids(|part| &part.src);
    let dst = gather_ids(|part| &part.dst);
    let weight = job
        .weighted
        .then(|| gather(&all, &shards, &places, |part: &EdgeRun| -> &[f32] { &part.weight }));
    Ok((all, src, dst, weight))
}

/// Why there are more edges than there may be: `fits` is what the memory has room for.
fn refused(job: &Job<'_>, fits: u64) -> GraphError {
    let limit = job.options.max_edges;
    if limit <= fits {
        return GraphError::TooManyEdges { limit };
    }
    let what = "the edges of all snapshots, each living on until it is removed,";
    zoetrope_heap::need(what, (fits + 1).saturating_mul(2 * edge_bytes(job)), ADVICE)
        .map_or_else(GraphError::from, |()| GraphError::TooManyEdges { limit: fits })
}

fn sorted_window<W: Word>(job: &Job<'_>, events: Range<usize>, bits: u32) -> Vec<W> {
    let start = events.start;
    if events.len() > WINDOW_EVENTS_MAX {
        let pieces = partition::sorted::<W, Vec<W>>(job, events, |words, own, base, piece| {
            piece.extend(
                words
                    .iter()
                    .map(|word| W::pack(base + word.key(own), word.position(own) as u64, bits)),
            );
        });
        return super::join::concatenate(pieces);
    }
    let mut words = Vec::with_capacity(events.len());
    job.collect(start, events, bits, &mut words);
    sort(&mut words, &mut Vec::new(), bits, bits + job.key_bits());
    words
}

/// Ranges of keys with about equally many records, from a regular sample of them.
fn shard_keys<W: Word>(records: &[Vec<W>], bits: u32) -> Vec<Range<u64>> {
    let total: usize = records.iter().map(Vec::len).sum();
    let shards = (4 * rayon::current_num_threads()).min(total / SHARD_RECORDS).max(1);
    let every = (total / (64 * shards)).max(1);
    let mut sample: Vec<u64> =
        records.iter().flatten().step_by(every).map(|word| word.key(bits)).collect();
    sample.sort_unstable();
    let mut cuts: Vec<u64> =
        (1..shards).map(|shard| sample[shard * sample.len() / shards]).collect();
    cuts.insert(0, 0);
    cuts.dedup();
    // No key reaches the last end: a key of all ones would need 2^32 vertices.
    cuts.push(u64::MAX);
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// One range of keys and how far it has been merged through the windows.
struct Shard<'a> {
    job: &'a Job<'a>,
    windows: &'a Windows,
    bits: u32,
    keys: Range<u64>,
    /// The edges that all shards may make together.
    most: u64,
}

impl Shard<'_> {
    /// The shard's edges of every window, or `None` once all shards together pass the limit.
    fn run<W: Word>(&self, records: &[Vec<W>], produced: &AtomicU64) -> Option<EdgeRun> {
        let mut part = EdgeRun::default();
        let (mut living, mut next) = (Vec::<Edge>::new(), Vec::new());
        let mut additions = Additions::default();
        let mut filled = self.windows.ranges().filled().zip(records).peekable();
        for window in 0..self.windows.len() {
            let here = filled.next_if(|((filled, _), _)| *filled == window);
            if let Some(((_, events), words)) = here {
                let at = |key| words.partition_point(|word| word.key(self.bits) < key);
                let words = &words[at(self.keys.start)..at(self.keys.end)];
                if !words.is_empty() {
                    self.advance(&living, &mut next, words, events.start, &mut additions);
                    std::mem::swap(&mut living, &mut next);
                }
            }
            let edges = living.len() as u64;
            if produced.fetch_add(edges, Ordering::Relaxed) + edges > self.most {
                return None;
            }
            self.write(&living, &mut part);
            if edges > 0 {
                part.counts.push((window, edges));
            }
        }
        Some(part)
    }

    /// Merges the living edges with the sorted records of a window.
    fn advance<W: Word>(
        &self,
        living: &[Edge],
        next: &mut Vec<Edge>,
        words: &[W],
        start: usize,
        additions: &mut Additions,
    ) {
        next.clear();
        let (mut old, mut rest) = (living, words);
        while let Some(first) = rest.first() {
            let key = first.key(self.bits);
            let same = rest.iter().take_while(|word| word.key(self.bits) == key).count();
            let (group, later) = rest.split_at(same);
            rest = later;
            let (before, from) = old.split_at(old.partition_point(|edge| edge.key < key));
            let (existing, after) = from.split_at(from.partition_point(|edge| edge.key == key));
            old = after;
            next.extend_from_slice(before);
            self.apply(key, existing, group, start, additions, next);
        }
        next.extend_from_slice(old);
    }

    /// Applies the events of one edge to what lives of it.
    fn apply<W: Word>(
        &self,
        key: u64,
        existing: &[Edge],
        group: &[W],
        start: usize,
        additions: &mut Additions,
        next: &mut Vec<Edge>,
    ) {
        let new = Edge { key, value: 0.0, count: 0 };
        let merge = self.job.options.merge;
        if !self.job.positions() && merge != Merge::Keep {
            let edge = existing.first().copied().unwrap_or(new);
            let added = group.len() as u64;
            next.push(Edge { value: edge.value + added as f64, count: edge.count + added, ..edge });
            return;
        }
        additions.replay(self.job, start, group, self.bits);
        let existing = if additions.removed { &[] } else { existing };
        if merge == Merge::Keep {
            next.extend_from_slice(existing);
            let kept = additions.weights.iter();
            next.extend(kept.map(|&weight| Edge { key, value: weight.into(), count: 1 }));
            return;
        }
        let mut edge = existing.first().copied().unwrap_or(new);
        for &weight in &additions.weights {
            edge.value = if merge == Merge::Last { 0.0 } else { edge.value } + f64::from(weight);
            edge.count += 1;
        }
        if edge.count > 0 {
            next.push(edge);
        }
    }

    fn write(&self, living: &[Edge], part: &mut EdgeRun) {
        part.src.extend(living.iter().map(|edge| self.job.source(edge.key)));
        part.dst.extend(living.iter().map(|edge| self.job.destination(edge.key)));
        if self.job.weighted {
            let merge = self.job.options.merge;
            part.weight.extend(living.iter().map(|edge| match merge {
                Merge::Sum | Merge::Last | Merge::Keep => edge.value as f32,
                Merge::Mean => (edge.value / edge.count as f64) as f32,
                Merge::Count => edge.count as f32,
            }));
        }
    }
}

/// Lays the shards' pieces of each window end to end.
fn gather<T: Copy + Default + Send + Sync>(
    all: &Ranges,
    shards: &[EdgeRun],
    places: &[Ranges],
    column: impl Fn(&EdgeRun) -> &[T] + Sync,
) -> Vec<T> {
    let mut whole = vec![T::default(); all.end() as usize];
    let mut pieces = Vec::with_capacity(all.filled().len());
    let mut rest = &mut whole[..];
    for (window, range) in all.filled() {
        let (piece, tail) = rest.split_at_mut(range.len());
        pieces.push((window, piece));
        rest = tail;
    }
    pieces.into_par_iter().for_each(|(window, mut piece)| {
        for (shard, places) in shards.iter().zip(places) {
            let from = places.get(window);
            let (head, tail) = piece.split_at_mut(from.len());
            head.copy_from_slice(&column(shard)[from]);
            piece = tail;
        }
    });
    whole
}
