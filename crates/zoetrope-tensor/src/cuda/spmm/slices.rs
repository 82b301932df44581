//! A sparse matrix as the kernels of products take it: one block of words that describes itself.
//!
//! Rows differ in length by five orders of magnitude. Short ones stand in slices of 32, in windows
//! of [`WINDOW`] rows longest first, so that the rows of a slice end at nearly the same step. The
//! entries of a slice lie step by step: the first entry of each row, then the second of each row that
//! has one, and so on. Nothing is padded, because the longest rows come first and those that have a
//! k-th entry are the first so many; and threads of neighbouring rows read neighbouring words. Long
//! rows are cut into pieces of at most [`PIECE_ENTRIES_MAX`] entries, which lie one after another. The entries of
//! a row keep their order.
//!
//! The block: a header (see `Header` in `spmm.cu`), where each slice's entries start, place and
//! length of each row, the pieces, the rows that have several of them, columns, factors and their
//! numbers, values. It takes the room of compressed rows, and one copy brings it to the device.
//!
//! Factors are there if every value is the product of one factor of its row and one of its column,
//! as in `D^-1/2 (A + I) D^-1/2` of a graph without weights. There are as many of them as different
//! lengths of rows, so that 16 bits name one; in place of a value stands the name of its column's,
//! half as many bytes, and products have the same bits. This last part need not be copied, because
//! it follows from the columns: that leaves 4 bytes an entry to go over the bus.

use std::num::NonZeroU32;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use zoetrope_graph::{Csr, RowSlices};

use crate::cpu::spmm::CsrRef;

/// Rows among which short rows are ordered by length: near each other in y, and named by 16 bits.
pub(super) const WINDOW: usize = 4096;
/// Rows of a slice: the lanes of a warp.
pub(super) const SLICE: usize = 32;
/// Entries of a row in a slice at most: what one thread adds up alone.
const SHORT: usize = 32;
/// Entries of a piece of a long row at most: what one warp adds up.
const PIECE_ENTRIES_MAX: NonZeroU32 = NonZeroU32::new(256).unwrap();
/// Marks a row that is not computed by its slice: long ones, and those beyond the last.
const ELSEWHERE: u32 = 1 << 31;
/// Instead of a place for a partial sum: the piece is the whole row.
const DIRECT: u32 = u32::MAX;
/// Parts of the block begin at multiples of this many words.
const GRAIN: usize = 4;

const HEADER: usize = 16;
/// Where the header says how many entries there are.
const ENTRIES: usize = 12;
const UNIT: usize = 4;
const FOLD: usize = 4;

/// A page of memory: blocks are whole pages, so that each can be locked by itself.
#[repr(C, align(4096))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Page([u32; PAGE]);

pub(super) const PAGE: usize = 1024;

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page")
    }
}

/// A matrix in slices.
#[derive(Debug)]
pub(crate) struct Slices {
    pages: Vec<Page>,
    /// Words of the block, the rest of the last page aside.
    len: usize,
    cols: usize,
    /// Partial sums of long rows.
    slots: usize,
}

/// A part of the block, by its place in the header.
#[derive(Clone, Copy)]
enum Section {
    Starts = 4,
    Rows = 5,
    Units = 6,
    #[cfg_attr(not(test), expect(dead_code, reason = "read by kernels only"))]
    Folds = 7,
    Columns = 8,
    /// Different ones, ascending in the length of the rows that have them.
    Factors = 9,
    /// Which of them is that of each vertex, 16 bits each.
    Numbers = 10,
    /// Those of the entries: 32 bits each, or the number of its column's factor in 16.
    Values = 11,
}

/// What of a matrix is long.
#[derive(Default)]
struct Long {
    /// Rows, in their order, and how many entries they have together.
    rows: Vec<u32>,
    entries: usize,
    /// Row, first entry, length, slot.
    units: Vec<[u32; UNIT]>,
    /// Row, first slot, slots.
    folds: Vec<[u32; FOLD]>,
    slots: usize,
}

