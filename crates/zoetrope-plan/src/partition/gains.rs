//! What every vertex would gain in every part, kept up to date while vertices move.
//!
//! For vertex `v` and part `p`: `gain = leaves(v) − all(v) + reached(v, p)`, where `all` is the weight of
//! the vertex's nets, `leaves` of those that have no other pin in its part, `reached` of those that
//! have a pin in `p`. A move changes those only for pins of nets that enter or leave a part.

use rayon::prelude::*;

use super::pins::{Move, State};

/// A table of vertices × parts.
pub(super) struct Gains {
    parts: usize,
    reached: Vec<i64>,
    leaves: Vec<i64>,
    all: Vec<i64>,
    /// Vertices that gain more since they were last asked for; scratch of `told`.
    pub(super) risen: Vec<u32>,
    stamp: Vec<u32>,
    moves: u32,
}

impl Gains {
    /// Entries of the largest table that is made: half a gigabyte.
    const TABLE_ENTRIES_MAX: usize = 1 << 26;

    /// The table of a state; none if it would be too large.
    pub(super) fn new(state: &State<'_>) -> Option<Self> {
        let (count, parts) = (state.graph.vertices(), state.weights.len());
        if count * parts > Self::TABLE_ENTRIES_MAX {
            return None;
        }
        let mut gains = Self {
            parts,
            reached: vec![0; count * parts],
            leaves: vec![0; count],
            all: vec![0; count],
            risen: Vec::new(),
            stamp: vec![0; count],
            moves: 0,
        };
        let rows = gains.reached.par_chunks_mut(parts).zip(&mut gains.leaves).zip(&mut gains.all);
        rows.enumerate().for_each(|(vertex, ((row, leaves), all))| {
            let own = state.of[vertex];
            for &net in state.graph.nets_of(vertex as u32) {
                let weight = state.graph.net_weight(net);
                *all += weight;
                for &(part, pins) in state.reach(net) {
                    row[part as usize] += weight;
                    if part == own && pins == 1 {
                        *leaves += weight;
                    }
                }
            }
        });
        Some(gains)
    }

    /// The best move of a vertex, as [`State::best_move`] finds it.
    pub(super) fn best_move(&self, state: &State<'_>, vertex: u32, limits: &[i64]) -> Option<Move> {
        let at = vertex as usize;
        let own = state.of[at] as usize;
        let size = state.graph.vertex_weights[at];
        let row = &self.reached[at * self.parts..][..self.parts];
        let mut best: Option<(i64, i64, usize)> = None;
        for (part, &reached) in row.iter().enumerate() {
            if reached == 0 || part == own {
                continue;
            }
            let weight = state.weights[part];
            let better = best.is_none_or(|(known, light, _)| (reached, -weight) > (known, -light));
            if better && weight + size <= limits[part] {
                best = Some((reached, weight, part));
            }
        }
        best.map(|(reached, _, part)| Move {
            gain: self.leaves[at] - self.all[at] + reached,
            target: part as u32,
        })
    }

    /// What the cost falls by when a vertex goes to a part.
    pub(super) fn gain(&self, vertex: u32, part: u32) -> i64 {
        let at = vertex as usize;
        self.leaves[at] - self.all[at] + self.reached[at * self.parts + part as usize]
    }

    /// Moves a vertex; afterwards `risen` has those that gain more by it.
    pub(super) fn apply(&mut self, state: &mut State<'_>, vertex: u32, target: u32) {
        let graph = state.graph;
        let own = state.of[vertex as usize];
        self.moves += 1;
        self.risen.clear();
        let mut events = Vec::with_capacity(graph.nets_of(vertex).len());
        state.apply(vertex, target, |net, left, here| {
            if left <= 1 || here <= 2 {
                events.push((net, left, here));
            }
        });
        self.leaves[vertex as usize] = 0;
        for &net in graph.nets_of(vertex) {
            let alone = state.reach(net).iter().any(|&(part, pins)| part == target && pins == 1);
            self.leaves[vertex as usize] += if alone { graph.net_weight(net) } else { 0 };
        }
        for (net, left, here) in events {
            let weight = graph.net_weight(net);
            for &pin in graph.pins_of(net) {
                let at = pin as usize;
                let part = state.of[at];
                if left == 0 {
                    self.reached[at * self.parts + own as usize] -= weight;
                }
                if here == 1 {
                    self.reached[at * self.parts + target as usize] += weight;
                }
                if pin == vertex {
                    continue;
                }
                if here == 2 && part == target {
                    self.leaves[at] -= weight;
                }
                let last = left == 1 && part == own;
                if last {
                    self.leaves[at] += weight;
                }
                if (here == 1 || last) && self.stamp[at] != self.moves {
                    self.stamp[at] = self.moves;
                    self.risen.push(pin);
                }
            }
        }
    }
}
