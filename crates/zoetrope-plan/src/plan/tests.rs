use super::device_memory::DeviceMemory;
use super::frame::{Frame, FrameRule};
use super::frame_plan::{Blocks, LayerOrder, OperatorOrder, Reuse, Update};
use super::gpu::{Coding, FramesOnGpu, Precision, Residency};
use super::memory::Memory;
use super::sharing::{CellSharing, Sharing};
use super::*;
use crate::strategy::Strategy;
use crate::workload::FrameWorkload;

fn plan() -> FramePlan {
    FramePlan {
        head: Head {
            schema: Head::SCHEMA,
            planner: "frames".to_owned(),
            data: "made up".to_owned(),
            model: "tgcn".to_owned(),
            vertices: 10,
            ranks: 1,
            memory: Memory::default(),
            sent_bytes: Vec::new(),
            reasons: Vec::new(),
            warnings: Vec::new(),
            candidates: Vec::new(),
            timed_by: None,
        },
        rule: FrameRule { frame: Some(4), stride: 2, truncate: None },
        frames: vec![Frame::whole(0..4), Frame::whole(2..6)],
        updates: Update::of(2, 1),
        blocks: Blocks::default(),
        judged_group: 4,
        orders: vec![LayerOrder {
            inputs: 2,
            outputs: 3,
            order: OperatorOrder::AggregateFirst,
            other_order: Vec::new(),
        }],
        reuse: Reuse { first_aggregation: false, bytes: 0, products_saved: 0 },
        sharing: None,
        gpu: None,
    }
}

fn workload() -> FrameWorkload {
    FrameWorkload {
        training: 0..6,
        structure_widths: vec![(2, 3)],
        ..FrameWorkload::of_size(10, 8, 3)
    }
}

#[test]
fn a_plan_for_another_run_is_refused() {
    let refused = |workload: FrameWorkload| plan().fits(&workload).unwrap_err();
    plan().fits(&workload()).unwrap();
    let other = refused(FrameWorkload { vertices: 99, ..workload() });
    assert!(matches!(other, PlanError::Mismatch { field: "vertices", .. }));
    let shorter = refused(FrameWorkload { training: 0..5, ..workload() });
    assert!(matches!(shorter, PlanError::Mismatch { field: "snapshots", .. }));
    let kept = Reuse { first_aggregation: true, bytes: 0, products_saved: 0 };
    let fixed = FrameWorkload { can_reuse: false, ..workload() };
    let error = FramePlan { reuse: kept, ..plan() }.fits(&fixed).unwrap_err();
    assert!(matches!(error, PlanError::Mismatch { field: "reuse", .. }));
}

/// What is wrong with a plan after a change.
fn refusal(change: impl FnOnce(&mut FramePlan)) -> String {
    let mut plan = plan();
    change(&mut plan);
    Plan::from_json(&Plan::from(plan).to_json()).unwrap_err().to_string()
}

