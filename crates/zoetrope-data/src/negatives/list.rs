//! Fixed negatives for validation and test, so that results compare.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zoetrope_graph::{EventStore, Time, VertexId};

use super::sampler::{Negative, NegativeSampler, Tally};
use super::{NegativeOptions, Strategy};
use crate::error::DataError;
use crate::progress::Progress;
use crate::split::{Part, Split};

/// How a list was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListMetadata {
    /// The version of this structure: 1.
    pub schema: u32,
    /// Where the negatives come from.
    pub strategy: Strategy,
    /// Negatives per event.
    pub per_event: usize,
    /// The seed.
    pub seed: u64,
    /// Whether edges that happen at the same time were left out.
    pub avoid_positives: bool,
    /// The vertices of the graph.
    pub vertices: u32,
    /// The first so many rows are of the validation part …
    pub validation_events: usize,
    /// … and so many after them of the test part.
    pub test_events: usize,
    /// Negatives filled up with random destinations because the pool was exhausted.
    pub fallback: u64,
    /// Negatives that are [`MISSING`](super::MISSING).
    pub missing: u64,
    /// What the list belongs to: see [`events_sha256`].
    pub events_sha256: String,
}

/// Fixed negatives: one row per event of the validation and then of the test part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegativeList {
    /// How it was made.
    pub metadata: ListMetadata,
    /// The source of each event.
    pub src: Vec<VertexId>,
    /// The destination of each event.
    pub dst: Vec<VertexId>,
    /// The time of each event.
    pub time: Vec<Time>,
    /// `events × per_event` destinations; [`MISSING`](super::MISSING) if there was none left.
    pub negatives: Vec<VertexId>,
    /// `events × per_event` sources, if they are not those of the events.
    pub sources: Option<Vec<VertexId>>,
}

impl NegativeList {
    /// Draws negatives for every event of the validation and test parts.
    ///
    /// # Errors
    /// [`DataError::BadParameter`] if the number per event is out of range or the list would
    /// not fit into memory.
    pub fn make(
        store: &EventStore,
        split: &Split,
        options: NegativeOptions,
        progress: &dyn Progress,
    ) -> Result<Self, DataError> {
        options.check()?;
        let events = split.validation.start..split.test.end;
        let arrays = if options.strategy.draws_sources() { 2.0 } else { 1.0 };
        let cells = events.len() as f64 * options.per_event as f64;
        let bytes = 4.0 * arrays * cells;
        zoetrope_heap::need("negatives", bytes as u64, "lower the number per event")?;
        progress.begin("drawing negatives", Some(events.len() as u64));
        let mut negatives = Vec::with_capacity(events.len() * options.per_event);
        let mut sources = options.strategy.draws_sources().then(Vec::new);
        let mut tally = Tally::default();
        for part in [Part::Validation, Part::Test] {
            let sampler = NegativeSampler::new(store, split, part, options)?;
            let drawn = draw_part(&sampler, split.part(part), options.per_event, progress);
            for (rows, counted) in drawn {
                negatives.extend(rows.iter().map(|negative| negative.dst));
                if let Some(sources) = &mut sources {
                    sources.extend(rows.iter().map(|negative| negative.src));
                }
                tally = tally + counted;
            }
        }
        let metadata = ListMetadata {
            schema: 1,
            strategy: options.strategy,
            per_event: options.per_event,
            seed: options.seed,
            avoid_positives: options.avoid_positives || options.strategy.draws_sources(),
            vertices: store.vertices(),
            validation_events: split.validation.len(),
            test_events: split.test.len(),
            fallback: tally.fallback,
            missing: tally.missing,
            events_sha256: events_sha256(store),
        };
        Ok(Self {
            metadata,
            src: store.src()[events.clone()].to_vec(),
            dst: store.dst()[events.clone()].to_vec(),
            time: store.time()[events].to_vec(),
            negatives,
            sources,
        })
    }

    /// The rows of a part; none for training.
    pub fn rows(&self, part: Part) -> Range<usize> {
        let (validation, all) = (self.metadata.validation_events, self.src.len());
        match part {
            Part::Train => 0..0,
            Part::Validation => 0..validation,
            Part::Test => validation..all,
        }
    }

    /// The negatives of a row.
    ///
    /// # Panics
    /// If the list has no such row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = Negative> + '_ {
        let width = self.metadata.per_event;
        let cells = row * width..(row + 1) * width;
        let sources = self.sources.as_ref().map(|sources| &sources[cells.clone()]);
        self.negatives[cells].iter().enumerate().map(move |(place, &dst)| Negative {
            src: sources.map_or(self.src[row], |sources| sources[place]),
            dst,
        })
    }

    /// Makes sure that the list was made for these events and this split.
    ///
    /// # Errors
    /// [`DataError::BadParameter`] that says what differs.
    pub fn check(&self, store: &EventStore, split: &Split) -> Result<(), DataError> {
        let differs = |what: &str, found: String, expected: String| DataError::BadParameter {
            parameter: format!("negative list, {what}"),
            value: found,
            expected: format!("{expected}: make a new list for this data"),
        };
        let meta = &self.metadata;
        if meta.vertices != store.vertices() {
            let (found, expected) = (meta.vertices.to_string(), store.vertices().to_string());
            return Err(differs("vertices", found, expected));
        }
        let sizes = [split.validation.len(), split.test.len()];
        let found = [meta.validation_events, meta.test_events];
        if found != sizes {
            return Err(differs("events", format!("{found:?}"), format!("{sizes:?}")));
        }
        let digest = events_sha256(store);
        if meta.events_sha256 != digest {
            return Err(differs("sha256 of the events", meta.events_sha256.clone(), digest));
        }
        Ok(())
    }
}

/// Negatives of events in order, in pieces that threads draw on their own.
fn draw_part(
    sampler: &NegativeSampler<'_>,
    events: Range<usize>,
    per_event: usize,
    progress: &dyn Progress,
) -> Vec<(Vec<Negative>, Tally)> {
    const PIECE: usize = 256;
    let pieces = events.len().div_ceil(PIECE);
    let piece = |piece: usize| {
        let start = events.start + piece * PIECE;
        let end = (start + PIECE).min(events.end);
        let mut rows = vec![Negative::default(); (end - start) * per_event];
        let mut tally = Tally::default();
        for (event, row) in (start..end).zip(rows.chunks_mut(per_event)) {
            tally = tally + sampler.draw(0, event, row);
        }
        progress.advance((end - start) as u64);
        (rows, tally)
    };
    (0..pieces).into_par_iter().map(piece).collect()
}

/// SHA-256 over the number of vertices (u32) and events (u64) and the columns source (u32),
/// destination (u32) and time (i64), all little-endian, as 64 hexadecimal digits.
pub fn events_sha256(store: &EventStore) -> String {
    let mut hash = Sha256::new();
    hash.update(store.vertices().to_le_bytes());
    hash.update((store.len() as u64).to_le_bytes());
    for column in [store.src(), store.dst()] {
        for piece in column.chunks(4096) {
            hash.update(piece.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
        }
    }
    for piece in store.time().chunks(4096) {
        hash.update(piece.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
