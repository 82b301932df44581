//! The operators of a model as points of tables: real kernels, recorded on a tape and walked back.
//!
//! Each point is several copies of one operator on one tape, so that no result lies where the one before did. The
//! time to set the first gradients is measured as well and subtracted. Of several rounds the shortest counts: other
//! programs on the machine can only make one longer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zoetrope_graph::Csr;
use zoetrope_graph::random::Random;
use zoetrope_tensor::{
    Activation, AttentionOptions, Device, DropoutKey, Evolution, EvolutionUnit, Family, GatOptions,
    GateInput, GruKind, Loss, LstmRecurrence, Operation, PairLayers, Seed, SparseGroup,
    SparseMatrix, Tape, TemporalParameters, TensorError, Var,
};

use crate::stopwatch::Stopwatch;

/// Snapshots of a group of sparse matrices.
const SNAPSHOTS: usize = 4;
/// Snapshots that a product over time meets.
const TIMES: usize = 16;
/// Values of all copies of an operator together, about.
const VALUES: usize = 1 << 21;
/// Copies at most.
const COPIES: usize = 32;
/// Rounds at least.
const ROUNDS_MIN: usize = 3;
/// Rounds at most: more of a short operator find nothing new.
const ROUNDS_MAX: usize = 24;

/// One point: an operator of a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) family: Family,
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) width: usize,
    /// How much more often some columns of a sparse matrix are met than others: 0 for evenly.
    pub(crate) skew: f64,
}

/// What a point takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Taken {
    pub(crate) operation: Operation,
    /// Seconds forward and back.
    pub(crate) seconds: [f64; 2],
}

/// What all copies of a point share.
struct Shared {
    group: Option<SparseGroup>,
    ends: Arc<Vec<u32>>,
    others: Arc<Vec<u32>>,
}

impl Point {
    /// Values of an input.
    fn values(&self) -> usize {
        let Self { rows, inner, width, .. } = *self;
        match self.family {
            Family::Sparse | Family::GraphAttention => SNAPSHOTS * rows * width,
            Family::TimeProduct => TIMES * rows,
            Family::Dense => rows * inner.max(width),
            Family::Elementwise | Family::Dropout | Family::Loss => rows,
            Family::Norm => rows * width,
            Family::Gru | Family::Lstm | Family::Attention => 6 * rows * inner * width,
            Family::Evolve => 6 * rows * inner * width,
            Family::Gather => rows * width,
            Family::Pairs => rows * inner,
        }
    }

    /// The deviation of the degrees over their mean, of a matrix with this skew.
    pub(crate) fn deviation(&self) -> f64 {
        let offsets = degrees(self);
        let mean = offsets.iter().sum::<usize>() as f64 / offsets.len() as f64;
        let square = |&degree: &usize| (degree as f64 - mean).powi(2);
        (offsets.iter().map(square).sum::<f64>() / offsets.len() as f64).sqrt() / mean
    }

    fn shared(&self, on_gpu: bool) -> Shared {
        let sparse =
            matches!(self.family, Family::Sparse | Family::TimeProduct | Family::GraphAttention);
        let random = Random::new(1, 0x6361_6c69);
        let index = |count: usize, of: usize, from: usize| {
            let one = |at: usize| random.below((at + from) as u64, of.max(1) as u64) as u32;
            Arc::new((0..count).map(one).collect::<Vec<_>>())
        };
        let vertices = (self.rows / 4).clamp(1, 4096);
        Shared {
            group: sparse.then(|| group(self, on_gpu)),
            ends: index(self.rows, vertices, 0),
            others: index(self.rows, vertices, self.rows),
        }
    }

