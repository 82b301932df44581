//! What the events of one edge amount to: the canonical order, and the merge.

use super::Merge;
use super::collect::Job;
use super::join::Part;
use super::sort::Word;
use crate::events::EventKind;

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
    part: &mut Part,
) {
    let mut additions = Additions::default();
    let keep = job.options.merge == Merge::Keep;
    let mut rest = words;
    while let Some(first) = rest.first() {
        let key = first.key(bits);
        let length = 1 + rest[1..].iter().take_while(|word| word.key(bits) == key).count();
        let (group, later) = rest.split_at(length);
        rest = later;
        let (src, dst) = (job.source(base + key), job.destination(base + key));
        if !job.positions() {
            let copies = if keep { length } else { 1 };
            (0..copies).for_each(|_| part.push(job, src, dst, length as f32));
            continue;
        }
        if let ([word], None, Some(weight)) = (group, job.kind, job.weight) {
            part.push(job, src, dst, weight[start + word.position(bits)]);
            continue;
        }
        additions.replay(job, start, group, bits);
        match (additions.weights.is_empty(), keep) {
            (true, _) => {}
            (false, false) => {
                part.push(job, src, dst, merged(job.options.merge, &additions.weights));
            }
            (false, true) => {
                additions.weights.iter().for_each(|&weight| part.push(job, src, dst, weight));
            }
        }
    }
}
