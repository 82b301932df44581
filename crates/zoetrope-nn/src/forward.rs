//! One run of a model: its tape, its parameters, and whether it trains.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_tensor::{Cells, Device, Dropout, DropoutKey, Matrix, Tape, Var};

use crate::error::NnError;
use crate::parameters::{ParameterId, Parameters};
use crate::stage::StageListener;

/// Running statistics of a batch norm that are due after a forward pass.
#[derive(Debug, Clone, Copy)]
struct StatisticsUpdate {
    mean: ParameterId,
    variance: ParameterId,
    count: ParameterId,
    normalised: Var,
    epsilon: f32,
    momentum: f32,
}

/// Updates that a forward pass found and that [`Updates::apply`] makes.
#[derive(Debug, Default)]
pub struct Updates {
    statistics: Vec<StatisticsUpdate>,
}

impl Updates {
    /// Moves running means and variances towards those of the last batch. Call it before the
    /// backward pass, which gives the statistics away.
    pub fn apply(&mut self, tape: &Tape, parameters: &mut Parameters) {
        for update in self.statistics.drain(..) {
            if let Some(gpu) = tape.device().gpu() {
                let block = parameters.on(gpu);
                let ids = [update.mean, update.variance, update.count];
                let mut running = ids.map(|id| block.values_of(id.index()));
                let views = running.each_mut().map(|kept| kept.view_mut());
                let StatisticsUpdate { normalised, epsilon, momentum, .. } = update;
                tape.update_running_statistics(normalised, views, epsilon, momentum);
                continue;
            }
            if let Some(statistics) = update.of_batch(tape) {
                statistics.apply(parameters, tape.device());
            }
        }
    }

    /// The statistics of the last batch, to be applied later or elsewhere; a GPU that found them is waited
    /// for. Call it before the backward pass, which gives the statistics away.
    pub fn take(&mut self, tape: &Tape) -> Vec<BatchStatistics> {
        self.statistics.drain(..).filter_map(|update| update.of_batch(tape)).collect()
    }
}

impl StatisticsUpdate {
    fn of_batch(&self, tape: &Tape) -> Option<BatchStatistics> {
        let (mean, inverse_deviation) = tape.read_batch_statistics(self.normalised)?;
        let rows = tape.rows_of_batch(self.normalised) as f32;
        // PyTorch keeps the unbiased variance, but normalises with the biased one.
        let unbiased = if rows > 1.0 { rows / (rows - 1.0) } else { 1.0 };
        let variance = |inverse: &f32| (1.0 / (inverse * inverse) - self.epsilon) * unbiased;
        Some(BatchStatistics {
            running: [self.mean, self.variance, self.count],
            momentum: self.momentum,
            mean,
            variance: inverse_deviation.iter().map(variance).collect(),
        })
    }
}

/// Mean and variance of a batch, for the running statistics of one batch norm.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchStatistics {
    /// The running mean, variance and count.
    running: [ParameterId; 3],
    momentum: f32,
    mean: Vec<f32>,
    variance: Vec<f32>,
}

impl BatchStatistics {
    /// Moves the running statistics towards these, on a GPU if the parameters are there.
    pub fn apply(&self, parameters: &mut Parameters, device: &Device) {
        if let Some(gpu) = device.gpu() {
            let block = parameters.on(gpu);
            let mut running = self.running.map(|id| block.values_of(id.index()));
            let values = [&self.mean, &self.variance].map(|values| &values[..]);
            let views = running.each_mut().map(|kept| kept.view_mut());
            return gpu.move_statistics(views, values, self.momentum);
        }
        let [mean, variance, count] = self.running;
        for (id, batch) in [(mean, &self.mean), (variance, &self.variance)] {
            let running = parameters.get_mut(id).as_mut_slice();
            for (kept, &new) in running.iter_mut().zip(batch) {
                *kept = (1.0 - self.momentum) * *kept + self.momentum * new;
            }
        }
        parameters.get_mut(count).as_mut_slice()[0] += 1.0;
    }

    /// Appends them as words, for other ranks.
    pub fn pack(&self, words: &mut Vec<u32>) {
        words.extend(self.running.map(|id| id.index() as u32));
        words.extend([self.momentum.to_bits(), self.mean.len() as u32]);
        words.extend(self.mean.iter().chain(&self.variance).map(|value| value.to_bits()));
    }

    /// Takes what was packed from the front of some words; None if that is not all there.
    pub fn unpack(words: &mut &[u32]) -> Option<Self> {
        let (&[mean, variance, count, momentum, width], rest) = words.split_first_chunk()?;
        let width = width as usize;
        let (values, rest) = rest.split_at_checked(2 * width)?;
        let numbers = |words: &[u32]| words.iter().map(|&bits| f32::from_bits(bits)).collect();
        *words = rest;
        Some(Self {
            running: [mean, variance, count].map(ParameterId::at),
            momentum: f32::from_bits(momentum),
            mean: numbers(&values[..width]),
            variance: numbers(&values[width..]),
        })
    }
}

/// Lets a tape of a GPU find the parameters there.
fn bind(tape: &mut Tape, parameters: &Parameters) {
    // Blocks of a frame that share a tape have bound it already.
    if let Some(gpu) = tape.device().gpu().filter(|_| tape.is_empty()) {
        let block = parameters.on(gpu);
        tape.bind(&block);
    }
}