    /// Measures the point within about this time, on the threads of the pool that it is called in.
    ///
    /// # Errors
    /// If an operator refuses its shapes, which is a bug.
    pub(crate) fn measure(&self, device: &Device, budget: Duration) -> Result<Taken, TensorError> {
        let copies = (VALUES / self.values().max(1)).clamp(1, COPIES);
        let shared = self.shared(device.gpu().is_some());
        let (begun, mut rounds) = (Instant::now(), 0);
        let (mut best, mut seeding) = ([f64::INFINITY; 2], f64::INFINITY);
        let mut operation = None;
        let mut tape = Tape::on(device.clone());
        // The first round warms pools and compiles kernels.
        let least = if budget.is_zero() { 1 } else { ROUNDS_MIN };
        while rounds <= least || (begun.elapsed() < budget && rounds <= ROUNDS_MAX) {
            tape.reset();
            let inputs: Vec<Inputs> =
                (0..copies).map(|_| self.inputs(&mut tape)).collect::<Result<_, _>>()?;
            device.wait();
            let timer = Stopwatch::start(device);
            let mut outputs = Vec::with_capacity(copies);
            for inputs in &inputs {
                outputs.push(self.apply(&mut tape, inputs, &shared)?);
            }
            device.wait();
            let forward = timer.seconds() / copies as f64;
            operation = tape.operations().last().map(|(_, operation)| *operation);
            let seeds: Vec<(Var, Seed<'_>)> =
                outputs.iter().map(|&output| (output, Seed::Number(1.0))).collect();
            let timer = Stopwatch::start(device);
            tape.backward_from_all(&seeds)?;
            device.wait();
            let backward = timer.seconds() / copies as f64;
            let shape = tape.shape(outputs[0]);
            tape.reset();
            let mut plain = Vec::with_capacity(copies);
            for _ in 0..copies {
                let leaf = vec![0.0; shape.len()];
                plain.push((tape.variable(shape.rows, shape.cols, &leaf)?, Seed::Number(1.0)));
            }
            device.wait();
            let timer = Stopwatch::start(device);
            tape.backward_from_all(&plain)?;
            device.wait();
            let seeds = timer.seconds() / copies as f64;
            if rounds > 0 {
                best = [best[0].min(forward), best[1].min(backward)];
                seeding = seeding.min(seeds);
            }
            rounds += 1;
        }
        let operation = operation.expect("an operator was recorded");
        // Seeds are never more than most of a backward pass.
        let back = (best[1] - seeding).max(0.1 * best[1]);
        Ok(Taken { operation, seconds: [best[0], back] })
    }

    fn inputs(&self, tape: &mut Tape) -> Result<Inputs, TensorError> {
        let Self { rows, inner, width, .. } = *self;
        let mut vars = Vec::new();
        let mut add = |rows: usize, cols: usize| -> Result<(), TensorError> {
            let value = |at: usize| 0.1 + 0.8 * ((at * 7919 % 1009) as f32 / 1009.0);
            let values: Vec<f32> = (0..rows * cols).map(value).collect();
            vars.push(tape.variable(rows, cols, &values)?);
            Ok(())
        };
        match self.family {
            Family::Sparse => add(SNAPSHOTS * rows, width)?,
            Family::TimeProduct => add(TIMES, rows)?,
            Family::Dense => {
                add(rows, inner)?;
                add(width, inner)?;
                add(1, width)?;
            }
            Family::Elementwise => {
                add(rows, 1)?;
                add(rows, 1)?;
            }
            Family::Gru | Family::Lstm => {
                let gates = if self.family == Family::Gru { 3 } else { 4 };
                add(inner * rows, width)?;
                add(gates * width, width)?;
                add(1, gates * width)?;
                add(rows, width)?;
                add(gates * width, width)?;
                add(1, gates * width)?;
                add(rows, width)?;
            }
            Family::Evolve => {
                add(rows, width)?;
                add(3 * width, width)?;
                add(3 * width, width)?;
                add(1, 3 * width)?;
                add(1, 3 * width)?;
            }
            Family::Attention => {
                add(inner * rows, width)?;
                add(inner, width)?;
                (0..4).try_for_each(|_| add(width, width))?;
                add(1, width)?;
            }
            Family::GraphAttention => {
                add(SNAPSHOTS * rows, width)?;
                add(SNAPSHOTS * rows, 1)?;
                add(SNAPSHOTS * rows, 1)?;
            }
            Family::Norm => {
                add(rows, width)?;
                add(1, width)?;
                add(1, width)?;
            }
            Family::Dropout => add(rows, 1)?,
            Family::Gather => add((rows / 4).clamp(1, 4096), width)?,
            Family::Pairs => {
                let vertices = (rows / 4).clamp(1, 4096);
                add(vertices, inner)?;
                add(vertices, inner)?;
                add(width, inner)?;
                add(1, width)?;
            }
            Family::Loss => {
                add(rows, 1)?;
                add(rows, 1)?;
            }
        }
        Ok(Inputs(vars))
    }

    fn apply(&self, tape: &mut Tape, inputs: &Inputs, shared: &Shared) -> Result<Var, TensorError> {
        let of = &inputs.0;
        let group = || shared.group.as_ref().expect("families of graphs have one");
        let options = AttentionOptions {
            steps: self.inner,
            heads: 1,
            causal: true,
            scale: 1.0 / (self.width as f32).sqrt(),
            dropout: None,
            numbers: None,
        };
        Ok(match self.family {
            Family::Sparse | Family::TimeProduct => tape.spmm(group(), of[0])?,
            Family::Dense => tape.linear(of[0], of[1], Some(of[2]), Activation::Identity)?,
            Family::Elementwise if self.inner == 1 => tape.mul(of[0], of[1])?,
            Family::Elementwise => tape.activate(of[0], Activation::Tanh),
            Family::Gru => {
                let rows = GateInput::Rows { x: of[0], weight: of[1], bias: Some(of[2]) };
                tape.gru(GruKind::ResetBefore, rows, of[3], of[4], Some(of[5]), None)?
            }
            Family::Lstm => {
                let rows = GateInput::Rows { x: of[0], weight: of[1], bias: Some(of[2]) };
                let recurrence = LstmRecurrence { weight: of[4], bias: Some(of[5]) };
                tape.lstm(rows, of[3], of[6], Some(recurrence), None)?.hidden
            }
            Family::Evolve => {
                let unit = EvolutionUnit::Gru { input_bias: of[3], bias: of[4] };
                let evolution = Evolution { input_weight: of[1], weight: of[2], unit };
                tape.evolve(of[0], evolution, self.inner)?.hidden
            }
            Family::Attention => {
                let parameters = TemporalParameters {
                    positions: of[1],
                    projections: [of[2], of[3], of[4]],
                    weight: of[5],
                    bias: of[6],
                };
                tape.temporal_layer(of[0], parameters, None, options)?
            }
            Family::GraphAttention => {
                let options = GatOptions { heads: 1, slope: 0.2, weighted: false, dropout: None };
                tape.gat(group(), of[0], of[1], of[2], options)?
            }
            Family::Norm => tape.batch_norm(of[0], of[1], of[2], 1e-5)?,
            Family::Dropout => {
                tape.dropout(of[0], 0.5, DropoutKey { seed: 0, stream: 0, step: 0 })?
            }
            Family::Gather => tape.gather(of[0], &shared.ends)?,
            Family::Pairs => {
                let layers =
                    PairLayers { source: of[0], destination: of[1], weight: of[2], bias: of[3] };
                tape.pair_scores(layers, [&shared.ends, &shared.others])?
            }
            Family::Loss => {
                let loss = match self.inner {
                    1 => Loss::Mse,
                    _ => Loss::BinaryCrossEntropy { positive_weight: 1.0 },
                };
                tape.loss(loss, of[0], of[1], None)?
            }
        })
    }
}

/// The matrices of one copy.
struct Inputs(Vec<Var>);

/// Entries of each row.
fn degrees(point: &Point) -> Vec<usize> {
    let (rows, inner) = (point.rows, point.inner.min(point.rows));
    if point.skew == 0.0 {
        return vec![inner; rows];
    }
    // By rank, as in a power law; all rows have one.
    let weight = |rank: usize| ((rank + 1) as f64).powf(-point.skew);
    let whole: f64 = (0..rows).map(weight).sum();
    let all = (rows * inner) as f64;
    (0..rows).map(|rank| ((all * weight(rank) / whole) as usize).clamp(1, rows)).collect()
}

/// Each snapshot meets itself and those before it.
fn band(point: &Point) -> SparseGroup {
    let (mut offsets, mut indices) = (vec![0_u32], Vec::new());
    for row in 0..TIMES {
        indices.extend((row + 1).saturating_sub(point.inner) as u32..=row as u32);
        offsets.push(indices.len() as u32);
    }
    let values = vec![0.5; indices.len()];
    let times = TIMES as u32;
    let matrix = Csr::new(times, times, offsets, indices, values).expect("a band is in order");
    SparseGroup::new(Arc::new([Arc::new(SparseMatrix::new(matrix))]))
}

fn group(point: &Point, on_gpu: bool) -> SparseGroup {
    if point.family == Family::TimeProduct {
        return band(point);
    }
    let degrees = degrees(point);
    let rows = point.rows;
    let members = (0..SNAPSHOTS).map(|snapshot| {
        let random = Random::new(snapshot as u64, 0x6361_6c69);
        let (mut offsets, mut indices) = (vec![0_u32], Vec::new());
        for row in 0..rows {
            // Ranks are spread over the rows; a multiplier that is odd and prime meets each once.
            let degree = degrees[row * 7919 % rows];
            let from = indices.len();
            let mut seen: Vec<u32> = (0..degree)
                .map(|at| {
                    let unit = random.unit((from + at) as u64);
                    // Columns as skewed as rows.
                    let place = unit.powf(1.0 + 2.0 * point.skew) * rows as f64;
                    (place as usize * 7919 % rows) as u32
                })
                .collect();
            seen.sort_unstable();
            seen.dedup();
            indices.extend(seen);
            offsets.push(indices.len() as u32);
        }
        let values = vec![0.5; indices.len()];
        let matrix = Csr::new(rows as u32, rows as u32, offsets, indices, values)
            .expect("rows are sorted and in range");
        Arc::new(match point.family {
            Family::GraphAttention => SparseMatrix::for_attention(matrix),
            _ if on_gpu => SparseMatrix::for_gpu(matrix),
            _ => SparseMatrix::new(matrix),
        })
    });
    SparseGroup::new(members.collect())
}
