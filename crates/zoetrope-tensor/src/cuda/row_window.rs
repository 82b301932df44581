//! Rows of a matrix of the host on the device, a stretch at a time, copied ahead of their use.
//!
//! Device memory has room for two stretches: products read one, the copy stream brings what is new of the
//! next from page-locked memory. What both have is not sent again. The stretch that is read always begins
//! at the same address, so that a recorded launch finds the rows of whichever stretch was entered; for that
//! the rows of the next one are copied once more on the device, at some fifty times the speed of the bus.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys;

use super::event::Event;
use super::gpu::Gpu;
use super::memory::{Consumer, Scratch};
use super::streaming::Work;
use super::trace::Queue;
use super::transfer::PinnedBlock;
use super::view::ViewMut;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Tape, Value, Var};

/// A window on the rows of a matrix.
#[derive(Debug)]
pub struct RowWindow {
    gpu: Gpu,
    width: usize,
    /// Rows that there is room for.
    rows: usize,
    here: Arc<Scratch>,
    next: Scratch,
    current: Range<usize>,
    coming: Option<Coming>,
    /// Where rows wait for their copies, in turn, and when these are over.
    pinned: [(PinnedBlock, Option<Event>); 2],
    turn: usize,
}

/// Rows on their way.
#[derive(Debug)]
struct Coming {
    rows: Range<usize>,
    /// How many of them, the first ones, are here already.
    kept: usize,
    arrived: Event,
}

impl RowWindow {
    /// A window on `rows` rows of a matrix of so many columns.
    pub fn new(gpu: &Gpu, rows: usize, width: usize) -> Self {
        let take = || gpu.charging(Consumer::Features, || gpu.take(rows * width));
        Self {
            gpu: gpu.clone(),
            width,
            rows,
            here: Arc::new(take()),
            next: take(),
            current: 0..0,
            coming: None,
            pinned: [0, 1].map(|_| (PinnedBlock::new(gpu, rows * width * size_of::<f32>()), None)),
            turn: 0,
        }
    }

    /// Whether some rows were entered.
    pub fn covers(&self, rows: &Range<usize>) -> bool {
        rows.is_empty() || (self.current.start <= rows.start && rows.end <= self.current.end)
    }

    /// From now on no row counts as being here.
    pub fn forget(&mut self) {
        (self.current, self.coming) = (0..0, None);
    }

    /// Whether some rows are where a stretch begins that was entered.
    fn holds(&self, rows: &Range<usize>) -> bool {
        rows.start == self.current.start && rows.end <= self.current.end
    }

    /// The rows of a stretch that have to be sent if `here` was the one before it.
    pub fn new_rows(here: &Range<usize>, rows: &Range<usize>) -> Range<usize> {
        let kept = if here.contains(&rows.start) { here.end.min(rows.end) } else { rows.start };
        kept..rows.end
    }

    /// Begins to copy some rows, unless they are here or on their way. `values` are theirs.
    ///
    /// # Panics
    /// If there is no room for them, or there are fewer values.
    pub fn prefetch(&mut self, values: &[f32], rows: Range<usize>) {
        assert!(rows.len() <= self.rows, "{} rows in room for {}", rows.len(), self.rows);
        let on_way = self.coming.as_ref().is_some_and(|coming| coming.rows == rows);
        if rows.is_empty() || self.holds(&rows) || on_way {
            return;
        }
        let new = Self::new_rows(&self.current, &rows);
        let kept = rows.len() - new.len();
        let values = &values[kept * self.width..rows.len() * self.width];
        let to = kept * self.width;
        let gpu = self.gpu.clone();
        let (pinned, busy) = &mut self.pinned[self.turn];
        self.turn = 1 - self.turn;
        if let Some(busy) = busy.take() {
            busy.wait();
        }
        let from = pinned.filled(bytemuck::cast_slice(values));
        // Until the rows that were here before were taken over from the place that is written now.
        let before = gpu.mark();
        gpu.make_current();
        // SAFETY: stream and event are alive.
        let result = unsafe { sys::cuStreamWaitEvent(gpu.copy_stream(), before.handle(), 0) };
        gpu.attempt("waiting for rows", result);
        let begin = gpu.mark_copies();
        let bytes = size_of_val(values);
        let place = self.next.view_mut().slice(to..to + values.len()).ptr();
        // SAFETY: the source is page-locked memory of as many bytes that is written again only after the
        // event below; the target has as many bytes.
        let result = gpu.spanned("rows", Queue::Copy, |stream| unsafe {
            sys::cuMemcpyHtoDAsync_v2(place, from.cast(), bytes, stream)
        });
        gpu.attempt("copying rows", result);
        gpu.count_uploaded(bytes);
        gpu.count_streamed(bytes);
        gpu.count_streaming(Work::Transfer(bytes), begin, gpu.mark_copies());
        *busy = Some(gpu.mark_copies());
        self.coming = Some(Coming { rows, kept, arrived: gpu.mark_copies() });
    }

    /// Lets what is launched from here on read some rows.
    ///
    /// # Panics
    /// As [`prefetch`](Self::prefetch).
    pub fn enter(&mut self, values: &[f32], rows: Range<usize>) {
        if rows.is_empty() || self.holds(&rows) {
            return;
        }
        self.prefetch(values, rows);
        let Some(Coming { rows, kept, arrived }) = self.coming.take() else { return };
        let gpu = &self.gpu;
        gpu.compute_after(arrived.handle());
        let here = self.here.view();
        if kept > 0 {
            let first = (rows.start - self.current.start) * self.width;
            let len = kept * self.width;
            gpu.copy(here.slice(first..first + len), self.next.view_mut().slice(0..len));
        }
        let len = rows.len() * self.width;
        // Whatever reads these rows was launched before this copy or comes after it.
        gpu.copy(self.next.view().slice(0..len), ViewMut::new(here.ptr(), len));
        self.current = rows;
    }
}

impl Drop for RowWindow {
    fn drop(&mut self) {
        // What is copied from and to goes with this.
        self.gpu.mark_copies().wait();
    }
}

impl Tape {
    /// Rows of a window that were entered, as a constant. They stay until others are entered; `kept` copies
    /// them, so that they stay for as long as the tape.
    ///
    /// # Errors
    /// If they are not here.
    pub fn windowed(
        &mut self,
        window: &RowWindow,
        rows: Range<usize>,
        kept: bool,
    ) -> Result<Var, TensorError> {
        let shape = Shape::new(rows.len(), window.width);
        if !window.covers(&rows) {
            let (index, count) = (rows.start, window.current.end);
            return Err(TensorError::OutOfRange {
                operator: "windowed",
                what: "row",
                index,
                count,
            });
        }
        let first = if rows.is_empty() { 0 } else { rows.start - window.current.start };
        let first = first * window.width;
        let value = if kept {
            let mut copy = self.pool.take(shape.len());
            let from = window.here.view().slice(first..first + shape.len());
            window.gpu.copy(from, copy.view_mut());
            Value::Owned(copy)
        } else {
            Value::Resident(Arc::clone(&window.here), first)
        };
        Ok(self.push(Op::Leaf, shape, value, None, false))
    }
}
