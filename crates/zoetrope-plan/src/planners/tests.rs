use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::random::Random;

use super::*;
use crate::placement::Placement;
use crate::plan::batch_plan::BatchRule;
use crate::plan::frame::{Frame, FrameRule};
use crate::plan::frame_plan::{Blocks, FramePlan, OperatorOrder};
use crate::plan::gpu::{Coding, FramesOnGpu, Residency, Transport};
use crate::plan::memory::Memory;
use crate::plan::sharing::Sharing;
use crate::program::{ModelStage, StageRole};
use crate::strategy::Strategy;
use crate::wishes::StrategyWish;
use crate::workload::{ActivationCost, BatchCost, BlockCost, MeasuredBatches};

const STEPS: usize = 12;
const VERTICES: u32 = 100;

fn graph() -> SnapshotSequence {
    let random = Random::new(7, 0);
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    for step in 0..STEPS as u64 {
        for number in 0..300 {
            let [a, b, _, _] = random.block(number + step * 300);
            src.push(a % VERTICES);
            dst.push(b % VERTICES);
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(VERTICES, offsets, src, dst, None).unwrap()
}

fn workload() -> FrameWorkload {
    FrameWorkload {
        training: 0..10,
        features: 4,
        structure_widths: vec![(4, 8), (8, 2)],
        weights: 1000,
        data_bytes: 1 << 20,
        ..FrameWorkload::of_size(VERTICES as usize, STEPS, 300)
    }
}

fn wishes() -> Wishes {
    Wishes {
        rule: FrameRule { frame: Some(4), stride: 2, truncate: None },
        batches: BatchRule { events: 10, chunks: None, whole_times: false },
        ..Wishes::default()
    }
}

fn traffic(_: &[LayerOrder], kept: bool) -> Option<Traffic> {
    let stage = |role, width, needs_gradient| ModelStage {
        role,
        layer: 0,
        inputs: width,
        outputs: width,
        needs_gradient,
    };
    let mut stages =
        vec![stage(StageRole::ToTime, 8, true), stage(StageRole::ToStructure, 2, true)];
    if !kept {
        stages.insert(0, stage(StageRole::Halo, 4, false));
    }
    Some(Traffic {
        stages,
        keeps_first: kept,
        answered: 2,
        answers_last: false,
        summed: 1000,
        state_bytes_per_vertex: 8,
    })
}

/// Rates whose ratios are those of threads of one machine.
const HOST: Machine = Machine {
    memory_bytes_per_second: 8e9,
    link_bytes_per_second: 4e9,
    message_seconds: 5e-6,
    is_measured: false,
};

fn ask(facts: &FrameWorkload, wishes: &Wishes, gpu: Option<&GpuFacts>) -> Result<Plan, PlanError> {
    let graph = graph();
    let workload = Workload::Frames { facts, graph: &graph, traffic: &traffic };
    choose(&Question { workload, machine: HOST, timer: None, divider: None, gpu, wishes })
}

fn plan(facts: &FrameWorkload, wishes: &Wishes) -> Result<FramePlan, PlanError> {
    match ask(facts, wishes, None)? {
        Plan::Frames(plan) => Ok(plan),
        Plan::Batches(_) => unreachable!("frames were asked for"),
    }
}

#[test]
fn a_plan_reads_back_equal_and_fits_its_workload() {
    let made = plan(&workload(), &wishes()).unwrap();
    let whole = Plan::from(made.clone());
    assert_eq!(Plan::from_json(&whole.to_json()).unwrap(), whole);
    made.fits(&workload()).unwrap();
    assert_eq!((made.frames.len(), made.updates.len()), (4, 4));
    assert_eq!(made.orders[1].order, OperatorOrder::UpdateFirst);
    assert_eq!(made.head.memory.activations, 1000 + 1000 + 4 * 400);
    assert_eq!(made.reuse.bytes, 12 * 100 * 4 * 4);
    assert_eq!((made.head.planner.as_str(), made.head.ranks), ("frames", 1));
}

#[test]
fn a_limit_that_is_too_small_names_the_largest_consumer() {
    let tight = Wishes { memory_limit: Some(1 << 20), ..wishes() };
    let error = plan(&workload(), &tight).unwrap_err();
    assert!(matches!(error, PlanError::TooLarge { largest: "the data set", .. }), "{error}");
}

#[test]
fn a_limit_is_kept_to_by_blocks_if_the_model_allows_them() {
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
    let heavy = FrameWorkload { activations: heavy, blocks: vec![cost(2), cost(4)], ..workload() };
    let whole = plan(&heavy, &wishes()).unwrap();
    assert_eq!(whole.blocks, Blocks::default());
    let total = whole.head.memory.total();
    let limit = |limit: u64| Wishes { memory_limit: Some(limit), ..wishes() };
    assert_eq!(plan(&heavy, &limit(total)).unwrap().blocks.count, 1);
    let halves = plan(&heavy, &limit(total - 1)).unwrap();
    let memory = halves.head.memory;
    assert_eq!((halves.blocks.count, memory.checkpoints), (2, 3000));
    assert!(memory.total() < total * 6 / 10, "{memory:?}");
    let kept = Wishes { recompute: false, ..limit(total - 1) };
    assert!(matches!(plan(&heavy, &kept), Err(PlanError::TooLarge { .. })));
    let asked = Wishes { blocks: Some(9), ..wishes() };
    assert_eq!(plan(&heavy, &asked).unwrap().blocks.count, 4);
}

#[test]
fn ranks_share_cells_as_asked_and_the_plan_says_who_owns_which_vertex() {
    let two = Wishes { ranks: 2, in_process: 2, ..wishes() };
    let made = plan(&workload(), &two).unwrap();
    // Frames of 4 snapshots of 100 vertices: rows of 8 and of 2 values at their new places, and
    // the widest on their way, twice; which of them go where is a rule.
    assert_eq!(made.head.memory.exchanged, 400 * (8 + 2 + 2 * 8) * 4);
    assert_eq!(made.cells().unwrap().strategy, Strategy::Snapshot);
    assert_eq!(made.placements(4).structure, Placement::BySnapshot { ranks: vec![0, 0, 1, 1] });
    let vertex = Wishes { strategy: Some(StrategyWish::Hypergraph), ..two };
    let mut made = plan(&workload(), &vertex).unwrap();
    assert_eq!(made.head.planner, "esdg");
    let owners = &mut match &mut made.sharing {
        Some(Sharing::Cells(cells)) => cells,
        other => panic!("{other:?}"),
    }
    .owners;
    assert_eq!(owners.len(), 100);
    owners[7] = 1 - owners[7];
    made.check().unwrap();
    let starts = |plan: &FramePlan| match plan.placements(4).structure {
        Placement::ByVertex { starts, .. } => starts,
        other => panic!("{other:?}"),
    };
    let before = starts(&plan(&workload(), &vertex).unwrap());
    assert_ne!(starts(&made), before, "an edited owner moves a vertex");
}

#[test]
fn ranks_take_different_frames_of_an_update_if_it_has_several() {
    let facts = FrameWorkload { frames_per_update: 3, ..workload() };
    let asked = Wishes { ranks: 2, in_process: 2, ..wishes() };
    let by_frames = Wishes { strategy: Some(StrategyWish::Frames), ..asked.clone() };
    let made = plan(&facts, &by_frames).unwrap();
    assert_eq!(made.sharing, Some(Sharing::Frames));
    let ranks: Vec<&[u32]> = made.updates.iter().map(|update| &update.ranks[..]).collect();
    assert_eq!(ranks, [&[0, 1, 0][..], &[0]]);
    // Nobody asked for a way: the planner of frames has nothing to offer to updates of one frame.
    assert_ne!(plan(&workload(), &asked).unwrap().sharing, Some(Sharing::Frames));
    let one = plan(&workload(), &by_frames).unwrap();
    assert!(one.updates.iter().all(|update| update.ranks == [0]));
}

#[test]
fn all_ways_are_shown_side_by_side_and_the_one_that_was_asked_for_is_taken() {
    let facts = FrameWorkload { frames_per_update: 4, ..workload() };
    let all = Wishes { ranks: 2, compare: true, strategy: Some(StrategyWish::Vertex), ..wishes() };
    let made = plan(&facts, &all).unwrap();
    let names: Vec<&str> =
        made.head.candidates.iter().map(|candidate| candidate.strategy.as_str()).collect();
    assert_eq!(names, ["frames", "snapshot", "vertex, edge cut", "vertex, hypergraph"]);
    let taken: Vec<_> = made.head.candidates.iter().filter(|candidate| candidate.taken).collect();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].strategy, "vertex, edge cut");
    assert_eq!(made.head.candidates.iter().filter(|one| one.recommended).count(), 1);
}

