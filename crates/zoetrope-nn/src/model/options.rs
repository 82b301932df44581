//! What a user chooses of a model.

use zoetrope_graph::laplacian::Laplacian;

use crate::error::NnError;
use crate::state::MAX_CARRIED;

/// What a model is built from besides its name; each model reads what it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelOptions {
    /// Features of a vertex.
    pub features: usize,
    /// Width of the hidden state.
    pub hidden: usize,
    /// Layers; as many as the paper has if None.
    pub layers: Option<usize>,
    /// Attention heads (`dysat`).
    pub heads: usize,
    /// Share of values that dropout sets to 0.
    pub dropout: f32,
    /// Terms of the Chebyshev filter (`gc-lstm`).
    pub chebyshev: usize,
    /// The Laplacian of that filter.
    pub laplacian: Laplacian,
    /// Snapshots that an M-product averages, the present one included (`tm-gcn`).
    pub bandwidth: usize,
    /// Snapshots in a frame (`a3tgcn`, `mpnn-lstm`, `dysat`).
    pub frame: usize,
    /// Vertices of a snapshot (`a3tgcn` of the paper, `evolvegcn-h`).
    pub vertices: usize,
    /// Whether the paper is followed if the reference implementation departs from it.
    pub paper: bool,
}

impl ModelOptions {
    /// Choices for features of this width and hidden states of that, over frames of `frame`
    /// snapshots with `vertices` vertices; the rest as the command line has it.
    pub fn new(features: usize, hidden: usize, vertices: usize, frame: usize) -> Self {
        Self {
            features,
            hidden,
            layers: None,
            heads: 4,
            dropout: 0.0,
            chebyshev: 2,
            laplacian: Laplacian::default(),
            bandwidth: 5,
            frame,
            vertices,
            paper: false,
        }
    }

    /// Refuses several layers for a model that has one only.
    pub(crate) fn single_layer(&self, model: &'static str) -> Result<(), NnError> {
        match self.layers {
            None | Some(1) => Ok(()),
            Some(got) => Err(NnError::Option {
                model,
                option: "layers",
                expected: "1: the model has one layer".to_owned(),
                got: got.to_string(),
            }),
        }
    }

    /// The number of layers of a model that carries `places` matrices a layer.
    pub(crate) fn layers_within(
        &self,
        model: &'static str,
        default: usize,
        places: usize,
    ) -> Result<usize, NnError> {
        let most = MAX_CARRIED / places.max(1);
        match self.layers.unwrap_or(default) {
            layers if (1..=most).contains(&layers) => Ok(layers),
            got => Err(NnError::Option {
                model,
                option: "layers",
                expected: format!("1 to {most}"),
                got: got.to_string(),
            }),
        }
    }
}
