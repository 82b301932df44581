//! Down to a small hypergraph and up again.

use rayon::prelude::*;
use zoetrope_graph::random::Random;

use super::Partition;
use super::coarsen::cluster;
use super::hypergraph::Hypergraph;
use super::initial::recursive;
use super::pins::State;
use super::refine::refine;

/// What a partition is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The number of parts.
    pub parts: u32,
    /// How much heavier than the mean a part may be: 0.03 is 3 %.
    pub imbalance: f64,
    /// The key of all random draws.
    pub seed: u64,
}

impl Options {
    /// Parts that are at most 3 % heavier than the mean, as METIS has it.
    pub fn new(parts: u32) -> Self {
        Self { parts, imbalance: 0.03, seed: 0 }
    }
}

/// The stream of random numbers of partitioners.
const STREAM: u32 = 0x7061_7274;
/// Vertices of the coarsest hypergraph for each part.
const COARSEST_PER_PART: usize = 10;
/// Its vertices at least.
const COARSEST: usize = 100;
/// Passes of refinement on each level.
const PASSES: usize = 4;
/// First partitions that are taken up to the top at most, and a limit to the sum of their pins.
const MOST_TAKEN: usize = 4;
const PINS_OF_ALL_TAKEN: usize = 1 << 20;
/// First partitions that are made at most, and a limit to the sum of their pins.
const MOST_FIRSTS: usize = 16;
const PINS_OF_ALL_FIRSTS: usize = 4 << 20;
/// How often a finished partition is coarsened inside of its parts and refined once more.
const CYCLES: u32 = 1;
/// A level that keeps more of its vertices than this is not worth having.
const STALLED: f64 = 0.95;
/// Vertices that a level may merge to one, on average.
const SHRINK: f64 = 2.5;

/// A coarser hypergraph and how it was made.
pub(super) struct Level {
    pub(super) graph: Hypergraph,
    pub(super) cluster_of: Vec<u32>,
}

/// Parts `0..options.parts` of small cost ([`Hypergraph::cost`]), none heavier than allowed unless
/// single vertices are.
///
/// # Panics
/// If no part is asked for.
pub fn partition(graph: &Hypergraph, options: &Options) -> Partition {
    assert!(options.parts > 0, "at least one part");
    let parts = options.parts;
    if parts == 1 || graph.vertices() <= parts as usize {
        let of = (0..graph.vertices() as u32).map(|vertex| vertex % parts).collect();
        return Partition { parts, of };
    }
    let random = Random::new(options.seed, STREAM);
    let mean = graph.weight() as f64 / f64::from(parts);
    // A part of the mean, rounded up, must be possible.
    let limit = (mean * (1.0 + options.imbalance)).floor().max(mean.ceil()) as i64;
    let limits = vec![limit; parts as usize];
    let fewest = COARSEST.max(COARSEST_PER_PART * parts as usize);
    let levels = coarsened(graph, fewest, None, random);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let taken = (PINS_OF_ALL_TAKEN / graph.pins().max(1)).clamp(1, MOST_TAKEN);
    let mut firsts = firsts(coarsest, options, &limits);
    firsts.truncate(taken);
    let judged = firsts.into_par_iter().map(|of| {
        let of = refined(graph, &levels, of, &limits, random);
        ((excess(graph, &of, &limits), graph.cost(&of)), of)
    });
    // Of equal ones the first, which `min_by_key` of a list takes.
    let judged: Vec<_> = judged.collect();
    let (_, mut of) =
        judged.into_iter().min_by_key(|(order, _)| *order).expect("there are first partitions");
    for cycle in 0..CYCLES {
        let random = Random::new(options.seed, STREAM + 1 + cycle);
        let levels = coarsened(graph, fewest, Some(&of), random);
        let coarse = levels.iter().fold(of, |of, level| level.lifted(&of));
        of = refined(graph, &levels, coarse, &limits, random);
    }
    Partition { parts, of }
}

/// Many first partitions of the coarsest hypergraph, best first: they differ by half.
fn firsts(coarsest: &Hypergraph, options: &Options, limits: &[i64]) -> Vec<Vec<u32>> {
    let tries = (PINS_OF_ALL_FIRSTS / coarsest.pins().max(1)).clamp(2, MOST_FIRSTS);
    let made = (0..tries as u32).into_par_iter().map(|number| {
        let random = Random::new(options.seed, STREAM + (number << 16));
        let of = recursive(coarsest, options.parts, options.imbalance, random);
        let of = refined(coarsest, &[], of, limits, random);
        ((excess(coarsest, &of, limits), coarsest.cost(&of), number), of)
    });
    let mut made: Vec<_> = made.collect();
    made.sort_by_key(|(order, _)| *order);
    made.into_iter().map(|(_, of)| of).collect()
}

/// How far the heaviest part is above its limit.
fn excess(graph: &Hypergraph, of: &[u32], limits: &[i64]) -> i64 {
    let mut weights = vec![0; limits.len()];
    for (&part, &weight) in of.iter().zip(&graph.vertex_weights) {
        weights[part as usize] += weight;
    }
    let over = weights.iter().zip(limits).map(|(weight, limit)| weight - limit);
    over.max().unwrap_or(0).max(0)
}

/// Coarser and coarser hypergraphs, down to about `fewest` vertices; inside of the given parts, if any.
pub(super) fn coarsened(
    graph: &Hypergraph,
    fewest: usize,
    parts: Option<&[u32]>,
    random: Random,
) -> Vec<Level> {
    let heaviest = (1.5 * graph.weight() as f64 / fewest as f64).ceil() as i64;
    let mut levels: Vec<Level> = Vec::new();
    let mut parts = parts.map(<[u32]>::to_vec);
    loop {
        let finest = levels.last().map_or(graph, |level| &level.graph);
        let count = finest.vertices();
        let down_to = fewest.max((count as f64 / SHRINK) as usize);
        if count <= fewest {
            break;
        }
        let random = random.at_step(levels.len() as u32);
        let (cluster_of, clusters) = cluster(finest, heaviest, down_to, parts.as_deref(), random);
        if clusters as f64 > STALLED * count as f64 {
            break;
        }
        let graph = finest.contracted(&cluster_of, clusters);
        let level = Level { graph, cluster_of };
        parts = parts.map(|parts| level.lifted(&parts));
        levels.push(level);
    }
    levels
}

impl Level {
    /// A partition of the finer graph, whose clusters lie inside of parts, as one of the coarser.
    fn lifted(&self, of: &[u32]) -> Vec<u32> {
        let mut lifted = vec![0; self.graph.vertices()];
        for (&cluster, &part) in self.cluster_of.iter().zip(of) {
            lifted[cluster as usize] = part;
        }
        lifted
    }
}

/// A partition of the coarsest level, refined on every level up to the graph itself.
fn refined(
    graph: &Hypergraph,
    levels: &[Level],
    mut of: Vec<u32>,
    limits: &[i64],
    random: Random,
) -> Vec<u32> {
    for at in (0..=levels.len()).rev() {
        let here = if at == 0 { graph } else { &levels[at - 1].graph };
        let mut state = State::new(here, of, limits.len());
        refine(&mut state, limits, PASSES, random.at_step(at as u32));
        of = match at {
            0 => state.of,
            _ => levels[at - 1].projected(&state.of),
        };
    }
    of
}