impl Long {
    /// Cuts the long rows; their entries come from `first` on.
    fn new(m: CsrRef) -> Self {
        let mut long = Self::default();
        let rows = (0..m.rows).filter(|&row| m.entries(row).len() > SHORT);
        long.rows.extend(rows.map(|row| row as u32));
        long.entries = long.rows.iter().map(|&row| m.entries(row as usize).len()).sum();
        let mut offsets = vec![word(m.columns.len() - long.entries)];
        for &row in &long.rows {
            offsets.push(offsets[offsets.len() - 1] + word(m.entries(row as usize).len()));
        }
        let pieces = RowSlices::new(&offsets, PIECE_ENTRIES_MAX);
        let mut bounds = pieces.offsets().windows(2);
        for of_row in pieces.rows().chunk_by(|a, b| a == b) {
            let (row, first_slot) = (long.rows[of_row[0] as usize], long.slots as u32);
            let folds = of_row.len() > 1;
            if folds {
                long.folds.push([row, first_slot, of_row.len() as u32, 0]);
                long.slots += of_row.len();
            }
            for (slot, piece) in (first_slot..).zip(bounds.by_ref().take(of_row.len())) {
                let slot = if folds { slot } else { DIRECT };
                long.units.push([row, piece[0], piece[1] - piece[0], slot]);
            }
        }
        long
    }
}

impl Slices {
    /// Arranges a matrix with `cols` columns, whose values may be products of the given factors.
    ///
    /// # Panics
    /// If the arrays do not belong together, or a column is not below `cols`.
    pub(crate) fn new(m: CsrRef, cols: usize, factors: Option<&Factors>) -> Self {
        m.check();
        assert!(m.offsets.is_sorted(), "offsets ascend");
        assert!(m.columns.par_iter().all(|&c| (c as usize) < cols), "columns below {cols}");
        let long = Long::new(m);
        let (slices, entries) = (m.rows.div_ceil(SLICE), m.columns.len());
        let (different, numbers) =
            factors.map_or((0, 0), |factors| (factors.different.len(), factors.numbers.len()));
        let sizes = [
            slices,
            slices * SLICE,
            long.units.len() * UNIT,
            long.folds.len() * FOLD,
            entries,
            different,
            numbers.div_ceil(2),
            if factors.is_some() { entries.div_ceil(2) } else { entries },
        ];
        let mut header = [0; HEADER];
        let counts = [m.rows, slices, long.units.len(), long.folds.len()];
        header[..Section::Starts as usize].copy_from_slice(&counts.map(word));
        let mut len = HEADER;
        for (at, size) in header[Section::Starts as usize..].iter_mut().zip(sizes) {
            *at = word(len);
            len = (len + size).next_multiple_of(GRAIN);
        }
        header[ENTRIES] = word(entries);
        let mut pages = bytemuck::zeroed_vec(len.div_ceil(PAGE));
        let words = bytemuck::cast_slice_mut::<Page, u32>(&mut pages);
        words[..HEADER].copy_from_slice(&header);

        let (mut rest, mut passed) = (words, 0);
        let [starts, rows, units, folds, columns, own_factors, own_numbers, values] =
            std::array::from_fn(|part| {
                let at = header[Section::Starts as usize + part] as usize;
                let here = std::mem::take(&mut rest).split_at_mut(at - passed).1;
                let (own, beyond) = here.split_at_mut(sizes[part]);
                (rest, passed) = (beyond, at + sizes[part]);
                own
            });
        match factors {
            None => fill(m, &long, [starts, rows, units, folds, columns, values]),
            Some(Factors { different, numbers }) => {
                fill(m, &long, [starts, rows, units, folds, &mut *columns, &mut []]);
                own_factors.copy_from_slice(bytemuck::cast_slice(different));
                halves_mut(own_numbers)[..numbers.len()].copy_from_slice(numbers);
                let names = halves_mut(values).par_iter_mut().with_min_len(WINDOW);
                let entries = names.zip(columns.par_iter());
                entries.for_each(|(name, &column)| *name = numbers[column as usize]);
            }
        }
        Self { pages, len, cols, slots: long.slots }
    }

