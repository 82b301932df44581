//! Fused operators against the same mathematics put together from small ones: two ways through the
//! tape that share no kernel have to agree in results and gradients.

use std::sync::Arc;

use zoetrope_tensor::conformance::graphs::{self, group};
use zoetrope_tensor::conformance::{Kind, numbers};
use zoetrope_tensor::{
    Activation, AttentionOptions, Chain, Evolution, EvolutionUnit, GatOptions, GateInput, GruKind,
    Instr, LstmRecurrence, PairLayers, SparseGroup, Tape, TemporalParameters, TensorError, Var,
};

/// Both ways use f32 sums of a few terms in another order.
const TOLERANCE: f32 = 1e-5;

type Build<'a> = &'a dyn Fn(&mut Tape, &[Var]) -> Result<Var, TensorError>;

/// The result and the gradients of the inputs.
fn outcome(shapes: &[(usize, usize)], build: Build<'_>) -> Vec<Vec<f32>> {
    let mut tape = Tape::new();
    let mut vars = Vec::new();
    for (at, &(rows, cols)) in shapes.iter().enumerate() {
        let values = numbers(&format!("composition#{at}"), Kind::Plain, rows * cols);
        vars.push(tape.variable(rows, cols, &values).expect("the length fits"));
    }
    let out = build(&mut tape, &vars).expect("shapes that fit");
    let result = tape.value(out).to_vec();
    let weighting = numbers("composition#out", Kind::Plain, result.len());
    tape.backward_from(out, &weighting).expect("the length fits");
    let gradients = vars.iter().map(|&var| tape.gradient(var).unwrap_or_default().to_vec());
    std::iter::once(result).chain(gradients).collect()
}

fn agree(what: &str, shapes: &[(usize, usize)], fused: Build<'_>, composed: Build<'_>) {
    let (fused, composed) = (outcome(shapes, fused), outcome(shapes, composed));
    for (at, (fused, composed)) in fused.iter().zip(&composed).enumerate() {
        assert_eq!(fused.len(), composed.len(), "{what}: matrix {at}");
        let scale = composed.iter().fold(1.0f32, |scale, value| scale.max(value.abs()));
        for (fused, composed) in fused.iter().zip(composed) {
            let close = (fused - composed).abs() <= TOLERANCE * scale;
            assert!(close, "{what}: {fused} and {composed} in matrix {at}");
        }
    }
}

/// Sources and destinations of all edges in the stacked numbering.
fn ends(group: &SparseGroup) -> [Arc<Vec<u32>>; 2] {
    let (mut sources, mut destinations, mut first) = (Vec::new(), Vec::new(), 0);
    for member in group.members() {
        for (row, column, _) in member.matrix().iter() {
            sources.push(first + column);
            destinations.push(first + row);
        }
        first += group.vertices() as u32;
    }
    [Arc::new(sources), Arc::new(destinations)]
}

#[test]
fn graph_attention_is_gather_segment_softmax_and_scatter() {
    for name in graphs::NAMES {
        let group = group(name);
        let rows = group.len() * group.vertices();
        let [from, to] = ends(&group);
        let options = GatOptions { heads: 1, slope: 0.2, weighted: false, dropout: None };
        agree(
            name,
            &[(rows, 5), (rows, 1), (rows, 1)],
            &|t, v| t.gat(&group, v[0], v[1], v[2], options),
            &|t, v| {
                let (source, destination) = (t.gather(v[1], &from)?, t.gather(v[2], &to)?);
                let scores = t.add(source, destination)?;
                let scores = t.activate(scores, Activation::LeakyRelu(0.2));
                let weights = t.segment_softmax(&group, scores)?;
                let messages = t.gather(v[0], &from)?;
                let messages = t.row_scale(messages, weights)?;
                t.scatter_add(messages, &to, rows)
            },
        );
    }
}

#[test]
fn a_sparse_product_is_gather_row_scale_and_scatter() {
    for name in graphs::NAMES {
        let group = group(name);
        let rows = group.len() * group.vertices();
        let [from, to] = ends(&group);
        let members = group.members().iter();
        let weights: Vec<f32> =
            members.flat_map(|member| member.matrix().values().to_vec()).collect();
        agree(name, &[(rows, 3)], &|t, v| t.spmm(&group, v[0]), &|t, v| {
            let weights = t.copied(weights.len(), 1, &weights)?;
            let messages = t.gather(v[0], &from)?;
            let messages = t.row_scale(messages, weights)?;
            t.scatter_add(messages, &to, rows)
        });
    }
}

