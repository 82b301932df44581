//! `[model]`: what learns.

use super::names::names;
use super::rule::{Below, Whole};
use super::section::section;

section! {
    /// What learns.
    ModelConfig = "model" {
        /// Which model.
        name: ModelName = ModelName::Tgcn;
        /// Width of the hidden state.
        hidden: usize = 32, Whole(1, 1 << 16);
        /// How many layers; as many as the paper has where not set.
        layers: Option<usize> = None, Whole(1, 64);
        /// Attention heads (dysat).
        heads: usize = 4, Whole(1, 256);
        /// Share of the values that dropout sets to 0 while training.
        dropout: f64 = 0.0, Below(0.0, 1.0);
        /// Size of the Chebyshev filter (gc-lstm).
        k: usize = 2, Whole(1, 64);
        /// How the Laplacian of the Chebyshev filter is normalised (gc-lstm).
        normalisation: Normalisation = Normalisation::Symmetric;
        /// How many snapshots an M-product mixes, the present one included (tm-gcn).
        bandwidth: usize = 5, Whole(1, 1 << 16);
        /// Whether the implementation or the paper is followed where they differ.
        variant: Variant = Variant::Pygt;
        /// What turns embeddings into predictions.
        decoder: DecoderName = DecoderName::Auto;
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
    }
}

names! {
    /// Which source is followed where implementation and paper differ.
    Variant {
        /// PyG-Temporal's implementation.
        Pygt = "pygt",
        /// The paper.
        Paper = "paper",
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
