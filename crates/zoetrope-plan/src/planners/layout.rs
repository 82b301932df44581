//! What every planner of frames lays out the same way: frames, groups, orders, blocks, what is kept.

use super::GpuFacts;
use super::memory::{Estimate, SharedMemory};
use crate::checkpoint::fewest_blocks;
use crate::error::PlanError;
use crate::plan::frame::{Frame, MAX_GROUPS};
use crate::plan::frame_plan::{Blocks, FramePlan, LayerOrder, OperatorOrder, Reuse, Update};
use crate::plan::gpu::{FramesOnGpu, Residency, Transport};
use crate::plan::head::Head;
use crate::plan::memory::Memory;
use crate::plan::sharing::Sharing;
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
        if wishes.memory_limit.is_none() || !wishes.recompute {
            return (blocks(1), None);
        }
        let total = |count| self.memory(workload, blocks(count), shared).total();
        let counts = std::iter::once(1).chain(workload.blocks.iter().map(|cost| cost.blocks));
        let Some(count) = fewest_blocks(counts, wishes.memory_limit, total) else {
            return (blocks(1), None);
        };
        let why = "fewer do not fit into plan.memory_limit";
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

    /// The plan, with what a planner adds.
    pub(super) fn plan(
        self,
        workload: &FrameWorkload,
        parts: Parts<'_>,
    ) -> Result<FramePlan, PlanError> {
        let Parts { planner, wishes, blocks, memory, sharing, gpu, reasons } = parts;
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
                reasons: all,
                warnings: Vec::new(),
                candidates: Vec::new(),
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
            let (layout, reasons) = on_gpu(&plan, workload, wishes, facts)?;
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
    pub(super) gpu: Option<&'a GpuFacts>,
    pub(super) reasons: Vec<String>,
}

/// How GPUs compute a plan: where the graph lies, how it gets there, what is recorded; and why.
///
/// # Errors
/// If NCCL is asked for and cannot be had.
pub fn on_gpu(
    plan: &FramePlan,
    workload: &FrameWorkload,
    wishes: &Wishes,
    facts: &GpuFacts,
) -> Result<(FramesOnGpu, Vec<String>), PlanError> {
    let mut reasons = Vec::new();
    let residency = match wishes.residency {
        // Each rank has its share of the graph where it computes.
        _ if plan.cells().is_some() => Residency::Resident,
        Some(asked) => {
            reasons.push(format!("the graph is {}: as asked", lies(asked)));
            asked
        }
        None if facts.data_bytes > facts.memory_limit / 2 => {
            let why = "it would take more than half of the GPU's memory";
            reasons.push(format!("the graph is {}: {why}", lies(Residency::Stream)));
            Residency::Stream
        }
        None => Residency::Resident,
    };
    let streams = residency == Residency::Stream;
    let alone = plan.head.ranks == 1;
    let one_frame = plan.updates.iter().all(|update| update.frames == 1);
    let in_blocks = plan.blocks.count > 1;
    let repeats = alone
        && workload.is_recordable
        && !workload.carries_state
        && plan.rule.truncate.is_none()
        && !in_blocks
        && (one_frame || !streams);
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
        (false, _, Ok(())) => Some(Transport::Nccl),
        (false, None, Err(_)) => Some(Transport::Host),
    };
    let layout = FramesOnGpu {
        precision: wishes.precision,
        residency,
        coding: wishes.coding,
        look_ahead: usize::from(streams),
        draw_ahead: DRAW_AHEAD,
        record,
        transport,
    };
    Ok((layout, reasons))
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
