//! Chains against f64 and central differences.

use super::*;
use crate::cpu::test_support::{added, assert_close, everywhere, exact, numbers, slopes};

fn reference(program: &[Instr], inputs: &[Vec<f64>], i: usize) -> f64 {
    let mut stack = vec![];
    for &instr in program {
        let right = if instr.operands() == 2 { stack.pop().unwrap() } else { 0.0 };
        let a: f64 = if instr.operands() > 0 { stack.pop().unwrap() } else { 0.0 };
        stack.push(match instr {
            Instr::Input(input) => inputs[usize::from(input)][i],
            Instr::Const(value) => f64::from(value),
            Instr::Add => a + right,
            Instr::Sub => a - right,
            Instr::Mul => a * right,
            Instr::Div => a / right,
            Instr::Neg => -a,
            Instr::OneMinus => 1.0 - a,
            Instr::Scale(factor) => f64::from(factor) * a,
            Instr::Square => a * a,
            Instr::Sqrt => a.sqrt(),
            Instr::Relu => a.max(0.0),
            Instr::LeakyRelu(slope) => {
                if a > 0.0 {
                    a
                } else {
                    f64::from(slope) * a
                }
            }
            Instr::Sigmoid => 1.0 / (1.0 + (-a).exp()),
            Instr::Tanh => a.tanh(),
            Instr::Exp => a.exp(),
            Instr::Ln => a.ln(),
        });
    }
    stack.pop().unwrap()
}

/// (1 − σ(x₀))·tanh(x₁) + σ(x₀)·x₂, and one program with all other instructions.
fn programs() -> [Vec<Instr>; 2] {
    use Instr::*;
    [
        vec![
            Input(0),
            Sigmoid,
            OneMinus,
            Input(1),
            Tanh,
            Mul,
            Input(0),
            Sigmoid,
            Input(2),
            Mul,
            Add,
        ],
        vec![
            Input(0),
            Exp,
            Input(1),
            Square,
            Const(1.5),
            Add,
            Sqrt,
            Ln,
            Scale(0.5),
            Sub,
            Neg,
            Input(2),
            LeakyRelu(0.1),
            Div,
            Relu,
        ],
    ]
}

/// Three inputs, the last away from 0, where the second program has a pole.
fn inputs(len: usize) -> [Vec<f32>; 3] {
    let mut inputs = [1, 2, 3].map(|seed| numbers(seed, len, 2.0));
    inputs[2].iter_mut().for_each(|x| *x = x.signum() * (x.abs() + 0.5));
    inputs
}

#[test]
fn chains_agree_with_f64() {
    for program in programs() {
        for len in [1, 300, 40_000] {
            let inputs = inputs(len);
            let exact = inputs.each_ref().map(|x| exact(x));
            let expected: Vec<f64> = (0..len).map(|i| reference(&program, &exact, i)).collect();
            let run = || {
                let mut y = vec![f32::NAN; len];
                chain_forward(&program, &inputs.each_ref().map(|x| &x[..]), &mut y);
                y
            };
            everywhere(run, |level, y| {
                for (y, expected) in y.iter().zip(&expected) {
                    let error = (f64::from(*y) - expected).abs();
                    assert!(error <= 2e-5 * expected.abs().max(1.0), "{level}: {y} {expected}");
                }
            });
        }
    }
}

#[test]
fn gradients_of_chains_agree_with_central_differences() {
    for program in programs() {
        let len = 530;
        let inputs = inputs(len);
        let dy = numbers(4, len, 1.0);
        let x = inputs.each_ref().map(|x| exact(x));
        let expected = (0..3).map(|which| {
            let loss = |changed: &[f64]| -> f64 {
                let mut x = x.clone();
                x[which] = changed.to_vec();
                (0..len).map(|i| reference(&program, &x, i) * f64::from(dy[i])).sum()
            };
            slopes(loss, &inputs[which])
        });
        let expected = expected.collect::<Vec<_>>();
        let run = || {
            let mut d = [(); 3].map(|()| vec![1.0; len]);
            let [d0, d1, d2] = &mut d;
            let slices = inputs.each_ref().map(|x| &x[..]);
            chain_backward(&program, &slices, &dy, &mut [Some(d0), Some(d1), Some(d2)]);
            d.concat()
        };
        everywhere(run, |level, got| {
            assert_close(level, got, &added(&expected.concat()), 3e-5);
        });
        let (mut only, slices) = (vec![1.0; len], inputs.each_ref().map(|x| &x[..]));
        chain_backward(&program, &slices, &dy, &mut [None, Some(&mut only), None]);
        assert_close(crate::cpu::simd::level(), &only, &added(&expected[1]), 3e-5);
    }
}

#[test]
#[should_panic(expected = "too few values")]
fn a_chain_that_takes_what_is_not_there_is_refused() {
    chain_forward(&[Instr::Input(0), Instr::Add], &[&[1.0]], &mut [0.0]);
}
