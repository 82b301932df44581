//! Predictions and embeddings as files want them: of vertices, of any pairs that are asked about, or of the
//! pairs that a part is judged by.

use std::sync::Arc;

use zoetrope_config::TaskName;
use zoetrope_data::split::Part;
use zoetrope_graph::VertexId;
use zoetrope_nn::decoder::Ends;
use zoetrope_nn::forward::Updates;
use zoetrope_run::Metrics;

use super::Session;
use crate::answers::Meaning;
use crate::error::TrainError;
use crate::snapshots::engine::{Head, evaluating};
use crate::snapshots::sampling::Pairs;

/// Pairs that go through the head together.
const PAIRS_AT_ONCE: usize = 1 << 18;

/// A pair that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairQuestion {
    /// The source.
    pub src: VertexId,
    /// The destination.
    pub dst: VertexId,
    /// The snapshot that the question is about, from 0; the number of snapshots is the one that
    /// follows the last.
    pub snapshot: usize,
}

/// What a prediction file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The judged snapshots in time order.
    pub steps: Vec<usize>,
    /// Vertices in each.
    pub vertices: usize,
    /// Numbers for each vertex.
    pub per_vertex: usize,
    /// `steps × vertices × per_vertex`.
    pub values: Vec<f32>,
}

impl Session {
    /// Predictions for the last snapshot of each frame, as the rule of the plan cuts them; all
    /// frames of the sequence, or those whose last snapshot belongs to a part.
    ///
    /// # Errors
    /// If the task has no answer for a vertex, or no frame ends in the part.
    pub fn predict(&mut self, part: Option<Part>) -> Result<(Answers, Metrics), TrainError> {
        let Some(per_vertex) = self.task.answers_per_vertex() else {
            return Err(TrainError::Unfit {
                what: format!("{} predicts pairs, not vertices", self.task_name.name()),
                advice: "name them with --pairs FILE".to_owned(),
            });
        };
        let steps = self.predicted_steps(part);
        if steps.is_empty() {
            return Err(TrainError::Unfit {
                what: "no frame ends in that part of the sequence".to_owned(),
                advice: "choose another --split, or a shorter train.frame".to_owned(),
            });
        }
        let mut values = Vec::new();
        let passes = self.passes_for(&steps);
        self.task.begin(true, &self.judged_here(&passes));
        self.judge_passes(&passes, Some(&mut values))?;
        let metrics = self.task.metrics();
        let vertices = self.material.vertices();
        Ok((Answers { steps, vertices, per_vertex, values }, metrics))
    }

