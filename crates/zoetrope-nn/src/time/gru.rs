//! A gated recurrent unit over the sequence of each vertex (Cho and others, EMNLP 2014).

use zoetrope_tensor::{Evolution, GruKind, Var};

use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Recurrence;
use crate::parameters::Builder;
use crate::state::State;

/// `r, z = σ(W x + b + U h + c)`, `n = tanh(W x + b + r∘(U h + c))`, `h' = (1−z)∘n + z∘h`; names as
/// PyTorch's `GRU` with one layer.
///
/// From `T·N × in` to `T·N × H`. Parameters: those of a [`Recurrence`] of three gates.
#[derive(Debug, Clone, Copy)]
pub struct Gru {
    recurrence: Recurrence,
    hidden: usize,
}

impl Gru {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, hidden: usize) -> Self {
        Self { recurrence: Recurrence::new(builder, 3, inputs, hidden), hidden }
    }

    /// The unit as one whose input is its own state, which takes as many inputs as it has states.
    pub(super) fn as_evolution(&self, forward: &mut Forward<'_>) -> Evolution {
        self.recurrence.as_evolution(forward)
    }

    /// The states after each step, from `state` (`N × H`) on.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn run(
        &self,
        forward: &mut Forward<'_>,
        x: Var,
        state: Var,
        mask: Option<Var>,
    ) -> Result<Var, NnError> {
        let input = self.recurrence.input(forward, x);
        let [weight, bias] = self.recurrence.recurrent(forward);
        Ok(forward.tape.gru(GruKind::ResetAfter, input, state, weight, Some(bias), mask)?)
    }
}

impl TimeEncoder for Gru {
    fn width(&self) -> usize {
        self.hidden
    }

    fn carried(&self) -> usize {
        1
    }

    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let Sequence { rows, steps, vertices, mask, .. } = sequence;
        let first = state.or_zeros(place, forward.tape, vertices, self.hidden);
        let states = self.run(forward, rows, first, mask)?;
        state.set(place, forward.tape.rows(states, (steps - 1) * vertices..steps * vertices)?);
        Ok(states)
    }
}