#[test]
fn temporal_attention_of_one_vertex_is_two_products_and_a_softmax() {
    let options = AttentionOptions {
        steps: 6,
        heads: 1,
        causal: false,
        scale: 0.3,
        dropout: None,
        numbers: None,
    };
    agree(
        "attention",
        &[(6, 5), (6, 5), (6, 5)],
        &|t, v| t.temporal_attention([v[0], v[1], v[2]], None, options),
        &|t, v| {
            let scores = t.matmul_turned(v[0], false, v[1], true)?;
            let scores = t.scale(scores, 0.3);
            let weights = t.softmax(scores);
            t.matmul(weights, v[2])
        },
    );
}

#[test]
fn a_layer_over_time_is_positions_projections_attention_and_residuals() {
    use Instr::{Add, Input, Relu};
    let options = AttentionOptions {
        steps: 3,
        heads: 2,
        causal: true,
        scale: 0.3,
        dropout: None,
        numbers: None,
    };
    let (n, d) = (37, 6);
    agree(
        "layer over time",
        &[(3 * n, d), (3, d), (d, d), (d, d), (d, d), (d, d), (1, d)],
        &|t, v| {
            let parameters = TemporalParameters {
                positions: v[1],
                projections: [v[2], v[3], v[4]],
                weight: v[5],
                bias: v[6],
            };
            t.temporal_layer(v[0], parameters, None, options)
        },
        &|t, v| {
            let mut parts = Vec::new();
            for step in 0..3 {
                let rows = t.rows(v[0], step * n..(step + 1) * n)?;
                let position = t.rows(v[1], step..step + 1)?;
                parts.push(t.add_bias(rows, position)?);
            }
            let x = t.concat_rows(&parts)?;
            let projected = [t.matmul(x, v[2])?, t.matmul(x, v[3])?, t.matmul(x, v[4])?];
            let out = t.temporal_attention(projected, None, options)?;
            let fed = t.linear(out, v[5], Some(v[6]), Activation::Identity)?;
            let sum = Chain::new(&[Input(0), Relu, Input(1), Add, Input(2), Add])?;
            t.chain(sum, &[fed, out, x])
        },
    );
}

#[test]
fn pair_scores_are_gathered_rows_a_relu_and_a_linear_layer() {
    // Odd widths, several outputs, one pair, more pairs than a block.
    for (n, width, outputs, pairs) in [(7, 5, 3, 40), (3, 16, 1, 1), (9, 33, 1, 2500), (2, 4, 2, 0)]
    {
        let end = |salt: u32| {
            let index = |at: u32| (at * 7 + salt * at * at + salt) % n as u32;
            Arc::new((0..pairs).map(index).collect::<Vec<_>>())
        };
        let (src, dst) = (end(1), end(3));
        agree(
            "pairs",
            &[(n, width), (n, width), (outputs, width), (1, outputs)],
            &|t, v| {
                let [source, destination, weight, bias] = [v[0], v[1], v[2], v[3]];
                t.pair_scores(PairLayers { source, destination, weight, bias }, [&src, &dst])
            },
            &|t, v| {
                let (left, right) = (t.gather(v[0], &src)?, t.gather(v[1], &dst)?);
                let sum = t.add(left, right)?;
                let hidden = t.activate(sum, Activation::Relu);
                t.linear(hidden, v[2], Some(v[3]), Activation::Identity)
            },
        );
    }
}

#[test]
fn a_gru_is_its_steps_put_together() {
    let (steps, n, h) = (3, 4, 5);
    let step = |t: &mut Tape, input: Var, state: Var, weight: Var| -> Result<Var, TensorError> {
        let recurrent = t.linear(state, weight, None, Activation::Identity)?;
        let gate = |t: &mut Tape, at: usize| -> Result<Var, TensorError> {
            let (x, u) = (
                t.columns(input, at * h..(at + 1) * h)?,
                t.columns(recurrent, at * h..(at + 1) * h)?,
            );
            let sum = t.add(x, u)?;
            Ok(t.activate(sum, Activation::Sigmoid))
        };
        let (r, z) = (gate(t, 0)?, gate(t, 1)?);
        let inner = t.columns(recurrent, 2 * h..3 * h)?;
        let inner = t.mul(r, inner)?;
        let candidate = t.columns(input, 2 * h..3 * h)?;
        let candidate = t.add(candidate, inner)?;
        let candidate = t.activate(candidate, Activation::Tanh);
        let apart = t.sub(state, candidate)?;
        let kept = t.mul(z, apart)?;
        t.add(candidate, kept)
    };
    agree(
        "gru",
        &[(steps * n, 3 * h), (n, h), (3 * h, h)],
        &|t, v| t.gru(GruKind::ResetAfter, v[0], v[1], v[2], None, None),
        &|t, v| {
            let (mut state, mut states) = (v[1], Vec::new());
            for at in 0..steps {
                let input = t.rows(v[0], at * n..(at + 1) * n)?;
                state = step(t, input, state, v[2])?;
                states.push(state);
            }
            t.concat_rows(&states)
        },
    );
}

