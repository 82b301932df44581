//! Every model on a graph that is large enough for several threads: the same bits for any number of
//! them, and no memory beyond that of the first step.

mod golden_file;
mod model_run;

use std::sync::Arc;

use model_run::{Layout, embed};
use zoetrope_graph::SnapshotSequence;
use zoetrope_graph::random::Random;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::model::{self, ModelOptions, NAMES};
use zoetrope_nn::{Builder, Forward, Parameters, PreparedGraph, State};
use zoetrope_tensor::{Matrix, Tape};

const VERTICES: usize = 700;
const STEPS: usize = 4;
const FEATURES: usize = 6;
const HIDDEN: usize = 12;

fn graph() -> SnapshotSequence {
    let random = Random::new(9, 1);
    let edges = 4000 * STEPS;
    // Squaring favours low numbers: some vertices have many neighbours, most have few.
    let vertex = |index: u64| {
        let unit = random.unit(index);
        (unit * unit * VERTICES as f64) as u32
    };
    let src = (0..edges as u64).map(|edge| vertex(2 * edge)).collect();
    let dst = (0..edges as u64).map(|edge| vertex(2 * edge + 1)).collect();
    let offsets = (0..=STEPS as u64).map(|step| step * 4000).collect();
    SnapshotSequence::new(VERTICES as u32, offsets, src, dst, None).unwrap()
}

fn features() -> Arc<Matrix> {
    let random = Random::new(9, 2);
    let count = (VERTICES * STEPS * FEATURES) as u64;
    let values: Vec<f32> = (0..count).map(|index| random.normal(index) as f32).collect();
    Arc::new(Matrix::from_slice(VERTICES * STEPS, FEATURES, &values).unwrap())
}

/// The bits of all embeddings and gradients of two steps, and the bytes that the tape has asked for
/// after each step.
fn two_steps(name: &str, paper: bool) -> (Vec<u32>, Vec<usize>) {
    let options = ModelOptions {
        paper,
        dropout: 0.25,
        ..ModelOptions::new(FEATURES, HIDDEN, VERTICES, STEPS)
    };
    let mut parameters = Parameters::default();
    let model = model::build(name, &mut Builder::new(&mut parameters, 4), &options).unwrap();
    let graph = PreparedGraph::new(&graph(), &model.forms()).unwrap();
    let (features, mut tape) = (features(), Tape::new());
    let (mut bits, mut bytes) = (Vec::new(), Vec::new());
    for step in 0..4 {
        tape.reset();
        let mut updates = Updates::default();
        let mut forward = Forward::training(&mut tape, &parameters, &mut updates, 8, step);
        let (layout, state) = (Layout::default(), State::default());
        let steps = 0..STEPS;
        let found = embed(&*model, &mut forward, &graph, &features, steps, &layout, state);
        let values = tape.value(found.rows).to_vec();
        updates.apply(&tape, &mut parameters);
        tape.backward_from(found.rows, &values).unwrap();
        if step < 2 {
            bits.extend(values.iter().map(|value| value.to_bits()));
            let gradients =
                parameters.iter().filter_map(|(id, _)| tape.parameter_gradient(id.index()));
            bits.extend(gradients.flatten().map(|value| value.to_bits()));
        }
        bytes.push(tape.allocated_bytes());
    }
    (bits, bytes)
}

fn every_model() -> impl Iterator<Item = (&'static str, bool)> {
    NAMES.into_iter().flat_map(|name| [(name, false), (name, true)])
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (name, paper) in every_model() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| two_steps(name, paper).0)
        };
        let alone = with(1);
        assert!(alone.iter().all(|&bits| f32::from_bits(bits).is_finite()), "{name}");
        for threads in [2, 8] {
            assert!(with(threads) == alone, "{name}, paper {paper}: {threads} threads differ");
        }
    }
}

#[test]
fn a_step_asks_for_no_memory_after_the_first() {
    for (name, paper) in every_model() {
        let (_, bytes) = two_steps(name, paper);
        assert!(bytes.iter().all(|&b| b == bytes[0]), "{name}, paper {paper}: {bytes:?}");
    }
}
