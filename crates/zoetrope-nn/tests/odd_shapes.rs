//! Every model on the smallest and oddest inputs, and what models refuse.

mod golden_file;
mod model_run;

use std::sync::Arc;

use model_run::{Layout, embed};
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::model::{self, Coverage, ModelOptions, NAMES};
use zoetrope_nn::{Builder, Forward, NnError, Parameters, PreparedGraph, State};
use zoetrope_tensor::{Matrix, Tape};

/// Features, hidden width, vertices, snapshots.
const SHAPES: [[usize; 4]; 5] =
    [[1, 1, 1, 1], [1, 4, 3, 1], [7, 2, 9, 2], [3, 17, 33, 3], [2, 3, 5, 6]];

fn options([features, hidden, vertices, frame]: [usize; 4], paper: bool) -> ModelOptions {
    ModelOptions { paper, heads: 1, ..ModelOptions::new(features, hidden, vertices, frame) }
}

/// A chain along the vertices in odd snapshots, no edges in even ones.
fn graph(vertices: usize, steps: usize) -> SnapshotSequence {
    let (mut offsets, mut src, mut dst) = (vec![0], Vec::new(), Vec::new());
    for step in 0..steps {
        if step % 2 == 1 {
            src.extend(0..vertices as u32 - 1);
            dst.extend(1..vertices as u32);
        }
        offsets.push(src.len() as u64);
    }
    SnapshotSequence::new(vertices as u32, offsets, src, dst, None).unwrap()
}

#[test]
fn every_model_takes_the_smallest_and_oddest_shapes() {
    for (shape, name, paper) in SHAPES
        .into_iter()
        .flat_map(|shape| NAMES.map(|name| [(shape, name, false), (shape, name, true)]))
        .flatten()
    {
        let [features, hidden, vertices, steps] = shape;
        let widest = if paper { hidden } else { features };
        if name == "evolvegcn-h" && widest > vertices {
            continue;
        }
        let options = options(shape, paper);
        let mut parameters = Parameters::default();
        let model = model::build(name, &mut Builder::new(&mut parameters, 2), &options).unwrap();
        let graph = PreparedGraph::new(&graph(vertices, steps), &model.forms()).unwrap();
        let rows = vertices * steps;
        let values: Vec<f32> = (0..rows * features).map(|i| (i as f32 * 0.7).sin()).collect();
        let values = Arc::new(Matrix::from_slice(rows, features, &values).unwrap());
        let (mut tape, mut updates) = (Tape::new(), Updates::default());
        let mut forward = Forward::training(&mut tape, &parameters, &mut updates, 0, 0);
        let (layout, state) = (Layout::default(), State::default());
        let found = embed(&*model, &mut forward, &graph, &values, 0..steps, &layout, state);
        let height = if model.coverage() == Coverage::Every { rows } else { vertices };
        let got = tape.shape(found.rows);
        assert_eq!([got.rows, got.cols], [height, model.width()], "{name} {shape:?}");
        let ones = vec![1.0; height * model.width()];
        assert!(tape.value(found.rows).iter().all(|value| value.is_finite()), "{name} {shape:?}");
        tape.backward_from(found.rows, &ones).unwrap();
        for (id, parameter) in parameters.iter() {
            let gradient = tape.parameter_gradient(id.index()).unwrap_or_default();
            let finite = gradient.iter().all(|value| value.is_finite());
            assert!(finite, "{name} {shape:?}: {}", parameter.name);
        }
    }
}

fn refusal(name: &str, options: &ModelOptions) -> String {
    let mut parameters = Parameters::default();
    match model::build(name, &mut Builder::new(&mut parameters, 2), options) {
        Ok(_) => panic!("{name} took {options:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let fitting = ModelOptions::new(8, 6, 5, 4);
    let layers = ModelOptions { layers: Some(2), ..fitting };
    assert_eq!(
        refusal("tgcn", &layers),
        "tgcn: layers must be 1: the model has one layer, but is 2"
    );
    let heads = refusal("dysat", &fitting);
    assert_eq!(heads, "dysat: heads must be a divisor of the hidden width 6, but is 4");
    let width = refusal("evolvegcn-h", &fitting);
    assert!(width.contains("at most the number of vertices, 5"), "{width}");
    let many = ModelOptions { layers: Some(9), ..fitting };
    assert!(refusal("cd-gcn", &many).contains("1 to 8"));
    let terms = ModelOptions { chebyshev: 0, ..fitting };
    assert!(refusal("gc-lstm", &terms).contains("k must be at least 1"));
    let unknown = refusal("tgnn", &fitting);
    assert!(unknown.contains("no model `tgnn`") && unknown.contains("wd-gcn"), "{unknown}");
}

#[test]
fn a_frame_of_another_length_is_refused_where_the_length_is_built_in() {
    for (name, paper) in
        [("a3tgcn", false), ("mpnn-lstm", false), ("dysat", false), ("dysat", true)]
    {
        let mut parameters = Parameters::default();
        let built_for = options([3, 4, 5, 2], paper);
        let model = model::build(name, &mut Builder::new(&mut parameters, 2), &built_for).unwrap();
        let graph = PreparedGraph::new(&graph(5, 3), &model.forms()).unwrap();
        let (mut tape, mut updates) = (Tape::new(), Updates::default());
        let mut forward = Forward::evaluating(&mut tape, &parameters, &mut updates);
        let features = forward.tape.zeros(15, 3);
        let frame = zoetrope_nn::Frame {
            graph: &graph,
            features,
            aggregated: None,
            mask: None,
            groups: &[],
            orders: &[],
            other_orders: &[],
            first_step: 0,
            shared: None,
        };
        let error = model.embed(&mut forward, &frame, State::default()).unwrap_err();
        assert!(
            matches!(error, NnError::Option { option: "the length of a frame", .. }),
            "{error}"
        );
    }
}