#[test]
fn what_evolves_over_steps_is_as_good_as_one_step_after_the_other() {
    let (steps, n) = (6, 5);
    // Both layouts of a block.
    for h in [3, 16] {
        agree(
            "evolve by a GRU",
            &[(n, h), (3 * h, h), (3 * h, h), (1, 3 * h), (1, 3 * h)],
            &|t, v| {
                let unit = EvolutionUnit::Gru { input_bias: v[3], bias: v[4] };
                let evolution = Evolution { input_weight: v[1], weight: v[2], unit };
                Ok(t.evolve(v[0], evolution, steps)?.hidden)
            },
            &|t, v| {
                let (mut state, mut states) = (v[0], Vec::new());
                for _ in 0..steps {
                    let input = GateInput::Rows { x: state, weight: v[1], bias: Some(v[3]) };
                    state = t.gru(GruKind::ResetAfter, input, state, v[2], Some(v[4]), None)?;
                    states.push(state);
                }
                t.concat_rows(&states)
            },
        );
        agree(
            "evolve by an LSTM",
            &[(n, h), (4 * h, h), (4 * h, h), (n, h), (n, 4 * h)],
            &|t, v| {
                let unit = EvolutionUnit::Lstm { cell: v[3], bias: v[4] };
                let evolution = Evolution { input_weight: v[1], weight: v[2], unit };
                let evolved = t.evolve(v[0], evolution, steps)?;
                t.concat_rows(&[evolved.hidden, evolved.cell])
            },
            &|t, v| {
                let (mut state, mut cell, mut states) = (v[0], v[3], Vec::new());
                for _ in 0..steps {
                    let identity = Activation::Identity;
                    let gates = t.linear_plus(state, v[1], None, Some(v[4]), identity)?;
                    let recurrence = Some(LstmRecurrence { weight: v[2], bias: None });
                    let after = t.lstm(gates, state, cell, recurrence, None)?;
                    (state, cell) = (after.hidden, after.cell);
                    states.push(state);
                }
                states.push(cell);
                t.concat_rows(&states)
            },
        );
    }
}

#[test]
fn two_inputs_of_a_recurrent_unit_are_as_good_as_one_beside_the_other() {
    let (steps, n) = (3, 7);
    // Both layouts of a block; features that end within a vector and with one.
    for (h, left, right) in [(5, 3, 4), (16, 16, 5), (16, 2, 16)] {
        let shapes = |gates: usize| {
            let wide = gates * h;
            let weights = [(wide, h), (wide, left + right), (1, wide)];
            [(steps * n, left), (steps * n, right), (n, h), weights[0], weights[1], weights[2]]
        };
        agree(
            "gru",
            &shapes(3),
            &|t, v| {
                let input = GateInput::Pair { x: [v[0], v[1]], weight: v[4], bias: Some(v[5]) };
                t.gru(GruKind::ResetBefore, input, v[2], v[3], None, None)
            },
            &|t, v| {
                let x = t.concat_columns(&[v[0], v[1]])?;
                let gates = t.linear(x, v[4], Some(v[5]), Activation::Identity)?;
                t.gru(GruKind::ResetBefore, gates, v[2], v[3], None, None)
            },
        );
        agree(
            "lstm",
            &shapes(4),
            &|t, v| {
                let input = GateInput::Pair { x: [v[0], v[1]], weight: v[4], bias: Some(v[5]) };
                let recurrence = LstmRecurrence { weight: v[3], bias: None };
                Ok(t.lstm(input, v[2], v[2], Some(recurrence), None)?.hidden)
            },
            &|t, v| {
                let x = t.concat_columns(&[v[0], v[1]])?;
                let gates = t.linear(x, v[4], Some(v[5]), Activation::Identity)?;
                let recurrence = LstmRecurrence { weight: v[3], bias: None };
                Ok(t.lstm(gates, v[2], v[2], Some(recurrence), None)?.hidden)
            },
        );
    }
}
