//! Link prediction on events: one negative against each event, and many.
//!
//! The average precision of the peers is the mean over batches of each batch's, which changes with
//! the size of the batches; pooled over all events it does not. Both are reported. An event is
//! inductive if training has not seen one of its ends, transductive otherwise.

use zoetrope_data::negatives::MISSING;
use zoetrope_graph::VertexId;
use zoetrope_nn::metrics::{BinaryScores, Ranking, TieRule, Undefined};
use zoetrope_run::Metrics;

/// The scores of some consecutive events and of their negatives.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScoredBatch<'a> {
    /// A score for each event.
    pub positives: &'a [f32],
    /// As many scores for each event as it has negatives, event by event.
    pub negatives: &'a [f32],
    /// The destinations of the negatives, [`MISSING`] if there was nothing left to draw (its
    /// score is not looked at); empty if none is missing.
    pub negative_dst: &'a [VertexId],
    /// For each event whether training has not seen one of its ends; empty if that is not asked.
    pub inductive: &'a [bool],
}

impl ScoredBatch<'_> {
    /// # Panics
    /// If the slices do not belong together.
    fn width(&self) -> usize {
        let events = self.positives.len();
        let width = self.negatives.len() / events.max(1);
        assert_eq!(self.negatives.len(), width * events, "negatives for each event");
        let fits = |length: usize, all: usize| length == 0 || length == all;
        assert!(fits(self.negative_dst.len(), self.negatives.len()), "destinations of negatives");
        assert!(fits(self.inductive.len(), events), "marks of inductive events");
        width
    }

    fn is_missing(&self, place: usize) -> bool {
        self.negative_dst.get(place) == Some(&MISSING)
    }
}

/// Scores and ranks of one kind of events.
#[derive(Debug, Clone)]
struct Kind {
    pairs: BinaryScores,
    ranks: Ranking,
}

impl Kind {
    fn new(places: &[u32]) -> Self {
        Self { pairs: BinaryScores::default(), ranks: Ranking::new(TieRule::Average, places) }
    }

    fn clear(&mut self) {
        self.pairs.clear();
        self.ranks.clear();
    }
}

/// AP and AUC of events against few negatives, MRR and hits@k against many. The memory is reused.
///
/// ```
/// # use zoetrope_train::events::judge::{LinkJudge, ScoredBatch};
/// let mut judge = LinkJudge::new(&[10]);
/// let batch = ScoredBatch { positives: &[2.0, 1.0], negatives: &[0.5, 1.5], ..ScoredBatch::default() };
/// judge.add_batch(batch);
/// judge.add_ranks(batch);
/// let metrics = judge.metrics();
/// assert_eq!((metrics["auc"], metrics["mrr"]), (0.75, 0.75));
/// ```
#[derive(Debug, Clone)]
pub struct LinkJudge {
    places: Vec<u32>,
    /// Whatever the kind; AP and AUC of it are those of the two kinds together.
    all: Kind,
    inductive: Kind,
    transductive: Kind,
    /// Memory for one batch.
    batch: BinaryScores,
    batch_ap: Mean,
    batch_auc: Mean,
    asked: Asked,
}

/// What was asked since the last [`LinkJudge::begin`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Asked {
    pairs: bool,
    ranks: bool,
    kinds: bool,
    events: u64,
    inductive_events: u64,
    missing: u64,
}

impl LinkJudge {
    /// Counts hits@k for each k of `places`. Equal scores share their mean rank, as in TGB.
    pub fn new(places: &[u32]) -> Self {
        let mut places = places.to_vec();
        places.sort_unstable();
        places.dedup();
        let kind = Kind::new(&places);
        Self {
            places,
            all: kind.clone(),
            inductive: kind.clone(),
            transductive: kind,
            batch: BinaryScores::default(),
            batch_ap: Mean::default(),
            batch_auc: Mean::default(),
            asked: Asked::default(),
        }
    }

    /// Forgets all scores and keeps the memory.
    pub fn begin(&mut self) {
        self.all.clear();
        self.inductive.clear();
        self.transductive.clear();
        (self.batch_ap, self.batch_auc) = (Mean::default(), Mean::default());
        self.asked = Asked::default();
    }

