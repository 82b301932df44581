//! The small operators in every shape that a GPU tells apart: matrices that begin at odd places,
//! rows longer than a block, rows that everybody reads, more parts than a launch takes.

use std::sync::Arc;

use super::graphs::csr;
use super::losses::labels;
use super::{Case, Kind, List, constant, mask, numbers, plain, weight};
use crate::Instr::{Const, Input, Mul, Sub, Tanh};
use crate::{Activation, Chain, DropoutKey, Loss, PairLayers, SparseGroup, SparseMatrix, Var};

/// The cases.
pub(super) fn shapes() -> Vec<Case> {
    let mut list = List::default();
    odd_beginnings(&mut list);
    parts(&mut list);
    hubs(&mut list);
    rows_and_columns(&mut list);
    losses(&mut list);
    list.0
}

/// Four bytes behind a multiple of sixteen, where values cannot be moved by sixteen bytes.
fn odd_beginnings(list: &mut List) {
    let (x, two) = (plain(50, 33), [plain(50, 33); 2]);
    let behind = |t: &mut crate::Tape, v: Var| t.rows(v, 1..50);
    list.add("odd/add", &two, move |t, v| {
        let (a, b) = (behind(t, v[0])?, behind(t, v[1])?);
        t.add_scaled(a, b, 0.5)
    });
    list.add("odd/mul", &two, move |t, v| {
        let (a, b) = (behind(t, v[0])?, behind(t, v[1])?);
        t.mul(a, b)
    });
    list.add("odd/scale", &[x], move |t, v| {
        let x = behind(t, v[0])?;
        let x = t.scale(x, -0.75);
        Ok(t.activate(x, Activation::Softplus))
    });
    list.add("odd/activate", &[x], move |t, v| {
        let x = behind(t, v[0])?;
        Ok(t.activate(x, Activation::Elu(0.5)))
    });
    list.add("odd/add_bias", &[x, plain(1, 33)], move |t, v| {
        let x = behind(t, v[0])?;
        t.add_bias(x, v[1])
    });
    list.add("odd/row_scale", &[x, plain(49, 1)], move |t, v| {
        let x = behind(t, v[0])?;
        t.row_scale(x, v[1])
    });
    list.add("odd/dropout", &[x], move |t, v| {
        let x = behind(t, v[0])?;
        t.dropout(x, 0.25, DropoutKey { seed: 5, stream: 2, step: 9 })
    });
    list.add("odd/chain", &two, move |t, v| {
        let chain = Chain::new(&[Input(0), Const(0.5), Sub, Input(1), Mul, Tanh])?;
        let (a, b) = (behind(t, v[0])?, behind(t, v[1])?);
        t.chain(chain, &[a, b])
    });
    list.add("odd/batch_norm", &[x, plain(1, 33), plain(1, 33)], move |t, v| {
        let x = behind(t, v[0])?;
        t.batch_norm(x, v[1], v[2], 1e-5)
    });
    list.add("odd/concat", &[plain(50, 4)], |t, v| {
        let tall = t.reshape(v[0], 200, 1)?;
        let tall = t.rows(tall, 1..197)?;
        let again = t.reshape(tall, 49, 4)?;
        t.concat_columns(&[again, again])
    });
}

fn parts(list: &mut List) {
    let many: Vec<_> = (0..70).map(|part| plain(9, 1 + part % 5)).collect();
    list.add("concat_columns/70 parts", &many, |t, v| t.concat_columns(v));
    let many: Vec<_> = (0..70).map(|part| plain(part % 7, 3)).collect();
    list.add("concat_rows/70 parts", &many, |t, v| t.concat_rows(v));
    list.add("concat_columns/wide", &[plain(300, 8), plain(300, 20)], |t, v| t.concat_columns(v));
    list.add("concat_rows/rows of one", &[plain(40, 5)], |t, v| {
        let parts = [0..9, 20..40, 5..30].map(|rows| t.rows(v[0], rows));
        let [a, b, c] = parts;
        t.concat_rows(&[a?, b?, c?])
    });
    let many: Vec<_> = (0..70).map(|part| plain(9, 2 + part % 5)).collect();
    list.add("concat_ranges/70 parts", &many, |t, v| {
        let range = |(at, &part): (usize, &Var)| (part, at % 2..2 + at % 5);
        let ranges: Vec<_> = v.iter().enumerate().map(range).collect();
        t.concat_ranges(&ranges)
    });
    list.add("concat_ranges/wide", &[plain(300, 24), plain(300, 20)], |t, v| {
        t.concat_ranges(&[(v[0], 4..20), (v[1], 0..20), (v[0], 8..24)])
    });
    list.add("columns/wide", &[plain(300, 24)], |t, v| t.columns(v[0], 4..20));
}