/// Parameters that a pass that trains reads as constants: no gradient reaches them, so that an
/// optimiser leaves them as they are.
#[derive(Debug, Clone, Default)]
pub struct Still {
    first: usize,
    matrices: Vec<Arc<Matrix>>,
}

impl Still {
    /// The parameters at these positions of a table, with the values that they have now.
    pub fn new(parameters: &Parameters, positions: Range<usize>) -> Self {
        let some = parameters.iter().skip(positions.start).take(positions.len());
        let matrices = some.map(|(_, parameter)| Arc::new(parameter.matrix.clone())).collect();
        Self { first: positions.start, matrices }
    }

    fn get(&self, id: ParameterId) -> Option<&Arc<Matrix>> {
        self.matrices.get(id.index().checked_sub(self.first)?)
    }
}

/// A forward pass in progress.
#[derive(Debug)]
pub struct Forward<'a> {
    /// Where operators are recorded.
    pub tape: &'a mut Tape,
    parameters: &'a Parameters,
    updates: &'a mut Updates,
    training: bool,
    still: Option<&'a Still>,
    listener: Option<&'a dyn StageListener>,
    seed: u64,
    step: u32,
    dropouts: u32,
}

impl<'a> Forward<'a> {
    /// A pass that trains: dropout drops (keyed by `seed` and `step`), batch norms use the batch.
    pub fn training(
        tape: &'a mut Tape,
        parameters: &'a Parameters,
        updates: &'a mut Updates,
        seed: u64,
        step: u32,
    ) -> Self {
        bind(tape, parameters);
        tape.keep_history(true);
        Self {
            tape,
            parameters,
            updates,
            training: true,
            still: None,
            listener: None,
            seed,
            step,
            dropouts: 0,
        }
    }

    /// The same pass with some parameters as constants.
    #[must_use]
    pub fn keeping(self, still: Option<&'a Still>) -> Self {
        Self { still, ..self }
    }

    /// The same pass, whose stages are told.
    #[must_use]
    pub fn telling(self, listener: Option<&'a dyn StageListener>) -> Self {
        Self { listener, ..self }
    }

    pub(crate) fn listener(&self) -> Option<&'a dyn StageListener> {
        self.listener
    }

    /// A pass that evaluates: nothing is dropped, batch norms use their running statistics, no gradient flows.
    pub fn evaluating(
        tape: &'a mut Tape,
        parameters: &'a Parameters,
        updates: &'a mut Updates,
    ) -> Self {
        bind(tape, parameters);
        tape.keep_history(false);
        Self {
            tape,
            parameters,
            updates,
            training: false,
            still: None,
            listener: None,
            seed: 0,
            step: 0,
            dropouts: 0,
        }
    }

    /// Whether the pass trains.
    pub fn is_training(&self) -> bool {
        self.training
    }

    /// Computes what is remembered: as in evaluation while its parameters stand still.
    pub(crate) fn remembering<T>(&mut self, compute: impl FnOnce(&mut Self) -> T) -> T {
        let training = self.training;
        self.training &= self.still.is_none();
        let computed = compute(self);
        self.training = training;
        computed
    }

    /// A parameter on the tape.
    pub fn parameter(&mut self, id: ParameterId) -> Var {
        // A matrix always has all of its rows: there is a constant whenever there is a matrix.
        let still = self.still.and_then(|still| still.get(id));
        let rows = |matrix: &Matrix| 0..matrix.shape().rows;
        let constant = still.and_then(|matrix| self.tape.constant(matrix, rows(matrix)).ok());
        constant.unwrap_or_else(|| self.tape.parameter(id.index(), self.parameters.get(id)))
    }

    /// The values of a parameter without history, as the host has them.
    pub fn values(&self, id: ParameterId) -> &'a [f32] {
        self.parameters.get(id).as_slice()
    }

    /// Dropout for an operator that drops by itself; None if nothing is to be dropped.
    pub fn dropout_mask(&mut self, rate: f32) -> Option<Dropout> {
        if !self.training || rate == 0.0 {
            return None;
        }
        let key = DropoutKey { seed: self.seed, stream: self.dropouts, step: self.step };
        self.dropouts += 1;
        Some(Dropout { p: rate, key })
    }

    /// Dropout while training; each call of a pass has its own mask.
    ///
    /// # Errors
    /// If the rate is not in `[0, 1)`.
    pub fn dropout(&mut self, x: Var, rate: f32) -> Result<Var, NnError> {
        self.dropout_of_cells(x, rate, Cells::default())
    }

    /// The same for rows that are known cells: what is dropped does not depend on who else's are there.
    pub(crate) fn dropout_of_cells(
        &mut self,
        x: Var,
        rate: f32,
        cells: Cells,
    ) -> Result<Var, NnError> {
        match self.dropout_mask(rate) {
            Some(dropout) => Ok(self.tape.dropout_of_cells(x, dropout, cells)?),
            None => Ok(x),
        }
    }

    /// Remembers to move running statistics after this pass.
    pub(crate) fn update_statistics(
        &mut self,
        [mean, variance, count]: [ParameterId; 3],
        normalised: Var,
        epsilon: f32,
        momentum: f32,
    ) {
        let update = StatisticsUpdate { mean, variance, count, normalised, epsilon, momentum };
        self.updates.statistics.push(update);
    }
}
