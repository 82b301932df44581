//! The features of judged events as part of the question.
//!
//! A transaction is judged with its amount in view: its features come with the question, beside the
//! embeddings of its two ends. What is predicted is never among them (see
//! [`features`](super::features)), and the state absorbs an event only after it was judged.

use std::sync::Arc;

use zoetrope_nn::memory::EventData;
use zoetrope_tensor::{Tape, TensorError, Var};

use super::material::EventInput;

/// A row of features for each answer of a batch, or none at all.
#[derive(Debug, Default)]
pub(super) struct OwnFeatures {
    width: usize,
    /// Rows, if they do not lie on a GPU.
    values: Vec<f32>,
    /// The numbers of events whose rows lie on a GPU.
    events: Arc<Vec<u32>>,
}

impl OwnFeatures {
    /// Forgets all rows; those that follow have `width` numbers, or are not looked at if it is 0.
    pub(super) fn begin(&mut self, width: usize) {
        self.width = width;
        self.values.clear();
        Arc::make_mut(&mut self.events).clear();
    }

    /// The row of an event of the stream.
    pub(super) fn push(&mut self, material: &EventInput, event: usize) {
        if self.width == 0 {
            return;
        }
        if material.numbers_features() {
            return Arc::make_mut(&mut self.events).push(event as u32);
        }
        let from = event * self.width;
        self.values.extend_from_slice(&material.features()[from..from + self.width]);
    }

    /// A row that is no event's.
    pub(super) fn push_row(&mut self, row: &[f32]) {
        if self.width > 0 {
            self.values.extend_from_slice(row);
        }
    }

    /// All rows as a constant of a tape; None if they are not part of the question.
    ///
    /// # Errors
    /// If a row is not among those of the stream.
    pub(super) fn place(
        &self,
        tape: &mut Tape,
        data: EventData<'_>,
    ) -> Result<Option<Var>, TensorError> {
        Ok(match (self.width, data.on_gpu) {
            (0, _) => None,
            (_, Some(all)) if !self.events.is_empty() => {
                let all = tape.fixed(all);
                Some(tape.gather(all, &self.events)?)
            }
            (width, _) => Some(tape.copied(self.values.len() / width, width, &self.values)?),
        })
    }
}
