//! Operands that do not fit are refused by every operator with an error, never with a panic.

use std::sync::Arc;

use zoetrope_tensor::conformance::Outcome;
use zoetrope_tensor::conformance::graphs::group;
use zoetrope_tensor::{
    Activation, AttentionOptions, Chain, Dropout, DropoutKey, Evolution, EvolutionUnit, GatOptions,
    GruKind, Instr, Loss, LstmRecurrence, Matrix, MessageCell, MessageCellKind, NeighbourAttention,
    Neighbourhood, Tape, TensorError, Var,
};

const KEY: DropoutKey = DropoutKey { seed: 1, stream: 1, step: 1 };

/// A call that must fail, on a tape of its own.
type Call = fn(&mut Tape) -> Outcome;

fn ones(tape: &mut Tape, shapes: &[(usize, usize)]) -> Vec<Var> {
    shapes.iter().map(|&(rows, cols)| tape.ones(rows, cols)).collect()
}

/// Calls each and requires an error that begins with the name of the operator.
fn refuse(operator: &str, calls: &[Call]) {
    for (at, call) in calls.iter().enumerate() {
        match call(&mut Tape::new()) {
            Ok(_) => panic!("{operator}: call {at} was accepted"),
            Err(error) => {
                let message = error.to_string();
                assert!(message.starts_with(operator), "{operator}: call {at}: {message}");
            }
        }
    }
}

#[test]
fn products_refuse_shapes_that_do_not_fit() {
    refuse(
        "matmul",
        &[
            |t| {
                let v = ones(t, &[(2, 3), (2, 3)]);
                t.matmul(v[0], v[1])
            },
            |t| {
                let v = ones(t, &[(2, 3), (3, 2)]);
                t.matmul_turned(v[0], true, v[1], false)
            },
            |t| {
                let v = ones(t, &[(2, 3), (4, 2)]);
                t.matmul_turned(v[0], false, v[1], true)
            },
            |t| {
                let v = ones(t, &[(2, 3), (3, 3)]);
                t.matmul_turned(v[0], true, v[1], true)
            },
        ],
    );
    refuse(
        "linear",
        &[
            |t| linear(t, &[(2, 3), (4, 2), (1, 4), (2, 4)]),
            |t| linear(t, &[(2, 3), (4, 3), (1, 3), (2, 4)]),
            |t| linear(t, &[(2, 3), (4, 3), (2, 4), (2, 4)]),
            |t| linear(t, &[(2, 3), (4, 3), (1, 4), (2, 3)]),
        ],
    );
    refuse(
        "readout",
        &[
            |t| {
                let v = ones(t, &[(2, 3), (1, 2), (1, 1)]);
                t.readout(v[0], v[1], v[2])
            },
            |t| {
                let v = ones(t, &[(2, 3), (1, 3), (1, 2)]);
                t.readout(v[0], v[1], v[2])
            },
        ],
    );
    refuse(
        "head_products",
        &[
            |t| {
                let v = ones(t, &[(5, 3), (4, 3)]);
                t.head_products(v[0], v[1], 2, false)
            },
            |t| {
                let v = ones(t, &[(5, 4), (6, 3)]);
                t.head_products(v[0], v[1], 2, false)
            },
            |t| {
                let v = ones(t, &[(5, 4), (4, 3)]);
                t.head_products(v[0], v[1], 2, true)
            },
            |t| {
                let v = ones(t, &[(5, 4), (4, 3)]);
                t.head_products(v[0], v[1], 0, false)
            },
        ],
    );
    refuse(
        "matmul_steps",
        &[
            |t| {
                let v = ones(t, &[(5, 2), (4, 3)]);
                t.matmul_steps(v[0], v[1], 2, false)
            },
            |t| {
                let v = ones(t, &[(6, 2), (6, 3)]);
                t.matmul_steps(v[0], v[1], 2, false)
            },
            |t| {
                let v = ones(t, &[(6, 2), (6, 3)]);
                t.matmul_steps(v[0], v[1], 2, true)
            },
            |t| {
                let v = ones(t, &[(6, 2), (4, 3)]);
                t.matmul_steps(v[0], v[1], 0, false)
            },
        ],
    );
    refuse(
        "spmm",
        &[
            |t| {
                let x = t.ones(14, 2);
                t.spmm(&group("odd"), x)
            },
            |t| {
                let x = t.ones(0, 2);
                t.spmm(&group("one"), x)
            },
        ],
    );
}

