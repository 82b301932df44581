//! The state of a learner, to and from a checkpoint.

use std::collections::BTreeMap;

use zoetrope_nn::Parameters;
use zoetrope_nn::optimiser::{EarlyStopping, ScheduleState};
use zoetrope_nn::weights::{VERTEX_ROWS, VertexRows};
use zoetrope_run::checkpoint::{Cursor, SavedState, SavedTensor, Tensors, entries};

use super::{Learner, direction};
use crate::error::TrainError;

/// The prefix of the weights of the best epoch.
const BEST: &str = entries::BEST_WEIGHTS.name;

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
            (entries::FRAMES.name.to_owned(), progress.frames),
            (entries::LOSSES.name.to_owned(), progress.losses),
            (entries::OPTIMISER_STEPS.name.to_owned(), self.optimiser.steps()),
            (entries::BEST_EPOCH.name.to_owned(), best_epoch as u64),
            (entries::STOPPING_WAITED.name.to_owned(), waited as u64),
            (entries::SCHEDULE_WAITED.name.to_owned(), self.schedule.waited as u64),
            (entries::SEED.name.to_owned(), seed),
        ]);
        counters.extend(
            self.settled_from.map(|from| (entries::SETTLED_FROM.name.to_owned(), from as u64)),
        );
        let mut numbers = BTreeMap::from([
            (entries::LOSS_SUM.name.to_owned(), progress.loss_sum),
            (entries::SCHEDULE_FACTOR.name.to_owned(), self.schedule.factor),
        ]);
        if let Some((_, best)) = self.stopping.best() {
            numbers.insert(entries::STOPPING_BEST.name.to_owned(), best);
        }
        if let Some(best) = self.schedule.best {
            numbers.insert(entries::SCHEDULE_BEST.name.to_owned(), best);
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
    /// [`TrainError::Unfit`] if the state was saved by a run of another model, data set or seed.
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
        self.best = if best_weights.is_empty() {
            None
        } else {
            let mut best = parameters.clone();
            fill(&mut best, &best_weights)?;
            Some(best)
        };
        let cursor = state.cursor;
        let counter = |name: &str| cursor.counters.get(name).copied().ok_or_else(|| unfit(name));
        if counter(entries::SEED.name)? != seed {
            return Err(unfit("train.seed"));
        }
        let steps = counter(entries::OPTIMISER_STEPS.name)?;
        if cursor.step != steps {
            return Err(unfit(entries::STEP.name));
        }
        let find = |name: &str| state.optimiser.get(name).map(SavedTensor::data);
        self.optimiser.restore(parameters, steps, find).map_err(|name| unfit(&name))?;
        let number = |name: &str| cursor.numbers.get(name).copied();
        self.schedule = ScheduleState {
            factor: number(entries::SCHEDULE_FACTOR.name)
                .ok_or_else(|| unfit(entries::SCHEDULE_FACTOR.name))?,
            best: number(entries::SCHEDULE_BEST.name),
            waited: counter(entries::SCHEDULE_WAITED.name)? as usize,
        };
        let best = number(entries::STOPPING_BEST.name);
        let (epoch, waited) =
            (counter(entries::BEST_EPOCH.name)?, counter(entries::STOPPING_WAITED.name)?);
        self.settled_from = counter(entries::SETTLED_FROM.name).ok().map(|from| from as usize);
        if self.settled_from.is_some() {
            self.stopping = EarlyStopping::new(direction(self.watched), None);
        }
        self.stopping.restore(best, epoch as usize, waited as usize);
        let progress = &mut self.progress;
        progress.epoch = cursor.epoch;
        progress.frame = cursor.frame;
        progress.frames = counter(entries::FRAMES.name)?;
        progress.losses = counter(entries::LOSSES.name)?;
        progress.loss_sum =
            number(entries::LOSS_SUM.name).ok_or_else(|| unfit(entries::LOSS_SUM.name))?;
        progress.records = cursor.epochs;
        Ok(state.hidden)
    }
}

/// Takes from a checkpoint what belongs to its data: memory and hidden states, the epoch that was begun,
/// and the best epoch, whose value was measured on that data. What was learnt stays.
pub(crate) fn forget_data(state: &mut SavedState) {
    state.hidden.clear();
    state.optimiser.retain(|name, _| !name.starts_with(BEST));
    let cursor = &mut state.cursor;
    (cursor.frame, cursor.parts) = (0, BTreeMap::new());
    for counter in ["losses", "best_epoch", "stopping_waited", "schedule_waited"] {
        cursor.counters.insert(counter.to_owned(), 0);
    }
    cursor.numbers.insert("loss_sum".to_owned(), 0.0);
    for best in ["stopping_best", "schedule_best"] {
        cursor.numbers.remove(best);
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
    if saved.len() == parameters.len() { Ok(()) } else { Err(unfit("the number of weights")) }
}
