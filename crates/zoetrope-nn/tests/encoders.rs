//! Structure and time encoders against torch_geometric and torch.
//!
//! The golden values are made by `golden/encoders.py`.

mod golden_file;

use std::sync::Arc;

use golden_file::{Golden, difference, scale};
use zoetrope_graph::laplacian::Laplacian;
use zoetrope_graph::{Csr, normalise};
use zoetrope_nn::forward::Updates;
use zoetrope_nn::structure::{Chebyshev, Gat, Gcn, Rgcn, Sage};
use zoetrope_nn::time::{Gru, Lstm};
use zoetrope_nn::{
    Builder, Forward, Frame, NnError, Parameters, PreparedGraph, Sequence, State, StructureEncoder,
    TimeEncoder,
};
use zoetrope_tensor::{Activation, SparseGroup, SparseMatrix, Tape, Var};

const FEATURES: usize = 3;
const HIDDEN: usize = 5;

/// One of the encoders, as a function from features to result.
type Encode = Box<dyn Fn(&mut Forward<'_>, &Golden, Var) -> Result<Var, NnError>>;

fn structure(encoder: impl StructureEncoder + 'static) -> Encode {
    Box::new(move |forward, golden, features| {
        let graph = PreparedGraph::new(&golden.graph(), &[encoder.form()])?;
        let (aggregated, mask) = (None, None);
        let (groups, orders, first_step) = (&[][..], &[][..], 0);
        let frame = Frame {
            graph: &graph,
            features,
            aggregated,
            mask,
            groups,
            orders,
            other_orders: &[],
            first_step,
            shared: None,
        };
        frame.encode(forward, &encoder, 0, features)
    })
}

fn time(encoder: impl TimeEncoder + 'static) -> Encode {
    Box::new(move |forward, golden, rows| {
        let (steps, vertices) =
            (golden.number("steps").unwrap(), golden.number("vertices").unwrap());
        let sequence = Sequence { rows, steps, vertices, mask: None, numbers: None };
        encoder.encode(forward, sequence, &mut State::default(), 0)
    })
}

/// The relation of an edge is whether its source is even.
fn relational(encoder: Rgcn) -> Encode {
    Box::new(move |forward, golden, x| {
        let relations = [0, 1].map(|relation| {
            let all = Csr::from_view(golden.graph().at(0)).unwrap();
            let (mut offsets, mut columns) = (vec![0], Vec::new());
            for row in 0..all.rows() {
                columns.extend(all.row(row).0.iter().filter(|&&source| source % 2 == relation));
                offsets.push(columns.len() as u32);
            }
            let ones = vec![1.0; columns.len()];
            let own = Csr::new(all.rows(), all.cols(), offsets, columns, ones).unwrap();
            let matrix = SparseMatrix::new(normalise::mean(own));
            SparseGroup::new(Arc::new([Arc::new(matrix)]))
        });
        encoder.encode(forward, &relations, x)
    })
}

fn encoder(name: &str, builder: &mut Builder<'_>) -> Encode {
    match name {
        "gcn" => structure(Gcn::new(builder, FEATURES, HIDDEN, Activation::Identity)),
        "gat" => structure(Gat::new(builder, FEATURES, 4, 2)),
        "chebyshev" => {
            structure(Chebyshev::new(builder, FEATURES, HIDDEN, 3, Laplacian::Symmetric))
        }
        "sage" => structure(Sage::new(builder, FEATURES, HIDDEN)),
        "rgcn" => relational(Rgcn::new(builder, FEATURES, HIDDEN, 2)),
        "gru" => time(Gru::new(builder, FEATURES, HIDDEN)),
        "lstm" => time(Lstm::new(builder, FEATURES, HIDDEN)),
        other => panic!("no encoder {other}"),
    }
}

#[test]
fn encoders_agree_with_the_reference_implementations() {
    let cases = Golden::folder("encoders");
    assert_eq!(cases.len(), 7);
    for golden in &cases {
        let mut parameters = Parameters::default();
        let encode = encoder(&golden.metadata["encoder"], &mut Builder::new(&mut parameters, 0));
        for (name, tensor) in golden.under("parameter.") {
            let id = parameters.find(name).unwrap_or_else(|| panic!("{}: {name}", golden.name));
            parameters.get_mut(id).as_mut_slice().copy_from_slice(&tensor.values);
        }
        assert_eq!(parameters.len(), golden.under("parameter.").len(), "{}", golden.name);

        let (mut tape, mut updates) = (Tape::new(), Updates::default());
        let values = golden.values("features");
        let x = tape.variable(values.len() / FEATURES, FEATURES, values).unwrap();
        let mut forward = Forward::training(&mut tape, &parameters, &mut updates, 0, 0);
        let y = encode(&mut forward, golden, x).unwrap();
        let output = tape.value(y).to_vec();
        let apart = difference(&output, golden.values("output"));
        assert!(apart <= 1e-5, "{}: output {apart}", golden.name);

        let gradient: Vec<f32> = output.iter().map(|value| 2.0 * value).collect();
        tape.backward_from(y, &gradient).unwrap();
        for (name, tensor) in golden.under("gradient.") {
            let found = match name {
                "features" => tape.gradient(x),
                _ => tape.parameter_gradient(parameters.find(name).unwrap().index()),
            };
            let apart = difference(found.expect("a gradient"), &tensor.values);
            let limit = 1e-5 * scale(&tensor.values).max(1.0);
            assert!(apart <= limit, "{}: gradient of {name}: {apart}", golden.name);
        }
    }
}
