//! The answers at the events of a part, batch by batch, in the accumulator of the task.

use std::ops::Range;

use zoetrope_run::Metrics;

use super::judge::{ClassJudge, LinkJudge, ScoredBatch, ValueJudge};
use super::material::EventInput;
use super::prepare::Prepared;
use super::target::Target;

/// Collects answers and says what they amount to.
#[derive(Debug)]
pub(super) enum PartJudge {
    /// Of links.
    Links(Box<Links>),
    /// Of classes.
    Classes(ClassJudge),
    /// Of numbers.
    Values(ValueJudge),
}

/// Links, with the answers of the batch that is not finished yet.
#[derive(Debug)]
pub(super) struct Links {
    judge: LinkJudge,
    positives: Vec<f32>,
    negatives: Vec<f32>,
    few_dst: Vec<u32>,
    inductive: Vec<bool>,
}

impl PartJudge {
    /// Nothing is collected yet.
    pub(super) fn new(target: &Target, hits: u32) -> Self {
        match target {
            Target::Links => Self::Links(Box::new(Links {
                judge: LinkJudge::new(&[1, 3, 10, hits]),
                positives: Vec::new(),
                negatives: Vec::new(),
                few_dst: Vec::new(),
                inductive: Vec::new(),
            })),
            Target::Classes { classes, .. } => Self::Classes(ClassJudge::new(*classes)),
            Target::Values { .. } => Self::Values(ValueJudge::default()),
        }
    }

    /// Adds the answers about some events.
    pub(super) fn add(
        &mut self,
        material: &EventInput,
        events: Range<usize>,
        prepared: &Prepared,
        answers: &[f32],
    ) {
        let links = match self {
            Self::Classes(judge) => return judge.add(answers, &prepared.labels),
            Self::Values(judge) => return judge.add(answers, &prepared.labels),
            Self::Links(links) => links,
        };
        let (positives, rest) = answers.split_at(prepared.positives);
        let (few, many) = rest.split_at(prepared.negatives);
        let first = links.inductive.len();
        links.inductive.extend(events.map(|event| material.is_inductive(event)));
        links.positives.extend_from_slice(positives);
        links.negatives.extend_from_slice(few);
        links.few_dst.extend_from_slice(&prepared.few_dst);
        if !many.is_empty() {
            links.judge.add_ranks(ScoredBatch {
                positives,
                negatives: many,
                negative_dst: &prepared.many_dst,
                inductive: &links.inductive[first..],
            });
        }
    }

    /// What was added since the last end is one batch.
    pub(super) fn end_batch(&mut self) {
        let Self::Links(links) = self else { return };
        links.judge.add_batch(ScoredBatch {
            positives: &links.positives,
            negatives: &links.negatives,
            negative_dst: &links.few_dst,
            inductive: &links.inductive,
        });
        links.positives.clear();
        links.negatives.clear();
        links.few_dst.clear();
        links.inductive.clear();
    }

    /// All measures by name.
    pub(super) fn metrics(&mut self) -> Metrics {
        match self {
            Self::Links(links) => links.judge.metrics(),
            Self::Classes(judge) => judge.metrics(),
            Self::Values(judge) => judge.metrics(),
        }
    }
}
