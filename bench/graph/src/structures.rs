//! Times matrices, differences, overlaps and smoothing on snapshots that change by a fifth.
//!
//! The last figure is the share of the floor: of the bytes that must at least be read and written,
//! how many were moved in a second of processor time.

use zoetrope_graph::change::changes;
use zoetrope_graph::normalise::{GcnOptions, gcn};
use zoetrope_graph::random::Random;
use zoetrope_graph::row_slices::WARP_SLICE_ENTRIES_MAX;
use zoetrope_graph::smooth::edge_life;
use zoetrope_graph::smooth_features::m_product_features;

use zoetrope_graph::{
    Csr, Difference, MatrixRows, Overlap, RowSlices, SnapshotSequence, VertexFeatures,
};

use crate::clock::median;

const STEPS: u64 = 10;
const VERTICES: u32 = 100_000;
const EDGES: u64 = 1_000_000;

pub(crate) fn structures() {
    let graph = evolving();
    let (edges, rows) = (EDGES as f64, f64::from(VERTICES));
    println!("{STEPS} snapshots of {EDGES} edges, {VERTICES} vertices");
    matrices(&graph, edges, rows);

    let matrices: Vec<Csr> =
        graph.iter().map(|view| Csr::from_view(view).expect("few edges")).collect();
    let all: Vec<MatrixRows<'_>> = matrices.iter().map(MatrixRows::of).collect();
    for steps in [1, 4, 8] {
        let of = || Difference::new(Some(all[0]), &all[1..=steps]).expect("one graph");
        let (read, changed) = ((steps + 1) as f64 * edges, of());
        let changes = changed.born_columns.len() + changed.dead.len() + changed.weights.len();
        report(&format!("difference of {steps}"), read, 8.0 * read + 9.0 * changes as f64, of);
    }
    report("changes", 2.0 * 9.0 * edges, 9.0 * 16.0 * edges, || changes(&graph));
    for group in [2, 4, 8] {
        let of = || Overlap::of(&all[..group]).expect("one graph");
        let (read, found) = (group as f64 * edges, of());
        let exclusive: usize = (0..group).map(|step| found.exclusive(step).entries()).sum();
        let written = found.common().entries() * (1 + group) + 2 * exclusive;
        report(&format!("overlap of {group}"), read, 8.0 * read + 4.0 * written as f64, of);
    }
    let slices = || RowSlices::new(matrices[0].row_offsets(), WARP_SLICE_ENTRIES_MAX);
    report("slices", edges, 4.0 * rows + 8.0 * slices().len() as f64, slices);
    for life in [1, 3, 10] {
        let smooth = || edge_life(&graph, life).expect("a positive life");
        let (read, written) = (STEPS as f64 * edges, smooth().stored_edges() as f64);
        report(&format!("edge-life {life}"), written, 12.0 * (read + written), smooth);
    }
    let features = VertexFeatures::new(50, 100_000, 2, vec![1.0; 10_000_000]).expect("lengths");
    for window in [5, 20] {
        let smooth = || m_product_features(&features, window).expect("a positive window");
        report(&format!("M-product {window} of features"), 1e7, 8e7, smooth);
    }
}

fn matrices(graph: &SnapshotSequence, edges: f64, rows: f64) {
    let matrix = || Csr::from_view(graph.at(0)).expect("few edges");
    report("matrix", edges, 20.0 * edges + 4.0 * rows, matrix);
    let stored = matrix();
    report("transpose", edges, 20.0 * edges + 8.0 * rows, || stored.transpose());
    let normalised = || gcn(graph.at(0), GcnOptions::default()).expect("few edges");
    report("GCN normalisation", edges, 20.0 * edges + 12.0 * rows, normalised);
}

fn report<R: Send>(name: &str, edges: f64, floor_bytes: f64, work: impl Fn() -> R + Sync) {
    for threads in [1, 2] {
        let (clock, cpu, _) = median(threads, &work);
        println!(
            "{name}, {threads} threads: {:.2} ms; processor {:.2} ms, {:.1} ns/edge, {:.2} GB/s",
            clock * 1e3,
            cpu * 1e3,
            cpu * 1e9 / edges,
            floor_bytes / cpu * 1e-9,
        );
    }
}

/// Snapshots with skewed sources; each step draws a tenth of the edges anew and gives back the
/// tenth that the step before had drawn.
fn evolving() -> SnapshotSequence {
    let random = Random::new(11, 1);
    let (mut src, mut dst, mut weight, mut offsets) = (vec![], vec![], vec![], vec![0]);
    for step in 0..STEPS {
        for edge in 0..EDGES {
            let fresh = edge % 10 == step % 10;
            let index = if fresh { edge + (step + 1) * EDGES } else { edge };
            let skew = random.unit(3 * index).powi(2);
            src.push((skew * f64::from(VERTICES)) as u32);
            dst.push(random.below(3 * index + 1, u64::from(VERTICES)) as u32);
            weight.push(random.unit(3 * index + 2) as f32);
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(VERTICES, offsets, src, dst, Some(weight)).expect("edges in range")
}
