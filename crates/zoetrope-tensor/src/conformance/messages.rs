//! Recurrent cells that read messages.

use std::sync::Arc;

use crate::{MessageCell, MessageCellKind, Tape, Var};

use super::{Input, List, Outcome, constant, plain};

/// Vertices, width of states, of the other's state, distinct features, their width, time encoding.
pub type Sizes = [usize; 6];

fn gates(kind: MessageCellKind) -> usize {
    if kind == MessageCellKind::Gru { 3 } else { 1 }
}

pub fn inputs(kind: MessageCellKind, sizes: Sizes) -> Vec<Input> {
    let [n, hidden, other, events, features, time] = sizes;
    let wide = gates(kind) * hidden;
    let mut inputs = vec![constant(n, hidden + other)];
    inputs.extend((features > 0).then(|| constant(events, features)));
    inputs.extend([plain(n, time), plain(wide, hidden + other + features + time)]);
    inputs.extend([plain(wide, hidden), plain(1, wide), plain(1, wide)]);
    inputs
}

/// For each vertex the row of its features.
pub fn rows(sizes: Sizes) -> Arc<Vec<u32>> {
    let [n, _, _, events, ..] = sizes;
    Arc::new((0..n).map(|at| (at * 5 % events) as u32).collect())
}

pub fn cell(
    tape: &mut Tape,
    v: &[Var],
    kind: MessageCellKind,
    features: bool,
    rows: &Arc<Vec<u32>>,
) -> Outcome {
    let rest = &v[1 + usize::from(features)..];
    let call = MessageCell {
        kind,
        pair: v[0],
        features: features.then(|| v[1]),
        time: rest[0],
        weights: [rest[1], rest[2]],
        biases: [rest[3], rest[4]],
        nothing: rows.len() != 5,
    };
    tape.message_cell(call, rows)
}

pub(super) fn add(list: &mut List) {
    let sizes: [Sizes; 6] = [
        [1, 1, 1, 1, 1, 1],
        [5, 2, 2, 3, 3, 2],
        [7, 17, 17, 4, 5, 3],
        [6, 3, 5, 2, 0, 4],
        [40, 5, 0, 9, 2, 1],
        [0, 3, 3, 1, 2, 2],
    ];
    for (name, kind) in [("gru", MessageCellKind::Gru), ("rnn", MessageCellKind::Rnn)] {
        for sizes in sizes {
            let code = sizes.map(|size| size.to_string()).join("x");
            let rows = rows(sizes);
            list.add(format!("message_cell/{name}/{code}"), &inputs(kind, sizes), move |t, v| {
                cell(t, v, kind, sizes[4] > 0, &rows)
            });
        }
    }
}