    /// About the bytes of the block of a matrix of that many rows and entries, long rows aside.
    pub(crate) fn bytes(rows: usize, entries: usize) -> usize {
        // Columns, values; place and factor of a row, and a start for each slice.
        size_of::<u32>() * (2 * entries + 2 * rows + rows.div_ceil(SLICE))
    }

    /// The block.
    pub(crate) fn words(&self) -> &[u32] {
        &bytemuck::cast_slice(&self.pages)[..self.len]
    }

    /// All bytes of the block's pages.
    pub(super) fn pages(&self) -> &[u8] {
        bytemuck::cast_slice(&self.pages)
    }

    /// Bytes of what has to be copied.
    pub(crate) fn sent_bytes(&self) -> u64 {
        size_of_val(self.essence()) as u64
    }

    /// What of the block has to be copied: all but the values if these follow from the rest.
    pub(super) fn essence(&self) -> &[u32] {
        if self.is_factored() { &self.words()[..self.at(Section::Values)] } else { self.words() }
    }

    /// What a receiver that has the rows cannot tell at once: the header with the starts of slices, and
    /// the pieces of long rows.
    pub(super) fn frame(&self) -> [&[u32]; 2] {
        let words = self.words();
        [
            &words[..self.at(Section::Rows)],
            &words[self.at(Section::Units)..self.at(Section::Columns)],
        ]
    }

    /// The number of entries of each row.
    pub(super) fn lengths(&self) -> Vec<u32> {
        let mut lengths = vec![0; self.rows()];
        self.for_each_entry(|row, _| lengths[row] += 1);
        lengths
    }

    /// Whether values follow from factors.
    pub(crate) fn is_factored(&self) -> bool {
        self.at(Section::Factors) < self.at(Section::Numbers)
    }

    pub(crate) fn rows(&self) -> usize {
        self.words()[0] as usize
    }

    /// Slices of rows, the last one perhaps not full.
    pub(crate) fn slices(&self) -> usize {
        self.words()[1] as usize
    }

    /// Pieces of long rows.
    pub(crate) fn units(&self) -> usize {
        self.words()[2] as usize
    }

    /// Rows of several pieces.
    pub(crate) fn folds(&self) -> usize {
        self.words()[3] as usize
    }

    /// Partial sums that the first phase leaves for the second.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    fn entries(&self) -> usize {
        self.words()[ENTRIES] as usize
    }

    fn at(&self, part: Section) -> usize {
        self.words()[part as usize] as usize
    }

    fn part(&self, part: Section, len: usize) -> &[u32] {
        &self.words()[self.at(part)..][..len]
    }

    /// Calls `f` with each row and the position of each of its entries, in the order of the row.
    fn for_each_entry(&self, mut f: impl FnMut(usize, usize)) {
        let rows = self.part(Section::Rows, self.slices() * SLICE);
        for (slice, (&start, rows)) in
            self.part(Section::Starts, self.slices()).iter().zip(rows.chunks(SLICE)).enumerate()
        {
            let mut at = start as usize;
            let length = |packed: u32| (packed >> 16 & 0x7fff) as usize;
            for step in 0..length(rows[0]) {
                let there = rows.iter().take_while(|&&packed| length(packed) > step);
                for &packed in there {
                    f(slice * SLICE / WINDOW * WINDOW + (packed & 0xffff) as usize, at);
                    at += 1;
                }
            }
        }
        for unit in self.part(Section::Units, self.units() * UNIT).chunks(UNIT) {
            (unit[1]..unit[1] + unit[2]).for_each(|at| f(unit[0] as usize, at as usize));
        }
    }

    /// The values by row and position.
    fn values(&self) -> Box<dyn Fn(usize, usize) -> f32 + '_> {
        let words = self.words();
        if !self.is_factored() {
            let values = &words[self.at(Section::Values)..];
            return Box::new(|_, at| f32::from_bits(values[at]));
        }
        let factors = &words[self.at(Section::Factors)..];
        let [numbers, names] =
            [Section::Numbers, Section::Values].map(|part| halves(&words[self.at(part)..]));
        let factor = |number: u16| f32::from_bits(factors[usize::from(number)]);
        Box::new(move |row, at| factor(names[at]) * factor(numbers[row]))
    }

    /// The same matrix by rows in their own order.
    pub(crate) fn to_csr(&self) -> Csr {
        let mut offsets = vec![0u32; self.rows() + 1];
        self.for_each_entry(|row, _| offsets[row + 1] += 1);
        for row in 0..self.rows() {
            offsets[row + 1] += offsets[row];
        }
        let columns = self.part(Section::Columns, self.entries());
        let value = self.values();
        let mut next = offsets.clone();
        let mut own_columns = vec![0; self.entries()];
        let mut own_values = vec![0.0; self.entries()];
        self.for_each_entry(|row, at| {
            let to = next[row] as usize;
            (own_columns[to], own_values[to]) = (columns[at], value(row, at));
            next[row] += 1;
        });
        Csr::new(self.rows() as u32, self.cols as u32, offsets, own_columns, own_values)
            .expect("the sliced matrix was a matrix")
    }
}

