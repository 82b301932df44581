//! What a step of training will take, found by running it on miniature graphs.
//!
//! Everything a tape holds grows linearly with vertices and edges, so three small runs of the real
//! network tell the three numbers of a line: nothing about a model has to be written down twice. What a GPU needs,
//! whose kernels leave more for each other than those of the processor, the GPU tells.
//!
//! A frame may be so long that even a miniature of it does not fit into the limit on memory. Then shorter
//! ones are run, each twice as long as the one before, and the rest is extrapolated. A task may ask for so many
//! answers (`task.negatives`, classes) that they would take more than all else: then miniatures with fewer are
//! run, which show what each answer takes.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use zoetrope_config::{Config, TaskName};
use zoetrope_nn::Forward;
use zoetrope_nn::State;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::state::Carried;
use zoetrope_plan::ActivationCost;
use zoetrope_tensor::cuda::Consumer;
use zoetrope_tensor::{Device, Seed, Tape, Var};

use super::asked_answers::{Answers, LEAST_ANSWERS};
use super::miniature::{LEAST_VERTICES, SmallSize, miniature};
use super::{FrameRunner, Layout, Network, Piece, PieceRun};
use crate::error::TrainError;
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task::{self, Questions};

/// The same on a GPU, whose kernels take other ways if there are few.
const MOST_VERTICES_ON_GPU: usize = 2048;

/// What a step goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A whole frame.
    Frame,
    /// A block of one.
    Block,
}

/// The cost of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepCost {
    /// What the tape holds.
    pub activations: ActivationCost,
    /// Bytes of the state that it leaves, of the real graph.
    pub state_bytes: u64,
}

/// Held while miniatures run.
static MEASURING: Mutex<()> = Mutex::new(());

/// The fewest snapshots that a miniature is run with, if it cannot be run with all.
const FIRST_STEPS: usize = 16;

impl StepCost {
    /// The same step if everything in it took so many times as much.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let ActivationCost { fixed_bytes, bytes_per_vertex, bytes_per_edge } = self.activations;
        let activations = ActivationCost {
            fixed_bytes: fixed_bytes * factor,
            bytes_per_vertex: bytes_per_vertex * factor,
            bytes_per_edge: bytes_per_edge * factor,
        };
        Self { activations, ..self }
    }

    /// The cost of a block of `to` snapshots, if `self` is that of `from` and `other` that of a block of another size:
    /// recurrent models, which alone work in blocks, take as much for each snapshot.
    pub fn along(self, from: usize, other: (Self, usize), to: usize) -> Self {
        let (there, length) = other;
        let share = if length == from {
            0.0
        } else {
            (to as f64 - from as f64) / (length as f64 - from as f64)
        };
        let line = |one: f64, other: f64| one + (other - one) * share;
        let (one, another) = (self.activations, there.activations);
        Self {
            activations: ActivationCost {
                fixed_bytes: line(one.fixed_bytes, another.fixed_bytes),
                bytes_per_vertex: line(one.bytes_per_vertex, another.bytes_per_vertex),
                bytes_per_edge: one.bytes_per_edge.max(another.bytes_per_edge),
            },
            state_bytes: self.state_bytes.max(there.state_bytes),
        }
    }

    /// The cost of a step over `to` snapshots, if `self` is that of `from` snapshots and `before` that of
    /// half as many: along a line, or along a power if it grew faster than a line.
    fn stretched(self, before: Self, from: usize, to: usize) -> Self {
        let times = to as f64 / from as f64;
        let along = |now: f64, before: f64| {
            if now > 2.0 * before && before > 0.0 {
                now * times.powf((now / before).log2().min(2.0))
            } else {
                now + (now - before).max(0.0) * 2.0 * (times - 1.0)
            }
        };
        let (now, before) = (self.activations, before.activations);
        Self {
            activations: ActivationCost {
                fixed_bytes: along(now.fixed_bytes, before.fixed_bytes),
                bytes_per_vertex: along(now.bytes_per_vertex, before.bytes_per_vertex),
                // That of one edge, however many there are.
                bytes_per_edge: now.bytes_per_edge.max(before.bytes_per_edge),
            },
            state_bytes: self.state_bytes,
        }
    }

    /// The cost of a step with `to` answers to each question, if `self` is that with `many` and `other` that with
    /// `few` of them: each takes the same.
    fn answering(self, many: usize, (other, few): (Self, usize), to: usize) -> Self {
        let times = (to - many) as f64 / (many - few) as f64;
        let along = |now: f64, before: f64| now + (now - before).max(0.0) * times;
        let (now, before) = (self.activations, other.activations);
        Self {
            activations: ActivationCost {
                fixed_bytes: along(now.fixed_bytes, before.fixed_bytes),
                bytes_per_vertex: along(now.bytes_per_vertex, before.bytes_per_vertex),
                bytes_per_edge: along(now.bytes_per_edge, before.bytes_per_edge),
            },
            state_bytes: self.state_bytes,
        }
    }
}

