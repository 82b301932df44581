//! An event model with a head for links over a small stream.
#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod prepare;

use std::ops::Range;
use std::sync::Arc;

use prepare::{Rules, Stream, prepare};
use zoetrope_nn::decoder::LinkDecoder;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::memory::{Combine, Delivery, Updated, VertexState};
use zoetrope_nn::optimiser::{Gradients, Method, Optimiser};
use zoetrope_nn::stream::{
    Convention, EmbeddingKind, MessageKind, StreamModel, StreamOptions, UpdaterKind,
};
use zoetrope_nn::{Builder, Forward, Parameters};
use zoetrope_tensor::{Loss, Matrix, Tape};

use crate::golden_file::Golden;

/// What a pass gave.
pub(crate) struct Passed {
    pub(crate) embeddings: Vec<f32>,
    pub(crate) logits: Vec<f32>,
    pub(crate) loss: f32,
}

pub(crate) struct StreamRun {
    pub(crate) model: StreamModel,
    pub(crate) parameters: Parameters,
    pub(crate) state: Option<VertexState>,
    pub(crate) stream: Stream,
    pub(crate) vertex_features: Option<Arc<Matrix>>,
    pub(crate) rules: Rules,
    pub(crate) tape: Tape,
    pub(crate) gradients: Gradients,
    head: LinkDecoder,
    optimiser: Optimiser,
    updated: Updated,
}

/// Options of a model that are all what its reference has.
pub(crate) fn plain(event_features: usize, hidden: usize, heads: usize) -> StreamOptions {
    StreamOptions {
        event_features,
        vertex_features: 0,
        hidden,
        time_width: None,
        layers: None,
        heads,
        dropout: 0.0,
        convention: None,
        updater: None,
        message: MessageKind::Identity,
        combine: None,
        mailbox: None,
        embedding: None,
    }
}

fn options(golden: &Golden) -> StreamOptions {
    let word = |key: &str| golden.metadata.get(key).map(String::as_str);
    let number = |key: &str| golden.number(key);
    let [features, hidden, heads] =
        ["features", "hidden", "heads"].map(|key| number(key).expect("a number"));
    StreamOptions {
        vertex_features: number("vertex_features").unwrap_or(0),
        layers: number("layers"),
        convention: Some(match word("convention") {
            Some("pyg") => Convention::Pyg,
            _ => Convention::Tgl,
        }),
        updater: word("updater").map(|word| match word {
            "gru" => UpdaterKind::Gru,
            "rnn" => UpdaterKind::Rnn,
            "lstm" => UpdaterKind::Lstm,
            _ => UpdaterKind::Transformer,
        }),
        message: match word("message") {
            Some("mlp") => MessageKind::Mlp,
            _ => MessageKind::Identity,
        },
        combine: word("combine").map(|word| match word {
            "mean" => Combine::Mean,
            _ => Combine::Last,
        }),
        mailbox: number("mailbox"),
        embedding: word("embedding").map(|word| match word {
            "attention" => EmbeddingKind::Attention,
            "sum" => EmbeddingKind::Sum,
            "time" => EmbeddingKind::Time,
            _ => EmbeddingKind::Identity,
        }),
        ..plain(features, hidden, heads)
    }
}

pub(crate) fn golden_stream(golden: &Golden) -> Stream {
    let whole = |name: &str| golden.values(name).iter().map(|&value| value as u32).collect();
    Stream {
        vertices: golden.number("vertices").expect("the number of vertices"),
        src: whole("src"),
        dst: whole("dst"),
        negative: whole("negative"),
        time: golden.values("time").iter().map(|&time| time as i64).collect(),
        features: golden.values("features").to_vec(),
        feature_width: golden.number("features").unwrap_or(0),
    }
}

impl StreamRun {
    /// A model with the weights of a golden file.
    pub(crate) fn golden(golden: &Golden) -> Self {
        let options = options(golden);
        let stream = golden_stream(golden);
        let origin = golden.number("origin").unwrap_or(0) as i64;
        let name = &golden.metadata["model"];
        let mut run = Self::new(name, &options, stream, origin);
        for (name, tensor) in golden.under("parameter.") {
            let id = run.parameters.find(name).unwrap_or_else(|| panic!("{}: {name}", golden.name));
            let values = run.parameters.get_mut(id).as_mut_slice();
            assert_eq!(values.len(), tensor.values.len(), "{}: {name}", golden.name);
            values.copy_from_slice(&tensor.values);
        }
        assert_eq!(run.parameters.len(), golden.under("parameter.").len(), "{}", golden.name);
        run.rules.neighbours = golden.number("neighbours").expect("the number of neighbours");
        run.rules.per_event = golden.metadata["neighbours_rule"] == "per-event";
        if options.vertex_features > 0 {
            let (rows, values) = (run.stream.vertices, golden.values("vertex_features"));
            let matrix = Matrix::from_slice(rows, options.vertex_features, values).unwrap();
            run.vertex_features = Some(Arc::new(matrix));
        }
        run
    }

