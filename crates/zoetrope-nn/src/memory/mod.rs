//! Node memory and messages: what is remembered of every vertex between batches.
//!
//! Owns the rows of memory, when each was last written, and the mails that wait for the next
//! update (Algorithm 1 of Sven). It knows no tape: models read rows from it by lists, and
//! [`VertexState::absorb`] writes what a batch computed, on the device on which it was computed.

mod archive;
mod event_mails;
mod options;
mod received;
mod row_mails;
mod state;
mod touched;

pub(crate) use event_mails::EventMail;
pub use options::{Combine, Delivery, MailRule, StateOptions};
pub use state::{EventData, Updated, VertexState};