/// Row 7 is named by half of the positions.
fn hub(count: u32, rows: u32) -> Arc<Vec<u32>> {
    Arc::new((0..count).map(|at| if at % 2 == 0 { 7 } else { at * at % rows }).collect())
}

fn hubs(list: &mut List) {
    for width in [1, 5, 32, 300] {
        let (picked, added) = (hub(1500, 40), hub(1500, 40));
        list.add(format!("gather/hub/{width}"), &[plain(40, width)], move |t, v| {
            t.gather(v[0], &picked)
        });
        list.add(format!("scatter_add/hub/{width}"), &[plain(1500, width)], move |t, v| {
            t.scatter_add(v[0], &added, 40)
        });
    }
    // Few of many rows.
    let few: Arc<Vec<u32>> = Arc::new((0..90u32).map(|at| at * at * 31 % 3000).collect());
    list.add("gather/few", &[plain(3000, 8)], move |t, v| t.gather(v[0], &few));
    for (width, outputs) in [(3, 1), (64, 6), (300, 2), (0, 2)] {
        let (src, dst) = (hub(900, 50), Arc::new((0..900u32).map(|at| at % 60).collect()));
        let inputs = [plain(50, width), plain(60, width), plain(outputs, width), plain(1, outputs)];
        list.add(format!("pair_scores/hub/{width}x{outputs}"), &inputs, move |t, v| {
            let layers = PairLayers { source: v[0], destination: v[1], weight: v[2], bias: v[3] };
            t.pair_scores(layers, [&src, &dst])
        });
    }
    let entries: Vec<(u32, u32)> =
        (0..700).map(|from| (3, from)).chain((4..400).map(|to| (to, to / 2))).collect();
    let values = numbers("shapes/star", Kind::Plain, entries.len());
    let star = Arc::new(SparseMatrix::new(csr(720, &entries, values)));
    let group = SparseGroup::new([Arc::clone(&star), star].into_iter().collect());
    list.add("segment_softmax/hub", &[plain(group.entries(), 1)], move |t, v| {
        t.segment_softmax(&group, v[0])
    });
}

fn rows_and_columns(list: &mut List) {
    for (rows, cols) in [(3000, 6), (700, 32), (90, 300), (9, 700), (5, 1100), (5000, 1)] {
        let (shape, x) = (format!("{rows}x{cols}"), plain(rows, cols));
        let affine = [x, plain(1, cols), plain(1, cols)];
        list.add(format!("batch_norm/{shape}"), &affine, |t, v| {
            t.batch_norm(v[0], v[1], v[2], 1e-5)
        });
        list.add(format!("layer_norm/{shape}"), &affine, |t, v| {
            t.layer_norm(v[0], v[1], v[2], 0.05)
        });
        list.add(format!("softmax/{shape}"), &[x], |t, v| Ok(t.softmax(v[0])));
        list.add(format!("row_scale/{shape}"), &[x, plain(rows, 1)], |t, v| {
            t.row_scale(v[0], v[1])
        });
        list.add(format!("add_bias/{shape}"), &[x, plain(1, cols)], |t, v| t.add_bias(v[0], v[1]));
        let deltas = numbers(&format!("shapes/deltas/{rows}"), Kind::Plain, rows);
        let deltas = Arc::new(deltas.iter().map(|&x| f64::from(x) * 10.0).collect());
        list.add(
            format!("time_encoding/{shape}"),
            &[plain(cols, 1), plain(1, cols)],
            move |t, v| t.time_encoding(&deltas, v[0], v[1]),
        );
    }
}

fn losses(list: &mut List) {
    for loss in [Loss::Mse, Loss::Mae, Loss::BinaryCrossEntropy { positive_weight: 1.5 }] {
        let inputs = [plain(7001, 3), constant(7001, 3)];
        list.add(format!("{loss:?}/unweighted"), &inputs, move |t, v| {
            t.loss(loss, v[0], v[1], None)
        });
        list.add(format!("{loss:?}/weighs nothing"), &inputs, move |t, v| {
            let nothing = t.zeros(7001, 3);
            t.loss(loss, v[0], v[1], Some(nothing))
        });
    }
    for (rows, classes) in [(5000, 2), (600, 31), (40, 500)] {
        let classes_of = labels(rows, classes);
        let inputs = [plain(rows, classes), weight(rows, 1), mask(rows, 1)];
        list.add(format!("cross_entropy/{rows}x{classes}"), &inputs, move |t, v| {
            let once = t.cross_entropy(v[0], &classes_of, 2, Some(v[1]))?;
            let again = t.cross_entropy(v[0], &classes_of, 1, Some(v[2]))?;
            t.add_scaled(once, again, 0.5)
        });
    }
}
