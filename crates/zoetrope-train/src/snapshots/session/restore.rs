//! The whole state of a run, to and from a checkpoint.

use zoetrope_run::checkpoint::{SavedState, SavedTensor};
use zoetrope_tensor::Matrix;

use super::Session;
use crate::error::TrainError;
use crate::learner::unfit;
use crate::training_run::Checkpointed;

/// The name of a matrix of a rank, if ranks share cells: each has a state of its own.
fn name_of(place: usize, rank: usize) -> String {
    format!("{place}.{rank}")
}

fn saved(rows: usize, cols: usize, values: &[f32]) -> SavedTensor {
    SavedTensor::new(vec![rows, cols], values.to_vec())
}

impl Session {
    /// Brings the hidden states of all ranks that share cells to each of them, so that the first can save them.
    pub(super) fn gather_hidden(&mut self) -> Result<(), TrainError> {
        self.hidden_of_ranks.clear();
        let Some(sharing) = self.runner.sharing().filter(|_| self.config.train.carry_state) else {
            return Ok(());
        };
        for (place, matrix) in self.carried.iter() {
            let (cols, all) =
                (matrix.shape().cols, sharing.ranks.all_gather_varied(matrix.as_slice())?);
            for (rank, values) in all.iter().enumerate() {
                let rows = values.len() / cols.max(1);
                self.hidden_of_ranks.push((name_of(place, rank), saved(rows, cols, values)));
            }
        }
        Ok(())
    }
}

impl Checkpointed for Session {
    fn save(&self) -> SavedState {
        let hidden = if self.hidden_of_ranks.is_empty() {
            let own = self.carried.iter().map(|(place, matrix)| {
                let shape = matrix.shape();
                (place.to_string(), saved(shape.rows, shape.cols, matrix.as_slice()))
            });
            own.collect()
        } else {
            self.hidden_of_ranks.iter().cloned().collect()
        };
        let seed = self.config.train.seed;
        self.learner.save(&self.network.parameters, seed, hidden)
    }

    fn restore(&mut self, state: SavedState) -> Result<(), TrainError> {
        let seed = self.config.train.seed;
        let hidden = self.learner.restore(&mut self.network.parameters, seed, state)?;
        self.carried.clear();
        let own = self.rank().to_string();
        for (name, tensor) in &hidden {
            let (place, rank) = name.split_once('.').unwrap_or((name.as_str(), own.as_str()));
            if rank != own {
                continue;
            }
            let place: usize = place.parse().map_err(|_| unfit(name))?;
            let &[rows, cols] = tensor.dims() else { return Err(unfit("the hidden state")) };
            self.carried.set(place, &Matrix::from_slice(rows, cols, tensor.data())?);
        }
        Ok(())
    }
}
