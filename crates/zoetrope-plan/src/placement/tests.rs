use std::collections::BTreeSet;

use proptest::prelude::*;
use zoetrope_graph::{Csr, SnapshotSequence};

use super::grid::{Grid, blocks, even_parts, even_starts};
use super::halo::{Halo, SnapshotHalo};
use super::route::Route;
use super::*;
use crate::volume;

/// A cell as one number, to follow it through exchanges.
fn name(vertex: u32, step: usize) -> u64 {
    (step as u64) << 32 | u64::from(vertex)
}

/// Carries out one route of each rank on matrices of one column.
fn exchange(routes: &[Route], before: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut after: Vec<Vec<u64>> =
        routes.iter().map(|route| vec![u64::MAX; route.rows_after]).collect();
    for (rank, route) in routes.iter().enumerate() {
        assert_eq!(before[rank].len(), route.rows_before);
        assert_eq!(route.kept_before.len(), route.kept_after.len());
        for (from, to) in route.kept_before.iter().zip(route.kept_after.iter()) {
            after[rank][to as usize] = before[rank][from as usize];
        }
        for leg in &route.receives {
            let sender = &routes[leg.peer as usize];
            let sent = sender.sends.iter().find(|sent| sent.peer == rank as u32).unwrap();
            assert_eq!(sent.rows.len(), leg.rows.len(), "what one sends the other receives");
            for (from, to) in sent.rows.iter().zip(leg.rows.iter()) {
                after[rank][to as usize] = before[leg.peer as usize][from as usize];
            }
        }
        for leg in &route.sends {
            let receiver = &routes[leg.peer as usize];
            assert!(receiver.receives.iter().any(|received| received.peer == rank as u32));
            let runs: usize = leg.rows.runs().iter().map(ExactSizeIterator::len).sum();
            assert_eq!(runs, leg.rows.len());
        }
    }
    after
}

#[derive(Debug, Clone)]
struct Case {
    grid: Grid,
    vertices: u32,
    steps: usize,
    blocks: usize,
    starts: Vec<u32>,
    time_on_features: bool,
}

impl Case {
    fn placements(&self) -> Placements {
        let blocks = blocks(self.steps, self.blocks);
        self.grid.placements(&self.starts, &blocks, self.time_on_features)
    }

    fn shares(&self, placement: &Placement, steps: Range<usize>) -> Vec<Share> {
        (0..self.grid.ranks())
            .map(|rank| placement.share(rank, self.vertices, steps.clone()))
            .collect()
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1_u32..5, 1_u32..5, 1_u32..24, 1_usize..14, 1_usize..6, any::<bool>());
    sizes.prop_flat_map(|(groups, members, vertices, steps, blocks, time_on_features)| {
        proptest::collection::vec(0..=vertices, members as usize - 1).prop_map(move |mut starts| {
            starts.extend([0, vertices]);
            starts.sort_unstable();
            let grid = Grid { groups, members };
            Case { grid, vertices, steps, blocks, starts, time_on_features }
        })
    })
}