fn linear(tape: &mut Tape, shapes: &[(usize, usize)]) -> Outcome {
    let v = ones(tape, shapes);
    tape.linear_plus(v[0], v[1], Some(v[2]), Some(v[3]), Activation::Relu)
}

#[test]
fn element_wise_operators_refuse_shapes_that_do_not_fit() {
    fn two(tape: &mut Tape) -> [Var; 2] {
        [tape.ones(2, 3), tape.ones(3, 2)]
    }
    refuse(
        "add",
        &[
            |t| {
                let [a, b] = two(t);
                t.add(a, b)
            },
            |t| {
                let [a, b] = two(t);
                t.sub(a, b)
            },
            |t| {
                let [a, b] = two(t);
                t.add_scaled(a, b, 2.0)
            },
        ],
    );
    refuse(
        "mul",
        &[|t| {
            let [a, b] = two(t);
            t.mul(a, b)
        }],
    );
    refuse(
        "add_bias",
        &[
            |t| {
                let [a, b] = two(t);
                t.add_bias(a, b)
            },
            |t| {
                let v = ones(t, &[(2, 3), (3, 1)]);
                t.add_bias(v[0], v[1])
            },
        ],
    );
    refuse(
        "row_scale",
        &[
            |t| {
                let [a, b] = two(t);
                t.row_scale(a, b)
            },
            |t| {
                let v = ones(t, &[(2, 3), (1, 2)]);
                t.row_scale(v[0], v[1])
            },
        ],
    );
    let rate = |t: &mut Tape, rate| {
        let x = t.ones(2, 3);
        t.dropout(x, rate, KEY)
    };
    for wrong in [-0.1, 1.0, 2.0, f32::NAN, f32::INFINITY] {
        let error = rate(&mut Tape::new(), wrong).unwrap_err();
        assert!(error.to_string().starts_with("dropout"), "{error}");
    }
}

