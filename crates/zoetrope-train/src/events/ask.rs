//! The questions of a batch, by task: which pairs or vertices are asked about, and what is right.

use std::sync::Arc;

use zoetrope_data::negatives::{MISSING, Negative, NegativeList, NegativeSampler};

use super::material::EventInput;
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
    /// The negatives of an event, `count` of them or as many as the list has; some may be
    /// [`MISSING`].
    pub(super) fn fill(&self, event: usize, into: &mut Vec<Negative>, count: usize) {
        into.clear();
        match self {
            Self::Absent => {}
            Self::Drawn(sampler, epoch) => {
                into.resize(count, Negative::default());
                sampler.draw(*epoch, event, into);
            }
            Self::Listed(list, first) => into.extend(list.row(event - first)),
        }
    }
}

/// What is asked besides the events themselves.
pub(super) struct Asking<'a> {
    /// What is predicted.
    pub(super) target: &'a Target,
    /// Whether events are asked about of which nobody knows what is right: their labels are NaN.
    pub(super) unknown: bool,
    /// Pairs of one-versus-one, with how many for each event.
    pub(super) few: (Negatives<'a>, usize),
    /// Pairs of one-versus-many, with how many for each event.
    pub(super) many: (Negatives<'a>, usize),
    /// Whether the events join the batch, so that the state can absorb them.
    pub(super) absorb: bool,
    /// Whether each event keeps a full row of negatives, those that are missing among them.
    pub(super) full_rows: bool,
}

/// Puts events and their questions into a batch that was begun.
pub(super) fn fill(
    preparer: &mut Preparer<'_>,
    material: &EventInput,
    asking: &Asking<'_>,
    events: impl Iterator<Item = usize> + Clone,
    drawn: &mut Vec<Negative>,
    prepared: &mut Prepared,
) {
    let store = &material.store;
    for event in events.clone() {
        let [src, dst] = if asking.absorb {
            preparer.add_event(event, prepared)
        } else {
            let time = store.time()[event];
            [store.src()[event], store.dst()[event]]
                .map(|vertex| preparer.ask(vertex, time, Some(event)))
        };
        if !asking.unknown && !asking.target.knows(event) {
            continue;
        }
        match asking.target {
            Target::Links => push(prepared, src, dst, 1.0),
            Target::Values { values, .. } => {
                preparer.bring(event, prepared);
                push(prepared, src, dst, values[event]);
            }
            Target::Classes { labels, edges: true, .. } => {
                preparer.bring(event, prepared);
                push(prepared, src, dst, labels[event]);
            }
            Target::Classes { labels, edges: false, .. } => {
                preparer.bring(event, prepared);
                Arc::make_mut(&mut prepared.rows).push(src);
                prepared.labels.push(labels[event]);
            }
        }
    }
    prepared.positives = prepared.labels.len();
    if !matches!(asking.target, Target::Links) {
        return;
    }
    for event in events.clone() {
        asking.few.0.fill(event, drawn, asking.few.1);
        ask_all(preparer, material, event, drawn, asking.full_rows, prepared);
        prepared.few_dst.extend(drawn.iter().map(|negative| negative.dst));
    }
    prepared.negatives = prepared.labels.len() - prepared.positives;
    if matches!(asking.many.0, Negatives::Absent) {
        return;
    }
    for event in events {
        asking.many.0.fill(event, drawn, asking.many.1);
        ask_all(preparer, material, event, drawn, asking.full_rows, prepared);
        prepared.many_dst.extend(drawn.iter().map(|negative| negative.dst));
    }
}

/// Asks about pairs that did not happen at the time of an event.
fn ask_all(
    preparer: &mut Preparer<'_>,
    material: &EventInput,
    event: usize,
    negatives: &[Negative],
    full_rows: bool,
    prepared: &mut Prepared,
) {
    let time = material.store.time()[event];
    for negative in negatives {
        // A pair that is missing keeps its place in the row; nobody looks at its answer.
        let dst = match (negative.dst, full_rows) {
            (MISSING, false) => continue,
            (MISSING, true) => material.store.dst()[event],
            (dst, _) => dst,
        };
        let src = preparer.ask(negative.src, time, Some(event));
        let dst = preparer.ask(dst, time, Some(event));
        push(prepared, src, dst, 0.0);
    }
}

fn push(prepared: &mut Prepared, src: u32, dst: u32, label: f32) {
    Arc::make_mut(&mut prepared.ends.src).push(src);
    Arc::make_mut(&mut prepared.ends.dst).push(dst);
    prepared.labels.push(label);
}
