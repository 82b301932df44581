//! Recurrent units in shapes that only a GPU tells apart: each way of running a sequence, blocks
//! that are not full, many vertices, and every gradient absent once.

use super::recurrent::{evolve, evolving};
use super::{Case, Input, List, constant, mask, plain, small};
use crate::{GateInput, GruKind, LstmRecurrence, Tape, TensorError, Var};

/// Steps, vertices, width of the state.
const SHAPES: [[usize; 3]; 17] = [
    [1, 300, 1],
    [3, 129, 5],
    [3, 70, 6],
    [16, 5, 8],
    [2, 45, 9],
    [3, 131, 16],
    [16, 7, 32],
    [2, 40, 48],
    [3, 33, 64],
    [2, 21, 65],
    [3, 9, 100],
    [1, 2048, 1],
    [3, 2051, 5],
    [4, 2061, 6],
    [2, 2079, 8],
    [2, 2049, 19],
    [2, 2100, 32],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Gru(GruKind),
    Lstm,
}

const UNITS: [Unit; 3] =
    [Unit::Gru(GruKind::ResetAfter), Unit::Gru(GruKind::ResetBefore), Unit::Lstm];

/// The operands of a unit, always in this order.
const OPERANDS: [&str; 9] =
    ["x", "beside", "weight", "input_bias", "hidden", "cell", "recurrent", "bias", "mask"];

fn inputs(unit: Unit, [steps, n, h]: [usize; 3], [left, right]: [usize; 2]) -> [Input; 9] {
    let (rows, wide) = (steps * n, if unit == Unit::Lstm { 4 * h } else { 3 * h });
    [
        plain(rows, left),
        plain(rows, right),
        small(wide, left + right),
        plain(1, wide),
        plain(n, h),
        plain(n, h),
        small(wide, h),
        plain(1, wide),
        mask(rows, 1),
    ]
}

/// What a unit leaves, from the given share or rows on.
fn run(t: &mut Tape, unit: Unit, input: GateInput, v: &[Var]) -> Result<Var, TensorError> {
    let (bias, mask) = (v.get(7).copied(), v.get(8).copied());
    let Unit::Gru(kind) = unit else {
        let recurrence = LstmRecurrence { weight: v[6], bias };
        let states = t.lstm(input, v[4], v[5], Some(recurrence), mask)?;
        return t.concat_rows(&[states.hidden, states.cell]);
    };
    t.gru(kind, input, v[4], v[6], bias, mask)
}

pub(super) fn sequences() -> Vec<Case> {
    let mut list = List::default();
    tiles(&mut list);
    evolutions(&mut list);
    for unit in UNITS {
        for shape in SHAPES {
            every_input(&mut list, unit, shape);
        }
        for [vertices, hidden] in [[5, 6], [5, 66], [2050, 7]] {
            absent_gradients(&mut list, unit, [2, vertices, hidden]);
        }
    }
    list.0
}

fn every_input(list: &mut List, unit: Unit, shape: [usize; 3]) {
    let wide = if unit == Unit::Lstm { 4 } else { 3 } * shape[2];
    let add = |list: &mut List, form: &str, widths: [usize; 2], count: usize| {
        let name = format!("sequence/{unit:?}/{form}/{shape:?}");
        let (pair, given) = (widths[1] > 0, widths[0] == wide);
        list.add(name, &inputs(unit, shape, widths)[..count], move |t, v| {
            let (weight, bias) = (v[2], Some(v[3]));
            let input = match (given, pair) {
                (true, _) => GateInput::Gates(v[0]),
                (_, true) => GateInput::Pair { x: [v[0], v[1]], weight, bias },
                _ => GateInput::Rows { x: v[0], weight, bias: None },
            };
            run(t, unit, input, v)
        });
    };
    add(list, "gates", [wide, 0], 9);
    add(list, "rows", [2, 0], 8);
    add(list, "pair", [12, 33], 9);
    add(list, "narrow pair", [7, 9], 9);
}

/// Each operand once as the only one without a gradient, and once as the only one with it.
fn absent_gradients(list: &mut List, unit: Unit, shape: [usize; 3]) {
    for (at, operand) in OPERANDS[..8].iter().enumerate() {
        for alone in [false, true] {
            let mut inputs = inputs(unit, shape, [4, 3]);
            for (other, input) in inputs[..8].iter_mut().enumerate() {
                if (other == at) != alone {
                    *input = constant(input.rows, input.cols);
                }
            }
            let what = if alone { "only" } else { "without" };
            let name = format!("sequence/{unit:?}/{what} {operand}/{shape:?}");
            list.add(name, &inputs, move |t, v| {
                let input = GateInput::Pair { x: [v[0], v[1]], weight: v[2], bias: Some(v[3]) };
                run(t, unit, input, v)
            });
        }
    }
}

/// An LSTM of 32 states by tensor cores: one tile, several, the last one in part; features that fill
/// pieces, that do not, and that are left to the other ways.
fn tiles(list: &mut List) {
    for (steps, n, of) in [(1, 1, 4), (3, 21, 4), (2, 2140, 1)] {
        for widths in &[[8, 0], [64, 0], [16, 36], [7, 0]][..of] {
            let (h, inner) = (32, widths[0] + widths[1]);
            let weights = [small(4 * h, h), small(4 * h, inner)];
            let state = plain(n, h);
            let mut inputs =
                vec![plain(steps * n, widths[0]), state, state, weights[0], weights[1]];
            inputs.extend([plain(1, 4 * h), plain(1, 4 * h), mask(steps * n, 1)]);
            inputs.extend((widths[1] > 0).then(|| plain(steps * n, widths[1])));
            let name = format!("lstm/tiles/{steps}x{n}x{}x{}", widths[0], widths[1]);
            list.add(name, &inputs, |t, v| {
                let recurrence = LstmRecurrence { weight: v[3], bias: Some(v[5]) };
                let (weight, bias) = (v[4], Some(v[6]));
                let input = match v.get(8) {
                    Some(&beside) => GateInput::Pair { x: [v[0], beside], weight, bias },
                    None => GateInput::Rows { x: v[0], weight, bias },
                };
                let states = t.lstm(input, v[1], v[2], Some(recurrence), Some(v[7]))?;
                t.concat_rows(&[states.hidden, states.cell])
            });
        }
    }
}

/// Weights that fit into shared memory, those of the largest models, and those that do not fit; each
/// operand once as the only one without a gradient, and once as the only one with it.
fn evolutions(list: &mut List) {
    for (name, gates) in [("gru", 3), ("lstm", 4)] {
        for [steps, n, h] in [[5, 2, 2], [4, 33, 32], [3, 64, 64], [2, 3, 128]] {
            let name = format!("evolve/{name}/wide/{steps}x{n}x{h}");
            list.add(name, &evolving(gates, n, h), move |t, v| evolve(t, gates, steps, v));
        }
        for at in 0..5 {
            for alone in [false, true] {
                let mut inputs = evolving(gates, 4, 6);
                for (other, input) in inputs.iter_mut().enumerate() {
                    if (other == at) != alone {
                        *input = constant(input.rows, input.cols);
                    }
                }
                let what = if alone { "only" } else { "without" };
                let name = format!("evolve/{name}/{what} {at}");
                list.add(name, &inputs, move |t, v| evolve(t, gates, 3, v));
            }
        }
    }
}
