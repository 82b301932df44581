//! The vertices that score best, as the input of a weight that evolves.

use std::borrow::Cow;
use std::sync::Arc;

use zoetrope_tensor::{Activation, Tape, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

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
        let best = best(&on_host(tape, scores), mask.as_deref(), self.count)?;
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

fn best(scores: &[f32], mask: Option<&[f32]>, count: usize) -> Result<Arc<Vec<u32>>, NnError> {
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
        there.then_with(score).then_with(|| a.cmp(&b))
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
        assert_eq!(*best(&scores, None, 3).unwrap(), [4, 1, 3]);
        assert_eq!(*best(&scores, None, 5).unwrap(), [4, 1, 3, 0, 2]);
        assert!(best(&scores, None, 6).is_err());
    }

    #[test]
    fn vertices_that_are_not_there_come_last() {
        let scores = [0.1, 0.5, -0.3, 0.5, 0.9];
        let mask = [1.0, 0.0, 1.0, 1.0, 0.0];
        assert_eq!(*best(&scores, Some(&mask), 4).unwrap(), [3, 0, 2, 4]);
    }
}
