//! What a task computes, as bytes and operations: what calibration will put measured times in the place of.

use std::collections::BTreeMap;

use zoetrope_plan::program::TaskShape;
use zoetrope_plan::{LayerOrder, OperatorOrder, Task, TaskKind};

use crate::machine::Device;

/// Bytes of a value.
const VALUE: f64 = 4.0;
/// Bytes of an entry of a sparse matrix besides the row that it multiplies: its column and its value.
const ENTRY: f64 = 8.0;
/// Gates of a recurrent cell: those of an LSTM, the most that a time encoder here has.
const GATES: f64 = 4.0;
/// A backward pass finds two gradients, of what went in and of the weights, each as much work as the product.
const BACKWARD: f64 = 2.0;
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
}

/// Work by family.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Operations of dense products.
    pub dense_flops: f64,
    /// Bytes of products with the graph.
    pub sparse_bytes: f64,
    /// Bytes of everything else.
    pub other_bytes: f64,
    /// Kernels, or calls of operators.
    pub launches: f64,
}

impl Work {
    fn add(&mut self, other: Self) {
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
        }
    }

    /// Bytes that go through memory.
    pub(crate) fn bytes(&self) -> f64 {
        self.sparse_bytes + self.other_bytes
    }

    /// Seconds on a device that nobody else uses, without launches.
    pub(crate) fn seconds(&self, device: &Device) -> f64 {
        let memory = device.memory_bytes_per_second;
        self.dense_flops / (device.flops_per_second * device.dense_fraction)
            + self.sparse_bytes / (memory * device.sparse_fraction)
            + self.other_bytes / (memory * device.elementwise_fraction)
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

    fn update(&self) -> Work {
        // Values and gradients are read, values written; what the optimiser keeps is both.
        let touched = 3.0 + 2.0 * self.optimiser_slots as f64;
        Work {
            other_bytes: self.weights as f64 * VALUE * touched,
            launches: 1.0,
            ..Work::default()
        }
    }

    /// The work of each task of a program; nothing for copies and messages.
    pub fn work_of(&self, tasks: &[Task]) -> Vec<Work> {
        let mut forward: BTreeMap<(Option<usize>, Option<usize>), Work> = BTreeMap::new();
        let mut open = None;
        let mut of = |task: &Task| {
            let launch = Work { launches: 1.0, ..Work::default() };
            let here = (task.frame, task.block);
            let work = match (task.kind, &task.shape) {
                (TaskKind::Structure, Some(shape)) => self.structure(shape, None),
                (TaskKind::Time, Some(shape)) => self.time(shape),
                (TaskKind::Structure | TaskKind::Time | TaskKind::Loss, _) => launch,
                (TaskKind::Backward, _) => {
                    open = None;
                    let is_of = |at: &(Option<usize>, Option<usize>)| match task.block {
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
                    return all.times(BACKWARD);
                }
                (TaskKind::Update, _) => return self.update(),
                (TaskKind::Draw | TaskKind::Remember | TaskKind::Embed | TaskKind::Absorb, _) => {
                    return launch;
                }
                (TaskKind::Copy | TaskKind::Store, _)
                | (TaskKind::Exchange | TaskKind::AllReduce | TaskKind::AllGather, _) => {
                    return Work::default();
                }
            };
            // A block that is recomputed goes back once, however often it went forward.
            if open != Some(here) {
                forward.insert(here, Work::default());
                open = Some(here);
            }
            forward.entry(here).or_default().add(work);
            work
        };
        tasks.iter().map(&mut of).collect()
    }
}
