//! Sorting a large window in parallel without shared writes.
//!
//! Chunks of events are each split by the upper bits of the key into buckets of their own; then
//! every bucket gathers its pieces in chunk order, so positions still ascend, and sorts the
//! lower bits while they are in cache. A key lies in one bucket only, so buckets can be merged
//! into edges on their own.

use std::ops::Range;

use rayon::prelude::*;

use super::collect::Job;
use super::sort::{Word, sort};

/// Most events of a window that is sorted as a whole: records of more would not stay in the cache of
/// a core, so that larger windows are split.
pub(super) const WINDOW_EVENTS_MAX: usize = 1 << 17;
const CHUNK: usize = 1 << 16;
/// Buckets: enough to fit into cache, few enough that a chunk's pieces are whole cache lines.
const BUCKETS: u64 = 1 << 9;
/// Buckets that are done by one task and share its memory.
const BUCKETS_PER_TASK: usize = 8;

/// The records of one chunk, grouped by bucket, and where each bucket ends.
struct Split<W> {
    words: Vec<W>,
    ends: Vec<u32>,
}

/// Hands the records of a window to `take` in key order, bucket by bucket, `BUCKETS_PER_TASK`
/// buckets to one result; results come in key order. Keys of the records are relative to the
/// base that `take` is told.
pub(super) fn sorted<W: Word, R: Default + Send>(
    job: &Job<'_>,
    events: Range<usize>,
    take: impl Fn(&[W], u32, u64, &mut R) + Sync,
) -> Vec<R> {
    let bits = job.position_bits(events.len());
    let (base, highest) = key_range(job, events.clone());
    let span_bits = u64::BITS - (highest - base).leading_zeros();
    let shift = span_bits.saturating_sub(BUCKETS.ilog2());
    let buckets = ((highest - base) >> shift) as usize + 1;
    let chunks: Vec<Range<usize>> =
        events.clone().step_by(CHUNK).map(|from| from..events.end.min(from + CHUNK)).collect();
    let splits: Vec<Split<W>> = chunks
        .into_par_iter()
        .map(|chunk| split(job, events.start, chunk, bits, base, shift, buckets))
        .collect();
    (0..buckets.div_ceil(BUCKETS_PER_TASK))
        .into_par_iter()
        .map(|task| {
            let mut result = R::default();
            let (mut words, mut scratch) = (Vec::new(), Vec::new());
            let first = task * BUCKETS_PER_TASK;
            for bucket in first..buckets.min(first + BUCKETS_PER_TASK) {
                words.clear();
                for split in &splits {
                    let from = if bucket == 0 { 0 } else { split.ends[bucket - 1] };
                    words.extend_from_slice(
                        &split.words[from as usize..split.ends[bucket] as usize],
                    );
                }
                sort(&mut words, &mut scratch, bits, bits + shift);
                take(&words, bits, base, &mut result);
            }
            result
        })
        .collect()
}

/// The lowest and the highest key that records of `events` may have.
fn key_range(job: &Job<'_>, events: Range<usize>) -> (u64, u64) {
    let undirected = job.options.undirected;
    let range = |src: u32, dst: u32| {
        let (there, back) = (job.key(src, dst), job.key(dst, src));
        if undirected { (there.min(back), there.max(back)) } else { (there, there) }
    };
    let both = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
    let (low, high) = job.src[events.clone()]
        .par_iter()
        .zip(&job.dst[events])
        .with_min_len(CHUNK)
        .map(|(&src, &dst)| range(src, dst))
        .reduce(|| (u64::MAX, 0), both);
    (low.min(high), high)
}

fn split<W: Word>(
    job: &Job<'_>,
    start: usize,
    chunk: Range<usize>,
    bits: u32,
    base: u64,
    shift: u32,
    buckets: usize,
) -> Split<W> {
    let mut collected: Vec<W> = Vec::with_capacity(chunk.len());
    job.collect(start, chunk, bits, &mut collected);
    let bucket = |word: &W| ((word.key(bits) - base) >> shift) as usize;
    let mut ends = vec![0_u32; buckets];
    for word in &collected {
        ends[bucket(word)] += 1;
    }
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut words = vec![W::default(); collected.len()];
    for word in &collected {
        let place = &mut ends[bucket(word)];
        words[*place as usize] = W::pack(word.key(bits) - base, word.position(bits) as u64, bits);
        *place += 1;
    }
    Split { words, ends }
}
