//! `demo`: a small series on a moving graph that can be learned in seconds.

use std::f64::consts::TAU;

use zoetrope_graph::random::Random;
use zoetrope_graph::snapshot::edge_key;
use zoetrope_graph::{SnapshotSequence, VertexFeatures, VertexNames};

use super::edges::{Columns, Reach, any_pair, draw_distinct, replace, scale};
use super::parameter::{Arguments, Generator, SEED, integer, real};
use super::power::{PowerRanks, units};
use crate::dataset::{Dataset, Signal, SnapshotDataset};
use crate::error::DataError;
use crate::progress::Progress;

const STREAM_EDGES: u32 = 0x0401;
const STREAM_REMOVED: u32 = 0x0402;
const STREAM_NOISE: u32 = 0x0403;
const STREAM_SHOCKS: u32 = 0x0404;

const SPREAD: f64 = 0.95;
const FORCING: f64 = 0.3;
const SHOCK: f64 = 2.0;
const LAGS: usize = 8;

pub(super) const GENERATOR: Generator = Generator {
    name: "demo",
    summary: "a small diffusion with seasons and shocks on a moving graph, for first contact",
    model: "Vertices stand on a circle and are linked mostly to others nearby (in both \
            directions); a share of the links moves every step. The value of a vertex is \
            x(t+1) = 0.95·(Â·x(t)) + 0.3·sin(2π(t/period + place)) + shock + noise, where Â is the \
            graph with self-loops, normalised on both sides (the matrix of a graph convolution); \
            shocks of ±2 are rare and then spread along the links. To predict x(t+1) a model needs \
            the vertex, its neighbours and the season.",
    source: "this project; a linear diffusion, so that the best error is known: the variance of \
             shocks and noise, 4·shocks + noise²",
    parameters: &[
        integer("vertices", "100", 8, 1_000_000, "vertices"),
        integer("steps", "200", 2, 1_000_000, "snapshots"),
        integer("degree", "4", 1, 64, "links per vertex, on average"),
        real("change", "0.01", 0.0, 1.0, "share of the links that moves per step"),
        integer("period", "24", 2, 100_000, "steps of a season"),
        real("noise", "0.05", 0.0, 10.0, "standard deviation of the noise"),
        real("shocks", "0.0005", 0.0, 1.0, "probability of a shock per vertex and step"),
        SEED,
    ],
    example: "synthetic:demo?vertices=100&steps=200",
    build,
    stream: None,
};

fn build(arguments: &Arguments, progress: &dyn Progress) -> Result<Dataset, DataError> {
    let vertices = arguments.integer("vertices") as u32;
    let steps = arguments.count("steps");
    let links = (u64::from(vertices) * arguments.integer("degree") / 2) as usize;
    if links as f64 > f64::from(vertices) * f64::from(vertices - 1) / 8.0 {
        return Err(arguments.reject("degree", "at most (vertices - 1) / 4"));
    }
    let bytes = steps as f64 * (16.0 * links as f64 + 4.0 * f64::from(vertices));
    arguments.require_memory(bytes, "vertices, steps or degree")?;
    progress.begin("generating", Some((steps * links * 2) as u64));
    let sequence = topology(arguments, vertices, steps, links, progress)?;
    let values = diffuse(arguments, &sequence);
    let values = VertexFeatures::new(steps, vertices as usize, 1, values)
        .map_err(arguments.graph_error())?;
    let signal = Signal::new(values, LAGS.min(steps - 1));
    Ok(Dataset::Snapshots(SnapshotDataset {
        names: VertexNames::identity(vertices),
        sequence,
        features: None,
        targets: None,
        signal: Some(signal),
    }))
}

fn topology(
    arguments: &Arguments,
    vertices: u32,
    steps: usize,
    links: usize,
    progress: &dyn Progress,
) -> Result<SnapshotSequence, DataError> {
    let distances = PowerRanks::new(u64::from(vertices / 2), 2.0);
    // Drawn once per link, from the lower to the higher number; the backward pass is added below.
    let draw = |block: [u32; 4], reach| {
        let (from, to) = match reach {
            Reach::Anywhere => any_pair(block, vertices),
            Reach::Model => {
                let from = scale(block[2], vertices);
                let distance = distances.rank(units(block)[0]) as u32 + 1;
                (from, (from + distance) % vertices)
            }
        };
        (from.min(to), from.max(to))
    };
    let moved = (arguments.real("change") * links as f64).ceil() as usize;
    let random = |stream, step: usize| Random::new(arguments.seed(), stream).at_step(step as u32);
    let mut columns = Columns::with_capacity(steps, steps * links * 2);
    let mut current = Vec::new();
    for step in 0..steps {
        let streams = (random(STREAM_REMOVED, step), random(STREAM_EDGES, step));
        current = match step {
            0 => draw_distinct(links, streams.1, &[], draw),
            _ => replace(&current, moved, streams, draw),
        };
        let mut both: Vec<u64> = current
            .iter()
            .flat_map(|&key| [key, edge_key((key >> 32) as u32, key as u32)])
            .collect();
        both.sort_unstable();
        progress.advance(both.len() as u64);
        columns.push(&both);
    }
    columns.finish(vertices, arguments)
}

