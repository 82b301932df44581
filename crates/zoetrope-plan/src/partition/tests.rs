use proptest::prelude::*;
use zoetrope_graph::random::Random;
use zoetrope_graph::{GraphError, SnapshotSequence};

use super::*;
use crate::placement::grid::{Grid, blocks};
use crate::volume;

/// The imbalance that is allowed, and what dividing may round.
const MOST: f64 = 0.03 + 1e-12;

fn graph(vertices: u32, snapshots: &[&[(u32, u32)]]) -> SnapshotSequence {
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    for edges in snapshots {
        src.extend(edges.iter().map(|edge| edge.0));
        dst.extend(edges.iter().map(|edge| edge.1));
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(vertices, offsets, src, dst, None).unwrap()
}

fn clique(vertices: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    let pairs = |from| vertices.clone().map(move |to| (from, to));
    vertices.clone().flat_map(pairs).filter(|(from, to)| from != to).collect()
}

/// A square grid, both directions.
fn lattice(side: u32) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for at in 0..side * side {
        for next in
            [(at % side + 1 < side).then_some(at + 1), (at / side + 1 < side).then_some(at + side)]
        {
            edges.extend(next.into_iter().flat_map(|next| [(at, next), (next, at)]));
        }
    }
    edges
}

/// Vertices in communities, most edges inside; snapshots share most edges.
fn communities(vertices: u32, steps: usize, communities: u32, seed: u64) -> SnapshotSequence {
    let random = Random::new(seed, 1);
    let size = vertices / communities;
    let edge = |number: u64| {
        let [a, b, c, d] = random.block(number);
        let from = a % vertices;
        let inside = (from / size * size + c % size).min(vertices - 1);
        // Heavy-tailed: low numbers are met more often.
        let anyone = ((u64::from(c) * u64::from(d)) >> 32) as u32 % vertices;
        (from, if b % 10 < 8 { inside } else { anyone })
    };
    let all: Vec<Vec<(u32, u32)>> = (0..steps as u64)
        .map(|step| (0..u64::from(vertices) * 4).map(|number| edge(number + step * 40)).collect())
        .collect();
    graph(vertices, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn volume_of(sequence: &SnapshotSequence, partition: &Partition) -> u64 {
    let renaming = partition.renaming();
    let (steps, vertices) = (0..sequence.steps(), sequence.vertices());
    let blocks = blocks(sequence.steps(), 1);
    let made = Grid::by_vertex(partition.parts).placements(renaming.starts(), &blocks, true);
    let mut total = 0;
    visit_renamed(sequence, Some(&renaming), steps, |_, view| {
        total += volume::halo(&made.structure, vertices, 0..1, partition.parts, |_| view).total();
        Ok::<_, GraphError>(())
    })
    .unwrap();
    total
}

#[test]
fn two_cliques_are_cut_at_the_edge_between_them() {
    // Two cliques of 20 whose vertices are mixed, joined by one edge in one of three snapshots.
    let mixed = |edge: &(u32, u32)| (edge.0 * 7 % 40, edge.1 * 7 % 40);
    let edges: Vec<(u32, u32)> = clique(0..20).iter().chain(&clique(20..40)).map(mixed).collect();
    let joined: Vec<(u32, u32)> = edges.iter().copied().chain([mixed(&(3, 33))]).collect();
    let sequence = graph(40, &[&edges, &joined, &edges]);
    for objective in [Objective::EdgeCut, Objective::Connectivity] {
        let found = objective.partition(&sequence, 0..sequence.steps(), &Options::new(2)).unwrap();
        assert_eq!(
            nets::of_edges(&sequence, 0..sequence.steps()).unwrap().cost(&found.of),
            1,
            "{objective:?}"
        );
        assert_eq!(volume_of(&sequence, &found), 1, "{objective:?}");
        assert_eq!(found.imbalance(std::iter::repeat_n(1, 40)), 0.0);
    }
}

#[test]
fn a_square_grid_is_cut_about_as_well_as_by_straight_lines() {
    let sequence = graph(1024, &[&lattice(32)]);
    let weighed = nets::of_edges(&sequence, 0..sequence.steps()).unwrap();
    // Straight lines cut 32 and 64 edges, each counted in both directions.
    for (parts, straight) in [(2, 2 * 32), (4, 2 * 64)] {
        let found = edge_cut(&sequence, 0..sequence.steps(), &Options::new(parts)).unwrap();
        let cut = weighed.cost(&found.of);
        // Measured: 64 and 146.
        assert!(cut * 100 <= straight * 115, "{cut} of {straight} edges for {parts} parts");
        assert!(found.imbalance(std::iter::repeat_n(1, 1024)) <= MOST);
    }
}

#[test]
fn the_cost_of_rows_is_the_volume() {
    let sequence = communities(300, 6, 7, 3);
    for parts in [2, 5] {
        let found = connectivity(&sequence, 0..sequence.steps(), &Options::new(parts)).unwrap();
        let nets = nets::of_rows(&sequence, 0..sequence.steps(), nets::MAX_PINS).unwrap();
        assert_eq!(nets.cost(&found.of) as u64, volume_of(&sequence, &found));
    }
}

#[test]
fn united_snapshots_bound_the_volume_from_above_and_have_fewer_pins() {
    let sequence = communities(300, 8, 7, 5);
    let exact = nets::of_rows(&sequence, 0..sequence.steps(), usize::MAX).unwrap();
    let united = nets::of_rows(&sequence, 0..sequence.steps(), exact.pins() / 2).unwrap();
    assert!(united.pins() <= exact.pins() / 2);
    let found = partition(&united, &Options::new(4));
    assert!(united.cost(&found.of) >= exact.cost(&found.of));
}

#[test]
fn rows_are_moved_less_by_the_objective_that_counts_them() {
    for (seed, parts) in [(1, 2), (2, 4), (3, 8), (4, 5)] {
        let sequence = communities(800, 10, 16, seed);
        let options = Options::new(parts);
        let by_cut =
            volume_of(&sequence, &edge_cut(&sequence, 0..sequence.steps(), &options).unwrap());
        let by_rows =
            volume_of(&sequence, &connectivity(&sequence, 0..sequence.steps(), &options).unwrap());
        assert!(by_rows <= by_cut * 11 / 10, "{by_rows} rows against {by_cut}, {parts} parts");
    }
}

#[test]
fn planted_communities_are_found() {
    let sequence = communities(960, 4, 8, 9);
    let weighed = nets::of_edges(&sequence, 0..sequence.steps()).unwrap();
    let planted: Vec<u32> = (0..960).map(|vertex| vertex / 120).collect();
    let found = edge_cut(&sequence, 0..sequence.steps(), &Options::new(8)).unwrap();
    let (cut, planted) = (weighed.cost(&found.of), weighed.cost(&planted));
    assert!(cut * 100 <= planted * 103, "{cut} against {planted}");
}

#[test]
fn the_same_seed_gives_the_same_parts() {
    let sequence = communities(500, 5, 10, 2);
    let options = Options::new(6);
    for objective in [Objective::EdgeCut, Objective::Connectivity] {
        let made = |options| objective.partition(&sequence, 0..sequence.steps(), options).unwrap();
        assert_eq!(made(&options), made(&options));
        assert_ne!(made(&options), made(&Options { seed: 1, ..options }));
    }
}

#[test]
fn parts_do_not_depend_on_the_number_of_threads() {
    // Large enough that many vertices are looked at at once.
    let sequence = communities(40_000, 2, 80, 6);
    let made = |threads: usize, objective: Objective| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| objective.partition(&sequence, 0..2, &Options::new(3)).unwrap())
    };
    for objective in [Objective::EdgeCut, Objective::Connectivity] {
        let found = made(1, objective);
        assert!(coarsen::at_once(sequence.vertices() as usize) > 1);
        assert_eq!(made(3, objective), found, "{objective:?}");
        assert!(found.imbalance(std::iter::repeat_n(1, 40_000)) <= MOST, "{objective:?}");
    }
}

