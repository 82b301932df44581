//! Makes blocks on the GPU out of what differs from snapshot to snapshot (`difference.cu`).
//!
//! Everything is launched on the queue that the packets were copied on, so that it runs beside what
//! the GPU computes meanwhile: it reads and writes memory that nobody else has.

use bytemuck::{Pod, Zeroable};

use zoetrope_graph::Difference;

use super::packet::Sizes;
use super::slices::{SLICE, WINDOW};
use super::{THREADS, WARP};
use crate::cuda::{Arg, ByValue, Gpu, Kernel, Queue, Scratch, View, grid_for};
use crate::sparse::Side;

static ROWS: Kernel = Kernel::new("spmm/difference", "difference_rows");
static ENTRIES: Kernel = Kernel::new("spmm/difference", "difference_entries");
static MARKS: Kernel = Kernel::new("spmm/difference", "difference_marks");
static ORDER: Kernel = Kernel::new("spmm/difference", "difference_order");
static FILL: Kernel = Kernel::new("spmm/difference", "difference_fill");

/// As in `difference.cu`.
const TILE: usize = 1024;
const ROW_THREADS: usize = 256;
const ORDER_THREADS: usize = 1024;
/// Blocks for each snapshot that copy what came as it is, beside those that order rows.
const COPY_BLOCKS: u32 = 4;

/// Addresses of a list of entries.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ListsArg([u64; 3]);

/// Addresses of what is known of the entries of the latest list.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct LivesArg([u64; 2]);

/// Addresses of the blocks of the snapshots.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct BlocksArg([u64; Difference::STEPS_MAX]);

/// What snapshots have, and the most that their lists have of each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Room {
    pub(super) rows: usize,
    pub(super) weighted: bool,
    pub(super) by_vertex: bool,
    pub(super) entries: usize,
    pub(super) born: usize,
    pub(super) steps: usize,
}

impl Room {
    /// Whether a packet fits.
    pub(super) fn holds(&self, sizes: &Sizes) -> bool {
        let kinds = (self.weighted || !sizes.weighted) && (self.by_vertex || !sizes.by_vertex);
        let counts =
            [(sizes.entries, self.entries), (sizes.born, self.born), (sizes.steps, self.steps)];
        kinds && counts.iter().all(|(asked, room)| asked <= room)
    }

    /// Room for a packet as well.
    pub(super) fn with(self, sizes: &Sizes) -> Self {
        Self {
            entries: self.entries.max(sizes.entries),
            born: self.born.max(sizes.born),
            steps: self.steps.max(sizes.steps),
            weighted: self.weighted || sizes.weighted,
            by_vertex: self.by_vertex || sizes.by_vertex,
            ..self
        }
    }

    /// A quarter more.
    pub(super) fn with_slack(self) -> Self {
        Self { entries: self.entries + self.entries / 4, born: self.born + self.born / 4, ..self }
    }
}

/// Room for a list of entries.
#[derive(Debug)]
struct Lists {
    offsets: Scratch<u32>,
    columns: Scratch<u32>,
    weights: Option<Scratch<u32>>,
}

impl Lists {
    fn new(gpu: &Gpu, room: &Room) -> Self {
        Self {
            offsets: gpu.take_of(room.rows + 1),
            columns: gpu.take_of(room.entries),
            weights: room.weighted.then(|| gpu.take_of(room.entries)),
        }
    }

    fn take_over(&mut self, gpu: &Gpu, from: &Self) {
        take_over(gpu, &from.offsets, &mut self.offsets);
        take_over(gpu, &from.columns, &mut self.columns);
        for (from, to) in from.weights.iter().zip(&mut self.weights) {
            take_over(gpu, from, to);
        }
    }

    fn arg(&self, weighted: bool) -> ListsArg {
        let weights = self.weights.as_ref().filter(|_| weighted);
        let weights = weights.map_or(0, |weights| weights.view().ptr());
        ListsArg([self.offsets.view().ptr(), self.columns.view().ptr(), weights])
    }
}

/// The latest list of entries of one side, and room for the next.
#[derive(Debug)]
pub(super) struct Rebuild {
    gpu: Gpu,
    side: Side,
    room: Room,
    lists: [Lists; 2],
    /// Which of the lists is the latest.
    latest: usize,
    /// Of its entries: when they live, and where changes of weights begin.
    lives: Scratch<u32>,
    changes: Option<Scratch<u32>>,
    /// Of the vertices: the latest words, and those of every step.
    vertices: Option<[Scratch<u32>; 2]>,
    places: Scratch<u32>,
}

/// A packet that lies on the GPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived<'a> {
    pub(super) sizes: Sizes,
    pub(super) words: View<'a, u32>,
}

