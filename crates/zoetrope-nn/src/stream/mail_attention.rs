//! Memory updated by attention over the mails of a vertex (Wang and others, "APAN", SIGMOD 2021).
//!
//! For each question (vertex, time), with the mails `m_k` of its ring:
//!
//! ```text
//! q = W_q·s + b_q,   x_k = [m_k, φ(t − t_k)]
//! a = softmax_k(leaky_relu(q·(W_k·x_k + b_k))),   r = Σ a_k·(W_v·x_k + b_v)      for each head
//! s' = relu(dropout(W·norm(r + s) + b))
//! ```
//!
//! Only filled places of a ring are attended to; without any, `r` is 0. Rows belong to questions,
//! because the time of a question changes them.

use zoetrope_graph::Time;
use zoetrope_tensor::{Activation, NeighbourAttention, Neighbourhood, PickedColumns, Var};

use super::attention::{SLOPE, with_bias};
use super::batch::EventBatch;
use super::reused::Reused;
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::{LayerNorm, Linear};
use crate::memory::{EventData, EventMail, VertexState};
use crate::parameters::Builder;
use crate::stream::Convention;

/// TGL's `TransformerMemoryUpdater`.
///
/// Parameters: `w_q`, `mlp` (`M × M`), `w_k`, `w_v` (`M × (mail + T)`), each with `weight` and
/// `bias`; `layer_norm.*`, `time_enc.w.*`.
#[derive(Debug)]
pub(super) struct MailAttention {
    query: Linear,
    key: Linear,
    value: Linear,
    norm: LayerNorm,
    last: Linear,
    time: TimeEncoder,
    heads: usize,
    dropout: f32,
}

/// Lists of a batch.
#[derive(Debug, Default)]
pub(super) struct Rings {
    layout: Reused<Neighbourhood>,
    deltas: Reused<Vec<f64>>,
    /// The rows of `s_i`, `s_j` and `e_ij` of each mail.
    rows: [Reused<Vec<u32>>; 3],
    /// Where the mails of each vertex row begin.
    first: Vec<u32>,
    /// The newest time that each question remembers.
    pub(super) times: Reused<Vec<Time>>,
}

impl MailAttention {
    pub(super) fn new(
        builder: &mut Builder<'_>,
        mail: usize,
        [width, time_width]: [usize; 2],
        heads: usize,
        dropout: f32,
    ) -> Self {
        let time = TimeEncoder::new(&mut builder.child("time_enc"), Convention::Tgl, time_width);
        let inputs = mail + time_width;
        Self {
            query: Linear::new(&mut builder.child("w_q"), width, width),
            key: Linear::new(&mut builder.child("w_k"), inputs, width),
            value: Linear::new(&mut builder.child("w_v"), inputs, width),
            norm: LayerNorm::new(&mut builder.child("layer_norm"), width),
            last: Linear::new(&mut builder.child("mlp"), width, width),
            time,
            heads,
            dropout,
        }
    }

    /// Rows of memory, one for each question.
    pub(super) fn update(
        &self,
        forward: &mut Forward<'_>,
        batch: &EventBatch,
        events: EventData<'_>,
        state: &VertexState,
        rings: &mut Rings,
    ) -> Result<Var, NnError> {
        rings.open(batch, events, state);
        let vertices = &batch.vertices;
        let memory = PickedColumns::new(state.memory_rows(), vertices);
        let memory = forward.tape.picked(vertices.len(), &[memory]);
        let [own, other, features] = state.mail_parts(events);
        let [own_rows, other_rows, event_rows] = rings.rows.each_ref().map(Reused::shared);
        let parts = [
            PickedColumns::new(own, own_rows),
            PickedColumns::new(other, other_rows),
            PickedColumns::new(features, event_rows),
        ];
        let mails = forward.tape.picked(own_rows.len(), &parts);
        let query = self.query.apply(forward, memory, Activation::Identity)?;
        let key = with_bias(forward, self.key)?;
        let call = NeighbourAttention {
            queries: forward.tape.head_products(query, key, self.heads, false)?,
            rows: None,
            features: Some(mails),
            time: Some(self.time.parameters(forward)),
            heads: self.heads,
            scale: 1.0,
            slope: Some(SLOPE),
            dropout: forward.dropout_mask(self.dropout),
        };
        let (layout, deltas) = (rings.layout.shared(), rings.deltas.shared());
        let sums = forward.tape.neighbour_attention(call, layout, deltas)?;
        let value = with_bias(forward, self.value)?;
        let read = forward.tape.head_products(sums, value, self.heads, true)?;
        let before = forward.tape.gather(memory, &batch.query_row)?;
        let sum = forward.tape.add(read, before)?;
        let normalised = self.norm.apply(forward, sum)?;
        let rows = self.last.apply(forward, normalised, Activation::Relu)?;
        // Dropout before relu, as the reference has it, is the same: it scales by what is not
        // negative.
        forward.dropout(rows, self.dropout)
    }
}

impl Rings {
    /// Lists the filled places of the rings of a batch's vertices, and for each question which of
    /// them it reads.
    fn open(&mut self, batch: &EventBatch, events: EventData<'_>, state: &VertexState) {
        let mut rows = self.rows.each_mut().map(Reused::refill);
        self.first.clear();
        for &vertex in &*batch.vertices {
            self.first.push(rows[0].len() as u32);
            for index in 0..state.waiting(vertex).len() {
                let parts = state.mail_rows(vertex, index, events);
                rows.iter_mut().zip(parts).for_each(|(rows, row)| rows.push(row));
            }
        }
        let mails = rows[0].len();
        let layout = self.layout.open();
        layout.offsets.clear();
        layout.offsets.push(0);
        layout.query.clear();
        layout.source.clear();
        layout.event.clear();
        let (deltas, times) = (self.deltas.refill(), self.times.refill());
        for (&row, &asked) in batch.query_row.iter().zip(&batch.query_time) {
            let vertex = batch.vertices[row as usize];
            let mut newest = state.last_update(vertex);
            for (mail, &packed) in (self.first[row as usize]..).zip(state.waiting(vertex)) {
                let sent = events.time[EventMail::unpack(packed).event];
                newest = newest.max(sent);
                deltas.push(asked.wrapping_sub(sent) as f64);
                layout.event.push(mail);
                layout.source.push(mail);
            }
            layout.offsets.push(layout.source.len() as u32);
            layout.query.push(row);
            times.push(newest);
        }
        layout.index(batch.vertices.len(), mails);
    }
}
