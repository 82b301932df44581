//! The baselines of a part, judged on the very pairs that the model is judged on.

use std::collections::BTreeMap;
use std::ops::Range;

use zoetrope_data::negatives::{Negative, NegativeSampler};
use zoetrope_data::split::Part;
use zoetrope_run::Metrics;

use super::ask::Negatives;
use super::baseline::{
    LabelStream, LinkBaselineOptions, LinkBaselines, Past, compare_classes, compare_values,
};
use super::schedule::Batch;
use super::session::EventSession;
use super::target::Target;
use crate::error::TrainError;
use crate::training_run::Baselines;

/// Draws of evaluation are those of no epoch.
pub(super) const EVALUATION: u32 = 0;

impl Baselines for EventSession {
    fn baselines(&mut self, part: Part) -> Result<BTreeMap<String, Metrics>, TrainError> {
        let (store, split) = (&self.material.store, &self.material.split);
        let asked = split.part(part);
        let (training, equal_times) = (split.train.clone(), self.config.task.equal_times);
        let pair =
            |event: usize| u64::from(store.src()[event]) << 32 | u64::from(store.dst()[event]);
        match &*self.target {
            Target::Links => self.compare_links(part, asked),
            Target::Classes { labels, classes, edges } => {
                let key: Vec<u64> = if *edges {
                    (0..store.len()).map(pair).collect()
                } else {
                    store.src().iter().map(|&src| u64::from(src)).collect()
                };
                let stream =
                    LabelStream { time: store.time(), truth: labels, key: &key, equal_times };
                Ok(compare_classes(stream, training, asked, *classes))
            }
            Target::Values { values, .. } => {
                let key: Vec<u64> = (0..store.len()).map(pair).collect();
                let stream =
                    LabelStream { time: store.time(), truth: values, key: &key, equal_times };
                Ok(compare_values(stream, training, asked))
            }
        }
    }
}

impl EventSession {
    fn compare_links(
        &self,
        part: Part,
        asked: Range<usize>,
    ) -> Result<BTreeMap<String, Metrics>, TrainError> {
        let (store, split) = (&self.material.store, &self.material.split);
        let options = LinkBaselineOptions {
            window: Past::duration(store, asked.clone()),
            equal_times: self.config.task.equal_times,
            places: &[1, 3, 10, self.config.task.hits as u32],
            unseen: &self.material.unseen,
        };
        let mut baselines = LinkBaselines::new(store, options);
        let sampler =
            |count: usize| NegativeSampler::new(store, split, part, self.negative_options(count));
        let (few, many) = (self.config.task.negatives, self.config.task.candidates);
        let (first, second) = (sampler(few)?, sampler(many)?);
        let few_from = Negatives::Drawn(&first, EVALUATION);
        let many_from = match &self.fixed_negatives {
            Some((list, _)) if part != Part::Train => {
                Negatives::Listed(list, split.validation.start)
            }
            _ => Negatives::Drawn(&second, EVALUATION),
        };
        let (mut row, mut few_rows, mut many_rows) = (Vec::new(), Vec::new(), Vec::new());
        let batches = self.schedule.fixed(asked, |event| store.time()[event]);
        for batch in batches.iter().flat_map(Batch::steps) {
            let draw = |from: &Negatives<'_>, count, rows: &mut Vec<Negative>, row: &mut Vec<_>| {
                rows.clear();
                for event in batch.clone() {
                    from.fill(event, row, count);
                    rows.extend_from_slice(row);
                }
            };
            draw(&few_from, few, &mut few_rows, &mut row);
            draw(&many_from, many, &mut many_rows, &mut row);
            baselines.judge(batch, &few_rows, &many_rows);
        }
        Ok(baselines.metrics())
    }
}