#[test]
fn chains_refuse_programs_and_inputs_that_do_not_fit() {
    use Instr::{Add, Input, Mul, Tanh};
    for program in [&[][..], &[Add], &[Input(0), Add], &[Input(0), Input(1)], &[Input(6)]] {
        assert!(Chain::new(program).is_err(), "{program:?}");
    }
    assert!(Chain::new(&[Tanh; 17]).is_err());
    let mut long = vec![Input(0)];
    long.extend([Tanh; 15]);
    assert!(Chain::new(&long).is_ok());
    fn product(tape: &mut Tape, shapes: &[(usize, usize)]) -> Outcome {
        let inputs = ones(tape, shapes);
        tape.chain(Chain::new(&[Input(0), Input(1), Mul])?, &inputs)
    }
    refuse(
        "chain",
        &[
            |t| product(t, &[]),
            |t| product(t, &[(2, 3)]),
            |t| product(t, &[(2, 3), (3, 2)]),
            |t| product(t, &[(2, 3), (2, 3), (2, 2)]),
            |t| product(t, &[(1, 1); 7]),
        ],
    );
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
fn parts_refuse_what_is_not_there() {
    fn three_by_two(tape: &mut Tape) -> Var {
        tape.ones(3, 2)
    }
    refuse(
        "rows",
        &[
            |t| {
                let x = three_by_two(t);
                t.rows(x, 1..4)
            },
            |t| {
                let x = three_by_two(t);
                t.rows(x, 2..1)
            },
            |t| {
                let x = three_by_two(t);
                t.rows(x, usize::MAX..usize::MAX)
            },
        ],
    );
    refuse(
        "columns",
        &[
            |t| {
                let x = three_by_two(t);
                t.columns(x, 1..3)
            },
            |t| {
                let x = three_by_two(t);
                t.columns(x, 2..1)
            },
        ],
    );
    refuse(
        "a matrix of",
        &[
            |t| {
                let x = three_by_two(t);
                t.reshape(x, 4, 2)
            },
            |t| t.copied(2, 2, &[1.0; 3]),
            |t| t.variable(2, 2, &[1.0; 5]),
        ],
    );
    refuse(
        "concat_rows",
        &[
            |t| t.concat_rows(&[]),
            |t| {
                let v = ones(t, &[(2, 3), (2, 2)]);
                t.concat_rows(&v)
            },
        ],
    );
    refuse(
        "concat_columns",
        &[
            |t| t.concat_columns(&[]),
            |t| {
                let v = ones(t, &[(2, 3), (1, 3)]);
                t.concat_columns(&v)
            },
        ],
    );
    refuse(
        "concat_ranges",
        &[
            |t| t.concat_ranges(&[]),
            |t| {
                let v = ones(t, &[(2, 3), (1, 3)]);
                t.concat_ranges(&[(v[0], 0..1), (v[1], 0..1)])
            },
            |t| {
                let x = three_by_two(t);
                t.concat_ranges(&[(x, 0..2), (x, 1..3)])
            },
            |t| {
                let x = three_by_two(t);
                t.concat_ranges(&[(x, 2..1)])
            },
        ],
    );
    refuse(
        "gather",
        &[
            |t| {
                let x = three_by_two(t);
                t.gather(x, &Arc::new(vec![0, 3]))
            },
            |t| {
                let x = t.ones(0, 2);
                t.gather(x, &Arc::new(vec![0]))
            },
        ],
    );
    refuse(
        "scatter_add",
        &[
            |t| {
                let x = three_by_two(t);
                t.scatter_add(x, &Arc::new(vec![0, 1]), 2)
            },
            |t| {
                let x = three_by_two(t);
                t.scatter_add(x, &Arc::new(vec![0, 1, 2]), 2)
            },
        ],
    );
    refuse(
        "constant",
        &[
            |t| t.constant(&Arc::new(Matrix::zeros(2, 2)), 1..3),
            |t| t.constant(&Arc::new(Matrix::zeros(2, 2)), 2..1),
        ],
    );
    refuse(
        "unit_vector",
        &[|t| {
            let x = three_by_two(t);
            t.unit_vector(x)
        }],
    );
}

fn gru(tape: &mut Tape, shapes: [(usize, usize); 5]) -> Outcome {
    let v = ones(tape, &shapes);
    tape.gru(GruKind::ResetAfter, v[0], v[1], v[2], Some(v[3]), Some(v[4]))
}

fn lstm(tape: &mut Tape, shapes: [(usize, usize); 6]) -> Outcome {
    let v = ones(tape, &shapes);
    let recurrence = LstmRecurrence { weight: v[3], bias: Some(v[4]) };
    Ok(tape.lstm(v[0], v[1], v[2], Some(recurrence), Some(v[5]))?.hidden)
}

fn evolve(tape: &mut Tape, gru: bool, shapes: [(usize, usize); 5]) -> Outcome {
    let v = ones(tape, &shapes);
    let unit = if gru {
        EvolutionUnit::Gru { input_bias: v[3], bias: v[4] }
    } else {
        EvolutionUnit::Lstm { cell: v[3], bias: v[4] }
    };
    let evolution = Evolution { input_weight: v[1], weight: v[2], unit };
    Ok(tape.evolve(v[0], evolution, 2)?.hidden)
}

#[test]
fn evolving_weights_refuse_shapes_that_do_not_fit() {
    assert!(evolve(&mut Tape::new(), true, [(3, 2), (6, 2), (6, 2), (1, 6), (1, 6)]).is_ok());
    assert!(evolve(&mut Tape::new(), false, [(3, 2), (8, 2), (8, 2), (3, 2), (3, 8)]).is_ok());
    refuse(
        "evolve",
        &[
            |t| evolve(t, true, [(3, 2), (8, 2), (6, 2), (1, 6), (1, 6)]),
            |t| evolve(t, true, [(3, 2), (6, 2), (6, 3), (1, 6), (1, 6)]),
            |t| evolve(t, true, [(3, 2), (6, 2), (6, 2), (3, 6), (1, 6)]),
            |t| evolve(t, true, [(3, 2), (6, 2), (6, 2), (1, 6), (1, 5)]),
            |t| evolve(t, false, [(3, 2), (6, 2), (8, 2), (3, 2), (3, 8)]),
            |t| evolve(t, false, [(3, 2), (8, 2), (8, 1), (3, 2), (3, 8)]),
            |t| evolve(t, false, [(3, 2), (8, 2), (8, 2), (2, 2), (3, 8)]),
            |t| evolve(t, false, [(3, 2), (8, 2), (8, 2), (3, 2), (1, 8)]),
        ],
    );
}

#[test]
fn recurrent_units_refuse_shapes_that_do_not_fit() {
    assert!(gru(&mut Tape::new(), [(6, 6), (3, 2), (6, 2), (1, 6), (6, 1)]).is_ok());
    refuse(
        "gru",
        &[
            |t| gru(t, [(6, 5), (3, 2), (6, 2), (1, 6), (6, 1)]),
            |t| gru(t, [(7, 6), (3, 2), (6, 2), (1, 6), (7, 1)]),
            |t| gru(t, [(2, 6), (3, 2), (6, 2), (1, 6), (2, 1)]),
            |t| gru(t, [(6, 6), (0, 2), (6, 2), (1, 6), (6, 1)]),
            |t| gru(t, [(6, 6), (3, 2), (2, 6), (1, 6), (6, 1)]),
            |t| gru(t, [(6, 6), (3, 2), (6, 2), (1, 5), (6, 1)]),
            |t| gru(t, [(6, 6), (3, 2), (6, 2), (1, 6), (3, 1)]),
        ],
    );
    assert!(lstm(&mut Tape::new(), [(6, 8), (3, 2), (3, 2), (8, 2), (1, 8), (6, 1)]).is_ok());
    refuse(
        "lstm",
        &[
            |t| lstm(t, [(6, 6), (3, 2), (3, 2), (8, 2), (1, 8), (6, 1)]),
            |t| lstm(t, [(7, 8), (3, 2), (3, 2), (8, 2), (1, 8), (7, 1)]),
            |t| lstm(t, [(6, 8), (3, 2), (2, 2), (8, 2), (1, 8), (6, 1)]),
            |t| lstm(t, [(6, 8), (3, 2), (3, 2), (6, 2), (1, 8), (6, 1)]),
            |t| lstm(t, [(6, 8), (3, 2), (3, 2), (8, 2), (8, 1), (6, 1)]),
            |t| lstm(t, [(6, 8), (3, 2), (3, 2), (8, 2), (1, 8), (1, 6)]),
            |t| {
                let v = ones(t, &[(6, 8), (3, 2), (3, 2)]);
                Ok(t.lstm(v[0], v[1], v[2], None, None)?.cell)
            },
        ],
    );
}

fn attend(
    tape: &mut Tape,
    shapes: [(usize, usize); 4],
    steps: usize,
    heads: usize,
    p: f32,
) -> Outcome {
    let v = ones(tape, &shapes);
    let dropout = Some(Dropout { p, key: KEY });
    let options =
        AttentionOptions { steps, heads, causal: false, scale: 1.0, dropout, numbers: None };
    tape.temporal_attention([v[0], v[1], v[2]], Some(v[3]), options)
}

fn gat(tape: &mut Tape, shapes: [(usize, usize); 3], heads: usize, p: f32) -> Outcome {
    let v = ones(tape, &shapes);
    let dropout = Some(Dropout { p, key: KEY });
    let options = GatOptions { heads, slope: 0.2, weighted: false, dropout };
    tape.gat(&group("odd"), v[0], v[1], v[2], options)
}

#[test]
fn attention_refuses_shapes_heads_and_rates_that_do_not_fit() {
    assert!(attend(&mut Tape::new(), [(6, 4), (6, 4), (6, 4), (6, 1)], 3, 2, 0.5).is_ok());
    refuse(
        "attention",
        &[
            |t| attend(t, [(6, 4), (5, 4), (6, 4), (6, 1)], 3, 2, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 3), (6, 1)], 3, 2, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (1, 6)], 3, 2, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (6, 1)], 4, 2, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (6, 1)], 0, 2, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (6, 1)], 3, 3, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (6, 1)], 3, 0, 0.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (6, 1)], 3, 2, 1.5),
            |t| attend(t, [(6, 4), (6, 4), (6, 4), (6, 1)], 3, 2, f32::NAN),
        ],
    );
    assert!(gat(&mut Tape::new(), [(15, 4), (15, 2), (15, 2)], 2, 0.5).is_ok());
    refuse(
        "gat",
        &[
            |t| gat(t, [(14, 4), (15, 2), (15, 2)], 2, 0.5),
            |t| gat(t, [(15, 4), (15, 1), (15, 2)], 2, 0.5),
            |t| gat(t, [(15, 4), (15, 2), (5, 2)], 2, 0.5),
            |t| gat(t, [(15, 4), (15, 3), (15, 3)], 3, 0.5),
            |t| gat(t, [(15, 4), (15, 0), (15, 0)], 0, 0.5),
            |t| gat(t, [(15, 4), (15, 2), (15, 2)], 2, -1.0),
        ],
    );
    refuse(
        "segment_softmax",
        &[
            |t| {
                let x = t.ones(11, 1);
                t.segment_softmax(&group("odd"), x)
            },
            |t| {
                let x = t.ones(12, 2);
                t.segment_softmax(&group("odd"), x)
            },
        ],
    );
}

