//! Times what a training step over events spends its time with, at the sizes of the wikipedia
//! events: `cargo run --release -p zoetrope-tensor --example stream [FILTER] [BATCH]`.
//!
//! Prints the shortest of many runs of the forward and of the backward pass in microseconds, and
//! what products reach in GFLOP/s. `RAYON_NUM_THREADS` sets the number of threads.

use std::sync::Arc;
use std::time::Instant;

use zoetrope_tensor::cpu::optimiser::{Adam, adam_step};
use zoetrope_tensor::{
    Activation, Dropout, DropoutKey, GateInput, GruKind, Matrix, MessageCell, MessageCellKind,
    NeighbourAttention, Neighbourhood, PairLayers, Tape, TensorError, Var,
};

/// Numbers in [-1, 1) that follow from a seed.
fn numbers(seed: u32, len: usize) -> Vec<f32> {
    let number = |i: u32| {
        let mut hash = i.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(97_531));
        hash = (hash ^ (hash >> 15)).wrapping_mul(2_246_822_519);
        hash ^= hash >> 13;
        (f64::from(hash) / 2_147_483_648.0 - 1.0) as f32
    };
    (0..len as u32).map(number).collect()
}

/// Positions below `bound`, small ones more often.
fn places(seed: u32, len: usize, bound: usize) -> Vec<u32> {
    let place = |x: f32| ((x * x * bound as f32) as u32).min(bound as u32 - 1);
    numbers(seed, len).into_iter().map(place).collect()
}

/// Whether a matrix gets a gradient.
#[derive(Clone, Copy)]
enum Kind {
    Variable,
    Constant,
}

type Build<'a> = &'a dyn Fn(&mut Tape, &[Var]) -> Result<Var, TensorError>;

/// Times an operator on matrices of the given shapes and prints a line.
fn time(name: &str, flops: [f64; 2], operands: &[(usize, usize, Kind)], build: Build) {
    let filter = std::env::args().nth(1).unwrap_or_default();
    if !name.contains(&filter) {
        return;
    }
    let matrices: Vec<Arc<Matrix>> = operands
        .iter()
        .zip(1..)
        .map(|(&(rows, cols, _), seed)| {
            let scale = 1.0 / (cols as f32).sqrt();
            let values: Vec<f32> = numbers(seed, rows * cols).iter().map(|x| x * scale).collect();
            Arc::new(Matrix::from_slice(rows, cols, &values).expect("sized"))
        })
        .collect();
    let mut tape = Tape::new();
    let (mut there, mut back) = (f64::INFINITY, f64::INFINITY);
    let start = Instant::now();
    let mut d_out = Vec::new();
    let mut runs = 0;
    while runs < 20 || start.elapsed().as_secs_f64() < 1.5 {
        tape.reset();
        let vars: Vec<Var> = matrices
            .iter()
            .zip(operands)
            .map(|(matrix, (.., kind))| match kind {
                Kind::Constant => tape.constant(matrix, 0..matrix.shape().rows).expect("fits"),
                Kind::Variable => {
                    let shape = matrix.shape();
                    tape.variable(shape.rows, shape.cols, matrix.as_slice()).expect("fits")
                }
            })
            .collect();
        let begin = Instant::now();
        let out = build(&mut tape, &vars).expect("shapes fit");
        there = there.min(begin.elapsed().as_secs_f64());
        d_out.resize(tape.shape(out).len(), 0.5);
        let begin = Instant::now();
        tape.backward_from(out, &d_out).expect("fits");
        back = back.min(begin.elapsed().as_secs_f64());
        runs += 1;
    }
    print!("{name:44} {:8.1} {:8.1} µs", there * 1e6, back * 1e6);
    if flops[0] > 0.0 {
        print!("   {:6.1} {:6.1} GFLOP/s", flops[0] / there / 1e9, flops[1] / back / 1e9);
    }
    println!();
}

/// How many of everything a batch has.
struct Sizes {
    roots: usize,
    targets: usize,
    slots: usize,
    rows: usize,
    events: usize,
    mails: usize,
}

fn main() {
    let batch = std::env::args().nth(2).unwrap_or_default();
    let sizes = match batch.as_str() {
        "1200" => Sizes {
            roots: 1074,
            targets: 3600,
            slots: 30_000,
            rows: 2275,
            events: 7400,
            mails: 2040,
        },
        _ => Sizes { roots: 313, targets: 600, slots: 5000, rows: 835, events: 2200, mails: 780 },
    };
    let pool = rayon::ThreadPoolBuilder::new().build().expect("threads");
    println!("{} threads, {}", pool.current_num_threads(), zoetrope_tensor::cpu::simd::level());
    pool.install(|| {
        attention(&sizes);
        memory(&sizes);
        products(&sizes);
        rest(&sizes);
    });
}

