//! A model with a linear head over the snapshots of a golden file.
#![allow(dead_code, reason = "each test program uses its part")]

use std::ops::Range;
use std::sync::Arc;

use zoetrope_nn::decoder::{VertexDecoder, VertexRule};
use zoetrope_nn::forward::Updates;
use zoetrope_nn::model::{self, Coverage, Embedding, Model, ModelOptions};
use zoetrope_nn::optimiser::{Gradients, Method, Optimiser};
use zoetrope_nn::weights::load_safetensors;
use zoetrope_nn::{Builder, Forward, Frame, Order, Parameters, PreparedGraph, State};
use zoetrope_tensor::{Loss, Matrix, Tape, Var};

use crate::golden_file::{Golden, Tensor};

/// How a frame is computed: what a plan may choose.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) groups: Vec<Range<usize>>,
    pub(crate) orders: Vec<Order>,
    pub(crate) reuse: bool,
}

pub(crate) struct Run {
    pub(crate) model: Box<dyn Model>,
    pub(crate) parameters: Parameters,
    pub(crate) graph: PreparedGraph,
    pub(crate) features: Arc<Matrix>,
    pub(crate) targets: Arc<Matrix>,
    pub(crate) layout: Layout,
    head: VertexDecoder,
    optimiser: Optimiser,
    gradients: Gradients,
    tape: Tape,
}

pub(crate) fn options(golden: &Golden) -> ModelOptions {
    let number = |key| golden.number(key);
    let needed = |key| number(key).expect("a number in the metadata");
    let sizes = [needed("features"), needed("hidden"), needed("vertices"), needed("steps")];
    let [features, hidden, vertices, steps] = sizes;
    let standard = ModelOptions::new(features, hidden, vertices, steps);
    ModelOptions {
        layers: number("layers"),
        heads: number("heads").unwrap_or(standard.heads),
        chebyshev: number("k").unwrap_or(standard.chebyshev),
        bandwidth: number("window").unwrap_or(standard.bandwidth),
        paper: golden.metadata["variant"] == "paper",
        ..standard
    }
}

impl Run {
    pub(crate) fn new(golden: &Golden) -> Self {
        let options = options(golden);
        let mut parameters = Parameters::default();
        let mut builder = Builder::new(&mut parameters, 0);
        let model = model::build(&golden.metadata["model"], &mut builder, &options).unwrap();
        let head = VertexDecoder::new(&mut builder, VertexRule::Linear, model.width(), 1);
        load_safetensors(&mut parameters, &state_dict(golden)).unwrap();
        let graph = PreparedGraph::new(&golden.graph(), &model.forms()).unwrap();
        let rows = options.vertices * options.frame;
        let matrix =
            |name, cols| Arc::new(Matrix::from_slice(rows, cols, golden.values(name)).unwrap());
        Self {
            features: matrix("features", options.features),
            targets: matrix("targets", 1),
            layout: Layout::default(),
            optimiser: Optimiser::new(Method::adam(), &parameters),
            gradients: Gradients::new(&parameters),
            tape: Tape::new(),
            model,
            parameters,
            graph,
            head,
        }
    }

    /// Puts running statistics back to what they were before any pass.
    pub(crate) fn forget_statistics(&mut self, golden: &Golden) {
        load_safetensors(&mut self.parameters, &state_dict(golden)).unwrap();
    }

    /// Predictions; a training pass moves running statistics.
    pub(crate) fn predict(&mut self, training: bool) -> Vec<f32> {
        let mut updates = Updates::default();
        let prediction = self.forward(training, &mut updates);
        updates.apply(&self.tape, &mut self.parameters);
        self.tape.value(prediction).to_vec()
    }

    fn forward(&mut self, training: bool, updates: &mut Updates) -> Var {
        self.tape.reset();
        let (tape, parameters) = (&mut self.tape, &self.parameters);
        let mut forward = if training {
            Forward::training(tape, parameters, updates, 0, 0)
        } else {
            Forward::evaluating(tape, parameters, updates)
        };
        let steps = 0..self.graph.steps();
        let model = self.model.as_ref();
        let state = State::default();
        let embedding =
            embed(model, &mut forward, &self.graph, &self.features, steps, &self.layout, state);
        self.head.decode(&mut forward, embedding.rows).unwrap()
    }

