use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::random::Random;

use super::*;
use crate::placement::grid::{blocks, even_starts};
use crate::program::{ModelStage, StageRole};
use crate::volume;
use crate::workload::{ActivationCost, BlockCost};

const VERTICES: u32 = 240;
const STEPS: usize = 12;

/// Edges inside of communities, some between them.
fn graph() -> SnapshotSequence {
    let random = Random::new(7, 0);
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    for step in 0..STEPS as u64 {
        for number in 0..900 {
            let [a, b, c, _] = random.block(number + step * 30);
            let from = a % VERTICES;
            src.push(from);
            dst.push(if b % 10 == 0 { c % VERTICES } else { from / 30 * 30 + c % 30 });
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(VERTICES, offsets, src, dst, None).unwrap()
}

fn workload() -> FrameWorkload {
    let activations =
        ActivationCost { fixed_bytes: 5000.0, bytes_per_vertex: 4000.0, bytes_per_edge: 4.0 };
    FrameWorkload { activations, ..FrameWorkload::of_size(VERTICES as usize, STEPS, 900) }
}

fn stage(role: StageRole, width: usize, needs_gradient: bool) -> ModelStage {
    ModelStage { role, layer: 0, inputs: width, outputs: width, needs_gradient }
}

/// Two layers; the first one gathers two values of features, which are kept.
fn traffic(time_on_features: bool) -> Traffic {
    let to_time = stage(StageRole::ToTime, 6, true);
    let to_structure = stage(StageRole::ToStructure, 6, true);
    let mut stages = vec![stage(StageRole::Halo, 6, true)];
    if time_on_features {
        stages = vec![to_time, to_structure, stages[0], to_time, to_structure];
    }
    Traffic {
        stages,
        keeps_first: true,
        answered: 6,
        answers_last: false,
        summed: 500,
        state_bytes_per_vertex: 96,
    }
}

fn question<'a>(
    workload: &'a FrameWorkload,
    traffic: &'a Traffic,
    graph: &'a SnapshotSequence,
    ranks: u32,
) -> Question<'a> {
    Question {
        workload,
        traffic,
        graph,
        frame: Frame::whole(0..STEPS),
        ranks,
        blocks: Some(1),
        recompute: true,
        memory_limit: None,
        machine: Machine {
            memory_bytes_per_second: 8e9,
            link_bytes_per_second: 4e9,
            message_seconds: 5e-6,
            is_measured: false,
        },
        seed: 0,
    }
}

/// All strategies for the ranks of a question.
fn all(question: &Question<'_>) -> Vec<Row> {
    let row = |strategy: Strategy| {
        let training = question.workload.training.clone();
        let partition = strategy.partition(question.graph, training, question.ranks, question.seed);
        match partition.unwrap().map(|partition| partition.renaming()) {
            Some(renaming) => assess(question, strategy, renaming.starts(), Some(&renaming)),
            None => assess(question, strategy, &even_starts(VERTICES, 1), None),
        }
        .unwrap()
    };
    Strategy::all(question.ranks).into_iter().map(row).collect()
}

#[test]
fn bytes_are_units_times_widths_times_passes() {
    let (workload, traffic, graph) = (workload(), traffic(true), graph());
    let compared = all(&question(&workload, &traffic, &graph, 4));
    let units = STEPS as u64 * u64::from(VERTICES) * 3 / 4;
    let snapshot = &compared[0];
    assert_eq!((snapshot.exchanged_units, snapshot.gathered_units), (units, 0));
    // Two layers, there and back, six wide, forward and backward.
    assert_eq!(snapshot.exchanged_bytes, units * (12 + 12) * 4 * 2);
    for row in &compared[1..3] {
        assert_eq!(row.exchanged_bytes, 0);
        // The first layer is gathered once and kept.
        assert_eq!(row.gathered_bytes, row.gathered_units * 6 * 4 * 2);
        let partition = row.strategy.partition(&graph, 0..STEPS, 4, 0).unwrap();
        let renaming = partition.unwrap().renaming();
        let renamed: Vec<_> = graph.iter().map(|view| renaming.snapshot(view).unwrap()).collect();
        let placed = row.grid.placements(renaming.starts(), &blocks(STEPS, 1), true);
        let counted =
            volume::halo(&placed.structure, VERTICES, 0..STEPS, 4, |step| renamed[step].at(0));
        assert_eq!(row.gathered_units, counted.total());
        // Three snapshots for each of four members, who lack the vertices of the others.
        assert_eq!(row.answered_units, 3 * 3 * u64::from(VERTICES));
        assert_eq!(row.answered_bytes, row.answered_units * 6 * 4 * 2);
    }
    assert_eq!(snapshot.answered_units, 0);
    assert_eq!(compared[3].strategy, Strategy::Hybrid { members: 2 });
    assert_eq!(compared[3].exchanged_units, STEPS as u64 * u64::from(VERTICES) / 2);
    // Few enough to be sent to everyone.
    assert_eq!(snapshot.reduced_bytes, 4 * 3 * 500 * 4);
    let many = Traffic { summed: 5000, ..traffic };
    let compared = all(&question(&workload, &many, &graph, 4));
    assert_eq!(compared[0].reduced_bytes, 2 * 3 * 5000 * 4);
}

#[test]
fn features_have_no_gradient_that_comes_back() {
    let (workload, mut traffic, graph) = (workload(), traffic(true), graph());
    traffic.keeps_first = false;
    traffic.stages.insert(0, stage(StageRole::Halo, 2, false));
    let row = |traffic: &Traffic| {
        let compared = all(&question(&workload, traffic, &graph, 2));
        compared[2].clone()
    };
    let features = row(&traffic);
    assert_eq!(features.gathered_bytes, features.gathered_units * (2 + 6 * 2) * 4);
    traffic.stages[0].needs_gradient = true;
    assert_eq!(row(&traffic).gathered_bytes, features.gathered_units * (2 * 2 + 6 * 2) * 4);
}

