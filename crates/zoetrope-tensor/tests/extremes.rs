//! Very large numbers, infinities and numbers that are not there: results stay as mathematics has
//! them, and what a mask or a weight of 0 takes out cannot spoil the rest.

use std::sync::Arc;

use zoetrope_tensor::{
    Activation, AttentionOptions, GruKind, Loss, LstmRecurrence, Matrix, Tape, Var,
};

const NAN: f32 = f32::NAN;

fn variable(tape: &mut Tape, rows: usize, cols: usize, values: &[f32]) -> Var {
    tape.variable(rows, cols, values).expect("the length fits")
}

/// The gradient of `x` of the sum of `out`.
fn gradient(tape: &mut Tape, out: Var, x: Var) -> Vec<f32> {
    let ones = vec![1.0; tape.shape(out).len()];
    tape.backward_from(out, &ones).expect("the length fits");
    tape.gradient(x).expect("x wants a gradient").to_vec()
}

#[test]
fn an_entry_of_weight_0_does_not_count_even_where_it_is_not_a_number() {
    for loss in [Loss::Mse, Loss::Mae, Loss::BinaryCrossEntropy { positive_weight: 2.0 }] {
        let mut tape = Tape::new();
        let x = variable(&mut tape, 1, 4, &[0.5, NAN, -1.5, 0.25]);
        let target = tape.copied(1, 4, &[1.0, 1.0, 0.0, NAN]).unwrap();
        let weight = tape.copied(1, 4, &[1.0, 0.0, 3.0, 0.0]).unwrap();
        let masked = tape.loss(loss, x, target, Some(weight)).unwrap();
        let dense_x = variable(&mut tape, 1, 4, &[0.5, -1.5, -1.5, -1.5]);
        let dense_target = tape.copied(1, 4, &[1.0, 0.0, 0.0, 0.0]).unwrap();
        let expected = tape.loss(loss, dense_x, dense_target, None).unwrap();
        let (got, expected) = (tape.scalar(masked), tape.scalar(expected));
        assert!((got - expected).abs() <= 1e-6, "{loss:?}: {got} instead of {expected}");
        let slope = gradient(&mut tape, masked, x);
        assert_eq!((slope[1], slope[3]), (0.0, 0.0), "{loss:?}");
        assert!(slope[0] != 0.0 && slope[2] != 0.0 && slope.iter().all(|d| d.is_finite()));
    }
}

#[test]
fn a_loss_without_weight_is_0_and_has_no_slope() {
    for loss in [Loss::Mse, Loss::Mae, Loss::BinaryCrossEntropy { positive_weight: 2.0 }] {
        let mut tape = Tape::new();
        let x = variable(&mut tape, 1, 2, &[3.0, NAN]);
        let (target, weight) = (tape.ones(1, 2), tape.zeros(1, 2));
        let out = tape.loss(loss, x, target, Some(weight)).unwrap();
        assert_eq!(tape.scalar(out), 0.0, "{loss:?}");
        assert_eq!(gradient(&mut tape, out, x), [0.0, 0.0], "{loss:?}");
    }
    let mut tape = Tape::new();
    let (x, weight) = (variable(&mut tape, 1, 2, &[3.0, NAN]), tape.zeros(1, 1));
    let out = tape.cross_entropy(x, &Arc::new(vec![1]), 0, Some(weight)).unwrap();
    assert_eq!(tape.scalar(out), 0.0);
    assert_eq!(gradient(&mut tape, out, x), [0.0, 0.0]);
}

