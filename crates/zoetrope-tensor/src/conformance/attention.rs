//! Attention over time and over edges, and softmax.

use crate::{
    AttentionOptions, Dropout, DropoutKey, GatOptions, Tape, TemporalParameters, TensorError, Var,
};

use super::graphs::{self, group};
use super::{Input, List, mask, plain, small};

pub(super) fn add(list: &mut List) {
    for (rows, cols) in [(1, 1), (3, 5), (4, 17), (2, 2), (0, 3), (3, 0)] {
        list.add(
            format!("softmax/{rows}x{cols}"),
            &[plain(rows, cols)],
            |t, v| Ok(t.softmax(v[0])),
        );
    }
    for name in graphs::NAMES {
        let group = group(name);
        let x = plain(group.entries(), 1);
        list.add(format!("segment_softmax/{name}"), &[x], move |t, v| {
            t.segment_softmax(&group, v[0])
        });
    }
    over_time(list);
    layers_over_time(list);
    over_edges(list);
}

/// The inputs of a layer over time: more positions than steps.
pub(super) fn layer(steps: usize, n: usize, width: usize) -> Vec<Input> {
    let square = small(width, width);
    let rows = plain(steps * n, width);
    vec![rows, plain(steps + 1, width), square, square, square, square, plain(1, width)]
}

/// A bias sixteen times as large keeps the relu away from its kink, where differences go wrong.
pub(super) fn parameters(tape: &mut Tape, v: &[Var]) -> TemporalParameters {
    TemporalParameters {
        positions: v[1],
        projections: [v[2], v[3], v[4]],
        weight: v[5],
        bias: tape.scale(v[6], 16.0),
    }
}

fn layers_over_time(list: &mut List) {
    // Steps, vertices, heads, width of a head; 19 vertices are more than a vector holds.
    let shapes =
        [(1, 1, 1, 1), (3, 2, 1, 5), (4, 3, 2, 3), (2, 19, 1, 7), (5, 1, 3, 2), (2, 0, 1, 3)];
    for (steps, n, heads, width) in shapes {
        for (options, masked) in [("causal", false), ("causal_masked", true)] {
            let mut inputs = layer(steps, n, heads * width);
            inputs.extend(masked.then(|| mask(steps * n, 1)));
            let settings = AttentionOptions {
                steps,
                heads,
                causal: true,
                scale: 0.4,
                dropout: None,
                numbers: None,
            };
            let name = format!("temporal_layer/{options}/{steps}x{n}x{heads}x{width}");
            list.add(name, &inputs, move |t, v| {
                let parameters = parameters(t, v);
                t.temporal_layer(v[0], parameters, v.get(7).copied(), settings)
            });
        }
    }
    list.add("dropout/temporal_layer", &layer(3, 2, 4), |t, v| {
        let dropout = Some(dropout());
        let settings = AttentionOptions {
            steps: 3,
            heads: 2,
            causal: true,
            scale: 0.5,
            dropout,
            numbers: None,
        };
        let parameters = parameters(t, v);
        t.temporal_layer(v[0], parameters, None, settings)
    });
    list.add("dropout/temporal_layer/numbers", &layer(3, 2, 4), |t, v| {
        let (dropout, numbers) = (Some(dropout()), Some(numbers(t, [70_000, 3])?));
        let settings =
            AttentionOptions { steps: 3, heads: 2, causal: true, scale: 0.5, dropout, numbers };
        let parameters = parameters(t, v);
        t.temporal_layer(v[0], parameters, None, settings)
    });
}

/// The bits of numbers of vertices as an operand.
fn numbers<const N: usize>(tape: &mut Tape, numbers: [u32; N]) -> Result<Var, TensorError> {
    tape.copied(N, 1, &numbers.map(f32::from_bits))
}

fn over_time(list: &mut List) {
    // Steps, vertices, heads, width of a head.
    let shapes =
        [(1, 1, 1, 1), (3, 2, 1, 5), (4, 3, 2, 3), (2, 5, 1, 17), (5, 1, 3, 2), (2, 0, 1, 3)];
    for (steps, n, heads, width) in shapes {
        for (options, causal, masked) in [
            ("all", false, false),
            ("causal", true, false),
            ("masked", false, true),
            ("causal_masked", true, true),
        ] {
            let mut inputs = vec![plain(steps * n, heads * width); 3];
            inputs.extend(masked.then(|| mask(steps * n, 1)));
            let settings =
                AttentionOptions { steps, heads, causal, scale: 0.4, dropout: None, numbers: None };
            let name = format!("temporal_attention/{options}/{steps}x{n}x{heads}x{width}");
            list.add(name, &inputs, move |t, v| {
                t.temporal_attention([v[0], v[1], v[2]], v.get(3).copied(), settings)
            });
        }
    }
    list.add("temporal_attention/same", &[plain(6, 4)], |t, v| {
        let settings = AttentionOptions {
            steps: 3,
            heads: 2,
            causal: true,
            scale: 0.5,
            dropout: None,
            numbers: None,
        };
        t.temporal_attention([v[0]; 3], None, settings)
    });
    list.add("dropout/temporal_attention", &[plain(6, 4); 3], |t, v| {
        let dropout = Some(dropout());
        let settings = AttentionOptions {
            steps: 3,
            heads: 2,
            causal: false,
            scale: 0.5,
            dropout,
            numbers: None,
        };
        t.temporal_attention([v[0], v[1], v[2]], None, settings)
    });
}

fn dropout() -> Dropout {
    Dropout { p: 0.3, key: DropoutKey { seed: 5, stream: 2, step: 1 } }
}

fn over_edges(list: &mut List) {
    for name in graphs::NAMES {
        for (options, weighted) in [("plain", false), ("weighted", true)] {
            for (heads, width) in [(1, 1), (1, 5), (3, 2), (2, 17)] {
                let group = group(name);
                let rows = group.len() * group.vertices();
                let inputs = [plain(rows, heads * width), plain(rows, heads), plain(rows, heads)];
                let settings = GatOptions { heads, slope: 0.2, weighted, dropout: None };
                list.add(format!("gat/{options}/{name}/{heads}x{width}"), &inputs, move |t, v| {
                    t.gat(&group, v[0], v[1], v[2], settings)
                });
            }
        }
    }
    let odd = group("odd");
    let settings = GatOptions { heads: 2, slope: 0.1, weighted: false, dropout: None };
    list.add("gat/same_scores", &[plain(15, 2)], move |t, v| {
        t.gat(&odd, v[0], v[0], v[0], settings)
    });
    let odd = group("odd");
    let settings = GatOptions { dropout: Some(dropout()), ..settings };
    list.add("dropout/gat", &[plain(15, 4), plain(15, 2), plain(15, 2)], move |t, v| {
        t.gat(&odd, v[0], v[1], v[2], settings)
    });
}
