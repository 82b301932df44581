//! What every planner of frames lays out the same way: frames, groups, orders, blocks, what is kept.

use super::GpuFacts;
use super::device::{OnDevice, Placed};
use super::memory::{Estimate, SharedMemory};
use crate::checkpoint::fewest_blocks;
use crate::error::PlanError;
use crate::plan::frame::{Frame, MAX_GROUPS};
use crate::plan::frame_plan::{Blocks, FramePlan, LayerOrder, OperatorOrder, Reuse, Update};
use crate::plan::gpu::{Coding, FramesOnGpu, Residency, Transport};
use crate::plan::head::Head;
use crate::plan::memory::Memory;
use crate::plan::sharing::Sharing;
use crate::strategy;
use crate::wishes::Wishes;
use crate::workload::FrameWorkload;

/// Updates that are drawn ahead. Four were too few: on 16 cores beside an H200 the GPU waited for frames of
/// 20,000 pairs for half of an epoch.
const DRAW_AHEAD: usize = 12;

/// Frames, orders and reuse of an epoch, before it is known who computes what.
#[derive(Debug, Clone)]
pub(super) struct FrameLayout {
    pub(super) frames: Vec<Frame>,
    pub(super) group: usize,
    pub(super) orders: Vec<LayerOrder>,
    pub(super) reuse: Reuse,
    pub(super) reasons: Vec<String>,
}

impl FrameLayout {
    /// Frames in time order, whole ones as groups, the cheaper order, kept aggregations if the model allows
    /// them.
    pub(super) fn new(workload: &FrameWorkload, wishes: &Wishes) -> Result<Self, PlanError> {
        let mut reasons = Vec::new();
        let mut frames = wishes.rule.cut(workload.training.clone())?;
        let steps = frames[0].steps;
        reasons.push(format!(
            "{} frames of {steps} snapshots, {} from one start to the next",
            frames.len(),
            wishes.rule.stride
        ));
        let reuse = reuse(workload, wishes, &frames, &mut reasons);
        let orders = orders(workload, wishes, reuse.first_aggregation, &mut reasons);
        let group = group(steps, wishes, &mut reasons);
        frames.iter_mut().for_each(|frame| frame.group = group);
        Ok(Self { frames, group, orders, reuse, reasons })
    }

    /// The frame with most edges.
    pub(super) fn largest(&self, workload: &FrameWorkload) -> Frame {
        let edges = |frame: &&Frame| workload.edges[frame.range()].iter().sum::<usize>();
        *self.frames.iter().max_by_key(edges).expect("a plan has frames")
    }

    /// As few blocks as keep to the limit, or as many as were asked for; also why.
    pub(super) fn blocks(
        &self,
        workload: &FrameWorkload,
        wishes: &Wishes,
        shared: Option<&SharedMemory<'_>>,
        gpu: Option<&GpuFacts>,
    ) -> (Blocks, Option<String>) {
        let blocks = |count| Blocks { count, recompute: wishes.recompute };
        let steps = self.frames[0].steps;
        let says = |count: usize, recompute: bool, why: &str| {
            let how = if recompute {
                "recomputed in the backward pass"
            } else {
                "kept until the backward pass"
            };
            let size = steps.div_ceil(count);
            format!(
                "a frame is computed in {count} blocks of {size} snapshots or less, {how}: {why}"
            )
        };
        if let Some(count) = wishes.blocks {
            let count = count.min(steps);
            let why = (count > 1).then(|| says(count, wishes.recompute, "as asked"));
            return (blocks(count), why);
        }
        // On a GPU the limit is that of the GPU.
        let limit = gpu.map_or(wishes.memory_limit, |gpu| Some(gpu.memory_limit));
        if limit.is_none() || !wishes.recompute {
            return (blocks(1), None);
        }
        let total = |count| match gpu {
            None => self.memory(workload, blocks(count), shared).total(),
            Some(gpu) => {
                let own = shared.map(SharedMemory::own_process);
                let on_device = self.on_device(workload, wishes, gpu, blocks(count), own.as_ref());
                on_device.placed(wishes).memory.total()
            }
        };
        let counts = std::iter::once(1).chain(workload.blocks.iter().map(|cost| cost.blocks));
        let Some(count) = fewest_blocks(counts, limit, total) else {
            return (blocks(1), None);
        };
        let why = match gpu {
            None => "fewer do not fit into plan.memory_limit",
            Some(_) => "fewer do not fit into the memory of the GPU",
        };
        (blocks(count), (count > 1).then(|| says(count, true, why)))
    }