fn normalise(tape: &mut Tape, shapes: [(usize, usize); 3], layer: bool) -> Outcome {
    let v = ones(tape, &shapes);
    if layer {
        tape.layer_norm(v[0], v[1], v[2], 1e-5)
    } else {
        tape.batch_norm(v[0], v[1], v[2], 1e-5)
    }
}

fn fixed(tape: &mut Tape, mean: usize, variance: usize) -> Outcome {
    let v = ones(tape, &[(4, 3), (1, 3), (1, 3)]);
    tape.batch_norm_fixed(v[0], [v[1], v[2]], &vec![0.0; mean], &vec![1.0; variance], 1e-5)
}

#[test]
fn normalisations_refuse_shapes_that_do_not_fit() {
    refuse(
        "layer_norm",
        &[
            |t| normalise(t, [(4, 3), (1, 2), (1, 3)], true),
            |t| normalise(t, [(4, 3), (1, 3), (3, 1)], true),
        ],
    );
    refuse(
        "batch_norm",
        &[
            |t| normalise(t, [(4, 3), (4, 3), (1, 3)], false),
            |t| normalise(t, [(4, 3), (1, 3), (1, 4)], false),
            |t| fixed(t, 2, 3),
            |t| fixed(t, 3, 4),
        ],
    );
}