#[test]
fn blocks_repeat_the_forward_pass_of_all_but_the_last() {
    let (workload, traffic, graph) = (workload(), traffic(true), graph());
    let whole = question(&workload, &traffic, &graph, 3);
    let starts = even_starts(VERTICES, 1);
    let one = assess(&whole, Strategy::Snapshot, &starts, None).unwrap();
    let three =
        assess(&Question { blocks: Some(3), ..whole }, Strategy::Snapshot, &starts, None).unwrap();
    assert_eq!(three.exchanged_units, one.exchanged_units);
    // Of three blocks two go forward twice: (3 + 3 + 2) / (3 · 2) of the bytes.
    assert_eq!(three.exchanged_bytes * 6, one.exchanged_bytes * 8);
    assert!(three.memory.activations < one.memory.activations);
    assert_eq!(one.memory.checkpoints, 0);
    let kept = Question { blocks: Some(3), recompute: false, ..whole };
    let kept = assess(&kept, Strategy::Snapshot, &starts, None).unwrap();
    assert_eq!(kept.exchanged_bytes, one.exchanged_bytes);
    assert_eq!((kept.blocks, kept.memory.checkpoints), (3, 0));
    assert_eq!(three.memory.checkpoints, 3 * 96 * 80);
}

#[test]
fn a_model_that_evolves_weights_sends_no_rows_under_snapshot_partitioning_and_gets_it() {
    let (workload, traffic, graph) = (workload(), traffic(false), graph());
    let compared = all(&question(&workload, &traffic, &graph, 4));
    let by_time = |a: &&Row, b: &&Row| a.step_seconds().total_cmp(&b.step_seconds());
    let best = compared.iter().min_by(by_time).unwrap();
    assert_eq!(best.strategy, Strategy::Snapshot);
    assert_eq!((best.exchanged_bytes, best.gathered_bytes), (0, 0));
}

#[test]
fn a_limit_takes_as_few_blocks_as_fit_and_says_where_none_does() {
    let (mut workload, traffic, graph) = (workload(), traffic(true), graph());
    let block = |blocks: usize| {
        let whole = workload.activations;
        let bytes_per_vertex = whole.bytes_per_vertex / blocks as f64;
        let activations = ActivationCost { bytes_per_vertex, ..whole };
        BlockCost { blocks, activations, state_bytes: 96 * u64::from(VERTICES) }
    };
    workload.blocks = vec![block(2), block(3), block(4)];
    let free = Question { blocks: None, ..question(&workload, &traffic, &graph, 2) };
    let starts = even_starts(VERTICES, 1);
    let at = |blocks| {
        let question = Question { blocks: Some(blocks), ..free };
        assess(&question, Strategy::Snapshot, &starts, None).unwrap().memory.total()
    };
    assert!(at(3) < at(2) && at(2) < at(1));
    let tight = Question { memory_limit: Some(at(3)), ..free };
    let row = assess(&tight, Strategy::Snapshot, &starts, None).unwrap();
    assert_eq!((row.blocks, row.fits), (3, true));
    let compared = all(&Question { memory_limit: Some(1 << 20), ..free });
    assert!(compared.iter().all(|row| !row.fits));
}

#[test]
fn uneven_work_shows_in_the_balance() {
    let (workload, traffic, graph) = (workload(), traffic(true), graph());
    let seven = question(&workload, &traffic, &graph, 7);
    let row = assess(&seven, Strategy::Snapshot, &even_starts(VERTICES, 1), None).unwrap();
    // 12 snapshots on 7 ranks: two on the busiest.
    assert!((row.balance.cells - 2.0 * 7.0 / 12.0).abs() < 1e-12);
    assert!(row.balance.time_cells < 1.03);
}

#[test]
fn the_last_snapshot_goes_to_one_rank_and_time_encoders_gather_and_sum() {
    let (workload, mut traffic, graph) = (workload(), traffic(true), graph());
    traffic.answers_last = true;
    let row = |traffic: &Traffic| all(&question(&workload, traffic, &graph, 4));
    for row in row(&traffic) {
        // All vertices but those of the rank that is asked; parts differ by a few.
        let even = u64::from(VERTICES) * 3 / 4;
        assert!(row.answered_units.abs_diff(even) < even / 10, "{:?}", row.strategy);
        assert_eq!(row.statistics_bytes, 0);
    }
    let before = row(&traffic);
    let width = 5;
    traffic.stages.extend([
        stage(StageRole::HaloInTime, width, false),
        ModelStage { layer: 1, ..stage(StageRole::HaloInTime, width, true) },
        ModelStage { outputs: 7, ..stage(StageRole::ToAll, 3, true) },
        stage(StageRole::Statistics, 4, true),
        ModelStage { outputs: 12, ..stage(StageRole::Sum, 9, false) },
    ]);
    for (before, row) in before.iter().zip(row(&traffic)) {
        let members = u64::from(row.grid.members);
        let to_all = STEPS as u64 * 7 * members * 3 * 3 * 4 * 2;
        let in_time = row.gathered_bytes - before.gathered_bytes - to_all;
        // The first snapshot has no past: nothing comes back for it.
        let units = in_time / (width as u64 * 4);
        assert!(units > 0 && in_time.is_multiple_of(width as u64 * 4), "{row:?}");
        assert_eq!(row.statistics_bytes, 4 * 3 * (9 + 8) * 4 + 4 * 3 * 12 * 4);
    }
}
