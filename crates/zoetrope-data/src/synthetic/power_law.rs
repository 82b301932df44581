//! `power-law`: a heavy-tailed graph that changes by an exact share from step to step.

use rayon::prelude::*;
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, Targets, VertexFeatures};

use super::edges::{Columns, Reach, any_pair, draw_distinct, replace};
use super::parameter::{Arguments, Generator, SEED, choice, integer, real};
use super::power::{PowerRanks, shuffled, units};
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

const STREAM_ORDER: u32 = 0x0201;
const STREAM_ADDED: u32 = 0x0202;
const STREAM_REMOVED: u32 = 0x0203;
const STREAM_FEATURES: u32 = 0x0204;
const STREAM_TARGETS: u32 = 0x0205;

pub(super) const GENERATOR: Generator = Generator {
    name: "power-law",
    summary: "heavy-tailed snapshots of which an exact share changes per step, for benchmarks",
    model: "Chung–Lu: both ends of an edge are drawn with probability proportional to \
            rank^(-1/(exponent-1)), so degrees follow P(k) ~ k^-exponent; ranks are shuffled over \
            the vertices. Each step removes round(change × edges) edges, chosen evenly, and draws \
            as many that were not there. Features are standard normal. Targets are standard \
            normal (random), or 0.8 × the mean of feature 0 over the in-neighbours + 0.2 × noise \
            (neighbours; just noise if there are none).",
    source: "Chung and Lu, Connected components in random graphs with given expected degree \
             sequences, 2002; sizes of the D4 (default) and D5 (example) workloads",
    parameters: &[
        integer("vertices", "20000", 2, 1 << 31, "vertices"),
        integer("steps", "32", 1, 1_000_000, "snapshots"),
        integer("edges", "100000", 0, u32::MAX as u64, "edges of every snapshot"),
        real("exponent", "2.5", 2.001, 20.0, "exponent of the degree distribution"),
        real("change", "0.1", 0.0, 1.0, "share of the edges that is replaced per step"),
        integer("features", "16", 0, 4096, "features per vertex and step"),
        choice("targets", "random", &["random", "neighbours", "none"], "what is to be predicted"),
        SEED,
    ],
    example: "synthetic:power-law?vertices=200k&steps=16&edges=1M&features=2&change=0.1",
    build,
    stream: None,
};

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    let vertices = arguments.integer("vertices") as u32;
    let (steps, edges) = (arguments.count("steps"), arguments.count("edges"));
    let width = arguments.count("features");
    // A quarter of all pairs: then at least half of the pairs are free whatever the change rate.
    if edges as f64 > f64::from(vertices) * f64::from(vertices - 1) / 4.0 {
        return Err(arguments.reject("edges", "at most vertices × (vertices - 1) / 4"));
    }
    if arguments.choice("targets") == "neighbours" && width == 0 {
        return Err(arguments.reject("targets", "random or none if there are no features"));
    }
    let dense = f64::from(vertices) * (width + 1) as f64 * 4.0;
    let bytes = steps as f64 * (8.0 * edges as f64 + dense) + 64.0 * edges as f64;
    arguments.require_memory(bytes, "vertices, steps, edges or features")?;
    progress.begin("generating", Some((steps * edges) as u64));
    let sequence = topology(arguments, vertices, steps, edges, progress)?;
    let features = (width > 0).then(|| {
        let random = Random::new(arguments.seed(), STREAM_FEATURES);
        let values = normals(random, steps, vertices as usize * width);
        VertexFeatures::new(steps, vertices as usize, width, values).expect("sized by its shape")
    });
    let targets = targets(arguments, &sequence, features.as_ref());
    Ok(super::snapshots(sequence, features, targets))
}

fn topology(
    arguments: &Arguments,
    vertices: u32,
    steps: usize,
    edges: usize,
    progress: &dyn Progress,
) -> Result<SnapshotSequence, DataError> {
    let seed = arguments.seed();
    let order = shuffled(vertices, Random::new(seed, STREAM_ORDER));
    let ranks = PowerRanks::for_degree_exponent(u64::from(vertices), arguments.real("exponent"));
    let draw = |block, reach| match reach {
        Reach::Anywhere => any_pair(block, vertices),
        Reach::Model => {
            let [src, dst] = units(block).map(|unit| order[ranks.rank(unit) as usize]);
            (src, dst)
        }
    };
    let changed = (arguments.real("change") * edges as f64).round() as usize;
    let (added, removed) = (Random::new(seed, STREAM_ADDED), Random::new(seed, STREAM_REMOVED));
    let mut columns = Columns::with_capacity(steps, steps * edges);
    let mut current = Vec::new();
    for step in 0..steps {
        let (removed, added) = (removed.at_step(step as u32), added.at_step(step as u32));
        current = match step {
            0 => draw_distinct(edges, added, &[], draw),
            _ => replace(&current, changed, (removed, added), draw),
        };
        columns.push(&current);
        progress.advance(edges as u64);
    }
    columns.finish(vertices, arguments)
}

/// Standard normal numbers, `steps` rows of `width`.
pub(super) fn normals(random: Random, steps: usize, width: usize) -> Vec<f32> {
    let mut values = vec![0.0; steps * width];
    values.par_chunks_mut(width.max(1)).enumerate().for_each(|(step, row)| {
        let random = random.at_step(step as u32);
        row.par_iter_mut().with_min_len(1024).enumerate().for_each(|(index, value)| {
            *value = random.normal(index as u64) as f32;
        });
    });
    values
}

