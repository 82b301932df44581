//! The memory and the mailbox of every vertex.
//!
//! All tables begin as zeros that the system commits page by page when they are first written, and
//! times are kept as differences from the origin so that zero means "never": a state of millions
//! of vertices costs what its touched vertices cost. A reset clears these and nothing else.

use zoetrope_graph::{Time, VertexId};

use super::event_mails::{EventMail, EventMails};
use super::options::{Combine, MailRule, StateOptions};
use super::row_mails::RowMails;
use super::touched::Touched;
use crate::stream::EventBatch;

/// The columns of a stream of events.
#[derive(Debug, Clone, Copy)]
pub struct EventData<'a> {
    /// The source of each event.
    pub src: &'a [VertexId],
    /// The destination of each event.
    pub dst: &'a [VertexId],
    /// The time of each event.
    pub time: &'a [Time],
    /// The features of each event, row by row; empty where events have none.
    pub features: &'a [f32],
    /// The width of those rows.
    pub feature_width: usize,
}

impl<'a> EventData<'a> {
    /// The features of one event.
    pub fn features_of(self, event: usize) -> &'a [f32] {
        &self.features[event * self.feature_width..][..self.feature_width]
    }
}

/// New rows of memory that a model computed for a batch, taken off the tape.
#[derive(Debug, Clone, Default)]
pub struct Updated {
    /// A row of memory for each vertex of the batch, or for each question where
    /// [`per_query`](StateOptions::per_query).
    pub memory: Vec<f32>,
    /// A cell row likewise, where the state has cells.
    pub cell: Vec<f32>,
    /// The time up to which each of these rows remembers.
    pub time: Vec<Time>,
}

/// The mails that wait.
#[derive(Debug, Clone)]
pub(super) enum Mails {
    Events(EventMails),
    Rows(RowMails),
}

/// The memory and the mailbox of every vertex.
#[derive(Debug, Clone)]
pub struct VertexState {
    pub(super) options: StateOptions,
    pub(super) vertices: usize,
    pub(super) origin: Time,
    pub(super) memory: Vec<f32>,
    pub(super) cells: Vec<f32>,
    /// The time up to which each row remembers, since the origin.
    pub(super) since: Vec<Time>,
    pub(super) touched: Touched,
    pub(super) mails: Mails,
}

impl VertexState {
    /// An empty state; `origin` is the time before any event.
    pub fn new(options: StateOptions, vertices: usize, origin: Time) -> Self {
        let cells = if options.cells { vertices * options.width } else { 0 };
        Self {
            options,
            vertices,
            origin,
            memory: vec![0.0; vertices * options.width],
            cells: vec![0.0; cells],
            since: vec![0; vertices],
            touched: Touched::new(vertices),
            mails: match options.mails {
                MailRule::Deferred => Mails::Events(EventMails::new(options.combine, vertices)),
                MailRule::Kept => Mails::Rows(RowMails::new(options, vertices)),
            },
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

    /// The row of memory of a vertex, without the mails that wait.
    pub fn memory(&self, vertex: VertexId) -> &[f32] {
        &self.memory[vertex as usize * self.options.width..][..self.options.width]
    }

    /// The cell row of a vertex; empty where the state has none.
    pub fn cell(&self, vertex: VertexId) -> &[f32] {
        if self.cells.is_empty() {
            return &[];
        }
        &self.cells[vertex as usize * self.options.width..][..self.options.width]
    }

    /// The time up to which the row of a vertex remembers.
    pub fn last_update(&self, vertex: VertexId) -> Time {
        self.since[vertex as usize].wrapping_add(self.origin)
    }

    /// The events of the mails that wait for a vertex, packed; of one vertex at most `slots` where
    /// mails are put together when they are sent, the place of each being its index.
    pub(crate) fn waiting(&self, vertex: VertexId) -> &[u64] {
        match &self.mails {
            Mails::Events(events) => events.of(vertex),
            Mails::Rows(rows) => rows.of(vertex),
        }
    }

    /// `s_i`, `s_j` and `e_ij` of the mail at an index of [`waiting`](Self::waiting).
    pub(crate) fn mail<'a>(
        &'a self,
        vertex: VertexId,
        index: usize,
        events: EventData<'a>,
    ) -> [&'a [f32]; 3] {
        let EventMail { event, is_source } = EventMail::unpack(self.waiting(vertex)[index]);
        match &self.mails {
            Mails::Events(_) => {
                let other = if is_source { events.dst[event] } else { events.src[event] };
                [self.memory(vertex), self.memory(other), events.features_of(event)]
            }
            Mails::Rows(rows) => {
                let [own, other, mean] = rows.parts(vertex, index);
                let own = if self.options.own_is_memory() { self.memory(vertex) } else { own };
                match self.options.combine {
                    Combine::Last => [own, other, events.features_of(event)],
                    Combine::Mean => [own, other, mean],
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
    /// when training ends. Changes nothing where mails are kept anyway, nor where the mean of several
    /// waits: that is one over encodings of time, too, and needs the events.
    pub fn keep_mails(&mut self, events: EventData<'_>) {
        if matches!(self.mails, Mails::Rows(_)) || self.options.combine == Combine::Mean {
            return;
        }
        let mut rows = RowMails::new(self.options, self.vertices);
        for &vertex in self.touched.list() {
            if let &[event] = self.waiting(vertex) {
                rows.put_first(vertex, event, self.mail(vertex, 0, events));
            }
        }
        self.mails = Mails::Rows(rows);
    }

    /// Makes room for mails that are put together when they are sent.
    pub(super) fn make_rows(&mut self) -> &mut RowMails {
        if matches!(self.mails, Mails::Events(_)) {
            self.mails = Mails::Rows(RowMails::new(self.options, self.vertices));
        }
        match &mut self.mails {
            Mails::Rows(rows) => rows,
            Mails::Events(_) => unreachable!("just replaced"),
        }
    }

    /// Forgets everything and keeps the memory blocks. Costs time for the vertices that were
    /// written only.
    pub fn reset(&mut self) {
        let width = self.options.width;
        for vertex in self.touched.list().iter().map(|&vertex| vertex as usize) {
            self.memory[vertex * width..][..width].fill(0.0);
            if self.options.cells {
                self.cells[vertex * width..][..width].fill(0.0);
            }
            self.since[vertex] = 0;
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
        let width = self.options.width;
        for end in &batch.last_events {
            let row = if self.options.per_query { end.query } else { end.row } as usize;
            let (from, to) = (row * width, end.vertex as usize * width);
            self.memory[to..to + width].copy_from_slice(&updated.memory[from..from + width]);
            if self.options.cells {
                self.cells[to..to + width].copy_from_slice(&updated.cell[from..from + width]);
            }
            self.since[end.vertex as usize] = updated.time[row].wrapping_sub(self.origin);
            self.touched.mark(end.vertex);
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
        let rows = 4 * (self.memory.capacity() + self.cells.capacity());
        rows + 8 * self.since.capacity() + self.touched.bytes() + mails
    }
}
