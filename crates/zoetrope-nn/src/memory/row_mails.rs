//! Mails that are put together when they are sent: rings of rows `[s_i, s_j, e_ij]`.
//!
//! A vertex has `slots` places, filled one after another and then over again; a batch puts at most
//! one mail into each ring. Of several mails that reach a vertex in one batch the one of the latest
//! event stays; at equal times the mail of an end beats that of a neighbour, then the later event,
//! then the destination's. Or their mean stays, with the time of the latest.

use zoetrope_graph::{Time, VertexId};

use super::state::{Combine, EventData, StateOptions, Updated};
use crate::stream::EventBatch;

/// What a vertex gets of a batch.
#[derive(Debug, Clone, Copy)]
struct Received {
    vertex: VertexId,
    /// The event's place in the batch and the side whose mail it is (0 source, 1 destination).
    place: u32,
    side: u8,
    is_end: bool,
    time: Time,
    count: u32,
}

/// The rings of all vertices.
#[derive(Debug, Clone)]
pub(crate) struct RowMails {
    slots: usize,
    memory: usize,
    width: usize,
    rows: Vec<f32>,
    /// Times since the origin.
    times: Vec<Time>,
    /// Mails put so far, less `slots` once twice that is reached: tells fill and next place.
    put: Vec<u32>,
    /// The place in `received` of a vertex, from 1 on; 0 between batches.
    pending: Vec<u32>,
    received: Vec<Received>,
}

impl RowMails {
    pub(super) fn new(options: StateOptions, vertices: usize) -> Self {
        let width = 2 * options.width + options.features;
        Self {
            slots: options.slots,
            memory: options.width,
            width,
            rows: vec![0.0; vertices * options.slots * width],
            times: vec![0; vertices * options.slots],
            put: vec![0; vertices],
            pending: vec![0; vertices],
            received: Vec::new(),
        }
    }

    /// The width of a mail.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many mails a vertex has.
    pub(crate) fn filled(&self, vertex: VertexId) -> usize {
        (self.put[vertex as usize] as usize).min(self.slots)
    }

    /// The mail in one of the filled places.
    pub(crate) fn row(&self, vertex: VertexId, place: usize) -> &[f32] {
        &self.rows[(vertex as usize * self.slots + place) * self.width..][..self.width]
    }

    /// The time since the origin of the mail in one of the filled places.
    pub(crate) fn time(&self, vertex: VertexId, place: usize) -> Time {
        self.times[vertex as usize * self.slots + place]
    }

    /// The place of the newest mail; the vertex must have one.
    pub(crate) fn newest(&self, vertex: VertexId) -> usize {
        (self.put[vertex as usize] as usize - 1) % self.slots
    }

    /// Puts the mails of a batch into rings. `touch` hears of every vertex that gets one.
    pub(super) fn deliver(
        &mut self,
        batch: &EventBatch,
        events: EventData<'_>,
        updated: &Updated,
        combine: Combine,
        origin: Time,
        mut touch: impl FnMut(VertexId),
    ) {
        let count = batch.events.len();
        let lists = &batch.receivers_offsets;
        for (place, &event) in batch.events.iter().enumerate() {
            let (ends, time) = ([events.src[event], events.dst[event]], events.time[event]);
            for side in 0..2 {
                let mail = |vertex, is_end| Received {
                    vertex,
                    place: place as u32,
                    side: side as u8,
                    is_end,
                    time: time.wrapping_sub(origin),
                    count: 1,
                };
                // The one vertex of a loop has one mail.
                if side == 0 || ends[0] != ends[1] {
                    self.receive(mail(ends[side], true), batch, events, updated, combine);
                }
                if lists.len() > 2 * count {
                    let list = side * count + place;
                    let list = lists[list] as usize..lists[list + 1] as usize;
                    for &vertex in &batch.receivers[list] {
                        self.receive(mail(vertex, false), batch, events, updated, combine);
                    }
                }
            }
        }
        for at in 0..self.received.len() {
            let received = self.received[at];
            touch(received.vertex);
            self.keep(received, batch, events, updated, combine);
        }
        self.received.clear();
    }