/// A factor for each vertex such that every value of a square matrix is, bit for bit, the product of
/// those of its column and its row: the inverse root of the number of entries of its row.
#[derive(Debug, PartialEq)]
pub(crate) struct Factors {
    /// Those that differ.
    different: Vec<f32>,
    /// Which of them each vertex has.
    numbers: Vec<u16>,
}

impl Factors {
    /// The factors of a matrix, if it has them.
    pub(crate) fn of(m: CsrRef, cols: usize) -> Option<Self> {
        if m.rows != cols {
            return None;
        }
        let rows = || (0..m.rows).into_par_iter().with_min_len(WINDOW);
        let mut lengths: Vec<usize> = rows().map(|row| m.entries(row).len()).collect();
        lengths.par_sort_unstable();
        lengths.dedup();
        let number = |row: usize| lengths.partition_point(|&len| len < m.entries(row).len());
        let numbers: Option<Vec<u16>> = rows().map(|row| u16::try_from(number(row)).ok()).collect();
        let numbers = numbers?;
        let factor = |&len: &usize| if len == 0 { 0.0 } else { 1.0 / (len as f32).sqrt() };
        let different: Vec<f32> = lengths.iter().map(factor).collect();
        let factor = |vertex: usize| different[usize::from(numbers[vertex])];
        let is_product = |row: usize| {
            m.entries(row).all(|at| {
                let product = factor(m.columns[at] as usize) * factor(row);
                product.to_bits() == m.values[at].to_bits()
            })
        };
        rows().all(is_product).then_some(Self { different, numbers })
    }
}

/// Words as twice as many numbers of 16 bits.
fn halves(words: &[u32]) -> &[u16] {
    bytemuck::cast_slice(words)
}

fn halves_mut(words: &mut [u32]) -> &mut [u16] {
    bytemuck::cast_slice_mut(words)
}

