//! The vertices that score best, as the input of a weight that evolves.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use zoetrope_tensor::{Activation, Tape, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::frame_share::Shared;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::stage::{Stage, StageKind};

/// `k` rows of `x` with the largest scores `s = tanh(x·p / ‖p‖)`, best first, each times its score
/// (EvolveGCN section 3.4; PyG's `TopKPooling`). Equal scores: the vertex with the lower number;
/// vertices that are not there come after all others.
///
/// The choice itself has no gradient; the scores of the chosen have. It is made on the host: a GPU
/// that computes the scores is waited for, so that a step with a summary cannot be recorded.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    scorer: ParameterId,
    count: usize,
}

impl Summary {
    /// Adds the scoring vector (`1 × in`, uniform in `±1/√in`) under `name`.
    pub fn new(builder: &mut Builder<'_>, name: &str, inputs: usize, count: usize) -> Self {
        let scorer = builder.weight(name, &[1, inputs], Initialise::linear(inputs));
        Self { scorer, count }
    }

    /// Says what would move if ranks had parts of the vertices: the best rows of each, with their numbers.
    pub(crate) fn may_move(&self, forward: &mut Forward<'_>, x: Var) {
        let Some(listener) = forward.listener() else { return };
        let stage = Stage {
            kind: StageKind::ToAll,
            layer: 0,
            inputs: forward.tape.shape(x).cols + NUMBER_COLUMNS,
            outputs: self.count,
            needs_gradient: forward.tape.needs_gradient(x),
            recorded: forward.tape.len(),
        };
        listener.stage(stage, Instant::now());
    }

    /// The rows that can be among the best of any snapshot, from the vertices and snapshots of all ranks: the
    /// `k` best of each rank's. Every rank evolves all weights, so that all of them get all of these.
    ///
    /// # Errors
    /// If there are fewer than `k` vertices.
    pub(crate) fn candidates(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        shared: &Shared<'_>,
        x: Var,
    ) -> Result<Candidates, NnError> {
        let scorer = forward.parameter(self.scorer);
        let tape = &mut *forward.tape;
        let direction = tape.unit_vector(scorer)?;
        let (vertices, numbers) = (frame.vertices(), &shared.numbers.structure()[..]);
        let count = self.count.min(vertices);
        let mut rows = Vec::with_capacity(frame.steps() * count);
        let mut halves = Vec::with_capacity(2 * rows.capacity());
        // A rank may have no snapshot of a block, or no vertex of a tiny graph.
        if frame.steps() > 0 && vertices > 0 {
            let scores = tape.linear(x, direction, None, Activation::Tanh)?;
            let scores = on_host(tape, scores);
            for (step, scores) in scores.chunks_exact(vertices).enumerate() {
                for &row in best(scores, None, Some(numbers), count)?.iter() {
                    rows.push(step as u32 * vertices as u32 + row);
                    halves.extend(halves_of(numbers[row as usize]));
                }
            }
        }
        let chosen = tape.gather(x, &Arc::new(rows))?;
        let chosen_rows = tape.shape(chosen).rows;
        let halves = tape.copied(chosen_rows, NUMBER_COLUMNS, &halves)?;
        let sent = tape.concat_columns(&[chosen, halves])?;
        let all = shared.exchange.to_all(tape, sent, self.count)?;
        let width = tape.shape(all).cols - NUMBER_COLUMNS;
        let numbers = tape.columns(all, width..width + NUMBER_COLUMNS)?;
        let numbers = on_host(tape, numbers).chunks_exact(NUMBER_COLUMNS).map(number_of).collect();
        let rows = tape.columns(all, 0..width)?;
        let of_step = tape.shape(rows).rows / frame.all_steps().max(1);
        Ok(Candidates { rows, numbers, of_step, direction, count: self.count })
    }

    /// From `N × in` to `k × in`; `mask` (`N × 1`) is 0 if a vertex is not there.
    ///
    /// # Errors
    /// If there are fewer than `k` vertices.
    pub fn of(&self, forward: &mut Forward<'_>, x: Var, mask: Option<Var>) -> Result<Var, NnError> {
        let scorer = forward.parameter(self.scorer);
        let tape = &mut *forward.tape;
        let direction = tape.unit_vector(scorer)?;
        let scores = tape.linear(x, direction, None, Activation::Tanh)?;
        let mask = mask.map(|mask| on_host(tape, mask));
        let best = best(&on_host(tape, scores), mask.as_deref(), None, self.count)?;
        let rows = tape.gather(x, &best)?;
        let factors = tape.gather(scores, &best)?;
        Ok(tape.row_scale(rows, factors)?)
    }
}

