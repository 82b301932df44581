use super::*;
use crate::cpu::optimiser::{Adam, RmsProp, Sgd, adam_step, rmsprop_step, sgd_step};
use crate::cuda::test_support::gpu;

const LENGTHS: [usize; 5] = [5, 0, 2100, 3, 7];
/// The parameter that no gradient flows into.
const UNREACHED: usize = 3;
const RATE: f32 = 0.05;

fn numbers(seed: usize, len: usize) -> Vec<f32> {
    (0..len).map(|at| ((at * 37 + seed * 101) % 64) as f32 / 16.0 - 1.9).collect()
}

/// Parameters, and the values that they hold.
fn parameters(gpu: &Gpu) -> (ParameterBlock, Vec<Vec<f32>>) {
    let block = ParameterBlock::new(gpu, LENGTHS);
    let values: Vec<_> = (0..LENGTHS.len()).map(|slot| numbers(slot, LENGTHS[slot])).collect();
    for (slot, values) in values.iter().enumerate() {
        block.values_of(slot).write(values);
    }
    (block, values)
}

/// Puts the gradients of a step into the block and returns them.
fn gradients(block: &ParameterBlock, step: usize) -> Vec<Option<Vec<f32>>> {
    block.clear_gradients();
    let one = |slot: usize| {
        let gradient = numbers(10 * step + slot, LENGTHS[slot]);
        block.gradient_of(slot).write(&gradient);
        gradient
    };
    (0..LENGTHS.len()).map(|slot| (slot != UNREACHED).then(|| one(slot))).collect()
}

fn assert_close(what: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (got, expected) in got.iter().zip(expected) {
        assert!(
            (got - expected).abs() <= 2e-6 * expected.abs().max(1.0),
            "{what}: {got} {expected}"
        );
    }
}

/// A step of one parameter on the processor: rule, number of the step, value, gradient, state.
type Step = fn(u64, &mut [f32], &[f32], &mut [Vec<f32>; 2]);

/// Five steps of a rule on the GPU against the processor's.
fn compare(what: &str, rule: UpdateRule, on_processor: Step, clip: Option<f64>) {
    let Some(gpu) = gpu() else { return };
    let (block, mut values) = parameters(&gpu);
    let mut updater = Updater::new(&block, rule);
    updater.set_rate(RATE);
    let mut states: Vec<_> = LENGTHS.iter().map(|&len| [vec![0.0; len], vec![0.0; len]]).collect();
    for step in 1..=5 {
        let mut given = gradients(&block, step as usize);
        updater.step(&block, clip);
        if let Some(limit) = clip {
            let squares: f64 =
                given.iter().flatten().flatten().map(|&g| f64::from(g).powi(2)).sum();
            let factor = (limit / (squares.sqrt() + 1e-6)).min(1.0) as f32;
            given.iter_mut().flatten().flatten().for_each(|g| *g *= factor);
        }
        for (slot, gradient) in given.iter().enumerate() {
            if let Some(gradient) = gradient {
                on_processor(step, &mut values[slot], gradient, &mut states[slot]);
            }
        }
    }
    let (steps, failed, kept) = updater.read();
    assert_eq!((steps, failed, kept.len()), (5, None, rule.slots()), "{what}");
    for (slot, range) in block.ranges().iter().enumerate() {
        assert_close(what, &block.values_of(slot).to_vec(), &values[slot]);
        for (kept, state) in kept.iter().zip(&states[slot]) {
            assert_close(what, &kept[range.clone()], state);
        }
    }
    assert!(gpu.fault().is_none());
}

