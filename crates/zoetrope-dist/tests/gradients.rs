//! The exchange of rows against central differences, through a computation on both sides of it.

mod bodies;

use std::sync::Arc;

use zoetrope_dist::{DistError, Exchange, ExchangePlan, Ranks, Reduction, Timeouts, threads};
use zoetrope_tensor::{Activation, Tape, Var};

const ROWS: usize = 12;
const COLS: usize = 3;
const STEP: f32 = 1.0 / 128.0;

/// Two exchanges (there and back, as a layer of ESDG has) with something curved in between; the sum
/// over ranks of a weighted result, and the gradient of this rank's rows.
fn loss(ranks: &Ranks, x: &[f32], overlapped: bool) -> Result<(f64, Vec<f32>), DistError> {
    let (rank, size) = (ranks.rank(), ranks.size());
    let plan = ExchangePlan::between(rank, size, ROWS, |at| at * size / ROWS, |at| at % size);
    let there = Exchange::new(ranks, plan.unwrap());
    let back = Exchange::new(ranks, there.plan().reversed().unwrap());
    let cross = |tape: &mut Tape, exchange: &Exchange, x: Var| {
        if overlapped {
            let pending = exchange.start(tape, x).unwrap();
            pending.arrive(tape)
        } else {
            exchange.apply(tape, x).unwrap()
        }
    };
    let mut tape = Tape::new();
    let x = tape.variable(there.plan().rows_in(), COLS, x).unwrap();
    let inside = tape.activate(x, Activation::Tanh);
    let y = cross(&mut tape, &there, inside);
    let y = tape.mul(y, y).unwrap();
    let y = cross(&mut tape, &back, y);
    let weights = bodies::values(9, rank, there.plan().rows_in() * COLS);
    let weights: Vec<f32> = weights.iter().map(|weight| weight.rem_euclid(1.0)).collect();
    let result: f64 =
        tape.value(y).iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum();
    tape.backward_from(y, &weights).unwrap();
    ranks.check()?;
    let gradient = tape.gradient(x).map(<[f32]>::to_vec).unwrap_or_default();
    Ok((ranks.all_reduce_one(result, Reduction::Sum)?, gradient))
}

#[test]
fn gradients_agree_with_central_differences() {
    for (size, overlapped) in [(1, false), (2, true), (3, false), (3, true), (4, false)] {
        threads::run(size, Timeouts::default(), move |ranks| {
            let inputs = |rank| -> Vec<f32> {
                let rows = (0..ROWS).filter(|at| at * size / ROWS == rank).count();
                bodies::values(5, rank, rows * COLS).iter().map(|v| v.rem_euclid(1.0)).collect()
            };
            let inputs: Arc<Vec<Vec<f32>>> = Arc::new((0..size).map(inputs).collect());
            let mut x = inputs[ranks.rank()].clone();
            let (_, gradient) = loss(&ranks, &x, overlapped)?;
            for (owner, values) in inputs.iter().enumerate() {
                for at in 0..values.len() {
                    let mut shifted = |by: f32| {
                        if ranks.rank() == owner {
                            x[at] = values[at] + by;
                        }
                        let loss = loss(&ranks, &x, overlapped).map(|loss| loss.0);
                        if ranks.rank() == owner {
                            x[at] = values[at];
                        }
                        loss
                    };
                    let slope = (shifted(STEP)? - shifted(-STEP)?) / f64::from(2.0 * STEP);
                    if ranks.rank() == owner {
                        let got = f64::from(gradient[at]);
                        assert!((slope - got).abs() < 2e-3, "row value {at}: {got}, not {slope}");
                    }
                }
            }
            Ok::<_, DistError>(())
        })
        .unwrap();
    }
}

#[test]
fn a_rank_whose_result_does_not_reach_the_loss_still_takes_part() {
    let gradients = threads::run(2, Timeouts::default(), |ranks| {
        let plan = ExchangePlan::between(ranks.rank(), 2, 4, |row| row / 2, |row| row % 2);
        let exchange = Exchange::new(&ranks, plan.unwrap());
        let mut tape = Tape::new();
        let x = tape.variable(2, 1, &[1.0, 2.0]).unwrap();
        let y = exchange.apply(&mut tape, x).unwrap();
        let loss = match ranks.rank() {
            0 => tape.mean(y),
            _ => {
                let other = tape.variable(1, 1, &[1.0]).unwrap();
                tape.scale(other, 1.0)
            }
        };
        tape.backward(loss).unwrap();
        ranks.check()?;
        Ok::<_, DistError>(tape.gradient(x).unwrap().to_vec())
    });
    assert_eq!(gradients.unwrap(), [[0.5, 0.0], [0.5, 0.0]]);
}
