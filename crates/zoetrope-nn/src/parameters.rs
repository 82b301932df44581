//! The parameters of a model: names as in the reference `state_dict`, shapes, values.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zoetrope_graph::random::Random;
use zoetrope_tensor::cuda::ParameterBlock;
use zoetrope_tensor::{Gpu, Matrix};

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

    /// The parameter at a position of the table.
    pub(crate) fn at(index: u32) -> Self {
        Self(index)
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
///
/// A GPU that computes with them has a copy, brought up to date before it is used. An optimiser
/// that works on the GPU changes that copy alone: [`Parameters::refresh`] brings the values back.
#[derive(Debug, Default)]
pub struct Parameters {
    entries: Vec<Parameter>,
    /// Values that were counted and not made.
    counted: u64,
    /// Another number for every state of the values, whichever table has them.
    stamp: u64,
    device: Mutex<Option<OnDevice>>,
}

/// The copy of a GPU, and the state of the values that it was made from.
#[derive(Debug)]
struct OnDevice {
    block: Arc<ParameterBlock>,
    stamp: u64,
}

fn fresh_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Clone for Parameters {
    /// The values; the clone has no copy on a GPU until it is used there.
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            counted: self.counted,
            stamp: self.stamp,
            device: Mutex::default(),
        }
    }

    /// Takes the values and keeps the block of the GPU, which is brought up to date when next used.
    fn clone_from(&mut self, source: &Self) {
        self.entries.clone_from(&source.entries);
        self.stamp = source.stamp;
    }
}

impl Parameters {
    /// The copy on a GPU, up to date.
    pub fn on(&self, gpu: &Gpu) -> Arc<ParameterBlock> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let lengths = || self.entries.iter().map(|entry| entry.matrix.shape().len());
        let fits = |kept: &&mut OnDevice| {
            let ranges = kept.block.ranges();
            kept.block.gpu() == gpu && ranges.iter().map(|range| range.len()).eq(lengths())
        };
        let kept = match device.as_mut().filter(fits) {
            Some(kept) => kept,
            None => {
                let block = Arc::new(ParameterBlock::new(gpu, lengths()));
                device.insert(OnDevice { block, stamp: 0 })
            }
        };
        if kept.stamp != self.stamp {
            for (slot, entry) in self.entries.iter().enumerate() {
                kept.block.values_of(slot).write(entry.matrix.as_slice());
            }
            kept.stamp = self.stamp;
        }
        Arc::clone(&kept.block)
    }

    /// Takes the values from the GPU, if there is a copy on one; waits for it.
    pub fn refresh(&mut self) {
        let device = self.device.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = device.as_mut().filter(|kept| kept.stamp == self.stamp) else { return };
        let values = kept.block.values().to_vec();
        for (entry, range) in self.entries.iter_mut().zip(kept.block.ranges()) {
            entry.matrix.as_mut_slice().copy_from_slice(&values[range.clone()]);
        }
        self.stamp = fresh_stamp();
        kept.stamp = self.stamp;
    }

    /// The values of a parameter.
    pub fn get(&self, id: ParameterId) -> &Matrix {
        &self.entries[id.index()].matrix
    }

    /// The values of a parameter, to be changed.
    pub fn get_mut(&mut self, id: ParameterId) -> &mut Matrix {
        self.stamp = fresh_stamp();
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
        self.stamp = fresh_stamp();
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

    /// The values that a builder counted instead of making them.
    pub fn counted(&self) -> u64 {
        self.counted
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
    /// Whether values are counted instead of made.
    counts: bool,
}

impl<'a> Builder<'a> {
    /// A builder at the root, drawing first values from `seed`.
    pub fn new(parameters: &'a mut Parameters, seed: u64) -> Self {
        Self { parameters, prefix: String::new(), seed, counts: false }
    }

    /// A builder that adds parameters without values and counts how many they would have
    /// ([`Parameters::counted`]), so that a network can be refused before it is made.
    pub fn counting(parameters: &'a mut Parameters) -> Self {
        Self { parameters, prefix: String::new(), seed: 0, counts: true }
    }

    /// A builder for a part: its names begin with `name` and a dot.
    pub fn child(&mut self, name: &str) -> Builder<'_> {
        let prefix = format!("{}{name}.", self.prefix);
        Builder { parameters: self.parameters, prefix, seed: self.seed, counts: self.counts }
    }

    /// The position in the table of the parameter that is added next.
    pub(crate) fn position(&self) -> usize {
        self.parameters.len()
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
        let rows = dims.split_last().map_or(1, |(_, rest)| rest.iter().product::<usize>());
        let mut matrix = Matrix::zeros(if self.counts { 0 } else { rows }, cols);
        if self.counts {
            let values = dims.iter().fold(1_u64, |all, &size| all.saturating_mul(size as u64));
            self.parameters.counted = self.parameters.counted.saturating_add(values);
        } else {
            let random = Random::new(self.seed, STREAM).at_step(id.0);
            let high = if dims.len() < 2 { 1 } else { dims[dims.len() - 2] };
            initialise.fill(random, high, cols, matrix.as_mut_slice());
        }
        let name = format!("{}{name}", self.prefix);
        self.parameters.stamp = fresh_stamp();
        self.parameters.entries.push(Parameter { name, dims: dims.to_vec(), role, matrix });
        id
    }
}