/// Says that plans by hypergraph are the fastest, and nothing of strategies that it does not know.
#[derive(Debug)]
struct Says {
    knows_all: bool,
}

impl Timer for Says {
    fn machine(&self) -> String {
        "a machine".to_owned()
    }

    fn time(&self, plan: &Plan) -> Option<Timed> {
        let Plan::Frames(plan) = plan else { return None };
        let name = plan.sharing.as_ref().map(Sharing::name)?;
        let seconds = if name.contains("hypergraph") { 1.0 } else { 2.0 };
        let known = self.knows_all || !name.contains("edge cut");
        known.then(|| Timed { seconds, binds: "links".to_owned() })
    }
}

#[test]
fn candidates_are_compared_by_simulated_time_if_it_is_known_of_all_of_them() {
    let facts = workload();
    // Frames of four snapshots for eight ranks: no way is good without a look at the others.
    let wishes = Wishes { ranks: 8, in_process: 8, compare: true, ..wishes() };
    let made = |knows_all: bool| {
        let graph = graph();
        let workload = Workload::Frames { facts: &facts, graph: &graph, traffic: &traffic };
        let timer = Says { knows_all };
        let (timer, gpu, divider) = (Some(&timer as &dyn Timer), None, None);
        choose(&Question { workload, machine: HOST, timer, divider, gpu, wishes: &wishes }).unwrap()
    };
    let plan = made(true);
    let head = plan.head();
    assert_eq!(head.timed_by.as_deref(), Some("a machine"));
    let taken = head.candidates.iter().find(|candidate| candidate.taken).unwrap();
    assert_eq!((taken.strategy.as_str(), taken.seconds), ("vertex, hypergraph", 1.0));
    assert!(head.candidates.iter().all(|one| one.binds.as_deref() == Some("links")));
    let saved = Plan::from_json(&plan.to_json()).unwrap();
    assert_eq!(saved.head().timed_by, head.timed_by);
    assert!(saved.head().candidates.iter().all(|one| one.binds.as_deref() == Some("links")));
    let plan = made(false);
    assert_eq!(plan.head().timed_by, None);
    assert!(plan.head().candidates.iter().all(|one| one.binds.is_none() && one.seconds < 1.0));
}

