//! Inference: scores of candidate pairs and embeddings of vertices, after replaying history.

use std::sync::Arc;

use zoetrope_config::MissingFeatures;
use zoetrope_data::split::Part;
use zoetrope_graph::{Time, VertexId};
use zoetrope_nn::Forward;

use super::prepare::{Prepared, Preparer};
use super::session::EventSession;
use super::target::Target;
use crate::error::TrainError;

/// Questions that go through the model together.
const QUESTIONS: usize = 4096;

/// A pair of vertices that may meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The source.
    pub src: VertexId,
    /// The destination.
    pub dst: VertexId,
    /// When they would meet.
    pub time: Time,
}

impl EventSession {
    /// The columns that a file of candidates needs besides their ends and times: those of a judged event
    /// that are part of the question, by their names in the data.
    pub fn candidate_columns(&self) -> Vec<String> {
        if self.rules.own_features { self.material.columns_as_read().to_vec() } else { Vec::new() }
    }

    /// The head's answer for each candidate, in the order given: one number, or one for each class.
    ///
    /// Memory is that of the run for what comes after its training, and rebuilt for what lies before
    /// (see [`memory_use`](Self::memory_use)).
    ///
    /// `features` has a row for each candidate, with the columns that [`candidate_columns`] names, as they
    /// are in the data; it is empty if there are none.
    ///
    /// [`candidate_columns`]: Self::candidate_columns
    ///
    /// A candidate sees the events strictly before its time. Memory is that of the batch in which
    /// it falls: events of the stream are absorbed in whole batches, as in evaluation, and a
    /// candidate after the last event sees all of them.
    ///
    /// # Errors
    /// If shapes do not match, or candidates lack their features.
    pub fn predict(
        &mut self,
        candidates: &[Candidate],
        features: &[f32],
    ) -> Result<Vec<f32>, TrainError> {
        let material = Arc::clone(&self.material);
        let own = self.own_rows(candidates.len(), features)?;
        let own_width = own.len() / candidates.len().max(1);
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|&at| candidates[at].time);
        let outputs = self.target.outputs();
        let mut answers = vec![0.0; candidates.len() * outputs];
        let boundaries = self.boundaries();
        let known = |time: Time| {
            let events = material.store.time().partition_point(|&t| t < time);
            boundaries[boundaries.partition_point(|&boundary| boundary <= events) - 1]
        };
        let groups: Vec<(usize, Vec<usize>)> = order
            .chunk_by(|&a, &b| known(candidates[a].time) == known(candidates[b].time))
            .map(|group| (known(candidates[group[0]].time), group.to_vec()))
            .collect();
        let mut preparer = Preparer::new(&material, material.neighbours(Part::Test), self.rules);
        let mut prepared = Prepared::default();
        self.network.model.begin_pass();
        for (events, group) in groups {
            self.remember(events)?;
            self.used.add(self.source(), group.len());
            for chunk in group.chunks(QUESTIONS) {
                preparer.begin(events, &mut prepared);
                for &at in chunk {
                    let Candidate { src, dst, time } = candidates[at];
                    let src = preparer.ask(src, time, None);
                    prepared.own.push_row(&own[at * own_width..(at + 1) * own_width]);
                    match *self.target {
                        Target::Classes { edges: false, .. } => {
                            Arc::make_mut(&mut prepared.rows).push(src);
                        }
                        _ => {
                            let dst = preparer.ask(dst, time, None);
                            Arc::make_mut(&mut prepared.ends.src).push(src);
                            Arc::make_mut(&mut prepared.ends.dst).push(dst);
                        }
                    }
                }
                preparer.finish(0, true, &mut prepared);
                let found = self.answer(&prepared)?;
                for (&at, row) in chunk.iter().zip(found.chunks_exact(outputs)) {
                    answers[at * outputs..(at + 1) * outputs].copy_from_slice(row);
                }
                self.tape.reset();
            }
        }
        Ok(answers)
    }

    /// The rows of candidates as the head reads them.
    fn own_rows(&self, candidates: usize, features: &[f32]) -> Result<Vec<f32>, TrainError> {
        let columns = self.candidate_columns();
        if features.len() != candidates * columns.len() {
            return Err(TrainError::Unfit {
                what: format!(
                    "{} numbers come with {candidates} candidates, but the model reads {} of each: {}",
                    features.len(),
                    columns.len(),
                    columns.join(", ")
                ),
                advice: "give the columns that the model was trained with".to_owned(),
            });
        }
        let refuses = self.config.data.missing_features == MissingFeatures::Refuse;
        let wrong = |value: &f32| value.is_infinite() || (refuses && value.is_nan());
        if let Some(at) = features.iter().position(wrong) {
            return Err(TrainError::Unfit {
                what: format!(
                    "{} of pair {} is {}",
                    columns[at % columns.len()],
                    at / columns.len(),
                    features[at]
                ),
                advice: "mend the file of pairs".to_owned(),
            });
        }
        Ok(self.material.scale_rows(features))
    }

    /// The embeddings of all vertices at a time, `vertices × width`, from all events strictly
    /// before it.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn embed(&mut self, time: Time) -> Result<Vec<f32>, TrainError> {
        let material = Arc::clone(&self.material);
        let events = material.store.time().partition_point(|&t| t < time);
        self.remember(events)?;
        self.used.add(self.source(), material.vertices());
        self.network.model.begin_pass();
        let mut preparer = Preparer::new(&material, material.neighbours(Part::Test), self.rules);
        let mut prepared = Prepared::default();
        let mut rows = Vec::with_capacity(material.vertices() * self.network.model.width());
        for from in (0..material.vertices()).step_by(QUESTIONS) {
            preparer.begin(events, &mut prepared);
            let chunk = from..(from + QUESTIONS).min(material.vertices());
            for vertex in chunk {
                preparer.ask(vertex as VertexId, time, None);
            }
            preparer.finish(0, true, &mut prepared);
            self.tape.reset();
            let parameters = &self.network.parameters;
            let mut forward = Forward::evaluating(&mut self.tape, parameters, &mut self.updates);
            let data = material.data();
            let features = material.vertex_features.as_ref();
            let state = self.state.as_ref();
            let embedding =
                self.network.model.embed(&mut forward, &prepared.batch, data, features, state)?;
            rows.extend(self.tape.read(embedding.rows));
            self.tape.reset();
        }
        // The last batch was cut at the time asked for: what follows would be batched otherwise.
        self.known = None;
        Ok(rows)
    }

    /// How many events come before each batch of the stream, and the number of all events at the
    /// end: what memory may know, ascending.
    fn boundaries(&self) -> Vec<usize> {
        let material = &self.material;
        let mut boundaries = vec![0];
        for (part, range) in self.stretches() {
            let positions = material.positions(part, range.clone());
            let first = positions.start;
            let batches = self.schedule.fixed(positions, material.clock(part));
            boundaries.extend(batches.iter().map(|batch| match batch.events.start {
                start if start == first => range.start,
                // Just behind the last event of the batch before: what follows may be held out.
                start => material.event(part, start - 1) + 1,
            }));
        }
        boundaries.push(material.store.len());
        boundaries
    }
}
