//! A class for each edge of a snapshot.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::json;
use zoetrope_config::Config;
use zoetrope_data::split::Part;
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::Forward;
use zoetrope_nn::decoder::Ends;
use zoetrope_nn::metrics::ClassScores;
use zoetrope_run::Metrics;
use zoetrope_tensor::{Matrix, Var};

use super::edge_pairs::{PairCounts, StackedPairs};
use super::results::put;
use super::staging::PLACED_PAIRS_MAX;
use super::{Judge, Questions, Scores, Task, must_suffice};
use crate::class_weights;
use crate::error::TrainError;
use crate::snapshots::engine::{Head, Network};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::sampling::{EdgeClassRule, Pairs};

/// Cross-entropy of a class for each edge.
#[derive(Debug)]
pub struct EdgeClassification {
    labelled: Arc<SnapshotSequence>,
    rule: EdgeClassRule,
    right: ClassScores,
    pairs: Pairs,
    stacked: StackedPairs,
    labels: Arc<Vec<u32>>,
    /// What is asked of steps, which does not change: if a GPU computes it is kept, so that it
    /// is copied up once and recordings find it.
    kept: HashMap<Range<usize>, Asked>,
    kept_count: usize,
    counts: PairCounts,
    classes: usize,
    /// The weight of each class in the loss, if they differ.
    weights: Option<Vec<f32>>,
    declared: serde_json::Value,
}

/// Edges and their classes.
#[derive(Debug, Clone)]
struct Asked {
    ends: Ends,
    labels: Arc<Vec<u32>>,
    /// What each one weighs, if classes count differently.
    weights: Option<Arc<Matrix>>,
}

/// The number of classes.
pub(super) fn classes(config: &Config, material: &SnapshotInput) -> Result<usize, TrainError> {
    let (labelled, rule) = edge_labels(material)?;
    let Some(classes) = config.task.classes else { return Ok(rule.classes(labelled)? as usize) };
    // Data of a run that is to be predicted may lack classes, or have none at all.
    let found = rule.found(labelled)?.map_or(0, |(_, most)| most as usize + 1);
    must_suffice(classes, found)
}

fn edge_labels(
    material: &SnapshotInput,
) -> Result<(&Arc<SnapshotSequence>, EdgeClassRule), TrainError> {
    material.edge_labels.as_ref().map(|(labelled, rule)| (labelled, *rule)).ok_or_else(|| {
        TrainError::Unfit {
            what: format!("the edges of {} have neither labels nor weights", material.name),
            advice: "choose another task.name".to_owned(),
        }
    })
}

impl EdgeClassification {
    /// The task of a data set.
    ///
    /// # Errors
    /// If the data does not tell the classes of its edges.
    pub fn new(config: &Config, material: &SnapshotInput) -> Result<Self, TrainError> {
        let classes = classes(config, material)?;
        let (labelled, rule) = edge_labels(material)?;
        let wanted = &config.task.class_weights;
        let mut pairs = Pairs::default();
        let mut counts = vec![0; classes];
        for step in material.split.part(Part::Train) {
            rule.fill(labelled.at(step), &mut pairs);
            let found = class_weights::count(classes, pairs.label.iter().copied());
            counts.iter_mut().zip(found).for_each(|(count, found)| *count += found);
        }
        let weights = class_weights::in_force(wanted, &counts)?;
        Ok(Self {
            labelled: Arc::clone(labelled),
            rule,
            right: ClassScores::new(classes as u32),
            pairs,
            declared: class_weights::declare(wanted, weights.as_deref()),
            weights,
            stacked: StackedPairs::default(),
            labels: Arc::default(),
            kept: HashMap::new(),
            kept_count: 0,
            counts: PairCounts::default(),
            classes,
        })
    }
}