proptest! {
    #[test]
    fn every_cell_is_placed_once(case in cases()) {
        let Placements { structure, time } = case.placements();
        for placement in [&structure, &time] {
            let ranks = case.grid.ranks() as usize;
            placement.check(case.vertices, case.steps, ranks).unwrap();
            let mut cells = 0;
            for (rank, share) in case.shares(placement, 0..case.steps).iter().enumerate() {
                for (row, (vertex, step)) in share.cells().enumerate() {
                    prop_assert_eq!(placement.rank(vertex, step), rank as u32);
                    prop_assert_eq!(share.row(vertex, step), Some(row));
                    cells += 1;
                }
            }
            prop_assert_eq!(cells, case.vertices as usize * case.steps);
        }
    }

    #[test]
    fn redistribution_brings_every_row_to_its_place_and_back(case in cases()) {
        let Placements { structure, time } = case.placements();
        let ranks = case.grid.ranks();
        for block in blocks(case.steps, case.blocks) {
            let route = |rank| {
                Route::between(&structure, &time, case.vertices, block.clone(), ranks, rank)
            };
            let routes: Vec<Route> = (0..ranks).map(route).collect();
            let rows = |placement| -> Vec<Vec<u64>> {
                let shares = case.shares(placement, block.clone());
                shares.iter().map(|share| share.cells().map(|(v, t)| name(v, t)).collect()).collect()
            };
            let (before, after) = (rows(&structure), rows(&time));
            prop_assert_eq!(&exchange(&routes, &before), &after);
            let back: Vec<Route> = routes.iter().map(Route::reversed).collect();
            prop_assert_eq!(exchange(&back, &after), before);

            let units =
                volume::redistribution(&structure, &time, case.vertices, block.clone(), ranks);
            for (rank, route) in routes.iter().enumerate() {
                prop_assert_eq!(route.sent() as u64, units.sent[rank]);
                prop_assert_eq!(route.received() as u64, units.received[rank]);
                let still = route.sent() == 0 && route.received() == 0;
                prop_assert_eq!(route.is_identity(), still);
            }
            let moved = block.clone().flat_map(|step| (0..case.vertices).map(move |v| (v, step)));
            let moved = moved.filter(|&(v, t)| structure.rank(v, t) != time.rank(v, t)).count();
            prop_assert_eq!(units.total(), moved as u64);
        }
    }

    #[test]
    fn snapshots_are_contiguous_and_even_inside_each_block(
        steps in 1_usize..40, ranks in 1_u32..9, count in 1_usize..8,
    ) {
        let blocks = blocks(steps, count);
        let grid = Grid::by_snapshot(ranks);
        let Placement::BySnapshot { ranks: owners } =
            grid.placements(&[0, 5], &blocks, true).structure else { unreachable!() };
        prop_assert_eq!(owners.len(), steps);
        let sizes = |range: Range<usize>| -> Vec<usize> {
            let of = |rank| owners[range.clone()].iter().filter(|&&owner| owner == rank).count();
            (0..ranks).map(of).collect()
        };
        for block in blocks {
            prop_assert!(owners[block.clone()].is_sorted());
            let sizes = sizes(block);
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
        let all = sizes(0..steps);
        prop_assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1);
    }

    #[test]
    fn a_halo_has_the_rows_that_are_multiplied_with_and_no_other(
        case in cases(),
        edges in proptest::collection::vec((0_usize..14, any::<u32>(), any::<u32>()), 0..80),
    ) {
        let graph = snapshots(&case, &edges);
        let structure = case.placements().structure;
        let ranks = case.grid.ranks();
        let of_snapshots = |rank: u32| -> Vec<SnapshotHalo> {
            let own = structure.share(rank, case.vertices, 0..case.steps).vertices;
            let starts = |step| structure.row_of_ranks(step, case.vertices).0;
            let of = |step| SnapshotHalo::of(graph.at(step), own.clone(), &starts(step));
            (0..case.steps).map(of).collect()
        };
        let of_snapshots: Vec<_> = (0..ranks).map(of_snapshots).collect();
        let halo = |rank: u32| {
            let of = |step: usize| &of_snapshots[rank as usize][step];
            Halo::of_snapshots(&structure, case.vertices, 0..case.steps, rank, of)
        };
        let halos: Vec<Halo> = (0..ranks).map(halo).collect();
        let routes: Vec<Route> = halos.iter().map(|halo| halo.route.clone()).collect();
        let shares = case.shares(&structure, 0..case.steps);
        let before: Vec<Vec<u64>> =
            shares.iter().map(|share| share.cells().map(|(v, t)| name(v, t)).collect()).collect();
        let after = exchange(&routes, &before);
        for (rank, halo) in halos.iter().enumerate() {
            for &(at, first_row) in &halo.first_rows {
                let step = &of_snapshots[rank][at];
                let rows = &after[rank][first_row..first_row + step.rows()];
                prop_assert!(rows.is_sorted_by(|left, right| left < right));
                let vertices: Vec<u64> = step.vertices().map(|vertex| name(vertex, at)).collect();
                prop_assert_eq!(&vertices, rows);
                let whole = Csr::from_view(graph.at(at)).unwrap();
                let part = step.matrix(&whole).unwrap();
                for (row, vertex) in shares[rank].vertices.clone().enumerate() {
                    let (columns, values) = part.row(row as u32);
                    let cells: Vec<u64> = columns.iter().map(|&column| rows[column as usize]).collect();
                    let expected = whole.row(vertex);
                    prop_assert_eq!(values, expected.1);
                    let named: Vec<u64> =
                        expected.0.iter().map(|&src| name(src, at)).collect();
                    prop_assert_eq!(cells, named);
                }
                let ghosts = step.ghosts.iter().all(|ghost| !shares[rank].vertices.contains(ghost));
                prop_assert!(ghosts);
            }
        }
        let units = volume::halo(&structure, case.vertices, 0..case.steps, ranks, |t| graph.at(t));
        for (rank, route) in routes.iter().enumerate() {
            prop_assert_eq!(route.sent() as u64, units.sent[rank]);
            prop_assert_eq!(route.received() as u64, units.received[rank]);
        }
        prop_assert_eq!(units.total(), lambda(&structure, &graph));
    }
}

