//! Activations and their slopes against f64.

use super::*;
use crate::cpu::test_support::{added, assert_close, everywhere, exact, numbers, slopes};

fn reference(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::LeakyRelu(slope) => {
            if x > 0.0 {
                x
            } else {
                f64::from(slope) * x
            }
        }
        Activation::Elu(alpha) => {
            if x > 0.0 {
                x
            } else {
                f64::from(alpha) * x.exp_m1()
            }
        }
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
        Activation::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
    }
}

const ALL: [Activation; 7] = [
    Activation::Identity,
    Activation::Relu,
    Activation::LeakyRelu(0.2),
    Activation::Elu(1.5),
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Softplus,
];

#[test]
fn values_and_slopes_agree_with_f64() {
    for len in [0, 1, 37, 40_001] {
        let x = numbers(1, len, 6.0);
        for activation in ALL {
            let expected: Vec<f64> = exact(&x).iter().map(|&x| reference(activation, x)).collect();
            let forward_run = || {
                let mut y = vec![f32::NAN; len];
                forward(activation, &x, &mut y);
                y
            };
            everywhere(forward_run, |level, y| assert_close(level, y, &expected, 5e-7));
        }
    }
    let x = numbers(2, 203, 6.0);
    let dy = numbers(3, 203, 1.0);
    for activation in ALL {
        let loss = |x: &[f64]| -> f64 {
            x.iter().zip(&dy).map(|(&x, &dy)| reference(activation, x) * f64::from(dy)).sum()
        };
        let expected = added(&slopes(loss, &x));
        let run = || {
            let mut y = vec![0.0; x.len()];
            forward(activation, &x, &mut y);
            let mut dx = vec![1.0; x.len()];
            backward(activation, &y, &dy, &mut dx, Accumulate::Add);
            dx
        };
        everywhere(run, |level, dx| assert_close(level, dx, &expected, 2e-6));
    }
}

#[test]
fn the_slope_of_softplus_keeps_its_digits_where_it_is_tiny() {
    let x = [-20.0, -12.5, -3.0];
    let (mut y, mut dx) = ([0.0; 3], [0.0; 3]);
    forward(Activation::Softplus, &x, &mut y);
    backward(Activation::Softplus, &y, &[1.0; 3], &mut dx, Accumulate::Overwrite);
    for (x, dx) in x.into_iter().zip(dx) {
        let expected = 1.0 / (1.0 + (-f64::from(x)).exp());
        assert!((f64::from(dx) / expected - 1.0).abs() < 1e-6);
    }
}