    /// The loss; its gradients are kept.
    pub(crate) fn differentiate(&mut self) -> f32 {
        let mut updates = Updates::default();
        let prediction = self.forward(true, &mut updates);
        let rows = self.targets.shape().rows;
        let first = match self.model.coverage() {
            Coverage::Every => 0,
            Coverage::Last => rows - self.graph.vertices(),
        };
        let target = self.tape.constant(&self.targets, first..rows).unwrap();
        let loss = self.tape.loss(Loss::Mse, prediction, target, None).unwrap();
        let value = self.tape.scalar(loss);
        updates.apply(&self.tape, &mut self.parameters);
        self.tape.backward(loss).unwrap();
        self.gradients.clear();
        self.gradients.add_from(&self.tape, &self.parameters, 1.0);
        value
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

    /// Embeddings of all snapshots in evaluation, if `mask` is 0 of vertices that are not there.
    pub(crate) fn embed_masked(&mut self, mask: &[f32]) -> Vec<f32> {
        self.tape.reset();
        let mut updates = Updates::default();
        let mut forward = Forward::evaluating(&mut self.tape, &self.parameters, &mut updates);
        let features = forward.tape.constant(&self.features, 0..mask.len()).unwrap();
        let mask = Some(forward.tape.copied(mask.len(), 1, mask).unwrap());
        let (graph, aggregated, first_step) = (&self.graph, None, 0);
        let (groups, orders) = (&[][..], &[][..]);
        let frame = Frame {
            graph,
            features,
            aggregated,
            mask,
            groups,
            orders,
            other_orders: &[],
            first_step,
            shared: None,
        };
        let embedding = self.model.embed(&mut forward, &frame, State::default()).unwrap();
        self.tape.value(embedding.rows).to_vec()
    }

    /// Embeddings of some snapshots in evaluation, and the state after them.
    pub(crate) fn embed(
        &mut self,
        steps: Range<usize>,
        state: State,
        keep: bool,
    ) -> (Vec<f32>, State) {
        if !keep {
            self.tape.reset();
        }
        let mut updates = Updates::default();
        let mut forward = Forward::evaluating(&mut self.tape, &self.parameters, &mut updates);
        let (model, layout) = (self.model.as_ref(), Layout::default());
        let Embedding { rows, state } =
            embed(model, &mut forward, &self.graph, &self.features, steps, &layout, state);
        (self.tape.value(rows).to_vec(), state)
    }
}

pub(crate) fn embed(
    model: &dyn Model,
    forward: &mut Forward<'_>,
    graph: &PreparedGraph,
    features: &Arc<Matrix>,
    steps: Range<usize>,
    layout: &Layout,
    state: State,
) -> Embedding {
    let vertices = graph.vertices();
    let rows = steps.start * vertices..steps.end * vertices;
    let graph = graph.cut(steps.clone());
    let features = forward.tape.constant(features, rows).unwrap();
    let kept = layout.reuse && model.can_reuse();
    let frame = Frame {
        graph: &graph,
        features,
        aggregated: kept.then(|| {
            let form = graph.form(zoetrope_nn::Adjacency::Gcn);
            forward.tape.spmm(form, features).unwrap()
        }),
        mask: None,
        groups: &layout.groups,
        orders: &layout.orders,
        other_orders: &[],
        first_step: steps.start,
        shared: None,
    };
    model.embed(forward, &frame, state).unwrap()
}

/// The parameters of a golden file as the bytes of a file of weights.
fn state_dict(golden: &Golden) -> Vec<u8> {
    use safetensors::tensor::{Dtype, TensorView};
    let named = golden.under("parameter.");
    let bytes = |tensor: &Tensor| tensor.values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let data: Vec<Vec<u8>> = named.iter().map(|(_, tensor)| bytes(tensor)).collect();
    let views = named.iter().zip(&data).map(|((name, tensor), data)| {
        (*name, TensorView::new(Dtype::F32, tensor.shape.clone(), data).unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}