    /// The embeddings of a snapshot, `vertices × width`.
    ///
    /// # Errors
    /// If the snapshot is not there, or too early for a whole frame.
    pub fn embed(&mut self, step: usize) -> Result<Vec<f32>, TrainError> {
        let first = self.earliest();
        if step >= self.material.steps() || step < first {
            return Err(TrainError::Unfit {
                what: format!("there is no frame that ends at snapshot {step}"),
                advice: format!(
                    "choose a snapshot from {first} to {}",
                    self.material.steps().saturating_sub(1)
                ),
            });
        }
        let mut found = Vec::new();
        for pass in self.passes_for(&[step]) {
            self.visit(&pass, |session, piece, output, step| {
                if !session.fetch_rows(piece, output, step, 0)? {
                    return Ok(());
                }
                found = session.embeddings.as_slice().to_vec();
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// What the numbers of its answers mean.
    pub fn meaning(&self) -> Meaning {
        let material = &self.material;
        match self.task_name {
            TaskName::LinkPrediction => Meaning::Link,
            TaskName::NodeRegression | TaskName::EdgeRegression => Meaning::Value,
            TaskName::NodeClassification => {
                let classes = self.task.answers_per_vertex().unwrap_or(0);
                Meaning::classes(classes, &material.vertex_classes)
            }
            TaskName::EdgeClassification => {
                Meaning::classes(self.outputs(), &material.edge_classes)
            }
        }
    }

    /// The numbers that the head gives for each answer.
    pub fn outputs(&self) -> usize {
        crate::snapshots::task::outputs(&self.config, self.task_name, &self.material).unwrap_or(1)
    }

    /// Whether its answers are about pairs rather than vertices.
    pub fn predicts_pairs(&self) -> bool {
        self.task.answers_per_vertex().is_none()
    }

    /// The snapshots that a question about a pair may be about: links are predicted for the snapshot
    /// after the one that is seen, classes of edges for the same.
    pub fn askable(&self) -> std::ops::RangeInclusive<usize> {
        let steps = self.material.steps();
        match self.task_name {
            TaskName::LinkPrediction => self.earliest() + 1..=steps,
            _ => self.earliest()..=steps - 1,
        }
    }

    /// The pairs by which a part is judged, with what is right: for links each edge with its
    /// negatives (those of AP and AUC), for classes the edges; NaN if it is not known.
    pub fn own_pairs(&mut self, part: Part) -> (Vec<PairQuestion>, Vec<f32>) {
        let range = self.steps_of(part);
        let ahead = usize::from(self.task_name == TaskName::LinkPrediction);
        let (mut questions, mut labels) = (Vec::new(), Vec::new());
        let mut pairs = Pairs::default();
        for step in range.start.max(self.earliest())..range.end {
            self.task.own_pairs(step, &mut pairs);
            let ends = pairs.src.iter().zip(&pairs.dst);
            questions.extend(ends.map(|(&src, &dst)| PairQuestion {
                src,
                dst,
                snapshot: step + ahead,
            }));
            labels.extend_from_slice(&pairs.label);
        }
        (questions, labels)
    }

    /// The head's answers about pairs in the order given, raw: one number, or one for each class.
    ///
    /// # Errors
    /// If the task has no answers for pairs, or a snapshot is not among those that can be asked
    /// about.
    pub fn predict_pairs(&mut self, asked: &[PairQuestion]) -> Result<Vec<f32>, TrainError> {
        if !self.predicts_pairs() {
            return Err(TrainError::Unfit {
                what: format!("{} predicts vertices, not pairs", self.task_name.name()),
                advice: "leave --pairs out".to_owned(),
            });
        }
        let range = self.askable();
        if let Some(wrong) = asked.iter().find(|asked| !range.contains(&asked.snapshot)) {
            return Err(TrainError::Unfit {
                what: format!("nothing can be said about pairs at snapshot {}", wrong.snapshot),
                advice: format!(
                    "ask about snapshots from {} to {} (frames have {} snapshots)",
                    range.start(),
                    range.end(),
                    self.plan.rule.frame.unwrap_or(self.material.steps()),
                ),
            });
        }
        let ahead = usize::from(self.task_name == TaskName::LinkPrediction);
        let mut order: Vec<usize> = (0..asked.len()).collect();
        order.sort_by_key(|&at| asked[at].snapshot);
        let groups: Vec<&[usize]> =
            order.chunk_by(|&a, &b| asked[a].snapshot == asked[b].snapshot).collect();
        let steps: Vec<usize> =
            groups.iter().map(|group| asked[group[0]].snapshot - ahead).collect();
        let outputs = self.outputs();
        let mut answers = vec![0.0; asked.len() * outputs];
        for pass in self.passes_for(&steps) {
            self.visit(&pass, |session, piece, output, step| {
                if !session.fetch_rows(piece, output, step, 0)? {
                    return Ok(());
                }
                let Ok(place) = steps.binary_search(&step) else { return Ok(()) };
                for chunk in groups[place].chunks(PAIRS_AT_ONCE) {
                    let found = session.score(chunk.iter().map(|&at| asked[at]))?;
                    for (&at, row) in chunk.iter().zip(found.chunks_exact(outputs)) {
                        answers[at * outputs..(at + 1) * outputs].copy_from_slice(row);
                    }
                }
                Ok(())
            })?;
        }
        Ok(answers)
    }

    /// The head's answers about pairs of the snapshot whose embeddings are in place.
    fn score(
        &mut self,
        pairs: impl Iterator<Item = PairQuestion> + Clone,
    ) -> Result<Vec<f32>, TrainError> {
        let Head::Edge(head) = &self.network.head else {
            unreachable!("a task of pairs has a head for pairs")
        };
        let ends = Ends {
            src: Arc::new(pairs.clone().map(|pair| pair.src).collect()),
            dst: Arc::new(pairs.map(|pair| pair.dst).collect()),
        };
        let mut updates = Updates::default();
        let parameters = &self.network.parameters;
        let mut forward = evaluating(&mut self.judge_tape, parameters, &mut updates);
        let rows = self.embeddings.shape().rows;
        let embeddings = forward.tape.constant(&self.embeddings, 0..rows)?;
        let answers = head.decode(&mut forward, embeddings, &ends)?;
        let found = self.judge_tape.read(answers);
        self.judge_tape.reset();
        Ok(found)
    }

    /// The last snapshots of the frames of the whole sequence, or of those that end in a part.
    fn predicted_steps(&self, part: Option<Part>) -> Vec<usize> {
        let rule = self.plan.rule;
        let frame = rule.frame.unwrap_or(1);
        let stride = if self.sequential() && rule.frame.is_none() { 1 } else { rule.stride };
        let ends = (frame..=self.material.steps()).step_by(stride).map(|end| end - 1);
        match part {
            None => ends.collect(),
            Some(part) => {
                let steps = self.steps_of(part);
                ends.filter(|end| steps.contains(end)).collect()
            }
        }
    }
}
