//! What can go wrong with layers, models and weights.

use zoetrope_graph::GraphError;
use zoetrope_tensor::TensorError;

/// An error of a model, its weights or its optimiser.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NnError {
    /// Operands of an operator do not fit.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A graph cannot be brought into the form that a layer needs.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A weights file lacks a parameter of the model.
    #[error("the weights lack `{name}`{}", nearest.as_ref().map_or_else(String::new, |n| format!("; the nearest name in the file is `{n}`")))]
    MissingWeight {
        /// The parameter.
        name: String,
        /// The name in the file that resembles it most.
        nearest: Option<String>,
    },
    /// A weights file holds a parameter that the model does not have.
    #[error("the weights hold `{name}`, which the model does not have{}", nearest.as_ref().map_or_else(String::new, |n| format!("; the nearest of its names is `{n}`")))]
    UnknownWeight {
        /// The parameter.
        name: String,
        /// The name in the model that resembles it most.
        nearest: Option<String>,
    },
    /// A parameter in a weights file has another shape than in the model.
    #[error(
        "the weights hold `{name}` as {got:?}, but the model needs {expected:?}: check the features, the hidden size and the options of the model"
    )]
    WeightShape {
        /// The parameter.
        name: String,
        /// The shape in the model.
        expected: Vec<usize>,
        /// The shape in the file.
        got: Vec<usize>,
    },
    /// A parameter in a weights file has a type that cannot become f32.
    #[error("the weights hold `{name}` as {got}; f32, f64, f16, bf16 and i64 are understood")]
    WeightType {
        /// The parameter.
        name: String,
        /// Its type.
        got: String,
    },
    /// A parameter in a weights file is not finite.
    #[error("the weights hold {value} in `{name}` at position {position}")]
    WeightValue {
        /// The parameter.
        name: String,
        /// The position in it.
        position: usize,
        /// The value.
        value: f32,
    },
    /// A file is no safetensors file.
    #[error("not a safetensors file: {0}")]
    NotSafetensors(String),
    /// The matrix of a snapshot holds NaN or infinities.
    #[error(
        "the {form} matrix of snapshot {step} is not finite: negative weights make degrees that cannot be normalised; set data.weights to \"absolute\" or \"ones\""
    )]
    GraphNotFinite {
        /// The snapshot, from 0.
        step: usize,
        /// The form of the matrix.
        form: &'static str,
    },
    /// A sequence without snapshots cannot be trained on.
    #[error("there is no snapshot to train on")]
    NoSnapshots,
    /// An option of a model has a value that it cannot work with.
    #[error("{model}: {option} must be {expected}, but is {got}")]
    Option {
        /// The model.
        model: &'static str,
        /// The option.
        option: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// There is no model of that name.
    #[error("there is no model `{name}`; there are {known}")]
    UnknownModel {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
}