#[test]
fn wishes_that_no_planner_fulfils_are_refused() {
    let named = |name: &str| Wishes { planner: Some(name.to_owned()), ..wishes() };
    let refused = |wishes: &Wishes| plan(&workload(), wishes).unwrap_err();
    assert!(matches!(refused(&named("framez")), PlanError::UnknownPlanner { .. }));
    assert!(matches!(refused(&named("esdg")), PlanError::OneRank { .. }));
    assert!(matches!(refused(&named("batches")), PlanError::NothingProposed { .. }));
    let other = Wishes { strategy: Some(StrategyWish::Vertex), ..named("frames") };
    assert!(matches!(refused(&other), PlanError::StrategyOfAnother { .. }));
    let three =
        Wishes { ranks: 3, strategy: Some(StrategyWish::Hybrid), members: Some(2), ..wishes() };
    assert!(matches!(refused(&three), PlanError::UnevenGroups { .. }));
    let carrying = FrameWorkload { carries_state: true, ..workload() };
    let two = Wishes { ranks: 2, strategy: Some(StrategyWish::Frames), ..wishes() };
    let error = plan(&carrying, &two).unwrap_err();
    assert!(matches!(error, PlanError::StateAcrossRanks { .. }), "{error}");
}

/// A GPU on which the graph takes so many of the bytes that everything else leaves.
fn gpu_with(memory_limit: u64, snapshot_bytes: u64) -> GpuFacts {
    let snapshots = STEPS as u64;
    GpuFacts {
        graph_bytes: snapshots * snapshot_bytes,
        snapshot_bytes,
        change: 0.1,
        feature_bytes: 1_600,
        ..GpuFacts::with_memory(memory_limit, Err("one GPU".to_owned()))
    }
}

fn on_gpu(wishes: &Wishes, gpu: &GpuFacts) -> FramePlan {
    match ask(&workload(), wishes, Some(gpu)).unwrap() {
        Plan::Frames(plan) => plan,
        Plan::Batches(_) => unreachable!("frames were asked for"),
    }
}

