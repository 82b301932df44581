//! `uniform`: the random graphs of ESDG's weak-scaling study.

use rayon::prelude::*;
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, VertexFeatures};

use super::edges::{Columns, any_pair, draw_distinct};
use super::parameter::{Arguments, Generator, SEED, choice, integer, real};
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

const STREAM_EDGES: u32 = 0x0101;

pub(super) const GENERATOR: Generator = Generator {
    name: "uniform",
    summary: "independent uniform random snapshots, for scaling studies",
    model: "Every snapshot is drawn on its own: round(vertices × density) distinct directed edges, \
            each pair of different vertices equally likely. Consecutive snapshots share next to \
            nothing, the worst case for graph differences.",
    source: "Chakaravarthy et al., Efficient Scaling of Dynamic Graph Neural Networks (ESDG), \
             SC 2021, section 6.3, weak scaling: 256 steps, density 3, 2^14 to 2^20 vertices",
    parameters: &[
        integer("vertices", "16384", 2, 1 << 31, "vertices (N)"),
        integer("steps", "256", 1, 1_000_000, "snapshots (T)"),
        real("density", "3", 0.0, 1e6, "edges per vertex and snapshot (f)"),
        choice("features", "degree", &["degree", "none"], "in- and out-degree, or no features"),
        SEED,
    ],
    example: "synthetic:uniform?vertices=16384&steps=256&density=3",
    build,
    stream: None,
};

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    let vertices = arguments.integer("vertices") as u32;
    let steps = arguments.count("steps");
    let edges = (f64::from(vertices) * arguments.real("density")).round();
    // Half of all pairs and no more: beyond it, redrawing repeats would not end soon.
    if edges > f64::from(vertices) * f64::from(vertices - 1) / 2.0 {
        return Err(arguments.reject("density", "at most (vertices - 1) / 2"));
    }
    let degrees = arguments.choice("features") == "degree";
    let width = if degrees { 2.0 } else { 0.0 };
    let bytes = steps as f64 * (16.0 * edges + 4.0 * width * f64::from(vertices));
    arguments.require_memory(bytes, "vertices, steps or density")?;
    let edges = edges as usize;
    let random = Random::new(arguments.seed(), STREAM_EDGES);
    progress.begin("generating", Some((steps * edges) as u64));
    let snapshots: Vec<Vec<u64>> = (0..steps)
        .into_par_iter()
        .map(|step| {
            let keys = draw_distinct(edges, random.at_step(step as u32), &[], |block, _| {
                any_pair(block, vertices)
            });
            progress.advance(edges as u64);
            keys
        })
        .collect();
    let mut columns = Columns::with_capacity(steps, steps * edges);
    for keys in snapshots {
        columns.push(&keys);
    }
    let sequence = columns.finish(vertices, arguments)?;
    let features = degrees.then(|| degree_features(&sequence));
    Ok(super::snapshots(sequence, features, None))
}

/// In-degree and out-degree of every vertex in every snapshot.
pub(super) fn degree_features(sequence: &SnapshotSequence) -> VertexFeatures {
    let vertices = sequence.vertices() as usize;
    let mut values = vec![0.0; sequence.steps() * vertices * 2];
    values.par_chunks_mut((vertices * 2).max(1)).enumerate().for_each(|(step, rows)| {
        let view = sequence.at(step);
        for (&src, &dst) in view.src.iter().zip(view.dst) {
            rows[dst as usize * 2] += 1.0;
            rows[src as usize * 2 + 1] += 1.0;
        }
    });
    VertexFeatures::new(sequence.steps(), vertices, 2, values).expect("one pair per vertex")
}

#[cfg(test)]
mod tests {
    use crate::synthetic::tests::snapshots_of;

    #[test]
    fn every_snapshot_has_the_asked_number_of_distinct_edges() {
        let data = snapshots_of("synthetic:uniform?vertices=100&steps=7&density=2.5");
        assert_eq!(data.sequence.steps(), 7);
        for view in data.sequence.iter() {
            assert_eq!(view.len(), 250);
            assert!((1..250).all(|edge| view.key(edge - 1) < view.key(edge)));
        }
    }

    #[test]
    fn degrees_sum_to_the_edges() {
        let data = snapshots_of("synthetic:uniform?vertices=100&steps=3&density=2");
        let features = data.features.unwrap();
        for step in 0..3 {
            let sums =
                features.at(step).chunks(2).fold([0.0; 2], |[a, b], row| [a + row[0], b + row[1]]);
            assert_eq!(sums, [200.0, 200.0]);
        }
    }

    #[test]
    fn consecutive_snapshots_are_independent() {
        let data = snapshots_of("synthetic:uniform?vertices=1000&steps=2&density=3");
        let (first, second) = (data.sequence.at(0), data.sequence.at(1));
        let keys: Vec<u64> = (0..first.len()).map(|edge| first.key(edge)).collect();
        let shared =
            (0..second.len()).filter(|&edge| keys.binary_search(&second.key(edge)).is_ok());
        // Expected 3000² / (1000 · 999) ≈ 9; 30 is seven standard deviations away.
        assert!(shared.count() < 30);
    }

    #[test]
    fn more_edges_than_half_of_all_pairs_are_refused() {
        let name = "synthetic:uniform?vertices=10&density=6";
        let text = crate::synthetic::generate(name, &crate::Quiet).unwrap_err().to_string();
        assert!(text.contains("(vertices - 1) / 2"), "{text}");
    }
}
