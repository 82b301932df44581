//! The network of a run: a model, the head of its task, and their parameters.

use zoetrope_config::{Config, DecoderName, FeatureRule, Normalisation, TaskName, Variant};
use zoetrope_graph::laplacian::Laplacian;
use zoetrope_nn::decoder::{EdgeDecoder, EdgeRule, VertexDecoder, VertexRule};
use zoetrope_nn::initialise::Initialise;
use zoetrope_nn::model::{self, Model, ModelOptions};
use zoetrope_nn::{Builder, ParameterId, Parameters};

use crate::error::TrainError;

/// The head of a network.
#[derive(Debug)]
pub enum Head {
    /// Answers for vertices.
    Vertex(VertexDecoder),
    /// Answers for pairs of vertices.
    Edge(EdgeDecoder),
}

/// A model with a head.
pub struct Network {
    /// The model.
    pub model: Box<dyn Model>,
    /// The head.
    pub head: Head,
    /// The parameters of both, and the features if they are learned.
    pub parameters: Parameters,
    /// The features of vertices, if they are learned: `vertex_embedding.weight` (`N × F`).
    pub vertex_embedding: Option<ParameterId>,
}

/// What a builder makes: the model, its head, and the features of vertices if they are learned.
type Layers = (Box<dyn Model>, Head, Option<ParameterId>);

/// The deviation of the first values of learned features.
const LEARNED_DEVIATION: f32 = 0.1;

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

impl Network {
    /// Builds the network that the configuration names, with first values drawn from its seed.
    ///
    /// `features` is the width of the input, `outputs` the numbers that the task asks for,
    /// `frame` the snapshots in a frame and `vertices` those of a snapshot.
    ///
    /// # Errors
    /// If an option of the model does not fit.
    pub fn new(
        config: &Config,
        task: TaskName,
        features: usize,
        outputs: usize,
        frame: usize,
        vertices: usize,
    ) -> Result<Self, TrainError> {
        let options = Self::options(config, features, frame, vertices);
        parameters_must_fit(|builder| Self::layers(config, task, outputs, &options, builder))?;
        let mut parameters = Parameters::default();
        let builder = Builder::new(&mut parameters, config.train.seed);
        let (model, head, vertex_embedding) =
            Self::layers(config, task, outputs, &options, builder)?;
        Ok(Self { model, head, parameters, vertex_embedding })
    }

    /// The model of the network that [`Network::new`] builds, for whoever asks about its shape: no parameter
    /// is made.
    ///
    /// # Errors
    /// As [`Network::new`].
    pub fn model_only(
        config: &Config,
        task: TaskName,
        features: usize,
        outputs: usize,
        frame: usize,
        vertices: usize,
    ) -> Result<Box<dyn Model>, TrainError> {
        let options = Self::options(config, features, frame, vertices);
        let mut counted = Parameters::default();
        let builder = Builder::counting(&mut counted);
        Ok(Self::layers(config, task, outputs, &options, builder)?.0)
    }

    fn options(config: &Config, features: usize, frame: usize, vertices: usize) -> ModelOptions {
        ModelOptions {
            features,
            hidden: config.model.hidden,
            layers: config.model.layers,
            heads: config.model.heads,
            dropout: config.model.dropout as f32,
            chebyshev: config.model.k,
            laplacian: match config.model.normalisation {
                Normalisation::Symmetric => Laplacian::Symmetric,
                Normalisation::RandomWalk => Laplacian::RandomWalk,
                Normalisation::Unnormalised => Laplacian::Unnormalised,
            },
            bandwidth: config.model.bandwidth,
            frame,
            vertices,
            paper: config.model.variant == Variant::Paper,
        }
    }

    /// The model, its head and learned features, made by a builder.
    fn layers(
        config: &Config,
        task: TaskName,
        outputs: usize,
        options: &ModelOptions,
        mut builder: Builder<'_>,
    ) -> Result<Layers, TrainError> {
        let model = model::build(config.model.name.name(), &mut builder, options)?;
        let width = model.width();
        let vertex = |builder: &mut Builder<'_>, rule| {
            Head::Vertex(VertexDecoder::new(builder, rule, width, outputs))
        };
        let edge = |builder: &mut Builder<'_>, rule| {
            Head::Edge(EdgeDecoder::new(builder, rule, width, outputs))
        };
        let of_edges = matches!(task, TaskName::LinkPrediction | TaskName::EdgeClassification);
        let head = match (config.model.decoder, of_edges) {
            (DecoderName::Auto | DecoderName::Linear, false) => {
                vertex(&mut builder, VertexRule::Linear)
            }
            (DecoderName::Mlp, false) => vertex(&mut builder, VertexRule::Mlp),
            (DecoderName::Auto | DecoderName::Concat, true) => edge(&mut builder, EdgeRule::Concat),
            (DecoderName::Dot, true) if outputs == 1 => edge(&mut builder, EdgeRule::Dot),
            (other, _) => {
                return Err(TrainError::Unfit {
                    what: format!(
                        "model.decoder = \"{}\" does not answer {}",
                        other.name(),
                        task.name()
                    ),
                    advice: if of_edges {
                        "use \"concat\", or \"dot\" for link prediction".to_owned()
                    } else {
                        "use \"linear\" or \"mlp\"".to_owned()
                    },
                });
            }
        };
        // Last, so that all other first values are those of a network without it.
        let vertex_embedding = (config.data.features == FeatureRule::Learned).then(|| {
            let first = Initialise::Normal(LEARNED_DEVIATION);
            builder.child("vertex_embedding").weight(
                "weight",
                &[options.vertices, options.features],
                first,
            )
        });
        Ok((model, head, vertex_embedding))
    }
}

/// Refuses a network whose parameters, gradients and optimiser do not fit into the memory, before any of
/// them is made.
pub(crate) fn parameters_must_fit<T>(
    make: impl FnOnce(Builder<'_>) -> Result<T, TrainError>,
) -> Result<(), TrainError> {
    // A value, its gradient, and two numbers of the optimiser; four bytes each.
    const BYTES: u64 = 16;
    let mut counted = Parameters::default();
    make(Builder::counting(&mut counted))?;
    let values = counted.counted();
    let advice = "choose a smaller model.hidden, data.learned_width or model.layers";
    let what = format!("a network of {values} parameters");
    Ok(zoetrope_heap::need(&what, values.saturating_mul(BYTES), advice)?)
}
