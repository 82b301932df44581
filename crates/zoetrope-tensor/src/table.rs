//! Rows that outlive a tape: what is remembered between steps, and what never changes.
//!
//! A [`Table`] is written and read by lists of rows; it lies where the tape that reads it computes,
//! so that a step moves rows on its own device and the host sends lists only. What is put together
//! from tables is a list of [`PickedColumns`]s side by side.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::cuda::{Gpu, Scratch, View};
use crate::device::Device;
use crate::matrix::Shape;
use crate::{cpu, cuda};

/// The most parts of a row.
pub(crate) const MOST_PARTS: usize = 3;

/// Rows of f32 values, on the host or on a GPU.
#[derive(Debug, Clone)]
pub struct Table {
    width: usize,
    rows: usize,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    /// Zeros that the system commits page by page when they are first written.
    Host(Vec<f32>),
    Device(Gpu, Buffer),
}

impl Default for Table {
    fn default() -> Self {
        Self::of(0, Vec::new())
    }
}

impl Table {
    /// A table of zeros.
    pub fn new(device: &Device, rows: usize, width: usize) -> Self {
        let place = match device {
            Device::Cpu => Place::Host(vec![0.0; rows * width]),
            Device::Cuda(gpu) => {
                let mut values = Buffer::on_device(gpu, rows * width);
                values.clear();
                Place::Device(gpu.clone(), values)
            }
        };
        Self { width, rows, place }
    }

    /// A table of the host with the given values, row by row.
    ///
    /// # Panics
    /// If the values are not whole rows.
    pub fn of(width: usize, values: Vec<f32>) -> Self {
        let rows = values.len().checked_div(width).unwrap_or(0);
        assert_eq!(rows * width, values.len(), "whole rows");
        Self { width, rows, place: Place::Host(values) }
    }

    /// The values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes held, whether or not the system has committed them.
    pub fn bytes(&self) -> usize {
        match &self.place {
            Place::Host(values) => 4 * values.capacity(),
            Place::Device(_, values) => values.bytes(),
        }
    }

    /// All rows, as a part of others.
    pub fn all(&self) -> Source<'_> {
        self.columns(0, self.width)
    }

    /// Some columns of all rows.
    ///
    /// # Panics
    /// If there are no such columns.
    pub fn columns(&self, start: usize, width: usize) -> Source<'_> {
        assert!(
            start + width <= self.width,
            "columns {start} to {} of {}",
            start + width,
            self.width
        );
        let values = match &self.place {
            Place::Host(values) => Values::Host(values),
            Place::Device(_, values) => Values::Device(values.view()),
        };
        Source { values, stride: self.width, start, width, rows: self.rows }
    }

    /// Copies of some rows on the host, one after another; waits for a GPU.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn read(&self, rows: &[u32]) -> Vec<f32> {
        let pick = |values: &[f32]| {
            rows.iter()
                .flat_map(|&row| &values[row as usize * self.width..][..self.width])
                .copied()
                .collect()
        };
        match &self.place {
            Place::Host(values) => pick(values),
            Place::Device(_, values) => pick(&values.to_vec()),
        }
    }

    /// Overwrites some rows, each named once, with rows of the host.
    ///
    /// # Panics
    /// If there is no such row, or there are not as many.
    pub fn write(&mut self, rows: &[u32], values: &[f32]) {
        let from = Arc::new((0..rows.len() as u32).collect());
        let to = Arc::new(rows.to_vec());
        let width = self.width;
        assert_eq!(rows.len() * width, values.len(), "a row for each");
        match &self.place {
            Place::Host(_) => {
                self.put(&to, &[PickedColumns::new(Source::host(values, width), &from)]);
            }
            Place::Device(gpu, _) => {
                let values = Fixed::new(gpu, width, values);
                self.put(&to, &[PickedColumns::new(values.all(), &from)]);
            }
        }
    }

    /// Sets some rows to 0; on a GPU all, which takes less time than a list of them.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn clear(&mut self, rows: &[u32]) {
        match &mut self.place {
            Place::Host(values) => {
                for &row in rows {
                    values[row as usize * self.width..][..self.width].fill(0.0);
                }
            }
            Place::Device(_, values) => values.clear(),
        }
    }

    /// Overwrites the rows `to`, each named once, with rows put together from `parts`; as
    /// [`Tape::picked`](crate::Tape::picked) otherwise. No part may be of this table.
    ///
    /// # Panics
    /// If lists do not fit each other, or rows are out of range or of another width.
    pub fn put(&mut self, to: &Arc<Vec<u32>>, parts: &[PickedColumns<'_>]) {
        let width: usize = parts.iter().map(|part| part.source.width).sum();
        assert_eq!(width, self.width, "the parts of a row");
        assert!(to.iter().all(|&row| (row as usize) < self.rows), "rows of {}", self.rows);
        expect_parts(parts, to.len());
        match &mut self.place {
            Place::Host(values) => cpu::table::put(parts, to, values),
            Place::Device(gpu, values) => {
                cuda::table::put(gpu, parts, Some(to), to.len(), values.view_mut());
            }
        }
    }

    /// Makes this a copy of other rows on the same device; memory is used again.
    pub(crate) fn copy_from(&mut self, from: Source<'_>) {
        (self.rows, self.width) = (from.rows, from.width);
        match (from.values, &mut self.place) {
            (Values::Host(from), Place::Host(values)) => {
                values.clear();
                values.extend_from_slice(from);
            }
            (Values::Host(from), place) => *place = Place::Host(from.to_vec()),
            (Values::Device(from), Place::Device(gpu, values)) => {
                let block = std::mem::take(values);
                let mut block = if block.room() >= from.len() {
                    block.reshaped(from.len())
                } else {
                    Buffer::on_device(gpu, from.len() + from.len() / 4)
                }
                .reshaped(from.len());
                gpu.copy(from, block.view_mut());
                *values = block;
            }
            (Values::Device(_), Place::Host(_)) => {
                panic!("a table of the GPU that holds the rows")
            }
        }
    }

    /// Moves an empty table to a device.
    pub(crate) fn settle(&mut self, device: &Device) {
        if let (Device::Cuda(gpu), Place::Host(_)) = (device, &self.place) {
            *self = Self {
                width: 0,
                rows: 0,
                place: Place::Device(gpu.clone(), Buffer::on_device(gpu, 0)),
            };
        }
    }
}

