//! The graph, the model and the GPU in the numbers that planners take.

use zoetrope_config::{Config, TaskName};
use zoetrope_data::split::Part;
use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::change::StepChange;
use zoetrope_nn::model::Coverage;
use zoetrope_plan::{BlockCost, FrameWorkload, GpuFacts, ModelStage, PlanError, StageRole, Wishes};
use zoetrope_tensor::cuda::WORKSPACE_BYTES;
use zoetrope_tensor::{Device, Gpu, SparseGroup};

use super::planning::Draft;
use crate::error::TrainError;
use crate::learner::optimise;
use crate::snapshots::engine::{Extent, Layout, StepCost, bytes_on_gpu, step_cost};
use crate::snapshots::material::SnapshotInput;
use crate::snapshots::task;

/// How much more a step may take on a GPU than on the processor, where the GPU cannot be asked.
const ON_GPU: f64 = 1.6;
/// The share of a GPU's memory, as a divisor, from which on it matters what its own kernels take.
const NEAR_LIMIT: u64 = 8;
/// Snapshots of the largest block that a miniature runs on a GPU. Larger ones are on the line through the smallest.
const BLOCK_SAMPLE: usize = 12;
/// Pairs of snapshots that are compared to tell how much a graph changes.
const COMPARED_PAIRS: usize = 4;