fn targets(
    arguments: &Arguments,
    sequence: &SnapshotSequence,
    features: Option<&VertexFeatures>,
) -> Option<Targets> {
    let (steps, vertices) = (sequence.steps(), sequence.vertices() as usize);
    let noise = || normals(Random::new(arguments.seed(), STREAM_TARGETS), steps, vertices);
    let values = match (arguments.choice("targets"), features) {
        ("random", _) => noise(),
        ("neighbours", Some(features)) => {
            let mut values = noise();
            values.par_chunks_mut(vertices).enumerate().for_each(|(step, row)| {
                blend_neighbours(row, sequence, features, step);
            });
            values
        }
        _ => return None,
    };
    Some(Targets::new(steps, vertices, None, values).expect("sized by its shape"))
}

/// `0.8 × mean of feature 0 over the in-neighbours + 0.2 × noise`, in place of the noise.
fn blend_neighbours(
    row: &mut [f32],
    sequence: &SnapshotSequence,
    features: &VertexFeatures,
    step: usize,
) {
    let (view, features, width) = (sequence.at(step), features.at(step), features.width());
    let mut edge = 0;
    while edge < view.len() {
        let dst = view.dst[edge];
        let end = edge + view.dst[edge..].iter().take_while(|&&other| other == dst).count();
        let sum: f64 =
            view.src[edge..end].iter().map(|&src| f64::from(features[src as usize * width])).sum();
        let mean = sum / (end - edge) as f64;
        let value = &mut row[dst as usize];
        *value = (0.8 * mean) as f32 + 0.2 * *value;
        edge = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::tests::snapshots_of;

    const SMALL: &str = "synthetic:power-law?vertices=2000&steps=5&edges=8000&features=3";

    fn keys(sequence: &SnapshotSequence, step: usize) -> Vec<u64> {
        let view = sequence.at(step);
        (0..view.len()).map(|edge| view.key(edge)).collect()
    }

    #[test]
    fn exactly_the_change_rate_is_replaced_at_every_step() {
        for (change, expected) in [(0.1, 800), (0.0, 0), (1.0, 8000), (0.33333, 2667)] {
            let data = snapshots_of(&format!("{SMALL}&change={change}"));
            for step in 1..5 {
                let (before, after) = (keys(&data.sequence, step - 1), keys(&data.sequence, step));
                assert_eq!(after.len(), 8000);
                let fresh = after.iter().filter(|key| before.binary_search(key).is_err());
                assert_eq!(fresh.count(), expected);
            }
        }
    }

    #[test]
    fn the_degrees_have_the_asked_tail() {
        let name =
            "synthetic:power-law?vertices=50000&steps=1&edges=400000&features=0&exponent=2.5";
        let data = snapshots_of(name);
        let mut degrees = vec![0u32; 50_000];
        for &dst in data.sequence.dst() {
            degrees[dst as usize] += 1;
        }
        // Hill's estimator over the 500 largest: its standard error is (exponent - 1)/√500 = 0.07;
        // rejected repeats between hubs flatten the very top, so the tolerance is wider than that.
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        let least = f64::from(degrees[500]);
        let mean: f64 =
            degrees[..500].iter().map(|&degree| (f64::from(degree) / least).ln()).sum::<f64>()
                / 500.0;
        let exponent = 1.0 + 1.0 / mean;
        assert!((2.2..2.8).contains(&exponent), "{exponent}");
    }

    #[test]
    fn random_targets_and_features_are_standard_normal() {
        let data = snapshots_of(SMALL);
        for values in [data.features.unwrap().values(), data.targets.unwrap().values()] {
            let count = values.len() as f64;
            let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
            let square = values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>() / count;
            // 10,000 values at least: standard errors 0.01 and 0.014.
            assert!(mean.abs() < 0.05 && (square - 1.0).abs() < 0.07, "{mean} {square}");
        }
    }

    #[test]
    fn neighbour_targets_can_be_learned_from_the_neighbours() {
        let data = snapshots_of(&format!("{SMALL}&targets=neighbours"));
        let (features, targets) = (data.features.unwrap(), data.targets.unwrap());
        let view = data.sequence.at(2);
        let (mut sums, mut counts) = (vec![0.0; 2000], vec![0.0; 2000]);
        for (&src, &dst) in view.src.iter().zip(view.dst) {
            sums[dst as usize] += features.at(2)[src as usize * 3];
            counts[dst as usize] += 1.0;
        }
        let row = &targets.values()[2 * 2000..3 * 2000];
        for vertex in (0..2000).filter(|&vertex| counts[vertex] > 0.0) {
            let rest = row[vertex] - 0.8 * sums[vertex] / counts[vertex];
            assert!(rest.abs() < 0.2 * 6.0, "what is left is noise of deviation 0.2");
        }
    }

    #[test]
    fn too_dense_graphs_are_refused() {
        let name = "synthetic:power-law?vertices=100&edges=5000";
        let text = crate::synthetic::generate(name, &crate::Quiet).unwrap_err().to_string();
        assert!(text.contains("edges = 5000"), "{text}");
    }
}