/// Rows on a GPU that never change: features of events, say.
#[derive(Debug, Clone)]
pub struct Fixed {
    pub(crate) values: Arc<Scratch>,
    pub(crate) shape: Shape,
}

impl Fixed {
    /// Copies rows to a GPU.
    ///
    /// # Panics
    /// If the values are not whole rows.
    pub fn new(gpu: &Gpu, width: usize, values: &[f32]) -> Self {
        let rows = values.len().checked_div(width).unwrap_or(0);
        assert_eq!(rows * width, values.len(), "whole rows");
        Self { values: Arc::new(gpu.uploaded(values)), shape: Shape::new(rows, width) }
    }

    /// All rows, as a part of others.
    pub fn all(&self) -> Source<'_> {
        Source::whole(Values::Device(self.values.view()), self.shape)
    }
}

/// Columns of some rows that others are put together from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub(crate) values: Values<'a>,
    /// Values from one row to the next.
    pub(crate) stride: usize,
    /// The first column.
    pub(crate) start: usize,
    pub(crate) width: usize,
    rows: usize,
}

/// Where rows are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Values<'a> {
    Host(&'a [f32]),
    Device(View<'a>),
}

impl<'a> Source<'a> {
    /// Rows of the host.
    pub fn host(values: &'a [f32], width: usize) -> Self {
        let rows = values.len().checked_div(width).unwrap_or(0);
        Self::whole(Values::Host(values), Shape::new(rows, width))
    }

    pub(crate) fn whole(values: Values<'a>, Shape { rows, cols }: Shape) -> Self {
        Self { values, stride: cols, start: 0, width: cols, rows }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }
}

/// One part of rows that are put together: columns of a source, and which row of it each takes.
#[derive(Debug, Clone, Copy)]
pub struct PickedColumns<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) rows: &'a Arc<Vec<u32>>,
    pub(crate) terms: Option<&'a Arc<Vec<u32>>>,
}

impl<'a> PickedColumns<'a> {
    /// Row `i` is the row `rows[i]` of the source.
    pub fn new(source: Source<'a>, rows: &'a Arc<Vec<u32>>) -> Self {
        Self { source, rows, terms: None }
    }

    /// Row `i` is the mean of the rows `rows[terms[i]..terms[i + 1]]` of the source, added in that
    /// order; 0 if there is none.
    pub fn means(source: Source<'a>, rows: &'a Arc<Vec<u32>>, terms: &'a Arc<Vec<u32>>) -> Self {
        Self { source, rows, terms: Some(terms) }
    }
}

/// Refuses parts that do not make `count` rows.
pub(crate) fn expect_parts(parts: &[PickedColumns<'_>], count: usize) {
    assert!(parts.len() <= MOST_PARTS, "{} parts", parts.len());
    for part in parts.iter().filter(|part| part.source.width > 0) {
        let named = part.terms.map_or(count, |terms| {
            assert_eq!(terms.len(), count + 1, "where the terms of each row begin");
            assert!(terms.is_sorted(), "terms one after another");
            terms[count] as usize
        });
        assert_eq!(part.rows.len(), named, "a row of the source for each");
        let rows = part.source.rows;
        assert!(part.rows.iter().all(|&row| (row as usize) < rows), "rows of {rows}");
    }
}
