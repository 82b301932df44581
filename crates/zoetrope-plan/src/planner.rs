//! The planner for one rank: frames in time order, whole frames as groups, the cheaper order.

use crate::error::PlanError;
use crate::frames::FrameRule;
use crate::memory::Memory;
use crate::placement::{Placement, Placements};
use crate::plan::{Grouping, LayerOrder, MAX_GROUPS, OperatorOrder, Plan, Reuse};
use crate::workload::Workload;

/// Memory of the program, its threads and its buffers before any data.
pub(crate) const PROGRAM_BYTES: u64 = 12 << 20;

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
    /// The memory that the run may take, where limited.
    pub memory_limit: Option<u64>,
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
    let memory = memory(workload, &frames, &reuse);
    memory.check(choice.memory_limit)?;
    Ok(Plan {
        schema: Plan::SCHEMA,
        planner: "frames".to_owned(),
        data: workload.data.clone(),
        model: workload.model.clone(),
        vertices: workload.vertices,
        ranks: 1,
        placement: Placements { structure: Placement::Single, time: Placement::Single },
        rule: choice.rule,
        frames,
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

fn memory(workload: &Workload, frames: &[crate::frames::Frame], reuse: &Reuse) -> Memory {
    let edges_of = |frame: &crate::frames::Frame| {
        let edges: usize = workload.edges[frame.range()].iter().sum();
        edges + frame.steps * workload.vertices
    };
    let edges = frames.iter().map(edges_of).max().unwrap_or(0);
    let cost = workload.activations;
    let activations = cost.fixed_bytes
        + cost.bytes_per_vertex * workload.vertices as f64
        + cost.bytes_per_edge * edges as f64;
    // Parameters, their copies on a tape are activations; a gradient; the state of the optimiser.
    let arrays = 2 + workload.optimiser_slots as u64;
    Memory {
        data: workload.data_bytes,
        reuse: reuse.bytes,
        parameters: workload.weights as u64 * 4 * arrays,
        activations: activations.max(0.0) as u64,
        evaluation: workload.evaluation_bytes,
        program: PROGRAM_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ActivationCost;

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
        }
    }

    fn choice() -> Choice {
        Choice {
            planner: "auto".to_owned(),
            rule: FrameRule { frame: Some(4), stride: 2, truncate: None },
            group: None,
            order: None,
            reuse: true,
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
    fn groups_cover_a_frame() {
        let grouping = Grouping { snapshots: 3 };
        assert_eq!(grouping.ranges(8), [0..3, 3..6, 6..8]);
        assert_eq!(Grouping { snapshots: 1 }.ranges(700).len(), 64);
        assert_eq!(Grouping { snapshots: 9 }.ranges(4), vec![0..4; 1]);
    }
}
