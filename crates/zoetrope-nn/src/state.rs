//! What a model hands from one frame to the next: hidden states, evolved weights.

use std::ops::Range;

use zoetrope_tensor::cuda::Stored;
use zoetrope_tensor::{Gpu, Kept, Matrix, Shape, Tape, TensorError, Var};

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

    /// What is carried of some vertices.
    ///
    /// # Errors
    /// If a carried matrix has no such rows.
    pub fn of_vertices(&self, tape: &mut Tape, own: Range<usize>) -> Result<Self, TensorError> {
        let mut part = *self;
        for var in part.vars.iter_mut().flatten() {
            *var = tape.rows(*var, own.clone())?;
        }
        Ok(part)
    }

    /// Takes what is carried of all vertices from what is carried of some, one after the other.
    ///
    /// # Errors
    /// If the widths differ.
    pub fn join(&mut self, tape: &mut Tape, parts: &[Self]) -> Result<(), TensorError> {
        for (place, var) in self.vars.iter_mut().enumerate() {
            let carried: Option<Vec<Var>> = parts.iter().map(|part| part.vars[place]).collect();
            if let Some(carried) = carried.filter(|carried| !carried.is_empty()) {
                *var = Some(tape.concat_rows(&carried)?);
            }
        }
        Ok(())
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

    /// The number of values of all matrices.
    pub fn values(&self) -> usize {
        self.matrices.iter().flatten().map(|kept| kept.shape().len()).sum()
    }

    /// The shapes of all matrices.
    pub fn shapes(&self) -> StateShapes {
        let shape = |kept: &Option<Kept>| kept.as_ref().map(Kept::shape);
        StateShapes { matrices: self.matrices.each_ref().map(shape), before: self.before }
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

/// The shapes of carried matrices, which a recording of what writes them does not bring along.
#[derive(Debug, Clone)]
pub struct StateShapes {
    matrices: [Option<Shape>; MAX_CARRIED],
    before: usize,
}

/// Carried matrices of a GPU that wait on the host, copied there and back beside computing.
#[derive(Debug, Default)]
pub struct StoredState {
    matrices: [Option<Stored>; MAX_CARRIED],
    before: usize,
}

impl StoredState {
    /// Begins to copy matrices of these shapes to the host. They may not be changed before [`settle`](Self::settle).
    ///
    /// # Panics
    /// If one of them is not on the GPU, or never was so large.
    pub fn store(&mut self, gpu: &Gpu, carried: &Carried, shapes: &StateShapes) {
        self.before = shapes.before;
        let matrices = carried.matrices.iter().zip(&shapes.matrices);
        for ((kept, shape), place) in matrices.zip(&mut self.matrices) {
            match (kept, shape) {
                (Some(kept), Some(shape)) => Stored::store(gpu, kept, *shape, place),
                _ => *place = None,
            }
        }
    }

    /// Begins to copy them back. They may not be read before [`settle`](Self::settle).
    pub fn fetch(&mut self, carried: &mut Carried) {
        carried.before = self.before;
        for (stored, place) in self.matrices.iter_mut().zip(&mut carried.matrices) {
            match stored {
                None => *place = None,
                Some(stored) => stored.fetch(place),
            }
        }
    }

    /// Lets what is launched from here on come after these copies.
    pub fn settle(&self) {
        self.matrices.iter().flatten().for_each(Stored::settle);
    }

    /// The bytes of the matrices.
    pub fn bytes(&self) -> usize {
        self.matrices.iter().flatten().map(Stored::bytes).sum()
    }
}
