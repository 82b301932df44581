//! Normalised rows through two LSTMs, of which some results are asked for: what a GPU keeps,
//! computes again or writes over depends on who reads what.

use super::{Case, List, plain, small};
use crate::{GateInput, LstmRecurrence, LstmStates, Tape, TensorError, Var};

/// Steps, vertices, width of the state: narrow units, whole warps or not, one that is not narrow, and
/// tiles, of few vertices and of many.
const SHAPES: [[usize; 3]; 6] =
    [[3, 2061, 6], [2, 2048, 8], [1, 2050, 5], [3, 40, 6], [3, 40, 32], [2, 2130, 32]];

/// What is asked of the two LSTMs.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// The states after the last step.
    Last,
    /// Those and the memories.
    LastAndMemories,
    /// All states.
    All,
    /// The states after the last step, and the normalised rows beside them.
    Rows,
}

pub(super) fn stacked() -> Vec<Case> {
    let mut list = List::default();
    for asked in [Asked::Last, Asked::LastAndMemories, Asked::All, Asked::Rows] {
        for shape @ [steps, n, h] in SHAPES {
            let (rows, row) = (plain(steps * n, h), plain(1, h));
            let (wide, weight) = (small(4 * h, 2 * h), small(4 * h, h));
            let inputs = [rows, row, row, rows, row, row, wide, weight, weight, weight];
            let name = format!("stacked/{asked:?}/{shape:?}");
            list.add(name, &inputs, move |t, v| run(t, v, shape, asked));
        }
    }
    list.0
}

fn run(
    t: &mut Tape,
    v: &[Var],
    [steps, n, h]: [usize; 3],
    asked: Asked,
) -> Result<Var, TensorError> {
    let normalised = [t.batch_norm(v[0], v[1], v[2], 0.05)?, t.batch_norm(v[3], v[4], v[5], 0.05)?];
    let zeros = t.zeros(n, h);
    let run = |t: &mut Tape, input: GateInput, weight: Var| {
        t.lstm(input, zeros, zeros, Some(LstmRecurrence { weight, bias: None }), None)
    };
    let pair = GateInput::Pair { x: normalised, weight: v[6], bias: None };
    let a: LstmStates = run(t, pair, v[7])?;
    let b = run(t, GateInput::Rows { x: a.hidden, weight: v[8], bias: None }, v[9])?;
    let last = (steps - 1) * n..steps * n;
    let [last_a, last_b] = [a, b].map(|states| t.rows(states.hidden, last.clone()));
    let (last_a, last_b) = (last_a?, last_b?);
    match asked {
        Asked::Last => t.concat_columns(&[last_a, last_b]),
        Asked::LastAndMemories => t.concat_columns(&[last_a, last_b, a.cell, b.cell]),
        Asked::All => t.concat_columns(&[a.hidden, b.hidden]),
        Asked::Rows => t.concat_rows(&[last_a, last_b, normalised[0]]),
    }
}
