//! The M-product along time: an average over the last snapshots, without parameters.
//!
//! Malik, Ubaru, Horesh, Kilmer and Avron, "Dynamic graph convolutional networks using the tensor
//! M-product", SDM 2021, with the band matrix of ESDG section 5.3.

use std::sync::{Arc, Mutex, PoisonError};

use zoetrope_graph::Csr;
use zoetrope_tensor::{SparseGroup, SparseMatrix, Var};

use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::state::State;

/// `Y_t = 1/min(w, t) · Σ X_k` over `max(1, t−w+1) ≤ k ≤ t`, from `T·N × F` to the same.
///
/// As a matrix: `M·X` with the lower band matrix `M` (`T × T`) over `X` seen as `T × N·F`. A frame
/// begins a sequence of its own: nothing of earlier frames enters. A vertex that is not there counts
/// as zeros.
#[derive(Debug)]
pub struct MProduct {
    bandwidth: usize,
    width: usize,
    /// `M` for the number of steps that was asked for last: frames are of one length.
    matrix: Mutex<Option<SparseGroup>>,
}

impl MProduct {
    /// An average over `bandwidth` snapshots, the present one included, of features of `width`.
    pub fn new(bandwidth: usize, width: usize) -> Self {
        Self { bandwidth: bandwidth.max(1), width, matrix: Mutex::new(None) }
    }

    fn matrix(&self, steps: usize) -> Result<SparseGroup, NnError> {
        // What the lock guards is replaced as a whole, so a panic elsewhere cannot leave half of it.
        let mut kept = self.matrix.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matrix) = kept.as_ref().filter(|matrix| matrix.vertices() == steps) {
            return Ok(matrix.clone());
        }
        let matrix = SparseMatrix::new(band(steps, self.bandwidth)?);
        let group = SparseGroup::new(Arc::new([Arc::new(matrix)]));
        Ok(kept.insert(group).clone())
    }
}

fn band(steps: usize, bandwidth: usize) -> Result<Csr, NnError> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for step in 0..steps {
        let first = (step + 1).saturating_sub(bandwidth);
        columns.extend(first as u32..=step as u32);
        values.resize(columns.len(), 1.0 / (step + 1 - first) as f32);
        offsets.push(columns.len() as u32);
    }
    Ok(Csr::new(steps as u32, steps as u32, offsets, columns, values)?)
}

impl TimeEncoder for MProduct {
    fn width(&self) -> usize {
        self.width
    }

    fn carried(&self) -> usize {
        0
    }

    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        _: &mut State,
        _: usize,
    ) -> Result<Var, NnError> {
        let Sequence { mut rows, steps, vertices, mask } = sequence;
        let matrix = self.matrix(steps)?;
        let tape = &mut *forward.tape;
        if let Some(mask) = mask {
            rows = tape.row_scale(rows, mask)?;
        }
        let flat = tape.reshape(rows, steps, vertices * self.width)?;
        let mixed = tape.spmm(&matrix, flat)?;
        Ok(tape.reshape(mixed, steps * vertices, self.width)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_band_averages_the_steps_that_there_are() {
        let matrix = band(4, 2).unwrap();
        assert_eq!(matrix.row(0), (&[0][..], &[1.0][..]));
        assert_eq!(matrix.row(3), (&[2, 3][..], &[0.5, 0.5][..]));
        assert_eq!(band(3, 9).unwrap().row(2).1, [1.0 / 3.0; 3]);
    }
}
