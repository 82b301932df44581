//! Makes blocks on the card out of what differs from snapshot to snapshot (`difference.cu`).

use bytemuck::{Pod, Zeroable};

use super::packet::{Changes, Content, Packet, Span};
use super::slices::{SLICE, WINDOW};
use super::{THREADS, WARP};
use crate::cuda::{ByValue, Gpu, Kernel, Scratch, View, ViewMut, grid_for};
use crate::sparse::Side;

static ROWS: Kernel = Kernel::new("spmm/difference", "difference_rows");
static ENTRIES: Kernel = Kernel::new("spmm/difference", "difference_entries");
static ORDER: Kernel = Kernel::new("spmm/difference", "difference_order");
static FILL: Kernel = Kernel::new("spmm/difference", "difference_fill");

/// As in `difference.cu`.
const TILE: usize = 1024;
const ROW_THREADS: usize = 256;
const ORDER_THREADS: usize = 1024;
/// Blocks that copy what came as it is, beside those that order rows.
const COPY_BLOCKS: u32 = 32;

/// Addresses of the lists of a snapshot by rows.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ListsArg([u64; 3]);

/// Addresses and lengths of the lists of a patch.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct PatchArg {
    lists: [u64; 8],
    lengths: [u32; 4],
}

/// Room for the entries of a snapshot by rows.
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

    fn arg(&self, weighted: bool) -> ListsArg {
        let weights = self.weights.as_ref().filter(|_| weighted);
        let weights = weights.map_or(0, |weights| weights.view().ptr());
        ListsArg([self.offsets.view().ptr(), self.columns.view().ptr(), weights])
    }
}

/// The most that the snapshots of a sequence have of each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Room {
    pub(super) rows: usize,
    pub(super) entries: usize,
    pub(super) added: usize,
    pub(super) weighted: bool,
    pub(super) by_vertex: bool,
}

/// One side of the latest snapshot by rows, and room for the next.
#[derive(Debug)]
pub(super) struct Rebuild {
    gpu: Gpu,
    side: Side,
    rows: usize,
    lists: [Lists; 2],
    /// Which of the lists is the latest, and whether it has weights and words of vertices.
    latest: usize,
    weighted: bool,
    by_vertex: bool,
    vertices: Option<Scratch<u32>>,
    places: Scratch<u32>,
}

impl Rebuild {
    pub(super) fn new(gpu: &Gpu, side: Side, room: &Room) -> Self {
        Self {
            gpu: gpu.clone(),
            side,
            rows: room.rows,
            lists: [Lists::new(gpu, room), Lists::new(gpu, room)],
            latest: 0,
            weighted: false,
            by_vertex: false,
            vertices: room.by_vertex.then(|| gpu.take_of(room.rows)),
            places: gpu.take_of(room.added),
        }
    }