/// What one run of a miniature took.
struct Taken {
    tape: f64,
    state: f64,
}

/// The cost of a step over `steps` snapshots, the whole frame or a block of a longer one.
///
/// # Errors
/// As building and running the network.
pub fn step_cost(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    steps: usize,
    extent: Extent,
    device: &Device,
) -> Result<StepCost, TrainError> {
    // Ranks of one process estimate one after the other: together they would take what none of them does.
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let cost = |steps| answered(config, task, material, outputs, steps, extent, device);
    if zoetrope_heap::limit().is_none() || steps <= FIRST_STEPS {
        return Ok(cost(steps)?.0);
    }
    // Whether a miniature of `times` as many snapshots is sure to fit: what it takes grows at most with the
    // square of their number (attention over time).
    let fits = |took: u64, times: f64| {
        let most = took as f64 * times * times;
        zoetrope_heap::room().is_none_or(|room| most <= room as f64)
    };
    let mut count = FIRST_STEPS;
    let (mut now, mut took) = cost(count)?;
    let mut before = None;
    loop {
        if fits(took, steps as f64 / count as f64) {
            return Ok(cost(steps)?.0);
        }
        if !fits(took, 2.0) {
            let before = before.map_or_else(|| cost(count / 2).map(|(cost, _)| cost), Ok)?;
            return Ok(now.stretched(before, count, steps));
        }
        before = Some(now);
        count *= 2;
        (now, took) = cost(count)?;
    }
}

/// The cost of a step as miniatures of as many snapshots show it, and the bytes that the largest of them
/// took. They ask for as many answers as a run does, or for fewer if these are too many.
fn answered(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    steps: usize,
    extent: Extent,
    device: &Device,
) -> Result<(StepCost, u64), TrainError> {
    let answers = Answers::of(config, task, outputs);
    let size = SmallSize::new(config, task, material, outputs, steps)?;
    let (all, most) = (answers.count(), answers.most(config, task, &size, steps));
    if all <= most {
        return measured(config, task, material, outputs, steps, extent, device);
    }
    let with = |count: usize| {
        let (config, outputs) = answers.only(count, config, outputs);
        measured(&config, task, material, outputs, steps, extent, device)
    };
    // Far fewer: blocks of a tape are up to an eighth larger than what they hold, and the difference of two that
    // are nearly as large would show little else.
    let few = (most / 8).max(LEAST_ANSWERS);
    let ((fewer, _), (cost, took)) = (with(few)?, with(most)?);
    Ok((cost.answering(most, (fewer, few), all), took))
}

