//! Values that outlive the tape they were computed on, on the device where they were computed.

use crate::buffer::Buffer;
use crate::cuda::{Consumer, Gpu};
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

    pub(crate) fn values(&self) -> &Buffer {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut Buffer {
        &mut self.values
    }

    /// A matrix of a shape with unspecified values, in the old block if that has room for it: who wrote it
    /// down finds it at the same address.
    fn room_on<'p>(device: &Device, shape: Shape, place: &'p mut Option<Self>) -> &'p mut Self {
        let before = place.take().filter(|kept| kept.values.is_on(device));
        let values = match before {
            Some(kept) if kept.shape == shape => kept.values,
            Some(kept) if kept.values.room() >= shape.len() => kept.values.reshaped(shape.len()),
            _ => match device {
                Device::Cpu => Buffer::zeroed(shape.len()),
                Device::Cuda(gpu) => {
                    gpu.charging(Consumer::States, || Buffer::on_device(gpu, shape.len()))
                }
            },
        };
        place.insert(Self { shape, values })
    }

    /// The same on a GPU.
    pub(crate) fn room_for<'p>(
        gpu: &Gpu,
        shape: Shape,
        place: &'p mut Option<Self>,
    ) -> &'p mut Self {
        Self::room_on(&Device::Cuda(gpu.clone()), shape, place)
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
        let kept = Kept::room_on(self.device(), self.shape(var), place);
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
        let kept = Kept::room_on(self.device(), self.shape(var), place);
        match self.gpu() {
            None => kept.values.as_mut_slice().copy_from_slice(gradient.as_slice()),
            Some(gpu) => gpu.copy(gradient.view(), kept.values.view_mut()),
        }
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