fn layout(sizes: &Sizes, queries: usize, sources: usize) -> Arc<Neighbourhood> {
    let mut layout = Neighbourhood { offsets: vec![0], ..Neighbourhood::default() };
    let targets = sizes.targets;
    for target in 0..targets {
        layout.offsets.push(((target + 1) * sizes.slots / targets) as u32);
    }
    layout.query = (0..targets).map(|target| (target * 7 % queries) as u32).collect();
    layout.source = places(11, sizes.slots, sources);
    layout.event = places(12, sizes.slots, sizes.events);
    layout.index(queries, sources);
    Arc::new(layout)
}

fn deltas(len: usize) -> Arc<Vec<f64>> {
    let whole = numbers(13, len).into_iter().map(|x| (f64::from(x) * 2e6).round());
    Arc::new(whole.collect())
}

fn attention(sizes: &Sizes) {
    use Kind::{Constant, Variable};
    let dropout = Some(Dropout { p: 0.1, key: DropoutKey { seed: 1, stream: 2, step: 3 } });
    let (neighbours, times) = (layout(sizes, sizes.roots, sizes.rows), deltas(sizes.slots));
    let x = 373.0;
    let flops = 4.0 * x * 2.0 * sizes.slots as f64;
    let operands = [
        (sizes.roots, 2 * 373, Variable),
        (sizes.rows, 100, Variable),
        (sizes.events, 172, Constant),
        (100, 1, Variable),
        (1, 100, Variable),
    ];
    time("neighbour_attention tgn", [flops, 1.3 * flops], &operands, &|t, v| {
        let call = NeighbourAttention {
            queries: v[0],
            rows: Some(v[1]),
            features: Some(v[2]),
            time: Some([v[3], v[4]]),
            heads: 2,
            scale: 0.1,
            slope: Some(0.2),
            dropout,
        };
        t.neighbour_attention(call, &neighbours, &times)
    });
    time("neighbour_attention without time", [flops, 1.3 * flops], &operands[..3], &|t, v| {
        let queries = t.columns(v[0], 0..546)?;
        let call = NeighbourAttention {
            queries,
            rows: Some(v[1]),
            features: Some(v[2]),
            time: None,
            heads: 2,
            scale: 0.1,
            slope: Some(0.2),
            dropout,
        };
        t.neighbour_attention(call, &neighbours, &times)
    });
    let count = sizes.roots * 10;
    let mut mails = Neighbourhood {
        offsets: (0..=sizes.roots as u32).map(|at| at * 10).collect(),
        query: (0..sizes.roots as u32).collect(),
        source: (0..count as u32).collect(),
        ..Neighbourhood::default()
    };
    mails.index(sizes.roots, count);
    let (mails, times) = (Arc::new(mails), deltas(count));
    let operands = [
        (sizes.roots, 2 * 473, Variable),
        (count, 372, Constant),
        (100, 1, Variable),
        (1, 100, Variable),
    ];
    let flops = 4.0 * 473.0 * 2.0 * count as f64;
    time("neighbour_attention apan", [flops, flops], &operands, &|t, v| {
        let call = NeighbourAttention {
            queries: v[0],
            rows: Some(v[1]),
            features: None,
            time: Some([v[2], v[3]]),
            heads: 2,
            scale: 1.0,
            slope: Some(0.2),
            dropout,
        };
        t.neighbour_attention(call, &mails, &times)
    });
    let encoder = [(100, 1, Variable), (1, 100, Variable)];
    for rows in [sizes.mails, sizes.slots] {
        let times = deltas(rows);
        time(&format!("time_encoding {rows}x100"), [0.0; 2], &encoder, &|t, v| {
            t.time_encoding(&times, v[0], v[1])
        });
    }
}

