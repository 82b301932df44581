//! The network of a run over events: a model, the head of its task, and their parameters.

use zoetrope_config::{
    CombineName, Config, DecoderName, EmbeddingName, FeatureRule, MessageName, ModelConfig,
    UpdaterName, Variant,
};
use zoetrope_nn::decoder::{EdgeDecoder, EdgeRule, LinkDecoder, VertexDecoder, VertexRule};
use zoetrope_nn::memory::Combine;
use zoetrope_nn::stream::{
    Convention, EmbeddingKind, MessageKind, StreamModel, StreamOptions, UpdaterKind,
};
use zoetrope_nn::{Builder, Parameters};

use super::material::EventInput;
use super::target::Target;
use crate::error::TrainError;
use crate::snapshots::engine::parameters_must_fit;

/// The head of a network over events.
#[derive(Debug)]
pub enum StreamHead {
    /// Whether two vertices meet.
    Link(LinkDecoder),
    /// Numbers of a pair.
    Edge(EdgeDecoder),
    /// Numbers of a vertex.
    Vertex(VertexDecoder),
}

/// A model over events with a head.
#[derive(Debug)]
pub struct StreamNetwork {
    /// The model.
    pub model: StreamModel,
    /// The head.
    pub head: StreamHead,
    /// The parameters of both.
    pub parameters: Parameters,
}

impl StreamNetwork {
    /// Builds the network that the configuration names, with first values drawn from its seed; its
    /// head reads the features of judged events if they are part of the question.
    pub(super) fn new(
        config: &Config,
        material: &EventInput,
        target: &Target,
        own_features: bool,
    ) -> Result<Self, TrainError> {
        let layers =
            |builder: Builder<'_>| Self::layers(config, material, target, own_features, builder);
        parameters_must_fit(layers)?;
        let mut parameters = Parameters::default();
        let (model, head) = layers(Builder::new(&mut parameters, config.train.seed))?;
        Ok(Self { model, head, parameters })
    }

    /// The model and its head, made by a builder.
    fn layers(
        config: &Config,
        material: &EventInput,
        target: &Target,
        own_features: bool,
        mut builder: Builder<'_>,
    ) -> Result<(StreamModel, StreamHead), TrainError> {
        let learned = config.data.features == FeatureRule::Learned;
        let vertex_features = if learned {
            config.data.learned_width_for(config.model.hidden, material.vertices())
        } else {
            material.vertex_features.as_ref().map_or(0, |matrix| matrix.shape().cols)
        };
        let options = options(&config.model, material.feature_width(), vertex_features);
        let mut model = StreamModel::build(config.model.name.name(), &mut builder, &options)?;
        let width = model.width();
        let outputs = target.outputs();
        let own = if own_features { material.feature_width() } else { 0 };
        let decoder = config.model.decoder;
        let head = match (target, decoder) {
            (Target::Links, DecoderName::Auto) => StreamHead::Link(LinkDecoder::new(
                &mut builder,
                convention(&config.model),
                width,
                1,
            )),
            (Target::Links, DecoderName::Dot) => {
                StreamHead::Edge(EdgeDecoder::new(&mut builder, EdgeRule::Dot, width, 1))
            }
            (Target::Classes { edges: false, .. }, decoder) => {
                let rule = match decoder {
                    DecoderName::Linear => VertexRule::Linear,
                    _ => VertexRule::Mlp,
                };
                let head = VertexDecoder::with_features(&mut builder, rule, width, own, outputs);
                StreamHead::Vertex(head)
            }
            _ => StreamHead::Edge(EdgeDecoder::with_features(&mut builder, width, own, outputs)),
        };
        if learned {
            // Last, so that all other first values are those of a model without them.
            model.learn_vertex_features(&mut builder, material.vertices());
        }
        Ok((model, head))
    }
}

/// Which implementation is followed.
fn convention(config: &ModelConfig) -> Convention {
    match config.variant {
        Variant::Pyg => Convention::Pyg,
        _ => Convention::Tgl,
    }
}

/// What `[model]` says, in the words of the network.
fn options(config: &ModelConfig, event_features: usize, vertex_features: usize) -> StreamOptions {
    StreamOptions {
        event_features,
        vertex_features,
        hidden: config.hidden,
        time_width: config.time_width,
        layers: config.layers,
        heads: config.heads,
        dropout: config.dropout as f32,
        convention: Some(convention(config)),
        updater: config.updater.map(|updater| match updater {
            UpdaterName::Gru => UpdaterKind::Gru,
            UpdaterName::Rnn => UpdaterKind::Rnn,
            UpdaterName::Lstm => UpdaterKind::Lstm,
            UpdaterName::Transformer => UpdaterKind::Transformer,
        }),
        message: match config.message {
            MessageName::Identity => MessageKind::Identity,
            MessageName::Mlp => MessageKind::Mlp,
        },
        combine: config.combine.map(|combine| match combine {
            CombineName::Last => Combine::Last,
            CombineName::Mean => Combine::Mean,
        }),
        mailbox: config.mailbox,
        embedding: config.embedding.map(|embedding| match embedding {
            EmbeddingName::Identity => EmbeddingKind::Identity,
            EmbeddingName::Time => EmbeddingKind::Time,
            EmbeddingName::Attention => EmbeddingKind::Attention,
            EmbeddingName::Sum => EmbeddingKind::Sum,
        }),
    }
}
