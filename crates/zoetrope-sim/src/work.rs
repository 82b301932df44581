//! What a task computes, as bytes and operations, and how long that takes: as measured, if the machine was.

use std::collections::BTreeMap;

use zoetrope_plan::program::TaskShape;
use zoetrope_plan::{LayerOrder, OperatorOrder, Task, TaskKind};

use crate::machine::{Device, Machine};
use crate::operators::Operators;

/// Bytes of a value.
const VALUE: f64 = 4.0;
/// Bytes of an entry of a sparse matrix besides the row that it multiplies: its column and its value.
const ENTRY: f64 = 8.0;
/// Gates of a recurrent cell: those of an LSTM, the most that a time encoder here has.
const GATES: f64 = 4.0;
/// A backward pass finds two gradients, of what went in and of the weights, each as much work as the product.
const BACKWARD: f64 = 2.0;
/// Arrays that the optimiser that is measured reads and writes: those of Adam.
const OPTIMISER_ARRAYS: f64 = 7.0;
/// Kernels that a layer launches.
const LAYER_LAUNCHES: f64 = 4.0;

/// What a model is, as far as work depends on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFacts {
    /// The order of the products of its structure layers.
    pub orders: Vec<LayerOrder>,
    /// Whether its time encoders work on weights and not on rows of vertices (EvolveGCN).
    pub evolves: bool,
    /// Values that the optimiser changes.
    pub weights: usize,
    /// Arrays that the optimiser keeps for each of them.
    pub optimiser_slots: usize,
    /// Its operators, if miniatures told them; otherwise layers count as those of an LSTM behind a convolution.
    pub operators: Option<Operators>,
}

/// Work: by family what was not measured, and the seconds of what was.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Operations of dense products.
    pub dense_flops: f64,
    /// Bytes of products with the graph.
    pub sparse_bytes: f64,
    /// Bytes of everything else.
    pub other_bytes: f64,
    /// Kernels, or calls of operators, of which no time was measured.
    pub launches: f64,
    /// Seconds of what was measured on this machine, with launches.
    pub measured_seconds: f64,
    /// Bytes of what was measured.
    pub measured_bytes: f64,
}

impl Work {
    pub(crate) fn add(&mut self, other: Self) {
        self.measured_seconds += other.measured_seconds;
        self.measured_bytes += other.measured_bytes;
        self.dense_flops += other.dense_flops;
        self.sparse_bytes += other.sparse_bytes;
        self.other_bytes += other.other_bytes;
        self.launches += other.launches;
    }

    fn times(self, factor: f64) -> Self {
        Self {
            dense_flops: factor * self.dense_flops,
            sparse_bytes: factor * self.sparse_bytes,
            other_bytes: factor * self.other_bytes,
            launches: factor * self.launches,
            measured_seconds: factor * self.measured_seconds,
            measured_bytes: factor * self.measured_bytes,
        }
    }

    /// Bytes that go through the memory of the host: not more than the device can ask for, because what is in
    /// caches does not.
    pub(crate) fn bytes(&self, device: &Device) -> f64 {
        let all = self.sparse_bytes + self.other_bytes + self.measured_bytes;
        all.min(self.seconds(device) * device.memory_bytes_per_second)
    }

    /// Seconds on a device that nobody else uses, without launches.
    pub(crate) fn seconds(&self, device: &Device) -> f64 {
        let memory = device.memory_bytes_per_second;
        self.dense_flops / (device.flops_per_second * device.dense_fraction)
            + self.sparse_bytes / (memory * device.sparse_fraction)
            + self.other_bytes / (memory * device.elementwise_fraction)
            + self.measured_seconds
    }
}

impl ModelFacts {
    fn structure(&self, shape: &TaskShape, step: Option<usize>) -> Work {
        let (inputs, outputs) = (shape.inputs as f64, shape.outputs as f64);
        let order = self
            .orders
            .iter()
            .find(|order| order.inputs == shape.inputs && order.outputs == shape.outputs);
        let order = order.map(|order| step.map_or(order.order, |step| order.at(step)));
        let width = match order {
            Some(OperatorOrder::AggregateFirst) => inputs,
            Some(OperatorOrder::UpdateFirst) => outputs,
            None => inputs.min(outputs),
        };
        let (rows, entries) = (shape.rows as f64, (shape.rows + shape.edges) as f64);
        Work {
            dense_flops: 2.0 * rows * inputs * outputs,
            sparse_bytes: entries * (ENTRY + VALUE * width) + rows * VALUE * width,
            other_bytes: rows * VALUE * (inputs + outputs),
            launches: LAYER_LAUNCHES,
            ..Work::default()
        }
    }