impl Draft<'_> {
    /// What a GPU of so much memory offers, and what the graph and the features would take there.
    pub(super) fn gpu_facts(
        &self,
        material: &SnapshotInput,
        limit: u64,
        linked: Result<(), String>,
    ) -> GpuFacts {
        let (graph, vertices) = (&material.sequence, material.vertices());
        let copies = if graph.is_constant() { 1 } else { graph.steps() };
        let forms = self.network.model.forms().len();
        // Each matrix in each form, and its transpose if a gradient flows back through a product.
        let flows_back = |stage: &ModelStage| {
            matches!(stage.role, StageRole::Halo | StageRole::HaloInTime) && stage.needs_gradient
        };
        let stages = self.stages(material, Layout::plain(self.network.model.as_ref(), false));
        let sides = 1 + usize::from(stages.is_ok_and(|stages| stages.iter().any(flows_back)));
        let bytes_of = |step: usize| {
            let entries = graph.edges_at(step) + vertices;
            (sides * forms * SparseGroup::matrix_bytes(vertices, entries)) as u64
        };
        let targets = material.goal_bytes();
        let features = if material.learned.is_some() { 0 } else { material.feature_bytes() };
        GpuFacts {
            graph_bytes: (0..copies).map(bytes_of).sum(),
            snapshot_bytes: (0..copies).map(bytes_of).max().unwrap_or(0),
            change: change(graph),
            feature_bytes: (features / graph.steps().max(1)) as u64,
            target_bytes: targets as u64,
            workspace_bytes: WORKSPACE_BYTES as u64,
            ..GpuFacts::with_memory(limit, linked)
        }
    }

    /// About the bytes of the activations and the snapshots of a frame, of one rank that has all of it.
    fn bytes_of_frame(&self, material: &SnapshotInput, whole: &StepCost, steps: usize) -> u64 {
        let vertices = material.vertices() as f64;
        let all = material.sequence.stored_edges() as f64;
        let mean = if material.sequence.is_constant() {
            all
        } else {
            all / material.sequence.steps().max(1) as f64
        };
        let edges = steps as f64 * (mean + vertices);
        let cost = &whole.activations;
        let activations =
            cost.fixed_bytes + cost.bytes_per_vertex * vertices + cost.bytes_per_edge * edges;
        let matrices = (2 * self.network.model.forms().len()) as f64 * 8.0 * edges;
        let features = 2.0 * (steps * material.width() * 4) as f64 * vertices;
        (activations + 2.0 * matrices + features) as u64
    }

    /// The graph and the model as planners take them, and the cost of a step.
    ///
    /// # Errors
    /// If the model cannot do what is asked of it.
    pub(super) fn workload(
        &self,
        material: &SnapshotInput,
        device: &Device,
        gpu: Option<&GpuFacts>,
    ) -> Result<(FrameWorkload, StepCost), TrainError> {
        let Self { config, task_name: task, ref network, rule, .. } = *self;
        let model = network.model.as_ref();
        let training = material.steps_of(Part::Train, task);
        let steps = rule.frame.unwrap_or(training.len());
        if training.is_empty() {
            return Err(PlanError::NoSnapshots.into());
        }
        if steps > training.len() {
            return Err(PlanError::FrameTooLong { frame: steps, snapshots: training.len() }.into());
        }
        let wished = config.wishes(self.ranks, rule, false);
        self.must_suit(&wished)?;
        let (whole, blocks, measured_on_gpu) = self.costs(material, steps, &wished, device, gpu)?;
        let matrix_bytes = prepared_bytes(material, model.forms().len());
        let moved = self.stages(material, Layout::plain(model, false))?;
        let facts = FrameWorkload {
            data: material.name.clone(),
            model: model.name().to_owned(),
            training,
            vertices: material.vertices(),
            edges: (0..material.steps()).map(|step| material.sequence.edges_at(step)).collect(),
            features: material.width(),
            structure_widths: model.structure_widths(),
            works_in_blocks: model.works_in_blocks(),
            time_on_features: moved.iter().any(|stage| stage.role == StageRole::ToTime),
            is_recordable: model.is_recordable(),
            frames_per_update: config.train.batch_size,
            carries_state: config.train.carry_state,
            // What is learned changes with every update.
            can_reuse: model.can_reuse() && material.learned.is_none(),
            weights: network.parameters.weights(),
            optimiser_slots: optimise::slots(&config.train),
            data_bytes: material.bytes() + matrix_bytes,
            data_is_shared: material.splits && self.ranks.all > 1 && self.ranks.in_process == 1,
            evaluation_bytes: evaluation_bytes(config, task, material),
            measured_on_gpu,
            activations: whole.activations,
            blocks,
        };
        Ok((facts, whole))
    }

    /// Refuses what the model cannot do.
    fn must_suit(&self, wishes: &Wishes) -> Result<(), TrainError> {
        let (config, model) = (self.config, self.network.model.as_ref());
        if config.train.truncate.is_some() && model.coverage() == Coverage::Last {
            return Err(TrainError::Unfit {
                what: format!(
                    "train.truncate cuts frames, but {} reads whole frames",
                    model.name()
                ),
                advice: "leave train.truncate out".to_owned(),
            });
        }
        if config.train.truncate.is_some() && !model.carries_state() {
            return Err(TrainError::Unfit {
                what: format!("train.truncate hands a state on, but {} has none", model.name()),
                advice: "leave train.truncate out".to_owned(),
            });
        }
        if self.rule.frame.is_none() && model.most_steps().is_some() {
            return Err(TrainError::Unfit {
                what: format!(
                    "{} learns a position for each snapshot of a frame, so that it cannot go beyond the snapshots it trained on",
                    model.name()
                ),
                advice: "choose a length with train.frame".to_owned(),
            });
        }
        if config.train.carry_state && !model.carries_state() {
            return Err(TrainError::Unfit {
                what: format!("{} has no state to carry from frame to frame", model.name()),
                advice: "leave train.carry_state out".to_owned(),
            });
        }
        if wishes.blocks.is_some_and(|blocks| blocks > 1) && !model.works_in_blocks() {
            return Err(TrainError::Unfit {
                what: format!("plan.blocks cuts frames, but {} looks at whole ones", model.name()),
                advice: "leave plan.blocks out".to_owned(),
            });
        }
        Ok(())
    }

    /// The cost of a step of so many snapshots as a whole and in blocks, and whether the GPU told it.
    fn costs(
        &self,
        material: &SnapshotInput,
        steps: usize,
        wishes: &Wishes,
        device: &Device,
        gpu: Option<&GpuFacts>,
    ) -> Result<(StepCost, Vec<BlockCost>, bool), TrainError> {
        let Self { config, task_name: task, ref network, outputs, .. } = *self;
        let model = network.model.as_ref();
        let step = config.train.truncate.unwrap_or(steps).min(steps);
        let on = |steps, extent, device: &Device| {
            step_cost(config, task, material, outputs, steps, extent, device)
        };
        let mut whole = on(step, Extent::Frame, &Device::Cpu)?;
        // Miniatures of blocks are run only if a frame may be too much as a whole.
        let needed = self.bytes_of_frame(material, &whole, steps);
        let limited = match gpu {
            None => wishes.memory_limit.is_some(),
            Some(gpu) => needed > gpu.memory_limit / 2,
        };
        let counts = block_counts(config, wishes, limited, model.works_in_blocks(), step);
        let sizes: Vec<usize> = counts.iter().map(|count| step.div_ceil(*count)).collect();
        // A GPU says what its kernels take if that matters, and if there is room for miniatures without doubt.
        let has_room = |gpu: &GpuFacts, snapshots: usize| {
            let share = snapshots as f64 / step as f64;
            bytes_on_gpu(&whole, material.vertices(), step) * share < gpu.memory_limit as f64
        };
        let (most, least) = (sizes.iter().max().copied(), sizes.iter().min().copied());
        let ends = most.map(|most| most.min(BLOCK_SAMPLE)).zip(least);
        let near =
            gpu.filter(|gpu| device.gpu().is_some() && needed > gpu.memory_limit / NEAR_LIMIT);
        let sample = ends.map_or(step, |(most, _)| 2 * most);
        let measured_on_gpu = near.is_some_and(|gpu| has_room(gpu, sample));
        let costs = if measured_on_gpu {
            if near.is_some_and(|gpu| has_room(gpu, step)) {
                whole = on(step, Extent::Frame, device)?;
            } else {
                whole = whole.times(ON_GPU);
            }
            let measured = |(many, few)| {
                let of = |steps| Ok::<_, TrainError>((on(steps, Extent::Block, device)?, steps));
                Ok::<_, TrainError>((of(many)?, of(few)?))
            };
            let ends = ends.map(measured).transpose()?;
            device.gpu().into_iter().for_each(Gpu::restart_memory_use);
            let at = |&steps: &usize| ends.map(|((many, size), few)| many.along(size, few, steps));
            sizes.iter().filter_map(at).collect()
        } else {
            let of = |&steps: &usize| on(steps, Extent::Block, &Device::Cpu);
            sizes.iter().map(of).collect::<Result<Vec<_>, _>>()?
        };
        let cost_of = |(&blocks, found): (&usize, StepCost)| {
            let StepCost { activations, state_bytes } = found;
            BlockCost { blocks, activations, state_bytes }
        };
        let blocks = counts.iter().zip(costs).map(cost_of).collect();
        Ok((whole, blocks, measured_on_gpu))
    }
}

