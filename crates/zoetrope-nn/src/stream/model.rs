//! An event model: an updater of memory and an embedding, composed by name and options.
//!
//! | name | memory | embedding | reference |
//! | --- | --- | --- | --- |
//! | `tgn` | GRU, the last mail | attention, 1 layer | PyG's example, or TGL |
//! | `jodie` | RNN, the last mail | projection in time | TGL |
//! | `apan` | attention over 10 mails, sent to neighbours too | normalised memory | TGL |
//! | `tgat` | none | attention, 2 layers | TGL |

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use zoetrope_graph::Time;
use zoetrope_tensor::{Matrix, Tape, Var};

use super::batch::EventBatch;
use super::cell::{Cell, CellState};
use super::choices::Choices;
use super::embedding::{BaseRows, Embedding, event_features};
use super::mail_attention::{MailAttention, Rings};
use super::memo::Memo;
use super::message::{Mailbag, MessageLayers};
use super::options::{Convention, MessageKind, StreamOptions, UpdaterKind};
use super::time_encoder::TimeEncoder;
use super::updater::Updater;
use super::vertex_features::VertexFeatures;
use crate::error::NnError;
use crate::forward::Forward;
use crate::memory::{EventData, StateOptions, Updated, VertexState};
use crate::parameters::Builder;
use crate::stage::StageKind;

/// The names of the models.
pub const NAMES: [&str; 4] = ["tgn", "jodie", "apan", "tgat"];

/// Embeddings of the questions of a batch, and what memory becomes.
#[derive(Debug)]
pub struct StreamEmbedding {
    /// A row for each question.
    pub rows: Var,
    /// New rows of memory.
    pub update: MemoryUpdate,
}

/// New rows of memory on the tape.
#[derive(Debug)]
pub struct MemoryUpdate {
    memory: Option<Var>,
    cell: Option<Var>,
    times: Arc<Vec<Time>>,
    per_query: bool,
}

impl MemoryUpdate {
    /// Takes the new rows of memory off the tape. Call it before the backward pass.
    pub fn take(&self, tape: &Tape, updated: &mut Updated) {
        for (var, rows) in [(self.memory, &mut updated.memory), (self.cell, &mut updated.cell)] {
            if let Some(var) = var {
                tape.keep_rows(var, rows);
            }
        }
        updated.time.clear();
        updated.time.extend_from_slice(&self.times);
    }
}

/// What keeps memory.
#[derive(Debug)]
enum Memory {
    /// Nothing does.
    None,
    /// A recurrent cell, for each vertex.
    Cell(Updater, Mailbag, Box<Memo>),
    /// Attention over mails, for each question.
    Mails(MailAttention, Rings),
}

/// An event model.
#[derive(Debug)]
pub struct StreamModel {
    choices: Choices,
    memory: Memory,
    /// Where the parameters of memory stand.
    remembering: Range<usize>,
    features: VertexFeatures,
    embedding: Embedding,
}

impl StreamModel {
    /// Builds the model of that name.
    ///
    /// # Errors
    /// If an option does not fit the model.
    pub fn build(
        name: &str,
        builder: &mut Builder<'_>,
        options: &StreamOptions,
    ) -> Result<Self, NnError> {
        let choices = Choices::of(name, options)?;
        let prefix = match choices.convention {
            Convention::Pyg => "memory",
            Convention::Tgl => "memory_updater",
        };
        let first = builder.position();
        let memory = build_memory(&mut builder.child(prefix), &choices);
        let remembering = first..builder.position();
        let (features, inputs) = match choices.updater {
            None => (VertexFeatures::alone(options.vertex_features), options.vertex_features),
            Some(_) => {
                let (width, hidden) = (options.vertex_features, options.hidden);
                (VertexFeatures::beside(&mut builder.child(prefix), width, hidden), hidden)
            }
        };
        let time = match &memory {
            Memory::Cell(updater, ..) => Some(&updater.time),
            Memory::None | Memory::Mails(..) => None,
        };
        let embedding = Embedding::new(builder, &choices, time, inputs);
        Ok(Self { choices, memory, remembering, features, embedding })
    }