#[test]
fn logits_of_ten_thousand_are_no_problem() {
    let mut tape = Tape::new();
    let x = variable(&mut tape, 1, 2, &[1e4, -1e4]);
    let target = tape.copied(1, 2, &[0.0, 1.0]).unwrap();
    let bce = Loss::BinaryCrossEntropy { positive_weight: 1.0 };
    let out = tape.loss(bce, x, target, None).unwrap();
    assert_eq!(tape.scalar(out), 1e4);
    assert_eq!(gradient(&mut tape, out, x), [0.5, -0.5]);

    let mut tape = Tape::new();
    let x = variable(&mut tape, 2, 3, &[1e4, -1e4, 0.0, 0.0, 1e4, -1e4]);
    let out = tape.cross_entropy(x, &Arc::new(vec![0, 0]), 0, None).unwrap();
    assert_eq!(tape.scalar(out), 5e3);
    assert_eq!(gradient(&mut tape, out, x), [0.0, 0.0, 0.0, -0.5, 0.5, 0.0]);

    let mut tape = Tape::new();
    let x = variable(&mut tape, 2, 2, &[1e4, -1e4, f32::NEG_INFINITY, 0.0]);
    let out = tape.softmax(x);
    assert_eq!(tape.value(out), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(gradient(&mut tape, out, x), [0.0; 4]);
}

#[test]
fn saturated_activations_are_exact_and_have_no_slope() {
    let cases = [
        (Activation::Sigmoid, [1.0, 0.0], [0.0, 0.0]),
        (Activation::Tanh, [1.0, -1.0], [0.0, 0.0]),
        (Activation::Softplus, [1e4, 0.0], [1.0, 0.0]),
        (Activation::Elu(1.0), [1e4, -1.0], [1.0, 0.0]),
        (Activation::Relu, [1e4, 0.0], [1.0, 0.0]),
    ];
    for (activation, values, slopes) in cases {
        let mut tape = Tape::new();
        let x = variable(&mut tape, 1, 2, &[1e4, -1e4]);
        let out = tape.activate(x, activation);
        assert_eq!(tape.value(out), values, "{activation:?}");
        assert_eq!(gradient(&mut tape, out, x), slopes, "{activation:?}");
    }
}

#[test]
fn a_masked_cell_of_a_recurrent_unit_may_hold_anything() {
    for kind in [Some(GruKind::ResetAfter), Some(GruKind::ResetBefore), None] {
        let gates = if kind.is_some() { 3 } else { 4 };
        let run = |hole: f32| {
            let mut tape = Tape::new();
            // Two steps of three vertices, one wide; the second vertex is absent at first.
            let mut values: Vec<f32> = (0..6 * gates).map(|at| 0.1 * at as f32 - 0.9).collect();
            values[gates..2 * gates].fill(hole);
            let x = variable(&mut tape, 6, gates, &values);
            let state = variable(&mut tape, 3, 1, &[0.3, -0.2, 0.5]);
            let weight = variable(&mut tape, gates, 1, &vec![0.4; gates]);
            let mask = tape.copied(6, 1, &[1.0, 0.0, 1.0, 1.0, 1.0, 1.0]).unwrap();
            let out = match kind {
                Some(kind) => tape.gru(kind, x, state, weight, None, Some(mask)).unwrap(),
                None => {
                    let recurrence = LstmRecurrence { weight, bias: None };
                    tape.lstm(x, state, state, Some(recurrence), Some(mask)).unwrap().hidden
                }
            };
            let result = tape.value(out).to_vec();
            assert_eq!(result[1], -0.2, "the state passes");
            let ones = vec![1.0; result.len()];
            tape.backward_from(out, &ones).unwrap();
            let slopes = [x, state, weight].map(|var| tape.gradient(var).unwrap().to_vec());
            (result, slopes)
        };
        let (result, slopes) = run(0.0);
        assert_eq!(slopes[0][gates..2 * gates], vec![0.0; gates]);
        for hole in [NAN, f32::INFINITY] {
            assert_eq!(run(hole), (result.clone(), slopes.clone()), "{kind:?} with {hole}");
        }
    }
}

#[test]
fn what_a_masked_cell_of_temporal_attention_holds_does_not_matter() {
    let run = |hole: f32| {
        let mut tape = Tape::new();
        let mut values = [0.5, -1.0, 0.25, 1.5, -0.5, 0.75];
        values[2..4].fill(hole);
        let x = variable(&mut tape, 3, 2, &values);
        let mask = tape.copied(3, 1, &[1.0, 0.0, 1.0]).unwrap();
        let options = AttentionOptions {
            steps: 3,
            heads: 1,
            causal: false,
            scale: 1.0,
            dropout: None,
            numbers: None,
        };
        let out = tape.temporal_attention([x; 3], Some(mask), options).unwrap();
        let result = tape.value(out).to_vec();
        (result, gradient(&mut tape, out, x))
    };
    let (result, slopes) = run(0.0);
    assert_eq!((&result[2..4], &slopes[2..4]), (&[0.0, 0.0][..], &[0.0, 0.0][..]));
    for hole in [-3.0, 100.0, 1e10] {
        assert_eq!(run(hole), (result.clone(), slopes.clone()), "{hole}");
    }
}

#[test]
fn a_parameter_that_is_used_several_times_gets_the_sum_of_its_gradients() {
    let mut tape = Tape::new();
    let weight = Matrix::from_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let (first, second) = (tape.parameter(4, &weight), tape.parameter(4, &weight));
    assert_eq!(first, second);
    let turned = tape.reshape(second, 3, 2).unwrap();
    let product = tape.matmul(first, turned).unwrap();
    let row = tape.rows(product, 1..2).unwrap();
    tape.backward_from(row, &[1.0, 0.0]).unwrap();
    // d/dw of w₁₀·w₀₀ + w₁₁·w₀₂ + w₁₂·w₁₁, the reshape being (w₀₀ w₀₁; w₀₂ w₁₀; w₁₁ w₁₂).
    assert_eq!(tape.parameter_gradient(4), Some(&[4.0, 0.0, 5.0, 1.0, 3.0 + 6.0, 5.0][..]));
    assert_eq!(tape.parameter_gradient(3), None);
    assert_eq!(tape.parameter_gradient(99), None);
}

#[test]
fn constants_get_no_gradient() {
    let mut tape = Tape::new();
    let shared = Arc::new(Matrix::from_slice(3, 1, &[1.0, 2.0, 3.0]).unwrap());
    let rows = tape.constant(&shared, 1..3).unwrap();
    let x = variable(&mut tape, 2, 1, &[5.0, 7.0]);
    let out = tape.mul(rows, x).unwrap();
    assert_eq!(tape.value(out), [10.0, 21.0]);
    assert_eq!(gradient(&mut tape, out, x), [2.0, 3.0]);
    assert_eq!(tape.gradient(rows), None);
}
