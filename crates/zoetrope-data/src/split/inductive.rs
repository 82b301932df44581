//! Vertices held out of training, to measure what a model does with vertices it has not seen.

use zoetrope_graph::random::Random;
use zoetrope_graph::{EventStore, VertexId};

use super::Split;
use crate::error::DataError;

const STREAM_HELD_OUT: u32 = 0x1001;

/// How many ends of an event are unseen in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Novelty {
    /// Both ends were seen.
    OldOld,
    /// One end was not seen.
    NewOld,
    /// Neither end was seen.
    NewNew,
}

/// A chronological split whose training part avoids a set of vertices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InductiveSplit {
    /// The chronological split underneath.
    pub split: Split,
    /// The vertices chosen to be held out, ascending.
    pub held_out: Vec<VertexId>,
    /// The training events that are left, ascending.
    pub train: Vec<usize>,
    /// By vertex: whether no event in [`train`](Self::train) touches it. This is every vertex
    /// held out and every one that first appears later.
    pub unseen: Vec<bool>,
}

impl InductiveSplit {
    /// Holds out `⌊fraction × vertices that occur⌋` vertices, drawn evenly from those with an
    /// event after training ends (all of these if there are fewer), and removes the training
    /// events that touch them; the protocol of TGN and DyGLib (fraction 0.1).
    ///
    /// # Errors
    /// [`DataError::BadParameter`] if `fraction` is outside 0 to 1.
    pub fn new(
        store: &EventStore,
        split: Split,
        fraction: f64,
        seed: u64,
    ) -> Result<Self, DataError> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(DataError::BadParameter {
                parameter: "held-out fraction".into(),
                value: fraction.to_string(),
                expected: "a number from 0 to 1".into(),
            });
        }
        let occurring = touched(store, 0..store.len());
        let later = touched(store, split.validation.start..split.test.end);
        let total = occurring.iter().filter(|&&occurs| occurs).count();
        let held_out = draw(&later, (fraction * total as f64) as usize, seed);
        Ok(Self::holding_out(store, split, held_out))
    }

    /// Holds these vertices out, ascending, and removes the training events that touch them.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    pub fn holding_out(store: &EventStore, split: Split, held_out: Vec<VertexId>) -> Self {
        let mut hidden = vec![false; store.vertices() as usize];
        for &vertex in &held_out {
            hidden[vertex as usize] = true;
        }
        let (src, dst) = (store.src(), store.dst());
        let kept = |&event: &usize| !hidden[src[event] as usize] && !hidden[dst[event] as usize];
        let train: Vec<usize> = split.train.clone().filter(kept).collect();
        let mut unseen = touched(store, train.iter().copied());
        for seen in &mut unseen {
            *seen = !*seen;
        }
        Self { split, held_out, train, unseen }
    }

    /// How new an event between two vertices is.
    ///
    /// # Panics
    /// If the graph has no such vertex.
    pub fn novelty(&self, src: VertexId, dst: VertexId) -> Novelty {
        match (self.unseen[src as usize], self.unseen[dst as usize]) {
            (false, false) => Novelty::OldOld,
            (true, true) => Novelty::NewNew,
            _ => Novelty::NewOld,
        }
    }

    /// For each event of `events`, whether its novelty is accepted: the mask for inductive
    /// (`|n| n != OldOld`), new-old and new-new evaluation (as BenchTemp names them).
    ///
    /// # Panics
    /// If the store has no such events.
    pub fn mask(
        &self,
        store: &EventStore,
        events: std::ops::Range<usize>,
        accept: impl Fn(Novelty) -> bool,
    ) -> Vec<bool> {
        let ends = store.src()[events.clone()].iter().zip(&store.dst()[events]);
        ends.map(|(&src, &dst)| accept(self.novelty(src, dst))).collect()
    }
}

/// By vertex: whether one of the events touches it.
fn touched(store: &EventStore, events: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut touched = vec![false; store.vertices() as usize];
    for event in events {
        touched[store.src()[event] as usize] = true;
        touched[store.dst()[event] as usize] = true;
    }
    touched
}

/// At most `count` of the marked vertices: those with the lowest lots, so that the choice
/// depends on the seed and the vertex alone.
fn draw(marked: &[bool], count: usize, seed: u64) -> Vec<VertexId> {
    let random = Random::new(seed, STREAM_HELD_OUT);
    let mut lots: Vec<(u64, VertexId)> = (0u32..)
        .zip(marked)
        .filter(|(_, marked)| **marked)
        .map(|(vertex, _)| (random.u64(u64::from(vertex)), vertex))
        .collect();
    lots.sort_unstable();
    let mut chosen: Vec<VertexId> = lots.into_iter().take(count).map(|(_, v)| v).collect();
    chosen.sort_unstable();
    chosen
}
