//! Which edges the next snapshot has.
//!
//! From the embeddings of snapshot `t` pairs of snapshot `t + 1` are scored. Training samples a
//! share θ of its edges and as many pairs that are no edges (ESDG §6.4), and accuracy is measured on
//! pairs drawn in the same manner. AP and AUC compare each edge with a few other destinations of
//! its source, MRR and hits@k rank it among many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use zoetrope_config::{Config, TaskConfig};
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::metrics::{BinaryScores, Classification, Metric, TieRule};
use zoetrope_nn::{Forward, StageKind};
use zoetrope_run::Metrics;
use zoetrope_tensor::{LinkRank, Loss, Var};

use super::baselines::{joined, named};
use super::edge_pairs::{PairCounts, StackedPairs};
use super::pair_head::PairHead;
use super::questions_ahead::{LinkQuestions, QuestionsAhead};
use super::results::put;
use super::staging::{DeviceStaging, Placed, StagedPairs};
use super::{Judge, Questions, Scores, Task};
use crate::error::TrainError;
use crate::snapshots::baseline::LinkRules;
use crate::snapshots::engine::Head;
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::sampling::{
    AllPairScores, Candidates, DrawKey, LinkCandidates, LinkSampler, LinkSampling, LinkScores,
    NegativeEnds, Pairs, StepMeasures,
};

/// How links are judged, the same for models and for baselines.
#[derive(Debug, Clone)]
pub(super) struct LinkJudge {
    /// Each edge against `task.negatives` pairs: AP and AUC.
    pub(super) few: LinkCandidates,
    /// Each edge among `task.candidates` pairs: MRR and hits@k.
    pub(super) many: LinkCandidates,
    /// ESDG's pairs: accuracy, and what training learns from.
    pub(super) sampler: LinkSampler,
    /// Empty results of the few.
    pub(super) few_scores: LinkScores,
    /// Empty results of the many.
    pub(super) many_scores: LinkScores,
    /// Each edge among all pairs, if that is asked for: EvolveGCN's measures, still empty.
    pub(super) all: Option<AllPairScores>,
}

impl LinkJudge {
    pub(super) fn new(config: &Config) -> Self {
        let sampling = LinkSampling {
            theta: config.task.theta,
            negatives: config.task.negatives,
            ends: NegativeEnds::Both,
            seed: config.train.seed,
        };
        let hits = config.task.hits as u32;
        let places: &[u32] = if hits == 1 { &[1] } else { &[1, hits] };
        Self {
            few: LinkCandidates::sampled(config.task.negatives, config.train.seed),
            many: LinkCandidates::sampled(config.task.candidates, config.train.seed),
            sampler: LinkSampler::new(sampling),
            few_scores: LinkScores::pairs_only(),
            many_scores: LinkScores::ranks_only(TieRule::Average, places),
            all: config.task.all_pairs.then(|| AllPairScores::new(TieRule::Average)),
        }
    }
}

/// The numbers of the questions that simple rules are asked.
const FEW: usize = 0;
pub(super) const MANY: usize = 1;

/// Whether a measure is taken from the few candidates; the others are taken from the many.
pub(super) fn is_of_few(metric: Metric) -> bool {
    matches!(metric, Metric::AveragePrecision | Metric::Auc | Metric::Accuracy)
}

/// Whether a measure is taken from all pairs and from nothing else.
pub(super) fn is_of_all(metric: Metric) -> bool {
    matches!(metric, Metric::MeanAp | Metric::RowMrr)
}

/// Binary cross-entropy of pairs of the next snapshot.
#[derive(Debug)]
pub struct LinkPrediction {
    sequence: Arc<SnapshotSequence>,
    /// Links of each snapshot, if they were counted: it need not be there to know how many pairs are drawn.
    links: Option<Arc<Vec<u64>>>,
    judge: LinkJudge,
    few: BinaryScores,
    many: LinkScores,
    /// Whether edges are ranked among the many.
    ranked: bool,
    all: Option<(LinkCandidates, AllPairScores)>,
    right: Classification,
    pairs: Pairs,
    candidates: Candidates,
    ahead: QuestionsAhead,
    /// The simple rules, if they are judged beside the model.
    rules: Option<LinkRules>,
    stacked: StackedPairs,
    staged: StagedPairs,
    counts: PairCounts,
    /// Labels of pairs that are counted; only memory.
    labels: Vec<f32>,
    config: TaskConfig,
}

