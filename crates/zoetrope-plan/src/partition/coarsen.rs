//! Coarsening: vertices that share most become one.
//!
//! In random order, loosely connected ones first, every vertex that is still alone joins the cluster that it shares most with: nets
//! count their weight over one less than their pins, clusters have a largest weight. Vertices that found
//! all such clusters full join others that wanted the same one (they hang on one hub, as in graphs
//! with heavy tails), those without a net join each other.
//!
//! Of large graphs many vertices choose at once, by all threads, as if none of them had joined yet; then they join one
//! after the other, and who can no longer join what it chose chooses again. How many choose at once depends on the graph
//! alone, so that clusters do not depend on the number of threads.

use rayon::prelude::*;
use zoetrope_graph::random::Random;

use super::hypergraph::Hypergraph;

/// Nets with more pins say little about who belongs together, and cost their square.
const LARGE_NET: usize = 256;

/// The cluster of each vertex, and how many there are. Clusters are not heavier than `heaviest`
/// unless one vertex is, and stay inside of the given parts.
pub(super) fn cluster(
    graph: &Hypergraph,
    heaviest: i64,
    fewest: usize,
    parts: Option<&[u32]>,
    random: Random,
) -> (Vec<u32>, usize) {
    let count = graph.vertices();
    let mut clusters = Clusters {
        graph,
        parts,
        heaviest,
        of: (0..count as u32).collect(),
        weights: graph.vertex_weights.clone(),
        alone: vec![true; count],
        left: count,
    };
    let mut scratch = Scratch::of_threads(count);
    let mut wanted = Vec::new();
    // Vertices with little to lose first, as in METIS's sorted matching: later ones have more choice.
    let nets = |&vertex: &u32| graph.nets_of(vertex).iter().map(|&net| graph.net_weight(net));
    let mut visits = order(count, random);
    visits.sort_by_cached_key(|vertex| nets(vertex).sum::<i64>().max(1).ilog2());
    for together in visits.chunks(at_once(count)) {
        if clusters.left <= fewest {
            break;
        }
        let choices = clusters.choices(together, &mut scratch);
        for (&vertex, choice) in together.iter().zip(choices) {
            if clusters.left <= fewest {
                break;
            }
            let Some(choice) = choice.filter(|_| clusters.alone[vertex as usize]) else { continue };
            let choice = match clusters.now(vertex, choice) {
                Some(choice) => choice,
                None => clusters.choose(vertex, &mut scratch[0]),
            };
            match choice {
                Choice::Join(cluster) => clusters.join(vertex, cluster),
                Choice::Full(cluster) => wanted.push((cluster, vertex)),
            }
        }
    }
    clusters.pair_up(wanted, fewest);
    clusters.numbered()
}

/// Vertices of a graph of so many that are looked at by all threads at once: one of small graphs, in which each changes
/// much for the next.
pub(super) fn at_once(vertices: usize) -> usize {
    const PARALLEL_VERTICES_MIN: usize = 1 << 15;
    const PORTIONS: usize = 256;
    if vertices < PARALLEL_VERTICES_MIN { 1 } else { vertices / PORTIONS }
}

/// Vertices in random order.
pub(super) fn order(count: usize, random: Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for at in (1..count).rev() {
        order.swap(at, random.below(at as u64, at as u64 + 1) as usize);
    }
    order
}

struct Clusters<'h> {
    graph: &'h Hypergraph,
    parts: Option<&'h [u32]>,
    heaviest: i64,
    /// The vertex whose cluster each vertex is in.
    of: Vec<u32>,
    /// The weight of the cluster of each such vertex.
    weights: Vec<i64>,
    alone: Vec<bool>,
    left: usize,
}

/// What a vertex shares with each cluster, while it chooses.
struct Scratch {
    shared: Vec<f64>,
    touched: Vec<u32>,
}

impl Scratch {
    /// One for each thread that helps with a graph of so many vertices.
    fn of_threads(vertices: usize) -> Vec<Self> {
        let threads = if at_once(vertices) > 1 { rayon::current_num_threads() } else { 1 };
        let one = || Self { shared: vec![0.0; vertices], touched: Vec::new() };
        (0..threads).map(|_| one()).collect()
    }
}

#[derive(Debug, Clone, Copy)]
enum Choice {
    /// The best cluster with room.
    Join(u32),
    /// There is none; the best one that is full, or nobody.
    Full(u32),
}

