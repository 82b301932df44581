//! Negatives drawn on demand, by event.

use zoetrope_graph::random::Random;
use zoetrope_graph::{EventStore, VertexId};

use super::draw::Order;
use super::pool::{destinations, distinct_pairs, of_source, without};
use super::positives::{Positives, pair_key};
use super::{MISSING, NegativeOptions, Strategy};
use crate::error::DataError;
use crate::split::{Part, Split};

const STREAM_EDGES: u32 = 0x2001;
const STREAM_DESTINATIONS: u32 = 0x2002;

/// Draws of one event are numbered from `event << DRAW_BITS`.
const DRAW_BITS: u32 = 24;

/// An edge that did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Negative {
    /// Where it would start.
    pub src: VertexId,
    /// The destination of the pair; [`MISSING`] if there was nothing left to draw.
    pub dst: VertexId,
}

/// What could not be drawn as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Negatives filled up with random destinations because the pool was exhausted.
    pub fallback: u64,
    /// Negatives that are [`MISSING`].
    pub missing: u64,
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { fallback: self.fallback + other.fallback, missing: self.missing + other.missing }
    }
}

/// Draws negatives for the events of one part.
pub struct NegativeSampler<'a> {
    store: &'a EventStore,
    options: NegativeOptions,
    destinations: Destinations,
    /// Historical, inductive and mixed: the edges to draw from, sorted.
    pairs: Vec<u64>,
    positives: Option<Positives<'a>>,
}

enum Destinations {
    All(u32),
    Listed(Vec<VertexId>),
}

impl Destinations {
    fn len(&self) -> u64 {
        match self {
            Self::All(count) => u64::from(*count),
            Self::Listed(vertices) => vertices.len() as u64,
        }
    }

    fn get(&self, place: u64) -> VertexId {
        match self {
            Self::All(_) => place as VertexId,
            Self::Listed(vertices) => vertices[place as usize],
        }
    }
}

impl<'a> NegativeSampler<'a> {
    /// Prepares the pools for the events of a part.
    ///
    /// # Errors
    /// [`DataError::BadParameter`] if the number per event is out of range, or inductive
    /// negatives are asked for the training part (there are none by definition).
    pub fn new(
        store: &'a EventStore,
        split: &Split,
        part: Part,
        options: NegativeOptions,
    ) -> Result<Self, DataError> {
        options.check()?;
        let strategy = options.strategy;
        if strategy == Strategy::Inductive && part == Part::Train {
            return Err(DataError::BadParameter {
                parameter: "negatives".into(),
                value: "inductive, for training".into(),
                expected: "another strategy: inductive edges are those that training lacks".into(),
            });
        }
        let known = || distinct_pairs(store, split.train.clone());
        let pairs = match strategy {
            Strategy::Random | Strategy::All => Vec::new(),
            Strategy::Historical | Strategy::Mixed => known(),
            Strategy::Inductive => without(distinct_pairs(store, split.part(part)), &known()),
        };
        let destinations = match strategy {
            Strategy::All => Destinations::All(store.vertices()),
            _ => {
                // Validation chooses the weights, so it must not know who appears in the test part.
                let seen = match part {
                    Part::Train => split.train.clone(),
                    Part::Validation => 0..split.validation.end,
                    Part::Test => 0..store.len(),
                };
                Destinations::Listed(destinations(store, seen))
            }
        };
        let avoid = options.avoid_positives || strategy.draws_sources();
        let positives = avoid.then(|| Positives::new(store, split.part(part)));
        Ok(Self { store, options, destinations, pairs, positives })
    }

    /// Draws the negatives of an event in an epoch into `negatives`, which differ from each
    /// other as long as there are enough.
    ///
    /// # Panics
    /// If the part has no such event.
    pub fn draw(&self, epoch: u32, event: usize, negatives: &mut [Negative]) -> Tally {
        let (src, dst) = (self.store.src()[event], self.store.dst()[event]);
        let beside = self.positives.as_ref().map(|positives| positives.beside(event));
        let happens = |key: u64| beside.is_some_and(|edges| edges.contains(key));
        let stream = |stream| Random::new(self.options.seed, stream).at_step(epoch);
        let first = (event as u64) << DRAW_BITS;
        let (pool, wanted) = match self.options.strategy {
            Strategy::Random | Strategy::All => (&[][..], 0),
            Strategy::Historical | Strategy::Inductive => (&self.pairs[..], negatives.len()),
            Strategy::Mixed => (of_source(&self.pairs, src), negatives.len() / 2),
        };
        let mut filled = 0;
        let places = Order::new(stream(STREAM_EDGES), first, pool.len() as u64, wanted);
        for key in places.map(|place| pool[place as usize]).filter(|&key| !happens(key)) {
            if filled == wanted {
                break;
            }
            negatives[filled] = Negative { src: (key >> 32) as u32, dst: key as u32 };
            filled += 1;
        }
        let mut tally = Tally { fallback: (wanted - filled) as u64, missing: 0 };
        let same_source = negatives[..filled].iter().filter(|negative| negative.src == src);
        let mut drawn: Vec<VertexId> = same_source.map(|negative| negative.dst).collect();
        drawn.sort_unstable();
        let (size, missing) = (self.destinations.len(), negatives.len() - filled);
        let places = Order::new(stream(STREAM_DESTINATIONS), first, size, missing);
        let others = places
            .map(|place| self.destinations.get(place))
            .filter(|other| !happens(pair_key(src, *other)) && drawn.binary_search(other).is_err());
        let rest: Vec<VertexId> = others.take(missing).collect();
        debug_assert!(beside.is_none() || !rest.contains(&dst));
        tally.missing = (missing - rest.len()) as u64;
        tally.fallback = tally.fallback.saturating_sub(tally.missing);
        let rest = rest.into_iter().chain(std::iter::repeat(MISSING));
        for (place, dst) in (filled..negatives.len()).zip(rest) {
            negatives[place] = Negative { src, dst };
        }
        tally
    }
}