    /// The memory that a process will take.
    pub(super) fn memory(
        &self,
        workload: &FrameWorkload,
        blocks: Blocks,
        shared: Option<&SharedMemory<'_>>,
    ) -> Memory {
        let (frames, reuse) = (&self.frames, &self.reuse);
        Estimate { workload, frames, reuse, blocks, shared }.memory()
    }

    /// The layout on the GPU of a rank.
    fn on_device<'a>(
        &'a self,
        workload: &'a FrameWorkload,
        wishes: &Wishes,
        facts: &'a GpuFacts,
        blocks: Blocks,
        shared: Option<&'a SharedMemory<'a>>,
    ) -> OnDevice<'a> {
        let (frames, reuse) = (&self.frames[..], &self.reuse);
        let estimate = Estimate { workload, frames, reuse, blocks, shared };
        OnDevice { estimate, facts, coding: coding(wishes, splits(shared)) }
    }

    /// The plan, with what a planner adds.
    pub(super) fn plan(
        self,
        workload: &FrameWorkload,
        parts: Parts<'_>,
    ) -> Result<FramePlan, PlanError> {
        let Parts { planner, wishes, blocks, memory, sharing, shared, gpu, reasons } = parts;
        let mut all = self.reasons;
        all.extend(reasons);
        let size = workload.frames_per_update;
        let mut updates = Update::of(self.frames.len(), size);
        if sharing == Some(Sharing::Frames) {
            for update in &mut updates {
                update.ranks = (0..update.frames as u32).map(|at| at % wishes.ranks).collect();
            }
        }
        let mut plan = FramePlan {
            head: Head {
                schema: Head::SCHEMA,
                planner: planner.to_owned(),
                data: workload.data.clone(),
                model: workload.model.clone(),
                vertices: workload.vertices,
                ranks: wishes.ranks as usize,
                memory,
                sent_bytes: Vec::new(),
                reasons: all,
                warnings: Vec::new(),
                candidates: Vec::new(),
                timed_by: None,
            },
            rule: wishes.rule,
            frames: self.frames,
            updates,
            blocks,
            judged_group: self.group,
            orders: self.orders,
            reuse: self.reuse,
            sharing,
            gpu: None,
        };
        if let Some(facts) = gpu {
            let own = shared.map(SharedMemory::own_process);
            let (layout, reasons) = on_gpu_of(&plan, workload, wishes, facts, own.as_ref())?;
            plan.gpu = Some(layout);
            plan.head.reasons.extend(reasons);
        }
        Ok(plan)
    }
}

/// What a planner adds to a layout.
pub(super) struct Parts<'a> {
    pub(super) planner: &'static str,
    pub(super) wishes: &'a Wishes,
    pub(super) blocks: Blocks,
    pub(super) memory: Memory,
    pub(super) sharing: Option<Sharing>,
    pub(super) shared: Option<&'a SharedMemory<'a>>,
    pub(super) gpu: Option<&'a GpuFacts>,
    pub(super) reasons: Vec<String>,
}