fn entropy(tape: &mut Tape, labels: &[u32], start: usize, weight: (usize, usize)) -> Outcome {
    let v = ones(tape, &[(3, 2), weight]);
    tape.cross_entropy(v[0], &Arc::new(labels.to_vec()), start, Some(v[1]))
}

#[test]
fn losses_refuse_shapes_and_labels_that_do_not_fit() {
    refuse(
        "loss",
        &[
            |t| {
                let v = ones(t, &[(2, 3), (3, 2)]);
                t.loss(Loss::Mse, v[0], v[1], None)
            },
            |t| {
                let v = ones(t, &[(2, 3), (2, 3), (2, 1)]);
                t.loss(Loss::Mae, v[0], v[1], Some(v[2]))
            },
        ],
    );
    assert!(entropy(&mut Tape::new(), &[0, 0, 1, 0], 1, (3, 1)).is_ok());
    refuse(
        "cross_entropy",
        &[
            |t| entropy(t, &[0, 1], 0, (3, 1)),
            |t| entropy(t, &[0, 1, 0], 1, (3, 1)),
            |t| entropy(t, &[0, 1, 0], usize::MAX, (3, 1)),
            |t| entropy(t, &[0, 2, 0], 0, (3, 1)),
            |t| entropy(t, &[0, 1, 0], 0, (3, 2)),
        ],
    );
}