/// The cost of a step as miniatures of as many snapshots and answers show it, and the bytes that the largest
/// of them took.
fn measured(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    steps: usize,
    extent: Extent,
    device: &Device,
) -> Result<(StepCost, u64), TrainError> {
    let SmallSize { mut vertices, mut edges, .. } =
        SmallSize::new(config, task, material, outputs, steps)?;
    if device.gpu().is_some() {
        vertices = vertices_on_gpu(material.vertices()).max(vertices);
        edges = 2 * vertices;
    }
    let run = |vertices: usize, edges: usize| -> Result<Taken, TrainError> {
        let all = if extent == Extent::Block { 2 * steps } else { steps };
        let small = miniature(material, task, outputs, vertices, edges, all)?;
        taken(config, task, &small, outputs, steps, extent, device)
    };
    let (small, wide) = (run(vertices, edges)?, run(2 * vertices, edges)?);
    let base = small.tape;
    let bytes_per_vertex = ((wide.tape - base) / vertices as f64).max(0.0);
    let dense = run(vertices, 3 * edges)?.tape;
    // Self-loops are edges too; the second run has as many as the first.
    let bytes_per_edge = ((dense - base) / (2 * edges * steps) as f64).max(0.0);
    let frame_edges = (steps * (edges + vertices)) as f64;
    let bytes_per_vertex = (bytes_per_vertex - bytes_per_edge * steps as f64).max(0.0);
    let fixed = base - bytes_per_vertex * vertices as f64 - bytes_per_edge * frame_edges;
    let state_per_vertex = (wide.state - small.state) / vertices as f64;
    let more = material.vertices() as f64 - vertices as f64;
    let cost = StepCost {
        activations: ActivationCost {
            // On a GPU small blocks of memory are rounded up by more than large ones: the line through two sizes may
            // begin below zero.
            fixed_bytes: if device.gpu().is_some() { fixed } else { fixed.max(0.0) },
            bytes_per_vertex,
            bytes_per_edge,
        },
        state_bytes: (small.state + state_per_vertex * more) as u64,
    };
    Ok((cost, wide.tape.max(dense) as u64))
}

/// The vertices of the smaller miniature on a GPU: the larger one has as many as the graph if that has few.
fn vertices_on_gpu(all: usize) -> usize {
    (all / 2).clamp(LEAST_VERTICES, MOST_VERTICES_ON_GPU)
}

/// The most bytes that a miniature takes on a GPU, about, by the cost that the processor told.
pub fn bytes_on_gpu(cost: &StepCost, vertices: usize, steps: usize) -> f64 {
    let few = vertices_on_gpu(vertices);
    let ActivationCost { fixed_bytes, bytes_per_vertex, bytes_per_edge } = cost.activations;
    let of = |vertices: usize, edges: usize| {
        bytes_per_vertex * vertices as f64 + bytes_per_edge * ((edges + vertices) * steps) as f64
    };
    // Features and the matrices of snapshots are there, too.
    2.0 * (fixed_bytes + of(2 * few, 2 * few).max(of(few, 6 * few)))
}

/// The bytes that one step takes, and those of the state.
fn taken(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    steps: usize,
    extent: Extent,
    device: &Device,
) -> Result<Taken, TrainError> {
    let run = || one_step(config, task, material, outputs, steps, extent, device);
    match device.gpu() {
        None => run(),
        Some(gpu) => {
            let (taken, most) = gpu.most_in_use(Consumer::Activations, run);
            Ok(Taken { tape: most as f64, ..taken? })
        }
    }
}

