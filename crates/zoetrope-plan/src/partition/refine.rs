//! Refinement of a partition that stands.
//!
//! First sweeps: each vertex of the boundary, in random order, goes where it gains most. Then passes of
//! Fiduccia and Mattheyses ("A linear-time heuristic for improving network partitions", DAC 1982), with
//! gains in connectivity to all parts at once: vertices change parts one by one, best gain first, also
//! uphill, and the best state seen is kept.

use std::collections::BinaryHeap;

use rayon::prelude::*;
use zoetrope_graph::random::Random;

use super::coarsen::{at_once, order};
use super::gains::Gains;
use super::pins::{Scratch, State};

/// Sweeps at most.
const SWEEPS: u32 = 4;
/// Moves without a new best state after which a pass ends.
const FRUITLESS: usize = 350;

/// Sweeps and passes until one brings nothing more; at most `passes` of the latter.
pub(super) fn refine(state: &mut State<'_>, limits: &[i64], passes: usize, random: Random) {
    rebalance(state, limits, random);
    sweep(state, limits, random);
    let Some(gains) = Gains::new(state) else { return };
    let mut pass = Pass::new(gains, state.graph.vertices());
    for _ in 0..passes {
        if !pass.run(state, limits, random) {
            break;
        }
    }
}

/// Moves that cost nothing or less, in random order, until few are left.
fn sweep(state: &mut State<'_>, limits: &[i64], random: Random) {
    let order = order(state.graph.vertices(), random);
    let together = at_once(order.len());
    let mut scratch = Scratch::new(limits.len());
    for _ in 0..SWEEPS {
        let mut moved = 0;
        for vertices in order.chunks(together) {
            // Most stay where they are, which all threads find out at once; who may move looks again, after those that
            // moved before.
            let may_move: Vec<u32> = if together == 1 {
                vertices.to_vec()
            } else {
                let scratch = || Scratch::new(limits.len());
                let found = vertices.par_iter().map_init(scratch, |scratch, &vertex| {
                    worth_it(state, scratch, vertex, limits).map(|_| vertex)
                });
                found.flatten_iter().collect()
            };
            for vertex in may_move {
                if let Some(target) = worth_it(state, &mut scratch, vertex, limits) {
                    state.apply(vertex, target, |_, _, _| ());
                    moved += 1;
                }
            }
        }
        if moved * 100 < order.len() {
            break;
        }
    }
}

/// Where a vertex of the boundary should go, if it costs nothing or less.
fn worth_it(state: &State<'_>, scratch: &mut Scratch, vertex: u32, limits: &[i64]) -> Option<u32> {
    if !state.on_boundary(vertex) {
        return None;
    }
    let found = state.best_move(scratch, vertex, limits)?;
    let at = |part: u32| state.weights[part as usize];
    let size = state.graph.vertex_weights[vertex as usize];
    let evens = at(found.target) + size < at(state.of[vertex as usize]);
    (found.gain > 0 || (found.gain == 0 && evens)).then_some(found.target)
}

/// Puts parts that are too heavy right, losing as little as can be.
fn rebalance(state: &mut State<'_>, limits: &[i64], random: Random) {
    // Each round moves what fits; rounds end because one without a move ends them.
    let mut scratch = Scratch::new(limits.len());
    while state.excess(limits) > 0 {
        let heavy =
            |state: &State<'_>, part: u32| state.weights[part as usize] > limits[part as usize];
        let mut moves = Vec::new();
        for vertex in 0..state.graph.vertices() as u32 {
            if heavy(state, state.of[vertex as usize]) {
                let (gain, _) = way_out(state, &mut scratch, vertex, limits);
                let size = state.graph.vertex_weights[vertex as usize].max(1);
                moves.push((gain as f64 / size as f64, random.u64(u64::from(vertex)), vertex));
            }
        }
        moves.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let mut moved = false;
        for (_, _, vertex) in moves {
            if heavy(state, state.of[vertex as usize]) {
                let (_, target) = way_out(state, &mut scratch, vertex, limits);
                let size = state.graph.vertex_weights[vertex as usize];
                let at = target as usize;
                let fits = state.weights[at] + size <= limits[at];
                let own = state.of[vertex as usize] as usize;
                if fits || state.weights[at] + size - limits[at] < state.weights[own] - limits[own]
                {
                    state.apply(vertex, target, |_, _, _| ());
                    moved |= fits;
                }
            }
        }
        if !moved {
            break;
        }
    }
}

