//! The memory and the mailbox of every vertex.
//!
//! All tables begin as zeros that the system commits page by page when they are first written, and
//! times are kept as differences from the origin so that zero means "never": a state of millions
//! of vertices costs what its touched vertices cost. A reset clears these and nothing else.
//!
//! Rows lie on the device of the model. What is known without computing (which vertex waits for which
//! event, and since when) stays on the host: only lists of rows, made from it, are sent to the device.

use std::sync::Arc;

use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::{Device, Fixed, PickedColumns, Source, Table};

use super::event_mails::{EventMail, EventMails};
use super::options::{Combine, MailRule, StateOptions};
use super::row_mails::RowMails;
use super::touched::Touched;
use crate::stream::{EventBatch, Reused};

/// The columns of a stream of events.
#[derive(Debug, Clone, Copy)]
pub struct EventData<'a> {
    /// The source of each event.
    pub src: &'a [VertexId],
    /// The destination of each event.
    pub dst: &'a [VertexId],
    /// The time of each event.
    pub time: &'a [Time],
    /// The features of each event, row by row; empty if events have none.
    pub features: &'a [f32],
    /// The width of those rows.
    pub feature_width: usize,
    /// The same rows on the GPU, if the model computes there.
    pub on_gpu: Option<&'a Fixed>,
}

impl<'a> EventData<'a> {
    /// The features of one event.
    pub fn features_of(self, event: usize) -> &'a [f32] {
        &self.features[event * self.feature_width..][..self.feature_width]
    }

    /// The features of all events, where the model computes.
    pub(crate) fn source(self) -> Source<'a> {
        match self.on_gpu {
            Some(features) => features.all(),
            None => Source::host(self.features, self.feature_width),
        }
    }
}

/// New rows of memory that a model computed for a batch, taken off the tape.
#[derive(Debug, Default)]
pub struct Updated {
    /// A row of memory for each vertex of the batch, or for each question if
    /// [`per_query`](StateOptions::per_query).
    pub memory: Table,
    /// A cell row likewise, if the state has cells.
    pub cell: Table,
    /// The time up to which each of these rows remembers.
    pub time: Vec<Time>,
}

/// The mails that wait.
#[derive(Debug)]
pub(super) enum Mails {
    Events(EventMails),
    Rows(Box<RowMails>),
}

/// The memory and the mailbox of every vertex.
#[derive(Debug)]
pub struct VertexState {
    pub(super) device: Device,
    pub(super) options: StateOptions,
    pub(super) vertices: usize,
    pub(super) origin: Time,
    pub(super) memory: Table,
    pub(super) cells: Table,
    /// The time up to which each row remembers, since the origin.
    pub(super) since: Vec<Time>,
    pub(super) touched: Touched,
    pub(super) mails: Mails,
    /// The vertices that a batch writes, and the rows that it writes there.
    written: [Reused<Vec<u32>>; 2],
}

impl VertexState {
    /// An empty state of the processor; `origin` is the time before any event.
    pub fn new(options: StateOptions, vertices: usize, origin: Time) -> Self {
        Self::on(&Device::Cpu, options, vertices, origin)
    }

    /// An empty state of a device.
    pub fn on(device: &Device, options: StateOptions, vertices: usize, origin: Time) -> Self {
        let cells = if options.cells { vertices } else { 0 };
        Self {
            device: device.clone(),
            options,
            vertices,
            origin,
            memory: Table::new(device, vertices, options.width),
            cells: Table::new(device, cells, options.width),
            since: vec![0; vertices],
            touched: Touched::new(vertices),
            mails: match options.mails {
                MailRule::Deferred => Mails::Events(EventMails::new(options.combine, vertices)),
                MailRule::Kept => Mails::Rows(Box::new(RowMails::new(device, options, vertices))),
            },
            written: Default::default(),
        }
    }

    /// The shape.
    pub fn options(&self) -> StateOptions {
        self.options
    }