/// Runs a step; the bytes are those of its tape.
fn one_step(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    steps: usize,
    extent: Extent,
    device: &Device,
) -> Result<Taken, TrainError> {
    let network =
        Network::new(config, task, material.width(), outputs, steps, material.vertices())?;
    let model = network.model.as_ref();
    let layout = Layout::plain(model, config.keeps_aggregations() && material.learned.is_none());
    let mut runner =
        FrameRunner::new(&material.sequence, &material.features, model, layout, device, None)?
            .learning(network.vertex_embedding);
    let mut asked = task::make(config, task, material)?;
    let (mut tape, mut updates) = (Tape::on(device.clone()), Updates::default());
    let (seed, parameters) = (config.train.seed, &network.parameters);
    let (mut piece, mut before) = (Piece::whole(0..steps, steps), Carried::default());
    if extent == Extent::Block {
        // A block that has one before it takes more than the first.
        let mut forward = Forward::training(&mut tape, parameters, &mut updates, seed, 0);
        let output = runner.embed(&mut forward, model, &piece, State::default())?;
        output.state.detach(&tape, &mut before);
        tape.reset();
        piece = Piece::whole(steps..2 * steps, steps);
    }
    let mut bytes = 0;
    let mut flowing = Carried::default();
    let begun = before.attach_variables(&mut tape)?;
    let mut pieces = vec![(piece, begun)];
    while let Some((piece, state)) = pieces.pop() {
        let mut forward = Forward::training(&mut tape, parameters, &mut updates, seed, 0);
        let questions = Questions { steps: piece.steps.clone(), epoch: 0 };
        let run = PieceRun { runner: &mut runner, task: asked.as_mut(), network: &network };
        let ran = run.run(&mut forward, &piece, state, Some(&questions))?;
        let values: usize = ran.state.iter().map(|(_, var)| forward.tape.shape(var).len()).sum();
        bytes = bytes.max(values * size_of::<f32>());
        let of_state = |(place, var)| Some((var, Seed::Matrix(flowing.get(place)?)));
        let mut seeds: Vec<(Var, Seed<'_>)> = ran.state.iter().filter_map(of_state).collect();
        seeds.extend(ran.loss.map(|(loss, _)| (loss, Seed::Number(1.0))));
        tape.backward_from_all(&seeds)?;
        // Memory of a GPU stays where it is: the block before this one, which the gradient of a state flows back
        // into, finds other memory free than the one after it did.
        if extent == Extent::Block && device.gpu().is_some() && piece.steps.start > 0 {
            state.detach_gradients(&tape, &mut flowing);
            tape.reset();
            pieces.push((Piece::whole(0..steps, steps), State::default()));
        }
    }
    // What the tape keeps, not what was in use at once: blocks of one size wait for their next use.
    let tape = (tape.allocated_bytes() + asked.held_bytes()) as f64;
    Ok(Taken { tape, state: bytes as f64 })
}

/// The size of a state, whatever the number of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSize {
    /// Values that do not depend on it, such as evolved weights.
    fixed: u64,
    /// Values of each vertex.
    of_vertex: u64,
}

impl StateSize {
    /// The bytes of a rank whose time encoders have so many vertices.
    pub fn bytes(self, vertices: u64) -> u64 {
        (self.fixed + self.of_vertex * vertices) * size_of::<f32>() as u64
    }
}

