//! Configurations of TGL: `zoetrope train TGN.yml --data …`.
//!
//! TGL describes a model by four sections (`sampling`, `memory`, `gnn`, `train`), each a list with
//! one entry. Every key is translated into keys of ours, is not needed here (which is noted), or is
//! refused with its line and the reason: nothing of such a file is ignored in silence. The model is
//! recognised from the parts: attention over mails is APAN, memory with attention over neighbours
//! TGN, memory with JODIE's time projection JODIE, attention without memory TGAT.

mod known;
mod parts;
mod reader;
#[cfg(test)]
mod tests;
mod translate;

pub(super) use translate::{Translation, translate};

/// Whether a file of this name is one of TGL's.
pub(super) fn is_tgl(path: &std::path::Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml")
}