#[test]
fn the_way_back_starts_at_one_number_or_at_a_gradient_that_fits() {
    let mut tape = Tape::new();
    let x = tape.ones(2, 3);
    assert!(matches!(tape.backward(x), Err(TensorError::Shape { operator: "backward", .. })));
    let error = tape.backward_from(x, &[1.0; 5]).unwrap_err();
    assert!(matches!(error, TensorError::Length { got: 5, .. }));
}

#[test]
fn a_recording_is_walked_back_once() {
    let mut tape = Tape::new();
    for _ in 0..2 {
        let x = tape.variable(1, 2, &[1.0, 2.0]).unwrap();
        let loss = tape.mean(x);
        tape.backward(loss).unwrap();
        assert_eq!(tape.backward(loss), Err(TensorError::Spent));
        assert_eq!(tape.gradient(x), Some(&[0.5, 0.5][..]));
        tape.reset();
    }
}

/// An attention of one head over rows, features and time of widths 2, 3 and 4: two targets with
/// two slots, three queries, three rows, two events.
fn attend_to_neighbours(
    tape: &mut Tape,
    shapes: [(usize, usize); 5],
    change: fn(&mut NeighbourAttention, &mut Neighbourhood, &mut Vec<f64>),
) -> Outcome {
    let v: Vec<Var> = shapes
        .iter()
        .map(|&(rows, cols)| tape.variable(rows, cols, &vec![1.0; rows * cols]).unwrap())
        .collect();
    let (mut layout, mut deltas) = (
        Neighbourhood {
            offsets: vec![0, 1, 2],
            query: vec![2, 0],
            source: vec![2, 1],
            event: vec![1, 1],
            ..Neighbourhood::default()
        },
        vec![0.5, 1.5],
    );
    layout.index(3, 3);
    let mut call = NeighbourAttention {
        queries: v[0],
        rows: Some(v[1]),
        features: Some(v[2]),
        time: Some([v[3], v[4]]),
        heads: 1,
        scale: 1.0,
        slope: None,
        dropout: None,
    };
    change(&mut call, &mut layout, &mut deltas);
    tape.neighbour_attention(call, &Arc::new(layout), &Arc::new(deltas))
}

const NEIGHBOURS: [(usize, usize); 5] = [(3, 10), (3, 2), (2, 3), (4, 1), (1, 4)];

