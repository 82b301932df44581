//! The parameters of a model: names as in the reference `state_dict`, shapes, values.

use zoetrope_graph::random::Random;
use zoetrope_tensor::Matrix;

use crate::initialise::Initialise;

/// The random stream of initialisations.
const STREAM: u32 = 0x696e_6974;

/// A parameter of a [`Parameters`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParameterId(u32);

impl ParameterId {
    /// The position in the table, which is also the slot on a tape.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a parameter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Changed by the optimiser.
    Weight,
    /// Kept by a layer (running statistics).
    Statistic,
    /// A counter of a layer, saved as a 64-bit integer.
    Counter,
}

/// One named array.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The name in the `state_dict`.
    pub name: String,
    /// The dimensions in the `state_dict`; the matrix folds all but the last into rows.
    pub dims: Vec<usize>,
    /// What it is for.
    pub role: Role,
    /// The values.
    pub matrix: Matrix,
}

/// The arrays of a model in the order in which its layers made them.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    entries: Vec<Parameter>,
}

impl Parameters {
    /// The values of a parameter.
    pub fn get(&self, id: ParameterId) -> &Matrix {
        &self.entries[id.index()].matrix
    }

    /// The values of a parameter, to be changed.
    pub fn get_mut(&mut self, id: ParameterId) -> &mut Matrix {
        &mut self.entries[id.index()].matrix
    }

    /// The parameter of that name.
    pub fn find(&self, name: &str) -> Option<ParameterId> {
        let at = self.entries.iter().position(|entry| entry.name == name)?;
        Some(ParameterId(at as u32))
    }

    /// All parameters.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ParameterId, &Parameter)> {
        self.entries.iter().enumerate().map(|(at, entry)| (ParameterId(at as u32), entry))
    }

    /// All parameters, to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (ParameterId, &mut Parameter)> {
        self.entries.iter_mut().enumerate().map(|(at, entry)| (ParameterId(at as u32), entry))
    }

    /// The number of arrays.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of values that the optimiser changes.
    pub fn weights(&self) -> usize {
        let weights = self.entries.iter().filter(|entry| entry.role == Role::Weight);
        weights.map(|entry| entry.matrix.shape().len()).sum()
    }
}

/// Adds the parameters of layers under a prefix.
#[derive(Debug)]
pub struct Builder<'a> {
    parameters: &'a mut Parameters,
    prefix: String,
    seed: u64,
}

impl<'a> Builder<'a> {
    /// A builder at the root, drawing first values from `seed`.
    pub fn new(parameters: &'a mut Parameters, seed: u64) -> Self {
        Self { parameters, prefix: String::new(), seed }
    }

    /// A builder for a part: its names begin with `name` and a dot.
    pub fn child(&mut self, name: &str) -> Builder<'_> {
        let prefix = format!("{}{name}.", self.prefix);
        Builder { parameters: self.parameters, prefix, seed: self.seed }
    }

    /// Adds a parameter of the given dimensions.
    pub fn weight(&mut self, name: &str, dims: &[usize], initialise: Initialise) -> ParameterId {
        self.add(name, dims, initialise, Role::Weight)
    }

    /// Adds an array that a layer keeps itself.
    pub fn statistic(&mut self, name: &str, dims: &[usize], initialise: Initialise) -> ParameterId {
        self.add(name, dims, initialise, Role::Statistic)
    }

    /// Adds a counter that a layer keeps itself.
    pub fn counter(&mut self, name: &str) -> ParameterId {
        self.add(name, &[], Initialise::Zeros, Role::Counter)
    }

    fn add(
        &mut self,
        name: &str,
        dims: &[usize],
        initialise: Initialise,
        role: Role,
    ) -> ParameterId {
        let id = ParameterId(self.parameters.entries.len() as u32);
        let cols = dims.last().copied().unwrap_or(1);
        let rows = dims.split_last().map_or(1, |(_, rest)| rest.iter().product());
        let mut matrix = Matrix::zeros(rows, cols);
        let random = Random::new(self.seed, STREAM).at_step(id.0);
        let high = if dims.len() < 2 { 1 } else { dims[dims.len() - 2] };
        initialise.fill(random, high, cols, matrix.as_mut_slice());
        let name = format!("{}{name}", self.prefix);
        self.parameters.entries.push(Parameter { name, dims: dims.to_vec(), role, matrix });
        id
    }
}
