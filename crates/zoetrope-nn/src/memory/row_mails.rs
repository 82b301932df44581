//! Mails that are put together when they are sent, `[s_i, s_j, e_ij]`: rings of rows.
//!
//! A vertex has `slots` places, filled one after another and then over again; a batch puts at most
//! one mail into each ring. Only what cannot be read elsewhere is kept of a mail:
//!
//! - the number of its event (of the latest if the mean stays) tells its time, and `e_ij` if
//!   the last mail of a batch stays; a column of means otherwise;
//! - `s_j` always;
//! - `s_i` unless it is the row of memory of the vertex itself as long as the mail waits: events
//!   reach their ends only, which get a new row and a new mail from the same batch, and there is no
//!   older mail ([`StateOptions::own_is_memory`]). That halves the mails of TGN and JODIE.

use std::sync::Arc;

use zoetrope_graph::VertexId;
use zoetrope_tensor::{Device, PickedColumns, Source, Table};

use super::event_mails::EventMail;
use super::options::{Combine, StateOptions};
use super::received::Round;
use super::state::{EventData, Updated};
use crate::stream::{EventBatch, Reused};

/// The rings of all vertices.
#[derive(Debug)]
pub(super) struct RowMails {
    slots: usize,
    /// The widths of `s_i` (0 if it is not kept), of `s_j` and of the mean of `e_ij` (0 if it
    /// is read from the event).
    widths: [usize; 3],
    /// What is kept of the mail in each place.
    rows: Table,
    /// The event of each mail, packed; 0 in an empty place.
    events: Vec<u64>,
    /// The place of the next mail of each vertex; empty if there is one place only.
    next: Vec<u32>,
    round: Round,
    letters: Letters,
}

/// The rows that the mails of a batch are written to and put together from.
#[derive(Debug, Default)]
struct Letters {
    to: Reused<Vec<u32>>,
    own: Reused<Vec<u32>>,
    other: Reused<Vec<u32>>,
    events: Reused<Vec<u32>>,
    /// Where the terms of each mean begin.
    terms: Reused<Vec<u32>>,
    /// Every mail of the batch with its vertex's place, if means stay.
    sent: Vec<(u32, [u32; 3])>,
}

