//! Mails that are put together when they are sent, `[s_i, s_j, e_ij]`: rings of rows.
//!
//! A vertex has `slots` places, filled one after another and then over again; a batch puts at most
//! one mail into each ring. Only what cannot be read elsewhere is kept of a mail:
//!
//! - the number of its event (of the latest where the mean stays) tells its time, and `e_ij` where
//!   the last mail of a batch stays; a column of means otherwise;
//! - `s_j` always;
//! - `s_i` unless it is the row of memory of the vertex itself as long as the mail waits: events
//!   reach their ends only, which get a new row and a new mail from the same batch, and there is no
//!   older mail ([`StateOptions::own_is_memory`]). That halves the mails of TGN and JODIE.

use zoetrope_graph::VertexId;

use super::event_mails::EventMail;
use super::options::{Combine, StateOptions};
use super::received::{Received, Round};
use super::state::{EventData, Updated};
use crate::stream::EventBatch;

/// The rings of all vertices.
#[derive(Debug, Clone)]
pub(super) struct RowMails {
    slots: usize,
    /// The widths of `s_i` (0 where it is not kept), of `s_j` and of the mean of `e_ij` (0 where it
    /// is read from the event).
    widths: [usize; 3],
    rows: Vec<f32>,
    /// The event of each mail, packed; 0 in an empty place.
    events: Vec<u64>,
    /// The place of the next mail of each vertex; empty where there is one place only.
    next: Vec<u32>,
    round: Round,
}

impl RowMails {
    pub(super) fn new(options: StateOptions, vertices: usize) -> Self {
        let StateOptions { width, features, slots, .. } = options;
        let own = if options.own_is_memory() { 0 } else { width };
        let mean = if options.combine == Combine::Mean { features } else { 0 };
        let places = vertices * slots;
        Self {
            slots,
            widths: [own, width, mean],
            rows: vec![0.0; places * (own + width + mean)],
            events: vec![0; places],
            next: vec![0; if slots > 1 { vertices } else { 0 }],
            round: Round::new(vertices),
        }
    }

    /// The width of what is kept of a mail.
    pub(super) fn width(&self) -> usize {
        self.widths.iter().sum()
    }

    /// The packed events of the mails of a vertex, by place.
    pub(super) fn of(&self, vertex: VertexId) -> &[u64] {
        let places = &self.events[vertex as usize * self.slots..][..self.slots];
        let filled = places.iter().position(|&event| event == 0).unwrap_or(self.slots);
        &places[..filled]
    }

    /// What is kept of the mail in a filled place: `s_i` and the mean of `e_ij`, each empty where
    /// it is read elsewhere, around `s_j`.
    pub(super) fn parts(&self, vertex: VertexId, place: usize) -> [&[f32]; 3] {
        let width = self.width();
        let row = &self.rows[(vertex as usize * self.slots + place) * width..][..width];
        let (own, rest) = row.split_at(self.widths[0]);
        let (other, mean) = rest.split_at(self.widths[1]);
        [own, other, mean]
    }

    /// Puts the mails of a batch into rings. `touch` hears of every vertex that gets one.
    pub(super) fn deliver(
        &mut self,
        batch: &EventBatch,
        events: EventData<'_>,
        options: StateOptions,
        updated: &Updated,
        mut touch: impl FnMut(VertexId),
    ) {
        let mut round = std::mem::take(&mut self.round);
        round.collect(batch, events, options.delivery, |mail, first| {
            if options.combine == Combine::Mean {
                let mut row = self.next_row(mail.vertex);
                if first {
                    row.iter_mut().for_each(|part| part.fill(0.0));
                }
                let sent = mail.parts(batch, events, options, updated);
                for (sums, values) in row.into_iter().zip(sent) {
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        });
        round.finish(|mail| {
            touch(mail.vertex);
            self.keep(mail, batch.events[mail.place as usize], |row| match options.combine {
                Combine::Mean => {
                    let share = 1.0 / mail.count as f32;
                    row.into_iter().flatten().for_each(|sum| *sum *= share);
                }
                Combine::Last => {
                    let sent = mail.parts(batch, events, options, updated);
                    for (kept, values) in row.into_iter().zip(sent) {
                        // A part that is not kept has no width.
                        kept.iter_mut().zip(values).for_each(|(kept, value)| *kept = *value);
                    }
                }
            });
        });
        self.round = round;
    }

    /// Makes a mail the newest of its ring.
    fn keep(&mut self, mail: &Received, event: usize, write: impl FnOnce([&mut [f32]; 3])) {
        write(self.next_row(mail.vertex));
        let vertex = mail.vertex as usize;
        let place = self.next_place(vertex);
        let packed = EventMail { event, is_source: mail.side == 0 }.pack();
        self.events[vertex * self.slots + place] = packed;
        if let Some(next) = self.next.get_mut(vertex) {
            *next = ((place + 1) % self.slots) as u32;
        }
    }

    /// Puts a mail of an event into the empty ring of a vertex.
    pub(super) fn put_first(&mut self, vertex: VertexId, event: u64, mail: [&[f32]; 3]) {
        for (kept, values) in self.next_row(vertex).into_iter().zip(mail) {
            // A part that is not kept has no width.
            kept.iter_mut().zip(values).for_each(|(kept, value)| *kept = *value);
        }
        self.events[vertex as usize * self.slots] = event;
    }

    fn next_place(&self, vertex: usize) -> usize {
        self.next.get(vertex).map_or(0, |&place| place as usize)
    }

    fn next_row(&mut self, vertex: VertexId) -> [&mut [f32]; 3] {
        let (vertex, width) = (vertex as usize, self.width());
        let place = vertex * self.slots + self.next_place(vertex);
        let row = &mut self.rows[place * width..][..width];
        let (own, rest) = row.split_at_mut(self.widths[0]);
        let (other, mean) = rest.split_at_mut(self.widths[1]);
        [own, other, mean]
    }

    pub(super) fn clear(&mut self, vertices: &[VertexId]) {
        let (slots, width) = (self.slots, self.slots * self.width());
        for vertex in vertices.iter().map(|&vertex| vertex as usize) {
            self.rows[vertex * width..][..width].fill(0.0);
            self.events[vertex * slots..][..slots].fill(0);
            self.next.get_mut(vertex).into_iter().for_each(|next| *next = 0);
        }
    }

    /// The whole ring of a vertex: its rows, its packed events and the place of the next mail.
    pub(super) fn ring(&self, vertex: VertexId) -> (&[f32], &[u64], usize) {
        let (vertex, width) = (vertex as usize, self.slots * self.width());
        let events = &self.events[vertex * self.slots..][..self.slots];
        (&self.rows[vertex * width..][..width], events, self.next_place(vertex))
    }

    /// Puts a saved ring in place; false where it is none of this many places.
    pub(super) fn put(&mut self, vertex: VertexId, saved: (&[f32], &[u64], u64)) -> bool {
        let ((rows, events, next), vertex) = (saved, vertex as usize);
        let width = self.slots * self.width();
        self.rows[vertex * width..][..width].copy_from_slice(rows);
        self.events[vertex * self.slots..][..self.slots].copy_from_slice(events);
        self.next.get_mut(vertex).into_iter().for_each(|place| *place = next as u32);
        let filled = self.of(vertex as VertexId).len();
        let expected = filled % self.slots;
        events[filled..].iter().all(|&event| event == 0)
            && events.iter().all(|&event| event != 1)
            && (next == expected as u64 || filled == self.slots && next < self.slots as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        let rows = 4 * self.rows.capacity() + 8 * self.events.capacity();
        rows + 4 * self.next.capacity() + self.round.bytes()
    }
}
