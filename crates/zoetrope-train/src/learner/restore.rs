//! The state of a learner, to and from a checkpoint.

use std::collections::BTreeMap;

use zoetrope_nn::Parameters;
use zoetrope_nn::optimiser::{EarlyStopping, ScheduleState};
use zoetrope_nn::weights::{VERTEX_ROWS, VertexRows};

use super::{Learner, direction};
use crate::checkpoint::{Cursor, SavedState, SavedTensor, Tensors};
use crate::error::TrainError;

/// The prefix of the weights of the best epoch.
const BEST: &str = "best/";

impl Learner {
    /// Weights, optimiser, schedule and progress; `hidden` is what the session keeps besides.
    pub(crate) fn save(&self, parameters: &Parameters, seed: u64, hidden: Tensors) -> SavedState {
        let mut optimiser: Tensors = self
            .optimiser
            .state(parameters)
            .map(|(name, dims, values)| (name, SavedTensor::new(dims.to_vec(), values.to_vec())))
            .collect();
        // Not among the weights, so that their file stays a plain state_dict.
        if let Some(best) = &self.best {
            optimiser.extend(tensors(best, BEST));
        }
        SavedState {
            weights: tensors(parameters, ""),
            optimiser,
            hidden,
            cursor: self.cursor(seed),
        }
    }

    fn cursor(&self, seed: u64) -> Cursor {
        let progress = &self.progress;
        let (best_epoch, waited) = self.stopping.counters();
        let mut counters = BTreeMap::from([
            ("frames".to_owned(), progress.frames),
            ("losses".to_owned(), progress.losses),
            ("optimiser_steps".to_owned(), self.optimiser.steps()),
            ("best_epoch".to_owned(), best_epoch as u64),
            ("stopping_waited".to_owned(), waited as u64),
            ("schedule_waited".to_owned(), self.schedule.waited as u64),
            ("seed".to_owned(), seed),
        ]);
        counters.extend(self.settled_from.map(|from| ("settled_from".to_owned(), from as u64)));
        let mut numbers = BTreeMap::from([
            ("loss_sum".to_owned(), progress.loss_sum),
            ("schedule_factor".to_owned(), self.schedule.factor),
        ]);
        if let Some((_, best)) = self.stopping.best() {
            numbers.insert("stopping_best".to_owned(), best);
        }
        if let Some(best) = self.schedule.best {
            numbers.insert("schedule_best".to_owned(), best);
        }
        Cursor {
            epoch: progress.epoch,
            frame: progress.frame,
            step: self.optimiser.steps(),
            counters,
            numbers,
            parts: BTreeMap::new(),
            epochs: progress.records.clone(),
        }
    }

    /// Puts a saved state in place and returns what the session kept besides.
    ///
    /// # Errors
    /// [`TrainError::Unfit`] where the state was saved by a run of another model, data set or seed.
    pub(crate) fn restore(
        &mut self,
        parameters: &mut Parameters,
        seed: u64,
        mut state: SavedState,
    ) -> Result<Tensors, TrainError> {
        let mut best_weights = Tensors::new();
        state.optimiser.retain(|name, tensor| match name.strip_prefix(BEST) {
            Some(name) => {
                best_weights.insert(name.to_owned(), tensor.clone());
                false
            }
            None => true,
        });
        fill(parameters, &state.weights)?;
        self.best = match best_weights.is_empty() {
            true => None,
            false => {
                let mut best = parameters.clone();
                fill(&mut best, &best_weights)?;
                Some(best)
            }
        };
        let cursor = state.cursor;
        let counter = |name: &str| cursor.counters.get(name).copied().ok_or_else(|| unfit(name));
        if counter("seed")? != seed {
            return Err(unfit("train.seed"));
        }
        let steps = counter("optimiser_steps")?;
        let find = |name: &str| state.optimiser.get(name).map(SavedTensor::data);
        self.optimiser.restore(parameters, steps, find).map_err(|name| unfit(&name))?;
        let number = |name: &str| cursor.numbers.get(name).copied();
        self.schedule = ScheduleState {
            factor: number("schedule_factor").ok_or_else(|| unfit("schedule_factor"))?,
            best: number("schedule_best"),
            waited: counter("schedule_waited")? as usize,
        };
        let best = number("stopping_best");
        let (epoch, waited) = (counter("best_epoch")?, counter("stopping_waited")?);
        self.settled_from = counter("settled_from").ok().map(|from| from as usize);
        if self.settled_from.is_some() {
            self.stopping = EarlyStopping::new(direction(self.watched), None);
        }
        self.stopping.restore(best, epoch as usize, waited as usize);
        let progress = &mut self.progress;
        progress.epoch = cursor.epoch;
        progress.frame = cursor.frame;
        progress.frames = counter("frames")?;
        progress.losses = counter("losses")?;
        progress.loss_sum = number("loss_sum").ok_or_else(|| unfit("loss_sum"))?;
        progress.records = cursor.epochs;
        Ok(state.hidden)
    }
}