impl RowMails {
    pub(super) fn new(device: &Device, options: StateOptions, vertices: usize) -> Self {
        let StateOptions { width, features, slots, .. } = options;
        let own = if options.own_is_memory() { 0 } else { width };
        let mean = if options.combine == Combine::Mean { features } else { 0 };
        let places = vertices * slots;
        Self {
            slots,
            widths: [own, width, mean],
            rows: Table::new(device, places, own + width + mean),
            events: vec![0; places],
            next: vec![0; if slots > 1 { vertices } else { 0 }],
            round: Round::new(vertices),
            letters: Letters::default(),
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

    /// What is kept of mails, by place: `s_i` and the mean of `e_ij`, each without columns if it
    /// is read elsewhere, around `s_j`.
    pub(super) fn parts(&self) -> [Source<'_>; 3] {
        let [own, other, mean] = self.widths;
        [
            self.rows.columns(0, own),
            self.rows.columns(own, other),
            self.rows.columns(own + other, mean),
        ]
    }

    /// The number among all places of a place of a vertex.
    pub(super) fn place(&self, vertex: VertexId, index: usize) -> u32 {
        (vertex as usize * self.slots + index) as u32
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
        let (mut round, mut letters) =
            (std::mem::take(&mut self.round), std::mem::take(&mut self.letters));
        let means = options.combine == Combine::Mean;
        let per_query = options.per_query;
        letters.sent.clear();
        round.collect(batch, events, options.delivery, |mail, place| {
            if means {
                let [own, other] = mail.rows(batch, per_query);
                let event = batch.events[mail.place as usize] as u32;
                letters.sent.push((place, [own, other, event]));
            }
        });
        let to = letters.to.refill();
        for mail in round.received() {
            touch(mail.vertex);
            let event = batch.events[mail.place as usize];
            let packed = EventMail { event, is_source: mail.side == 0 }.pack();
            to.push(self.next(mail.vertex, packed));
        }
        if means {
            letters.group(round.received().len());
        } else {
            letters.list(round.received().iter().map(|mail| mail.rows(batch, per_query)));
        }
        let [own, other, mean] = self.widths;
        let features = if mean > 0 { events.source() } else { Source::host(&[], 0) };
        let sources = [updated.memory.columns(0, own), updated.memory.columns(0, other), features];
        letters.write(&mut self.rows, sources, means);
        round.finish();
        (self.round, self.letters) = (round, letters);
    }

    /// The place of the next mail of a vertex, which becomes the newest of its ring.
    fn next(&mut self, vertex: VertexId, packed: u64) -> u32 {
        let place = self.next_place(vertex as usize);
        let number = self.place(vertex, place);
        self.events[number as usize] = packed;
        if let Some(next) = self.next.get_mut(vertex as usize) {
            *next = ((place + 1) % self.slots) as u32;
        }
        number
    }

    /// Puts mails of events into the empty rings of vertices: (vertex, packed event, other end). The
    /// rows of both are those of memory.
    pub(super) fn put_first(
        &mut self,
        mails: impl Iterator<Item = (VertexId, u64, VertexId)>,
        memory: &Table,
    ) {
        let mut letters = std::mem::take(&mut self.letters);
        let to = letters.to.refill();
        let mut rows = Vec::new();
        for (vertex, packed, other) in mails {
            let place = self.place(vertex, 0);
            self.events[place as usize] = packed;
            to.push(place);
            rows.push([vertex, other]);
        }
        letters.list(rows.into_iter());
        let [own, other, mean] = self.widths;
        debug_assert_eq!(mean, 0, "a mean is not put together from one event");
        let sources = [memory.columns(0, own), memory.columns(0, other), Source::host(&[], 0)];
        letters.write(&mut self.rows, sources, false);
        self.letters = letters;
    }

    fn next_place(&self, vertex: usize) -> usize {
        self.next.get(vertex).map_or(0, |&place| place as usize)
    }

    pub(super) fn clear(&mut self, vertices: &[VertexId]) {
        let slots = self.slots;
        self.rows.clear(&self.places(vertices));
        for vertex in vertices.iter().map(|&vertex| vertex as usize) {
            self.events[vertex * slots..][..slots].fill(0);
            self.next.get_mut(vertex).into_iter().for_each(|next| *next = 0);
        }
    }

    /// All places of some vertices.
    fn places(&self, vertices: &[VertexId]) -> Vec<u32> {
        let places = |&vertex: &VertexId| (0..self.slots).map(move |index| (vertex, index));
        let places = vertices.iter().flat_map(places);
        places.map(|(vertex, index)| self.place(vertex, index)).collect()
    }

    /// Takes the rings of some vertices over, those of all others being empty in both.
    pub(super) fn copy_from(&mut self, other: &Self, vertices: &[VertexId]) {
        let places = Arc::new(self.places(vertices));
        self.rows.put(&places, &[PickedColumns::new(other.rows.all(), &places)]);
        for &place in &*places {
            self.events[place as usize] = other.events[place as usize];
        }
        self.next.clone_from(&other.next);
    }

    /// The whole rings of some vertices: their rows.
    pub(super) fn rows(&self, vertices: &[VertexId]) -> Vec<f32> {
        self.rows.read(&self.places(vertices))
    }

    /// The ring of a vertex: its packed events and the place of the next mail.
    pub(super) fn ring(&self, vertex: VertexId) -> (&[u64], usize) {
        let vertex = vertex as usize;
        (&self.events[vertex * self.slots..][..self.slots], self.next_place(vertex))
    }

    /// Puts the saved rows of rings in place.
    pub(super) fn put_rows(&mut self, vertices: &[VertexId], rows: &[f32]) {
        let places = self.places(vertices);
        self.rows.write(&places, rows);
    }

    /// Puts a saved ring in place; false if it is none of this many places.
    pub(super) fn put(&mut self, vertex: VertexId, events: &[u64], next: u64) -> bool {
        let vertex = vertex as usize;
        self.events[vertex * self.slots..][..self.slots].copy_from_slice(events);
        self.next.get_mut(vertex).into_iter().for_each(|place| *place = next as u32);
        let filled = self.of(vertex as VertexId).len();
        let expected = filled % self.slots;
        events[filled..].iter().all(|&event| event == 0)
            && events.iter().all(|&event| event != 1)
            && (next == expected as u64 || filled == self.slots && next < self.slots as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        let rows = self.rows.bytes() + 8 * self.events.capacity();
        rows + 4 * self.next.capacity() + self.round.bytes()
    }
}

impl Letters {
    /// One mail for each that gets any.
    fn list(&mut self, rows: impl Iterator<Item = [u32; 2]>) {
        let (own, other) = (self.own.refill(), self.other.refill());
        for [first, second] in rows {
            own.push(first);
            other.push(second);
        }
    }

    /// All mails, sorted by the place of their vertex, those of one in the order in which they came.
    fn group(&mut self, vertices: usize) {
        let terms = self.terms.refill();
        terms.resize(vertices + 1, 0);
        for &(place, _) in &self.sent {
            terms[place as usize + 1] += 1;
        }
        for place in 0..vertices {
            terms[place + 1] += terms[place];
        }
        self.sent.sort_by_key(|&(place, _)| place);
        let (own, other, events) = (self.own.refill(), self.other.refill(), self.events.refill());
        for &(_, rows) in &self.sent {
            own.push(rows[0]);
            other.push(rows[1]);
            events.push(rows[2]);
        }
    }

    /// Writes the rows of the mails.
    fn write(&self, table: &mut Table, sources: [Source<'_>; 3], means: bool) {
        let lists = [&self.own, &self.other, &self.events].map(Reused::shared);
        let part = |at: usize| {
            if means {
                PickedColumns::means(sources[at], lists[at], self.terms.shared())
            } else {
                PickedColumns::new(sources[at], lists[at])
            }
        };
        table.put(self.to.shared(), &[part(0), part(1), part(2)]);
    }
}
