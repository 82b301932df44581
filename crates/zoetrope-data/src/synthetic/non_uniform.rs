//! `non-uniform`: DGC's graphs, uneven in space (edges per snapshot) and in time (lifetimes).

use rayon::prelude::*;
use zoetrope_graph::random::Random;
use zoetrope_graph::{SnapshotSequence, VertexFeatures, VertexId};

use super::edges::{Columns, draw_distinct, scale};
use super::parameter::{Arguments, Generator, SEED, choice, integer, real};
use super::uniform::degree_features;
use crate::dataset::Dataset;
use crate::error::DataError;
use crate::progress::Progress;

const STREAM_COUNTS: u32 = 0x0601;
const STREAM_LIFETIMES: u32 = 0x0602;
const STREAM_BREAKS: u32 = 0x0603;
const STREAM_EDGES: u32 = 0x0604;

pub(super) const GENERATOR: Generator = Generator {
    name: "non-uniform",
    summary: "snapshots of uneven size and vertices of uneven lifetime, for partitioners",
    model: "The edges of snapshot t number normal(edges/steps, edge-deviation²), not below 0 and \
            shifted so that the total is exactly `edges`. A vertex lives normal(lifetime, \
            lifetime-deviation²) steps, rounded and kept within 1 and `steps`; when one dies \
            another is born, so that the population stays about even. Edges join two different living vertices, distinct and \
            all pairs alike. Features: 1 while alive, in-degree, out-degree.",
    source: "Chen et al., DGC: Training Dynamic Graphs with Spatio-Temporal Non-Uniformity using \
             Graph Partitioning by Chunks, 2023, section 7.3.1 and figure 13: 2 million edges \
             in 100 snapshots, 5 million vertex-steps (here 100,000 vertices of 50 steps)",
    parameters: &[
        integer("vertices", "100000", 2, 1 << 31, "vertices"),
        integer("steps", "100", 1, 1_000_000, "snapshots"),
        integer("edges", "2000000", 0, 1 << 40, "edges of all snapshots together"),
        real("edge-deviation", "5000", 0.0, 1e12, "deviation of the edges per snapshot (√δ)"),
        real("lifetime", "50", 1.0, 1e6, "mean number of steps that a vertex lives"),
        real("lifetime-deviation", "20", 0.0, 1e6, "deviation of the lifetimes"),
        choice("features", "lifetime", &["lifetime", "none"], "alive and degrees, or none"),
        SEED,
    ],
    example: "synthetic:non-uniform?vertices=100k&edges=2M&edge-deviation=10000",
    build,
    stream: None,
};

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    let vertices = arguments.integer("vertices") as u32;
    let (steps, edges) = (arguments.count("steps"), arguments.integer("edges"));
    let featured = arguments.choice("features") == "lifetime";
    // Degrees exist twice for a moment, before they are joined with presence.
    let dense = if featured { 20.0 } else { 0.0 } * steps as f64 * f64::from(vertices);
    let lists = 4.0 * f64::from(vertices) * arguments.real("lifetime").min(steps as f64);
    let bytes = 16.0 * edges as f64 + dense + lists + 8.0 * f64::from(vertices);
    arguments.require_memory(bytes, "vertices, steps or edges")?;
    let lives = lives(arguments, vertices, steps);
    let alive = alive_at(&lives, steps);
    let counts = edge_counts(arguments, steps);
    for (count, alive) in counts.iter().zip(&alive) {
        let pairs = alive.len() as f64 * (alive.len() as f64 - 1.0).max(0.0);
        if *count as f64 > pairs / 2.0 {
            let expected = "at most half of the pairs of living vertices in every snapshot; \
                            more vertices, longer lifetimes or a smaller edge-deviation help";
            return Err(arguments.reject("edges", expected));
        }
    }
    progress.begin("generating", Some(edges));
    let random = Random::new(arguments.seed(), STREAM_EDGES);
    let draw = |step: usize| {
        let alive = &alive[step];
        let keys = draw_distinct(counts[step], random.at_step(step as u32), &[], |block, _| {
            let pick = |word| alive[scale(word, alive.len() as u32) as usize];
            (pick(block[0]), pick(block[1]))
        });
        progress.advance(keys.len() as u64);
        keys
    };
    let snapshots: Vec<Vec<u64>> = (0..steps).into_par_iter().map(draw).collect();
    let mut columns = Columns::with_capacity(steps, edges as usize);
    for keys in snapshots {
        columns.push(&keys);
    }
    let sequence = columns.finish(vertices, arguments)?;
    let features = featured.then(|| lifetime_features(&sequence, &lives));
    Ok(super::snapshots(sequence, features, None))
}

/// The first step of each vertex and the step after its last.
///
/// A start drawn evenly among those that fit would leave the first and last steps almost empty.
/// Instead vertices succeed each other: rows as long as the timeline take vertices in order until
/// the next does not fit, and the steps that a row has left are a break before, between or after
/// its vertices.
fn lives(arguments: &Arguments, vertices: u32, steps: usize) -> Vec<(u32, u32)> {
    let (mean, deviation) = (arguments.real("lifetime"), arguments.real("lifetime-deviation"));
    let lifetimes = Random::new(arguments.seed(), STREAM_LIFETIMES);
    let length = |vertex: u32| {
        let wanted = (mean + deviation * lifetimes.normal(u64::from(vertex))).round();
        wanted.clamp(1.0, steps as f64) as u32
    };
    let lengths: Vec<u32> = (0..vertices).into_par_iter().map(length).collect();
    let breaks = Random::new(arguments.seed(), STREAM_BREAKS);
    let mut lives = Vec::with_capacity(lengths.len());
    while lives.len() < lengths.len() {
        let rest = &lengths[lives.len()..];
        let mut left = steps as u32;
        let row = rest.iter().take_while(|&&length| match left.checked_sub(length) {
            Some(less) => {
                left = less;
                true
            }
            None => false,
        });
        let row = row.count();
        let pause = breaks.below(lives.len() as u64, row as u64 + 1) as usize;
        let mut step = 0;
        for (place, &length) in rest[..row].iter().enumerate() {
            step += if place == pause { left } else { 0 };
            lives.push((step, step + length));
            step += length;
        }
    }
    lives
}

