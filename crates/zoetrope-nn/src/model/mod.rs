//! Models: from a frame of snapshots to embeddings of vertices.
//!
//! One file a model, with its formula, its paper and its shapes. If the reference implementation
//! departs from the paper, [`ModelOptions::paper`] chooses, and the file says what differs.

mod a3tgcn;
mod build;
mod dynamic_gcn;
mod dysat;
mod evolvegcn;
mod gc_lstm;
mod mpnn_lstm;
mod options;
mod stack;
mod tgcn;
mod tm_gcn;

use zoetrope_tensor::Var;

use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::graph::Adjacency;
use crate::state::State;

pub use a3tgcn::A3tgcn;
pub use build::{NAMES, build};
pub use dynamic_gcn::DynamicGcn;
pub use dysat::Dysat;
pub use evolvegcn::EvolveGcn;
pub use gc_lstm::GcLstm;
pub use mpnn_lstm::MpnnLstm;
pub use options::ModelOptions;
pub use stack::Stack;
pub use tgcn::Tgcn;
pub use tm_gcn::TmGcn;

/// Which snapshots of a frame a model describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// Every one: `T·N` rows.
    Every,
    /// The last one, having read the whole frame: `N` rows.
    Last,
}

/// The result of a model.
#[derive(Debug, Clone, Copy)]
pub struct Embedding {
    /// `T·N × width` or `N × width`, as the model's coverage says.
    pub rows: Var,
    /// What to hand to the next frame.
    pub state: State,
}

/// A network over frames of snapshots, without the head that a task puts on top.
pub trait Model: Send + Sync {
    /// The name in the command line.
    fn name(&self) -> &'static str;

    /// The width of the embeddings.
    fn width(&self) -> usize;

    /// Which snapshots of a frame it describes.
    fn coverage(&self) -> Coverage {
        Coverage::Every
    }

    /// The forms of the snapshots that it multiplies with.
    fn forms(&self) -> Vec<Adjacency>;

    /// Those of them that its time encoders multiply with, one snapshot after the other; its structure encoders do
    /// not.
    fn time_forms(&self) -> Vec<Adjacency> {
        Vec::new()
    }

    /// The widths `(in, out)` of its structure layers that may choose their order, first to last.
    fn structure_widths(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Whether the first structure layer is a convolution of the features alone, so that `Â·X` can
    /// be kept between frames and epochs.
    fn can_reuse(&self) -> bool {
        false
    }

    /// The longest frame that its parameters allow; None if any length will do.
    fn most_steps(&self) -> Option<usize> {
        None
    }

    /// The fewest vertices of a graph that it can be run over.
    fn least_vertices(&self) -> usize {
        1
    }

    /// Whether a state can be handed from one frame to the next.
    fn carries_state(&self) -> bool {
        false
    }

    /// Whether a frame can be computed in blocks of snapshots, each from the state after the one
    /// before, to the same result.
    fn works_in_blocks(&self) -> bool {
        self.carries_state() && self.coverage() == Coverage::Every
    }

    /// Whether the same operators read the same rows whenever a frame comes again, so that a GPU
    /// can record it.
    fn is_recordable(&self) -> bool {
        true
    }

    /// Runs the model over a frame.
    ///
    /// # Errors
    /// If shapes do not fit.
    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        state: State,
    ) -> Result<Embedding, NnError>;
}
