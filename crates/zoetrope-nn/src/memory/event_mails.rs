//! Mails that are put together when they are read: a vertex keeps the event only.
//!
//! An event is kept in 8 bytes as `2·(event + 1) + is_source`, so that 0 is "no mail" and the table
//! of millions of vertices consists of pages that the system commits when they are first written.

use zoetrope_graph::VertexId;

use super::options::Combine;
use super::state::EventData;
use crate::stream::EventBatch;

/// An event that waits at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventMail {
    /// The event, by its number in the stream.
    pub(crate) event: usize,
    /// Whether the vertex is its source.
    pub(crate) is_source: bool,
}

impl EventMail {
    pub(crate) fn unpack(packed: u64) -> Self {
        Self { event: (packed >> 1) as usize - 1, is_source: packed & 1 == 1 }
    }

    pub(super) fn pack(self) -> u64 {
        (self.event as u64 + 1) << 1 | u64::from(self.is_source)
    }
}

/// The events that wait at each vertex.
#[derive(Debug, Clone)]
pub(super) enum EventMails {
    /// The most recent one.
    Last(Vec<u64>),
    /// All of the last batch in which the vertex was an end.
    All {
        /// Where the events of each vertex begin in `arena`, and how many they are.
        spans: Vec<[u32; 2]>,
        arena: Vec<u64>,
        /// The part of the arena that spans point to.
        live: usize,
    },
}

impl EventMails {
    pub(super) fn new(combine: Combine, vertices: usize) -> Self {
        match combine {
            Combine::Last => Self::Last(vec![0; vertices]),
            Combine::Mean => {
                Self::All { spans: vec![[0; 2]; vertices], arena: Vec::new(), live: 0 }
            }
        }
    }

    /// The packed mails of a vertex in the order of the events.
    pub(super) fn of(&self, vertex: VertexId) -> &[u64] {
        let vertex = vertex as usize;
        match self {
            Self::Last(last) if last[vertex] == 0 => &[],
            Self::Last(last) => &last[vertex..=vertex],
            Self::All { spans, arena, .. } => {
                let [start, len] = spans[vertex];
                &arena[start as usize..(start + len) as usize]
            }
        }
    }

    /// Puts the events of a batch into the mailboxes of their ends.
    pub(super) fn deliver(&mut self, batch: &EventBatch, events: EventData<'_>) {
        match self {
            Self::Last(last) => {
                for end in &batch.last_events {
                    let mail = EventMail { event: end.event, is_source: end.is_source };
                    last[end.vertex as usize] = mail.pack();
                }
            }
            Self::All { spans, arena, live } => {
                for end in &batch.last_events {
                    let span = &mut spans[end.vertex as usize];
                    *live -= span[1] as usize;
                    *span = [0; 2];
                }
                each_end(batch, events, |vertex, _| spans[vertex as usize][1] += 1);
                for end in &batch.last_events {
                    let [start, len] = &mut spans[end.vertex as usize];
                    *start = arena.len() as u32;
                    arena.resize(arena.len() + *len as usize, 0);
                    *live += *len as usize;
                    *len = 0;
                }
                each_end(batch, events, |vertex, mail| {
                    let [start, len] = &mut spans[vertex as usize];
                    arena[(*start + *len) as usize] = mail.pack();
                    *len += 1;
                });
            }
        }
    }

    /// Moves the events that are still waiting to the front if most are not. `vertices` names
    /// all that have any.
    pub(super) fn compact(&mut self, vertices: &[VertexId]) {
        let Self::All { spans, arena, live } = self else { return };
        if arena.len() < 2 * *live + (1 << 16) {
            return;
        }
        let mut packed = Vec::with_capacity(2 * *live + (1 << 16));
        for &vertex in vertices {
            let [start, len] = &mut spans[vertex as usize];
            let from = *start as usize;
            *start = packed.len() as u32;
            packed.extend_from_slice(&arena[from..from + *len as usize]);
        }
        *arena = packed;
    }

    pub(super) fn clear(&mut self, vertices: &[VertexId]) {
        match self {
            Self::Last(last) => vertices.iter().for_each(|&v| last[v as usize] = 0),
            Self::All { spans, arena, live } => {
                vertices.iter().for_each(|&v| spans[v as usize] = [0; 2]);
                arena.clear();
                *live = 0;
            }
        }
    }

    /// Puts saved mails of a vertex without any in place; false if they are too many.
    pub(super) fn put(&mut self, vertex: VertexId, mails: &[u64]) -> bool {
        match self {
            Self::Last(last) => match mails {
                [] => true,
                &[mail] => {
                    last[vertex as usize] = mail;
                    mail > 1
                }
                _ => false,
            },
            Self::All { spans, arena, live } => {
                spans[vertex as usize] = [arena.len() as u32, mails.len() as u32];
                arena.extend_from_slice(mails);
                *live += mails.len();
                mails.iter().all(|&mail| mail > 1)
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Last(last) => last.capacity() * 8,
            Self::All { spans, arena, .. } => spans.capacity() * 8 + arena.capacity() * 8,
        }
    }
}

/// Both ends of each event of a batch; the one vertex of a loop once, as its source.
fn each_end(batch: &EventBatch, events: EventData<'_>, mut visit: impl FnMut(VertexId, EventMail)) {
    for &event in &batch.events {
        let (src, dst) = (events.src[event], events.dst[event]);
        visit(src, EventMail { event, is_source: true });
        if dst != src {
            visit(dst, EventMail { event, is_source: false });
        }
    }
}