fn memory(sizes: &Sizes) {
    use Kind::{Constant, Variable};
    let rows = sizes.mails;
    let operands = [
        (rows, 372, Constant),
        (rows, 100, Variable),
        (300, 472, Variable),
        (1, 300, Variable),
        (rows, 100, Constant),
        (300, 100, Variable),
        (1, 300, Variable),
    ];
    let cells = rows as f64;
    // Weights' gradients, and that of the time encoding.
    let flops = [cells * 2.0 * 300.0 * 572.0, cells * 2.0 * 300.0 * 672.0];
    time("gru one step, pair", flops, &operands, &|t, v| {
        let input = GateInput::Pair { x: [v[0], v[1]], weight: v[2], bias: Some(v[3]) };
        t.gru(GruKind::ResetAfter, input, v[4], v[5], Some(v[6]), None)
    });
    let events = rows * 81 / 100;
    let operands = [
        (rows, 200, Constant),
        (events, 172, Constant),
        (rows, 100, Variable),
        (300, 472, Variable),
        (300, 100, Variable),
        (1, 300, Variable),
        (1, 300, Variable),
    ];
    let feature_rows = Arc::new(places(9, rows, events));
    let (inner, features) = (cells * (300.0 * 300.0 + 1e4), events as f64 * 300.0 * 172.0);
    let less = [2.0 * (inner + features), 2.0 * (inner + features + cells * 3e4)];
    time("message cell", less, &operands, &|t, v| {
        let (kind, features) = (MessageCellKind::Gru, Some(v[1]));
        let (weights, biases) = ([v[3], v[4]], [v[5], v[6]]);
        let (pair, time, nothing) = (v[0], v[2], true);
        let call = MessageCell { kind, pair, features, time, weights, biases, nothing };
        t.message_cell(call, &feature_rows)
    });
    time("gru one step, the product alone", flops, &operands, &|t, v| {
        let both = t.concat_columns(&[v[0], v[1]])?;
        let gates = t.linear(both, v[2], Some(v[3]), Activation::Identity)?;
        t.gru(GruKind::ResetAfter, gates, v[4], v[5], Some(v[6]), None)
    });
}

fn products(sizes: &Sizes) {
    use Kind::{Constant, Variable};
    let (roots, targets) = (sizes.roots, sizes.targets);
    for (rows, inner, cols) in [
        (roots, 100, 746),
        (roots, 100, 373),
        (targets, 373, 50),
        (targets, 746, 100),
        (targets, 200, 100),
        (targets, 100, 100),
        (sizes.mails, 472, 300),
        (sizes.mails, 372, 300),
    ] {
        let flops = 2.0 * (rows * inner * cols) as f64;
        for (kind, wanted) in [(Variable, 2.0), (Constant, 1.0)] {
            let operands = [(rows, inner, kind), (cols, inner, Variable), (1, cols, Variable)];
            let name = match kind {
                Variable => format!("linear {rows}x{inner}x{cols}"),
                Constant => format!("linear {rows}x{inner}x{cols}, constant input"),
            };
            time(&name, [flops, wanted * flops], &operands, &|t, v| {
                t.linear(v[0], v[1], Some(v[2]), Activation::Identity)
            });
        }
        let operands = [(rows, inner, Variable), (inner, cols, Variable)];
        time(&format!("matmul {rows}x{inner}x{cols}"), [flops, 2.0 * flops], &operands, &|t, v| {
            t.matmul(v[0], v[1])
        });
    }
}

fn rest(sizes: &Sizes) {
    use Kind::Variable;
    let (rows, targets) = (sizes.rows, sizes.targets);
    let affine = [(targets, 100, Variable), (1, 100, Variable), (1, 100, Variable)];
    time("layer_norm", [0.0; 2], &affine, &|t, v| t.layer_norm(v[0], v[1], v[2], 1e-5));
    let indices = Arc::new(places(3, targets, rows));
    time("gather", [0.0; 2], &[(rows, 100, Variable)], &|t, v| t.gather(v[0], &indices));
    time("scatter_add", [0.0; 2], &[(targets, 100, Variable)], &|t, v| {
        t.scatter_add(v[0], &indices, rows)
    });
    let pairs = targets / 3 * 2;
    let (from, to) = (Arc::new(places(4, pairs, targets)), Arc::new(places(5, pairs, targets)));
    let operands =
        [(targets, 100, Variable), (targets, 100, Variable), (1, 100, Variable), (1, 1, Variable)];
    time("pair_scores", [0.0; 2], &operands, &|t, v| {
        let layers = PairLayers { source: v[0], destination: v[1], weight: v[2], bias: v[3] };
        t.pair_scores(layers, [&from, &to])
    });
    if !std::env::args().nth(1).unwrap_or_default().is_empty() {
        return;
    }
    let size = 350_000;
    let matrix = Matrix::from_slice(size / 100, 100, &numbers(1, size)).expect("sized");
    let mut tape = Tape::new();
    let mut best = f64::INFINITY;
    for _ in 0..2000 {
        tape.reset();
        let begin = Instant::now();
        tape.parameter(0, &matrix);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    println!("{:44} {:8.1} µs", "350,000 parameters onto the tape", best * 1e6);
    let adam =
        Adam { lr: 1e-4, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, decoupled: false };
    let [mut weights, gradient] = [1, 2].map(|seed| numbers(seed, size));
    let (mut mean, mut square) = (vec![0.0; size], vec![0.0; size]);
    let mut best = f64::INFINITY;
    for step in 1..500 {
        let begin = Instant::now();
        adam_step(adam, step, &mut weights, &gradient, &mut mean, &mut square);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    println!("{:44} {:8.1} µs", "adam on 350,000 parameters", best * 1e6);
}
