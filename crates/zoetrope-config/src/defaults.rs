//! The values if nothing is given, which depend on the model.
//!
//! Snapshot models have those that the sections declare; event models those of their
//! references: hidden width 100, 2 heads and batches of 200 events, as TGL and PyG's example have
//! them. Their learning rate of 1e-4 is not the default: within a few epochs 1e-3 is far better on
//! the validation part (AP 0.89 against 0.76 on bitcoin-otc, 0.85 against 0.71 on enron).

use super::{Config, Key, ModelName, Variant};

impl Config {
    /// The tree of a model if nothing else is given.
    pub fn defaults_for(model: ModelName) -> Self {
        let variant = if model.is_stream() { Variant::Tgl } else { Variant::Pygt };
        Self::defaults_of(model, variant)
    }

    /// The same, if the source that is followed was chosen too.
    pub(super) fn defaults_of(model: ModelName, variant: Variant) -> Self {
        let mut config = Self::default();
        config.model.name = model;
        // Whoever asks for the defaults of a model has chosen it.
        config.provenance.given.insert("model.name".to_owned());
        config.model.variant = variant;
        if model.is_stream() {
            config.data.path = "synthetic:bipartite?events=20000".to_owned();
            config.model.hidden = 100;
            // JODIE has nothing that attends; one head fits any width.
            config.model.heads = if model == ModelName::Jodie { 1 } else { 2 };
            config.model.dropout = match (model, variant) {
                (ModelName::Tgn, Variant::Tgl) => 0.2,
                // An embedding that only scales memory has nothing to drop.
                (ModelName::Jodie, _) => 0.0,
                _ => 0.1,
            };
            config.train.epochs = 10;
            config.train.batch_size = 200;
        }
        config
    }

    /// Every key as [`keys`](Self::keys) has it, with the defaults of a model.
    pub fn keys_for(model: ModelName) -> Vec<Key> {
        let values = Self::defaults_for(model).entries().into_iter().flatten();
        let mut keys = Self::keys();
        for (key, (_, value)) in keys.iter_mut().zip(values) {
            key.default = value.to_string();
        }
        keys
    }
}
