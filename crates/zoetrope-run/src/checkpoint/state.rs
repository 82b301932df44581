//! What a checkpoint holds.

use std::collections::BTreeMap;

use super::cursor::Cursor;
use crate::error::RunError;

/// Tensors by name, in the order of the names.
pub type Tensors = BTreeMap<String, SavedTensor>;

/// An array of numbers with its shape, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedTensor {
    dims: Vec<usize>,
    data: Vec<f32>,
}

impl SavedTensor {
    /// An array of the given shape; no dimension at all is a single number.
    ///
    /// # Panics
    /// If the shape asks for another number of values.
    pub fn new(dims: Vec<usize>, data: Vec<f32>) -> Self {
        let asked = dims.iter().try_fold(1usize, |size, &dim| size.checked_mul(dim));
        assert_eq!(asked, Some(data.len()), "a saved tensor of shape {dims:?}");
        Self { dims, data }
    }

    /// The shape.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The values, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The values, without the shape.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }
}

/// Everything that a run needs to continue to the same bits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SavedState {
    /// Parameters and buffers under their state_dict names.
    pub weights: Tensors,
    /// State of the optimiser, for example `linear.weight.m`.
    pub optimiser: Tensors,
    /// Hidden state that is carried between frames.
    pub hidden: Tensors,
    /// Where the run stands.
    pub cursor: Cursor,
}

impl SavedState {
    /// The groups of tensors with the stems of their files.
    pub(super) fn groups(&self) -> [(&'static str, &Tensors); 3] {
        [("weights", &self.weights), ("optimiser", &self.optimiser), ("hidden", &self.hidden)]
    }

    /// Refuses values that are not finite.
    ///
    /// # Errors
    /// [`RunError::Diverged`] with the first one found.
    pub fn check_finite(&self) -> Result<(), RunError> {
        let step = self.cursor.step;
        for (group, tensors) in self.groups() {
            for (name, tensor) in tensors {
                if let Some(index) = tensor.data.iter().position(|value| !value.is_finite()) {
                    let value = f64::from(tensor.data[index]);
                    let what = format!("{group} {name}");
                    return Err(RunError::Diverged { what, index, value, step });
                }
            }
        }
        let losses = self.cursor.epochs.iter().map(|epoch| ("loss", epoch.loss));
        let numbers = self.cursor.numbers.iter().map(|(name, &value)| (name.as_str(), value));
        for (index, (name, value)) in losses.chain(numbers).enumerate() {
            if !value.is_finite() {
                return Err(RunError::Diverged { what: name.into(), index, value, step });
            }
        }
        Ok(())
    }
}
