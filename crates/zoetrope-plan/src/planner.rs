//! The planner of frames: in time order, whole ones as groups, the cheaper order, as few blocks as the
//! memory allows.

use crate::checkpoint::fewest_blocks;
use crate::error::PlanError;
use crate::frames::FrameRule;
use crate::memory::{LaidOut, Memory};
use crate::placement::{Placement, Placements};
use crate::plan::{Blocks, Grouping, LayerOrder, MAX_GROUPS, OperatorOrder, Plan, Reuse};
use crate::strategy::{Moved, Strategy, Traffic};
use crate::workload::Workload;

/// Memory of the program, its threads and its buffers before any data.
pub(crate) const PROGRAM_BYTES: u64 = 12 << 20;

/// Memory of another rank in the same process: its threads and their buffers.
const THREAD_BYTES: u64 = 2 << 20;

/// Ranks of one process reach their peaks together when blocks are computed again, and none uses memory that
/// another has just freed: they were seen to take up to a third more than their shares add up to.
pub(crate) const TOGETHER: f64 = 1.45;

/// Bytes of an edge of a renamed graph: its two ends, and as much while they are sorted.
pub(crate) const EDGE_BYTES: u64 = 16;

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The planner.
    pub planner: String,
    /// How frames are cut.
    pub rule: FrameRule,
    /// Snapshots in a group, where decided.
    pub group: Option<usize>,
    /// The order of products, where decided.
    pub order: Option<OperatorOrder>,
    /// Whether aggregations of the first layer may be kept.
    pub reuse: bool,
    /// Blocks of a frame, where decided; otherwise as few as the memory allows.
    pub blocks: Option<usize>,
    /// Whether blocks are computed again on the way back.
    pub recompute: bool,
    /// Ranks that share the work, and how, where there are several.
    pub shared: Option<SharedWork>,
    /// The memory that the run may take, where limited: that of one process.
    pub memory_limit: Option<u64>,
}

/// How ranks share the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedWork {
    /// How many there are.
    pub ranks: u32,
    /// How many of them are in one process.
    pub in_process: u32,
    /// How they share it.
    pub strategy: Strategy,
    /// Why so.
    pub reason: String,
    /// Where the vertices of each member of a group start, and the end of the last ones.
    pub starts: Vec<u32>,
    /// What the model exchanges.
    pub traffic: Traffic,
    /// Rows that structure encoders of all ranks gather from others, of a frame.
    pub gathered: u64,
}

/// The names of the planners.
pub const PLANNERS: [&str; 2] = ["auto", "frames"];

/// Lays out an epoch.
///
/// # Errors
/// Where the planner is unknown, a frame does not fit the timeline, or the limit on memory is too
/// small.
pub fn plan(workload: &Workload, choice: &Choice) -> Result<Plan, PlanError> {
    if !PLANNERS.contains(&choice.planner.as_str()) {
        let known = PLANNERS.join(" and ");
        return Err(PlanError::UnknownPlanner { name: choice.planner.clone(), known });
    }
    let mut reasons = Vec::new();
    let frames = choice.rule.cut(workload.training.clone())?;
    let steps = frames[0].steps;
    reasons.push(format!(
        "{} frames of {steps} snapshots, {} from one start to the next",
        frames.len(),
        choice.rule.stride
    ));
    let reuse = reuse(workload, choice, &frames, &mut reasons);
    let orders = orders(workload, choice, reuse.first_aggregation, &mut reasons);
    let group = group(steps, choice, &mut reasons);
    let blocks = blocks(workload, choice, &frames, &reuse, &mut reasons)?;
    let memory = memory(workload, choice, &frames, &reuse, blocks);
    memory.check(choice.memory_limit, LaidOut::Frames)?;
    let placement = match &choice.shared {
        None => Placements { structure: Placement::Single, time: Placement::Single },
        Some(shared) => {
            reasons.push(shared.reason.clone());
            let grid = shared.strategy.grid(shared.ranks);
            let ranges = blocks.of(0..steps);
            grid.placements(&shared.starts, &ranges, shared.traffic.time_on_features)
        }
    };
    Ok(Plan {
        schema: Plan::SCHEMA,
        planner: "frames".to_owned(),
        data: workload.data.clone(),
        model: workload.model.clone(),
        vertices: workload.vertices,
        ranks: choice.shared.as_ref().map_or(1, |shared| shared.ranks as usize),
        strategy: choice.shared.as_ref().map(|shared| shared.strategy),
        comparison: None,
        placement,
        rule: choice.rule,
        frames,
        blocks,
        group,
        orders,
        reuse,
        memory,
        reasons,
    })
}