#[test]
fn a_graph_that_has_no_room_on_a_gpu_beside_everything_else_is_streamed() {
    let planned =
        |wishes: &Wishes, limit: u64| on_gpu(wishes, &gpu_with(limit, 50_000)).gpu.unwrap();
    // Two pieces of two snapshots take less than all twelve.
    let rule = FrameRule { frame: Some(2), stride: 2, truncate: None };
    let wishes = || Wishes { rule, ..wishes() };
    let fits = planned(&wishes(), 1 << 30);
    assert_eq!((fits.residency, fits.look_ahead, fits.record), (Residency::Resident, 0, true));
    assert_eq!(fits.memory.graph, 12 * 50_000);
    let needed = fits.memory.total();
    assert_eq!(planned(&wishes(), needed).residency, Residency::Resident);
    let large = planned(&wishes(), needed - 1);
    assert_eq!((large.residency, large.look_ahead), (Residency::Stream, 1));
    assert!(large.memory.total() < needed, "{large:?}");
    let asked = Wishes { residency: Some(Residency::Resident), record: false, ..wishes() };
    let refused = ask(&workload(), &asked, Some(&gpu_with(needed - 1, 50_000))).unwrap_err();
    assert!(matches!(refused, PlanError::TooLargeForGpu { largest: "graph", .. }), "{refused}");
    assert!(refused.to_string().contains("plan.residency"), "{refused}");
    let asked = planned(&asked, needed);
    assert_eq!((asked.residency, asked.record), (Residency::Resident, false));
}

#[test]
fn ranks_with_gpus_stream_and_send_differences_of_whole_snapshots_only() {
    let ranks = Wishes { ranks: 2, residency: Some(Residency::Stream), ..wishes() };
    let gpu = gpu_with(1 << 30, 50_000);
    let shared = on_gpu(&ranks, &gpu).gpu.unwrap();
    assert_eq!((shared.transport, shared.record), (Some(Transport::Host), true));
    assert_eq!((shared.residency, shared.coding), (Residency::Stream, Coding::Auto));
    // Two snapshots of four at a time: a half of what one rank has.
    let alone = on_gpu(&Wishes { ranks: 1, ..ranks.clone() }, &gpu).gpu.unwrap();
    assert!(shared.memory.graph < alone.memory.graph, "{shared:?} {alone:?}");
    let split = Wishes { strategy: Some(StrategyWish::Hypergraph), ..ranks.clone() };
    assert_eq!(on_gpu(&split, &gpu).gpu.unwrap().coding, Coding::Whole);
    let differences = Wishes { coding: Coding::Differences, ..split };
    let error = ask(&workload(), &differences, Some(&gpu)).unwrap_err();
    let whole = Wishes { coding: Coding::Differences, compare: true, ..ranks.clone() };
    assert_eq!(on_gpu(&whole, &gpu).gpu.unwrap().coding, Coding::Differences);
    assert!(matches!(error, PlanError::DifferencesOfParts), "{error}");
    let linked = Wishes { transport: Some(Transport::Nccl), ..ranks };
    let facts = GpuFacts { linked: Err("no library".to_owned()), ..gpu };
    let error = ask(&workload(), &linked, Some(&facts)).unwrap_err();
    assert!(matches!(error, PlanError::NotLinked { .. }), "{error}");
}

#[test]
fn a_plan_that_was_saved_before_its_ranks_were_there_gets_their_transport() {
    let ranks = Wishes { ranks: 2, ..wishes() };
    let gpu = gpu_with(1 << 30, 50_000);
    let planned = on_gpu(&ranks, &gpu).gpu.unwrap();
    let saved = FramesOnGpu { transport: None, ..planned };
    let linked = GpuFacts { linked: Ok(()), ..gpu.clone() };
    assert_eq!(layout::for_ranks(saved, 2, &gpu), planned);
    assert_eq!(layout::for_ranks(saved, 2, &linked).transport, Some(Transport::Nccl));
    assert_eq!(layout::for_ranks(planned, 2, &linked), planned, "what the plan says is obeyed");
    assert_eq!(layout::for_ranks(saved, 1, &linked), saved);
}