fn snapshots(case: &Case, edges: &[(usize, u32, u32)]) -> SnapshotSequence {
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    for step in 0..case.steps {
        for &(_, from, to) in edges.iter().filter(|edge| edge.0 % case.steps == step) {
            src.push(from % case.vertices);
            dst.push(to % case.vertices);
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(case.vertices, offsets, src, dst, None).unwrap()
}

/// `Σ_t Σ_v λ_t(v)` as it is written.
fn lambda(placement: &Placement, graph: &SnapshotSequence) -> u64 {
    let mut sum = 0;
    for (step, view) in graph.iter().enumerate() {
        for vertex in 0..graph.vertices() {
            let edges = view.src.iter().zip(view.dst).filter(|(src, _)| **src == vertex);
            let owners: BTreeSet<u32> = edges.map(|(_, &dst)| placement.rank(dst, step)).collect();
            sum += owners.iter().filter(|&&owner| owner != placement.rank(vertex, step)).count();
        }
    }
    sum as u64
}

#[test]
fn snapshot_partitioning_moves_all_but_one_in_p_of_the_cells() {
    for (ranks, steps, vertices, blocks_of) in [(4, 8, 12, 1), (4, 24, 40, 3), (3, 9, 6, 1)] {
        let grid = Grid::by_snapshot(ranks);
        let made = grid.placements(&[0, vertices], &blocks(steps, blocks_of), true);
        let units = volume::redistribution(&made.structure, &made.time, vertices, 0..steps, ranks);
        let all = steps as u64 * u64::from(vertices);
        assert_eq!(units.total(), all * u64::from(ranks - 1) / u64::from(ranks));
        assert_eq!(units.busiest() * u64::from(ranks), units.total(), "no rank has more");
    }
}

#[test]
fn uneven_sizes_move_the_cells_that_do_not_stay() {
    // 7 steps: 3, 2, 2; 10 vertices: 4, 3, 3.
    let made = Grid::by_snapshot(3).placements(&[0, 10], &blocks(7, 1), true);
    let units = volume::redistribution(&made.structure, &made.time, 10, 0..7, 3);
    assert_eq!(units.total(), 70 - (3 * 4 + 2 * 3 + 2 * 3));
}

#[test]
fn a_hybrid_redistributes_between_groups_only() {
    let grid = Grid { groups: 2, members: 2 };
    let made = grid.placements(&even_starts(8, 2), &blocks(4, 1), true);
    let units = volume::redistribution(&made.structure, &made.time, 8, 0..4, 4);
    assert_eq!(units.total(), 4 * 8 / 2);
    for rank in 0..4 {
        let route = Route::between(&made.structure, &made.time, 8, 0..4, 4, rank);
        let peers: Vec<u32> = route.sends.iter().map(|leg| leg.peer).collect();
        assert_eq!(peers, [(rank + 2) % 4]);
    }
}

#[test]
fn time_encoders_of_weights_and_vertex_partitioning_move_no_cell() {
    let still = Grid::by_snapshot(4).placements(&[0, 9], &blocks(6, 2), false);
    assert_eq!(still.structure, still.time);
    let vertex = Grid::by_vertex(3).placements(&[0, 2, 5, 9], &blocks(6, 2), true);
    assert_eq!(vertex.structure, vertex.time);
    assert!(Route::between(&vertex.structure, &vertex.time, 9, 0..6, 3, 1).is_identity());
}

#[test]
fn more_ranks_than_snapshots_leave_some_without_structure_but_not_without_time() {
    let made = Grid::by_snapshot(5).placements(&[0, 10], &blocks(2, 1), true);
    assert_eq!(made.structure.share(4, 10, 0..2).rows(), 0);
    assert_eq!(made.time.share(4, 10, 0..2).rows(), 4);
}

#[test]
fn regular_rows_are_a_few_numbers() {
    let made = Grid::by_snapshot(4).placements(&[0, 1000], &blocks(40, 1), true);
    let route = Route::between(&made.structure, &made.time, 1000, 0..40, 4, 2);
    let expected = super::route::Rows::Strided { first: 250, length: 250, stride: 1000, count: 10 };
    assert_eq!(route.sends[1].rows, expected);
    assert_eq!(route.receives[1].rows.runs(), vec![10 * 250..20 * 250; 1]);
}

#[test]
fn broken_placements_are_refused() {
    let snapshot = |ranks: &[u32]| Placement::BySnapshot { ranks: ranks.to_vec() };
    assert!(snapshot(&[0, 1]).check(5, 2, 2).is_ok());
    assert!(snapshot(&[0, 2]).check(5, 2, 2).is_err());
    assert!(snapshot(&[0]).check(5, 2, 2).is_err());
    let vertex = |starts: &[u32], ranks: &[u32]| Placement::ByVertex {
        starts: starts.to_vec(),
        ranks: ranks.to_vec(),
    };
    assert!(vertex(&[0, 2, 5], &[1, 0]).check(5, 2, 2).is_ok());
    assert!(vertex(&[0, 2, 4], &[1, 0]).check(5, 2, 2).is_err());
    assert!(vertex(&[0, 2, 5], &[1, 1]).check(5, 2, 2).is_err());
    assert!(vertex(&[0, 6, 5], &[0, 1]).check(5, 2, 2).is_err());
    assert!(vertex(&[], &[]).check(5, 2, 2).is_err());
    let group = Placement::ByGroup { groups: vec![0, 1], starts: vec![0, 3, 5] };
    assert!(group.check(5, 2, 4).is_ok());
    assert!(group.check(5, 2, 3).is_err());
    assert!(group.check(5, 2, 2).is_err());
}

#[test]
fn placements_read_back_equal() {
    let made = Grid { groups: 2, members: 3 }.placements(&[0, 2, 4, 9], &blocks(5, 2), true);
    let text = serde_json::to_string(&made).unwrap();
    assert_eq!(serde_json::from_str::<Placements>(&text).unwrap(), made);
}

#[test]
fn even_parts_differ_by_one_at_most_and_cover_everything() {
    let parts: Vec<_> = even_parts(7, 3).collect();
    assert_eq!(parts, [0..3, 3..5, 5..7]);
    assert_eq!(even_starts(2, 4), [0, 1, 2, 2, 2]);
}
