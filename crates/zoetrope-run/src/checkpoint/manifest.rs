//! `MANIFEST`: what a checkpoint consists of.
//!
//! Two lines: a JSON document with length and SHA-256 of every file, and the SHA-256 of that line.
//! Whatever byte changes, in a file or in the manifest itself, something no longer agrees.

use serde::{Deserialize, Serialize};

use super::digest::sha256;

/// The name of the file.
pub(super) const NAME: &str = "MANIFEST";

/// More bytes than this are no manifest of ours.
pub(super) const MOST_BYTES: u64 = 1 << 16;

const SCHEMA: u32 = 1;

/// The files of a checkpoint, in the order in which they are written.
pub(super) const FILES: [&str; 4] =
    ["weights.safetensors", "optimiser.safetensors", "hidden.safetensors", "cursor.json"];

/// What a checkpoint consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    schema: u32,
    /// The version of Zoetrope that wrote it.
    version: String,
    /// Updates of the weights before it.
    pub(super) step: u64,
    /// The hash of all state.
    pub(super) state_hash: String,
    /// The vector units that it was computed with; checkpoints of older versions do not say.
    #[serde(default)]
    pub(super) vector_level: Option<String>,
    /// The files.
    pub(super) files: Vec<Part>,
}

/// A file of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Its name.
    pub(super) name: String,
    /// Its length.
    pub(super) bytes: u64,
    /// Its hash.
    sha256: String,
}

impl Part {
    pub(super) fn new(name: &str, content: &[u8]) -> Self {
        Self { name: name.into(), bytes: content.len() as u64, sha256: sha256(content) }
    }

    /// Whether `content` is what was written.
    pub(super) fn is(&self, content: &[u8]) -> bool {
        content.len() as u64 == self.bytes && sha256(content) == self.sha256
    }
}

impl Manifest {
    pub(super) fn new(
        step: u64,
        state_hash: String,
        vector_level: Option<String>,
        files: Vec<Part>,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION").into();
        Self { schema: SCHEMA, version, step, state_hash, vector_level, files }
    }

    /// The bytes of the file.
    pub(super) fn encode(&self) -> Result<Vec<u8>, String> {
        let line = serde_json::to_string(self).map_err(|error| error.to_string())?;
        Ok(format!("{line}\n{}\n", sha256(line.as_bytes())).into_bytes())
    }

    /// The manifest that the bytes of the file are, all of them.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let line = text.split('\n').next().unwrap_or_default();
        if text != format!("{line}\n{}\n", sha256(line.as_bytes())) {
            return Err("its content does not match its own hash".into());
        }
        let manifest: Self = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if manifest.schema != SCHEMA {
            return Err(format!("schema {}, this version reads {SCHEMA}", manifest.schema));
        }
        if !manifest.files.iter().map(|part| part.name.as_str()).eq(FILES) {
            return Err("it lists other files than a checkpoint has".into());
        }
        Ok(manifest)
    }
}