/// `steps × vertices` values of the recursion, from rest.
fn diffuse(arguments: &Arguments, sequence: &SnapshotSequence) -> Vec<f32> {
    let vertices = sequence.vertices() as usize;
    let (period, noise) = (arguments.integer("period") as f64, arguments.real("noise"));
    let (rate, seed) = (arguments.real("shocks"), arguments.seed());
    let mut values = vec![0.0f32; sequence.steps() * vertices];
    for step in 1..sequence.steps() {
        let (past, rest) = values.split_at_mut(step * vertices);
        let before = &past[(step - 1) * vertices..];
        let view = sequence.at(step - 1);
        // Links run both ways: the degree of a vertex counts those into it, and itself.
        let mut degrees = vec![1.0f64; vertices];
        view.dst.iter().for_each(|&dst| degrees[dst as usize] += 1.0);
        let share = |vertex: usize| f64::from(before[vertex]) / degrees[vertex].sqrt();
        let mut sums: Vec<f64> = (0..vertices).map(share).collect();
        for (&src, &dst) in view.src.iter().zip(view.dst) {
            sums[dst as usize] += share(src as usize);
        }
        let noises = Random::new(seed, STREAM_NOISE).at_step(step as u32);
        let shocks = Random::new(seed, STREAM_SHOCKS).at_step(step as u32);
        for (vertex, value) in rest[..vertices].iter_mut().enumerate() {
            let place = vertex as f64 / vertices as f64;
            let season = FORCING * (TAU * ((step - 1) as f64 / period + place)).sin();
            let lot = shocks.unit(vertex as u64);
            let shock = if lot >= rate {
                0.0
            } else if lot < rate / 2.0 {
                -SHOCK
            } else {
                SHOCK
            };
            let next = SPREAD * sums[vertex] / degrees[vertex].sqrt() + season + shock;
            *value = (next + noise * noises.normal(vertex as u64)) as f32;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::tests::snapshots_of;

    /// Mean squared error of the best linear prediction of `y` from the rows of `x`, by the
    /// normal equations.
    fn least_squares_error<const N: usize>(x: &[[f64; N]], y: &[f64]) -> f64 {
        let mut system = [[0.0; 16]; N];
        for (row, &wanted) in x.iter().zip(y) {
            for (line, &left) in row.iter().enumerate() {
                row.iter().enumerate().for_each(|(at, right)| system[line][at] += left * right);
                system[line][N] += left * wanted;
            }
        }
        for pivot in 0..N {
            for line in (0..N).filter(|&line| line != pivot) {
                let factor = system[line][pivot] / system[pivot][pivot];
                let above = system[pivot];
                for (value, above) in system[line].iter_mut().zip(above) {
                    *value -= factor * above;
                }
            }
        }
        let weights: Vec<f64> = (0..N).map(|at| system[at][N] / system[at][at]).collect();
        let errors = x.iter().zip(y).map(|(row, &wanted)| {
            let predicted: f64 = row.iter().zip(&weights).map(|(a, b)| a * b).sum();
            (predicted - wanted).powi(2)
        });
        errors.sum::<f64>() / y.len() as f64
    }

    #[test]
    fn neighbours_and_seasons_beat_the_last_value_by_far() {
        let data = snapshots_of("synthetic:demo");
        let values = data.signal.unwrap().values;
        let value = |step: usize, vertex: usize| f64::from(values.at(step)[vertex]);
        let (mut alone, mut full, mut next, mut kept) = (vec![], vec![], vec![], vec![]);
        for step in 10..199 {
            let view = data.sequence.at(step);
            let degree =
                |vertex: u32| 1.0 + view.dst.iter().filter(|&&at| at == vertex).count() as f64;
            let degrees: Vec<f64> = (0..100).map(degree).collect();
            for vertex in 0..100 {
                let edges = view.dst.iter().zip(view.src).filter(|(dst, _)| **dst == vertex as u32);
                let own = std::iter::once(vertex).chain(edges.map(|(_, &src)| src as usize));
                let spread: f64 = own
                    .map(|other| value(step, other) / (degrees[vertex] * degrees[other]).sqrt())
                    .sum();
                let angle = TAU * (step as f64 / 24.0 + vertex as f64 / 100.0);
                alone.push([value(step, vertex), value(step - 1, vertex), value(step - 2, vertex)]);
                full.push([spread, angle.sin()]);
                next.push(value(step + 1, vertex));
                kept.push((value(step + 1, vertex) - value(step, vertex)).powi(2));
            }
        }
        let persistence = kept.iter().sum::<f64>() / kept.len() as f64;
        let (alone, full) = (least_squares_error(&alone, &next), least_squares_error(&full, &next));
        let best = 4.0 * 0.0005 + 0.05 * 0.05;
        eprintln!("persistence {persistence:.4}, alone {alone:.4}, full {full:.4}, best {best:.4}");
        assert!(full < 1.3 * best, "the model's own terms reach the best error");
        assert!(alone > 1.5 * full, "a vertex's own past is not enough");
        assert!(persistence > 3.0 * full, "the last value is far from the best prediction");
    }

    #[test]
    fn links_run_both_ways_and_move() {
        let data = snapshots_of("synthetic:demo");
        assert_eq!((data.sequence.steps(), data.sequence.vertices()), (200, 100));
        let keys = |step| {
            let view = data.sequence.at(step);
            (0..view.len()).map(|edge| view.key(edge)).collect::<Vec<_>>()
        };
        let (first, last) = (keys(0), keys(199));
        assert_eq!(first.len(), 400);
        assert!(first.iter().all(|key| first.binary_search(&key.rotate_left(32)).is_ok()));
        assert_ne!(first, last);
    }
}
