use zoetrope_graph::SnapshotSequence;

use super::*;
use crate::plan::batch_plan::{BatchPlan, BatchRule};
use crate::plan::device_memory::DeviceMemory;
use crate::plan::frame::{Frame, FrameRule};
use crate::plan::frame_plan::{Blocks, FramePlan, LayerOrder, OperatorOrder, Reuse, Update};
use crate::plan::gpu::{Coding, FramesOnGpu, Precision, Residency};
use crate::plan::head::Head;
use crate::plan::memory::Memory;
use crate::plan::sharing::{CellSharing, Overlap, Sharing};
use crate::strategy::Strategy;

fn head(ranks: usize) -> Head {
    Head {
        schema: Head::SCHEMA,
        planner: "frames".to_owned(),
        data: "made up".to_owned(),
        model: "tm-gcn".to_owned(),
        vertices: 4,
        ranks,
        memory: Memory::default(),
        sent_bytes: Vec::new(),
        reasons: Vec::new(),
        warnings: Vec::new(),
        candidates: Vec::new(),
        timed_by: None,
    }
}

/// Two frames of four snapshots.
fn plan(ranks: usize) -> FramePlan {
    FramePlan {
        head: head(ranks),
        rule: FrameRule { frame: Some(4), stride: 4, truncate: None },
        frames: vec![Frame::whole(0..4), Frame::whole(4..8)],
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

/// Four vertices in a ring, eight times.
fn graph() -> SnapshotSequence {
    let offsets = (0..=8).map(|step| step * 4).collect();
    let (dst, src) = (0..32).map(|edge| (edge % 4, (edge + 1) % 4)).unzip();
    SnapshotSequence::new(4, offsets, src, dst, None).unwrap()
}

fn stage(role: StageRole, inputs: usize, outputs: usize, needs_gradient: bool) -> ModelStage {
    ModelStage { role, layer: 0, inputs, outputs, needs_gradient }
}

/// One layer: rows of two values are gathered and aggregated, three values go to time and come back.
fn layer() -> Vec<ModelStage> {
    vec![
        stage(StageRole::InPieces, 0, 0, false),
        stage(StageRole::InParts, 2, 2, false),
        stage(StageRole::Halo, 2, 2, false),
        stage(StageRole::Structure, 2, 3, false),
        stage(StageRole::ToTime, 3, 3, true),
        stage(StageRole::Time, 3, 3, true),
        stage(StageRole::ToStructure, 3, 3, true),
    ]
}

/// Snapshots of so many bytes, which are sent with every piece.
#[derive(Debug)]
struct Whole(Vec<u64>);

impl CopySizes for Whole {
    fn restart(&self) {}

    fn sent(&self, _: &std::ops::Range<usize>, steps: &std::ops::Range<usize>) -> u64 {
        self.0[steps.clone()].iter().sum()
    }

    fn state(&self, block: usize, vertices: u64) -> u64 {
        10 * block as u64 * vertices
    }
}

fn lowered(plan: &FramePlan, rank: usize) -> TaskGraph {
    let (stages, graph) = (layer(), graph());
    let streams = |gpu: FramesOnGpu| [gpu.residency, gpu.block_states].contains(&Residency::Stream);
    let streams = plan.gpu.is_some_and(streams);
    let sizes = Whole((1..=8).collect());
    let facts = FrameFacts {
        stages: &stages,
        width: 3,
        pieces: |vertices, _, count| crate::placement::grid::even_parts(vertices, count).collect(),
        describes_last: false,
        asks_last: false,
        asks: &[true; 8],
        draws: false,
        statistics: &[],
        summed: 10,
        graph: &graph,
        copies: streams.then_some(&sizes as &dyn CopySizes),
    };
    plan.lower(rank, &plan.frames, &facts)
}

fn kinds(graph: &TaskGraph) -> Vec<TaskKind> {
    graph.tasks.iter().map(|task| task.kind).collect()
}

#[test]
fn a_frame_is_a_structure_layer_a_time_layer_a_loss_and_a_backward_pass() {
    use TaskKind::{Backward, Loss, Structure, Time, Update};
    let graph = lowered(&plan(1), 0);
    let frame = [Structure, Time, Loss, Backward, Update];
    assert_eq!(kinds(&graph), [frame, frame].concat());
    let shape = TaskShape { rows: 16, edges: 16, inputs: 2, outputs: 3 };
    assert_eq!(graph.tasks[0].shape, Some(shape));
    // One after the other.
    assert!(graph.tasks.iter().enumerate().skip(1).all(|(at, task)| task.after == [at - 1]));
    assert_eq!((graph.tasks[5].update, graph.tasks[5].frame), (1, Some(1)));
    let text = serde_json::to_string(&graph).unwrap();
    assert_eq!(serde_json::from_str::<TaskGraph>(&text).unwrap(), graph);
}

#[test]
fn blocks_that_are_recomputed_run_forward_twice() {
    let mut halves = plan(1);
    halves.blocks = Blocks { count: 2, recompute: true };
    let graph = lowered(&halves, 0);
    assert_eq!(graph.count_of(TaskKind::Structure), 2 * 3);
    assert_eq!(graph.count_of(TaskKind::Backward), 2 * 2);
    let blocks: Vec<_> = graph.tasks.iter().take(10).map(|task| task.block).collect();
    // Forward, then the last block, then the first one again.
    assert_eq!(blocks[..2], [Some(0); 2]);
    assert_eq!(blocks[2..6], [Some(1); 4]);
    assert_eq!(blocks[6..10], [Some(0); 4]);
}

#[test]
fn snapshots_of_two_ranks_are_redistributed_there_and_back() {
    let mut shared = plan(2);
    shared.sharing = Some(Sharing::Cells(CellSharing {
        strategy: Strategy::Snapshot,
        owners: Vec::new(),
        time_on_features: true,
        overlap: false,
        beside: None,
    }));
    let graph = lowered(&shared, 1);
    // Two snapshots of two foreign vertices of three values: to time and back, forward and backward.
    let rows: Vec<u64> = graph
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Exchange && task.frame == Some(0))
        .map(|task| task.bytes.unwrap())
        .collect();
    assert_eq!(rows, [2 * 2 * 3 * 4; 4]);
    let reduced: Vec<_> = graph
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::AllReduce && task.update == 0)
        .map(|task| (task.purpose.unwrap(), task.bytes.unwrap()))
        .collect();
    assert_eq!(reduced, [(Purpose::Loss, 8), (Purpose::Gradients, 40), (Purpose::Stop, 8)]);
    let parts = |plan: &FramePlan| lowered(plan, 1).count_of(TaskKind::Exchange);
    let whole = parts(&shared);
    if let Some(Sharing::Cells(cells)) = &mut shared.sharing {
        cells.overlap = true;
    }
    // What leaves for the loss leaves at once: all of it is needed there.
    assert_eq!(2 * parts(&shared), (4 + 1) * whole);
    if let Some(Sharing::Cells(cells)) = &mut shared.sharing {
        cells.beside = Some(Overlap { parts: 2, pieces: 2 });
    }
    let in_pieces = lowered(&shared, 1);
    assert_eq!(2 * in_pieces.count_of(TaskKind::Exchange), (2 * 2 + 2) * whole);
    assert_eq!(in_pieces.count_of(TaskKind::Time), 2 * graph.count_of(TaskKind::Time));
    for beside in [lowered(&shared, 1), in_pieces] {
        assert_eq!(beside.bytes_of(TaskKind::Exchange), graph.bytes_of(TaskKind::Exchange));
    }
    // The first piece is followed after its rows have come from both parts, and not those of the other piece.
    let tasks = lowered(&shared, 1).tasks;
    let places = |kind: TaskKind| {
        let of_kind = tasks.iter().enumerate().filter(move |(_, task)| task.kind == kind);
        of_kind.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let (sent, time) = (places(TaskKind::Exchange), places(TaskKind::Time));
    let after = &tasks[time[0]].after;
    assert!([0, 2].iter().all(|&at| after.contains(&sent[at])), "{after:?} of {sent:?}");
    assert!(![1, 3].iter().any(|&at| after.contains(&sent[at])), "{after:?} of {sent:?}");
}

#[test]
fn the_next_frame_is_sent_to_a_gpu_while_one_computes() {
    let mut streamed = plan(1);
    streamed.gpu = Some(FramesOnGpu {
        precision: Precision::F32,
        residency: Residency::Stream,
        block_states: Residency::Resident,
        coding: Coding::Whole,
        look_ahead: 1,
        draw_ahead: 0,
        record: false,
        transport: None,
        memory: DeviceMemory::default(),
    });
    let graph = lowered(&streamed, 0);
    let copies: Vec<_> = graph
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.kind == TaskKind::Copy)
        .map(|(at, task)| (at, task.update, task.bytes.unwrap()))
        .collect();
    // Both are sent in the first update, before anything is computed.
    assert_eq!(copies, [(0, 0, 1 + 2 + 3 + 4), (1, 0, 5 + 6 + 7 + 8)]);
    assert!(graph.tasks[2].after.contains(&0) && !graph.tasks[2].after.contains(&1));
    let second = graph.tasks.iter().find(|task| task.update == 1).unwrap();
    assert!(second.after.contains(&1), "{second:?}");
    streamed.gpu.as_mut().unwrap().look_ahead = 0;
    let one_by_one = lowered(&streamed, 0);
    let copied = one_by_one.tasks.iter().filter(|task| task.kind == TaskKind::Copy);
    assert_eq!(copied.map(|task| task.update).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn states_before_blocks_wait_on_the_host_but_for_two() {
    let mut blocks = plan(1);
    blocks.frames = vec![Frame { start: 0, steps: 8, group: 8 }];
    blocks.updates = Update::of(1, 1);
    blocks.blocks = Blocks { count: 5, recompute: true };
    blocks.gpu = Some(FramesOnGpu {
        precision: Precision::F32,
        residency: Residency::Stream,
        block_states: Residency::Stream,
        coding: Coding::Whole,
        look_ahead: 0,
        draw_ahead: 0,
        record: false,
        transport: None,
        memory: DeviceMemory::default(),
    });
    let graph = lowered(&blocks, 0);
    let of = |kind: TaskKind| {
        let tasks = graph.tasks.iter().enumerate().filter(move |(_, task)| task.kind == kind);
        tasks.map(|(at, task)| (at, task.block, task.bytes.unwrap()))
    };
    let vertices = blocks.head.vertices as u64;
    // After the first and the second of five blocks, before which nothing is and the last two of which stay.
    let stored: Vec<_> = of(TaskKind::Store).map(|(_, block, bytes)| (block, bytes)).collect();
    assert_eq!(stored, [(Some(0), 10 * vertices), (Some(1), 20 * vertices)]);
    // Each is fetched while the block after it is computed again.
    let states = of(TaskKind::Copy).filter(|&(.., bytes)| bytes >= 10 * vertices);
    let fetched: Vec<_> = states.collect();
    assert_eq!(fetched.iter().map(|one| one.2).collect::<Vec<_>>(), [20 * vertices, 10 * vertices]);
    for (at, ..) in &fetched {
        assert!(graph.tasks.iter().any(|task| task.after.contains(at)), "{graph:?}");
    }
    let sizes = Whole((1..=8).collect());
    let sent = blocks.sent_bytes(0, &blocks.frames, &sizes);
    assert_eq!(sent, graph.bytes_of(TaskKind::Copy));
    blocks.blocks.count = 3;
    assert_eq!(lowered(&blocks, 0).count_of(TaskKind::Store), 0);
}

#[test]
fn a_batch_with_many_events_of_one_time_asks_first_and_is_absorbed_afterwards() {
    use TaskKind::{Absorb, Backward, Draw, Embed, Loss, Remember, Update};
    let plan = BatchPlan {
        head: head(1),
        events: 30,
        rule: BatchRule { events: 10, chunks: None, whole_times: true },
        batches: vec![10, 20],
        deduplicate: true,
        prefetch: 1,
        questions: 100,
        gpu: None,
    };
    let facts = BatchFacts {
        batches: &[vec![10], vec![10, 10]],
        asks: &[vec![true], vec![false, true]],
        remembers: true,
        width: 8,
    };
    let graph = plan.lower(&facts);
    let step = [Draw, Remember, Embed, Loss, Backward, Update];
    let silent = [Draw, Remember, Embed, Loss];
    let absorbed = [Draw, Remember, Absorb];
    let all = [&step[..], &[Absorb], &silent, &step, &absorbed, &absorbed].concat();
    assert_eq!(kinds(&graph), all);
}
