//! What a file is made of, and which model that is.

use toml::Value;

use super::reader::Entry;
use crate::ModelName;

/// The entries of a file, asked by name.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a>(pub(super) &'a [Entry]);

impl<'a> Parts<'a> {
    pub(super) fn get(self, section: &str, key: &str) -> Option<&'a Entry> {
        self.0.iter().find(|entry| entry.section == section && entry.key == key)
    }

    pub(super) fn value(self, section: &str, key: &str) -> Option<&'a Value> {
        self.get(section, key).map(|entry| &entry.value)
    }

    fn text(self, section: &str, key: &str) -> Option<&'a str> {
        self.value(section, key).and_then(Value::as_str)
    }

    pub(super) fn has_memory(self) -> bool {
        self.text("memory", "type") != Some("none")
    }

    pub(super) fn attends_to_mails(self) -> bool {
        self.text("memory", "memory_update") == Some("transformer")
    }

    pub(super) fn delivers_to_neighbours(self) -> bool {
        self.text("memory", "deliver_to") == Some("neighbors")
    }

    pub(super) fn attends_to_neighbours(self) -> bool {
        self.text("gnn", "arch") == Some("transformer_attention")
    }

    pub(super) fn projects_time(self) -> bool {
        self.text("gnn", "time_transform") == Some("JODIE")
    }

    /// Whether anything is sampled.
    pub(super) fn samples(self) -> bool {
        self.attends_to_neighbours() || self.delivers_to_neighbours()
    }

    /// The model that is made of these parts.
    pub(super) fn model(self) -> ModelName {
        match () {
            () if !self.has_memory() => ModelName::Tgat,
            () if self.attends_to_mails() || self.delivers_to_neighbours() => ModelName::Apan,
            () if self.projects_time() => ModelName::Jodie,
            () => ModelName::Tgn,
        }
    }

    /// The embedding, if it is not the one that the model has anyway.
    pub(super) fn embedding(self) -> Option<&'static str> {
        match (self.model(), self.attends_to_neighbours()) {
            (ModelName::Apan, _) if self.projects_time() => Some("time"),
            (ModelName::Tgn, false) => Some("identity"),
            _ => None,
        }
    }
}
