//! The whole state of a run, to and from a checkpoint.

use zoetrope_tensor::Matrix;

use super::Session;
use crate::checkpoint::{SavedState, SavedTensor};
use crate::error::TrainError;
use crate::learner::unfit;
use crate::training_run::Checkpointed;

impl Checkpointed for Session {
    fn save(&self) -> SavedState {
        let hidden = self.carried.iter().map(|(place, matrix)| {
            let shape = matrix.shape();
            let dims = vec![shape.rows, shape.cols];
            (place.to_string(), SavedTensor::new(dims, matrix.as_slice().to_vec()))
        });
        let seed = self.config.train.seed;
        self.learner.save(&self.network.parameters, seed, hidden.collect())
    }

    fn restore(&mut self, state: SavedState) -> Result<(), TrainError> {
        let seed = self.config.train.seed;
        let hidden = self.learner.restore(&mut self.network.parameters, seed, state)?;
        self.carried.clear();
        for (place, tensor) in &hidden {
            let place: usize = place.parse().map_err(|_| unfit(place))?;
            let &[rows, cols] = tensor.dims() else { return Err(unfit("the hidden state")) };
            self.carried.set(place, &Matrix::from_slice(rows, cols, tensor.data())?);
        }
        Ok(())
    }
}