/// The weights of that name that the run whose checkpoint this is chose: those of its best epoch, or
/// the last ones.
pub(crate) fn saved_weights<'a>(state: &'a SavedState, name: &str) -> Option<&'a SavedTensor> {
    let chosen = state.optimiser.get(&format!("{BEST}{name}"));
    chosen.or_else(|| state.weights.get(name))
}

/// Puts the weights that a run chose in place, and nothing else of its checkpoint; `rows` says which
/// row of them belongs to which vertex, if the data has other vertices.
///
/// # Errors
/// [`TrainError::Unfit`] if they are those of another model.
pub fn put_saved_weights(
    parameters: &mut Parameters,
    state: &SavedState,
    rows: Option<&VertexRows>,
) -> Result<(), TrainError> {
    for (_, parameter) in parameters.iter_mut() {
        let saved = saved_weights(state, &parameter.name).ok_or_else(|| unfit(&parameter.name))?;
        let arranged =
            rows.filter(|_| parameter.name == VERTEX_ROWS).map(|rows| arrange(saved, rows));
        let saved = arranged.transpose()?.unwrap_or_else(|| saved.clone());
        if saved.dims() != parameter.dims {
            return Err(unfit(&parameter.name));
        }
        parameter.matrix.as_mut_slice().copy_from_slice(saved.data());
    }
    Ok(())
}

/// Brings the weights in a checkpoint that have a row for each vertex into the order of other data.
pub(crate) fn arrange_vertices(
    state: &mut SavedState,
    rows: &VertexRows,
) -> Result<(), TrainError> {
    let best = format!("{BEST}{VERTEX_ROWS}");
    let own = state.weights.get_mut(VERTEX_ROWS);
    for tensor in own.into_iter().chain(state.optimiser.get_mut(&best)) {
        *tensor = arrange(tensor, rows)?;
    }
    Ok(())
}

fn arrange(saved: &SavedTensor, rows: &VertexRows) -> Result<SavedTensor, TrainError> {
    let other = || unfit(VERTEX_ROWS);
    let &[_, width] = saved.dims() else { return Err(other()) };
    let values = rows.arrange(saved.data(), width).ok_or_else(other)?;
    Ok(SavedTensor::new(vec![rows.0.len(), width], values))
}

/// A checkpoint of another run.
pub(crate) fn unfit(what: &str) -> TrainError {
    TrainError::Unfit {
        what: format!("the checkpoint does not fit this run: {what} differs"),
        advice: "continue with the configuration of the run that saved it".to_owned(),
    }
}

fn tensors(parameters: &Parameters, prefix: &str) -> Tensors {
    let one = |parameter: &zoetrope_nn::parameters::Parameter| {
        let values = parameter.matrix.as_slice().to_vec();
        (format!("{prefix}{}", parameter.name), SavedTensor::new(parameter.dims.clone(), values))
    };
    parameters.iter().map(|(_, parameter)| one(parameter)).collect()
}

fn fill(parameters: &mut Parameters, saved: &Tensors) -> Result<(), TrainError> {
    for (_, parameter) in parameters.iter_mut() {
        let tensor = saved
            .get(&parameter.name)
            .filter(|tensor| tensor.dims() == parameter.dims)
            .ok_or_else(|| unfit(&parameter.name))?;
        parameter.matrix.as_mut_slice().copy_from_slice(tensor.data());
    }
    match saved.len() == parameters.len() {
        true => Ok(()),
        false => Err(unfit("the number of weights")),
    }
}