#[test]
fn gradient_descent_agrees_with_the_processor() {
    compare(
        "plain",
        UpdateRule::sgd(0.0, 0.1, false),
        |_, p, g, [v, _]| {
            sgd_step(Sgd { lr: RATE, momentum: 0.0, weight_decay: 0.1, nesterov: false }, p, g, v);
        },
        None,
    );
    compare(
        "momentum",
        UpdateRule::sgd(0.9, 0.0, false),
        |_, p, g, [v, _]| {
            sgd_step(Sgd { lr: RATE, momentum: 0.9, weight_decay: 0.0, nesterov: false }, p, g, v);
        },
        Some(3.0),
    );
    compare(
        "nesterov",
        UpdateRule::sgd(0.8, 0.2, true),
        |_, p, g, [v, _]| {
            sgd_step(Sgd { lr: RATE, momentum: 0.8, weight_decay: 0.2, nesterov: true }, p, g, v);
        },
        None,
    );
}

fn adam(decoupled: bool, weight_decay: f32) -> Adam {
    Adam { lr: RATE, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay, decoupled }
}

#[test]
fn adam_agrees_with_the_processor() {
    compare(
        "adam",
        UpdateRule::adam([0.9, 0.999], 1e-8, 0.1, false),
        |step, p, g, [m, v]| {
            adam_step(adam(false, 0.1), step, p, g, m, v);
        },
        None,
    );
    compare(
        "adamw",
        UpdateRule::adam([0.9, 0.999], 1e-8, 0.1, true),
        |step, p, g, [m, v]| {
            adam_step(adam(true, 0.1), step, p, g, m, v);
        },
        Some(0.5),
    );
}

#[test]
fn rms_prop_agrees_with_the_processor() {
    compare(
        "plain",
        UpdateRule::rms_prop(0.99, 1e-8, 0.1, 0.0),
        |_, p, g, [s, v]| {
            let o = RmsProp { lr: RATE, alpha: 0.99, eps: 1e-8, weight_decay: 0.1, momentum: 0.0 };
            rmsprop_step(o, p, g, s, v);
        },
        None,
    );
    compare(
        "momentum",
        UpdateRule::rms_prop(0.9, 1e-6, 0.0, 0.7),
        |_, p, g, [s, v]| {
            let o = RmsProp { lr: RATE, alpha: 0.9, eps: 1e-6, weight_decay: 0.0, momentum: 0.7 };
            rmsprop_step(o, p, g, s, v);
        },
        Some(1e6),
    );
}

#[test]
fn a_gradient_that_is_not_finite_ends_all_changes() {
    for poison in [f32::NAN, f32::INFINITY] {
        let Some(gpu) = gpu() else { return };
        let (block, _) = parameters(&gpu);
        let mut updater = Updater::new(&block, UpdateRule::adam([0.9, 0.999], 1e-8, 0.0, false));
        updater.set_rate(RATE);
        gradients(&block, 1);
        updater.step(&block, None);
        let (good, kept) = (block.values().to_vec(), updater.read().2);
        block.gradient_of(2).write(&vec![poison; LENGTHS[2]]);
        updater.step(&block, Some(1.0));
        gradients(&block, 3);
        updater.step(&block, None);
        assert_eq!(updater.read(), (1, Some(2), kept), "{poison}");
        assert_eq!(block.values().to_vec(), good, "{poison}");
    }
}

#[test]
fn a_state_that_is_restored_goes_on_as_if_nothing_had_happened() {
    let Some(gpu) = gpu() else { return };
    let (block, _) = parameters(&gpu);
    let rule = UpdateRule::adam([0.9, 0.999], 1e-8, 0.0, false);
    let mut first = Updater::new(&block, rule);
    first.set_rate(RATE);
    gradients(&block, 1);
    first.step(&block, None);
    let (middle, (step, _, kept)) = (block.values().to_vec(), first.read());
    gradients(&block, 2);
    first.step(&block, None);
    let end = block.values().to_vec();
    block.values().write(&middle);
    let mut second = Updater::new(&block, rule);
    second.restore(step, &kept);
    second.set_rate(RATE);
    second.step(&block, None);
    assert_eq!(block.values().to_vec(), end);
    assert_eq!(second.read(), first.read());
}
