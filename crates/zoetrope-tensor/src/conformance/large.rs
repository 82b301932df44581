//! Every operator on matrices that are large enough for several threads.

use std::sync::Arc;

use crate::{
    Activation, AttentionOptions, Chain, Dropout, DropoutKey, GatOptions, GateInput, GruKind,
    Instr, Loss, LstmRecurrence, MessageCellKind, PairLayers, SparseGroup, SparseMatrix,
};

use super::attention::{layer, parameters};
use super::graphs::csr;
use super::losses::labels;
use super::messages;
use super::neighbours::{Layout, attention, inputs};
use super::recurrent::{evolve, evolving};
use super::{Case, Kind, List, constant, mask, numbers, plain, small, weight};

/// Vertices of the large graph; a few of them have most of the edges.
const N: usize = 600;
const STEPS: usize = 3;
/// Rows of a stacked matrix.
const ROWS: usize = N * STEPS;
/// Odd, so that vectors of a row never end with the row.
const WIDTH: usize = 37;

/// The large cases.
pub fn large() -> Vec<Case> {
    let mut list = List::default();
    dense(&mut list);
    super::dense::add(&mut list);
    sequences(&mut list);
    edges(&mut list);
    rows_and_losses(&mut list);
    neighbours(&mut list);
    list.0
}

