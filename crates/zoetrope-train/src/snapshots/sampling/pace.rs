//! How long drawing takes, for whoever measures a machine.

use std::time::Instant;

use zoetrope_graph::random::Random;
use zoetrope_graph::{GraphError, SnapshotSequence};

use super::draw_key::DrawKey;
use super::link_sampler::{LinkSampler, LinkSampling};
use super::pairs::Pairs;

const VERTICES: u32 = 4096;
const EDGES: usize = 32_768;
const SNAPSHOTS: usize = 4;
const ROUNDS: u32 = 5;

/// Seconds of a pair that training draws from a snapshot of 32,768 edges, with the usual settings: the shortest of
/// some rounds.
///
/// # Errors
/// If the snapshots cannot be made.
pub fn seconds_of_a_pair() -> Result<f64, GraphError> {
    let random = Random::new(1, 0x7061_6365);
    let end = |at: usize| random.below(at as u64, u64::from(VERTICES)) as u32;
    let (mut dst, mut src) = (Vec::new(), Vec::new());
    for step in 0..SNAPSHOTS {
        let edge = |at: usize| (end(2 * (step * EDGES + at)), end(2 * (step * EDGES + at) + 1));
        let mut edges: Vec<(u32, u32)> = (0..EDGES).map(edge).collect();
        edges.sort_unstable();
        dst.extend(edges.iter().map(|edge| edge.0));
        src.extend(edges.iter().map(|edge| edge.1));
    }
    let offsets = (0..=SNAPSHOTS).map(|step| (step * EDGES) as u64).collect();
    let graph = SnapshotSequence::new(VERTICES, offsets, src, dst, None)?;
    let mut sampler = LinkSampler::new(LinkSampling::default());
    let (mut pairs, mut best) = (Pairs::default(), f64::INFINITY);
    for epoch in 0..ROUNDS {
        for step in 0..SNAPSHOTS {
            let began = Instant::now();
            sampler.fill(graph.at(step), DrawKey::training(epoch, step as u32), &mut pairs);
            best = best.min(began.elapsed().as_secs_f64() / pairs.len().max(1) as f64);
        }
    }
    Ok(best)
}
