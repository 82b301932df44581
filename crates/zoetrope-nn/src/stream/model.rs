//! A model over events: an updater of memory and an embedding, composed by name and options.

use zoetrope_tensor::{Matrix, Tape, Var};

use super::batch::EventBatch;
use super::options::StreamOptions;
use crate::error::NnError;
use crate::forward::Forward;
use crate::memory::{EventData, StateOptions, Updated, VertexState};
use crate::parameters::Builder;
use std::sync::Arc;

/// The names of the models.
pub const NAMES: [&str; 4] = ["tgn", "jodie", "apan", "tgat"];

/// Embeddings of the questions of a batch, and what memory becomes.
#[derive(Debug)]
pub struct StreamEmbedding {
    /// A row for each question.
    pub rows: Var,
    /// New rows of memory on the tape; see [`StreamEmbedding::take`].
    memory: Option<Var>,
    cell: Option<Var>,
}

impl StreamEmbedding {
    /// Takes the new rows of memory off the tape. Call it before the backward pass.
    pub fn take(&self, tape: &Tape, updated: &mut Updated) {
        let _ = (tape, updated, self.memory, self.cell);
        todo!()
    }
}

/// A model over events.
#[derive(Debug)]
pub struct StreamModel {
    name: &'static str,
    width: usize,
}

impl StreamModel {
    /// Builds the model of that name.
    ///
    /// # Errors
    /// Where an option does not fit the model.
    pub fn build(
        name: &str,
        builder: &mut Builder<'_>,
        options: &StreamOptions,
    ) -> Result<Self, NnError> {
        let _ = (name, builder, options);
        todo!()
    }

    /// The name in the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The width of the embeddings.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many levels of neighbours it reads; 0 for JODIE and APAN.
    pub fn layers(&self) -> usize {
        todo!()
    }

    /// Whether the time of a question changes its embedding, given its neighbours.
    pub fn uses_query_time(&self) -> bool {
        todo!()
    }

    /// The state it keeps of vertices, where it keeps any.
    pub fn state(&self) -> Option<StateOptions> {
        todo!()
    }

    /// Embeds the questions of a batch. `vertex_features` has a row for each vertex of the graph.
    /// `state` is None where the model keeps none. The model itself changes only in lists that it
    /// writes anew for each batch.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn embed(
        &mut self,
        forward: &mut Forward<'_>,
        batch: &EventBatch,
        events: EventData<'_>,
        vertex_features: Option<&Arc<Matrix>>,
        state: Option<&VertexState>,
    ) -> Result<StreamEmbedding, NnError> {
        let _ = (forward, batch, events, vertex_features, state);
        todo!()
    }
}