    /// A model with fresh weights.
    pub(crate) fn new(name: &str, options: &StreamOptions, stream: Stream, origin: i64) -> Self {
        let mut parameters = Parameters::default();
        let mut builder = Builder::new(&mut parameters, 5);
        let model = StreamModel::build(name, &mut builder, options).unwrap();
        let head = LinkDecoder::new(&mut builder, model.convention(), model.width(), 1);
        let state = model.state();
        let rules = Rules {
            neighbours: 3,
            layers: model.layers(),
            per_event: true,
            receivers: state.is_some_and(|state| state.delivery == Delivery::Neighbours),
            unique: true,
        };
        Self {
            state: state.map(|state| VertexState::new(state, stream.vertices, origin)),
            optimiser: Optimiser::new(Method::adam(), &parameters),
            gradients: Gradients::new(&parameters),
            tape: Tape::new(),
            updated: Updated::default(),
            vertex_features: None,
            rules,
            stream,
            model,
            head,
            parameters,
        }
    }

    /// Embeds and scores some events, differentiates the loss, and lets the state absorb them.
    pub(crate) fn step(&mut self, events: Range<usize>, step: u32) -> Passed {
        let (batch, ends) = prepare(&self.stream, events, self.rules);
        self.tape.reset();
        let mut updates = Updates::default();
        let tape = &mut self.tape;
        let mut forward = Forward::training(tape, &self.parameters, &mut updates, 3, step);
        let (data, features) = (self.stream.data(), self.vertex_features.as_ref());
        let state = self.state.as_ref();
        let embedding = self.model.embed(&mut forward, &batch, data, features, state).unwrap();
        let logits = self.head.decode(&mut forward, embedding.rows, &ends).unwrap();
        let pairs = ends.src.len();
        let targets: Vec<f32> =
            (0..pairs).map(|pair| if pair < pairs / 2 { 1.0 } else { 0.0 }).collect();
        let targets = self.tape.copied(pairs, 1, &targets).unwrap();
        let mean = Loss::BinaryCrossEntropy { positive_weight: 1.0 };
        let loss = self.tape.loss(mean, logits, targets, None).unwrap();
        // The references add the means of positives and of negatives.
        let loss = self.tape.scale(loss, 2.0);
        embedding.update.take(&self.tape, &mut self.updated);
        let width = self.model.width();
        let rows = self.tape.value(embedding.rows);
        let asked = ends.src[..pairs / 2].iter().chain(&ends.dst[..]);
        let passed = Passed {
            embeddings: asked
                .flat_map(|&row| &rows[row as usize * width..][..width])
                .copied()
                .collect(),
            logits: self.tape.value(logits).to_vec(),
            loss: self.tape.scalar(loss),
        };
        self.tape.backward(loss).unwrap();
        self.gradients.clear();
        self.gradients.add_from(&self.tape, &self.parameters, 1.0);
        if let Some(state) = &mut self.state {
            state.absorb(&batch, self.stream.data(), &self.updated);
        }
        passed
    }

    /// Scores some events as evaluation does and lets the state absorb them.
    pub(crate) fn judge(&mut self, events: Range<usize>) -> Vec<f32> {
        let (batch, ends) = prepare(&self.stream, events, self.rules);
        self.tape.reset();
        let mut updates = Updates::default();
        let mut forward = Forward::evaluating(&mut self.tape, &self.parameters, &mut updates);
        let (data, features) = (self.stream.data(), self.vertex_features.as_ref());
        let state = self.state.as_ref();
        let embedding = self.model.embed(&mut forward, &batch, data, features, state).unwrap();
        let logits = self.head.decode(&mut forward, embedding.rows, &ends).unwrap();
        embedding.update.take(&self.tape, &mut self.updated);
        let found = self.tape.value(logits).to_vec();
        if let Some(state) = &mut self.state {
            state.absorb(&batch, self.stream.data(), &self.updated);
        }
        found
    }

    pub(crate) fn update(&mut self, rate: f32) {
        self.optimiser.update(&mut self.parameters, &self.gradients, rate);
    }

    /// The gradient of a parameter, zeros if the loss does not depend on it.
    pub(crate) fn gradient(&self, name: &str) -> Vec<f32> {
        let id = self.parameters.find(name).unwrap_or_else(|| panic!("no parameter {name}"));
        let zeros = || vec![0.0; self.parameters.get(id).shape().len()];
        self.gradients.get(id).map_or_else(zeros, <[f32]>::to_vec)
    }
}
