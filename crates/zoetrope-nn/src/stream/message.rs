//! Messages: the mails that wait for the vertices of a batch, put on the tape.
//!
//! A message is `[s_i, s_j, e_ij, φ(t − t_i)]`, `t` being the event's time and `t_i` the time up to
//! which the memory of vertex i remembers. Its first three parts are constants and are copied from
//! the state by lists of rows, on the device of both; only the encoding of time carries a gradient.

use std::sync::Arc;

use hashbrown::HashMap;
use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::{Activation, PickedColumns, Source, Var};

use super::cell::CellInput;
use super::reused::Reused;
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Linear;
use crate::memory::{Combine, EventData, EventMail, VertexState};
use crate::parameters::Builder;

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
    vertices: Reused<Vec<VertexId>>,
    /// For each vertex of the batch its place among those, or their number if it has no mail.
    pub(super) place: Reused<Vec<u32>>,
    /// The time up to which each vertex of the batch remembers with its mails.
    pub(super) times: Reused<Vec<Time>>,
    /// Where the messages of each vertex with mail begin.
    offsets: Reused<Vec<u32>>,
    /// The vertex with mail of each message, by place; used if messages are averaged.
    vertex_of_message: Reused<Vec<u32>>,
    /// The rows of `s_i`, `s_j` and `e_ij` of each message.
    rows: [Reused<Vec<u32>>; 3],
    deltas: Reused<Vec<f64>>,
    /// The events whose features messages hold, each once; empty if they hold means or none.
    distinct: Reused<Vec<u32>>,
    row_of_event: HashMap<u32, u32>,
    /// For each vertex with mail the row of its features: that of its event, or its own.
    feature_rows: Reused<Vec<u32>>,
}

/// What the messages of the vertices with mail consist of, each part in a matrix of its own.
#[derive(Debug)]
pub(super) struct MessageParts {
    /// `[s_i, s_j]` of each vertex.
    pub(super) pair: Var,
    /// Features of events, and the row of each vertex; absent if events have none.
    pub(super) features: Option<Var>,
    pub(super) feature_rows: Arc<Vec<u32>>,
    /// `φ(t − t_i)` of each vertex.
    pub(super) time: Var,
}

impl Mailbag {
    /// Looks up the mails of the vertices of a batch.
    pub(super) fn open(&mut self, batch: &[VertexId], events: EventData<'_>, state: &VertexState) {
        let (vertices, offsets) = (self.vertices.refill(), self.offsets.refill());
        let (place, times) = (self.place.refill(), self.times.refill());
        let (deltas, vertex_of_message) = (self.deltas.refill(), self.vertex_of_message.refill());
        let mut rows = self.rows.each_mut().map(Reused::refill);
        for &vertex in batch {
            let last_update = state.last_update(vertex);
            let mails = state.waiting(vertex).iter().map(|&mail| EventMail::unpack(mail));
            let (at, start) = (vertices.len() as u32, deltas.len() as u32);
            let mut newest = None;
            for (index, time) in mails.map(|mail| events.time[mail.event]).enumerate() {
                deltas.push(time.wrapping_sub(last_update) as f64);
                vertex_of_message.push(at);
                let parts = state.mail_rows(vertex, index, events);
                rows.iter_mut().zip(parts).for_each(|(rows, row)| rows.push(row));
                newest = newest.max(Some(time));
            }
            place.push(if newest.is_some() { at } else { u32::MAX });
            times.push(newest.unwrap_or(last_update));
            if newest.is_some() {
                vertices.push(vertex);
                offsets.push(start);
            }
        }
        let none = vertices.len() as u32;
        offsets.push(deltas.len() as u32);
        place.iter_mut().filter(|place| **place == u32::MAX).for_each(|place| *place = none);
        self.find_features(state);
    }

    /// The number of vertices with mail.
    pub(super) fn len(&self) -> usize {
        self.vertices.shared().len()
    }

    /// Finds the distinct events of the mails. An event leaves a mail at both of its ends.
    fn find_features(&mut self, state: &VertexState) {
        self.row_of_event.clear();
        let (options, count) = (state.options(), self.len() as u32);
        let (rows, distinct) = (self.feature_rows.refill(), self.distinct.refill());
        if options.combine == Combine::Mean || options.features == 0 {
            rows.extend(0..count);
            return;
        }
        for &event in &**self.rows[2].shared() {
            let next = distinct.len() as u32;
            let row = *self.row_of_event.entry(event).or_insert(next);
            if row == next {
                distinct.push(event);
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
        let [.., other, features] = state.mail_parts(events);
        let own = PickedColumns::new(state.memory_rows(), self.vertices.shared());
        let pair = forward.tape.picked(self.len(), &[own, self.part(1, other)]);
        let distinct = self.distinct.shared();
        let features = (features.width() > 0).then(|| {
            if distinct.is_empty() {
                forward.tape.picked(self.len(), &[self.part(2, features)])
            } else {
                forward.tape.picked(distinct.len(), &[PickedColumns::new(features, distinct)])
            }
        });
        Ok(MessageParts { pair, features, feature_rows: self.feature_rows.shared().clone(), time })
    }

    fn several(&self) -> bool {
        self.vertex_of_message.shared().len() > self.len()
    }

    /// A part of the mail of each vertex with mail; the mean of several.
    fn part<'a>(&'a self, which: usize, source: Source<'a>) -> PickedColumns<'a> {
        let rows = self.rows[which].shared();
        if self.several() {
            PickedColumns::means(source, rows, self.offsets.shared())
        } else {
            PickedColumns::new(source, rows)
        }
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
        let [own, other, features] = state.mail_parts(events);
        let Some(layers) = layers else {
            let own = PickedColumns::new(state.memory_rows(), self.vertices.shared());
            let parts = [own, self.part(1, other), self.part(2, features)];
            let mail = forward.tape.picked(self.len(), &parts);
            let encoded = if several { self.mean(forward, encoded)? } else { encoded };
            return Ok(CellInput::Pair([mail, encoded]));
        };
        let [own_rows, other_rows, event_rows] = self.rows.each_ref().map(Reused::shared);
        let parts = [
            PickedColumns::new(own, own_rows),
            PickedColumns::new(other, other_rows),
            PickedColumns::new(features, event_rows),
        ];
        let mail = forward.tape.picked(own_rows.len(), &parts);
        let message = layers.apply(forward, [mail, encoded])?;
        Ok(CellInput::Whole(if several { self.mean(forward, message)? } else { message }))
    }

    /// The mean over the messages of each vertex.
    fn mean(&self, forward: &mut Forward<'_>, messages: Var) -> Result<Var, NnError> {
        let rows = self.len();
        let sum = forward.tape.scatter_add(messages, self.vertex_of_message.shared(), rows)?;
        let share = forward.tape.filled(rows, 1, |shares| {
            let counts = self.offsets.shared().windows(2).map(|pair| (pair[1] - pair[0]) as f32);
            shares.iter_mut().zip(counts).for_each(|(share, count)| *share = 1.0 / count);
        });
        Ok(forward.tape.row_scale(sum, share)?)
    }

    /// Rows of the state for the vertices with mail.
    pub(super) fn state_rows(&self, forward: &mut Forward<'_>, rows: Source<'_>) -> Var {
        forward.tape.picked(self.len(), &[PickedColumns::new(rows, self.vertices.shared())])
    }
}
