//! `[model]`: what learns.

use super::names::names;
use super::rule::{Below, Whole};
use super::section::section;
use super::stream::{CombineName, EmbeddingName, MessageName, SamplingName, UpdaterName};

section! {
    /// What learns.
    ModelConfig = "model" {
        /// Which model; if not set, tgn for a stream of events, unless a key that only snapshot
        /// models read is set.
        name: ModelName = ModelName::DEFAULT_OF_SNAPSHOTS;
        /// Width of the hidden state; refused for evolvegcn-o and evolvegcn-h of pygt, which are as wide as the features.
        hidden: usize = 32, Whole(1, 1 << 16);
        /// How many layers; as many as the paper has if not set.
        layers: Option<usize> = None, Whole(1, 64);
        /// Attention heads (dysat, and event models that attend to neighbours or mails).
        heads: usize = 4, Whole(1, 256);
        /// Share of the values that dropout sets to 0 while training.
        dropout: f64 = 0.0, Below(0.0, 1.0);
        /// Size of the Chebyshev filter (gc-lstm).
        k: usize = 2, Whole(1, 64);
        /// How the Laplacian of the Chebyshev filter is normalised (gc-lstm).
        normalisation: Normalisation = Normalisation::Symmetric;
        /// How many snapshots an M-product mixes, the present one included (tm-gcn).
        bandwidth: usize = 5, Whole(1, 1 << 16);
        /// Which source is followed if they differ: pygt or paper for snapshot models, tgl or
        /// pyg (tgn only) for event models.
        variant: Variant = Variant::Pygt;
        /// What turns embeddings into predictions; auto is the reference's for links of events.
        decoder: DecoderName = DecoderName::Auto;
        /// Width of the time encoding (event models); `hidden` if not set.
        time_width: Option<usize> = None, Whole(1, 1 << 16);
        /// What updates memory (tgn, jodie, apan); as the model's reference has it if not set.
        updater: Option<UpdaterName> = None;
        /// What makes a message of memories and an event (tgn, jodie, apan).
        message: MessageName = MessageName::Identity;
        /// What becomes of several messages to a vertex in one batch (tgn, jodie, apan); the last
        /// one stays if not set.
        combine: Option<CombineName> = None;
        /// Mails that a vertex keeps (transformer updater); 10 for apan if not set.
        mailbox: Option<usize> = None, Whole(1, 1 << 10);
        /// What makes embeddings (event models); as the model's reference has it if not set.
        embedding: Option<EmbeddingName> = None;
        /// Neighbours that each layer samples (event models); 10 if not set.
        neighbours: Option<usize> = None, Whole(1, 1 << 12);
        /// Which neighbours are sampled (event models); uniform for tgat and the most recent
        /// for the others if not set.
        sampling: Option<SamplingName> = None;
    }
}

names! {
    /// The models.
    ModelName {
        /// T-GCN.
        Tgcn = "tgcn",
        /// A3T-GCN.
        A3tgcn = "a3tgcn",
        /// GC-LSTM.
        GcLstm = "gc-lstm",
        /// EvolveGCN, the version that evolves weights by themselves.
        EvolveGcnO = "evolvegcn-o",
        /// EvolveGCN, the version that evolves weights by the embeddings.
        EvolveGcnH = "evolvegcn-h",
        /// MPNN-LSTM.
        MpnnLstm = "mpnn-lstm",
        /// CD-GCN.
        CdGcn = "cd-gcn",
        /// WD-GCN.
        WdGcn = "wd-gcn",
        /// TM-GCN.
        TmGcn = "tm-gcn",
        /// DySAT.
        Dysat = "dysat",
        /// TGN, on events.
        Tgn = "tgn",
        /// JODIE, on events.
        Jodie = "jodie",
        /// APAN, on events.
        Apan = "apan",
        /// TGAT, on events.
        Tgat = "tgat",
    }
}

impl ModelName {
    /// The model of a stream of events if none is named.
    pub const DEFAULT_OF_EVENTS: Self = Self::Tgn;

    /// The snapshot model if none is named.
    pub const DEFAULT_OF_SNAPSHOTS: Self = Self::Tgcn;

    /// Whether the model learns from a stream of events rather than from snapshots.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Tgn | Self::Jodie | Self::Apan | Self::Tgat)
    }

    /// Whether the event model remembers vertices between batches.
    pub fn has_memory(self) -> bool {
        matches!(self, Self::Tgn | Self::Jodie | Self::Apan)
    }
}

names! {
    /// Which source is followed if implementations and papers differ.
    Variant {
        /// PyG-Temporal's implementation.
        Pygt = "pygt",
        /// The paper.
        Paper = "paper",
        /// PyG's `TGNMemory` and its example of TGN.
        Pyg = "pyg",
        /// TGL's modules, which follow the papers of the event models.
        Tgl = "tgl",
    }
}

names! {
    /// How a graph Laplacian is normalised.
    Normalisation {
        /// `I - D^-1/2 A D^-1/2`.
        Symmetric = "sym",
        /// `I - D^-1 A`.
        RandomWalk = "rw",
        /// `D - A`.
        Unnormalised = "unnormalised",
    }
}

names! {
    /// What turns embeddings into predictions.
    DecoderName {
        /// What suits the task: linear for vertices, the edge decoder for edges.
        Auto = "auto",
        /// A linear layer on the embedding of a vertex.
        Linear = "linear",
        /// Two layers on the embedding of a vertex.
        Mlp = "mlp",
        /// The scalar product of the embeddings of the two ends of an edge.
        Dot = "dot",
        /// Two layers on the embeddings of the two ends of an edge, side by side.
        Concat = "concat",
    }
}