#[test]
fn a_frame_that_has_no_room_on_a_gpu_is_cut_into_blocks_instead_of_refused() {
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
    let heavy = FrameWorkload { activations: heavy, blocks: vec![cost(2), cost(4)], ..workload() };
    let planned = |limit: u64| match ask(&heavy, &wishes(), Some(&gpu_with(limit, 1_000)))? {
        Plan::Frames(plan) => {
            Ok::<_, PlanError>((plan.blocks.count, plan.gpu.unwrap().memory.total()))
        }
        Plan::Batches(_) => unreachable!("frames were asked for"),
    };
    let (one, needed) = planned(1 << 40).unwrap();
    assert_eq!(one, 1);
    let (two, less) = planned(needed * 9 / 10).unwrap();
    assert!(two == 2 && less < needed * 6 / 10, "{two} {less}");
    let (four, least) = planned(less * 9 / 10).unwrap();
    assert!(four == 4 && least < less, "{four} {least}");
    // Not even that many fit: the plan is refused, and says what takes most.
    let PlanError::TooLargeForGpu { needed, limit, largest, advice, .. } =
        planned(least / 2).unwrap_err()
    else {
        panic!("refused for another reason")
    };
    assert_eq!((limit, largest), (least / 2, "activations of a step"));
    assert!(needed > limit && needed <= least, "{needed}");
    assert!(advice.contains("plan.blocks"), "{advice}");
}

/// With blocks activations fall and states grow (ESDG §3.1): what no number of blocks fits, states on the host do.
#[test]
fn states_between_blocks_leave_a_gpu_that_they_have_no_room_on() {
    let cost = |blocks: usize| BlockCost {
        blocks,
        activations: ActivationCost {
            fixed_bytes: 12e6 / blocks as f64,
            bytes_per_vertex: 0.0,
            bytes_per_edge: 0.0,
        },
        state_bytes: 2_000_000,
    };
    let costs: Vec<BlockCost> = [2, 3, 4, 6].map(cost).into();
    let whole = ActivationCost { fixed_bytes: 12e6, ..costs[0].activations };
    let facts = FrameWorkload { activations: whole, blocks: costs, ..workload() };
    let all = FrameRule { frame: None, stride: 1, truncate: None };
    let wishes = || Wishes { rule: all, residency: Some(Residency::Stream), ..wishes() };
    let planned =
        |wishes: &Wishes, limit: u64| match ask(&facts, wishes, Some(&gpu_with(limit, 1_000)))? {
            Plan::Frames(plan) => Ok::<_, PlanError>(plan),
            Plan::Batches(_) => unreachable!("frames were asked for"),
        };
    let on_gpu = |blocks| Wishes {
        block_states: Some(Residency::Resident),
        blocks: Some(blocks),
        ..wishes()
    };
    let needs =
        |blocks: usize| planned(&on_gpu(blocks), 1 << 40).unwrap().gpu.unwrap().memory.total();
    let least = [1, 2, 3, 4, 6].map(needs).into_iter().min().unwrap();
    // None fits if all states stay; asked for that, the plan is refused and says which key helps.
    let staying = Wishes { block_states: Some(Residency::Resident), ..wishes() };
    let error = planned(&staying, least - 1).unwrap_err().to_string();
    let kept = Wishes { blocks: Some(6), ..staying };
    let error_of_many = planned(&kept, least - 1).unwrap_err().to_string();
    assert!(error.contains("plan.blocks"), "{error}");
    assert!(error_of_many.contains("plan.block_states"), "{error_of_many}");
    let found = planned(&wishes(), least - 1).unwrap();
    let gpu = found.gpu.unwrap();
    assert_eq!(gpu.block_states, Residency::Stream);
    assert!(gpu.memory.total() < least, "{gpu:?}");
    assert_eq!(found.stored_states(found.longest_frame()), 1..found.blocks.count - 2);
    // If they have room, they stay.
    assert_eq!(planned(&wishes(), least).unwrap().gpu.unwrap().block_states, Residency::Resident);
}

fn stream() -> BatchWorkload {
    let cost = |prepared, computed| BatchCost { prepared, computed };
    BatchWorkload {
        data: "made up".to_owned(),
        model: "tgn".to_owned(),
        vertices: 50,
        events: 35,
        batches: vec![10, 10, 15],
        steps: 3,
        whole_times: false,
        layers: 1,
        sampling: "10 recent neighbours".to_owned(),
        questions_of_an_event: 4,
        measured: Some(MeasuredBatches {
            step: cost(1000, 5000),
            judged: cost(4000, 20_000),
            judged_events: 20,
            counted: Memory { data: 100_000, ..Memory::default() },
        }),
    }
}