/// How GPUs compute a plan: where the graph lies, how it gets there, what is recorded; and why.
///
/// # Errors
/// If NCCL or differences are asked for and cannot be had.
pub fn on_gpu(
    plan: &FramePlan,
    workload: &FrameWorkload,
    wishes: &Wishes,
    facts: &GpuFacts,
) -> Result<(FramesOnGpu, Vec<String>), PlanError> {
    let ranks = plan.head.ranks as u32;
    // What ranks exchange is not known of a plan that others made.
    let shared = (ranks > 1).then_some(SharedMemory { ranks, in_process: 1, cells: None });
    on_gpu_of(plan, workload, wishes, facts, shared.as_ref())
}

/// The same of a rank that has its share of the cells.
fn on_gpu_of(
    plan: &FramePlan,
    workload: &FrameWorkload,
    wishes: &Wishes,
    facts: &GpuFacts,
    shared: Option<&SharedMemory<'_>>,
) -> Result<(FramesOnGpu, Vec<String>), PlanError> {
    let mut reasons = Vec::new();
    if wishes.coding == Coding::Differences && plan.splits_snapshots() {
        return Err(PlanError::DifferencesOfParts);
    }
    let coding = coding(wishes, plan.splits_snapshots());
    let (frames, reuse, blocks) = (&plan.frames[..], &plan.reuse, plan.blocks);
    let estimate = Estimate { workload, frames, reuse, blocks, shared };
    let on_device = OnDevice { estimate, facts, coding };
    let Placed { graph: residency, block_states, memory } = on_device.placed(wishes);
    let no_room = "no room on the GPU beside everything else";
    match wishes.residency {
        Some(asked) => reasons.push(format!("the graph is {}: as asked", lies(asked))),
        None if residency == Residency::Stream => {
            reasons.push(format!("the graph is {}: it has {no_room}", lies(residency)));
        }
        None => {}
    }
    if block_states == Residency::Stream {
        let why = if wishes.block_states.is_some() {
            "as asked".to_owned()
        } else {
            format!("they have {no_room}")
        };
        reasons
            .push(format!("states between blocks wait on the host for the backward pass: {why}"));
    }
    let (needed, limit) = (memory.total(), facts.memory_limit);
    if needed > limit {
        let needed = strategy::size(needed);
        let limit = strategy::size(limit);
        reasons.push(format!(
            "the GPU may be too small: about {needed} are needed, {limit} may be used"
        ));
    }
    let streams = residency == Residency::Stream;
    let alone = plan.head.ranks == 1;
    // Ranks that take frames of their own tell each other what they found in each.
    let repeats = plan.sharing != Some(Sharing::Frames)
        && workload.is_recordable
        && !workload.carries_state
        && plan.rule.truncate.is_none()
        // The backward pass asks again for the matrices of blocks that are kept.
        && !(streams && plan.keeps_blocks());
    let record = wishes.record && repeats;
    if wishes.record && !repeats {
        reasons.push("updates are not recorded: they do not repeat as they are".to_owned());
    }
    let transport = match (alone, wishes.transport, &facts.linked) {
        (true, ..) => None,
        (false, Some(Transport::Host), _) => Some(Transport::Host),
        (false, Some(Transport::Nccl), Err(why)) => {
            return Err(PlanError::NotLinked { why: why.clone() });
        }
        (false, Some(Transport::Nccl), Ok(())) => Some(Transport::Nccl),
        (false, None, _) => Some(best_transport(facts)),
    };
    let layout = FramesOnGpu {
        precision: wishes.precision,
        residency,
        coding,
        block_states,
        look_ahead: usize::from(streams || plan.cells().is_some()),
        draw_ahead: DRAW_AHEAD,
        record,
        transport,
        memory,
    };
    Ok((layout, reasons))
}

/// The layout of a saved plan for GPUs that are there: if it was made before its ranks were, it does not say yet how
/// they exchange GPU data.
pub fn for_ranks(planned: FramesOnGpu, ranks: usize, facts: &GpuFacts) -> FramesOnGpu {
    let found = || (ranks > 1).then(|| best_transport(facts));
    FramesOnGpu { transport: planned.transport.or_else(found), ..planned }
}

