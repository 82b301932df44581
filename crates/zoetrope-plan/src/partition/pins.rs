//! A partition while it is refined: the part of each vertex, and of each net the parts it reaches.
//!
//! For each net there is a short list of (part, pins there), as long as the parts it reaches: in all
//! no more than there are pins, whatever the number of parts.

use rayon::prelude::*;

use super::hypergraph::Hypergraph;

/// The state of a partition of one hypergraph.
pub(super) struct State<'h> {
    pub(super) graph: &'h Hypergraph,
    pub(super) of: Vec<u32>,
    pub(super) weights: Vec<i64>,
    /// Where the list of each net starts; it has room for as many parts as the net can reach.
    starts: Vec<u32>,
    lengths: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

/// For each part the weight of a vertex's nets that reach it, while its best move is looked for.
pub(super) struct Scratch {
    reached: Vec<i64>,
    touched: Vec<u32>,
}

impl Scratch {
    pub(super) fn new(parts: usize) -> Self {
        Self { reached: vec![0; parts], touched: Vec::with_capacity(parts) }
    }
}

/// Nets that one task counts the pins of.
const NETS_OF_A_TASK: usize = 1 << 14;

/// The best that a vertex can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) gain: i64,
    pub(super) target: u32,
}

impl<'h> State<'h> {
    pub(super) fn new(graph: &'h Hypergraph, of: Vec<u32>, parts: usize) -> Self {
        let mut starts = Vec::with_capacity(graph.nets() + 1);
        let mut room = 0;
        starts.push(0);
        for net in 0..graph.nets() as u32 {
            room += graph.pins_of(net).len().min(parts) as u32;
            starts.push(room);
        }
        let mut weights = vec![0; parts];
        for (&part, &weight) in of.iter().zip(&graph.vertex_weights) {
            weights[part as usize] += weight;
        }
        let (mut lengths, mut entries) = (vec![0; graph.nets()], vec![(0, 0); room as usize]);
        let mut tasks = Vec::with_capacity(graph.nets().div_ceil(NETS_OF_A_TASK));
        let (mut rest, mut first) = (&mut entries[..], 0);
        for lengths in lengths.chunks_mut(NETS_OF_A_TASK) {
            let room = starts[first + lengths.len()] - starts[first];
            let (own, others) = rest.split_at_mut(room as usize);
            tasks.push((first, lengths, own));
            first += NETS_OF_A_TASK;
            rest = others;
        }
        tasks.into_par_iter().for_each(|(first, lengths, entries)| {
            for (at, length) in lengths.iter_mut().enumerate() {
                let net = first + at;
                let list = &mut entries[(starts[net] - starts[first]) as usize..];
                for &pin in graph.pins_of(net as u32) {
                    add(list, length, of[pin as usize]);
                }
            }
        });
        Self { graph, of, weights, starts, lengths, entries }
    }

    /// The parts that a net reaches, with the pins in each.
    pub(super) fn reach(&self, net: u32) -> &[(u32, u32)] {
        let start = self.starts[net as usize] as usize;
        &self.entries[start..start + self.lengths[net as usize] as usize]
    }

    /// Pins of a net in a part.
    fn pins_in(&self, net: u32, part: u32) -> u32 {
        self.reach(net).iter().find(|entry| entry.0 == part).map_or(0, |entry| entry.1)
    }

    /// One pin more; how many there are now.
    fn add(&mut self, net: u32, part: u32) -> u32 {
        let start = self.starts[net as usize] as usize;
        add(&mut self.entries[start..], &mut self.lengths[net as usize], part)
    }

    /// One pin less; how many there are now.
    fn remove(&mut self, net: u32, part: u32) -> u32 {
        let start = self.starts[net as usize] as usize;
        let length = self.lengths[net as usize] as usize;
        let list = &mut self.entries[start..start + length];
        let at = list.iter().position(|entry| entry.0 == part).expect("a pin of that part");
        list[at].1 -= 1;
        let left = list[at].1;
        if left == 0 {
            list[at] = list[length - 1];
            self.lengths[net as usize] -= 1;
        }
        left
    }