#[test]
fn batches_that_wait_go_first_if_memory_is_short_and_judging_in_smaller_pieces_next() {
    let facts = stream();
    let planned = |limit: Option<u64>| {
        let wishes = Wishes { memory_limit: limit, ..wishes() };
        let workload = Workload::Batches(&facts);
        let machine = HOST;
        let (timer, divider) = (None, None);
        match choose(&Question { workload, machine, timer, divider, gpu: None, wishes: &wishes }) {
            Ok(Plan::Batches(plan)) => Ok(plan),
            Ok(Plan::Frames(_)) => unreachable!("batches were asked for"),
            Err(error) => Err(error),
        }
    };
    let free = planned(None).unwrap();
    assert_eq!((free.prefetch, free.questions), (2, batches::QUESTIONS_MAX));
    assert_eq!(free.batches, facts.batches);
    let whole = Plan::from(free.clone());
    assert_eq!(Plan::from_json(&whole.to_json()).unwrap(), whole);
    let total = free.head.memory.total();
    assert_eq!(planned(Some(total)).unwrap().prefetch, 2);
    let tight = planned(Some(total - 1)).unwrap();
    assert_eq!((tight.prefetch, tight.questions), (0, batches::QUESTIONS_MAX));
    let less = tight.head.memory.total();
    let tighter = planned(Some(less - 1)).unwrap();
    assert!(tighter.questions < 80 && tighter.head.memory.total() < less);
    assert!(matches!(planned(Some(100_000)), Err(PlanError::TooLarge { .. })));
}

#[test]
fn a_frame_is_the_group_of_its_snapshots_unless_asked_otherwise() {
    let made = plan(&workload(), &wishes()).unwrap();
    assert_eq!(made.frames[1], Frame { start: 2, steps: 4, group: 4 });
    let two = Wishes { group: Some(2), ..wishes() };
    assert!(plan(&workload(), &two).unwrap().frames.iter().all(|frame| frame.group == 2));
}

/// A plan of each kind as this version of the format writes it, by name.
fn golden_plans() -> Vec<(&'static str, Plan)> {
    let gpu = gpu_with(50_000_000, 500_000);
    let streaming = Wishes { residency: Some(Residency::Stream), ..wishes() };
    let shared = |strategy, ranks| Wishes {
        ranks,
        in_process: ranks,
        strategy: Some(strategy),
        members: (strategy == StrategyWish::Hybrid).then_some(2),
        ..wishes()
    };
    let several = FrameWorkload { frames_per_update: 3, ..workload() };
    let stream = stream();
    let of_batches = Question {
        workload: Workload::Batches(&stream),
        machine: HOST,
        timer: None,
        divider: None,
        gpu: None,
        wishes: &wishes(),
    };
    vec![
        ("one-rank", ask(&workload(), &wishes(), None).unwrap()),
        ("one-gpu", ask(&workload(), &streaming, Some(&gpu)).unwrap()),
        ("frames", ask(&several, &shared(StrategyWish::Frames, 2), None).unwrap()),
        ("snapshot", ask(&workload(), &shared(StrategyWish::Snapshot, 2), None).unwrap()),
        ("hypergraph", ask(&workload(), &shared(StrategyWish::Hypergraph, 2), None).unwrap()),
        ("hybrid", ask(&workload(), &shared(StrategyWish::Hybrid, 4), None).unwrap()),
        ("batches", choose(&of_batches).unwrap()),
    ]
}

/// Plans that users keep are read by later versions, or refused by their schema: if this fails, raise
/// [`Head::SCHEMA`](crate::Head::SCHEMA) or leave the format alone, and write the files anew by
/// running the test with `ZOETROPE_WRITE_GOLDEN=1`.
#[test]
fn plans_are_written_and_read_as_in_the_golden_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/planners/golden");
    for (name, plan) in golden_plans() {
        let path = folder.join(format!("{name}.json"));
        if std::env::var_os("ZOETROPE_WRITE_GOLDEN").is_some() {
            std::fs::write(&path, plan.to_json()).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(plan.to_json(), text, "{name}");
        assert_eq!(Plan::from_json(&text).unwrap(), plan, "{name}");
    }
}
