//! What both vertex tasks do alike: weigh the vertices that have an answer, ask the head, line up
//! the truth.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_nn::Forward;
use zoetrope_nn::decoder::VertexDecoder;
use zoetrope_tensor::{Matrix, Var};

use super::{Judge, Scores};
use crate::error::TrainError;
use crate::snapshots::engine::{Head, Network};

/// Which vertices have an answer, in buffers that are used again.
#[derive(Debug)]
pub(super) struct VertexAnswers {
    vertices: usize,
    present: Option<Arc<Matrix>>,
    truth: Vec<f32>,
}

impl VertexAnswers {
    /// `present` is `T·N × 1`, what each answer weighs in the loss and 0 if a vertex has none; None if
    /// all have one and count the same.
    pub(super) fn new(vertices: usize, present: Option<Arc<Matrix>>) -> Self {
        Self { vertices, present, truth: Vec::new() }
    }

    /// The rows of some consecutive snapshots.
    pub(super) fn rows(&self, steps: &Range<usize>) -> Range<usize> {
        steps.start * self.vertices..steps.end * self.vertices
    }

    /// How many rows count, or what they weigh.
    pub(super) fn count(&self, rows: Range<usize>) -> f64 {
        match &self.present {
            None => rows.len() as f64,
            Some(present) => present.as_slice()[rows].iter().map(|&weight| f64::from(weight)).sum(),
        }
    }

    /// The weights of rows on the tape, and how many rows count.
    pub(super) fn weights(
        &self,
        forward: &mut Forward<'_>,
        rows: Range<usize>,
    ) -> Result<(Option<Var>, f64), TrainError> {
        let count = self.count(rows.clone());
        let weights = self.present.as_ref().map(|present| forward.tape.constant(present, rows));
        Ok((weights.transpose()?, count))
    }

    /// What the head says about the embeddings of a snapshot.
    pub(super) fn ask(
        judge: &mut Judge<'_>,
        embeddings: Var,
        scores: &mut Scores,
    ) -> Result<(), TrainError> {
        let answers = head(judge.network).decode(&mut judge.forward, embeddings)?;
        let tape = &judge.forward.tape;
        scores.numbers.resize(tape.shape(answers).len(), 0.0);
        tape.read_into(answers, &mut scores.numbers);
        Ok(())
    }

    /// The true values of a snapshot by row, NaN if there is none.
    pub(super) fn truth(&mut self, step: usize, value: impl Fn(usize) -> f32) -> &[f32] {
        let present = self.present.as_ref().map(|present| present.as_slice());
        let here = |row: usize| present.is_none_or(|present| present[row] != 0.0);
        self.truth.clear();
        let rows = self.rows(&(step..step + 1));
        self.truth.extend(rows.map(|row| if here(row) { value(row) } else { f32::NAN }));
        &self.truth
    }
}

/// The head of a vertex task.
pub(super) fn head(network: &Network) -> &VertexDecoder {
    match &network.head {
        Head::Vertex(head) => head,
        Head::Edge(_) => unreachable!("a vertex task has a head for vertices"),
    }
}
