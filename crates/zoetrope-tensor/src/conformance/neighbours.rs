//! Time encodings and attention over sampled neighbours.

use std::sync::Arc;

use crate::{Dropout, DropoutKey, NeighbourAttention, Neighbourhood, Tape, Var};

use super::{Input, Kind, List, Outcome, constant, numbers, plain, small};

/// Who attends to what, with a time difference for each slot.
#[derive(Clone)]
pub struct Layout {
    pub neighbours: Arc<Neighbourhood>,
    pub deltas: Arc<Vec<f64>>,
    /// Queries, sources, events.
    sizes: [usize; 3],
}

impl Layout {
    pub fn new(
        offsets: &[u32],
        query: &[u32],
        source: &[u32],
        event: &[u32],
        sizes: [usize; 3],
    ) -> Self {
        let mut neighbours = Neighbourhood {
            offsets: offsets.to_vec(),
            query: query.to_vec(),
            source: source.to_vec(),
            event: event.to_vec(),
            ..Neighbourhood::default()
        };
        neighbours.index(sizes[0], sizes[1]);
        let deltas = deltas("", source.len(), 1.0);
        Self { neighbours: Arc::new(neighbours), deltas, sizes }
    }

    /// The layouts of the golden values.
    pub fn named(name: &str) -> Self {
        let mut layout = match name {
            "shared" => Self::new(
                &[0, 3, 3, 4, 9],
                &[1, 0, 1, 2],
                &[2, 0, 2, 1, 2, 3, 2, 0, 2],
                &[0, 1, 2, 3, 1, 1, 0, 2, 3],
                [4, 5, 4],
            ),
            "one" => Self::new(&[0, 1], &[0], &[0], &[0], [1, 1, 1]),
            "long" => {
                let places = |below: u32| (0u32..21).map(|at| at % below).collect::<Vec<u32>>();
                Self::new(&[0, 21], &[0], &places(3), &places(5), [1, 3, 5])
            }
            "no_slots" => Self::new(&[0, 0, 0], &[0, 1], &[], &[], [2, 1, 1]),
            "no_targets" => Self::new(&[0], &[], &[], &[], [2, 3, 1]),
            _ => panic!("no layout {name}"),
        };
        layout.deltas = deltas(name, layout.neighbours.slots(), 1.0);
        layout
    }
}

fn deltas(name: &str, len: usize, factor: f64) -> Arc<Vec<f64>> {
    let numbers = numbers(&format!("deltas/{name}"), Kind::Plain, len);
    Arc::new(numbers.into_iter().map(|x| f64::from(x) * factor).collect())
}

/// Queries, rows, features, weight and bias; parts of width 0 are left out.
pub fn inputs(layout: &Layout, heads: usize, widths: [usize; 3]) -> Vec<Input> {
    let x = widths.iter().sum::<usize>() + 1;
    let [rows, features, time] = widths;
    let mut inputs = vec![small(layout.sizes[0], heads * x)];
    inputs.extend((rows > 0).then(|| plain(layout.sizes[1], rows)));
    inputs.extend((features > 0).then(|| constant(layout.sizes[2], features)));
    inputs.extend((time > 0).then(|| [plain(time, 1), plain(1, time)]).into_iter().flatten());
    inputs
}

pub fn attention(
    tape: &mut Tape,
    operands: &[Var],
    layout: &Layout,
    heads: usize,
    widths: [usize; 3],
    slope: Option<f32>,
    dropout: Option<Dropout>,
) -> Outcome {
    let mut operands = operands.iter().copied();
    let mut next = || operands.next().expect("an operand for each part");
    let queries = next();
    let [rows, features, time] = widths.map(|width| width > 0);
    let call = NeighbourAttention {
        queries,
        rows: rows.then(&mut next),
        features: features.then(&mut next),
        time: time.then(|| [next(), next()]),
        heads,
        scale: 0.6,
        slope,
        dropout,
    };
    tape.neighbour_attention(call, &layout.neighbours, &layout.deltas)
}

pub(super) fn add(list: &mut List) {
    for (rows, width) in [(1, 1), (5, 3), (70, 17), (0, 2)] {
        let deltas = deltas(&rows.to_string(), rows, 8.0);
        let inputs = [plain(width, 1), plain(1, width)];
        list.add(format!("time_encoding/{rows}x{width}"), &inputs, move |t, v| {
            t.time_encoding(&deltas, v[0], v[1])
        });
    }
    let five = deltas("5", 5, 8.0);
    list.add("time_encoding/same", &[plain(3, 1)], move |t, v| t.time_encoding(&five, v[0], v[0]));
    // Heads, then the widths of rows, features and time encoding.
    let shapes: [(usize, [usize; 3]); 7] = [
        (1, [1, 1, 1]),
        (2, [5, 3, 17]),
        (3, [17, 2, 1]),
        (2, [3, 0, 2]),
        (1, [0, 3, 2]),
        (2, [5, 2, 0]),
        (1, [0, 0, 0]),
    ];
    for name in ["shared", "one", "long", "no_slots", "no_targets"] {
        for (heads, widths) in shapes {
            // This name keeps all scores away from the kink of the leaky relu.
            for (kind, slope) in [("plain", None), ("skewed", Some(0.2))] {
                let layout = Layout::named(name);
                let [m, f, t] = widths;
                let case = format!("neighbour_attention/{kind}/{name}/{heads}x{m}x{f}x{t}");
                list.add(case, &inputs(&layout, heads, widths), move |t, v| {
                    attention(t, v, &layout, heads, widths, slope, None)
                });
            }
        }
    }
    let layout = Layout::named("shared");
    let dropout = Some(Dropout { p: 0.3, key: DropoutKey { seed: 5, stream: 2, step: 1 } });
    let case = inputs(&layout, 2, [3, 2, 2]);
    list.add("dropout/neighbour_attention", &case, move |t, v| {
        attention(t, v, &layout, 2, [3, 2, 2], Some(0.2), dropout)
    });
}