/// The share of the edges of a snapshot that the one before it does not have, judged by a few snapshots.
fn change(graph: &SnapshotSequence) -> f64 {
    if graph.is_constant() || graph.steps() < 2 {
        return 0.0;
    }
    let between = (graph.steps() - 1).div_ceil(COMPARED_PAIRS);
    let rates = (1..graph.steps()).step_by(between).map(|step| {
        if let Some(counts) = graph.counts() {
            return counts.added(step) as f64 / graph.edges_at(step).max(1) as f64;
        }
        let StepChange { added, common, .. } =
            StepChange::between(graph.at(step - 1), graph.at(step));
        added as f64 / ((added + common).max(1)) as f64
    });
    rates.fold(0.0, f64::max)
}

/// The numbers of blocks worth looking at: what was asked for, or what a limit on memory may need.
fn block_counts(
    config: &Config,
    wishes: &Wishes,
    limited: bool,
    possible: bool,
    steps: usize,
) -> Vec<usize> {
    match wishes.blocks {
        Some(count) if count > 1 => vec![count.min(steps)],
        None if limited && possible && config.train.truncate.is_none() => {
            // Sizes of blocks, not their numbers, decide: of numbers with the same largest block the
            // first will do.
            let mut counts: Vec<usize> = (2..=steps).collect();
            counts.dedup_by_key(|count| steps.div_ceil(*count));
            counts.retain(|&count| count <= 16 || count.is_multiple_of(4) || count == steps);
            counts
        }
        _ => Vec::new(),
    }
}

/// Bytes of the scores that AP and AUC keep: eight for each pair of the test part, of the model or
/// of the three baselines, whose lists are sorted in place; and what is kept of the questions of the validation part.
fn evaluation_bytes(config: &Config, task: TaskName, material: &SnapshotInput) -> u64 {
    if task != TaskName::LinkPrediction {
        return 0;
    }
    let edges: usize =
        material.split.test.clone().map(|step| material.happened.edges_at(step)).sum();
    let scores = (edges * (1 + config.task.negatives) * 8 * 3) as u64;
    let unlimited = config.memory_limit().is_none();
    let kept =
        if unlimited { task::kept_bytes(&material.happened, config.task.negatives) } else { 0 };
    scores + kept
}

/// Bytes of the matrices that layers multiply with: offsets, columns and values, twice for the
/// transpose, and where its entries come from.
fn prepared_bytes(material: &SnapshotInput, forms: usize) -> u64 {
    let vertices = material.vertices() as u64;
    let copies = if material.sequence.is_constant() { 1 } else { material.steps() as u64 };
    let entries = material.sequence.stored_edges() as u64 + copies * vertices;
    forms as u64 * (2 * (entries * 8 + copies * (vertices + 1) * 4) + entries * 4)
}
