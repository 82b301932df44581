//! Vertices that nothing tells apart: the same input at every step, from a first state of zeros.
//!
//! They go through the same states, bit by bit, so one of them is computed and copied to the others. Graphs that
//! grow are full of them before their vertices are born and after they die, and so are leaves of one hub: of the
//! 7,716 vertices of as-733 about 3,000 differ within eight snapshots. Only for a pass that keeps nothing for a backward
//! pass, which needs the gates of every cell.

use std::cell::RefCell;

use rayon::prelude::*;

use super::{Sequence, SequenceBlock};

/// With fewer vertices there is little to save.
const VERTICES_MIN: usize = 256;

/// The values that tell vertices apart are looked at if there are at least so many gates for each: a look takes about
/// as long as twenty multiplications by the weights of the state.
const GATES_A_VALUE: usize = 16;

/// So many vertices are looked at first, all over the sequence.
const SAMPLE: usize = 1024;

/// Of eight vertices of the sample at most so many may differ, or the others are not looked at.
const DIFFERENT_OF_EIGHT: usize = 7;

/// Vertices whose values one thread reads at a time.
const TASK_VERTICES: usize = 1024;

const EMPTY: u32 = u32::MAX;

/// Classes of vertices that are alike, in the order of their first members. Only memory between calls.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    /// The first vertex of each class.
    first: Vec<u32>,
    /// The class of each vertex, then where its members begin; and the members.
    class: Vec<u32>,
    begin: Vec<u32>,
    members: Vec<u32>,
    /// Of each vertex, a number that vertices which are alike share, and the table that finds a class by it.
    marks: Vec<u64>,
    table: Vec<u32>,
}

thread_local! {
    static MEMORY: RefCell<Alike> = RefCell::default();
}

/// What tells vertices apart: rows of each step.
#[derive(Clone, Copy)]
struct Values<'a> {
    shape: Sequence,
    /// Stacked rows with their widths.
    inputs: [Option<(&'a [f32], usize)>; 2],
}

impl Values<'_> {
    /// All rows of a vertex.
    fn of(&self, vertex: usize) -> impl Iterator<Item = &[f32]> {
        let Sequence { steps, vertices, .. } = self.shape;
        self.inputs.iter().flatten().flat_map(move |&(x, width)| {
            (0..steps).map(move |t| &x[(t * vertices + vertex) * width..][..width])
        })
    }

    /// Vertices that are alike have the same mark, others seldom have.
    fn mark(&self, vertex: usize) -> u64 {
        let mut mark = 0u64;
        for &value in self.of(vertex).flatten() {
            // The multiplier of FxHash; the rotation brings upper bits down.
            mark = (mark.rotate_left(23) ^ u64::from(value.to_bits()))
                .wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        mark ^ mark >> 32
    }

    fn are_alike(&self, one: usize, other: usize) -> bool {
        let mut pairs = self.of(one).flatten().zip(self.of(other).flatten());
        pairs.all(|(one, other)| one.to_bits() == other.to_bits())
    }
}

impl Alike {
    /// The classes of a sequence without a mask, given its inputs with their widths and its first state; None if that
    /// is not all zeros, too few vertices are alike, or it would take too long to see.
    pub(crate) fn find(
        shape: Sequence,
        gates: usize,
        inputs: [Option<(&[f32], usize)>; 2],
        state: &[f32],
    ) -> Option<Self> {
        let width: usize = inputs.iter().flatten().map(|(_, width)| width).sum();
        let pays = shape.vertices >= VERTICES_MIN && width * GATES_A_VALUE <= gates * shape.hidden;
        if !pays || state.iter().any(|value| value.to_bits() != 0) {
            return None;
        }
        let values = Values { shape, inputs };
        let mut found = MEMORY.take();
        let step = (shape.vertices / SAMPLE).max(1);
        let sample = shape.vertices.div_ceil(step);
        found.look(values, step, sample);
        if found.first.len() * 8 > sample * DIFFERENT_OF_EIGHT {
            found.give_back();
            return None;
        }
        if step > 1 {
            found.look(values, 1, shape.vertices);
        }
        found.list();
        Some(found)
    }

    /// Gives each of `count` vertices a class, which lie `step` apart.
    fn look(&mut self, values: Values<'_>, step: usize, count: usize) {
        let slots = (2 * count).next_power_of_two();
        self.table.clear();
        self.table.resize(slots, EMPTY);
        self.first.clear();
        self.class.clear();
        self.marks.resize(count, 0);
        let mark = |(task, marks): (usize, &mut [u64])| {
            for (at, mark) in (task * TASK_VERTICES..).zip(marks) {
                *mark = values.mark(at * step);
            }
        };
        self.marks.par_chunks_mut(TASK_VERTICES).enumerate().for_each(mark);
        for at in 0..count {
            let (vertex, mark) = (at * step, self.marks[at]);
            let mut slot = mark as usize & (slots - 1);
            let class = loop {
                let class = self.table[slot];
                if class == EMPTY {
                    self.table[slot] = self.first.len() as u32;
                    self.first.push(vertex as u32);
                    break self.table[slot];
                }
                if values.are_alike(self.first[class as usize] as usize, vertex) {
                    break class;
                }
                slot = (slot + 1) & (slots - 1);
            };
            self.class.push(class);
        }
    }

    /// Lists the members of each class.
    fn list(&mut self) {
        self.begin.clear();
        self.begin.resize(self.first.len() + 2, 0);
        self.class.iter().for_each(|&class| self.begin[class as usize + 2] += 1);
        let mut sum = 0;
        for begin in &mut self.begin {
            sum += *begin;
            *begin = sum;
        }
        self.members.resize(self.class.len(), 0);
        for (vertex, &class) in (0..).zip(&self.class) {
            let place = &mut self.begin[class as usize + 1];
            self.members[*place as usize] = vertex;
            *place += 1;
        }
        self.begin.truncate(self.first.len() + 1);
    }

    /// The sequence of the first member of each class.
    pub(crate) fn shape(&self, shape: Sequence) -> Sequence {
        Sequence { vertices: self.first.len(), whole: self.first.len(), ..shape }
    }

    /// Copies the rows of a block's first members at a step of a matrix of all vertices.
    pub(crate) fn gather(
        &self,
        block: SequenceBlock,
        (x, width): (&[f32], usize),
        first_row: usize,
        rows: &mut [f32],
    ) {
        let first = &self.first[block.from..block.from + block.count];
        for (row, &vertex) in rows.chunks_exact_mut(width.max(1)).zip(first) {
            row.copy_from_slice(&x[(first_row + vertex as usize) * width..][..width]);
        }
    }

    /// The members of the classes of a block, class by class.
    pub(crate) fn members(&self, block: SequenceBlock) -> impl Iterator<Item = &[u32]> {
        let begin = self.begin[block.from..=block.from + block.count].windows(2);
        begin.map(|ends| &self.members[ends[0] as usize..ends[1] as usize])
    }

    /// Keeps the memory for the next call of this thread.
    pub(crate) fn give_back(self) {
        MEMORY.set(self);
    }
}
