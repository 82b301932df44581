//! Ranks as threads of this process: the trainer with two ranks, and a program of one's own.
//!
//! The same by processes on a cluster takes the feature `mpi`.
//!
//! `cargo run --example ranks`

use std::error::Error;

use zoetrope::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    by_the_trainer()?;
    by_hand()
}

/// The trainer does everything: it plans who computes what, and the result is the same.
fn by_the_trainer() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let train = |ranks: usize| {
        let config = Config::builder()
            .set("data.path=synthetic:demo?vertices=20&steps=40")
            .set("model.hidden=4")
            .set("train.epochs=2")
            .set("train.threads=1")
            .set(&format!("train.ranks={ranks}"))
            .set(&format!("output.dir={}", folder.path().join(ranks.to_string()).display()))
            .build()?;
        train_unobserved(config)
    };
    let (alone, shared) = (train(1)?.summary, train(2)?.summary);
    let loss = |summary: &Summary| summary.epochs.last().map_or(f64::NAN, |epoch| epoch.loss);
    println!("loss: {:.6} by one rank, {:.6} by two", loss(&alone), loss(&shared));
    println!(
        "sent: {} bytes of sums, {} bytes of rows",
        shared.bytes.all_reduce, shared.bytes.all_to_all
    );
    assert!((loss(&alone) - loss(&shared)).abs() < 1e-5 * loss(&alone).abs());
    Ok(())
}

/// Data parallelism by hand: each rank has half of the points of a line, and gradients are added up.
fn by_hand() -> Result<(), Box<dyn Error>> {
    let fitted =
        threads::run(2, Timeouts::default(), |ranks: Ranks| -> Result<[f32; 2], String> {
            fit(&ranks).map_err(|error| error.to_string())
        })?;
    println!("a line through points of both ranks: {:.3}·x + {:.3}", fitted[0][0], fitted[0][1]);
    assert_eq!(fitted[0], fitted[1], "sums are made in the order of ranks: all have the same bits");
    assert!((fitted[0][0] - 3.0).abs() < 0.05 && (fitted[0][1] - 1.0).abs() < 0.05);
    Ok(())
}

fn fit(ranks: &Ranks) -> Result<[f32; 2], Box<dyn Error>> {
    const POINTS: usize = 20;
    let own = (0..POINTS).filter(|point| point % ranks.size() == ranks.rank());
    let x: Vec<f32> = own.map(|point| point as f32 / POINTS as f32).collect();
    let y: Vec<f32> = x.iter().map(|x| 3.0 * x + 1.0).collect();

    let mut parameters = Parameters::default();
    let line = Linear::new(&mut Builder::new(&mut parameters, 1), 1, 1);
    let mut optimiser = Optimiser::new(Method::adam(), &parameters);
    let mut gradients = Gradients::new(&parameters);
    let (mut tape, mut updates, mut packed) = (Tape::new(), Updates::default(), Vec::new());
    for step in 0..400 {
        tape.reset();
        let mut forward = Forward::training(&mut tape, &parameters, &mut updates, 1, step);
        let x = forward.tape.copied(x.len(), 1, &x)?;
        let guess = line.apply(&mut forward, x, Activation::Identity)?;
        let y = tape.copied(y.len(), 1, &y)?;
        let loss = tape.loss(Loss::Mse, guess, y, None)?;
        tape.backward(loss)?;
        gradients.take_from(&mut tape, &parameters);
        packed.clear();
        gradients.pack(&mut packed);
        ranks.all_reduce(&mut packed, Reduction::Sum)?;
        gradients.unpack(&packed);
        optimiser.update(&mut parameters, &gradients, 0.1);
    }
    let value = |name: &str| parameters.find(name).map(|id| parameters.get(id).as_slice()[0]);
    Ok([value("weight"), value("bias")].map(|value| value.expect("a linear layer has both")))
}

#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