/// Writes entries and how they lie, windows in parallel; values only if there is room for them.
fn fill(m: CsrRef, long: &Long, parts: [&mut [u32]; 6]) {
    let [starts, rows, units, folds, columns, values] = parts;
    units.copy_from_slice(long.units.as_flattened());
    folds.copy_from_slice(long.folds.as_flattened());
    let entries = columns.len() - long.entries;
    let (columns, long_columns) = columns.split_at_mut(entries);
    let valued = usize::from(!values.is_empty());
    let (values, long_values) = values.split_at_mut(valued * entries);

    let windows: Vec<usize> = (0..m.rows.div_ceil(WINDOW))
        .into_par_iter()
        .map(|window| window_rows(m, window).map(|row| short_len(m, row)).sum())
        .collect();
    let first = windows.iter().scan(0, |sum, len| Some(std::mem::replace(sum, *sum + len)));
    let first: Vec<usize> = first.collect();
    (starts.par_chunks_mut(WINDOW / SLICE))
        .zip(rows.par_chunks_mut(WINDOW))
        .zip(split(columns, windows.iter().copied()))
        .zip(split(values, windows.iter().map(|len| valued * len)))
        .enumerate()
        .for_each(|(window, (((starts, rows), columns), values))| {
            order(m, window, rows);
            let mut end = 0;
            for (start, rows) in starts.iter_mut().zip(rows.chunks(SLICE)) {
                *start = word(first[window] + end);
                end = slice(m, window, rows, end, columns, values);
            }
        });

    let lengths = || long.rows.iter().map(|&row| m.entries(row as usize).len());
    (long.rows.par_iter())
        .zip(split(long_columns, lengths()))
        .zip(split(long_values, lengths().map(|len| valued * len)))
        .for_each(|((&row, columns), values)| {
            let entries = m.entries(row as usize);
            columns.copy_from_slice(&m.columns[entries.clone()]);
            let from = &m.values[entries];
            values.copy_from_slice(bytemuck::cast_slice(&from[..values.len()]));
        });
}

fn word(value: usize) -> u32 {
    u32::try_from(value).expect("a matrix has at most 2³¹ entries and rows together")
}

fn window_rows(m: CsrRef, window: usize) -> std::ops::Range<usize> {
    window * WINDOW..m.rows.min((window + 1) * WINDOW)
}

/// The entries of a row that its slice holds.
fn short_len(m: CsrRef, row: usize) -> usize {
    let len = m.entries(row).len();
    if len > SHORT { 0 } else { len }
}

/// Places and lengths of a window's rows, longest first, those of one length in their own order.
fn order(m: CsrRef, window: usize, packed: &mut [u32]) {
    let mut next = [0; SHORT + 2];
    for row in window_rows(m, window) {
        next[SHORT + 1 - short_len(m, row)] += 1;
    }
    for at in 1..next.len() {
        next[at] += next[at - 1];
    }
    packed.fill(ELSEWHERE);
    for (place, row) in window_rows(m, window).enumerate() {
        let len = short_len(m, row);
        let elsewhere = if m.entries(row).len() > SHORT { ELSEWHERE } else { 0 };
        let to = &mut next[SHORT - len];
        packed[*to] = elsewhere | (len as u32) << 16 | place as u32;
        *to += 1;
    }
}

/// Writes the entries of a slice from `at` on, step by step, and returns where they end.
fn slice(
    m: CsrRef,
    window: usize,
    rows: &[u32],
    at: usize,
    columns: &mut [u32],
    values: &mut [u32],
) -> usize {
    let length = |packed: u32| (packed >> 16 & 0x7fff) as usize;
    let mut steps = [0; SHORT];
    let mut end = at;
    for (step, start) in steps.iter_mut().enumerate().take(length(rows[0])) {
        *start = end;
        end += rows.partition_point(|&packed| length(packed) > step);
    }
    for (position, &packed) in rows.iter().enumerate() {
        let row = window * WINDOW + (packed & 0xffff) as usize;
        let entries = m.offsets[row] as usize..m.offsets[row] as usize + length(packed);
        for (entry, start) in entries.zip(steps) {
            columns[start + position] = m.columns[entry];
            if let Some(value) = values.get_mut(start + position) {
                *value = m.values[entry].to_bits();
            }
        }
    }
    end
}

/// Cuts a list into consecutive parts of the given lengths.
fn split(
    mut list: &mut [u32],
    lengths: impl Iterator<Item = usize>,
) -> rayon::vec::IntoIter<&mut [u32]> {
    let parts: Vec<_> = lengths
        .map(|len| {
            let (part, rest) = std::mem::take(&mut list).split_at_mut(len);
            list = rest;
            part
        })
        .collect();
    parts.into_par_iter()
}

#[cfg(test)]
mod tests;