    /// Adds a batch of events with few negatives (one, as a rule) for AP and AUC. What is added
    /// together is one batch of the per-batch means.
    ///
    /// # Panics
    /// If the slices of the batch do not belong together.
    pub fn add_batch(&mut self, scored: ScoredBatch<'_>) {
        let width = scored.width();
        self.batch.clear();
        self.asked.pairs = true;
        self.asked.events += scored.positives.len() as u64;
        self.asked.kinds |= !scored.inductive.is_empty();
        for (event, positive) in scored.positives.iter().enumerate() {
            let inductive = scored.inductive.get(event);
            self.asked.inductive_events += u64::from(inductive == Some(&true));
            let kind = match inductive {
                Some(true) => Some(&mut self.inductive.pairs),
                Some(false) => Some(&mut self.transductive.pairs),
                None => None,
            };
            let mut goals = [Some(&mut self.all.pairs), Some(&mut self.batch), kind];
            let mut add = |score: f32, label: f32| {
                for pairs in goals.iter_mut().flatten() {
                    pairs.add(&[score], &[label]);
                }
            };
            add(*positive, 1.0);
            for place in event * width..(event + 1) * width {
                if scored.is_missing(place) {
                    self.asked.missing += 1
                } else {
                    add(scored.negatives[place], 0.0)
                }
            }
        }
        self.batch_ap.add(self.batch.average_precision());
        self.batch_auc.add(self.batch.auc());
    }

    /// Adds events with many negatives for MRR and hits@k.
    ///
    /// # Panics
    /// If the slices of the batch do not belong together.
    pub fn add_ranks(&mut self, scored: ScoredBatch<'_>) {
        let width = scored.width();
        self.asked.ranks = true;
        self.asked.kinds |= !scored.inductive.is_empty();
        let mut present = Vec::new();
        for (event, &positive) in scored.positives.iter().enumerate() {
            let places = event * width..(event + 1) * width;
            let mut row = &scored.negatives[places.clone()];
            if places.clone().any(|place| scored.is_missing(place)) {
                present.clear();
                let there = places.filter(|&place| !scored.is_missing(place));
                present.extend(there.map(|place| scored.negatives[place]));
                self.asked.missing += (width - present.len()) as u64;
                row = &present;
            }
            self.all.ranks.add(positive, row);
            match scored.inductive.get(event) {
                Some(true) => self.inductive.ranks.add(positive, row),
                Some(false) => self.transductive.ranks.add(positive, row),
                None => {}
            }
        }
    }

    /// All measures that were asked for, by name; NaN if one is not defined.
    pub fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        let asked = self.asked;
        let mut put = |name: String, value: Result<f64, Undefined>| {
            metrics.insert(name, value.unwrap_or(f64::NAN));
        };
        let kinds = [
            ("", &mut self.all),
            ("inductive_", &mut self.inductive),
            ("transductive_", &mut self.transductive),
        ];
        for (prefix, kind) in kinds {
            if !prefix.is_empty() && !asked.kinds {
                continue;
            }
            if asked.pairs {
                put(format!("{prefix}ap"), kind.pairs.average_precision());
                put(format!("{prefix}auc"), kind.pairs.auc());
            }
            if asked.ranks {
                put(format!("{prefix}mrr"), kind.ranks.mrr());
                for &place in &self.places {
                    put(format!("{prefix}hits@{place}"), kind.ranks.hits_at(place));
                }
            }
        }
        if asked.pairs {
            put("ap_batch_mean".into(), self.batch_ap.value());
            put("auc_batch_mean".into(), self.batch_auc.value());
        }
        metrics
    }

    /// How many events were judged and ranked, how many of them are inductive, and how many
    /// negatives were missing: for reports.
    pub fn counts(&self) -> serde_json::Value {
        serde_json::json!({
            "events": self.asked.events,
            "events_ranked": self.all.ranks.observations(),
            "events_without_negatives": self.all.ranks.without_negatives(),
            "inductive_events": self.asked.inductive_events,
            "missing_negatives": self.asked.missing,
        })
    }
}

/// The mean of what is defined; one that no batch defines is undefined.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
    failure: Option<Undefined>,
}

impl Mean {
    fn add(&mut self, value: Result<f64, Undefined>) {
        match value {
            Ok(value) => {
                self.sum += value;
                self.count += 1;
            }
            // A score that is no number spoils the mean; a batch without negatives does not.
            Err(failure @ Undefined::NotFinite { .. }) => self.failure = Some(failure),
            Err(_) => {}
        }
    }

    fn value(self) -> Result<f64, Undefined> {
        match (self.failure, self.count) {
            (Some(failure), _) => Err(failure),
            (None, 0) => Err(Undefined::NoObservations),
            (None, count) => Ok(self.sum / count as f64),
        }
    }
}