impl Rebuild {
    pub(super) fn new(gpu: &Gpu, side: Side, room: Room) -> Self {
        // The time that kernels take is counted from before the first one is launched.
        [&ROWS, &ENTRIES, &MARKS, &ORDER, &FILL].into_iter().for_each(|kernel| gpu.prepare(kernel));
        let by_vertex = |steps| gpu.take_of(steps * room.rows);
        Self {
            gpu: gpu.clone(),
            side,
            room,
            lists: [Lists::new(gpu, &room), Lists::new(gpu, &room)],
            latest: 0,
            lives: gpu.take_of(room.entries),
            changes: room.weighted.then(|| gpu.take_of(room.entries)),
            vertices: room.by_vertex.then(|| [by_vertex(1), by_vertex(room.steps)]),
            places: gpu.take_of(room.born),
        }
    }

    pub(super) fn room(&self) -> Room {
        self.room
    }

    /// Makes room for more. What is there moves along, so that what is sent next does not depend on when room
    /// was made.
    pub(super) fn grow(&mut self, room: Room) {
        // What still uses the old memory was launched on a queue that its next user does not wait for.
        self.gpu.mark_copies().wait();
        let old = std::mem::replace(self, Self::new(&self.gpu, self.side, room));
        self.latest = old.latest;
        for (from, to) in old.lists.iter().zip(&mut self.lists) {
            to.take_over(&self.gpu, from);
        }
        take_over(&self.gpu, &old.lives, &mut self.lives);
        for (from, to) in old.changes.iter().zip(&mut self.changes) {
            take_over(&self.gpu, from, to);
        }
        for (from, to) in old.vertices.iter().flatten().zip(self.vertices.iter_mut().flatten()) {
            take_over(&self.gpu, from, to);
        }
        take_over(&self.gpu, &old.places, &mut self.places);
        // These copies are on the queue of computing.
        self.gpu.wait();
    }

    /// Takes a packet and writes the blocks of its snapshots. It belongs to the list that the packet
    /// before it made, which is still on the GPU; without one it brings all entries.
    pub(super) fn apply(
        &mut self,
        before: Option<Arrived<'_>>,
        packet: Arrived<'_>,
        blocks: &[View<'_, u32>],
    ) {
        let Arrived { sizes, words } = packet;
        debug_assert_eq!(blocks.len(), sizes.steps);
        let [from, to] =
            [self.latest, 1 - self.latest].map(|at| self.lists[at].arg(sizes.weighted));
        self.latest = 1 - self.latest;
        let changes = self.changes.as_ref().map_or(0, |changes| changes.view().ptr());
        let lives = LivesArg([self.lives.view().ptr(), changes]);
        let [vertices, by_step] = [0, 1].map(|at| {
            let vertices = self.vertices.as_ref().filter(|_| sizes.by_vertex);
            vertices.map(|both| both[at].view())
        });
        let mut addresses = [0; Difference::STEPS_MAX];
        addresses.iter_mut().zip(blocks).for_each(|(at, block)| *at = block.ptr());
        let (from, to, lives) = (ByValue(&from), ByValue(&to), ByValue(&lives));
        let (blocks, earlier) = (BlocksArg(addresses), before.map(|before| before.words));
        let (blocks, places) = (ByValue(&blocks), self.places.view());
        let launch = |kernel, grid: (u32, u32), threads: usize, arguments: &[&dyn Arg]| {
            self.gpu.launch_on(Queue::Copy, kernel, grid, threads as u32, 0, arguments);
        };
        let settled = before.map_or(0, |before| before.sizes.weights);
        let threads = (self.room.rows + 1).max(sizes.born).max(settled);
        let grid = (grid_for(threads, ROW_THREADS), 1);
        launch(
            &ROWS,
            grid,
            ROW_THREADS,
            &[&earlier, &words, &from, &to, &places, &vertices, &by_step],
        );
        let grid = (grid_for(sizes.entries, TILE), 1);
        launch(&ENTRIES, grid, ROW_THREADS, &[&earlier, &words, &from, &to, &places, &lives]);
        let grid = (grid_for(sizes.dead.max(sizes.weights), ROW_THREADS), 1);
        launch(&MARKS, grid, ROW_THREADS, &[&words, &lives]);
        let (steps, windows) = (sizes.steps as u32, grid_for(self.room.rows, WINDOW));
        let arguments: [&dyn Arg; 6] = [&words, &to, &lives, &by_step, &blocks, &windows];
        launch(&ORDER, (windows + COPY_BLOCKS, steps), ORDER_THREADS, &arguments);
        let (units, slices) = (warps(sizes.units), warps(self.room.rows.div_ceil(SLICE)));
        let transposed = u32::from(self.side == Side::Transpose);
        let arguments: [&dyn Arg; 7] =
            [&words, &to, &lives, &by_step, &blocks, &units, &transposed];
        launch(&FILL, (units + slices, steps), THREADS, &arguments);
    }
}

/// Copies a list to where there is room for more.
fn take_over(gpu: &Gpu, from: &Scratch<u32>, to: &mut Scratch<u32>) {
    let len = from.len();
    gpu.copy(from.view(), to.view_mut().slice(0..len));
}

/// Blocks of threads in which each warp takes one.
fn warps(items: usize) -> u32 {
    grid_for(items, THREADS / WARP)
}

#[cfg(test)]
mod tests;