fn reuse(
    workload: &Workload,
    choice: &Choice,
    frames: &[crate::frames::Frame],
    reasons: &mut Vec<String>,
) -> Reuse {
    let none = Reuse { first_aggregation: false, bytes: 0, products_saved: 0 };
    if !choice.reuse {
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
    workload: &Workload,
    choice: &Choice,
    reuse: bool,
    reasons: &mut Vec<String>,
) -> Vec<LayerOrder> {
    let one = |(layer, &(inputs, outputs)): (usize, &(usize, usize))| {
        let (order, why) = match (layer, choice.order) {
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
        LayerOrder { inputs, outputs, order }
    };
    workload.structure_widths.iter().enumerate().map(one).collect()
}

fn group(steps: usize, choice: &Choice, reasons: &mut Vec<String>) -> Grouping {
    let least = steps.div_ceil(MAX_GROUPS);
    let snapshots = choice.group.unwrap_or(steps).clamp(least, steps);
    let why = match choice.group {
        Some(asked) if asked == snapshots => "as asked",
        Some(_) => "as near to what was asked as a frame allows",
        None => "a whole frame, so that each product with weights runs once a frame",
    };
    reasons.push(format!("structure encoders take {snapshots} snapshots at once: {why}"));
    Grouping { snapshots }
}

/// As few blocks as keep to the limit, or as many as were asked for.
fn blocks(
    workload: &Workload,
    choice: &Choice,
    frames: &[crate::frames::Frame],
    reuse: &Reuse,
    reasons: &mut Vec<String>,
) -> Result<Blocks, PlanError> {
    let blocks = |count| Blocks { count, recompute: choice.recompute };
    let steps = frames[0].steps;
    let says = |count: usize, recompute: bool, why: &str| {
        let how = match recompute {
            true => "computed again on the way back",
            false => "kept until the way back",
        };
        let size = steps.div_ceil(count);
        format!("a frame is computed in {count} blocks of {size} snapshots or less, {how}: {why}")
    };
    if let Some(count) = choice.blocks {
        let count = count.min(steps);
        if count > 1 {
            reasons.push(says(count, choice.recompute, "as asked"));
        }
        return Ok(blocks(count));
    }
    if choice.memory_limit.is_none() || !choice.recompute {
        return Ok(blocks(1));
    }
    let total = |count| memory(workload, choice, frames, reuse, blocks(count)).total();
    let counts = std::iter::once(1).chain(workload.blocks.iter().map(|cost| cost.blocks));
    let Some(count) = fewest_blocks(counts, choice.memory_limit, total) else {
        return Ok(blocks(1));
    };
    if count > 1 {
        reasons.push(says(count, true, "fewer do not fit into plan.memory_limit"));
    }
    Ok(blocks(count))
}

fn memory(
    workload: &Workload,
    choice: &Choice,
    frames: &[crate::frames::Frame],
    reuse: &Reuse,
    blocks: Blocks,
) -> Memory {
    let cost = workload.cost_in(blocks.count, blocks.recompute);
    let edges_of = |frame: &crate::frames::Frame| {
        let edges = |steps: std::ops::Range<usize>| {
            let sum: usize = workload.edges[steps.clone()].iter().sum();
            sum + steps.len() * workload.vertices
        };
        match cost.of_a_block {
            false => edges(frame.range()),
            true => blocks.of(frame.range()).into_iter().map(edges).max().unwrap_or(0),
        }
    };
    let edges = frames.iter().map(edges_of).max().unwrap_or(0);
    // Ranks have a share of the rows each, and all parameters.
    let (ranks, here) =
        choice.shared.as_ref().map_or((1, 1), |shared| (shared.ranks, shared.in_process));
    let share = f64::from(here) / f64::from(ranks);
    let together = if here > 1 && cost.of_a_block { TOGETHER } else { 1.0 };
    let passed = cost.state_bytes * (blocks.count as u64 + 1);
    let activations = cost.activations.fixed_bytes
        + cost.activations.bytes_per_vertex * workload.vertices as f64
        + cost.activations.bytes_per_edge * edges as f64;
    let steps = frames.iter().map(|frame| frame.steps).max().unwrap_or(0);
    let at_once = if cost.of_a_block { steps.div_ceil(blocks.count) } else { steps };
    let grid = choice.shared.as_ref().map(|shared| shared.strategy.grid(shared.ranks));
    let exchanged = choice.shared.as_ref().zip(grid).map_or(0, |(shared, grid)| {
        let cells = (at_once * workload.vertices) as u64;
        let moved = shared.traffic.memory(Moved {
            cells,
            time_cells: cells,
            gathered: shared.gathered * at_once as u64 / steps.max(1) as u64,
            redistributed: shared.traffic.time_on_features && grid.groups > 1,
            split: grid.members > 1,
        });
        moved.held + moved.messages
    });
    // Parameters, their copies on a tape are activations; a gradient; the state of the optimiser.
    let arrays = 2 + workload.optimiser_slots as u64;
    // Where vertices are renamed, each rank has the graph in its own order.
    let renamed = match grid.is_some_and(|grid| grid.members > 1) {
        true => u64::from(here) * workload.edges.iter().sum::<usize>() as u64 * EDGE_BYTES,
        false => 0,
    };
    Memory {
        data: workload.data_bytes + renamed,
        states: 0,
        // Members of a group keep those of their vertices, groups those of all snapshots.
        reuse: reuse.bytes * u64::from(here) / grid.map_or(1, |grid| u64::from(grid.members)),
        parameters: workload.weights as u64 * 4 * arrays * u64::from(here),
        activations: (activations.max(0.0) * share * cost.slack * together) as u64,
        checkpoints: (passed as f64 * share) as u64,
        exchanged: (exchanged as f64 * share * together) as u64,
        evaluation: workload.evaluation_bytes,
        program: PROGRAM_BYTES + u64::from(here - 1) * THREAD_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::LayerTraffic;
    use crate::workload::{ActivationCost, BlockCost};

    fn workload() -> Workload {
        Workload {
            data: "made up".to_owned(),
            model: "tgcn".to_owned(),
            training: 0..10,
            vertices: 100,
            edges: vec![300; 12],
            features: 4,
            structure_widths: vec![(4, 8), (8, 2)],
            can_reuse: true,
            weights: 1000,
            optimiser_slots: 2,
            data_bytes: 1 << 20,
            evaluation_bytes: 0,
            activations: ActivationCost {
                fixed_bytes: 1000.0,
                bytes_per_vertex: 10.0,
                bytes_per_edge: 1.0,
            },
            blocks: Vec::new(),
        }
    }

    fn choice() -> Choice {
        Choice {
            planner: "auto".to_owned(),
            rule: FrameRule { frame: Some(4), stride: 2, truncate: None },
            group: None,
            order: None,
            reuse: true,
            blocks: None,
            recompute: true,
            shared: None,
            memory_limit: None,
        }
    }

    #[test]
    fn a_plan_reads_back_equal_and_fits_its_workload() {
        let made = plan(&workload(), &choice()).unwrap();
        assert_eq!(Plan::from_json(&made.to_json()).unwrap(), made);
        made.fits(&workload()).unwrap();
        assert_eq!(made.frames.len(), 4);
        assert_eq!(made.orders[1].order, OperatorOrder::UpdateFirst);
        assert_eq!(made.memory.activations, 1000 + 1000 + 4 * 400);
        assert_eq!(made.reuse.bytes, 12 * 100 * 4 * 4);
    }

    #[test]
    fn a_plan_for_another_graph_is_refused() {
        let made = plan(&workload(), &choice()).unwrap();
        let other = Workload { vertices: 99, ..workload() };
        assert!(matches!(made.fits(&other), Err(PlanError::Mismatch { field: "vertices", .. })));
        let shorter = Workload { training: 0..8, ..workload() };
        assert!(matches!(made.fits(&shorter), Err(PlanError::Mismatch { field: "snapshots", .. })));
        let fixed = Workload { can_reuse: false, ..workload() };
        assert!(matches!(made.fits(&fixed), Err(PlanError::Mismatch { field: "reuse", .. })));
    }

    #[test]
    fn a_broken_plan_is_refused() {
        let made = plan(&workload(), &choice()).unwrap();
        let broken = Plan { frames: Vec::new(), ..made.clone() };
        assert!(matches!(Plan::from_json(&broken.to_json()), Err(PlanError::Broken(_))));
        let mut crowded = made.clone();
        crowded.rule.frame = Some(65);
        crowded.frames = vec![crate::frames::Frame { start: 0, steps: 65 }];
        crowded.group.snapshots = 1;
        assert!(matches!(Plan::from_json(&crowded.to_json()), Err(PlanError::Broken(_))));
        let mut uneven = made.clone();
        uneven.frames[1].steps = 3;
        assert!(matches!(Plan::from_json(&uneven.to_json()), Err(PlanError::Broken(_))));
        assert!(matches!(Plan::from_json("{}"), Err(PlanError::NotAPlan(_))));
        let strange = made.to_json().replacen("\"ranks\"", "\"rankz\"", 1);
        assert!(matches!(Plan::from_json(&strange), Err(PlanError::NotAPlan(_))));
    }

    #[test]
    fn a_limit_that_is_too_small_names_the_largest_consumer() {
        let tight = Choice { memory_limit: Some(1 << 20), ..choice() };
        let error = plan(&workload(), &tight).unwrap_err();
        assert!(matches!(error, PlanError::TooLarge { largest: "the data set", .. }), "{error}");
    }

    #[test]
    fn a_limit_is_kept_to_by_blocks_where_the_model_allows_them() {
        let cost = |blocks: usize| BlockCost {
            blocks,
            activations: ActivationCost {
                fixed_bytes: 0.0,
                bytes_per_vertex: 4e6 / blocks as f64,
                bytes_per_edge: 0.0,
            },
            state_bytes: 1000,
        };
        let heavy = ActivationCost { bytes_per_vertex: 4e6, ..workload().activations };
        let blocks = vec![cost(2), cost(4)];
        let heavy = Workload { activations: heavy, blocks, ..workload() };
        let whole = plan(&heavy, &choice()).unwrap();
        assert_eq!(whole.blocks, Blocks::default());
        let limit = |limit: u64| Choice { memory_limit: Some(limit), ..choice() };
        let fits = plan(&heavy, &limit(whole.memory.total())).unwrap();
        assert_eq!(fits.blocks.count, 1);
        let halves = plan(&heavy, &limit(whole.memory.total() - 1)).unwrap();
        assert_eq!((halves.blocks.count, halves.memory.checkpoints), (2, 3000));
        assert!(halves.memory.total() < whole.memory.total() * 6 / 10, "{:?}", halves.memory);
        let kept = Choice { recompute: false, ..limit(whole.memory.total() - 1) };
        assert!(matches!(plan(&heavy, &kept), Err(PlanError::TooLarge { .. })));
        let asked = Choice { blocks: Some(9), ..choice() };
        assert_eq!(plan(&heavy, &asked).unwrap().blocks.count, 4);
    }

    #[test]
    fn ranks_share_a_frame_as_the_strategy_says() {
        let shared = SharedWork {
            ranks: 2,
            in_process: 2,
            strategy: Strategy::Snapshot,
            reason: "because".to_owned(),
            starts: vec![0, 100],
            traffic: Traffic {
                layers: vec![LayerTraffic {
                    gathered: 4,
                    gathered_once: true,
                    gathered_needs_gradient: false,
                    to_time: 8,
                    to_time_needs_gradient: true,
                    from_time: 2,
                }],
                answered: 2,
                summed: 1000,
                time_on_features: true,
                state_bytes_per_vertex: 8,
            },
            gathered: 0,
        };
        let made = plan(&workload(), &Choice { shared: Some(shared), ..choice() }).unwrap();
        assert_eq!(made.ranks, 2);
        // Frames of 4 snapshots of 100 vertices: rows of 8 and of 2 values at their new places, and
        // the widest on their way, twice; two lists of them for each way.
        assert_eq!(made.memory.exchanged, 400 * (8 + 2 + 2 * 8 + 4) * 4);
        assert_eq!(made.placement.structure, Placement::BySnapshot { ranks: vec![0, 0, 1, 1] });
        assert_eq!(Plan::from_json(&made.to_json()).unwrap(), made);
        let broken = Plan { ranks: 1, ..made };
        assert!(matches!(Plan::from_json(&broken.to_json()), Err(PlanError::Broken(_))));
    }

    #[test]
    fn groups_cover_a_frame() {
        let grouping = Grouping { snapshots: 3 };
        assert_eq!(grouping.ranges(8), [0..3, 3..6, 6..8]);
        assert_eq!(Grouping { snapshots: 1 }.ranges(700).len(), 64);
        assert_eq!(Grouping { snapshots: 9 }.ranges(4), vec![0..4; 1]);
    }
}