#[test]
fn weights_of_vertices_are_balanced_where_given() {
    let sequence = communities(600, 3, 6, 4);
    let weights: Vec<i64> = (0..600).map(|vertex| 1 + vertex % 9).collect();
    let weighed = nets::of_edges(&sequence, 0..sequence.steps()).unwrap().weighted(weights.clone());
    let found = partition(&weighed, &Options::new(4));
    assert!(found.imbalance(weights.iter().map(|&weight| weight as u64)) <= MOST);
}

#[test]
fn renaming_keeps_edges_and_the_order_inside_of_parts() {
    let partition = Partition { parts: 3, of: vec![2, 0, 1, 0, 2] };
    let renaming = partition.renaming();
    assert_eq!(renaming.starts(), [0, 2, 3, 5]);
    assert_eq!(renaming.old_of_new(), [1, 3, 2, 0, 4]);
    assert_eq!(renaming.new_of_old(), [3, 0, 2, 1, 4]);
    let sequence = graph(5, &[&[(0, 1), (4, 3)], &[(2, 2)]]);
    let [first, second] = [0, 1].map(|step| renaming.snapshot(sequence.at(step)).unwrap());
    assert_eq!((first.at(0).src, first.at(0).dst), (&[3, 4][..], &[0, 1][..]));
    assert_eq!((second.at(0).src, second.at(0).dst), (&[2][..], &[2][..]));
    assert!(renaming.snapshot(graph(6, &[&[(5, 0)]]).at(0)).is_err());
}

