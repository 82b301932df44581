//! A training loop of one's own on the tape: a recurrent network from bare operators, truncated
//! backpropagation through time, a loss with a penalty, a rate that decays.
//!
//! A pulse runs round a ring of vertices; the network sees where it is and says where it will be.
//!
//! `cargo run --example own_loop`

use std::error::Error;

use zoetrope::graph::normalise::{GcnOptions, gcn};
use zoetrope::prelude::*;
use zoetrope::tensor::{Kept, SparseMatrix};

const VERTICES: usize = 12;
const STEPS: usize = 48;
const HIDDEN: usize = 8;

/// Steps after which the gradient no longer flows back.
const TRUNCATE: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    // Every vertex points to the next one; the matrix has self-loops, as GCN wants them.
    let ring: Vec<u32> = (0..VERTICES as u32).collect();
    let next = ring.iter().map(|vertex| (vertex + 1) % VERTICES as u32).collect();
    let sequence =
        SnapshotSequence::new(VERTICES as u32, vec![0, VERTICES as u64], ring, next, None)?;
    let matrix = SparseMatrix::new(gcn(sequence.at(0), GcnOptions::default())?);
    let graph = SparseGroup::new([matrix.into()].into());

    let mut parameters = Parameters::default();
    let mut builder = Builder::new(&mut parameters, 7);
    let mut weight =
        |name, rows, columns| builder.weight(name, &[rows, columns], Initialise::Glorot);
    let (input, memory) = (weight("input", HIDDEN, 1), weight("memory", HIDDEN, HIDDEN));
    let answer = weight("answer", 1, HIDDEN);

    let mut optimiser = Optimiser::new(Method::adam(), &parameters);
    let mut gradients = Gradients::new(&parameters);
    let mut tape = Tape::new();
    let mut history = Vec::new();
    for epoch in 0..60 {
        let rate = 0.03 * 0.97_f32.powi(epoch);
        let mut state: Option<Kept> = None;
        let mut total = 0.0;
        for first in (0..STEPS).step_by(TRUNCATE) {
            tape.reset();
            let [input, memory, answer] =
                [input, memory, answer].map(|id| tape.parameter(id.index(), parameters.get(id)));
            // The state of the steps before is a constant here: no gradient flows past it.
            let mut hidden = match &state {
                Some(kept) => tape.put(kept)?,
                None => tape.zeros(VERTICES, HIDDEN),
            };
            let mut losses = Vec::new();
            for step in first..first + TRUNCATE {
                // hidden = tanh(Â·x·inputᵀ + Â·hidden·memoryᵀ)
                let seen = tape.copied(VERTICES, 1, &pulse(step))?;
                let seen = tape.spmm(&graph, seen)?;
                let told = tape.spmm(&graph, hidden)?;
                let told = tape.linear(told, memory, None, Activation::Identity)?;
                hidden = tape.linear_plus(seen, input, None, Some(told), Activation::Tanh)?;
                let guess = tape.linear(hidden, answer, None, Activation::Identity)?;
                let truth = tape.copied(VERTICES, 1, &pulse(step + 1))?;
                losses.push(tape.loss(Loss::Mse, guess, truth, None)?);
            }
            let losses = tape.concat_rows(&losses)?;
            let error = tape.mean(losses);
            // A small penalty keeps states small.
            let squares = tape.mul(hidden, hidden)?;
            let size = tape.mean(squares);
            let loss = tape.add_scaled(error, size, 1e-3)?;
            tape.keep(hidden, &mut state);
            total += tape.scalar(error);
            tape.backward(loss)?;
            gradients.take_from(&mut tape, &parameters);
            clip_norm(&mut gradients, 1.0);
            optimiser.update(&mut parameters, &gradients, rate);
        }
        history.push(total / (STEPS / TRUNCATE) as f32);
        if epoch % 20 == 19 {
            println!("epoch {}: mean squared error {:.5}", epoch + 1, history[epoch as usize]);
        }
    }
    assert!(history[59] < 0.5 * history[0], "it has learnt: {history:?}");
    println!(
        "{} updates, {} kB of memory on the tape",
        optimiser.steps(),
        tape.peak_bytes() / 1000
    );
    Ok(())
}

/// How much of the pulse each vertex has.
fn pulse(step: usize) -> Vec<f32> {
    let distance = |vertex: usize| (vertex + VERTICES - step % VERTICES) % VERTICES;
    (0..VERTICES).map(|vertex| [1.0, 0.5].get(distance(vertex)).copied().unwrap_or(0.0)).collect()
}

#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
