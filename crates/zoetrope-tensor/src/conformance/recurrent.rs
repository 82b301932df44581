//! Gated recurrent units and long short-term memories.

use crate::{Evolution, EvolutionUnit, GateInput, GruKind, LstmRecurrence, Tape, Var};

use super::{Input, List, Outcome, mask, plain, small};

/// Steps, vertices, width: one of everything, odd widths, no vertex, several blocks of vertices.
const SHAPES: [(usize, usize, usize); 6] =
    [(1, 1, 1), (3, 5, 2), (4, 1, 3), (2, 3, 17), (2, 3, 16), (2, 0, 3)];
/// Features of the rows of an input.
const WIDTHS: [usize; 3] = [1, 16, 18];

pub(super) fn add(list: &mut List) {
    for (kind_name, kind) in [("after", GruKind::ResetAfter), ("before", GruKind::ResetBefore)] {
        for (steps, n, h) in SHAPES {
            for (options, biased, masked) in
                [("bare", false, false), ("bias", true, false), ("bias_mask", true, true)]
            {
                let mut inputs = vec![plain(steps * n, 3 * h), plain(n, h), small(3 * h, h)];
                inputs.extend(biased.then(|| plain(1, 3 * h)));
                inputs.extend(masked.then(|| mask(steps * n, 1)));
                let name = format!("gru/{kind_name}/{options}/{steps}x{n}x{h}");
                list.add(name, &inputs, move |t, v| {
                    t.gru(kind, v[0], v[1], v[2], v.get(3).copied(), v.get(4).copied())
                });
            }
        }
        for (steps, n, h) in SHAPES {
            for width in WIDTHS {
                let rows = [plain(steps * n, width), plain(n, h), small(3 * h, h), plain(1, 3 * h)];
                let weights = [small(3 * h, width), plain(1, 3 * h)];
                let inputs = [&rows[..], &weights].concat();
                let name = format!("gru/{kind_name}/rows/{steps}x{n}x{h}x{width}");
                list.add(name, &inputs, move |t, v| {
                    let input = GateInput::Rows { x: v[0], weight: v[4], bias: Some(v[5]) };
                    t.gru(kind, input, v[1], v[2], Some(v[3]), None)
                });
            }
        }
        let inputs = [plain(4, 6), plain(2, 2), small(6, 2), mask(4, 1)];
        list.add(format!("gru/{kind_name}/mask/2x2x2"), &inputs, move |t, v| {
            t.gru(kind, v[0], v[1], v[2], None, Some(v[3]))
        });
    }
    lstm(list);
    evolution(list);
}

fn lstm(list: &mut List) {
    for (steps, n, h) in SHAPES {
        for (options, biased, masked) in
            [("bare", false, false), ("bias", true, false), ("bias_mask", true, true)]
        {
            let states = [plain(n, h), plain(n, h)];
            let mut inputs = vec![plain(steps * n, 4 * h), states[0], states[1], small(4 * h, h)];
            inputs.extend(biased.then(|| plain(1, 4 * h)));
            inputs.extend(masked.then(|| mask(steps * n, 1)));
            list.add(format!("lstm/{options}/{steps}x{n}x{h}"), &inputs, move |t, v| {
                let recurrence = LstmRecurrence { weight: v[3], bias: v.get(4).copied() };
                let states = t.lstm(v[0], v[1], v[2], Some(recurrence), v.get(5).copied())?;
                t.concat_rows(&[states.hidden, states.cell])
            });
        }
    }
    for (n, h) in [(1, 1), (5, 3), (2, 17)] {
        let inputs = [plain(n, 4 * h), plain(n, h), plain(n, h), mask(n, 1)];
        for (options, count) in [("pointwise", 3), ("pointwise_mask", 4)] {
            list.add(format!("lstm/{options}/{n}x{h}"), &inputs[..count], |t, v| {
                let states = t.lstm(v[0], v[1], v[2], None, v.get(3).copied())?;
                t.concat_rows(&[states.hidden, states.cell])
            });
        }
    }
    for (steps, n, h) in SHAPES {
        for width in WIDTHS {
            let (x, state) = (plain(steps * n, width), plain(n, h));
            let weights = [small(4 * h, h), small(4 * h, width)];
            let inputs = [x, state, state, weights[0], weights[1], plain(1, 4 * h)];
            list.add(format!("lstm/rows/{steps}x{n}x{h}x{width}"), &inputs, |t, v| {
                let recurrence = LstmRecurrence { weight: v[3], bias: None };
                let input = GateInput::Rows { x: v[0], weight: v[4], bias: Some(v[5]) };
                let states = t.lstm(input, v[1], v[2], Some(recurrence), None)?;
                t.concat_rows(&[states.hidden, states.cell])
            });
        }
    }
    // The state is its own memory, and one row range of the gates' matrix.
    list.add("lstm/same_states", &[plain(3, 8), plain(3, 2)], |t, v| {
        Ok(t.lstm(v[0], v[1], v[1], None, None)?.hidden)
    });
}

/// The operands of an evolution by a GRU or, with four gates, by an LSTM.
pub(super) fn evolving(gates: usize, n: usize, h: usize) -> [Input; 5] {
    let weight = small(gates * h, h);
    match gates {
        3 => [plain(n, h), weight, weight, plain(1, 3 * h), plain(1, 3 * h)],
        _ => [plain(n, h), weight, weight, plain(n, h), plain(n, 4 * h)],
    }
}

pub(super) fn evolve(t: &mut Tape, gates: usize, steps: usize, v: &[Var]) -> Outcome {
    let unit = match gates {
        3 => EvolutionUnit::Gru { input_bias: v[3], bias: v[4] },
        _ => EvolutionUnit::Lstm { cell: v[3], bias: v[4] },
    };
    let evolution = Evolution { input_weight: v[1], weight: v[2], unit };
    let states = t.evolve(v[0], evolution, steps)?;
    t.concat_rows(&[states.hidden, states.cell])
}

fn evolution(list: &mut List) {
    for (name, gates) in [("gru", 3), ("lstm", 4)] {
        for (steps, n, h) in SHAPES {
            let name = format!("evolve/{name}/{steps}x{n}x{h}");
            list.add(name, &evolving(gates, n, h), move |t, v| evolve(t, gates, steps, v));
        }
        // One matrix is both weights.
        let [state, weight, _, first, bias] = evolving(gates, 3, 2);
        let inputs = [state, weight, first, bias];
        list.add(format!("evolve/{name}/same_weights"), &inputs, move |t, v| {
            evolve(t, gates, 3, &[v[0], v[1], v[1], v[2], v[3]])
        });
    }
}