#[test]
fn more_parts_than_vertices_and_graphs_without_edges_are_fine() {
    let lonely = graph(3, &[&[(0, 1)]]);
    let found = edge_cut(&lonely, 0..lonely.steps(), &Options::new(5)).unwrap();
    assert!(found.of.iter().all(|&part| part < 5));
    let empty = graph(1000, &[&[], &[]]);
    for objective in [Objective::EdgeCut, Objective::Connectivity] {
        let found = objective.partition(&empty, 0..empty.steps(), &Options::new(7)).unwrap();
        assert!(found.imbalance(std::iter::repeat_n(1, 1000)) <= MOST);
    }
    assert_eq!(edge_cut(&graph(0, &[]), 0..0, &Options::new(2)).unwrap().of, [] as [u32; 0]);
}

#[test]
fn a_star_is_balanced_although_everything_hangs_on_one_vertex() {
    let edges: Vec<(u32, u32)> = (1..2000).map(|leaf| (0, leaf)).collect();
    let sequence = graph(2000, &[&edges]);
    let found = edge_cut(&sequence, 0..sequence.steps(), &Options::new(4)).unwrap();
    assert!(found.imbalance(std::iter::repeat_n(1, 2000)) <= MOST);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn parts_are_never_heavier_than_allowed(
        vertices in 2_u32..400, parts in 1_u32..9, seed in any::<u64>(),
        edges in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..1200),
    ) {
        let edges: Vec<(u32, u32)> =
            edges.iter().map(|edge| (edge.0 % vertices, edge.1 % vertices)).collect();
        let sequence = graph(vertices, &[&edges]);
        let options = Options { seed, ..Options::new(parts) };
        for objective in [Objective::EdgeCut, Objective::Connectivity] {
            let found = objective.partition(&sequence, 0..sequence.steps(), &options).unwrap();
            let mut sizes = vec![0_u32; parts as usize];
            found.of.iter().for_each(|&part| sizes[part as usize] += 1);
            let mean = f64::from(vertices) / f64::from(parts);
            let most = (mean * 1.03).floor().max(mean.ceil());
            prop_assert!(sizes.iter().all(|&size| f64::from(size) <= most), "{sizes:?}");
        }
    }
}
