//! Messages: the mails that wait for the vertices of a batch, put on the tape.
//!
//! A message is `[s_i, s_j, e_ij, φ(t − t_i)]`, `t` being the event's time and `t_i` the time up to
//! which the memory of vertex i remembers. Its first three parts are constants and are written
//! straight into the tape's memory; only the encoding of time carries a gradient.

use std::sync::Arc;

use hashbrown::HashMap;
use rayon::prelude::*;
use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::{Activation, Var};

use super::cell::CellInput;
use super::reused::Reused;
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Linear;
use crate::memory::{Combine, EventData, EventMail, VertexState};
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
    /// Where the messages of each vertex with mail begin.
    offsets: Vec<u32>,
    /// The vertex with mail of each message, by place; used where messages are averaged.
    vertex_of_message: Reused<Vec<u32>>,
    deltas: Reused<Vec<f64>>,
    /// The events whose features messages hold, each once; empty where they hold means or none.
    distinct: Vec<usize>,
    row_of_event: HashMap<usize, u32>,
    /// For each vertex with mail the row of its features: that of its event, or its own.
    feature_rows: Reused<Vec<u32>>,
}

/// What the messages of the vertices with mail consist of, each part in a matrix of its own.
#[derive(Debug)]
pub(super) struct MessageParts {
    /// `[s_i, s_j]` of each vertex.
    pub(super) pair: Var,
    /// Features of events, and the row of each vertex; absent where events have none.
    pub(super) features: Option<Var>,
    pub(super) feature_rows: Arc<Vec<u32>>,
    /// `φ(t − t_i)` of each vertex.
    pub(super) time: Var,
}

impl Mailbag {
    /// Looks up the mails of the vertices of a batch.
    pub(super) fn open(&mut self, batch: &[VertexId], events: EventData<'_>, state: &VertexState) {
        self.vertices.clear();
        self.offsets.clear();
        let (place, times) = (self.place.refill(), self.times.refill());
        let (deltas, vertex_of_message) = (self.deltas.refill(), self.vertex_of_message.refill());
        for &vertex in batch {
            let last_update = state.last_update(vertex);
            let mails = state.waiting(vertex).iter().map(|&mail| EventMail::unpack(mail));
            let (at, start) = (self.vertices.len() as u32, deltas.len() as u32);
            let mut newest = None;
            for time in mails.map(|mail| events.time[mail.event]) {
                deltas.push(time.wrapping_sub(last_update) as f64);
                vertex_of_message.push(at);
                newest = newest.max(Some(time));
            }
            place.push(if newest.is_some() { at } else { u32::MAX });
            times.push(newest.unwrap_or(last_update));
            if newest.is_some() {
                self.vertices.push(vertex);
                self.offsets.push(start);
            }
        }
        let none = self.vertices.len() as u32;
        self.offsets.push(deltas.len() as u32);
        place.iter_mut().filter(|place| **place == u32::MAX).for_each(|place| *place = none);
        self.find_features(state);
    }

    /// Finds the distinct events of the mails. An event leaves a mail at both of its ends.
    fn find_features(&mut self, state: &VertexState) {
        self.distinct.clear();
        self.row_of_event.clear();
        let options = state.options();
        let (rows, single) = (self.feature_rows.refill(), options.combine == Combine::Last);
        if !single || options.features == 0 {
            rows.extend(0..self.vertices.len() as u32);
            return;
        }
        for &vertex in &self.vertices {
            let event = EventMail::unpack(state.waiting(vertex)[0]).event;
            let next = self.distinct.len() as u32;
            let row = *self.row_of_event.entry(event).or_insert(next);
            if row == next {
                self.distinct.push(event);
            }
            rows.push(row);
        }
    }

    /// What a message consists of, for each vertex with mail, of which there must be one.
    pub(super) fn parts(
        &self,
        forward: &mut Forward<'_>,
        time: &TimeEncoder,
        events: EventData<'_>,
        state: &VertexState,
    ) -> Result<MessageParts, NnError> {
        let encoded = time.encode(forward, self.deltas.shared())?;
        let time = if self.several() { self.mean(forward, encoded)? } else { encoded };
        let (memory, width) = (state.options().width, state.options().features);
        let single = !self.several();
        let pair = gathered(forward, self.vertices.len(), 2 * memory, |at, row| {
            let (own, rest) = row.split_at_mut(memory);
            own.copy_from_slice(state.memory(self.vertices[at]));
            match single {
                true => rest.copy_from_slice(state.mail(self.vertices[at], 0, events)[1]),
                false => self.average(at, events, state, |[_, other, _]| other, rest),
            }
        });
        let features = (width > 0).then(|| match self.distinct.is_empty() {
            false => gathered(forward, self.distinct.len(), width, |at, row| {
                row.copy_from_slice(events.features_of(self.distinct[at]));
            }),
            true => gathered(forward, self.vertices.len(), width, |at, row| {
                self.average(at, events, state, |[.., features]| features, row);
            }),
        });
        Ok(MessageParts { pair, features, feature_rows: self.feature_rows.shared().clone(), time })
    }

    fn several(&self) -> bool {
        self.vertex_of_message.shared().len() > self.vertices.len()
    }

    /// The mean over the mails of a vertex of a part of them.
    fn average<'a>(
        &self,
        at: usize,
        events: EventData<'a>,
        state: &'a VertexState,
        part: impl Fn([&'a [f32]; 3]) -> &'a [f32],
        row: &mut [f32],
    ) {
        let count = (self.offsets[at + 1] - self.offsets[at]) as usize;
        row.fill(0.0);
        for index in 0..count {
            let values = part(state.mail(self.vertices[at], index, events));
            row.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        row.iter_mut().for_each(|sum| *sum /= count as f32);
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
        let (encoded, several) = (time.encode(forward, self.deltas.shared())?, self.several());
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
        let vertex_of = self.vertex_of_message.shared();
        if each || vertex_of.len() == self.vertices.len() {
            return gathered(forward, vertex_of.len(), width, |message, row| {
                let at = vertex_of[message] as usize;
                let index = message - self.offsets[at] as usize;
                write_side_by_side(state.mail(self.vertices[at], index, events), row);
            });
        }
        gathered(forward, self.vertices.len(), width, |at, row| {
            let (own, rest) = row.split_at_mut(memory);
            own.copy_from_slice(state.memory(self.vertices[at]));
            let (other, features) = rest.split_at_mut(memory);
            self.average(at, events, state, |[_, other, _]| other, other);
            self.average(at, events, state, |[.., features]| features, features);
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

/// Writes the parts of a mail into a row that is as wide as all.
pub(super) fn write_side_by_side(parts: [&[f32]; 3], mut row: &mut [f32]) {
    for part in parts {
        let (own, rest) = row.split_at_mut(part.len());
        own.copy_from_slice(part);
        row = rest;
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
