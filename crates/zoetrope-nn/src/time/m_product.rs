//! The M-product along time: an average over the last snapshots, without parameters.
//!
//! Malik, Ubaru, Horesh, Kilmer and Avron, "Dynamic graph convolutional networks using the tensor
//! M-product", SDM 2021, with the band matrix of ESDG section 5.3.

use std::collections::HashMap;
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
/// begins a sequence of its own: nothing of earlier frames enters. A frame that is computed in blocks
/// hands the last `w - 1` inputs of a block to the next one. A vertex that is not there counts as zeros.
#[derive(Debug)]
pub struct MProduct {
    bandwidth: usize,
    width: usize,
    /// `M` by the steps, and those carried: frames are of one length, and their blocks of a few. What is kept
    /// keeps its copy on a GPU, so that a recording finds it again.
    matrices: Mutex<HashMap<[usize; 2], SparseGroup>>,
}

impl MProduct {
    /// An average over `bandwidth` snapshots, the present one included, of features of `width`.
    pub fn new(bandwidth: usize, width: usize) -> Self {
        Self { bandwidth: bandwidth.max(1), width, matrices: Mutex::default() }
    }

    fn matrix(&self, steps: usize, carried: usize) -> Result<SparseGroup, NnError> {
        // Matrices are put in as a whole, so a panic elsewhere cannot leave half of one.
        let mut kept = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        let size = [steps, carried];
        if let Some(matrix) = kept.get(&size) {
            return Ok(matrix.clone());
        }
        let matrix = SparseMatrix::new(band(carried + steps, carried, self.bandwidth)?);
        let group = SparseGroup::new(Arc::new([Arc::new(matrix)]));
        Ok(kept.entry(size).or_insert(group).clone())
    }
}

/// The band of `steps` steps; the first `carried` of them only serve later ones, and are not averaged
/// themselves.
fn band(steps: usize, carried: usize, bandwidth: usize) -> Result<Csr, NnError> {
    let (mut offsets, mut columns, mut values) = (vec![0; carried + 1], Vec::new(), Vec::new());
    for step in carried..steps {
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
        1
    }

    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError> {
        let Sequence { mut rows, steps, vertices, mask, .. } = sequence;
        let tape = &mut *forward.tape;
        if let Some(mask) = mask {
            rows = tape.row_scale(rows, mask)?;
        }
        // As many as there are: near the start of a frame the window is shorter, and so are averages.
        let carried = (self.bandwidth - 1).min(state.before());
        if let Some(last) = state.get(place).filter(|_| carried > 0) {
            rows = tape.concat_rows(&[last, rows])?;
        }
        let all = carried + steps;
        let matrix = self.matrix(steps, carried)?;
        let flat = tape.reshape(rows, all, vertices * self.width)?;
        let mixed = tape.spmm(&matrix, flat)?;
        let mixed = tape.reshape(mixed, all * vertices, self.width)?;
        let passed = (self.bandwidth - 1).min(all);
        if passed > 0 {
            state.set(place, tape.rows(rows, (all - passed) * vertices..all * vertices)?);
        }
        match carried {
            0 => Ok(mixed),
            _ => Ok(tape.rows(mixed, carried * vertices..all * vertices)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_band_averages_the_steps_that_there_are() {
        let matrix = band(4, 0, 2).unwrap();
        assert_eq!(matrix.row(0), (&[0][..], &[1.0][..]));
        assert_eq!(matrix.row(3), (&[2, 3][..], &[0.5, 0.5][..]));
        assert_eq!(band(3, 0, 9).unwrap().row(2).1, [1.0 / 3.0; 3]);
        // The second of two blocks of two steps.
        let later = band(3, 1, 2).unwrap();
        assert_eq!((later.row(0).1.len(), later.row(1)), (0, (&[0, 1][..], &[0.5, 0.5][..])));
    }
}
