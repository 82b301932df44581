//! Models: from a frame of snapshots to embeddings of vertices.

use zoetrope_tensor::Var;

use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::graph::Adjacency;
use crate::parameters::Builder;
use crate::state::State;

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

    /// The widths `(in, out)` of its structure layers that may choose their order, first to last.
    fn structure_widths(&self) -> Vec<(usize, usize)>;

    /// Whether the first structure layer is a convolution of the features alone, so that `Â·X` can
    /// be kept between frames and epochs.
    fn can_reuse(&self) -> bool;

    /// Whether a state can be handed from one frame to the next.
    fn carries_state(&self) -> bool;

    /// Runs the model over a frame.
    ///
    /// # Errors
    /// Where shapes do not fit.
    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        state: State,
    ) -> Result<Embedding, NnError>;
}

/// What a model is built from besides its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelOptions {
    /// Features of a vertex.
    pub features: usize,
    /// Width of the hidden state.
    pub hidden: usize,
    /// Layers; as many as the paper has where None.
    pub layers: Option<usize>,
    /// Attention heads.
    pub heads: usize,
    /// Share of values that dropout sets to 0.
    pub dropout: f32,
    /// Size of the Chebyshev filter.
    pub chebyshev: usize,
    /// Snapshots that an M-product mixes.
    pub bandwidth: usize,
    /// Snapshots in a frame.
    pub frame: usize,
    /// Whether the paper is followed where the reference implementation departs from it.
    pub paper: bool,
}

/// The names of the models.
pub const NAMES: [&str; 0] = [];

/// Builds the model of that name, its parameters under `recurrent.`.
///
/// # Errors
/// Where there is no such model, or an option does not fit.
pub fn build(
    name: &str,
    _builder: &mut Builder<'_>,
    _options: &ModelOptions,
) -> Result<Box<dyn Model>, NnError> {
    Err(NnError::UnknownModel { name: name.to_owned(), known: NAMES.join(", ") })
}