/// The states before the blocks of a frame, each of some of its snapshots, found by running miniatures of two sizes
/// from block to block.
///
/// # Errors
/// As building and running the network.
pub fn block_states(
    config: &Config,
    task: TaskName,
    material: &SnapshotInput,
    outputs: usize,
    blocks: &[Range<usize>],
) -> Result<Vec<StateSize>, TrainError> {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let steps = blocks.last().map_or(0, |last| last.end);
    let SmallSize { vertices, edges, .. } = SmallSize::new(config, task, material, outputs, steps)?;
    let values = |vertices: usize| -> Result<Vec<u64>, TrainError> {
        let small = miniature(material, task, outputs, vertices, edges, steps)?;
        let (width, all) = (small.width(), small.vertices());
        let network = Network::new(config, task, width, outputs, steps, all)?;
        let model = network.model.as_ref();
        let (graph, features) = (&small.sequence, &small.features);
        let layout = Layout::plain(model, false);
        let mut runner = FrameRunner::new(graph, features, model, layout, &Device::Cpu, None)?
            .learning(network.vertex_embedding);
        let (mut tape, mut updates) = (Tape::new(), Updates::default());
        let (mut before, mut found) = (Carried::default(), Vec::new());
        for block in blocks {
            found.push(before.values() as u64);
            tape.reset();
            let state = before.attach(&mut tape)?;
            let piece = Piece { frame: 0..steps, steps: block.clone(), group: block.len() };
            let seed = config.train.seed;
            let parameters = &network.parameters;
            let mut forward = Forward::training(&mut tape, parameters, &mut updates, seed, 0);
            let output = runner.embed(&mut forward, model, &piece, state)?;
            output.state.detach(&tape, &mut before);
        }
        Ok(found)
    };
    let size = |(few, many): (u64, u64)| {
        let of_vertex = (many - few) / vertices as u64;
        StateSize { fixed: few - of_vertex * vertices as u64, of_vertex }
    };
    Ok(values(vertices)?.into_iter().zip(values(2 * vertices)?).map(size).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wide model was once estimated by miniatures as large as it is wide, which took several times what
    /// training takes.
    #[test]
    fn a_miniature_is_as_small_for_a_wide_model_as_for_a_narrow_one() {
        let size = |model: &str| {
            let data = "data.path=synthetic:demo?vertices=400&steps=12 data.split=none";
            let all = data.split(' ').chain(model.split(' '));
            let config = all.fold(Config::builder(), |b, text| b.set(text)).build().unwrap();
            let material = SnapshotInput::open(&config, &zoetrope_data::Quiet).unwrap();
            SmallSize::new(&config, TaskName::NodeRegression, &material, 1, 4).unwrap().vertices
        };
        for model in ["tgcn", "gc-lstm", "cd-gcn", "evolvegcn-o model.variant=paper"] {
            assert_eq!(size(&format!("model.name={model} model.hidden=256")), 100, "{model}");
        }
        // A summary needs as many vertices as it has rows.
        let summarised = "model.name=evolvegcn-h model.variant=paper model.hidden=256";
        assert_eq!(size(summarised), 256);
    }

    /// So many that fewer are run; a direct run of all is what it has to come to.
    #[test]
    fn very_many_answers_are_extrapolated_from_fewer() {
        for (job, task, outputs) in [
            ("task.name=link-prediction task.negatives=300", TaskName::LinkPrediction, 1),
            (
                "task.name=node-classification task.classes=20000",
                TaskName::NodeClassification,
                20_000,
            ),
        ] {
            let data =
                "data.path=synthetic:sbm?vertices=200&steps=12&communities=4 model.hidden=16";
            let all = data.split(' ').chain(job.split(' '));
            let config = all.fold(Config::builder(), |b, text| b.set(text)).build().unwrap();
            let material = SnapshotInput::open(&config, &zoetrope_data::Quiet).unwrap();
            let of = |cost: &dyn Fn() -> Result<(StepCost, u64), TrainError>| {
                let (cost, took) = cost().unwrap();
                let ActivationCost { fixed_bytes, bytes_per_vertex, bytes_per_edge } =
                    cost.activations;
                (fixed_bytes + 200.0 * bytes_per_vertex + 4000.0 * bytes_per_edge, took)
            };
            let frame = Extent::Frame;
            let (found, took) =
                of(&|| answered(&config, task, &material, outputs, 4, frame, &Device::Cpu));
            let (direct, took_directly) =
                of(&|| measured(&config, task, &material, outputs, 4, frame, &Device::Cpu));
            assert!(2 * took < took_directly, "{job}: {took} {took_directly}");
            // Blocks of a tape are up to an eighth larger than what they hold, and small ones more so.
            assert!((0.95..1.15).contains(&(found / direct)), "{job}: {found} {direct}");
        }
    }

    fn cost(fixed_bytes: f64, bytes_per_vertex: f64) -> StepCost {
        let activations = ActivationCost { fixed_bytes, bytes_per_vertex, bytes_per_edge: 1.0 };
        StepCost { activations, state_bytes: 7 }
    }

    #[test]
    fn what_grows_along_a_line_or_a_square_is_extrapolated_along_it() {
        // 5 + 10 a snapshot, and 3 a snapshot squared.
        let at = |steps: f64| cost(5.0 + 10.0 * steps, 3.0 * steps * steps);
        let found = at(16.0).stretched(at(8.0), 16, 100).activations;
        let wanted = at(100.0).activations;
        assert!((found.fixed_bytes - wanted.fixed_bytes).abs() < 1e-6, "{found:?}");
        assert!((found.bytes_per_vertex - wanted.bytes_per_vertex).abs() < 1e-6, "{found:?}");
    }
}
