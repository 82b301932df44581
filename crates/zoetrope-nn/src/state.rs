//! What a model hands from one frame to the next: hidden states, evolved weights.

use zoetrope_tensor::{Kept, Matrix, Tape, TensorError, Var};

/// The most matrices that a model may carry.
pub const MAX_CARRIED: usize = 16;

/// The carried matrices of a model on a tape, in an order that the model decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct State {
    vars: [Option<Var>; MAX_CARRIED],
    before: usize,
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

    /// The snapshots of the sequence that the state comes from.
    pub fn before(&self) -> usize {
        self.before
    }

    /// Counts snapshots that were gone through.
    pub fn advance(&mut self, steps: usize) {
        self.before += steps;
    }

    /// The matrices and their places.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Var)> {
        self.vars.iter().enumerate().filter_map(|(place, var)| Some((place, (*var)?)))
    }

    /// The matrix at a place, or zeros.
    pub fn or_zeros(&self, place: usize, tape: &mut Tape, rows: usize, cols: usize) -> Var {
        self.get(place).unwrap_or_else(|| tape.zeros(rows, cols))
    }

    /// Copies the values off the tape, so that they survive its reset without their history. They
    /// stay on the tape's device.
    pub fn detach(&self, tape: &Tape, carried: &mut Carried) {
        carried.before = self.before;
        for (var, place) in self.vars.iter().zip(&mut carried.matrices) {
            match *var {
                None => *place = None,
                Some(var) => tape.keep(var, place),
            }
        }
    }

    /// Copies the gradients of matrices that were attached as variables off the tape.
    pub fn detach_gradients(&self, tape: &Tape, gradients: &mut Carried) {
        for (var, place) in self.vars.iter().zip(&mut gradients.matrices) {
            match *var {
                None => *place = None,
                Some(var) => tape.keep_gradient(var, place),
            }
        }
    }
}

/// Carried matrices between tapes.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    matrices: [Option<Kept>; MAX_CARRIED],
    before: usize,
}

impl Carried {
    /// Puts the matrices onto a tape as constants.
    ///
    /// # Errors
    /// None in practice: the values fit their shape.
    pub fn attach(&self, tape: &mut Tape) -> Result<State, TensorError> {
        self.attach_by(|kept| tape.put(kept))
    }

    /// The same as variables, whose gradients [`State::detach_gradients`] takes off the tape.
    ///
    /// # Errors
    /// None in practice: the values fit their shape.
    pub fn attach_variables(&self, tape: &mut Tape) -> Result<State, TensorError> {
        self.attach_by(|kept| tape.put_variable(kept))
    }

    fn attach_by(
        &self,
        mut put: impl FnMut(&Kept) -> Result<Var, TensorError>,
    ) -> Result<State, TensorError> {
        let mut state = State { before: self.before, ..State::default() };
        for (place, kept) in self.matrices.iter().enumerate() {
            if let Some(kept) = kept {
                state.set(place, put(kept)?);
            }
        }
        Ok(state)
    }

    /// The matrix at a place.
    pub fn get(&self, place: usize) -> Option<&Kept> {
        self.matrices[place].as_ref()
    }

    /// Forgets everything: the next frame starts a sequence.
    pub fn clear(&mut self) {
        *self = Self::default();
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