fn group() -> SparseGroup {
    let member = |step: usize| {
        let draw = |what, at: usize| {
            let unit = numbers(&format!("large/{what}/{step}"), Kind::Positive, at + 1)[at] / 2.5;
            ((unit * unit * unit * N as f32) as u32).min(N as u32 - 1)
        };
        let mut pairs: Vec<(u32, u32)> =
            (0..1500).map(|at| (draw("to", at), at as u32 % N as u32)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let values = numbers(&format!("large/value/{step}"), Kind::Plain, pairs.len());
        Arc::new(SparseMatrix::new(csr(N as u32, &pairs, values)))
    };
    SparseGroup::new((0..STEPS).map(member).collect())
}

fn dense(list: &mut List) {
    let x = plain(ROWS, WIDTH);
    list.add("matmul", &[x, plain(WIDTH, 41)], |t, v| t.matmul(v[0], v[1]));
    list.add("matmul_turned", &[x, plain(ROWS, 23)], |t, v| {
        t.matmul_turned(v[0], true, v[1], false)
    });
    list.add("linear", &[x, small(29, WIDTH), plain(1, 29), plain(ROWS, 29)], |t, v| {
        t.linear_plus(v[0], v[1], Some(v[2]), Some(v[3]), Activation::Elu(1.0))
    });
    list.add("matmul_steps", &[x, plain(3 * WIDTH, 4)], |t, v| {
        t.matmul_steps(v[0], v[1], 3, false)
    });
    list.add("matmul_steps narrow", &[plain(ROWS, 3), plain(9, 5)], |t, v| {
        t.matmul_steps(v[0], v[1], 3, false)
    });
    list.add("head_products", &[plain(ROWS, 2 * WIDTH), plain(2 * WIDTH, 23)], |t, v| {
        t.head_products(v[0], v[1], 2, false)
    });
    list.add("head_products turned", &[plain(ROWS, 2 * WIDTH), plain(46, WIDTH)], |t, v| {
        t.head_products(v[0], v[1], 2, true)
    });
    list.add("readout", &[x, plain(2, WIDTH), plain(1, 2)], |t, v| t.readout(v[0], v[1], v[2]));
    list.add("add", &[x, x], |t, v| t.add_scaled(v[0], v[1], 0.5));
    list.add("mul", &[x, x], |t, v| t.mul(v[0], v[1]));
    list.add("scale", &[x], |t, v| Ok(t.scale(v[0], 0.3)));
    list.add("add_bias", &[x, plain(1, WIDTH)], |t, v| t.add_bias(v[0], v[1]));
    list.add("row_scale", &[x, plain(ROWS, 1)], |t, v| t.row_scale(v[0], v[1]));
    list.add("activate", &[x], |t, v| Ok(t.activate(v[0], Activation::Softplus)));
    let program = [Instr::Input(0), Instr::Sigmoid, Instr::Input(1), Instr::Tanh, Instr::Mul];
    let chain = Chain::new(&program).expect("a program that fits");
    list.add("chain", &[x, x], move |t, v| t.chain(chain, v));
    list.add("dropout", &[x], |t, v| {
        t.dropout(v[0], 0.5, DropoutKey { seed: 1, stream: 2, step: 3 })
    });
}

fn sequences(list: &mut List) {
    // Both layouts of a block: along features and along vertices.
    for (kind, h) in
        [(GruKind::ResetAfter, 19), (GruKind::ResetBefore, 19), (GruKind::ResetBefore, 32)]
    {
        let weights = [small(3 * h, h), small(3 * h, WIDTH)];
        let inputs = [
            plain(ROWS, WIDTH),
            plain(N, h),
            weights[0],
            plain(1, 3 * h),
            mask(ROWS, 1),
            weights[1],
        ];
        list.add(format!("gru/{kind:?}/{h}"), &inputs, move |t, v| {
            let input = GateInput::Rows { x: v[0], weight: v[5], bias: None };
            t.gru(kind, input, v[1], v[2], Some(v[3]), Some(v[4]))
        });
    }
    let inputs = [
        constant(N, WIDTH),
        plain(N, 11),
        small(57, WIDTH + 11),
        plain(1, 57),
        constant(N, 19),
        small(57, 19),
        plain(1, 57),
    ];
    list.add("gru/one step", &inputs, |t, v| {
        let input = GateInput::Pair { x: [v[0], v[1]], weight: v[2], bias: Some(v[3]) };
        t.gru(GruKind::ResetAfter, input, v[4], v[5], Some(v[6]), None)
    });
    for (name, gates) in [("gru", 3), ("lstm", 4)] {
        list.add(format!("evolve/{name}"), &evolving(gates, N, 19), move |t, v| {
            evolve(t, gates, STEPS, v)
        });
    }
    for h in [19, 32] {
        let (state, bias) = (plain(N, h), plain(1, 4 * h));
        let weights = [small(4 * h, h), small(4 * h, WIDTH)];
        let inputs =
            [plain(ROWS, WIDTH), state, state, weights[0], bias, mask(ROWS, 1), weights[1]];
        list.add(format!("lstm/{h}"), &inputs, |t, v| {
            let recurrence = LstmRecurrence { weight: v[3], bias: Some(v[4]) };
            let input = GateInput::Rows { x: v[0], weight: v[6], bias: None };
            let states = t.lstm(input, v[1], v[2], Some(recurrence), Some(v[5]))?;
            t.concat_rows(&[states.hidden, states.cell])
        });
    }
    let dropout = Some(Dropout { p: 0.2, key: DropoutKey { seed: 1, stream: 5, step: 3 } });
    let options = AttentionOptions {
        steps: STEPS,
        heads: 3,
        causal: true,
        scale: 0.3,
        dropout,
        numbers: None,
    };
    let inputs = [plain(ROWS, 36), plain(ROWS, 36), plain(ROWS, 36), mask(ROWS, 1)];
    list.add("temporal_attention", &inputs, move |t, v| {
        t.temporal_attention([v[0], v[1], v[2]], Some(v[3]), options)
    });
    let mut inputs = layer(STEPS, N, 36);
    inputs.push(mask(ROWS, 1));
    list.add("temporal_layer", &inputs, move |t, v| {
        let parameters = parameters(t, v);
        t.temporal_layer(v[0], parameters, Some(v[7]), options)
    });
}

fn edges(list: &mut List) {
    let group = group();
    let sparse = group.clone();
    list.add("spmm", &[plain(ROWS, WIDTH)], move |t, v| t.spmm(&sparse, v[0]));
    let sparse = group.clone();
    list.add("segment_softmax", &[plain(group.entries(), 1)], move |t, v| {
        t.segment_softmax(&sparse, v[0])
    });
    let dropout = Some(Dropout { p: 0.2, key: DropoutKey { seed: 1, stream: 4, step: 3 } });
    let options = GatOptions { heads: 2, slope: 0.2, weighted: true, dropout };
    let inputs = [plain(ROWS, 34), plain(ROWS, 2), plain(ROWS, 2)];
    list.add("gat", &inputs, move |t, v| t.gat(&group, v[0], v[1], v[2], options));
    let ends: Arc<Vec<u32>> = Arc::new((0..3000u32).map(|at| (at * at + 7) % N as u32).collect());
    let to = Arc::clone(&ends);
    let (src, dst) = (Arc::clone(&ends), Arc::new(ends.iter().map(|at| at / 2).collect()));
    let inputs = [plain(N, WIDTH), plain(N, WIDTH), plain(2, WIDTH), plain(1, 2)];
    list.add("pair_scores", &inputs, move |t, v| {
        let layers = PairLayers { source: v[0], destination: v[1], weight: v[2], bias: v[3] };
        t.pair_scores(layers, [&src, &dst])
    });
    list.add("gather", &[plain(N, WIDTH)], move |t, v| t.gather(v[0], &ends));
    list.add("scatter_add", &[plain(3000, WIDTH)], move |t, v| t.scatter_add(v[0], &to, N));
}

fn neighbours(list: &mut List) {
    let draw = |what: &str, len: usize, below: usize| {
        let unit = numbers(&format!("large/{what}"), Kind::Positive, len);
        let place = |x: &f32| (x / 3.0 * below as f32) as u32;
        unit.iter().map(place).map(|at| at.min(below as u32 - 1)).collect::<Vec<_>>()
    };
    // Targets with 0 to 11 slots, and one with 300.
    let mut offsets = vec![0];
    for (target, count) in draw("slots", N, 12).into_iter().enumerate() {
        offsets.push(offsets[target] + if target == 77 { 300 } else { count });
    }
    let slots = offsets[N] as usize;
    let sizes = [N / 2, 400, 500];
    let query = draw("query", N, sizes[0]);
    let (source, event) = (draw("source", slots, sizes[1]), draw("event", slots, sizes[2]));
    let layout = Layout::new(&offsets, &query, &source, &event, sizes);
    let dropout = Some(Dropout { p: 0.1, key: DropoutKey { seed: 1, stream: 6, step: 3 } });
    for heads in [1, 2, 3] {
        let widths = [WIDTH, 21, 19];
        let (layout, slope) = (layout.clone(), (heads > 1).then_some(0.2));
        let inputs = inputs(&layout, heads, widths);
        list.add(format!("neighbour_attention/{heads}"), &inputs, move |t, v| {
            attention(t, v, &layout, heads, widths, slope, dropout)
        });
    }
    for (name, kind) in [("gru", MessageCellKind::Gru), ("rnn", MessageCellKind::Rnn)] {
        let sizes = [N, WIDTH, WIDTH, 500, 21, 19];
        let rows = messages::rows(sizes);
        list.add(format!("message_cell/{name}"), &messages::inputs(kind, sizes), move |t, v| {
            messages::cell(t, v, kind, true, &rows)
        });
    }
    let deltas = Arc::new(layout.deltas.iter().map(|delta| delta * 1e6).collect());
    list.add("time_encoding", &[plain(WIDTH, 1), plain(WIDTH, 1)], move |t, v| {
        t.time_encoding(&deltas, v[0], v[1])
    });
}

fn rows_and_losses(list: &mut List) {
    let x = plain(ROWS, WIDTH);
    let affine = [x, plain(1, WIDTH), plain(1, WIDTH)];
    list.add("softmax", &[x], |t, v| Ok(t.softmax(v[0])));
    list.add("batch_norm", &affine, |t, v| t.batch_norm(v[0], v[1], v[2], 1e-5));
    list.add("batch_norm_fixed", &affine, |t, v| {
        t.batch_norm_fixed(v[0], [v[1], v[2]], &[0.1; WIDTH], &[0.9; WIDTH], 1e-5)
    });
    list.add("layer_norm", &affine, |t, v| t.layer_norm(v[0], v[1], v[2], 1e-5));
    list.add("unit_vector", &[plain(50_000, 1)], |t, v| t.unit_vector(v[0]));
    list.add("mean", &[x], |t, v| Ok(t.mean(v[0])));
    list.add("concat_rows", &[x, x], |t, v| t.concat_rows(v));
    list.add("concat_columns", &[x, x], |t, v| t.concat_columns(v));
    list.add("columns", &[x], |t, v| t.columns(v[0], 3..20));
    list.add("rows", &[x], |t, v| {
        let (top, turned) = (t.rows(v[0], 0..N)?, t.reshape(v[0], STEPS, N * WIDTH)?);
        let row = t.rows(turned, 1..2)?;
        let row = t.reshape(row, N, WIDTH)?;
        t.mul(top, row)
    });
    for loss in [Loss::Mse, Loss::Mae, Loss::BinaryCrossEntropy { positive_weight: 3.0 }] {
        let inputs = [x, constant(ROWS, WIDTH), weight(ROWS, WIDTH)];
        list.add(format!("{loss:?}"), &inputs, move |t, v| t.loss(loss, v[0], v[1], Some(v[2])));
    }
    let classes = labels(ROWS, WIDTH);
    list.add("cross_entropy", &[x, weight(ROWS, 1)], move |t, v| {
        t.cross_entropy(v[0], &classes, 2, Some(v[1]))
    });
}