impl LinkPrediction {
    /// The task of a data set.
    pub fn new(config: &Config, material: &SnapshotInput) -> Self {
        let judge = LinkJudge::new(config);
        Self {
            sequence: Arc::clone(&material.happened),
            links: material.links.clone(),
            few: BinaryScores::default(),
            many: judge.many_scores.clone(),
            ranked: true,
            all: judge.all.clone().map(|scores| (LinkCandidates::all(), scores)),
            right: Classification::new(2),
            pairs: Pairs::default(),
            candidates: Candidates::default(),
            ahead: QuestionsAhead::default(),
            rules: None,
            stacked: StackedPairs::default(),
            staged: StagedPairs::new(&material.happened, judge.sampler.sampling()),
            counts: PairCounts::default(),
            labels: Vec::new(),
            config: config.task.clone(),
            judge,
        }
    }

    /// Draws the pairs that training asks about.
    fn draw(&mut self, questions: &Questions) -> Result<(), TrainError> {
        let vertices = self.sequence.vertices() as usize;
        self.stacked.clear();
        for (at, step) in questions.steps.clone().enumerate() {
            let key = DrawKey::training(questions.epoch, step as u32);
            self.sequence.keep(step + 1)?;
            self.judge.sampler.fill(self.sequence.at(step + 1), key, &mut self.pairs);
            self.stacked.extend(&self.pairs, at * vertices);
        }
        Ok(())
    }
}

impl Task for LinkPrediction {
    fn loss(
        &mut self,
        forward: &mut Forward<'_>,
        network: &crate::snapshots::engine::Network,
        questions: &Questions,
        embeddings: Var,
    ) -> Result<Option<(Var, f64)>, TrainError> {
        let Head::Edge(head) = &network.head else { unreachable!("an edge task has its head") };
        let (logits, target) = match self.staged.find(questions) {
            Some(Placed { ends, labels, .. }) => {
                let logits = head.decode(forward, embeddings, ends)?;
                (logits, forward.tape.constant(labels, 0..labels.shape().rows)?)
            }
            None => {
                let began = Instant::now();
                self.draw(questions)?;
                forward.tell(StageKind::Draw, began);
                if self.stacked.len() == 0 {
                    return Ok(None);
                }
                let logits = head.decode(forward, embeddings, &self.stacked.ends)?;
                (logits, forward.tape.copied(self.stacked.len(), 1, &self.stacked.labels)?)
            }
        };
        let count = forward.tape.shape(target).rows;
        let loss = Loss::BinaryCrossEntropy { positive_weight: 1.0 };
        Ok(Some((forward.tape.loss(loss, logits, target, None)?, count as f64)))
    }

    fn held_bytes(&self) -> usize {
        self.stacked.held_bytes()
    }

    fn draws(&self) -> bool {
        true
    }

    fn answers(&mut self, questions: &Questions) -> f64 {
        let Self { counts, judge, sequence, links, pairs, .. } = self;
        counts.of(questions.steps.clone(), |step| {
            if let Some(links) = links {
                return judge.sampler.pairs_of(links[step + 1], sequence.vertices()) as f64;
            }
            let key = DrawKey::training(questions.epoch, step as u32);
            judge.sampler.fill(sequence.at(step + 1), key, pairs);
            pairs.len() as f64
        })
    }

    fn staging(&mut self) -> Option<&mut dyn DeviceStaging> {
        Some(&mut self.staged)
    }

    fn begin(&mut self, ranked: bool, asked: &[usize]) {
        self.ranked = ranked;
        self.ahead.expect(asked);
        self.few.clear();
        self.many.clear();
        self.right.clear();
        self.all.iter_mut().for_each(|(_, scores)| scores.clear());
    }

    fn begin_rules(&mut self, asked: usize) {
        // All pairs are no question that the model and the rules share.
        if self.all.is_none() {
            let questions = [&self.judge.few_scores, &self.judge.many_scores].into_iter();
            self.rules = Some(LinkRules::new(&self.sequence, asked, questions));
        }
    }

    fn take_rules(&mut self) -> Option<BTreeMap<String, Metrics>> {
        self.rules.take().map(|rules| named(joined(rules.compared())))
    }