/// Columns that carry the number of a vertex beside its row.
const NUMBER_COLUMNS: usize = 2;

/// The number of a vertex in two parts that are exact as floats.
fn halves_of(number: u32) -> [f32; NUMBER_COLUMNS] {
    [(number >> 16) as f32, (number & 0xffff) as f32]
}

fn number_of(halves: &[f32]) -> u32 {
    (halves[0] as u32) << 16 | halves[1] as u32
}

/// Rows that can be among the best of a snapshot, on every rank.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// By snapshot, then by rank.
    rows: Var,
    /// The number of the vertex of each row.
    numbers: Vec<u32>,
    /// Rows of a snapshot.
    of_step: usize,
    /// `p / ‖p‖`.
    direction: Var,
    count: usize,
}

impl Candidates {
    /// The best rows of a snapshot, each times its score.
    ///
    /// # Errors
    /// If there are fewer than are asked for.
    pub(crate) fn summary(&self, forward: &mut Forward<'_>, step: usize) -> Result<Var, NnError> {
        let own = step * self.of_step..(step + 1) * self.of_step;
        let tape = &mut *forward.tape;
        let x = tape.rows(self.rows, own.clone())?;
        let scores = tape.linear(x, self.direction, None, Activation::Tanh)?;
        let numbers = &self.numbers[own];
        let best = best(&on_host(tape, scores), None, Some(numbers), self.count)?;
        let rows = tape.gather(x, &best)?;
        let factors = tape.gather(scores, &best)?;
        Ok(tape.row_scale(rows, factors)?)
    }
}

fn on_host(tape: &Tape, values: Var) -> Cow<'_, [f32]> {
    match tape.device().gpu() {
        None => Cow::Borrowed(tape.value(values)),
        Some(_) => Cow::Owned(tape.read(values)),
    }
}

/// The places of the largest scores. Equal scores: the vertex with the lower number, which is its place if no
/// numbers are given.
fn best(
    scores: &[f32],
    mask: Option<&[f32]>,
    numbers: Option<&[u32]>,
    count: usize,
) -> Result<Arc<Vec<u32>>, NnError> {
    if scores.len() < count {
        return Err(NnError::Option {
            model: "evolvegcn-h",
            option: "the width of a layer",
            expected: format!("at most the number of vertices, {}", scores.len()),
            got: count.to_string(),
        });
    }
    let is_missing = |vertex: u32| mask.is_some_and(|mask| mask[vertex as usize] == 0.0);
    let before = |&a: &u32, &b: &u32| {
        let there = is_missing(a).cmp(&is_missing(b));
        let score = || scores[b as usize].total_cmp(&scores[a as usize]);
        let number = |at: u32| numbers.map_or(at, |numbers| numbers[at as usize]);
        there.then_with(score).then_with(|| number(a).cmp(&number(b)))
    };
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    if count < order.len() {
        order.select_nth_unstable_by(count, before);
        order.truncate(count);
    }
    order.sort_unstable_by(before);
    Ok(Arc::new(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_ties_go_to_the_lower_number() {
        let scores = [0.1, 0.5, -0.3, 0.5, 0.9];
        assert_eq!(*best(&scores, None, None, 3).unwrap(), [4, 1, 3]);
        assert_eq!(*best(&scores, None, None, 5).unwrap(), [4, 1, 3, 0, 2]);
        assert!(best(&scores, None, None, 6).is_err());
        let numbers = [9, 7, 8, 3, 5];
        assert_eq!(*best(&scores, None, Some(&numbers), 3).unwrap(), [4, 3, 1]);
        for number in [0, 65_535, 65_536, u32::MAX] {
            assert_eq!(number_of(&halves_of(number)), number);
        }
    }

    #[test]
    fn vertices_that_are_not_there_come_last() {
        let scores = [0.1, 0.5, -0.3, 0.5, 0.9];
        let mask = [1.0, 0.0, 1.0, 1.0, 0.0];
        assert_eq!(*best(&scores, Some(&mask), None, 4).unwrap(), [3, 0, 2, 4]);
    }
}
