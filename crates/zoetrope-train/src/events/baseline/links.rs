//! The link measures of the baselines, batch by batch beside the model.

use std::collections::BTreeMap;
use std::ops::Range;

use zoetrope_config::EqualTimesRule;
use zoetrope_data::negatives::{MISSING, Negative};
use zoetrope_graph::{EventStore, Time, VertexId};
use zoetrope_run::Metrics;

use super::past::{Past, SCORES};
use crate::events::judge::{LinkJudge, ScoredBatch};

/// How baselines are asked.
#[derive(Debug, Clone, Copy)]
pub struct LinkBaselineOptions<'a> {
    /// How far windows reach back; [`Past::duration`] of the judged part.
    pub window: Time,
    /// What events at the very time of a question are to it.
    pub equal_times: EqualTimesRule,
    /// The k of hits@k.
    pub places: &'a [u32],
    /// By vertex whether training has not seen it; empty if inductive events are not told apart.
    pub unseen: &'a [bool],
}

/// All baselines of link prediction at once.
#[derive(Debug, Clone)]
pub struct LinkBaselines<'a> {
    store: &'a EventStore,
    past: Past<'a>,
    unseen: &'a [bool],
    judges: [LinkJudge; SCORES.len()],
    few: Scored,
    many: Scored,
    inductive: Vec<bool>,
}

/// Scores of a batch by each baseline; only memory.
#[derive(Debug, Clone, Default)]
struct Scored {
    positives: [Vec<f32>; SCORES.len()],
    negatives: [Vec<f32>; SCORES.len()],
    dst: Vec<VertexId>,
}

impl Scored {
    fn clear(&mut self, negatives: &[Negative]) {
        self.positives.iter_mut().chain(&mut self.negatives).for_each(Vec::clear);
        self.dst.clear();
        self.dst.extend(negatives.iter().map(|negative| negative.dst));
    }

    fn of<'s>(&'s self, baseline: usize, inductive: &'s [bool]) -> ScoredBatch<'s> {
        ScoredBatch {
            positives: &self.positives[baseline],
            negatives: &self.negatives[baseline],
            negative_dst: &self.dst,
            inductive,
        }
    }
}

impl<'a> LinkBaselines<'a> {
    /// Nothing was told and nothing judged.
    pub fn new(store: &'a EventStore, options: LinkBaselineOptions<'a>) -> Self {
        let judge = LinkJudge::new(options.places);
        Self {
            store,
            past: Past::new(store, options.window, options.equal_times),
            unseen: options.unseen,
            judges: std::array::from_fn(|_| judge.clone()),
            few: Scored::default(),
            many: Scored::default(),
            inductive: Vec::new(),
        }
    }

    /// Judges a batch of events: against `few` negatives for AP and AUC, among `many` for MRR and
    /// hits@k. Both have as many for each event, event by event; either may be empty. Batches come
    /// in the order of the stream.
    ///
    /// # Panics
    /// If negatives do not make a full row for each event, or a batch comes too late.
    pub fn judge(&mut self, events: Range<usize>, few: &[Negative], many: &[Negative]) {
        self.few.clear(few);
        self.many.clear(many);
        self.inductive.clear();
        let rows = events.len().max(1);
        let (few_width, many_width) = (few.len() / rows, many.len() / rows);
        for (row, event) in events.clone().enumerate() {
            let (src, dst) = (self.store.src()[event], self.store.dst()[event]);
            let time = self.store.time()[event];
            self.past.advance(event);
            let positive = self.past.scores(src, dst, time);
            if !self.unseen.is_empty() {
                self.inductive.push(self.unseen[src as usize] || self.unseen[dst as usize]);
            }
            let parts = [(&mut self.few, few, few_width), (&mut self.many, many, many_width)];
            for (scored, negatives, width) in parts {
                put(&mut scored.positives, positive);
                for negative in &negatives[row * width..(row + 1) * width] {
                    let scores = match negative.dst {
                        MISSING => [0.0; SCORES.len()],
                        dst => self.past.scores(negative.src, dst, time),
                    };
                    put(&mut scored.negatives, scores);
                }
            }
        }
        for (baseline, judge) in self.judges.iter_mut().enumerate() {
            if !few.is_empty() {
                judge.add_batch(self.few.of(baseline, &self.inductive));
            }
            if !many.is_empty() {
                judge.add_ranks(self.many.of(baseline, &self.inductive));
            }
        }
    }

    /// The measures of each baseline by name.
    pub fn metrics(&mut self) -> BTreeMap<String, Metrics> {
        let names = SCORES.iter().map(|name| (*name).to_owned());
        names.zip(self.judges.iter_mut().map(LinkJudge::metrics)).collect()
    }
}

fn put(columns: &mut [Vec<f32>; SCORES.len()], scores: [f32; SCORES.len()]) {
    for (column, score) in columns.iter_mut().zip(scores) {
        column.push(score);
    }
}
