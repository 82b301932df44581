//! The questions of a batch, by task: which pairs or vertices are asked about, and what is right.

use std::sync::Arc;

use zoetrope_data::negatives::{MISSING, Negative, NegativeList, NegativeSampler};

use super::material::StreamMaterial;
use super::prepare::{Prepared, Preparer};
use super::target::Target;

/// Where the pairs that did not happen come from.
pub(super) enum Negatives<'a> {
    /// None are asked about.
    Absent,
    /// Drawn anew in each epoch, or the same each time for evaluation.
    Drawn(&'a NegativeSampler<'a>, u32),
    /// From a file; the first event of the list is the event of that number in the stream.
    Listed(&'a NegativeList, usize),
}

impl Negatives<'_> {
    /// The negatives of an event into `into`, whose length says how many.
    fn fill(&self, event: usize, into: &mut Vec<Negative>, count: usize) {
        into.clear();
        match self {
            Self::Absent => {}
            Self::Drawn(sampler, epoch) => {
                into.resize(count, Negative::default());
                sampler.draw(*epoch, event, into);
            }
            Self::Listed(list, first) => {
                let (row, wide) = (event - first, list.metadata.per_event);
                let cells = row * wide..(row + 1) * wide;
                let src = list.src[row];
                let sources = list.sources.as_ref();
                into.extend(cells.map(|cell| Negative {
                    src: sources.map_or(src, |sources| sources[cell]),
                    dst: list.negatives[cell],
                }));
            }
        }
        into.retain(|negative| negative.dst != MISSING);
    }
}

/// What is asked besides the events themselves.
pub(super) struct Asking<'a> {
    /// What is predicted.
    pub(super) target: &'a Target,
    /// Pairs of one-versus-one, with how many for each event.
    pub(super) few: (Negatives<'a>, usize),
    /// Pairs of one-versus-many, with how many for each event.
    pub(super) many: (Negatives<'a>, usize),
    /// Whether the events join the batch, so that the state can absorb them.
    pub(super) absorb: bool,
}

/// Puts events and their questions into a batch that was begun.
pub(super) fn fill(
    preparer: &mut Preparer<'_>,
    material: &StreamMaterial,
    asking: &Asking<'_>,
    events: impl Iterator<Item = usize> + Clone,
    drawn: &mut Vec<Negative>,
    prepared: &mut Prepared,
) {
    let store = &material.store;
    for event in events.clone() {
        let [src, dst] = match asking.absorb {
            true => preparer.add_event(event, prepared),
            false => {
                let time = store.time()[event];
                [store.src()[event], store.dst()[event]]
                    .map(|vertex| preparer.ask(vertex, time, Some(event)))
            }
        };
        match asking.target {
            Target::Links => push(prepared, src, dst, 1.0),
            Target::Values { values } => push(prepared, src, dst, values[event]),
            Target::Classes { labels, edges: true, .. } => push(prepared, src, dst, labels[event]),
            Target::Classes { labels, edges: false, .. } => {
                Arc::make_mut(&mut prepared.rows).push(src);
                prepared.labels.push(labels[event]);
            }
        }
    }
    prepared.positives = prepared.labels.len();
    if !matches!(asking.target, Target::Links) {
        return;
    }
    let mut ask = |preparer: &mut Preparer<'_>, prepared: &mut Prepared, event: usize, from: &(Negatives<'_>, usize)| {
        from.0.fill(event, drawn, from.1);
        let (time, source) = (store.time()[event], store.src()[event]);
        for negative in drawn.iter() {
            debug_assert!(negative.src == source || negative.dst != MISSING);
            let src = preparer.ask(negative.src, time, Some(event));
            let dst = preparer.ask(negative.dst, time, Some(event));
            push(prepared, src, dst, 0.0);
        }
    };
    for event in events.clone() {
        ask(preparer, prepared, event, &asking.few);
    }
    prepared.negatives = prepared.labels.len() - prepared.positives;
    prepared.candidates.push(0);
    if matches!(asking.many.0, Negatives::Absent) {
        return;
    }
    let first = prepared.labels.len();
    for event in events {
        ask(preparer, prepared, event, &asking.many);
        prepared.candidates.push((prepared.labels.len() - first) as u32);
    }
}

fn push(prepared: &mut Prepared, src: u32, dst: u32, label: f32) {
    Arc::make_mut(&mut prepared.ends.src).push(src);
    Arc::make_mut(&mut prepared.ends.dst).push(dst);
    prepared.labels.push(label);
}
