//! What a model hands from one frame to the next: hidden states, evolved weights.

use zoetrope_tensor::{Kept, Matrix, Tape, TensorError, Var};

/// The most matrices that a model may carry.
pub const MAX_CARRIED: usize = 16;

/// The carried matrices of a model on a tape, in an order that the model decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    vars: [Option<Var>; MAX_CARRIED],
}

impl State {
    /// The matrix at a place; None at the start of a sequence.
    pub fn get(&self, place: usize) -> Option<Var> {
        self.vars[place]
    }

    /// Puts a matrix at a place.
    pub fn set(&mut self, place: usize, var: Var) {
        self.vars[place] = Some(var);
    }

    /// The matrix at a place, or zeros.
    pub fn or_zeros(&self, place: usize, tape: &mut Tape, rows: usize, cols: usize) -> Var {
        self.get(place).unwrap_or_else(|| tape.zeros(rows, cols))
    }

    /// Copies the values off the tape, so that they survive its reset without their history. They
    /// stay on the tape's device.
    pub fn detach(&self, tape: &Tape, carried: &mut Carried) {
        for (var, place) in self.vars.iter().zip(&mut carried.matrices) {
            match *var {
                None => *place = None,
                Some(var) => tape.keep(var, place),
            }
        }
    }
}

/// Carried matrices between tapes.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    matrices: [Option<Kept>; MAX_CARRIED],
}

impl Carried {
    /// Puts the matrices onto a tape as constants.
    ///
    /// # Errors
    /// None in practice: the values fit their shape.
    pub fn attach(&self, tape: &mut Tape) -> Result<State, TensorError> {
        let mut state = State::default();
        for (place, kept) in self.matrices.iter().enumerate() {
            if let Some(kept) = kept {
                state.set(place, tape.put(kept)?);
            }
        }
        Ok(state)
    }

    /// Forgets everything: the next frame starts a sequence.
    pub fn clear(&mut self) {
        self.matrices = Default::default();
    }

    /// The matrices and their places, on the host.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Matrix)> {
        let places = self.matrices.iter().enumerate();
        places.filter_map(|(place, kept)| Some((place, kept.as_ref()?.to_matrix())))
    }

    /// Puts a matrix at a place (from a checkpoint).
    pub fn set(&mut self, place: usize, matrix: &Matrix) {
        self.matrices[place] = Some(Kept::from(matrix));
    }
}
