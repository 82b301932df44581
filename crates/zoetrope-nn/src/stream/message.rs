//! Messages: the mails that wait for the vertices of a batch, put on the tape.
//!
//! A message is `[s_i, s_j, e_ij, φ(t − t_i)]`, `t` being the event's time and `t_i` the time up to
//! which the memory of vertex i remembers. Its first three parts are constants and are written
//! straight into the tape's memory; only the encoding of time carries a gradient.

use rayon::prelude::*;
use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::{Activation, Var};

use super::cell::CellInput;
use super::reused::Reused;
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Linear;
use crate::memory::{EventData, EventMail, VertexState};
use crate::parameters::Builder;

/// Rows that one task writes.
const BLOCK: usize = 64;

/// Two linear layers on messages, the MLP of the TGN paper's code.
///
/// `relu(x·W₀ᵀ + b₀)·W₂ᵀ + b₂`. Parameters `mlp.0.*` and `mlp.2.*`, the hidden layer half as wide as
/// a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageLayers {
    first: Linear,
    second: Linear,
}

impl MessageLayers {
    pub(super) fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize) -> Self {
        let hidden = (inputs / 2).max(1);
        Self {
            first: Linear::new(&mut builder.child("mlp.0"), inputs, hidden),
            second: Linear::new(&mut builder.child("mlp.2"), hidden, outputs),
        }
    }

    fn apply(&self, forward: &mut Forward<'_>, [left, right]: [Var; 2]) -> Result<Var, NnError> {
        let (weight, bias) = (self.first.weight(forward), self.first.bias(forward));
        let tape = &mut *forward.tape;
        let (split, end) = (tape.shape(left).cols, tape.shape(weight).cols);
        let (first, second) = (tape.columns(weight, 0..split)?, tape.columns(weight, split..end)?);
        let share = tape.linear(left, first, Some(bias), Activation::Identity)?;
        let hidden = tape.linear_plus(right, second, None, Some(share), Activation::Relu)?;
        self.second.apply(forward, hidden, Activation::Identity)
    }
}

/// The mails of a batch: which vertices have any, and when these were sent.
#[derive(Debug, Default)]
pub(super) struct Mailbag {
    /// The vertices with mail, in the order of the batch's vertices.
    pub(super) vertices: Vec<VertexId>,
    /// For each vertex of the batch its place among those, or their number where it has no mail.
    pub(super) place: Reused<Vec<u32>>,
    /// The time up to which each vertex of the batch remembers with its mails.
    pub(super) times: Reused<Vec<Time>>,
    /// The events that wait, where mails are events: of each vertex with mail, one after another.
    events: Vec<EventMail>,
    /// Where the events of each vertex with mail begin.
    offsets: Vec<u32>,
    /// The vertex with mail of each message, by place; used where messages are averaged.
    vertex_of_message: Reused<Vec<u32>>,
    deltas: Reused<Vec<f64>>,
}

impl Mailbag {
    /// Looks up the mails of the vertices of a batch.
    pub(super) fn open(&mut self, batch: &[VertexId], events: EventData<'_>, state: &VertexState) {
        self.vertices.clear();
        self.events.clear();
        self.offsets.clear();
        let (place, times) = (self.place.refill(), self.times.refill());
        let (deltas, vertex_of_message) = (self.deltas.refill(), self.vertex_of_message.refill());
        for &vertex in batch {
            let last_update = state.last_update(vertex);
            let at = self.vertices.len() as u32;
            let (start, mut newest) = (self.events.len() as u32, None);
            let mut send = |time: Time| {
                deltas.push(time.wrapping_sub(last_update) as f64);
                vertex_of_message.push(at);
                newest = newest.max(Some(time));
            };
            match state.rings() {
                Some(rings) if rings.filled(vertex) > 0 => {
                    send(state.origin().wrapping_add(rings.time(vertex, rings.newest(vertex))));
                }
                Some(_) => {}
                None => {
                    let mails = state.waiting_events(vertex);
                    for mail in mails.iter().map(|&packed| EventMail::unpack(packed)) {
                        send(events.time[mail.event]);
                        self.events.push(mail);
                    }
                }
            }
            place.push(if newest.is_some() { at } else { u32::MAX });
            times.push(newest.unwrap_or(last_update));
            if newest.is_some() {
                self.vertices.push(vertex);
                self.offsets.push(start);
            }
        }
        let none = self.vertices.len() as u32;
        self.offsets.push(self.events.len() as u32);
        place.iter_mut().filter(|place| **place == u32::MAX).for_each(|place| *place = none);
    }

