//! Event models against PyG and against a transcription of their formulas: embeddings,
//! scores, memory, gradients, and the losses of training steps.
//!
//! The golden values are made by `golden/stream_pyg.py` and `golden/stream_models.py`; run with
//! `--nocapture` for the table.

mod golden_file;
mod stream_run;

use golden_file::{Golden, difference, scale};
use stream_run::StreamRun;

/// f32 sums of a few dozen terms against f64 ones, relative to the largest value.
const TOLERANCE: f32 = 1e-5;
/// Of a loss after up to fifty steps, whose errors add up.
const LOSS_TOLERANCE: f32 = 2e-5;

/// Differences relative to the largest value of their kind.
struct Differences {
    embeddings: f32,
    logits: f32,
    memory: f32,
    gradients: f32,
    losses: f32,
    /// Of the scores of batches after training has ended, if the reference has them.
    evaluation: f32,
}

fn compare(golden: &Golden) -> Differences {
    let mut run = StreamRun::golden(golden);
    let [batch, batches] = ["batch", "batches"].map(|key| golden.number(key).unwrap());
    let (mut embeddings, mut logits) = (Vec::new(), Vec::new());
    for at in 0..batches {
        let passed = run.step(at * batch..(at + 1) * batch, 0);
        embeddings.extend(passed.embeddings);
        logits.extend(passed.logits);
    }
    let relative = |got: &[f32], name: &str| {
        let expected = golden.values(name);
        difference(got, expected) / scale(expected).max(f32::MIN_POSITIVE)
    };
    let mut memory = 0.0;
    if let Some(state) = &run.state {
        let vertices = 0..state.vertices() as u32;
        let rows = state.memory(&vertices.clone().collect::<Vec<_>>());
        memory = relative(&rows, "memory");
        let times: Vec<f32> = vertices.map(|vertex| state.last_update(vertex) as f32).collect();
        assert_eq!(difference(&times, golden.values("last_update")), 0.0, "{}", golden.name);
    }
    let expected = golden.under("gradient.");
    let largest = expected.iter().map(|(_, tensor)| scale(&tensor.values)).fold(0.0, f32::max);
    let gradients = expected.iter().map(|(name, tensor)| {
        let apart = difference(&run.gradient(name), &tensor.values) / largest;
        assert!(apart <= TOLERANCE, "{}: gradient of {name}: {apart}", golden.name);
        apart
    });
    let gradients = gradients.fold(0.0, f32::max);
    let mut evaluation = 0.0;
    if let Some(state) = run.state.as_mut().filter(|_| !golden.under("evaluation").is_empty()) {
        state.keep_mails(run.stream.data());
        let after = (batches..2 * batches).flat_map(|at| {
            let events = at * batch..(at + 1) * batch;
            run.step(events, 0).logits
        });
        evaluation = relative(&after.collect::<Vec<f32>>(), "evaluation");
    }
    Differences {
        embeddings: relative(&embeddings, "embeddings"),
        logits: relative(&logits, "logits"),
        memory,
        gradients,
        losses: losses(golden, batch),
        evaluation,
    }
}

/// The losses of a training run.
fn training(golden: &Golden, batch: usize) -> Vec<f32> {
    let mut run = StreamRun::golden(golden);
    let step = |at: usize| {
        let loss = run.step(at * batch..(at + 1) * batch, at as u32).loss;
        run.update(1e-4);
        loss
    };
    (0..golden.values("losses").len()).map(step).collect()
}

/// The largest relative difference of the losses of a training run.
fn losses(golden: &Golden, batch: usize) -> f32 {
    let (got, expected) = (training(golden, batch), golden.values("losses"));
    let apart = got.iter().zip(expected).map(|(got, expected)| (got - expected).abs() / expected);
    apart.fold(0.0, f32::max)
}

#[test]
fn models_over_events_agree_with_the_references() {
    let cases = Golden::folder("stream");
    assert_eq!(cases.len(), 14);
    println!("| model | embeddings | scores | memory | gradients | losses | after training |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut failed = Vec::new();
    for golden in &cases {
        let Differences { embeddings, logits, memory, gradients, losses, evaluation } =
            compare(golden);
        let name = &golden.name;
        println!(
            "| {name} | {embeddings:.1e} | {logits:.1e} | {memory:.1e} | {gradients:.1e} | {losses:.1e} | {evaluation:.1e} |"
        );
        // A NaN is not within either.
        let within =
            [embeddings, logits, memory, gradients, evaluation].iter().all(|&d| d <= TOLERANCE);
        if !(within && losses <= LOSS_TOLERANCE) {
            failed.push(name.clone());
        }
    }
    assert!(failed.is_empty(), "beyond {TOLERANCE}: {failed:?}");
}

/// Prints both curves for `docs/tgn_parity.py`, which draws them.
#[test]
fn fifty_losses_of_tgn_lie_on_those_of_pyg() {
    for golden in Golden::folder("stream") {
        let expected = golden.values("losses");
        if expected.len() < 50 {
            continue;
        }
        let got = training(&golden, golden.number("batch").unwrap());
        for (step, (got, expected)) in got.iter().zip(expected).enumerate() {
            println!("curve {} {step} {got} {expected}", golden.name);
            let apart = (got - expected).abs() / expected;
            assert!(apart <= LOSS_TOLERANCE, "{}: step {step}: {apart}", golden.name);
        }
    }
}
