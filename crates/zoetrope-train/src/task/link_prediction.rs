//! Which edges the next snapshot has.
//!
//! From the embeddings of snapshot `t` pairs of snapshot `t + 1` are scored. Training samples a
//! share θ of its edges and as many pairs that are no edges (ESDG §6.4); accuracy, AP and AUC are
//! measured on pairs drawn in the same manner, MRR and hits@k rank each edge among candidates.

use std::sync::Arc;

use serde_json::json;
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::Forward;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::metrics::{BinaryScores, Classification, Metric, Ranking, TieRule};
use zoetrope_tensor::{Loss, Matrix, Var};

use super::edge_pairs::StackedPairs;
use super::results::put;
use super::{Judge, Questions, Task};
use crate::config::{Config, TaskConfig};
use crate::engine::{Head, evaluating};
use crate::error::TrainError;
use crate::material::Material;
use crate::run::Metrics;
use crate::sampling::{
    Candidates, DrawKey, LinkSampler, LinkSampling, NegativeEnds, OneVersusMany, Pairs,
};

/// Edges that are ranked at a time: bounds the memory of scoring.
const AT_ONCE: usize = 2048;

/// Answers to link questions, judged the same way for models and for baselines.
#[derive(Debug)]
pub(super) struct LinkScores {
    /// Whether a pair is an edge at all.
    right: Classification,
    /// Sampled pairs by score.
    scores: BinaryScores,
    /// Edges among their candidates.
    ranks: Ranking,
}

impl LinkScores {
    pub(super) fn new(config: &TaskConfig) -> Self {
        Self {
            right: Classification::new(2),
            scores: BinaryScores::default(),
            ranks: Ranking::new(TieRule::Average, &[1, 3, config.hits as u32]),
        }
    }

    pub(super) fn clear(&mut self) {
        self.right.clear();
        self.scores.clear();
        self.ranks.clear();
    }

    /// Sampled pairs: scores above `threshold` say yes.
    pub(super) fn sampled(&mut self, scores: &[f32], threshold: f32, labels: &[f32]) {
        self.right.add_binary(scores, threshold, labels);
        self.scores.add(scores, labels);
    }

    /// Rows of candidates.
    pub(super) fn ranked(&mut self, scores: &[f32], candidates: &Candidates) {
        for row in 0..candidates.rows() {
            let row = candidates.row(row);
            self.ranks.add(scores[row.start], &scores[row.start + 1..row.end]);
        }
    }

    pub(super) fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        put(&mut metrics, [(Metric::Accuracy, self.right.accuracy())]);
        put(&mut metrics, self.scores.report());
        put(&mut metrics, self.ranks.report());
        metrics
    }
}

/// The questions of a snapshot, the same for models and for baselines.
#[derive(Debug)]
pub(super) struct LinkQuestions {
    sampler: LinkSampler,
    many: OneVersusMany,
    pub(super) pairs: Pairs,
    pub(super) candidates: Candidates,
}

impl LinkQuestions {
    pub(super) fn new(config: &Config) -> Self {
        let sampling = LinkSampling {
            theta: config.task.theta,
            negatives: config.task.negatives,
            ends: NegativeEnds::Both,
            seed: config.train.seed,
        };
        Self {
            sampler: LinkSampler::new(sampling),
            many: OneVersusMany::new(config.task.candidates, config.train.seed),
            pairs: Pairs::default(),
            candidates: Candidates::default(),
        }
    }

    /// Draws the sampled pairs of the snapshot after `step` into `pairs`.
    pub(super) fn sample(&mut self, sequence: &SnapshotSequence, step: usize, key: DrawKey) {
        self.sampler.fill(sequence.at(step + 1), key, &mut self.pairs);
    }

    /// Draws the candidates of the snapshot after `step`, chunk by chunk.
    pub(super) fn rank(
        &mut self,
        sequence: &SnapshotSequence,
        step: usize,
        mut visit: impl FnMut(&Candidates) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let links = self.many.load(sequence.at(step + 1));
        let key = DrawKey::evaluation(step as u32);
        for start in (0..links).step_by(AT_ONCE) {
            self.many.fill(start..(start + AT_ONCE).min(links), key, &mut self.candidates);
            visit(&self.candidates)?;
        }
        Ok(())
    }
}

