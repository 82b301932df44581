//! Rows picked by index, and rows added back to where they were picked from.
//!
//! Adding back needs the readers of each row: the positions sorted by the row that they name. The
//! host sorts them once for each list and the GPU keeps them as long as the list lives. If a
//! recording reads a list, other rows may be put in the place of both.

use std::sync::Arc;

use super::elementwise::{BLOCK, lanes, singles};
use super::{Gpu, Kernel, Scratch, View, ViewMut};
use crate::cpu::matmul::Accumulate;

static ROWS: Kernel = Kernel::new("gather", "gather_rows");
static ROWS_WIDE: Kernel = Kernel::new("gather", "gather_rows_wide");
static ROWS_ADDED: Kernel = Kernel::new("gather", "gather_rows_added");
static ADD_ITEMS: Kernel = Kernel::new("gather", "gather_add_items");
static JOIN_PARTS: Kernel = Kernel::new("gather", "gather_join_parts");

/// The most positions of an item: what one group of lanes adds in a row.
const ITEM: usize = 64;

/// `y[i] (+)= x[indices[i]]` for rows of `width` values.
pub(crate) fn gather_rows(
    gpu: &Gpu,
    x: View<'_>,
    width: usize,
    indices: &Arc<Vec<u32>>,
    y: ViewMut<'_>,
    accumulate: Accumulate,
) {
    debug_assert_eq!(y.len(), indices.len() * width);
    let fits = width.is_multiple_of(4) && (x.ptr() | y.ptr()).is_multiple_of(16);
    let (kernel, unit) = match accumulate {
        Accumulate::Add => (&ROWS_ADDED, 1),
        Accumulate::Overwrite if fits => (&ROWS_WIDE, 4),
        Accumulate::Overwrite => (&ROWS, 1),
    };
    let (units, count) = ((width / unit) as u32, y.len() / unit);
    let indices = gpu.resident(indices);
    gpu.launch(
        kernel,
        singles(count),
        BLOCK,
        0,
        &[&x, &units, &indices.view(), &y, &(count as u64)],
    );
}

/// `dx[indices[i]] += dy[i]` for rows of `width` values.
pub(crate) fn scatter_add_rows(
    gpu: &Gpu,
    dy: View<'_>,
    width: usize,
    indices: &Arc<Vec<u32>>,
    mut dx: ViewMut<'_>,
) {
    debug_assert_eq!(dy.len(), indices.len() * width);
    if dy.is_empty() {
        return;
    }
    let readers = Readers::of(gpu, indices);
    let (lanes, mut parts) = (lanes(width), gpu.take(readers.parts * width));
    gpu.launch(
        &ADD_ITEMS,
        singles(readers.items * lanes as usize),
        BLOCK,
        0,
        &[
            &readers.item_list(),
            &(readers.items as u32),
            &readers.positions(),
            &dy,
            &(width as u32),
            &lanes,
            &dx,
            &parts.view_mut(),
        ],
    );
    readers.join_parts(gpu, parts.view(), width, dx.reborrow());
}

/// Who reads each row that a list of rows names.
pub(super) struct Readers {
    /// Items, rows of several items (four numbers each, see `gather.cu`), positions.
    lists: Scratch<u32>,
    pub(super) items: usize,
    long_rows: usize,
    /// Items of rows that have several, whose sums are joined afterwards.
    pub(super) parts: usize,
}

impl Readers {
    /// The readers of a list, sorted at the first call.
    pub(super) fn of(gpu: &Gpu, indices: &Arc<Vec<u32>>) -> Arc<Self> {
        gpu.derived(indices, 0, || Self::new(gpu, Lists::new(indices)))
    }

    /// The same with room for the readers of any list of that length; before [`Readers::of`].
    fn with_room(gpu: &Gpu, indices: &Arc<Vec<u32>>) -> Arc<Self> {
        gpu.derived(indices, 0, || Self::new(gpu, Lists::new(indices).with_room()))
    }

    fn new(gpu: &Gpu, lists: Lists) -> Self {
        let [items, long_rows] = [lists.items.len() / 4, lists.long_rows.len() / 4];
        let parts = lists.parts;
        Self { lists: gpu.uploaded(&lists.packed()), items, long_rows, parts }
    }

    pub(super) fn item_list(&self) -> View<'_, u32> {
        self.lists.view().slice(0..4 * self.items)
    }

    pub(super) fn positions(&self) -> View<'_, u32> {
        self.lists.view().slice(4 * (self.items + self.long_rows)..self.lists.len())
    }

    /// Adds the sums of items to the rows that have several.
    pub(super) fn join_parts(&self, gpu: &Gpu, parts: View<'_>, width: usize, dx: ViewMut<'_>) {
        let long_rows = self.lists.view().slice(4 * self.items..4 * (self.items + self.long_rows));
        let blocks = self.long_rows as u32;
        gpu.launch(&JOIN_PARTS, blocks, BLOCK, 0, &[&long_rows, &parts, &(width as u32), &dx]);
    }
}

impl Gpu {
    /// Makes the GPU's copies of a list of rows, with room for other rows in their place.
    pub fn place_rows(&self, list: &Arc<Vec<u32>>) {
        self.resident(list);
        Readers::with_room(self, list);
    }

    /// Puts other rows in the place of a list's copies, for recordings that read them.
    ///
    /// # Panics
    /// If the list was not placed by [`Gpu::place_rows`], or they are not as many.
    pub fn replace_rows(&self, list: &Arc<Vec<u32>>, other: &OtherRows) {
        let OtherRows { rows, readers } = other;
        assert_eq!(list.len(), rows.len(), "as many rows as were placed");
        let (copy, place) = (self.resident(list), Readers::with_room(self, list));
        for (values, place) in [(&rows[..], copy.view()), (readers, place.lists.view())] {
            // What was launched before reads the old rows, what comes after reads the new ones.
            self.upload(values, ViewMut::new(place.ptr(), place.len()));
        }
    }
}