    /// Whether a vertex has a net that reaches another part.
    pub(super) fn on_boundary(&self, vertex: u32) -> bool {
        self.graph.nets_of(vertex).iter().any(|&net| self.lengths[net as usize] > 1)
    }

    /// The best move of a vertex into a part that its nets reach and that has room for it. Of equal
    /// gains the one into the lightest part, then the first part.
    pub(super) fn best_move(
        &self,
        scratch: &mut Scratch,
        vertex: u32,
        limits: &[i64],
    ) -> Option<Move> {
        let Scratch { reached: sums, touched } = scratch;
        let own = self.of[vertex as usize];
        let (mut leaves, mut all) = (0, 0);
        for &net in self.graph.nets_of(vertex) {
            let weight = self.graph.net_weights[net as usize];
            all += weight;
            let start = self.starts[net as usize] as usize;
            let list = start..start + self.lengths[net as usize] as usize;
            for &(part, pins) in &self.entries[list] {
                if part == own {
                    leaves += if pins == 1 { weight } else { 0 };
                } else {
                    if sums[part as usize] == 0 {
                        touched.push(part);
                    }
                    sums[part as usize] += weight;
                }
            }
        }
        let size = self.graph.vertex_weights[vertex as usize];
        let mut best: Option<(i64, i64, u32)> = None;
        for part in touched.drain(..) {
            let at = part as usize;
            let reached = std::mem::take(&mut sums[at]);
            if self.weights[at] + size > limits[at] {
                continue;
            }
            let gain = leaves - (all - reached);
            let better = best.is_none_or(|(known, weight, first)| {
                (gain, -self.weights[at], first) > (known, -weight, part)
            });
            if better {
                best = Some((gain, self.weights[at], part));
            }
        }
        best.map(|(gain, _, target)| Move { gain, target })
    }

    /// What the cost falls by when a vertex goes to a part, reached or not.
    pub(super) fn gain(&self, vertex: u32, target: u32) -> i64 {
        let own = self.of[vertex as usize];
        let nets = self.graph.nets_of(vertex).iter();
        nets.map(|&net| {
            let leaves = i64::from(self.pins_in(net, own) == 1);
            let enters = i64::from(self.pins_in(net, target) == 0);
            self.graph.net_weight(net) * (leaves - enters)
        })
        .sum()
    }

    /// Moves a vertex; calls `changed` with each net, and the pins that it has now where the vertex
    /// was and where it is.
    pub(super) fn apply(
        &mut self,
        vertex: u32,
        target: u32,
        mut changed: impl FnMut(u32, u32, u32),
    ) {
        let own = std::mem::replace(&mut self.of[vertex as usize], target);
        let size = self.graph.vertex_weights[vertex as usize];
        self.weights[own as usize] -= size;
        self.weights[target as usize] += size;
        let graph = self.graph;
        for &net in graph.nets_of(vertex) {
            let (left, here) = (self.remove(net, own), self.add(net, target));
            changed(net, left, here);
        }
    }

    /// How far the heaviest part is above its limit; 0 or less if all keep to theirs.
    pub(super) fn excess(&self, limits: &[i64]) -> i64 {
        self.weights.iter().zip(limits).map(|(weight, limit)| weight - limit).max().unwrap_or(0)
    }
}

/// One pin more of a part in the list of a net; how many there are now.
fn add(list: &mut [(u32, u32)], length: &mut u32, part: u32) -> u32 {
    let used = *length as usize;
    if let Some(entry) = list[..used].iter_mut().find(|entry| entry.0 == part) {
        entry.1 += 1;
        return entry.1;
    }
    list[used] = (part, 1);
    *length += 1;
    1
}