#[test]
fn a_plan_that_contradicts_itself_is_refused_with_the_contradiction() {
    let cells = |owners: Vec<u32>| {
        Some(Sharing::Cells(CellSharing {
            strategy: Strategy::Hybrid { members: 2 },
            owners,
            time_on_features: true,
            overlap: false,
            beside: None,
        }))
    };
    let gpu = FramesOnGpu {
        precision: Precision::F32,
        residency: Residency::Resident,
        block_states: Residency::Resident,
        coding: Coding::Auto,
        look_ahead: 0,
        draw_ahead: 0,
        record: true,
        transport: None,
        memory: DeviceMemory::default(),
    };
    type Change = Box<dyn FnOnce(&mut FramePlan)>;
    let changes: Vec<(&str, Change)> = vec![
        ("no frame", Box::new(|plan| plan.frames.clear())),
        ("3 snapshots, not 4", Box::new(|plan| plan.frames[1].steps = 3)),
        ("no snapshot", Box::new(|plan| plan.frames[0].group = 0)),
        (
            "65 groups",
            Box::new(|plan| {
                plan.rule.frame = Some(65);
                plan.frames = vec![Frame { start: 0, steps: 65, group: 1 }];
            }),
        ),
        ("updates have 3 frames", Box::new(|plan| plan.updates[0].frames = 2)),
        ("update 1 names ranks", Box::new(|plan| plan.updates[1].ranks = vec![0])),
        ("no block", Box::new(|plan| plan.blocks.count = 0)),
        ("how 2 ranks share it", Box::new(|plan| plan.head.ranks = 2)),
        ("one rank shares it", Box::new(|plan| plan.sharing = Some(Sharing::Frames))),
        (
            "owned by member 2 of 2",
            Box::new(move |plan| {
                plan.head.ranks = 4;
                plan.sharing = cells([vec![0; 9], vec![2]].concat());
            }),
        ),
        (
            "owners of 9 vertices instead of 10",
            Box::new(move |plan| {
                plan.head.ranks = 4;
                plan.sharing = cells(vec![0; 9]);
            }),
        ),
        (
            "looks ahead",
            Box::new(move |plan| {
                plan.gpu = Some(FramesOnGpu { look_ahead: 1, draw_ahead: 0, ..gpu })
            }),
        ),
        (
            "records updates in stretches",
            Box::new(move |plan| {
                plan.gpu = Some(gpu);
                plan.rule.truncate = Some(2);
            }),
        ),
        (
            "differences of snapshots whose vertices ranks share",
            Box::new(move |plan| {
                plan.head.ranks = 4;
                plan.sharing = cells([vec![0; 9], vec![1]].concat());
                let (coding, record) = (Coding::Differences, false);
                plan.gpu = Some(FramesOnGpu { coding, record, ..gpu });
            }),
        ),
        ("without a snapshot", Box::new(|plan| plan.orders[0].other_order = vec![[2, 2]])),
        (
            "keeps an aggregation that does not come first",
            Box::new(|plan| {
                plan.reuse.first_aggregation = true;
                plan.orders[0].other_order = vec![[0, 2]];
            }),
        ),
        (
            "changes its order, and ranks share its cells",
            Box::new(move |plan| {
                plan.head.ranks = 4;
                plan.sharing = cells([vec![0; 9], vec![1]].concat());
                plan.orders[0].other_order = vec![[0, 2]];
            }),
        ),
        (
            "65 updates ahead",
            Box::new(move |plan| plan.gpu = Some(FramesOnGpu { draw_ahead: 65, ..gpu })),
        ),
        ("version 1", Box::new(|plan| plan.head.schema = 1)),
    ];
    for (says, change) in changes {
        let refused = refusal(change);
        assert!(refused.contains(says), "{refused} does not say {says}");
    }
}

#[test]
fn keys_that_nobody_reads_are_refused() {
    assert!(matches!(Plan::from_json("{}"), Err(PlanError::NotAPlan(_))));
    let text = Plan::from(plan()).to_json();
    let strange = text.replacen("\"vertices\"", "\"vertexes\": 1,\n  \"vertices\"", 1);
    let error = Plan::from_json(&strange).unwrap_err();
    assert!(matches!(&error, PlanError::UnknownKey { key } if key == "vertexes"), "{error}");
    let inside = text.replacen("\"inputs\"", "\"input\": 1, \"inputs\"", 1);
    assert!(Plan::from_json(&inside).is_err());
}

#[test]
fn a_plan_of_several_ranks_can_be_taken_over_by_one() {
    let mut shared = plan();
    (shared.head.ranks, shared.sharing) = (2, Some(Sharing::Frames));
    shared.updates.iter_mut().for_each(|update| update.ranks = vec![1]);
    shared.check().unwrap();
    assert_eq!(shared.alone(), plan());
}

#[test]
fn groups_are_cut_where_the_order_of_a_layer_changes() {
    let mut mixed = plan();
    assert_eq!(mixed.groups(2..6, 4), vec![0..4; 1]);
    mixed.orders[0].other_order = vec![[3, 4], [4, 5]];
    assert_eq!(mixed.groups(2..6, 4), [0..1, 1..3, 3..4]);
    assert_eq!(mixed.groups(2..6, 2), [0..1, 1..2, 2..3, 3..4]);
    let order = |step| mixed.orders[0].at(step);
    assert_eq!([2, 3, 4, 5].map(order), {
        let (first, other) = (OperatorOrder::AggregateFirst, OperatorOrder::UpdateFirst);
        [first, other, other, first]
    });
    // Weights that change from snapshot to snapshot take one order.
    let evolving = FrameWorkload { time_on_features: false, ..workload() };
    let error = mixed.fits(&evolving).unwrap_err();
    assert!(matches!(error, PlanError::Mismatch { field: "orders", .. }), "{error}");
    mixed.fits(&workload()).unwrap();
}
