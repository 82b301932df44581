//! Errors in ulp over a sweep of all floats, and special values.

use super::*;
use crate::cpu::blocks::lanewise;
use crate::cpu::simd::{Lanewise, levels, with_level};

#[derive(Clone, Copy)]
struct Exp;
#[derive(Clone, Copy)]
struct Sigmoid;
#[derive(Clone, Copy)]
struct Tanh;
#[derive(Clone, Copy)]
struct Ln;
#[derive(Clone, Copy)]
struct Softplus;
#[derive(Clone, Copy)]
struct ExpM1;

impl Lanewise<1> for Exp {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        exp(simd, x)
    }
}
impl Lanewise<1> for Sigmoid {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        sigmoid(simd, x)
    }
}
impl Lanewise<1> for Tanh {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        tanh(simd, x)
    }
}
impl Lanewise<1> for Ln {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        ln(simd, x)
    }
}
impl Lanewise<1> for Softplus {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        softplus(simd, x)
    }
}
impl Lanewise<1> for ExpM1 {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [x]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        exp_m1(simd, x)
    }
}

/// Every 997th float: both signs, all exponents, subnormals included.
fn sweep() -> Vec<f32> {
    (0..=u32::MAX).step_by(997).map(f32::from_bits).filter(|x| x.is_finite()).collect()
}

/// The size of the unit in the last place of a result.
fn ulp(value: f64) -> f64 {
    let size = value.abs().max(f64::from(f32::MIN_POSITIVE));
    2f64.powi(size.log2().floor() as i32 - 23)
}

/// Largest error in ulp over the sweep where `within` holds, at every level.
fn worst<F: Lanewise<1> + Copy>(f: F, exact: fn(f64) -> f64, within: fn(f64, f64) -> bool) -> f64 {
    let x = sweep();
    let mut worst = 0.0f64;
    for level in levels() {
        let mut y = vec![0.0; x.len()];
        with_level(level, || lanewise(f, [&x], &mut y));
        for (&x, &y) in x.iter().zip(&y) {
            let expected = exact(f64::from(x));
            if !within(f64::from(x), expected) {
                continue;
            }
            if (expected as f32).is_infinite() {
                // One unit below the overflow, either side is right.
                assert!(y == expected as f32 || y > f32::MAX * 0.999_999, "{x} at {level}");
                continue;
            }
            if y.is_infinite() {
                assert!(expected.abs() > f64::from(f32::MAX) * 0.999_999, "{x} at {level}");
                continue;
            }
            let error = (f64::from(y) - expected).abs() / ulp(expected);
            assert!(!error.is_nan(), "{x} gives {y} at {level}");
            worst = worst.max(error);
        }
    }
    worst
}

#[test]
fn errors_stay_within_the_stated_bounds() {
    let any = |_, _| true;
    assert!(worst(Exp, f64::exp, any) <= 1.0);
    assert!(worst(Tanh, f64::tanh, any) <= 1.5);
    assert!(worst(Ln, f64::ln, |x, _| x > 0.0) <= 1.0);
    assert!(worst(Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), |_, y| y > 1e-37) <= 2.5);
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    assert!(worst(Softplus, softplus, |_, y| y > 1e-37) <= 2.0);
    assert!(worst(ExpM1, f64::exp_m1, |x, _| x <= 0.0) <= 2.0);
}

#[test]
fn special_values_are_those_of_libm() {
    const INF: f32 = f32::INFINITY;
    for level in levels() {
        let run = |f: &dyn Fn(&[f32], &mut [f32]), x: f32| {
            let mut y = [0.0; 1];
            with_level(level, || f(&[x], &mut y));
            y[0]
        };
        let exp = |x| run(&|x, y| lanewise(Exp, [x], y), x);
        let sigmoid = |x| run(&|x, y| lanewise(Sigmoid, [x], y), x);
        let tanh = |x| run(&|x, y| lanewise(Tanh, [x], y), x);
        let ln = |x| run(&|x, y| lanewise(Ln, [x], y), x);
        let softplus = |x| run(&|x, y| lanewise(Softplus, [x], y), x);
        assert_eq!([exp(INF), exp(-INF), exp(0.0)], [INF, 0.0, 1.0]);
        assert_eq!([sigmoid(INF), sigmoid(-INF), sigmoid(0.0)], [1.0, 0.0, 0.5]);
        assert_eq!([tanh(INF), tanh(-INF), tanh(0.0)], [1.0, -1.0, 0.0]);
        assert!(tanh(-0.0).is_sign_negative());
        assert_eq!([ln(INF), ln(0.0), ln(-0.0), ln(1.0)], [INF, -INF, -INF, 0.0]);
        assert_eq!([softplus(INF), softplus(-INF)], [INF, 0.0]);
        assert!(ln(-1.0).is_nan() && ln(-INF).is_nan());
        let nan = f32::NAN;
        for y in [exp(nan), sigmoid(nan), tanh(nan), ln(nan), softplus(nan)] {
            assert!(y.is_nan());
        }
    }
}
