//! What a model is built from once its name has filled the options that the user left open.

use super::options::{Convention, EmbeddingKind, MessageKind, StreamOptions, UpdaterKind};
use crate::error::NnError;
use crate::memory::{Combine, Delivery, MailRule, StateOptions};

/// Options without gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices {
    pub(super) name: &'static str,
    pub(super) convention: Convention,
    /// None if the model keeps no memory.
    pub(super) updater: Option<UpdaterKind>,
    pub(super) embedding: EmbeddingKind,
    /// Levels of neighbours.
    pub(super) layers: usize,
    pub(super) time_width: usize,
    pub(super) state: StateOptions,
    pub(super) given: StreamOptions,
}

fn refuse(
    model: &'static str,
    option: &'static str,
    expected: impl Into<String>,
    got: impl std::fmt::Debug,
) -> NnError {
    NnError::Option { model, option, expected: expected.into(), got: format!("{got:?}") }
}

impl Choices {
    /// Fills the gaps with what the model's reference has and checks that all fits.
    pub(super) fn of(name: &str, given: &StreamOptions) -> Result<Self, NnError> {
        let name = super::NAMES.into_iter().find(|known| *known == name).ok_or_else(|| {
            NnError::UnknownModel { name: name.to_owned(), known: super::NAMES.join(", ") }
        })?;
        let (convention, updater, embedding, layers, slots) = match name {
            "tgn" => (Convention::Tgl, Some(UpdaterKind::Gru), EmbeddingKind::Attention, 1, 1),
            "jodie" => (Convention::Tgl, Some(UpdaterKind::Rnn), EmbeddingKind::Time, 0, 1),
            "apan" => {
                (Convention::Tgl, Some(UpdaterKind::Transformer), EmbeddingKind::Identity, 0, 10)
            }
            _ => (Convention::Tgl, None, EmbeddingKind::Attention, 2, 1),
        };
        let embedding = given.embedding.unwrap_or(embedding);
        let reads = matches!(embedding, EmbeddingKind::Attention | EmbeddingKind::Sum);
        let convention = given.convention.unwrap_or(convention);
        let updater = updater.map(|updater| given.updater.unwrap_or(updater));
        let deferred = convention == Convention::Pyg;
        let choices = Self {
            name,
            convention,
            updater,
            embedding,
            layers: given.layers.unwrap_or(if reads { layers.max(1) } else { 0 }),
            time_width: given.time_width.unwrap_or(given.hidden),
            state: StateOptions {
                width: given.hidden,
                cells: updater == Some(UpdaterKind::Lstm),
                features: given.event_features,
                slots: given.mailbox.unwrap_or(slots),
                mails: if deferred { MailRule::Deferred } else { MailRule::Kept },
                combine: given.combine.unwrap_or(Combine::Last),
                delivery: if name == "apan" { Delivery::Neighbours } else { Delivery::Ends },
                per_query: updater == Some(UpdaterKind::Transformer),
            },
            given: *given,
        };
        choices.check_numbers()?;
        choices.check_parts(reads)?;
        Ok(choices)
    }

    fn check_numbers(&self) -> Result<(), NnError> {
        let (model, given) = (self.name, &self.given);
        if given.hidden == 0 {
            return Err(refuse(model, "hidden", "at least 1", given.hidden));
        }
        if self.time_width == 0 {
            return Err(refuse(model, "the time width", "at least 1", self.time_width));
        }
        if given.heads == 0 || !given.hidden.is_multiple_of(given.heads) {
            return Err(refuse(model, "heads", "a divisor of the hidden size", given.heads));
        }
        if !(0.0..1.0).contains(&given.dropout) {
            return Err(refuse(model, "dropout", "from 0 to below 1", given.dropout));
        }
        if self.state.slots == 0 {
            return Err(refuse(model, "the mailbox", "at least 1", self.state.slots));
        }
        Ok(())
    }

    fn check_parts(&self, reads: bool) -> Result<(), NnError> {
        let (model, given) = (self.name, &self.given);
        if self.convention == Convention::Pyg && model != "tgn" {
            return Err(refuse(model, "the convention", "tgl: PyG has no such model", "pyg"));
        }
        if reads && self.layers == 0 || !reads && self.layers > 0 {
            let expected = if reads { "at least 1" } else { "0: it reads no neighbours" };
            return Err(refuse(model, "layers", expected, self.layers));
        }
        let Some(updater) = self.updater else {
            let none = "left out: the model keeps no memory";
            if let Some(updater) = given.updater {
                return Err(refuse(model, "the updater", none, updater));
            }
            if let Some(combine) = given.combine {
                return Err(refuse(model, "combine", none, combine));
            }
            if let Some(mailbox) = given.mailbox {
                return Err(refuse(model, "the mailbox", none, mailbox));
            }
            if given.message != MessageKind::Identity {
                return Err(refuse(model, "the message function", "identity", given.message));
            }
            if !reads || self.embedding == EmbeddingKind::Sum && given.vertex_features == 0 {
                let expected = "attention, or sum if vertices have features";
                return Err(refuse(model, "the embedding", expected, self.embedding));
            }
            return Ok(());
        };
        if updater != UpdaterKind::Transformer {
            // A cell takes the first part of a message for the state of the vertex that reads it.
            if self.state.delivery == Delivery::Neighbours {
                let expected = "transformer: mails that go to neighbours are attended to";
                return Err(refuse(model, "the updater", expected, updater));
            }
            if self.state.slots > 1 {
                let expected = "1: this updater reads the newest mail only";
                return Err(refuse(model, "the mailbox", expected, self.state.slots));
            }
            return Ok(());
        }
        if self.convention == Convention::Pyg {
            return Err(refuse(model, "the convention", "tgl for attention over mails", "pyg"));
        }
        if given.message != MessageKind::Identity {
            let expected = "identity for attention over mails";
            return Err(refuse(model, "the message function", expected, given.message));
        }
        if reads {
            let expected = "identity or time: attention over mails updates questions, not vertices";
            return Err(refuse(model, "the embedding", expected, self.embedding));
        }
        Ok(())
    }

    /// Whether the time of a question changes its embedding, given its neighbours.
    pub(super) fn uses_query_time(&self) -> bool {
        match self.embedding {
            EmbeddingKind::Time => true,
            EmbeddingKind::Identity => self.updater == Some(UpdaterKind::Transformer),
            EmbeddingKind::Attention | EmbeddingKind::Sum => self.convention == Convention::Tgl,
        }
    }
}
