//! The network of a run over events: a model, the head of its task, and their parameters.

use zoetrope_nn::decoder::{EdgeDecoder, EdgeRule, LinkDecoder, VertexDecoder, VertexRule};
use zoetrope_nn::stream::{StreamModel, StreamOptions};
use zoetrope_nn::{Builder, Parameters};

use super::material::StreamMaterial;
use super::target::Target;
use crate::config::{Config, DecoderName};
use crate::error::TrainError;

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
    /// Builds the network that the configuration names, with first values drawn from its seed.
    pub(super) fn new(
        config: &Config,
        material: &StreamMaterial,
        target: &Target,
    ) -> Result<Self, TrainError> {
        let mut parameters = Parameters::default();
        let mut builder = Builder::new(&mut parameters, config.train.seed);
        let vertex_features =
            material.vertex_features.as_ref().map_or(0, |matrix| matrix.shape().cols);
        let options: StreamOptions =
            config.model.stream_options(material.feature_width(), vertex_features);
        let model = StreamModel::build(config.model.name.name(), &mut builder, &options)?;
        let width = model.width();
        let outputs = target.outputs();
        let decoder = config.model.decoder;
        let head = match (target, decoder) {
            (Target::Links, DecoderName::Auto) => {
                StreamHead::Link(LinkDecoder::new(&mut builder, model.convention(), width))
            }
            (Target::Links, DecoderName::Dot) => {
                StreamHead::Edge(EdgeDecoder::new(&mut builder, EdgeRule::Dot, width, 1))
            }
            (Target::Classes { edges: false, .. }, DecoderName::Linear) => StreamHead::Vertex(
                VertexDecoder::new(&mut builder, VertexRule::Linear, width, outputs),
            ),
            (Target::Classes { edges: false, .. }, _) => StreamHead::Vertex(VertexDecoder::new(
                &mut builder,
                VertexRule::Mlp,
                width,
                outputs,
            )),
            _ => StreamHead::Edge(EdgeDecoder::new(&mut builder, EdgeRule::Concat, width, outputs)),
        };
        Ok(Self { model, head, parameters })
    }
}
