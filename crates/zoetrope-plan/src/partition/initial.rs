//! The first partition, of the coarsest hypergraph: cut in two, and both sides again.

use rayon::prelude::*;
use zoetrope_graph::random::Random;

use super::growing::grow;
use super::hypergraph::Hypergraph;
use super::multilevel::{Level, coarsened};
use super::pins::State;
use super::refine::refine;

/// Vertices down to which a bisection coarsens once more.
const COARSEST: usize = 100;
/// Bisections that are grown, of which the best stays.
const TRIES: u32 = 8;
/// Passes of refinement on each level of a bisection.
const PASSES: usize = 6;

/// Parts `0..parts`, none heavier than `1 + imbalance` times its share of the whole.
pub(super) fn recursive(
    graph: &Hypergraph,
    parts: u32,
    imbalance: f64,
    random: Random,
) -> Vec<u32> {
    let mut of = vec![0; graph.vertices()];
    // What may go wrong at each of the cuts that follow each other is the root of what may in all.
    let depth = f64::from(parts.next_power_of_two().trailing_zeros().max(1));
    let slack = (1.0 + imbalance).powf(1.0 / depth);
    let all: Vec<u32> = (0..graph.vertices() as u32).collect();
    cut(graph, &all, 0..parts, slack, random, &mut of);
    of
}

fn cut(
    graph: &Hypergraph,
    names: &[u32],
    parts: std::ops::Range<u32>,
    slack: f64,
    random: Random,
    of: &mut [u32],
) {
    if parts.len() == 1 {
        return names.iter().for_each(|&name| of[name as usize] = parts.start);
    }
    let middle = parts.start + parts.len().div_ceil(2) as u32;
    let share = f64::from(middle - parts.start) / parts.len() as f64;
    // A number of its own for each cut: its middle.
    let sides = bisect(graph, share, slack, random.at_step(random_step(middle)));
    for (side, parts) in [(0, parts.start..middle), (1, middle..parts.end)] {
        let (half, inside) = graph.side(&sides, side);
        let inside: Vec<u32> = inside.iter().map(|&vertex| names[vertex as usize]).collect();
        cut(&half, &inside, parts, slack, random, of);
    }
}

/// Steps of the random numbers of one cut: levels and tries count from there.
fn random_step(cut: u32) -> u32 {
    cut << 8
}

/// Sides 0 and 1, side 0 with `share` of the weight.
fn bisect(graph: &Hypergraph, share: f64, slack: f64, random: Random) -> Vec<u32> {
    let total = graph.weight();
    let target = (total as f64 * share).round() as i64;
    let limit = |target: i64| (target as f64 * slack).floor().max(target as f64) as i64;
    let limits = [limit(target), limit(total - target)];
    let levels = coarsened(graph, COARSEST, None, random);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let tries = (0..TRIES).into_par_iter().map(|number| {
        let random = random.at_step(number << 24 | 1);
        let mut state = State::new(coarsest, grow(coarsest, target, random), 2);
        refine(&mut state, &limits, PASSES, random);
        let cost = coarsest.cost(&state.of);
        ((state.excess(&limits).max(0), cost, number), state.of)
    });
    let (_, mut of) = tries.min_by_key(|(order, _)| *order).expect("there are tries");
    for at in (0..levels.len()).rev() {
        of = levels[at].projected(&of);
        let finer = if at == 0 { graph } else { &levels[at - 1].graph };
        let mut state = State::new(finer, of, 2);
        refine(&mut state, &limits, PASSES, random);
        of = state.of;
    }
    of
}

impl Level {
    /// A partition of the coarser graph as one of the finer.
    pub(super) fn projected(&self, of: &[u32]) -> Vec<u32> {
        self.cluster_of.iter().map(|&cluster| of[cluster as usize]).collect()
    }
}