/// From GPU to GPU if that is possible.
fn best_transport(facts: &GpuFacts) -> Transport {
    if facts.linked.is_ok() { Transport::Nccl } else { Transport::Host }
}

/// How snapshots are sent: parts of them, whose columns have other numbers in each, are sent whole.
fn coding(wishes: &Wishes, splits: bool) -> Coding {
    match wishes.coding {
        Coding::Auto if splits => Coding::Whole,
        asked => asked,
    }
}

/// Whether ranks share the vertices of a snapshot.
fn splits(shared: Option<&SharedMemory<'_>>) -> bool {
    let cells = shared.and_then(|shared| Some((shared.ranks, shared.cells?)));
    cells.is_some_and(|(ranks, cells)| cells.strategy.grid(ranks).members > 1)
}

fn lies(residency: Residency) -> &'static str {
    match residency {
        Residency::Resident => "kept on the GPU",
        Residency::Stream => "kept on the host and sent frame by frame",
    }
}

fn reuse(
    workload: &FrameWorkload,
    wishes: &Wishes,
    frames: &[Frame],
    reasons: &mut Vec<String>,
) -> Reuse {
    let none = Reuse { first_aggregation: false, bytes: 0, products_saved: 0 };
    if !wishes.reuse {
        reasons.push("aggregations are not kept: plan.reuse is false".to_owned());
        return none;
    }
    if !workload.can_reuse {
        let model = &workload.model;
        reasons.push(format!(
            "aggregations are not kept: the first layer of {model} changes with its weights"
        ));
        return none;
    }
    // Kept for the whole sequence: validation and test snapshots are aggregated too.
    let rows = (workload.edges.len() * workload.vertices) as u64;
    let bytes = rows * workload.features as u64 * 4;
    let products_saved = frames.iter().map(|frame| frame.steps as u64).sum();
    reasons.push(format!(
        "Â·X of the first layer is kept for {} snapshots: {products_saved} products an epoch saved",
        workload.edges.len(),
    ));
    Reuse { first_aggregation: true, bytes, products_saved }
}

fn orders(
    workload: &FrameWorkload,
    wishes: &Wishes,
    reuse: bool,
    reasons: &mut Vec<String>,
) -> Vec<LayerOrder> {
    let one = |(layer, &(inputs, outputs)): (usize, &(usize, usize))| {
        let (order, why) = match (layer, wishes.order) {
            (0, _) if reuse => (OperatorOrder::AggregateFirst, "its aggregation is kept"),
            (_, Some(order)) => (order, "as asked"),
            _ if inputs <= outputs => {
                (OperatorOrder::AggregateFirst, "its input is not wider than its output")
            }
            _ => (OperatorOrder::UpdateFirst, "its output is narrower than its input"),
        };
        let name = match order {
            OperatorOrder::AggregateFirst => "aggregates first",
            OperatorOrder::UpdateFirst => "multiplies with its weights first",
        };
        reasons.push(format!("structure layer {} ({inputs} → {outputs}) {name}: {why}", layer + 1));
        LayerOrder { inputs, outputs, order, other_order: Vec::new() }
    };
    workload.structure_widths.iter().enumerate().map(one).collect()
}

fn group(steps: usize, wishes: &Wishes, reasons: &mut Vec<String>) -> usize {
    let least = steps.div_ceil(MAX_GROUPS);
    let snapshots = wishes.group.unwrap_or(steps).clamp(least, steps);
    let why = match wishes.group {
        Some(asked) if asked == snapshots => "as asked",
        Some(_) => "as near to what was asked as a frame allows",
        None => "a whole frame, so that each product with weights runs once a frame",
    };
    reasons.push(format!("structure encoders take {snapshots} snapshots at once: {why}"));
    snapshots
}