    fn judge(
        &mut self,
        judge: &mut Judge<'_>,
        step: usize,
        embeddings: Var,
        scores: &mut Scores,
    ) -> Result<(), TrainError> {
        self.sequence.keep(step + 1)?;
        let Self { stacked, pairs, candidates, .. } = self;
        let (target, key) = (self.sequence.at(step + 1), DrawKey::evaluation(step as u32));
        let mut head = PairHead::new(judge, embeddings, stacked)?;
        match self.ahead.take(step, &self.judge, &self.sequence) {
            Some(questions) => {
                let LinkQuestions { ends, counts, links } = &*questions;
                scores.numbers = head.score_ends(judge, ends)?;
                scores.counts.clone_from(counts);
                if self.ranked {
                    self.judge.many.put_links(links.clone());
                }
            }
            None => {
                self.judge.sampler.fill(target, key, pairs);
                scores.put_pairs(&head.score(judge, pairs)?, &pairs.label);
                let chunks = self.judge.few.load(target);
                scores.counts.push(chunks as u32);
                for chunk in 0..chunks {
                    self.judge.few.fill(chunk, key, candidates);
                    let label = &candidates.pairs.label;
                    scores.put_pairs(&head.score(judge, &candidates.pairs)?, label);
                }
                self.judge.many.put_links(self.judge.few.take_links());
            }
        }
        if self.ranked {
            let chunks = self.judge.many.chunks();
            let many = &mut self.judge.many;
            let ranks = match &mut self.rules {
                None => head.ranks(judge, many, chunks, key, candidates)?,
                Some(rules) => {
                    rules.tell(&self.sequence, step);
                    rules.ask(FEW, target, key, &mut self.judge.few);
                    rules.ask_sampled(target, key, &mut self.judge.sampler);
                    match head.ranks_with(judge, many, key, rules)? {
                        Some(ranks) => ranks,
                        None => {
                            let ranks = head.ranks(judge, many, chunks, key, candidates)?;
                            rules.ask(MANY, target, key, many);
                            ranks
                        }
                    }
                }
            };
            scores.counts.push(ranks.len() as u32);
            scores.counts.extend(ranks.iter().flat_map(|rank| [rank.higher, rank.equal]));
        }
        if let Some((all, results)) = &mut self.all {
            let chunks = all.load(target);
            all.links(pairs);
            scores.counts.push(u32::from(chunks > 0));
            if chunks > 0 {
                results.begin_step(&head.score(judge, pairs)?);
                for chunk in 0..chunks {
                    all.fill(chunk, key, candidates);
                    results.add(candidates, &head.score(judge, &candidates.pairs)?);
                }
                scores.counts.extend(results.end_step().pack());
            }
        }
        Ok(())
    }

    fn count(&mut self, _step: usize, scores: &Scores) {
        let mut read = scores.read();
        let [positives, negatives] = read.pairs();
        for (scores, label) in [(positives, 1.0), (negatives, 0.0)] {
            self.labels.clear();
            self.labels.resize(scores.len(), label);
            self.right.add_binary(scores, 0.0, &self.labels);
        }
        for _ in 0..read.count() {
            read.add_pairs(&mut self.few);
        }
        if self.ranked {
            let links = read.count() as usize;
            for rank in read.counts(2 * links).chunks_exact(2) {
                self.many.add_ranks(&[LinkRank { higher: rank[0], equal: rank[1] }]);
            }
        }
        if let Some((_, results)) = &mut self.all
            && read.count() > 0
        {
            results.add_step(StepMeasures::unpack(read.counts(StepMeasures::WORDS)));
        }
    }

    fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        put(&mut metrics, [(Metric::Accuracy, self.right.accuracy())]);
        put(&mut metrics, self.few.report());
        if self.ranked {
            put(&mut metrics, self.many.report());
        }
        if let Some((_, scores)) = &self.all {
            put(&mut metrics, scores.report().into_iter().filter(|(metric, _)| is_of_all(*metric)));
        }
        metrics
    }

    fn protocol(&self) -> serde_json::Value {
        json!({
            "question": "edges of the next snapshot, from the embeddings of this one",
            "accuracy": {
                "pairs": "ESDG's theta-sampling: a share of the edges, as many pairs that are no edges",
                "theta": self.config.theta,
                "negatives_per_edge": self.config.negatives,
            },
            "ap_and_auc": {
                "negatives": self.judge.few.describe(),
                "pooled": "all snapshots of a part together",
            },
            "mrr_and_hits": {
                "negatives": self.judge.many.describe(),
                "ties": "average of the optimistic and the pessimistic rank",
                "measured": "at each epoch only if task.metric is one of them; otherwise in the test \
                             and by eval",
            },
            "map_and_row_mrr": self.all.as_ref().map(|(all, _)| json!({
                "negatives": all.describe(),
                "map": "mean over snapshots of the average precision",
                "row_mrr": "mean over snapshots and sources; edges of a source push each other back",
            })),
        })
    }

    fn own_pairs(&mut self, step: usize, pairs: &mut Pairs) {
        pairs.clear();
        let (target, key) = (self.sequence.at(step + 1), DrawKey::evaluation(step as u32));
        for chunk in 0..self.judge.few.load(target) {
            self.judge.few.fill(chunk, key, &mut self.candidates);
            let found = &self.candidates.pairs;
            pairs.src.extend_from_slice(&found.src);
            pairs.dst.extend_from_slice(&found.dst);
            pairs.label.extend_from_slice(&found.label);
        }
    }

    fn answers_per_vertex(&self) -> Option<usize> {
        None
    }
}
