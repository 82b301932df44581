//! Vertices that appear and disappear: when each is there, and how many there are at a time.
//!
//! A vertex is *active* in a snapshot if an edge starts or ends at it. Two lengths of its time
//! sequence are kept apart (DGC §2.2.1 speaks of vertices that exist for a long or a short time):
//! its *active steps*, the snapshots in which it is active, and its *span* from the first to the
//! last of them, gaps included. A vertex that is never active has neither.

use rayon::prelude::*;

use crate::ids::VertexId;
use crate::snapshot::{SnapshotSequence, SnapshotView};

/// When each vertex of a sequence is active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    steps: usize,
    active: Vec<u32>,
    vertices: Vec<VertexPresence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VertexPresence {
    first: u32,
    last: u32,
    steps: u32,
}

const NEVER: VertexPresence = VertexPresence { first: u32::MAX, last: 0, steps: 0 };

impl Presence {
    /// Finds when vertices are active; parallel over runs of consecutive snapshots.
    ///
    /// # Panics
    /// If there are more than 2^32 − 1 snapshots.
    pub fn of(sequence: &SnapshotSequence) -> Self {
        let (steps, vertices) = (sequence.steps(), sequence.vertices() as usize);
        assert!(u32::try_from(steps).is_ok(), "{steps} snapshots");
        if sequence.is_constant() && steps > 0 {
            return Self::constant(steps, sequence.at(0));
        }
        let run = run_length(sequence);
        let starts: Vec<usize> = (0..steps).step_by(run).collect();
        let runs: Vec<(Vec<u32>, Vec<VertexPresence>)> = starts
            .into_par_iter()
            .map(|start| presence_in_run(sequence, start..(start + run).min(steps)))
            .collect();
        let mut all = vec![NEVER; vertices];
        let mut active = Vec::with_capacity(steps);
        for (counts, presences) in runs {
            active.extend(counts);
            for (vertex, run) in all.iter_mut().zip(presences) {
                vertex.first = vertex.first.min(run.first);
                vertex.last = vertex.last.max(run.last);
                vertex.steps += run.steps;
            }
        }
        Self { steps, active, vertices: all }
    }

    fn constant(steps: usize, view: SnapshotView<'_>) -> Self {
        let mut vertices = vec![NEVER; view.vertices as usize];
        let active = active_vertices(view);
        for &vertex in &active {
            let last = steps as u32 - 1;
            vertices[vertex as usize] = VertexPresence { first: 0, last, steps: steps as u32 };
        }
        Self { steps, active: vec![active.len() as u32; steps], vertices }
    }

    /// The number of active vertices in each snapshot.
    pub fn active_per_step(&self) -> &[u32] {
        &self.active
    }

    /// The first and last step in which a vertex is active; `None` if it never is.
    ///
    /// # Panics
    /// If `vertex` is not a vertex of the sequence.
    pub fn first_and_last(&self, vertex: VertexId) -> Option<(usize, usize)> {
        let presence = self.vertices[vertex as usize];
        (presence.steps > 0).then_some((presence.first as usize, presence.last as usize))
    }

    /// The number of snapshots in which a vertex is active.
    ///
    /// # Panics
    /// If `vertex` is not a vertex of the sequence.
    pub fn active_steps(&self, vertex: VertexId) -> usize {
        self.vertices[vertex as usize].steps as usize
    }

    /// The number of snapshots from the first to the last in which a vertex is active; 0 if it
    /// never is.
    ///
    /// # Panics
    /// If `vertex` is not a vertex of the sequence.
    pub fn span(&self, vertex: VertexId) -> usize {
        self.first_and_last(vertex).map_or(0, |(first, last)| last - first + 1)
    }

    /// How many vertices are active for the first time in each snapshot.
    pub fn appearing_per_step(&self) -> Vec<u32> {
        self.count_by(self.steps, |presence| presence.first)
    }

    /// How many vertices are active for the last time in each snapshot.
    pub fn leaving_per_step(&self) -> Vec<u32> {
        self.count_by(self.steps, |presence| presence.last)
    }

    /// How many vertices have `n` active steps, by `n` from 0 to the number of snapshots.
    pub fn vertices_by_active_steps(&self) -> Vec<u32> {
        let mut counts = self.count_by(self.steps + 1, |presence| presence.steps);
        counts[0] = self.never_active();
        counts
    }

    /// How many vertices have a span of `n`, by `n` from 0 to the number of snapshots.
    pub fn vertices_by_span(&self) -> Vec<u32> {
        let mut counts =
            self.count_by(self.steps + 1, |presence| presence.last - presence.first + 1);
        counts[0] = self.never_active();
        counts
    }