    /// Lets the features of vertices, whose width the options gave, be learned: a row for each of
    /// so many. Adds their parameter behind those that are there.
    pub fn learn_vertex_features(&mut self, builder: &mut Builder<'_>, vertices: usize) {
        self.features.learn(builder, vertices, self.choices.given.vertex_features);
    }

    /// The name in the command line.
    pub fn name(&self) -> &'static str {
        self.choices.name
    }

    /// Which implementation it follows.
    pub fn convention(&self) -> Convention {
        self.choices.convention
    }

    /// The width of the embeddings.
    pub fn width(&self) -> usize {
        self.choices.given.hidden
    }

    /// How many levels of neighbours it reads; 0 for JODIE and APAN.
    pub fn layers(&self) -> usize {
        self.choices.layers
    }

    /// Whether the time of a question changes its embedding, given its neighbours.
    pub fn uses_query_time(&self) -> bool {
        self.choices.uses_query_time()
    }

    /// The state it keeps of vertices, if it keeps any.
    pub fn state(&self) -> Option<StateOptions> {
        self.choices.updater.map(|_| self.choices.state)
    }

    /// The positions of the parameters on which memory depends; the embedding may read some of them,
    /// too. As long as they stand still (see [`Still`](crate::forward::Still)), memory that grows
    /// while the others are trained is the memory that a pass without training grows.
    pub fn memory_parameters(&self) -> Range<usize> {
        self.remembering.clone()
    }

    /// Begins a pass over batches in which weights stay as they are and the state changes by what it
    /// absorbs alone: rows of memory that are computed in it are kept until the vertex gets another
    /// mail. A pass that trains ends it.
    pub fn begin_pass(&mut self) {
        if let Memory::Cell(.., memo) = &mut self.memory {
            memo.begin();
        }
    }

    /// New rows of memory for the vertices of a batch, without embeddings. `state` is None if
    /// the model keeps none. The model itself changes only in lists that it writes anew for each
    /// batch.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn remember(
        &mut self,
        forward: &mut Forward<'_>,
        batch: &EventBatch,
        events: EventData<'_>,
        state: Option<&VertexState>,
    ) -> Result<MemoryUpdate, NnError> {
        let began = Instant::now();
        let state = self.expect(events, state)?;
        let (rows, times, per_query) = match (&mut self.memory, state) {
            (Memory::Cell(updater, bag, memo), Some(state)) => {
                let vertices = &batch.vertices;
                if memo.serves(forward, state) {
                    let hidden = memo.rows(forward, updater, vertices, events, state, bag)?;
                    let rows = CellState { hidden, cell: None };
                    (Some(rows), Arc::clone(memo.times.shared()), false)
                } else {
                    let rows = updater.update(forward, vertices, events, state, bag)?;
                    (Some(rows), Arc::clone(bag.times.shared()), false)
                }
            }
            (Memory::Mails(attention, rings), Some(state)) => {
                let hidden = attention.update(forward, batch, events, state, rings)?;
                let rows = CellState { hidden, cell: None };
                (Some(rows), Arc::clone(rings.times.shared()), true)
            }
            _ => (None, Arc::default(), false),
        };
        let (memory, cell) = (rows.map(|rows| rows.hidden), rows.and_then(|rows| rows.cell));
        if let Some(memory) = memory {
            forward.stage_is_over(StageKind::Remember, 0, memory, memory, began);
        }
        Ok(MemoryUpdate { memory, cell, times, per_query })
    }

    /// Embeds the questions of a batch. `vertex_features` has a row for each vertex of the graph;
    /// the rest is as for [`remember`](Self::remember).
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn embed(
        &mut self,
        forward: &mut Forward<'_>,
        batch: &EventBatch,
        events: EventData<'_>,
        vertex_features: Option<&Arc<Matrix>>,
        state: Option<&VertexState>,
    ) -> Result<StreamEmbedding, NnError> {
        self.expect_features(vertex_features)?;
        let update = forward.remembering(|forward| self.remember(forward, batch, events, state))?;
        let vertices = if update.per_query { &batch.query_vertex } else { &batch.vertices };
        let base = BaseRows {
            rows: self.features.combine(forward, vertex_features, vertices, update.memory)?,
            per_query: update.per_query,
            times: &update.times,
            origin: state.map_or(0, VertexState::origin),
        };
        let width = self.choices.given.event_features;
        let features = match self.choices.layers {
            0 => None,
            _ => event_features(forward, batch.event_features.as_ref(), events, width)?,
        };
        let began = Instant::now();
        let rows = self.embedding.embed(forward, batch, base, features)?;
        forward.stage_is_over(StageKind::Embed, 0, base.rows.unwrap_or(rows), rows, began);
        Ok(StreamEmbedding { rows, update })
    }

    fn refuse<T>(&self, option: &'static str, expected: String, got: String) -> Result<T, NnError> {
        Err(NnError::Option { model: self.choices.name, option, expected, got })
    }

    /// Refuses features of vertices of another width than the model's.
    fn expect_features(&self, vertex_features: Option<&Arc<Matrix>>) -> Result<(), NnError> {
        if self.features.are_learned() {
            return Ok(());
        }
        let width = vertex_features.map_or(0, |features| features.shape().cols);
        match self.choices.given.vertex_features {
            expected if expected == width => Ok(()),
            expected => {
                let (expected, got) = (expected.to_string(), width.to_string());
                self.refuse("the width of vertex features", expected, got)
            }
        }
    }

    /// Refuses data or a state of another shape than the model's; the state if it needs one.
    fn expect<'a>(
        &self,
        events: EventData<'_>,
        state: Option<&'a VertexState>,
    ) -> Result<Option<&'a VertexState>, NnError> {
        let given = &self.choices.given;
        if events.feature_width != given.event_features {
            let (expected, got) = (given.event_features, events.feature_width);
            let option = "the width of event features";
            return self.refuse(option, expected.to_string(), got.to_string());
        }
        let Some(expected) = self.state() else { return Ok(None) };
        match state {
            Some(state) if state.options() == expected => Ok(Some(state)),
            other => {
                let got = other.map(VertexState::options);
                self.refuse("the state", format!("{expected:?}"), format!("{got:?}"))
            }
        }
    }
}