    /// Takes a packet that lies on the card and writes the block of its snapshot. A patch belongs to
    /// the snapshot of the packet before it.
    pub(super) fn apply(&mut self, packet: &Packet, words: View<'_, u32>, block: View<'_, u32>) {
        let list = |span: Span| words.slice(span.at..span.at + span.len);
        let mut patch = PatchArg::zeroed();
        match packet.content {
            Content::Rows { offsets, columns, weights, vertices } => {
                let Self { gpu, lists, latest, .. } = self;
                let lists = &mut lists[*latest];
                gpu.copy(list(offsets), lists.offsets.view_mut());
                gpu.copy(list(columns), lists.columns.view_mut().slice(0..columns.len));
                for (from, to) in [
                    (weights, lists.weights.as_mut().map(Scratch::view_mut)),
                    (vertices, self.vertices.as_mut().map(Scratch::view_mut)),
                ] {
                    copy_some(gpu, from.map(list), to);
                }
                (self.weighted, self.by_vertex) = (weights.is_some(), vertices.is_some());
            }
            Content::Patch {
                removed,
                added_rows,
                added_columns,
                added_weights,
                weights,
                vertices,
            } => {
                let places = |of: Option<Changes>| of.and_then(|changes| changes.places);
                let values = |of: Option<Changes>| of.map(|changes| changes.values);
                let span = |of: Option<Span>| of.map_or(0, |span| list(span).ptr());
                let len = |of: Option<Changes>| of.map_or(0, |changes| changes.values.len as u32);
                patch = PatchArg {
                    lists: [
                        span(Some(removed)),
                        span(Some(added_rows)),
                        span(Some(added_columns)),
                        span(Some(added_weights)),
                        span(places(weights)),
                        span(values(weights)),
                        span(places(vertices)),
                        span(values(vertices)),
                    ],
                    lengths: [
                        removed.len as u32,
                        added_rows.len as u32,
                        len(weights),
                        len(vertices),
                    ],
                };
                self.advance(&patch, packet.entries);
                let all = weights.filter(|changes| changes.places.is_none());
                let to = self.lists[self.latest].weights.as_mut().map(Scratch::view_mut);
                copy_some(&self.gpu, all.map(|changes| list(changes.values)), to);
            }
        }
        self.arrange(&patch, packet, [list(packet.frame), list(packet.lengths)], block);
    }

    /// The lists of the next snapshot.
    fn advance(&mut self, patch: &PatchArg, entries: usize) {
        let [from, to] = [self.latest, 1 - self.latest].map(|at| self.lists[at].arg(self.weighted));
        let vertices = self.vertices.as_ref().map(Scratch::view);
        let (by_value, from, to) = (ByValue(patch), ByValue(&from), ByValue(&to));
        let threads = (self.rows + 1).max(patch.lengths[1] as usize).max(patch.lengths[3] as usize);
        self.gpu.launch(
            &ROWS,
            grid_for(threads, ROW_THREADS),
            ROW_THREADS as u32,
            0,
            &[&by_value, &from, &to, &self.places.view(), &vertices, &(self.rows as u32)],
        );
        self.gpu.launch(
            &ENTRIES,
            grid_for(entries, TILE),
            ROW_THREADS as u32,
            0,
            &[&by_value, &from, &to, &self.places.view(), &(entries as u32)],
        );
        self.latest = 1 - self.latest;
    }

    /// The block out of the lists.
    fn arrange(
        &self,
        patch: &PatchArg,
        packet: &Packet,
        [frame, lengths]: [View<'_, u32>; 2],
        block: View<'_, u32>,
    ) {
        let lists = self.lists[self.latest].arg(self.weighted);
        let lists = ByValue(&lists);
        let vertices = self.vertices.as_ref().filter(|_| self.by_vertex).map(Scratch::view);
        let windows = grid_for(self.rows, WINDOW);
        self.gpu.launch(
            &ORDER,
            windows + COPY_BLOCKS,
            ORDER_THREADS as u32,
            0,
            &[
                &ByValue(patch),
                &lists,
                &frame,
                &(frame.len() as u32),
                &lengths,
                &(lengths.len() as u32),
                &vertices,
                &block,
                &windows,
            ],
        );
        let units = blocks(packet.units);
        let transposed = u32::from(self.side == Side::Transpose);
        self.gpu.launch(
            &FILL,
            units + blocks(self.rows.div_ceil(SLICE)),
            THREADS as u32,
            0,
            &[&lists, &vertices, &block, &units, &transposed],
        );
    }
}

fn copy_some(gpu: &Gpu, from: Option<View<'_, u32>>, to: Option<ViewMut<'_, u32>>) {
    if let (Some(from), Some(mut to)) = (from, to) {
        gpu.copy(from, to.slice(0..from.len()));
    }
}

/// Blocks of threads in which each warp takes one.
fn blocks(warps: usize) -> u32 {
    grid_for(warps, THREADS / WARP)
}

#[cfg(test)]
mod tests;