    /// A message for each vertex with mail, of which there must be one.
    pub(super) fn messages(
        &self,
        forward: &mut Forward<'_>,
        layers: Option<&MessageLayers>,
        time: &TimeEncoder,
        events: EventData<'_>,
        state: &VertexState,
    ) -> Result<CellInput, NnError> {
        let encoded = time.encode(forward, self.deltas.shared())?;
        let several = self.vertex_of_message.shared().len() > self.vertices.len();
        let Some(layers) = layers else {
            let mail = self.constants(forward, events, state, false);
            let encoded = if several { self.mean(forward, encoded)? } else { encoded };
            return Ok(CellInput::Pair([mail, encoded]));
        };
        let mail = self.constants(forward, events, state, several);
        let message = layers.apply(forward, [mail, encoded])?;
        Ok(CellInput::Whole(if several { self.mean(forward, message)? } else { message }))
    }

    /// The mean over the messages of each vertex.
    fn mean(&self, forward: &mut Forward<'_>, messages: Var) -> Result<Var, NnError> {
        let rows = self.vertices.len();
        let sum = forward.tape.scatter_add(messages, self.vertex_of_message.shared(), rows)?;
        let share = forward.tape.filled(rows, 1, |shares| {
            let counts = self.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as f32);
            shares.iter_mut().zip(counts).for_each(|(share, count)| *share = 1.0 / count);
        });
        Ok(forward.tape.row_scale(sum, share)?)
    }

    /// `[s_i, s_j, e_ij]` of each vertex with mail (the mean of several), or of each message.
    fn constants(
        &self,
        forward: &mut Forward<'_>,
        events: EventData<'_>,
        state: &VertexState,
        each: bool,
    ) -> Var {
        let memory = state.options().width;
        let width = 2 * memory + state.options().features;
        if let Some(rings) = state.rings() {
            return gathered(forward, self.vertices.len(), width, |at, row| {
                let vertex = self.vertices[at];
                row.copy_from_slice(rings.row(vertex, rings.newest(vertex)));
            });
        }
        let part = |mail: EventMail, row: &mut [f32]| {
            let (src, dst) = (events.src[mail.event], events.dst[mail.event]);
            let (own, other) = if mail.is_source { (src, dst) } else { (dst, src) };
            row[..memory].copy_from_slice(state.memory(own));
            row[memory..2 * memory].copy_from_slice(state.memory(other));
            row[2 * memory..].copy_from_slice(events.features_of(mail.event));
        };
        if each || self.events.len() == self.vertices.len() {
            let rows = self.events.len();
            return gathered(forward, rows, width, |at, row| part(self.events[at], row));
        }
        gathered(forward, self.vertices.len(), width, |at, row| {
            let own = &self.events[self.offsets[at] as usize..self.offsets[at + 1] as usize];
            row[..memory].copy_from_slice(state.memory(self.vertices[at]));
            let rest = &mut row[memory..];
            rest.fill(0.0);
            for &EventMail { event, is_source } in own {
                let other = if is_source { events.dst[event] } else { events.src[event] };
                let values = state.memory(other).iter().chain(events.features_of(event));
                rest.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            rest.iter_mut().for_each(|sum| *sum /= own.len() as f32);
        })
    }

    /// The rows of memory of the vertices with mail, or their cell rows.
    pub(super) fn state_rows<'a>(
        &self,
        forward: &mut Forward<'_>,
        width: usize,
        row_of: impl Fn(VertexId) -> &'a [f32] + Sync,
    ) -> Var {
        gathered(forward, self.vertices.len(), width, |at, row| {
            row.copy_from_slice(row_of(self.vertices[at]));
        })
    }
}

/// A constant whose rows are written one by one.
pub(super) fn gathered(
    forward: &mut Forward<'_>,
    rows: usize,
    width: usize,
    write: impl Fn(usize, &mut [f32]) + Sync,
) -> Var {
    forward.tape.filled(rows, width, |values| {
        if width == 0 {
            return;
        }
        values.par_chunks_mut(BLOCK * width).enumerate().for_each(|(block, values)| {
            for (at, row) in values.chunks_exact_mut(width).enumerate() {
                write(block * BLOCK + at, row);
            }
        });
    })
}