/// The part to which a vertex of a part that is too heavy can go: into a part that it reaches, else into the
/// one with most room.
fn way_out(state: &State<'_>, scratch: &mut Scratch, vertex: u32, limits: &[i64]) -> (i64, u32) {
    if let Some(found) = state.best_move(scratch, vertex, limits) {
        return (found.gain, found.target);
    }
    let room = |part: &usize| limits[*part] - state.weights[*part];
    let most = (0..limits.len()).rev().max_by_key(room).expect("there is a part") as u32;
    (state.gain(vertex, most), most)
}

/// The memory of passes.
struct Pass {
    gains: Gains,
    /// (gain, tie-break, vertex), of which only the newest of a vertex counts.
    queue: BinaryHeap<(i64, u32, u32)>,
    newest: Vec<i64>,
    done: Vec<bool>,
    journal: Vec<(u32, u32)>,
}

/// Not in the queue.
const ABSENT: i64 = i64::MIN;

impl Pass {
    fn new(gains: Gains, vertices: usize) -> Self {
        Self {
            gains,
            queue: BinaryHeap::new(),
            newest: vec![ABSENT; vertices],
            done: vec![false; vertices],
            journal: Vec::new(),
        }
    }

    /// One pass over the boundary; whether the cost is smaller.
    fn run(&mut self, state: &mut State<'_>, limits: &[i64], random: Random) -> bool {
        self.done.fill(false);
        self.newest.fill(ABSENT);
        for vertex in 0..state.graph.vertices() as u32 {
            if state.on_boundary(vertex) {
                self.ask(state, limits, random, vertex);
            }
        }
        self.search(state, limits, random) > 0
    }

    /// Moves what is queued, best first, and goes back to the best state seen; what that gained.
    fn search(&mut self, state: &mut State<'_>, limits: &[i64], random: Random) -> i64 {
        let (mut gained, mut best, mut kept) = (0, 0, 0);
        while let Some((gain, tie, vertex)) = self.queue.pop() {
            let at = vertex as usize;
            if self.done[at] || self.newest[at] != gain {
                continue;
            }
            let Some(found) = self.gains.best_move(state, vertex, limits) else {
                self.newest[at] = ABSENT;
                continue;
            };
            if found.gain < gain {
                self.newest[at] = found.gain;
                self.queue.push((found.gain, tie, vertex));
                continue;
            }
            self.done[at] = true;
            self.journal.push((vertex, state.of[at]));
            self.gains.apply(state, vertex, found.target);
            gained += found.gain;
            if gained > best {
                (best, kept) = (gained, self.journal.len());
            } else if self.journal.len() - kept > FRUITLESS {
                break;
            }
            let mut risen = std::mem::take(&mut self.gains.risen);
            for vertex in risen.drain(..) {
                if !self.done[vertex as usize] {
                    self.ask(state, limits, random, vertex);
                }
            }
            self.gains.risen = risen;
        }
        self.queue.clear();
        for (vertex, part) in self.journal.drain(kept..).rev() {
            self.gains.apply(state, vertex, part);
        }
        self.journal.clear();
        best
    }

    /// Puts what a vertex can gain into the queue.
    fn ask(&mut self, state: &State<'_>, limits: &[i64], random: Random, vertex: u32) {
        let at = vertex as usize;
        match self.gains.best_move(state, vertex, limits) {
            Some(found) if found.gain != self.newest[at] => {
                self.newest[at] = found.gain;
                let tie = random.u64(u64::from(vertex)) as u32;
                self.queue.push((found.gain, tie, vertex));
            }
            Some(_) => (),
            None => self.newest[at] = ABSENT,
        }
    }
}