    /// How many vertices are active in no snapshot.
    pub fn never_active(&self) -> u32 {
        self.vertices.iter().filter(|presence| presence.steps == 0).count() as u32
    }

    fn count_by(&self, slots: usize, slot: impl Fn(&VertexPresence) -> u32) -> Vec<u32> {
        let mut counts = vec![0; slots];
        for presence in self.vertices.iter().filter(|presence| presence.steps > 0) {
            counts[slot(presence) as usize] += 1;
        }
        counts
    }
}

/// The vertices that an edge of the snapshot touches, ascending.
pub fn active_vertices(view: SnapshotView<'_>) -> Vec<VertexId> {
    let mut touched = vec![0u64; (view.vertices as usize).div_ceil(64)];
    let mut found = Vec::new();
    touch(view, &mut touched);
    drain(&mut touched, |vertex| found.push(vertex));
    found
}

/// Snapshots a task looks at: few enough for many tasks, enough edges to outweigh the table of
/// all vertices that each task keeps.
fn run_length(sequence: &SnapshotSequence) -> usize {
    const EDGES_PER_VERTEX: usize = 8;
    let per_step = sequence.stored_edges() / sequence.steps().max(1);
    let wanted = sequence.vertices() as usize * EDGES_PER_VERTEX;
    wanted.div_ceil(per_step.max(1)).clamp(1, sequence.steps().max(1))
}

fn presence_in_run(
    sequence: &SnapshotSequence,
    steps: std::ops::Range<usize>,
) -> (Vec<u32>, Vec<VertexPresence>) {
    let mut vertices = vec![NEVER; sequence.vertices() as usize];
    let mut touched = vec![0u64; vertices.len().div_ceil(64)];
    let counts = steps.map(|step| {
        touch(sequence.at(step), &mut touched);
        let mut count = 0;
        drain(&mut touched, |vertex| {
            let presence = &mut vertices[vertex as usize];
            presence.first = presence.first.min(step as u32);
            presence.last = step as u32;
            presence.steps += 1;
            count += 1;
        });
        count
    });
    (counts.collect(), vertices)
}

/// Sets the bit of each vertex that an edge touches.
fn touch(view: SnapshotView<'_>, touched: &mut [u64]) {
    for &vertex in view.src.iter().chain(view.dst) {
        touched[vertex as usize / 64] |= 1 << (vertex % 64);
    }
}

/// Reports the vertices whose bit is set, ascending, and clears the bits.
fn drain(touched: &mut [u64], mut found: impl FnMut(VertexId)) {
    for (word, bits) in touched.iter_mut().enumerate() {
        while *bits != 0 {
            found(word as u32 * 64 + bits.trailing_zeros());
            *bits &= *bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SnapshotSequence {
        let src = vec![0, 0, 1, 70, 0];
        let dst = vec![1, 1, 1, 1, 70];
        SnapshotSequence::new(72, vec![0, 2, 2, 4, 5], src, dst, None).unwrap()
    }

    #[test]
    fn a_vertex_is_there_from_its_first_to_its_last_edge() {
        let presence = Presence::of(&sample());
        assert_eq!(presence.active_per_step(), [2, 0, 2, 2]);
        assert_eq!(presence.first_and_last(0), Some((0, 3)));
        assert_eq!((presence.span(0), presence.active_steps(0)), (4, 2));
        assert_eq!((presence.span(1), presence.active_steps(1)), (3, 2));
        assert_eq!(presence.first_and_last(70), Some((2, 3)));
        assert_eq!((presence.first_and_last(5), presence.span(5)), (None, 0));
    }

    #[test]
    fn distributions_count_every_vertex_once() {
        let presence = Presence::of(&sample());
        assert_eq!(presence.appearing_per_step(), [2, 0, 1, 0]);
        assert_eq!(presence.leaving_per_step(), [0, 0, 1, 2]);
        assert_eq!(presence.vertices_by_active_steps(), [69, 0, 3, 0, 0]);
        assert_eq!(presence.vertices_by_span(), [69, 0, 1, 1, 1]);
        assert_eq!(presence.never_active(), 69);
    }

    #[test]
    fn a_constant_graph_keeps_its_vertices() {
        let constant = SnapshotSequence::constant(3, 5, vec![0], vec![2], None).unwrap();
        let presence = Presence::of(&constant);
        assert_eq!(presence.active_per_step(), [2; 5]);
        assert_eq!((presence.span(2), presence.active_steps(1)), (5, 0));
    }

    #[test]
    fn active_vertices_come_in_order_without_repeats() {
        assert_eq!(active_vertices(sample().at(2)), [1, 70]);
        assert!(active_vertices(sample().at(1)).is_empty());
    }
}