    /// Notes a mail; the mean is summed up in the ring at once.
    fn receive(
        &mut self,
        mail: Received,
        batch: &EventBatch,
        events: EventData<'_>,
        updated: &Updated,
        combine: Combine,
    ) {
        let pending = &mut self.pending[mail.vertex as usize];
        let first = *pending == 0;
        if first {
            self.received.push(mail);
            *pending = self.received.len() as u32;
        } else {
            let known = &mut self.received[*pending as usize - 1];
            let rank = |m: &Received| (m.time, m.is_end, m.place, m.side);
            let count = known.count + 1;
            if rank(&mail) >= rank(known) {
                *known = mail;
            }
            known.count = count;
        }
        if combine == Combine::Mean {
            let (memory, row) = (self.memory, self.next_row(mail.vertex));
            if first {
                row.fill(0.0);
            }
            let parts = parts(mail, memory, batch, events, updated);
            let values = parts.into_iter().flatten();
            row.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// Makes the mail that a vertex got in this batch the newest of its ring.
    fn keep(
        &mut self,
        mail: Received,
        batch: &EventBatch,
        events: EventData<'_>,
        updated: &Updated,
        combine: Combine,
    ) {
        let (memory, row) = (self.memory, self.next_row(mail.vertex));
        match combine {
            Combine::Mean => {
                let share = 1.0 / mail.count as f32;
                row.iter_mut().for_each(|sum| *sum *= share);
            }
            Combine::Last => {
                let mut row = row;
                for part in parts(mail, memory, batch, events, updated) {
                    let (own, rest) = row.split_at_mut(part.len());
                    own.copy_from_slice(part);
                    row = rest;
                }
            }
        }
        let vertex = mail.vertex as usize;
        let put = self.put[vertex] as usize;
        self.times[vertex * self.slots + put % self.slots] = mail.time;
        self.put[vertex] = wrapped(put + 1, self.slots);
        self.pending[vertex] = 0;
    }

    fn next_row(&mut self, vertex: VertexId) -> &mut [f32] {
        let place = self.put[vertex as usize] as usize % self.slots;
        &mut self.rows[(vertex as usize * self.slots + place) * self.width..][..self.width]
    }

    pub(super) fn clear(&mut self, vertices: &[VertexId]) {
        let (slots, width) = (self.slots, self.slots * self.width);
        for vertex in vertices.iter().map(|&vertex| vertex as usize) {
            self.rows[vertex * width..][..width].fill(0.0);
            self.times[vertex * slots..][..slots].fill(0);
            self.put[vertex] = 0;
        }
    }

    /// The whole ring of a vertex: its rows, its times and how many mails were put.
    pub(super) fn ring(&self, vertex: VertexId) -> (&[f32], &[Time], u32) {
        let (vertex, width) = (vertex as usize, self.slots * self.width);
        let times = &self.times[vertex * self.slots..][..self.slots];
        (&self.rows[vertex * width..][..width], times, self.put[vertex])
    }

    /// Puts a saved ring in place; false where more mails were put than a ring counts.
    pub(super) fn put(&mut self, vertex: VertexId, rows: &[f32], times: &[u64], put: u32) -> bool {
        let (vertex, width) = (vertex as usize, self.slots * self.width);
        self.rows[vertex * width..][..width].copy_from_slice(rows);
        let places = self.times[vertex * self.slots..].iter_mut();
        places.zip(times).for_each(|(place, &time)| *place = time as Time);
        self.put[vertex] = put;
        (put as usize) < 2 * self.slots
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.rows.capacity() + 8 * self.times.capacity() + 8 * self.put.capacity()
    }
}

/// A count of mails, small and with the same fill and next place.
fn wrapped(put: usize, slots: usize) -> u32 {
    (if put >= 2 * slots { put - slots } else { put }) as u32
}

/// `s_i`, `s_j` and `e_ij` of a mail.
fn parts<'a>(
    mail: Received,
    memory: usize,
    batch: &EventBatch,
    events: EventData<'a>,
    updated: &'a Updated,
) -> [&'a [f32]; 3] {
    let (place, own) = (mail.place as usize, usize::from(mail.side));
    let queries = batch.event_queries[place];
    let row = |side: usize| {
        let query = queries[side];
        let row = if updated.per_query { query } else { batch.query_row[query as usize] };
        &updated.memory[row as usize * memory..][..memory]
    };
    [row(own), row(1 - own), events.features_of(batch.events[place])]
}
