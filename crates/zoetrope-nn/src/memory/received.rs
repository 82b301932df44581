//! Who gets which mail of a batch that is kept as a row.
//!
//! Of several mails that reach a vertex in one batch the one of the latest event stays; at equal
//! times the mail of an end beats that of a neighbour, then the later event, then the
//! destination's. Or their mean stays, as that of the latest event.

use zoetrope_graph::{Time, VertexId};

use super::options::Delivery;
use super::state::EventData;
use crate::stream::EventBatch;

/// What a vertex gets of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received {
    pub(super) vertex: VertexId,
    /// The event's place in the batch and the side whose mail it is (0 source, 1 destination).
    pub(super) place: u32,
    pub(super) side: u8,
    is_end: bool,
    time: Time,
    /// How many mails reached the vertex.
    pub(super) count: u32,
}

impl Received {
    /// The rows of new memory that are `s_i` and `s_j`.
    pub(super) fn rows(&self, batch: &EventBatch, per_query: bool) -> [u32; 2] {
        let own = usize::from(self.side);
        let queries = batch.event_queries[self.place as usize];
        [own, 1 - own].map(|side| {
            let query = queries[side];
            if per_query { query } else { batch.query_row[query as usize] }
        })
    }
}

/// The mails of one batch; empty between batches.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    /// The place in `received` of a vertex, from 1 on; 0 if it is not there.
    pending: Vec<u32>,
    received: Vec<Received>,
}

impl Round {
    pub(super) fn new(vertices: usize) -> Self {
        Self { pending: vec![0; vertices], received: Vec::new() }
    }

    /// Goes over all mails of a batch; `visit` hears of each and of its vertex's place among those
    /// that get any.
    pub(super) fn collect(
        &mut self,
        batch: &EventBatch,
        events: EventData<'_>,
        delivery: Delivery,
        mut visit: impl FnMut(&Received, u32),
    ) {
        let count = batch.events.len();
        let lists: &[u32] = match delivery {
            Delivery::Ends => &[],
            Delivery::Neighbours => &batch.receivers_offsets,
        };
        for (place, &event) in batch.events.iter().enumerate() {
            let (ends, time) = ([events.src[event], events.dst[event]], events.time[event]);
            for side in 0..2 {
                let mut send = |vertex, is_end| {
                    let (place, side) = (place as u32, side as u8);
                    let mail = Received { vertex, place, side, is_end, time, count: 1 };
                    visit(&mail, self.receive(mail));
                };
                // The one vertex of a loop has one mail.
                if side == 0 || ends[0] != ends[1] {
                    send(ends[side], true);
                }
                if lists.len() > 2 * count {
                    let list = side * count + place;
                    let list = lists[list] as usize..lists[list + 1] as usize;
                    batch.receivers[list].iter().for_each(|&vertex| send(vertex, false));
                }
            }
        }
    }

    /// Notes a mail; the place of its vertex.
    fn receive(&mut self, mail: Received) -> u32 {
        let pending = &mut self.pending[mail.vertex as usize];
        if *pending == 0 {
            self.received.push(mail);
            *pending = self.received.len() as u32;
            return *pending - 1;
        }
        let place = *pending - 1;
        let known = &mut self.received[place as usize];
        let rank = |m: &Received| (m.time, m.is_end, m.place, m.side);
        let count = known.count + 1;
        if rank(&mail) >= rank(known) {
            *known = mail;
        }
        known.count = count;
        place
    }

    /// The mail that stays of each vertex, in the order in which vertices got their first.
    pub(super) fn received(&self) -> &[Received] {
        &self.received
    }

    /// Forgets all mails.
    pub(super) fn finish(&mut self) {
        for mail in self.received.drain(..) {
            self.pending[mail.vertex as usize] = 0;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        4 * self.pending.capacity() + size_of::<Received>() * self.received.capacity()
    }
}
