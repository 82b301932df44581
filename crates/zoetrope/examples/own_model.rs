//! A model of one's own from layers, trained: a convolution within each snapshot, a GRU along time, and a
//! short cut past both.
//!
//! `cargo run --example own_model`

use std::error::Error;

use zoetrope::plan::FrameRule;
use zoetrope::prelude::*;

/// `GRU(relu(Â·X·W)) + tanh(X·V)`: from `T·N × F` features to `T·N × H` rows.
struct Shortcut {
    convolution: Gcn,
    memory: Gru,
    past: Linear,
}

impl Shortcut {
    fn new(builder: &mut Builder<'_>, features: usize, hidden: usize) -> Self {
        Self {
            convolution: Gcn::new(&mut builder.child("gcn"), features, hidden, Activation::Relu),
            memory: Gru::new(&mut builder.child("gru"), hidden, hidden),
            past: Linear::new(&mut builder.child("past"), features, hidden),
        }
    }
}

impl Model for Shortcut {
    fn name(&self) -> &'static str {
        "shortcut"
    }

    fn width(&self) -> usize {
        self.memory.width()
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![self.convolution.form()]
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let rows = frame.encode(forward, &self.convolution, 0, frame.features)?;
        let sequence = frame.to_time(forward, rows)?;
        let remembered = self.memory.encode(forward, sequence, &mut state, 0)?;
        let past = self.past.apply(forward, frame.features, Activation::Tanh)?;
        let rows = forward.tape.add(remembered, past)?;
        Ok(Embedding { rows, state })
    }
}

/// The model with a head that answers one number for each vertex.
struct Network {
    model: Shortcut,
    head: VertexDecoder,
    input: SnapshotInput,
    graph: PreparedGraph,
}

impl Network {
    /// The mean squared error over some consecutive snapshots.
    fn loss(&self, forward: &mut Forward<'_>, first: usize, steps: usize) -> Result<Var, NnError> {
        let vertices = self.input.vertices();
        let rows = first * vertices..(first + steps) * vertices;
        let graph = self.graph.cut(first..first + steps);
        let features = forward.tape.constant(&self.input.features, rows.clone())?;
        let frame = Frame::whole(&graph, features);
        let embedding = self.model.embed(forward, &frame, State::default())?;
        let answers = self.head.decode(forward, embedding.rows)?;
        let Some(Goal::Numbers { values, .. }) = &self.input.goal else {
            unreachable!("the demo has a number for each vertex")
        };
        let targets = forward.tape.constant(values, rows)?;
        Ok(forward.tape.loss(Loss::Mse, answers, targets, None)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::builder().set("data.path=synthetic:demo?vertices=20&steps=120").build()?;
    let input = SnapshotInput::open(&config, &Quiet)?;

    let mut parameters = Parameters::default();
    let mut builder = Builder::new(&mut parameters, 42);
    let model = Shortcut::new(&mut builder.child("model"), input.width(), 16);
    let head = VertexDecoder::new(&mut builder, VertexRule::Linear, model.width(), 1);
    let graph = PreparedGraph::new(&input.sequence, &model.forms())?;
    let network = Network { model, head, input, graph };
    println!("{} weights", parameters.weights());

    let rule = FrameRule { frame: Some(10), stride: 10, truncate: None };
    let split = network.input.split.clone();
    let frames = rule.cut(split.train)?;
    let mut optimiser = Optimiser::new(Method::adam(), &parameters);
    let mut gradients = Gradients::new(&parameters);
    let (mut tape, mut updates) = (Tape::new(), Updates::default());
    let mut history = Vec::new();
    for epoch in 1..=12 {
        let mut total = 0.0;
        for frame in &frames {
            tape.reset();
            let step = optimiser.steps() as u32;
            let mut forward = Forward::training(&mut tape, &parameters, &mut updates, 42, step);
            let loss = network.loss(&mut forward, frame.start, frame.steps)?;
            total += tape.scalar(loss);
            tape.backward(loss)?;
            gradients.take_from(&mut tape, &parameters);
            clip_norm(&mut gradients, 5.0);
            optimiser.update(&mut parameters, &gradients, 0.01);
        }
        history.push(total / frames.len() as f32);
        if epoch % 4 == 0 {
            println!("epoch {epoch}: loss {:.4}", history[epoch - 1]);
        }
    }
    assert!(history[11] < 0.9 * history[0], "it has learnt");

    tape.reset();
    let mut forward = Forward::evaluating(&mut tape, &parameters, &mut updates);
    let loss = network.loss(&mut forward, split.test.start, split.test.len())?;
    println!("test: mean squared error {:.4}", tape.scalar(loss));
    Ok(())
}

#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