/// Binary cross-entropy of pairs of the next snapshot.
#[derive(Debug)]
pub struct LinkPrediction {
    sequence: Arc<SnapshotSequence>,
    questions: LinkQuestions,
    results: LinkScores,
    stacked: StackedPairs,
    updates: Updates,
    config: TaskConfig,
}

impl LinkPrediction {
    /// The task of a data set.
    pub fn new(config: &Config, material: &Material) -> Self {
        Self {
            sequence: Arc::clone(&material.sequence),
            questions: LinkQuestions::new(config),
            results: LinkScores::new(&config.task),
            stacked: StackedPairs::default(),
            updates: Updates::default(),
            config: config.task.clone(),
        }
    }
}

impl Task for LinkPrediction {
    fn loss(
        &mut self,
        forward: &mut Forward<'_>,
        network: &crate::engine::Network,
        questions: &Questions,
        embeddings: Var,
    ) -> Result<Option<(Var, f64)>, TrainError> {
        let Head::Edge(head) = &network.head else { unreachable!("an edge task has its head") };
        let vertices = self.sequence.vertices() as usize;
        self.stacked.clear();
        for (at, step) in questions.steps.clone().enumerate() {
            let key = DrawKey::training(questions.epoch, step as u32);
            self.questions.sample(&self.sequence, step, key);
            self.stacked.extend(&self.questions.pairs, at * vertices);
        }
        let count = self.stacked.len();
        if count == 0 {
            return Ok(None);
        }
        let logits = head.decode(forward, embeddings, &self.stacked.ends)?;
        let target = forward.tape.copied(count, 1, &self.stacked.labels)?;
        let loss = Loss::BinaryCrossEntropy { positive_weight: 1.0 };
        Ok(Some((forward.tape.loss(loss, logits, target, None)?, count as f64)))
    }

    fn begin(&mut self) {
        self.results.clear();
    }

    fn judge(
        &mut self,
        judge: &mut Judge<'_>,
        step: usize,
        embeddings: &Arc<Matrix>,
    ) -> Result<(), TrainError> {
        let Self { sequence, questions, results, stacked, updates, .. } = self;
        let Head::Edge(head) = &judge.network.head else {
            unreachable!("an edge task has its head")
        };
        let rows = embeddings.shape().rows;
        let mut score = |pairs: &Pairs, visit: &mut dyn FnMut(&[f32])| -> Result<(), TrainError> {
            let mut forward = evaluating(judge.tape, &judge.network.parameters, updates);
            stacked.clear();
            stacked.extend(pairs, 0);
            let x = forward.tape.constant(embeddings, 0..rows)?;
            let logits = head.decode(&mut forward, x, &stacked.ends)?;
            visit(judge.tape.value(logits));
            judge.tape.reset();
            Ok(())
        };
        questions.sample(sequence, step, DrawKey::evaluation(step as u32));
        if !questions.pairs.is_empty() {
            score(&questions.pairs, &mut |logits| {
                results.sampled(logits, 0.0, &questions.pairs.label);
            })?;
        }
        questions.rank(sequence, step, |candidates| {
            score(&candidates.pairs, &mut |logits| results.ranked(logits, candidates))
        })
    }

    fn metrics(&mut self) -> Metrics {
        self.results.metrics()
    }

    fn protocol(&self) -> serde_json::Value {
        json!({
            "question": "edges of the next snapshot, from the embeddings of this one",
            "sampled": {
                "theta": self.config.theta,
                "negatives_per_positive": self.config.negatives,
                "negatives": "both ends drawn from all vertices, never an edge of the snapshot",
                "metrics": ["accuracy", "ap", "auc"],
                "pooled": "all snapshots of a part together",
            },
            "ranked": {
                "candidates_per_edge": self.config.candidates,
                "candidates": "same source, distinct destinations that it does not reach in the snapshot",
                "ties": "average of the optimistic and the pessimistic rank",
                "metrics": ["mrr", "hits"],
            },
        })
    }

    fn answers_per_vertex(&self) -> Option<usize> {
        None
    }
}