/// The living vertices of each step, ascending.
fn alive_at(lives: &[(u32, u32)], steps: usize) -> Vec<Vec<VertexId>> {
    let mut alive = vec![Vec::new(); steps];
    for (vertex, &(start, end)) in (0..).zip(lives) {
        for list in &mut alive[start as usize..end as usize] {
            list.push(vertex);
        }
    }
    alive
}

/// How many edges each snapshot has: normal, and exactly as many in all as asked.
fn edge_counts(arguments: &Arguments, steps: usize) -> Vec<usize> {
    let total = arguments.integer("edges") as i64;
    let (mean, deviation) = (total as f64 / steps as f64, arguments.real("edge-deviation"));
    let random = Random::new(arguments.seed(), STREAM_COUNTS);
    let draws: Vec<f64> = (0..steps as u64).map(|step| random.normal(step)).collect();
    let centre = draws.iter().sum::<f64>() / steps as f64;
    let count = |draw: &f64| (mean + deviation * (draw - centre)).round().max(0.0) as i64;
    let mut counts: Vec<i64> = draws.iter().map(count).collect();
    // Rounding and the floor at 0 leave a difference; it is spread evenly, again above 0.
    let mut difference = total - counts.iter().sum::<i64>();
    while difference != 0 {
        let share = difference / steps as i64;
        for count in &mut counts {
            let change = if share == 0 { difference.signum() } else { share };
            let change = change.max(-*count);
            *count += change;
            difference -= change;
            if difference == 0 {
                break;
            }
        }
    }
    counts.into_iter().map(|count| count as usize).collect()
}

fn lifetime_features(sequence: &SnapshotSequence, lives: &[(u32, u32)]) -> VertexFeatures {
    let degrees = degree_features(sequence);
    let mut values = vec![0.0; sequence.steps() * lives.len() * 3];
    values.par_chunks_mut(lives.len() * 3).enumerate().for_each(|(step, rows)| {
        let degrees = degrees.at(step).chunks(2);
        for ((row, degrees), &(start, end)) in rows.chunks_mut(3).zip(degrees).zip(lives) {
            row[0] = f32::from(u8::from((start..end).contains(&(step as u32))));
            row[1..].copy_from_slice(degrees);
        }
    });
    VertexFeatures::new(sequence.steps(), lives.len(), 3, values).expect("three per vertex")
}

#[cfg(test)]
mod tests {
    use crate::synthetic::tests::snapshots_of;

    const NAME: &str = "synthetic:non-uniform?vertices=2000&steps=80&edges=80000&edge-deviation=200\
                        &lifetime=30&lifetime-deviation=8";

    fn deviation(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (square / values.len() as f64).sqrt()
    }

    #[test]
    fn the_total_is_exact_and_the_spread_is_as_asked() {
        for wanted in [0.0, 200.0, 900.0] {
            let data = snapshots_of(
                &format!("{NAME}&features=none").replace("=200&", &format!("={wanted}&")),
            );
            assert_eq!(data.sequence.stored_edges(), 80_000);
            let counts: Vec<f64> = data.sequence.iter().map(|view| view.len() as f64).collect();
            // The standard error of a deviation from 80 numbers is 8 %; the floor at 0 cuts a
            // normal of deviation 900 around 1000 by a few per cent more.
            let found = deviation(&counts);
            assert!((found - wanted).abs() <= 0.3 * wanted + 0.5, "{wanted} {found}");
        }
    }

    #[test]
    fn edges_join_living_vertices_only() {
        let data = snapshots_of(NAME);
        let features = data.features.unwrap();
        for (step, view) in data.sequence.iter().enumerate() {
            let alive = |vertex: u32| features.at(step)[vertex as usize * 3] == 1.0;
            assert!(view.src.iter().chain(view.dst).all(|&vertex| alive(vertex)));
        }
    }

    #[test]
    fn lifetimes_have_the_asked_mean_and_spread_and_no_gaps() {
        let data = snapshots_of(NAME);
        let features = data.features.unwrap();
        let mut lifetimes = Vec::new();
        for vertex in 0..2000 {
            let alive: Vec<usize> =
                (0..80).filter(|&step| features.at(step)[vertex * 3] == 1.0).collect();
            assert_eq!(alive.len(), alive[alive.len() - 1] - alive[0] + 1);
            lifetimes.push(alive.len() as f64);
        }
        let mean = lifetimes.iter().sum::<f64>() / 2000.0;
        // Standard errors 0.18 and 0.13.
        assert!((mean - 30.0).abs() < 0.9 && (deviation(&lifetimes) - 8.0).abs() < 0.7);
    }

    #[test]
    fn more_edges_than_the_living_can_have_are_refused() {
        let name = "synthetic:non-uniform?vertices=20&steps=100&edges=100000&edge-deviation=0";
        let text = crate::synthetic::generate(name, &crate::Quiet).unwrap_err().to_string();
        assert!(text.contains("living"), "{text}");
    }
}