/// Rows that can take the place of others, with their readers: any thread can sort these.
#[derive(Debug)]
pub struct OtherRows {
    rows: Arc<Vec<u32>>,
    readers: Vec<u32>,
}

impl OtherRows {
    /// Sorts the readers of a list of rows.
    pub fn new(rows: &Arc<Vec<u32>>) -> Self {
        Self { rows: Arc::clone(rows), readers: Lists::new(rows).with_room().packed() }
    }
}

/// The lists of [`Readers`] on the host.
struct Lists {
    items: Vec<u32>,
    long_rows: Vec<u32>,
    positions: Vec<u32>,
    parts: usize,
}

impl Lists {
    fn new(indices: &[u32]) -> Self {
        let positions = by_row(indices);
        // Room for the other lists behind the items, which are four numbers a row.
        let (mut items, mut long_rows) = (Vec::with_capacity(6 * indices.len()), Vec::new());
        let mut parts = 0;
        let mut start = 0;
        let same = |a: &u32, b: &u32| indices[*a as usize] == indices[*b as usize];
        for run in positions.chunk_by(same) {
            let (row, end) = (indices[run[0] as usize], start + run.len());
            if run.len() > ITEM {
                let count = run.len().div_ceil(ITEM);
                long_rows.extend([row, parts as u32, (parts + count) as u32, 0]);
            }
            for from in (start..end).step_by(ITEM) {
                let place = if run.len() > ITEM { parts + 1 } else { 0 };
                parts += usize::from(run.len() > ITEM);
                items.extend([row, from as u32, end.min(from + ITEM) as u32, place as u32]);
            }
            start = end;
        }
        Self { items, long_rows, positions, parts }
    }

    /// With empty items and rows up to the most that a list of this length can have.
    fn with_room(mut self) -> Self {
        let most = self.positions.len();
        // A row of several items has more than one item's positions, and at most one item that is
        // not full.
        let (long_rows, parts) = (most / (ITEM + 1), 2 * most / ITEM);
        self.items.resize(4 * most, 0);
        self.long_rows.resize(4 * long_rows, 0);
        Self { parts, ..self }
    }

    fn packed(self) -> Vec<u32> {
        let Self { mut items, long_rows, positions, .. } = self;
        items.extend_from_slice(&long_rows);
        items.extend_from_slice(&positions);
        items
    }
}

/// Positions in ascending order of the row that they name, those of one row in their own order.
fn by_row(indices: &[u32]) -> Vec<u32> {
    let rows = indices.iter().max().map_or(0, |&most| most as usize + 1);
    if rows > 4 * indices.len() {
        return by_digits(indices, rows);
    }
    let mut next = vec![0u32; rows + 1];
    for &row in indices {
        next[row as usize + 1] += 1;
    }
    for row in 0..rows {
        next[row + 1] += next[row];
    }
    let mut positions = vec![0; indices.len()];
    for (at, &row) in indices.iter().enumerate() {
        let place = &mut next[row as usize];
        positions[*place as usize] = at as u32;
        *place += 1;
    }
    positions
}

/// The same by the digits of rows, the last digit first, for few positions of many rows.
fn by_digits(indices: &[u32], rows: usize) -> Vec<u32> {
    const BITS: u32 = 11;
    let mut positions: Vec<u32> = (0..indices.len() as u32).collect();
    let mut sorted = vec![0; indices.len()];
    for shift in (0..rows.ilog2() + 1).step_by(BITS as usize) {
        let digit = |at: u32| (indices[at as usize] >> shift) as usize & ((1 << BITS) - 1);
        let mut next = [0u32; 1 << BITS];
        positions.iter().for_each(|&at| next[digit(at)] += 1);
        let mut sum = 0;
        next.iter_mut().for_each(|next| sum += std::mem::replace(next, sum));
        for &at in &positions {
            let place = &mut next[digit(at)];
            sorted[*place as usize] = at;
            *place += 1;
        }
        std::mem::swap(&mut positions, &mut sorted);
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_in_one_item_of_its_row_in_ascending_order() {
        let dense: Vec<u32> =
            (0..5000u32).map(|at| if at % 3 == 0 { 7 } else { at % 90 }).collect();
        let sparse: Vec<u32> = (0..200u32).map(|at| at * at % 31 * 1_000_003).collect();
        for indices in [dense, sparse, vec![0; 129], vec![4]] {
            let lists = Lists::new(&indices);
            let mut seen = Vec::new();
            let mut parts = Vec::new();
            for item in lists.items.chunks_exact(4) {
                let positions = &lists.positions[item[1] as usize..item[2] as usize];
                assert!(!positions.is_empty() && positions.len() <= ITEM);
                assert!(positions.is_sorted());
                assert!(positions.iter().all(|&at| indices[at as usize] == item[0]));
                seen.extend_from_slice(positions);
                parts.extend((item[3] > 0).then_some(item[0]));
            }
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..indices.len() as u32));
            assert_eq!(parts.len(), lists.parts);
            let mut from_long = Vec::new();
            for long in lists.long_rows.chunks_exact(4) {
                assert_eq!(long[1] as usize, from_long.len());
                from_long.resize(long[2] as usize, long[0]);
            }
            assert_eq!(parts, from_long);
            let lengths = [lists.items.len(), lists.long_rows.len(), lists.parts];
            let room = lists.with_room();
            let rooms = [room.items.len(), room.long_rows.len(), room.parts];
            assert!(lengths.iter().zip(rooms).all(|(&length, room)| length <= room));
        }
    }
}
