//! Every model against PyG-Temporal and PyTorch: outputs, gradients, twenty steps of Adam.
//!
//! The golden values are made by `golden/models.py`; run with `--nocapture` for the table.

mod golden_file;
mod model_run;

use golden_file::{Golden, difference, scale};
use model_run::Run;

/// f32 sums of a few dozen terms in another order differ by some 1e-7 of their size.
const TOLERANCE: f32 = 1e-5;

struct Differences {
    output: f32,
    evaluated: f32,
    /// Of all parameters together, relative to the largest gradient.
    gradient: f32,
    loss: f32,
    last_loss: f32,
}

fn compare(golden: &Golden) -> Differences {
    let mut run = Run::new(golden);
    let output = difference(&run.predict(true), golden.values("output"));
    let evaluated = difference(&run.predict(false), golden.values("evaluated"));
    run.forget_statistics(golden);
    let expected = golden.under("gradient.");
    let losses: Vec<f32> = (0..=20)
        .map(|step| {
            let loss = run.differentiate();
            if step < 20 {
                run.update(0.01);
            }
            loss
        })
        .collect();
    let mut fresh = Run::new(golden);
    let loss = fresh.differentiate();
    let largest = expected.iter().map(|(_, tensor)| scale(&tensor.values)).fold(0.0, f32::max);
    let apart = expected.iter().map(|(name, tensor)| {
        let apart = difference(&fresh.gradient(name), &tensor.values);
        assert!(apart <= TOLERANCE * largest, "{}: gradient of {name}: {apart}", golden.name);
        apart
    });
    let expected_losses = golden.values("losses");
    assert!((loss - losses[0]).abs() == 0.0, "{}: two runs differ", golden.name);
    Differences {
        output,
        evaluated,
        gradient: apart.fold(0.0, f32::max) / largest,
        loss: difference(&losses, expected_losses),
        last_loss: (losses[20] - expected_losses[20]).abs(),
    }
}

#[test]
fn models_agree_with_the_reference_implementations() {
    let cases = Golden::folder("models");
    assert_eq!(cases.len(), 22);
    println!("| model | output | evaluated | gradient | loss after 20 steps |");
    println!("| --- | --- | --- | --- | --- |");
    let mut failed = Vec::new();
    for golden in &cases {
        let Differences { output, evaluated, gradient, loss, last_loss } = compare(golden);
        let name = &golden.name;
        println!("| {name} | {output:.1e} | {evaluated:.1e} | {gradient:.1e} | {last_loss:.1e} |");
        let worst = [output, evaluated, gradient, loss].into_iter().fold(0.0, f32::max);
        if !(worst <= TOLERANCE && loss.is_finite() && output.is_finite()) {
            failed.push(name.clone());
        }
    }
    assert!(failed.is_empty(), "beyond {TOLERANCE}: {failed:?}");
}

#[test]
fn a_state_dict_holds_every_parameter_and_nothing_else() {
    for golden in Golden::folder("models") {
        let run = Run::new(&golden);
        let expected: Vec<(String, Vec<usize>)> = golden
            .under("parameter.")
            .into_iter()
            .map(|(name, tensor)| (name.to_owned(), tensor.shape.clone()))
            .collect();
        let mut got: Vec<_> =
            run.parameters.iter().map(|(_, p)| (p.name.clone(), p.dims.clone())).collect();
        got.sort();
        assert_eq!(got, expected, "{}", golden.name);
    }
}