fn build_memory(builder: &mut Builder<'_>, choices: &Choices) -> Memory {
    let Choices { convention, time_width, state, given, .. } = *choices;
    let Some(kind) = choices.updater else { return Memory::None };
    let mail = 2 * state.width + state.features;
    if kind == UpdaterKind::Transformer {
        let widths = [state.width, time_width];
        let attention = MailAttention::new(builder, mail, widths, given.heads, given.dropout);
        return Memory::Mails(attention, Rings::default());
    }
    let time = TimeEncoder::new(&mut builder.child("time_enc"), convention, time_width);
    let layers = (given.message == MessageKind::Mlp).then(|| {
        let mut builder = builder.child("message_function");
        MessageLayers::new(&mut builder, mail + time_width, given.hidden)
    });
    let inputs = if layers.is_some() { given.hidden } else { mail + time_width };
    let name = match (convention, kind) {
        (Convention::Tgl, _) => "updater",
        (Convention::Pyg, UpdaterKind::Rnn) => "rnn",
        (Convention::Pyg, UpdaterKind::Lstm) => "lstm",
        (Convention::Pyg, _) => "gru",
    };
    let cell = Cell::new(&mut builder.child(name), kind, inputs, given.hidden);
    Memory::Cell(Updater { layers, time, cell }, Mailbag::default(), Box::default())
}
