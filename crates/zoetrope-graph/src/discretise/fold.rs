//! From the events of one edge to its weight: their canonical order, and the merge.

use super::Merge;
use super::collect::Job;
use super::join::EdgeRun;
use super::sort::Word;
use crate::events::EventKind;

/// Records from which weights are gathered ahead.
const GATHER_FROM: usize = 2_048;

/// The additions of one edge since its last removal, in canonical order.
#[derive(Default)]
pub(super) struct Additions {
    /// Their weights.
    pub(super) weights: Vec<f32>,
    /// Whether a removal came before them.
    pub(super) removed: bool,
}

impl Additions {
    /// Replays the events of one edge: `group` holds their records in order of position, `start`
    /// is the first event of the window.
    pub(super) fn replay<W: Word>(&mut self, job: &Job<'_>, start: usize, group: &[W], bits: u32) {
        self.weights.clear();
        self.removed = false;
        let event = |word: &W| start + word.position(bits);
        let weight = |event: usize| job.weight.map_or(1.0, |weight| weight[event]);
        let removes = |event: usize| job.kind.is_some_and(|k| k[event] == EventKind::Remove as u8);
        let mut rest = group;
        while let Some(first) = rest.first() {
            let time = job.time[event(first)];
            let run = 1 + rest[1..].iter().take_while(|word| job.time[event(word)] == time).count();
            let (now, later) = rest.split_at(run);
            if now.iter().any(|word| removes(event(word))) {
                self.weights.clear();
                self.removed = true;
            }
            let from = self.weights.len();
            self.weights.extend(now.iter().map(event).filter(|&e| !removes(e)).map(weight));
            if job.weight.is_some() {
                self.weights[from..].sort_unstable_by(f32::total_cmp);
            }
            rest = later;
        }
    }
}

/// One weight out of several; not for [`Merge::Keep`].
pub(super) fn merged(merge: Merge, weights: &[f32]) -> f32 {
    let sum = || weights.iter().fold(0.0, |sum, &weight| sum + f64::from(weight));
    match merge {
        Merge::Sum => sum() as f32,
        Merge::Mean => (sum() / weights.len() as f64) as f32,
        Merge::Last | Merge::Keep => weights[weights.len() - 1],
        Merge::Count => weights.len() as f32,
    }
}

/// Appends the edges of sorted records to a part. Keys are relative to `base`.
pub(super) fn emit<W: Word>(
    job: &Job<'_>,
    start: usize,
    words: &[W],
    bits: u32,
    base: u64,
    part: &mut EdgeRun,
) {
    if !job.positions() {
        return emit_counted(job, words, bits, base, part);
    }
    let weights = gathered(job, start, words, bits);
    let mut additions = Additions::default();
    let merge = job.options.merge;
    let mut at = 0;
    while at < words.len() {
        let key = words[at].key(bits);
        let length = 1 + words[at + 1..].iter().take_while(|word| word.key(bits) == key).count();
        let group = &words[at..at + length];
        let (src, dst) = (job.source(base + key), job.destination(base + key));
        let weight = |nth: usize| match weights.get(at + nth) {
            Some(&weight) => weight,
            None => job.weight.map_or(1.0, |w| w[start + group[nth].position(bits)]),
        };
        match (length, merge) {
            (1, _) if job.kind.is_none() => part.push(job, src, dst, weight(0)),
            // Two are added in either order alike: their times need not be looked up.
            (2, Merge::Sum | Merge::Mean) if job.kind.is_none() => {
                part.push(job, src, dst, merged(merge, &[weight(0), weight(1)]));
            }
            _ => {
                additions.replay(job, start, group, bits);
                let weights = &additions.weights;
                match merge {
                    Merge::Keep => weights.iter().for_each(|&w| part.push(job, src, dst, w)),
                    _ if weights.is_empty() => {}
                    _ => part.push(job, src, dst, merged(merge, weights)),
                }
            }
        }
        at += length;
    }
}

/// Edges whose events are all alike: how many there are is all that matters.
fn emit_counted<W: Word>(job: &Job<'_>, words: &[W], bits: u32, base: u64, part: &mut EdgeRun) {
    let keep = job.options.merge == Merge::Keep;
    let mut rest = words;
    while let Some(first) = rest.first() {
        let key = first.key(bits);
        let length = 1 + rest[1..].iter().take_while(|word| word.key(bits) == key).count();
        rest = &rest[length..];
        let (src, dst) = (job.source(base + key), job.destination(base + key));
        for _ in 0..if keep { length } else { 1 } {
            part.push(job, src, dst, length as f32);
        }
    }
}

/// The weight of each record, if there are so many that their cache misses had better overlap
/// in a loop of their own; empty otherwise.
fn gathered<W: Word>(job: &Job<'_>, start: usize, words: &[W], bits: u32) -> Vec<f32> {
    match job.weight {
        Some(weight) if words.len() >= GATHER_FROM => {
            words.iter().map(|word| weight[start + word.position(bits)]).collect()
        }
        _ => Vec::new(),
    }
}