impl EdgeClassification {
    /// The edges of some steps with their classes.
    fn ask(&mut self, steps: &Range<usize>, on_gpu: bool) -> Asked {
        if let Some(known) = self.kept.get(steps) {
            return known.clone();
        }
        let vertices = self.labelled.vertices() as usize;
        self.stacked.clear();
        for (at, step) in steps.clone().enumerate() {
            self.rule.fill(self.labelled.at(step), &mut self.pairs);
            self.stacked.extend(&self.pairs, at * vertices);
        }
        let labels = Arc::make_mut(&mut self.labels);
        labels.clear();
        labels.extend(self.stacked.labels.iter().map(|&label| label as u32));
        let (ends, labels) = (self.stacked.ends.clone(), Arc::clone(&self.labels));
        let weights = self.weights.as_ref().map(|weights| {
            let mut column = Matrix::zeros(labels.len(), 1);
            let rows = column.as_mut_slice().iter_mut().zip(labels.iter());
            rows.for_each(|(row, &label)| *row = weights[label as usize]);
            Arc::new(column)
        });
        let asked = Asked { ends, labels, weights };
        if on_gpu && self.kept_count + self.stacked.len() <= PLACED_PAIRS_MAX {
            self.kept_count += self.stacked.len();
            self.kept.insert(steps.clone(), asked.clone());
        }
        asked
    }
}

impl Task for EdgeClassification {
    fn loss(
        &mut self,
        forward: &mut Forward<'_>,
        network: &Network,
        questions: &Questions,
        embeddings: Var,
    ) -> Result<Option<(Var, f64)>, TrainError> {
        let Head::Edge(head) = &network.head else { unreachable!("an edge task has its head") };
        let Asked { ends, labels, weights } =
            self.ask(&questions.steps, forward.tape.device().gpu().is_some());
        if labels.is_empty() {
            return Ok(None);
        }
        let logits = head.decode(forward, embeddings, &ends)?;
        let weight = match &weights {
            Some(weights) => Some(forward.tape.constant(weights, 0..labels.len())?),
            None => None,
        };
        let loss = forward.tape.cross_entropy(logits, &labels, 0, weight)?;
        Ok(Some((loss, self.answers(questions))))
    }

    fn held_bytes(&self) -> usize {
        self.stacked.held_bytes()
    }

    fn answers(&mut self, questions: &Questions) -> f64 {
        let Self { counts, rule, labelled, pairs, weights, .. } = self;
        counts.of(questions.steps.clone(), |step| {
            rule.fill(labelled.at(step), pairs);
            let weight = |&label: &f32| match weights {
                Some(weights) => f64::from(weights[label as usize]),
                None => 1.0,
            };
            pairs.label.iter().map(weight).sum()
        })
    }

    fn begin(&mut self, _ranked: bool, _asked: &[usize]) {
        self.right.clear();
    }

    fn judge(
        &mut self,
        judge: &mut Judge<'_>,
        step: usize,
        embeddings: Var,
        scores: &mut Scores,
    ) -> Result<(), TrainError> {
        let Head::Edge(head) = &judge.network.head else {
            unreachable!("an edge task has its head")
        };
        self.rule.fill(self.labelled.at(step), &mut self.pairs);
        if self.pairs.is_empty() {
            return Ok(());
        }
        self.stacked.clear();
        self.stacked.extend(&self.pairs, 0);
        let logits = head.decode(&mut judge.forward, embeddings, &self.stacked.ends)?;
        let tape = &judge.forward.tape;
        scores.numbers.resize(tape.shape(logits).len(), 0.0);
        tape.read_into(logits, &mut scores.numbers);
        Ok(())
    }

    fn count(&mut self, step: usize, scores: &Scores) {
        self.rule.fill(self.labelled.at(step), &mut self.pairs);
        self.right.add_rows(&scores.numbers, &self.pairs.label);
    }

    fn metrics(&mut self) -> Metrics {
        let mut metrics = Metrics::new();
        put(&mut metrics, self.right.report());
        metrics
    }

    fn protocol(&self) -> serde_json::Value {
        json!({
            "question": "the class of each edge of a snapshot, from the embeddings of the same snapshot",
            "classes": self.classes,
            "class_weights": self.declared,
            "class_of_an_edge": match self.rule {
                EdgeClassRule::WeightSign => "1 if its weight is above 0, else 0; the model sees the graph without weights",
                EdgeClassRule::WeightIsClass => "the label of its latest event in the window",
            },
        })
    }

    fn own_pairs(&mut self, step: usize, pairs: &mut Pairs) {
        self.rule.fill_all(self.labelled.at(step), pairs);
    }

    fn answers_per_vertex(&self) -> Option<usize> {
        None
    }
}
