//! Values that outlive the tape they were computed on, on the device where they were computed.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::TensorError;
use crate::matrix::{Matrix, Shape};
use crate::tape::{Op, Tape, Value, Var};

/// A matrix off the tape.
#[derive(Debug, Clone)]
pub struct Kept {
    shape: Shape,
    values: Buffer,
}

impl Kept {
    /// Rows and columns.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn values(&self) -> &Buffer {
        &self.values
    }

    /// A copy on the host; waits for a device.
    pub fn to_matrix(&self) -> Matrix {
        let Shape { rows, cols } = self.shape;
        let mut matrix = Matrix::zeros(rows, cols);
        self.values.read(matrix.as_mut_slice());
        matrix
    }
}

impl From<&Matrix> for Kept {
    fn from(matrix: &Matrix) -> Self {
        Self { shape: matrix.shape(), values: Buffer::from_slice(matrix.as_slice()) }
    }
}

impl Tape {
    /// Copies the values of a matrix off the tape; a block of the right size is used again.
    pub fn keep(&self, var: Var, place: &mut Option<Kept>) {
        let kept = self.room(self.shape(var), place);
        match self.gpu() {
            None => kept.values.as_mut_slice().copy_from_slice(self.value(var)),
            Some(gpu) => gpu.copy(self.view(var), kept.values.view_mut()),
        }
    }

    /// Copies the gradient of a leaf off the tape after a backward pass; None if nothing flowed
    /// there.
    pub fn keep_gradient(&self, var: Var, place: &mut Option<Kept>) {
        let Some(gradient) = self.gradient_block(var) else {
            *place = None;
            return;
        };
        let kept = self.room(self.shape(var), place);
        match self.gpu() {
            None => kept.values.as_mut_slice().copy_from_slice(gradient.as_slice()),
            Some(gpu) => gpu.copy(gradient.view(), kept.values.view_mut()),
        }
    }

    /// A matrix of a shape, the old one if it fits.
    fn room<'p>(&self, shape: Shape, place: &'p mut Option<Kept>) -> &'p mut Kept {
        let fits = |kept: &Kept| kept.shape == shape && kept.values.is_on(self.device());
        if !place.as_ref().is_some_and(fits) {
            let values = match self.device() {
                Device::Cpu => Buffer::zeroed(shape.len()),
                Device::Cuda(gpu) => Buffer::on_device(gpu, shape.len()),
            };
            *place = Some(Kept { shape, values });
        }
        place.as_mut().expect("made above")
    }

    /// A constant with the values of a matrix off the tape.
    ///
    /// # Errors
    /// None in practice: the values fit their shape.
    pub fn put(&mut self, kept: &Kept) -> Result<Var, TensorError> {
        let Shape { rows, cols } = kept.shape;
        if !kept.values.is_on(self.device()) {
            return self.copied(rows, cols, &kept.values.to_vec());
        }
        let mut buffer = self.pool.take(kept.shape.len());
        match self.gpu() {
            None => buffer.as_mut_slice().copy_from_slice(kept.values.as_slice()),
            Some(gpu) => gpu.copy(kept.values.view(), buffer.view_mut()),
        }
        Ok(self.push(Op::Leaf, kept.shape, Value::Owned(buffer), None, false))
    }

    /// The same as a leaf whose gradient is wanted.
    ///
    /// # Errors
    /// None in practice: the values fit their shape.
    pub fn put_variable(&mut self, kept: &Kept) -> Result<Var, TensorError> {
        let var = self.put(kept)?;
        self.nodes[var.index as usize].needs_gradient = true;
        Ok(var)
    }
}