    /// The time before any event.
    pub fn origin(&self) -> Time {
        self.origin
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// An empty state of the same shape on the same device.
    pub fn fresh(&self) -> Self {
        Self::on(&self.device, self.options, self.vertices, self.origin)
    }

    /// A copy of the rows of memory of some vertices, without the mails that wait; waits for the
    /// device.
    pub fn memory(&self, vertices: &[VertexId]) -> Vec<f32> {
        self.memory.read(vertices)
    }

    /// All rows of memory, by vertex.
    pub(crate) fn memory_rows(&self) -> Source<'_> {
        self.memory.all()
    }

    /// All cell rows, by vertex.
    pub(crate) fn cell_rows(&self) -> Source<'_> {
        self.cells.all()
    }

    /// The time up to which the row of a vertex remembers.
    pub fn last_update(&self, vertex: VertexId) -> Time {
        self.since[vertex as usize].wrapping_add(self.origin)
    }

    /// The events of the mails that wait for a vertex, packed; of one vertex at most `slots` if
    /// mails are put together when they are sent, the place of each being its index.
    pub(crate) fn waiting(&self, vertex: VertexId) -> &[u64] {
        match &self.mails {
            Mails::Events(events) => events.of(vertex),
            Mails::Rows(rows) => rows.of(vertex),
        }
    }

    /// Where `s_i`, `s_j` and `e_ij` of mails stand.
    pub(crate) fn mail_parts<'a>(&'a self, events: EventData<'a>) -> [Source<'a>; 3] {
        let memory = self.memory.all();
        match &self.mails {
            Mails::Events(_) => [memory, memory, events.source()],
            Mails::Rows(rows) => {
                let [own, other, mean] = rows.parts();
                let own = if self.options.own_is_memory() { memory } else { own };
                match self.options.combine {
                    Combine::Last => [own, other, events.source()],
                    Combine::Mean => [own, other, mean],
                }
            }
        }
    }

    /// The rows of [`mail_parts`](Self::mail_parts) that are the mail at an index of
    /// [`waiting`](Self::waiting).
    pub(crate) fn mail_rows(
        &self,
        vertex: VertexId,
        index: usize,
        events: EventData<'_>,
    ) -> [u32; 3] {
        let EventMail { event, is_source } = EventMail::unpack(self.waiting(vertex)[index]);
        match &self.mails {
            Mails::Events(_) => {
                let other = if is_source { events.dst[event] } else { events.src[event] };
                [vertex, other, event as u32]
            }
            Mails::Rows(rows) => {
                let place = rows.place(vertex, index);
                let own = if self.options.own_is_memory() { vertex } else { place };
                match self.options.combine {
                    Combine::Last => [own, place, event as u32],
                    Combine::Mean => [own, place, place],
                }
            }
        }
    }

    /// Whether the row of a vertex with its mail stays as it is until it gets another: mails are put
    /// together when they are sent, one row belongs to a vertex, and the mail is known by its event.
    pub(crate) fn rows_stand_still(&self) -> bool {
        let StateOptions { combine, cells, per_query, .. } = self.options;
        matches!(self.mails, Mails::Rows(_)) && combine == Combine::Last && !cells && !per_query
    }

    /// From now on mails are put together when they are sent, until the state is reset; those that
    /// wait are put together now, all of them from the memory as it is. PyG's memory does the same
    /// when training ends. Changes nothing if mails are kept anyway, nor if the mean of several
    /// waits: that is one over encodings of time, too, and needs the events.
    pub fn keep_mails(&mut self, events: EventData<'_>) {
        if matches!(self.mails, Mails::Rows(_)) || self.options.combine == Combine::Mean {
            return;
        }
        let mut rows = RowMails::new(&self.device, self.options, self.vertices);
        let waiting =
            self.touched.list().iter().filter_map(|&vertex| match *self.waiting(vertex) {
                [event] => Some((vertex, event, self.mail_rows(vertex, 0, events)[1])),
                _ => None,
            });
        rows.put_first(waiting, &self.memory);
        self.mails = Mails::Rows(Box::new(rows));
    }

    /// Makes room for mails that are put together when they are sent.
    pub(super) fn make_rows(&mut self) -> &mut RowMails {
        if matches!(self.mails, Mails::Events(_)) {
            self.mails =
                Mails::Rows(Box::new(RowMails::new(&self.device, self.options, self.vertices)));
        }
        match &mut self.mails {
            Mails::Rows(rows) => rows,
            Mails::Events(_) => unreachable!("just replaced"),
        }
    }

    /// Becomes a copy of another state of the same shape on the same device. Costs time for the
    /// vertices that either has written only.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn copy_from(&mut self, other: &Self) {
        assert!(self.options == other.options && self.vertices == other.vertices, "one shape");
        self.reset();
        let list = Arc::new(other.touched.list().to_vec());
        self.memory.put(&list, &[PickedColumns::new(other.memory.all(), &list)]);
        if self.options.cells {
            self.cells.put(&list, &[PickedColumns::new(other.cells.all(), &list)]);
        }
        for &vertex in &*list {
            self.since[vertex as usize] = other.since[vertex as usize];
            self.touched.mark(vertex);
        }
        match &other.mails {
            Mails::Events(mails) => self.mails = Mails::Events(mails.clone()),
            Mails::Rows(mails) => self.make_rows().copy_from(mails, &list),
        }
    }

    /// Forgets everything and keeps the memory blocks. Costs time for the vertices that were
    /// written only.
    pub fn reset(&mut self) {
        self.memory.clear(self.touched.list());
        if self.options.cells {
            self.cells.clear(self.touched.list());
        }
        for &vertex in self.touched.list() {
            self.since[vertex as usize] = 0;
        }
        match &mut self.mails {
            Mails::Events(events) => events.clear(self.touched.list()),
            Mails::Rows(_) if self.options.mails == MailRule::Deferred => {
                let fresh = EventMails::new(self.options.combine, self.vertices);
                self.mails = Mails::Events(fresh);
            }
            Mails::Rows(rows) => rows.clear(self.touched.list()),
        }
        self.touched.clear();
    }

    /// Writes what a batch computed: new rows of memory for the ends of its events, then the mails
    /// of its events.
    pub fn absorb(&mut self, batch: &EventBatch, events: EventData<'_>, updated: &Updated) {
        let [to, from] = &mut self.written;
        let (vertices, rows) = (to.refill(), from.refill());
        for end in &batch.last_events {
            let row = if self.options.per_query { end.query } else { end.row };
            vertices.push(end.vertex);
            rows.push(row);
            let time = updated.time[row as usize];
            self.since[end.vertex as usize] = time.wrapping_sub(self.origin);
            self.touched.mark(end.vertex);
        }
        let (to, rows) = (to.shared(), from.shared());
        self.memory.put(to, &[PickedColumns::new(updated.memory.all(), rows)]);
        if self.options.cells {
            self.cells.put(to, &[PickedColumns::new(updated.cell.all(), rows)]);
        }
        let (options, touched) = (self.options, &mut self.touched);
        match &mut self.mails {
            Mails::Events(mails) => {
                mails.deliver(batch, events);
                mails.compact(touched.list());
            }
            Mails::Rows(mails) => {
                let touch = |vertex| {
                    touched.mark(vertex);
                };
                mails.deliver(batch, events, options, updated, touch);
            }
        }
    }

    /// The bytes that [`keep_mails`](Self::keep_mails) would hold in addition.
    pub fn bytes_of_kept_mails(&self) -> usize {
        match (&self.mails, self.options.combine) {
            // A row, an event and a place in the round of a batch for each vertex.
            (Mails::Events(_), Combine::Last) => self.vertices * (4 * self.options.width + 12),
            _ => 0,
        }
    }

    /// The bytes held, whether or not the system has committed them.
    pub fn bytes(&self) -> usize {
        let mails = match &self.mails {
            Mails::Events(events) => events.bytes(),
            Mails::Rows(rows) => rows.bytes(),
        };
        let rows = self.memory.bytes() + self.cells.bytes();
        rows + 8 * self.since.capacity() + self.touched.bytes() + mails
    }
}