    fn time(&self, shape: &TaskShape) -> Work {
        let (inputs, outputs) = (shape.inputs as f64, shape.outputs as f64);
        // Weights have as many rows as they take values in.
        let rows = if self.evolves { inputs } else { shape.rows as f64 };
        Work {
            dense_flops: 2.0 * rows * GATES * (inputs + outputs) * outputs,
            other_bytes: rows * VALUE * (inputs + 2.0 * GATES * outputs),
            launches: LAYER_LAUNCHES,
            ..Work::default()
        }
    }

    fn update(&self, machine: &Machine) -> Work {
        if let Some(curve) = machine.calibration.as_ref().and_then(|one| one.optimiser.as_ref()) {
            let touched = (3.0 + 2.0 * self.optimiser_slots as f64) / OPTIMISER_ARRAYS;
            let measured_seconds = curve.along(self.weights as f64) * touched;
            return Work { measured_seconds, ..Work::default() };
        }
        // Values and gradients are read, values written; what the optimiser keeps is both.
        let touched = 3.0 + 2.0 * self.optimiser_slots as f64;
        Work {
            other_bytes: self.weights as f64 * VALUE * touched,
            launches: 1.0,
            ..Work::default()
        }
    }

    /// The work of each task of a program on a machine; nothing for copies and messages.
    pub fn work_of(&self, tasks: &[Task], machine: &Machine) -> Vec<Work> {
        let of_tasks = match &self.operators {
            Some(operators) => operators.work_of(tasks, machine),
            None => vec![None; tasks.len()],
        };
        let drawn = self.draws(tasks, machine);
        let mut forward: BTreeMap<Place, Work> = BTreeMap::new();
        let mut open = None;
        let mut of = |(task, found): (&Task, &Option<[Work; 2]>)| {
            let launch = Work { launches: 1.0, ..Work::default() };
            let here = (task.frame, task.block);
            let [work, back] = match (found, task.kind, &task.shape) {
                (&Some(both), ..) => both,
                (_, TaskKind::Structure, Some(shape)) => twice(self.structure(shape, None)),
                (_, TaskKind::Time, Some(shape)) => twice(self.time(shape)),
                (_, TaskKind::Structure | TaskKind::Time | TaskKind::Loss, _) => twice(launch),
                (_, TaskKind::Backward, _) => {
                    open = None;
                    let is_of = |at: &Place| match task.block {
                        Some(_) => *at == here,
                        None => at.0 == task.frame,
                    };
                    let mut all = Work::default();
                    forward.retain(|at, work| {
                        let goes_back = is_of(at);
                        if goes_back {
                            all.add(*work);
                        }
                        !goes_back
                    });
                    return all;
                }
                (_, TaskKind::Update, _) => return self.update(machine),
                (_, TaskKind::Draw, _) => return drawn.get(&here).copied().unwrap_or(launch),
                (_, TaskKind::Remember | TaskKind::Embed | TaskKind::Absorb, _) => return launch,
                (_, TaskKind::Copy | TaskKind::Store, _)
                | (_, TaskKind::Exchange | TaskKind::AllReduce | TaskKind::AllGather, _) => {
                    return Work::default();
                }
            };
            // A block that is recomputed goes back once, however often it went forward.
            if open != Some(here) {
                forward.insert(here, Work::default());
                open = Some(here);
            }
            forward.entry(here).or_default().add(back);
            work
        };
        tasks.iter().zip(&of_tasks).map(&mut of).collect()
    }

    /// What drawing takes, by piece; nothing if it was not measured.
    fn draws(&self, tasks: &[Task], machine: &Machine) -> BTreeMap<Place, Work> {
        let pair_seconds = machine.calibration.as_ref().and_then(|one| one.pair_seconds);
        let (Some(pair_seconds), Some(operators)) = (pair_seconds, &self.operators) else {
            return BTreeMap::new();
        };
        let work = |pairs: f64| Work { measured_seconds: pairs * pair_seconds, ..Work::default() };
        operators.pairs_of(tasks).into_iter().map(|(place, pairs)| (place, work(pairs))).collect()
    }
}

/// A piece of a frame.
type Place = (Option<usize>, Option<usize>);

/// Work forward, and back.
fn twice(work: Work) -> [Work; 2] {
    [work, work.times(BACKWARD)]
}