#[test]
fn attention_over_neighbours_refuses_what_does_not_fit_its_layout() {
    assert!(attend_to_neighbours(&mut Tape::new(), NEIGHBOURS, |_, _, _| ()).is_ok());
    refuse(
        "neighbour_attention",
        &[
            |t| attend_to_neighbours(t, [(3, 9), (3, 2), (2, 3), (4, 1), (1, 4)], |_, _, _| ()),
            |t| attend_to_neighbours(t, [(2, 10), (3, 2), (2, 3), (4, 1), (1, 4)], |_, _, _| ()),
            |t| attend_to_neighbours(t, [(3, 10), (2, 2), (2, 3), (4, 1), (1, 4)], |_, _, _| ()),
            |t| attend_to_neighbours(t, [(3, 10), (4, 2), (2, 3), (4, 1), (1, 4)], |_, _, _| ()),
            |t| attend_to_neighbours(t, [(3, 10), (3, 2), (1, 3), (4, 1), (1, 4)], |_, _, _| ()),
            |t| attend_to_neighbours(t, [(3, 10), (3, 2), (2, 3), (2, 2), (1, 4)], |_, _, _| ()),
            |t| attend_to_neighbours(t, [(3, 10), (3, 2), (2, 3), (4, 1), (1, 3)], |_, _, _| ()),
            |t| attend_to_neighbours(t, NEIGHBOURS, |call, _, _| call.heads = 0),
            |t| attend_to_neighbours(t, NEIGHBOURS, |call, _, _| call.heads = 2),
            |t| attend_to_neighbours(t, NEIGHBOURS, |call, _, _| call.rows = None),
            |t| {
                attend_to_neighbours(t, NEIGHBOURS, |call, _, _| {
                    call.dropout = Some(Dropout { p: 1.0, key: KEY })
                })
            },
            |t| attend_to_neighbours(t, NEIGHBOURS, |_, layout, _| layout.offsets = vec![0, 2, 1]),
            |t| attend_to_neighbours(t, NEIGHBOURS, |_, layout, _| layout.offsets = vec![0, 1, 3]),
            |t| attend_to_neighbours(t, NEIGHBOURS, |_, layout, _| layout.query = vec![0]),
            |t| attend_to_neighbours(t, NEIGHBOURS, |_, layout, _| layout.event = vec![]),
            |t| {
                attend_to_neighbours(t, NEIGHBOURS, |_, layout, _| {
                    layout.targets_of_query_offsets.clear()
                })
            },
            |t| attend_to_neighbours(t, NEIGHBOURS, |_, layout, _| layout.slots_of_source.clear()),
            |t| attend_to_neighbours(t, NEIGHBOURS, |_, _, deltas| deltas.clear()),
        ],
    );
    refuse(
        "time_encoding",
        &[
            |t| {
                let v = ones(t, &[(2, 2), (1, 4)]);
                t.time_encoding(&Arc::new(vec![1.0]), v[0], v[1])
            },
            |t| {
                let v = ones(t, &[(4, 1), (1, 3)]);
                t.time_encoding(&Arc::new(vec![1.0]), v[0], v[1])
            },
        ],
    );
}

#[test]
fn a_cell_refuses_messages_that_do_not_fit_its_weights() {
    refuse(
        "message_cell",
        &[
            |t| read_messages(t, [(2, 3), (2, 2), (2, 1), (6, 7), (6, 2), (1, 6)], &[0, 1]),
            |t| read_messages(t, [(2, 4), (2, 2), (3, 1), (6, 7), (6, 2), (1, 6)], &[0, 1]),
            |t| read_messages(t, [(2, 4), (2, 2), (2, 1), (6, 8), (6, 2), (1, 6)], &[0, 1]),
            |t| read_messages(t, [(2, 4), (2, 2), (2, 1), (6, 7), (4, 2), (1, 6)], &[0, 1]),
            |t| read_messages(t, [(2, 4), (2, 2), (2, 1), (6, 7), (6, 2), (1, 4)], &[0, 1]),
            |t| read_messages(t, [(2, 4), (2, 2), (2, 1), (6, 7), (6, 2), (1, 6)], &[0, 2]),
            |t| read_messages(t, [(2, 4), (2, 2), (2, 1), (6, 7), (6, 2), (1, 6)], &[0]),
            |t| read_messages(t, [(2, 1), (2, 2), (2, 1), (6, 4), (6, 2), (1, 6)], &[0, 1]),
        ],
    );
}

/// A GRU over messages whose operands are pairs, features, encodings, both weights and a bias.
fn read_messages(
    t: &mut Tape,
    shapes: [(usize, usize); 6],
    rows: &[u32],
) -> Result<Var, TensorError> {
    let v = ones(t, &shapes);
    let call = MessageCell {
        kind: MessageCellKind::Gru,
        pair: v[0],
        features: Some(v[1]),
        time: v[2],
        weights: [v[3], v[4]],
        biases: [v[5], v[5]],
        nothing: false,
    };
    t.message_cell(call, &Arc::new(rows.to_vec()))
}
