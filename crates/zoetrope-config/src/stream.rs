//! The parts of an event model by name, and which of them a model has if nothing is chosen.

use super::names::names;
use super::{ModelConfig, ModelName};

names! {
    /// What updates a row of memory.
    UpdaterName {
        /// A gated recurrent unit.
        Gru = "gru",
        /// A simple recurrent unit.
        Rnn = "rnn",
        /// A long short-term memory.
        Lstm = "lstm",
        /// Attention over the mails that wait (APAN).
        Transformer = "transformer",
    }
}

names! {
    /// What makes a message of the memories of two ends and an event.
    MessageName {
        /// They stand side by side.
        Identity = "identity",
        /// Two linear layers on them.
        Mlp = "mlp",
    }
}

names! {
    /// What becomes of several messages to one vertex in one batch.
    CombineName {
        /// The most recent one stays.
        Last = "last",
        /// Their mean stays.
        Mean = "mean",
    }
}

names! {
    /// What makes embeddings.
    EmbeddingName {
        /// The row of memory, normalised.
        Identity = "identity",
        /// The row of memory, scaled by the time since it was written (JODIE).
        Time = "time",
        /// Attention over sampled neighbours (TGN, TGAT).
        Attention = "attention",
        /// A sum over sampled neighbours (TGN-sum).
        Sum = "sum",
    }
}

names! {
    /// Which neighbours are sampled.
    SamplingName {
        /// The most recent ones.
        Recent = "recent",
        /// Any of the past, each as likely.
        Uniform = "uniform",
    }
}

/// What is in force where a key is not set; for event models.
impl ModelConfig {
    /// What updates memory; None if the model has none.
    pub fn updater_in_force(&self) -> Option<UpdaterName> {
        let usual = match self.name {
            ModelName::Jodie => UpdaterName::Rnn,
            ModelName::Apan => UpdaterName::Transformer,
            _ => UpdaterName::Gru,
        };
        self.name.has_memory().then(|| self.updater.unwrap_or(usual))
    }

    /// What makes embeddings.
    pub fn embedding_in_force(&self) -> EmbeddingName {
        self.embedding.unwrap_or(match self.name {
            ModelName::Jodie => EmbeddingName::Time,
            ModelName::Apan => EmbeddingName::Identity,
            _ => EmbeddingName::Attention,
        })
    }

    /// Whether embeddings read sampled neighbours.
    pub fn reads_neighbours(&self) -> bool {
        matches!(self.embedding_in_force(), EmbeddingName::Attention | EmbeddingName::Sum)
    }

    /// Layers of neighbours that embeddings read: none if they read none, 2 for tgat and 1
    /// otherwise if not set.
    pub fn layers_in_force(&self) -> usize {
        match (self.reads_neighbours(), self.name) {
            (false, _) => 0,
            (true, ModelName::Tgat) => self.layers.unwrap_or(2),
            (true, _) => self.layers.unwrap_or(1),
        }
    }

    /// Whether mails go to the neighbours of the ends as well.
    pub fn delivers_to_neighbours(&self) -> bool {
        self.name == ModelName::Apan
    }

    /// Neighbours that are sampled for each vertex.
    pub fn neighbours_in_force(&self) -> usize {
        self.neighbours.unwrap_or(10)
    }

    /// Which neighbours are sampled.
    pub fn sampling_in_force(&self) -> SamplingName {
        self.sampling.unwrap_or(match self.name {
            ModelName::Tgat => SamplingName::Uniform,
            _ => SamplingName::Recent,
        })
    }
}