impl Clusters<'_> {
    /// What each of some vertices chooses that is still alone.
    fn choices(&self, vertices: &[u32], scratch: &mut [Scratch]) -> Vec<Option<Choice>> {
        let one = |&vertex: &u32, scratch: &mut Scratch| {
            self.alone[vertex as usize].then(|| self.choose(vertex, scratch))
        };
        if let [vertex] = vertices {
            return vec![one(vertex, &mut scratch[0])];
        }
        let share = vertices.len().div_ceil(scratch.len());
        let parts = vertices.par_chunks(share).zip(scratch);
        let chosen = parts.map(|(vertices, scratch)| -> Vec<_> {
            vertices.iter().map(|vertex| one(vertex, scratch)).collect()
        });
        chosen.collect::<Vec<_>>().concat()
    }

    /// A choice as others that joined meanwhile have left it; None if it has to be made again.
    fn now(&self, vertex: u32, choice: Choice) -> Option<Choice> {
        let Choice::Join(cluster) = choice else { return Some(choice) };
        let cluster = self.of[cluster as usize];
        let weight = self.weights[cluster as usize] + self.weights[vertex as usize];
        (weight <= self.heaviest && cluster != vertex).then_some(Choice::Join(cluster))
    }

    fn choose(&self, vertex: u32, scratch: &mut Scratch) -> Choice {
        let Scratch { shared: sums, touched } = scratch;
        for &net in self.graph.nets_of(vertex) {
            let pins = self.graph.pins_of(net);
            if pins.len() > LARGE_NET {
                continue;
            }
            let share = self.graph.net_weight(net) as f64 / (pins.len() - 1) as f64;
            for &pin in pins.iter().filter(|&&pin| pin != vertex) {
                let cluster = self.of[pin as usize];
                if sums[cluster as usize] == 0.0 {
                    touched.push(cluster);
                }
                sums[cluster as usize] += share;
            }
        }
        let own = self.weights[vertex as usize];
        let (mut best, mut full) = ((0.0, u32::MAX), (0.0, u32::MAX));
        for cluster in touched.drain(..) {
            let shared = std::mem::take(&mut sums[cluster as usize]);
            let same = |parts: &[u32]| parts[cluster as usize] == parts[vertex as usize];
            if !self.parts.is_none_or(same) {
                continue;
            }
            let weight = self.weights[cluster as usize];
            let kind = if weight + own <= self.heaviest { &mut best } else { &mut full };
            if shared > kind.0 || (shared == kind.0 && cluster < kind.1) {
                *kind = (shared, cluster);
            }
        }
        match best.1 {
            u32::MAX => Choice::Full(full.1),
            cluster => Choice::Join(cluster),
        }
    }

    fn join(&mut self, vertex: u32, cluster: u32) {
        self.of[vertex as usize] = cluster;
        self.weights[cluster as usize] += self.weights[vertex as usize];
        self.alone[vertex as usize] = false;
        self.alone[cluster as usize] = false;
        self.left -= 1;
    }

    /// Joins vertices that are alone and wanted the same.
    fn pair_up(&mut self, mut wanted: Vec<(u32, u32)>, fewest: usize) {
        // Stable, so that those of one wish stay in their random order.
        let parts = self.parts;
        let part = |vertex: u32| parts.map_or(0, |parts| parts[vertex as usize]);
        wanted.sort_by_key(|&(cluster, vertex)| (cluster, part(vertex)));
        let mut open: Option<(u32, u32)> = None;
        for (cluster, vertex) in wanted {
            if self.left <= fewest {
                break;
            }
            if !self.alone[vertex as usize] {
                continue;
            }
            let own = self.weights[vertex as usize];
            match open {
                Some((wish, leader))
                    if wish == cluster
                        && part(leader) == part(vertex)
                        && self.weights[leader as usize] + own <= self.heaviest =>
                {
                    self.join(vertex, leader);
                }
                _ => open = Some((cluster, vertex)),
            }
        }
    }

    fn numbered(self) -> (Vec<u32>, usize) {
        let mut number = vec![u32::MAX; self.of.len()];
        let mut next = 0;
        let of = self.of.iter().map(|&leader| {
            let number = &mut number[leader as usize];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            *number
        });
        let of: Vec<u32> = of.collect();
        (of, next as usize)
    }
}
