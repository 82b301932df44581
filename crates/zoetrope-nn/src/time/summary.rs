//! The vertices that score best, as the input of a weight that evolves.

use std::sync::Arc;

use zoetrope_tensor::{Activation, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `k` rows of `x` with the largest scores `s = tanh(x·p / ‖p‖)`, best first, each times its score
/// (EvolveGCN section 3.4; PyG's `TopKPooling`). Equal scores: the vertex with the lower number.
///
/// The choice itself has no gradient; the scores of the chosen have.
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

    /// From `N × in` to `k × in`.
    ///
    /// # Errors
    /// Where there are fewer than `k` vertices.
    pub fn of(&self, forward: &mut Forward<'_>, x: Var) -> Result<Var, NnError> {
        let scorer = forward.parameter(self.scorer);
        let tape = &mut *forward.tape;
        let direction = tape.unit_vector(scorer)?;
        let scores = tape.linear(x, direction, None, Activation::Tanh)?;
        let best = best(tape.value(scores), self.count)?;
        let rows = tape.gather(x, &best)?;
        let factors = tape.gather(scores, &best)?;
        Ok(tape.row_scale(rows, factors)?)
    }
}

fn best(scores: &[f32], count: usize) -> Result<Arc<Vec<u32>>, NnError> {
    if scores.len() < count {
        return Err(NnError::Option {
            model: "evolvegcn-h",
            option: "the width of a layer",
            expected: format!("at most the number of vertices, {}", scores.len()),
            got: count.to_string(),
        });
    }
    let before = |&a: &u32, &b: &u32| {
        scores[b as usize].total_cmp(&scores[a as usize]).then_with(|| a.cmp(&b))
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
        assert_eq!(*best(&scores, 3).unwrap(), [4, 1, 3]);
        assert_eq!(*best(&scores, 5).unwrap(), [4, 1, 3, 0, 2]);
        assert!(best(&scores, 6).is_err());
    }
}
