//! Heads that read features of what they are asked about: their formula, and their gradients against
//! finite differences.

use std::sync::Arc;

use zoetrope_nn::decoder::{EdgeDecoder, Ends, VertexDecoder, VertexRule};
use zoetrope_nn::forward::Updates;
use zoetrope_nn::optimiser::Gradients;
use zoetrope_nn::{Builder, Forward, NnError, Parameters};
use zoetrope_tensor::{Loss, Tape, Var};

const WIDTH: usize = 4;
const FEATURES: usize = 3;
const OUTPUTS: usize = 2;
const ROWS: usize = 5;
const ASKED: usize = 6;

/// Numbers between -1 and 1 that follow no pattern.
fn numbers(count: usize, salt: u32) -> Vec<f32> {
    let mix = |at: usize| (at as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(salt * 40_503);
    (0..count).map(|at| (mix(at) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

fn ends() -> Ends {
    let list = |values: [u32; ASKED]| Arc::new(values.to_vec());
    Ends { src: list([0, 4, 2, 2, 1, 0]), dst: list([1, 1, 3, 2, 0, 4]) }
}

/// A head, as a function from embeddings and features to answers.
type Head = Box<dyn Fn(&mut Forward<'_>, Var, Option<Var>) -> Result<Var, NnError>>;

fn heads(parameters: &mut Parameters) -> [(&'static str, Head); 3] {
    let mut builder = Builder::new(parameters, 3);
    let edge = EdgeDecoder::with_features(&mut builder.child("edge"), WIDTH, FEATURES, OUTPUTS);
    let mut vertex = |name: &'static str, rule| {
        let mut builder = builder.child(name);
        let head = VertexDecoder::with_features(&mut builder, rule, WIDTH, FEATURES, OUTPUTS);
        let rows = ends().src;
        let head: Head = Box::new(move |forward, embeddings, features| {
            let asked = forward.tape.gather(embeddings, &rows)?;
            head.decode_with(forward, asked, features)
        });
        (name, head)
    };
    let [linear, mlp] = [vertex("linear", VertexRule::Linear), vertex("mlp", VertexRule::Mlp)];
    let edge: Head = Box::new(move |forward, embeddings, features| {
        edge.decode_with(forward, embeddings, &ends(), features)
    });
    [("edge", edge), linear, mlp]
}

/// The answers and the loss of a head, and the gradients of parameters and embeddings.
fn answer(
    head: &Head,
    parameters: &Parameters,
    embeddings: &[f32],
    features: &[f32],
) -> (Vec<f32>, f64, Gradients, Vec<f32>) {
    let (mut tape, mut updates) = (Tape::new(), Updates::default());
    let x = tape.variable(ROWS, WIDTH, embeddings).unwrap();
    let own = tape.copied(ASKED, FEATURES, features).unwrap();
    let mut forward = Forward::training(&mut tape, parameters, &mut updates, 1, 0);
    let answers = head(&mut forward, x, Some(own)).unwrap();
    let found = tape.read(answers);
    let target = tape.copied(ASKED, OUTPUTS, &numbers(ASKED * OUTPUTS, 9)).unwrap();
    let loss = tape.loss(Loss::Mse, answers, target, None).unwrap();
    let value = f64::from(tape.scalar(loss));
    tape.backward(loss).unwrap();
    let d_embeddings = tape.gradient_block(x).unwrap().to_vec();
    let mut gradients = Gradients::new(parameters);
    gradients.take_from(&mut tape, parameters);
    (found, value, gradients, d_embeddings)
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let mut parameters = Parameters::default();
    let heads = heads(&mut parameters);
    let (embeddings, features) = (numbers(ROWS * WIDTH, 1), numbers(ASKED * FEATURES, 2));
    const STEP: f32 = 2e-3;
    for (name, head) in &heads {
        let (_, _, gradients, d_embeddings) = answer(head, &parameters, &embeddings, &features);
        let mut packed = Vec::new();
        gradients.pack(&mut packed);
        let ids: Vec<_> = parameters.iter().map(|(id, _)| id).collect();
        let (mut place, mut compared) = (0, 0);
        for id in ids {
            for at in 0..parameters.get(id).as_slice().len() {
                let moved = |by: f32| {
                    let mut moved = parameters.clone();
                    moved.get_mut(id).as_mut_slice()[at] += by;
                    answer(head, &moved, &embeddings, &features).1
                };
                let slope = (moved(STEP) - moved(-STEP)) / f64::from(2.0 * STEP);
                let found = f64::from(packed[place]);
                // A kink of relu within a step, and the rounding of f32.
                assert!((slope - found).abs() <= 5e-3, "{name} {place}: {slope} {found}");
                compared += usize::from(found.abs() > 1e-3);
                place += 1;
            }
        }
        assert!(compared > 10, "{name}: {compared} gradients are not 0");
        for at in 0..embeddings.len() {
            let moved = |by: f32| {
                let mut moved = embeddings.clone();
                moved[at] += by;
                answer(head, &parameters, &moved, &features).1
            };
            let slope = (moved(STEP) - moved(-STEP)) / f64::from(2.0 * STEP);
            let found = f64::from(d_embeddings[at]);
            assert!((slope - found).abs() <= 5e-3, "{name} row {at}: {slope} {found}");
        }
    }
}

#[test]
fn an_edge_head_is_two_layers_over_both_ends_and_the_features() {
    let mut parameters = Parameters::default();
    let [(_, head), ..] = heads(&mut parameters);
    let (embeddings, features) = (numbers(ROWS * WIDTH, 1), numbers(ASKED * FEATURES, 2));
    let found = answer(&head, &parameters, &embeddings, &features).0;
    let of = |name: &str| parameters.get(parameters.find(name).unwrap()).as_slice();
    let [w1, b1, w2, b2] =
        ["decoder.0.weight", "decoder.0.bias", "decoder.2.weight", "decoder.2.bias"]
            .map(|name| of(&format!("edge.{name}")));
    let inputs = 2 * WIDTH + FEATURES;
    let Ends { src, dst } = ends();
    for pair in 0..ASKED {
        let row = |at: u32| &embeddings[at as usize * WIDTH..(at as usize + 1) * WIDTH];
        let own = &features[pair * FEATURES..(pair + 1) * FEATURES];
        let x: Vec<f32> = [row(src[pair]), row(dst[pair]), own].concat();
        let dot = |weight: &[f32], x: &[f32]| weight.iter().zip(x).map(|(w, x)| w * x).sum::<f32>();
        let hidden: Vec<f32> = (0..WIDTH)
            .map(|unit| (dot(&w1[unit * inputs..(unit + 1) * inputs], &x) + b1[unit]).max(0.0))
            .collect();
        for output in 0..OUTPUTS {
            let expected = dot(&w2[output * WIDTH..(output + 1) * WIDTH], &hidden) + b2[output];
            let found = found[pair * OUTPUTS + output];
            assert!((found - expected).abs() < 1e-5, "pair {pair}: {found} {expected}");
        }
    }
}

#[test]
fn a_head_that_reads_features_is_not_answered_without_them() {
    let mut parameters = Parameters::default();
    for (name, head) in heads(&mut parameters) {
        let (mut tape, mut updates) = (Tape::new(), Updates::default());
        let x = tape.variable(ROWS, WIDTH, &numbers(ROWS * WIDTH, 1)).unwrap();
        let mut forward = Forward::evaluating(&mut tape, &parameters, &mut updates);
        assert!(head(&mut forward, x, None).is_err(), "{name}");
    }
}
