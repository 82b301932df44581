//! Exponential, logistic, hyperbolic tangent, logarithm and softplus on vectors of floats.
//!
//! Largest errors against the exact value, measured by the tests over a dense sweep of the whole
//! range at every instruction set (ulp: unit in the last place of the result):
//!
//! | function | error | where |
//! | --- | --- | --- |
//! | `exp` | 1 ulp | everywhere; below the smallest normal number one subnormal step |
//! | `exp_m1` | 2 ulp | x ≤ 0 |
//! | `sigmoid` | 2.5 ulp | results above 1e-37; below, the result may be 0 (absolute error 1e-37) |
//! | `tanh` | 1.5 ulp | everywhere |
//! | `ln` | 1 ulp | everywhere, subnormal inputs included |
//! | `softplus` | 2 ulp | results above 1e-37 |
//!
//! NaN gives NaN; infinities and the logarithm of zero or of a negative number behave as in libm.
//! Polynomials are minimax fits by iteratively reweighted least squares (`math_fit.py` beside
//! this file).

use pulp::Simd;

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 in two parts: the first has trailing zeros, so that its product with a small integer is
/// exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;
/// Adding it leaves the nearest integer in the low bits of the mantissa.
const ROUND: f32 = 12_582_912.0;
const ROUND_BITS: u32 = 0x4B40_0000;

/// exp(r) = 1 + r + r²·Q(r) for |r| ≤ ln 2 / 2, relative error 3e-9.
const EXP: [f32; 5] =
    [4.999_999_4e-1, 1.666_652_1e-1, 4.166_839e-2, 8.368_717_5e-3, 1.381_459_6e-3];
/// tanh(x) = x + x³·Q(x²) for |x| ≤ 0.625, relative error 4e-9.
const TANH: [f32; 5] =
    [-3.333_328_4e-1, 1.333_149e-1, -5.374_349_7e-2, 2.065_057_9e-2, -5.717_037e-3];
/// ln(1 + f) = f − f²/2 + f³·Q(f) for √½ ≤ 1 + f ≤ √2, relative error 6e-9.
const LN: [f32; 8] = [
    3.333_333e-1,
    -2.500_082_3e-1,
    2.000_122_7e-1,
    -1.662_335_7e-1,
    1.420_176_2e-1,
    -1.316_019_4e-1,
    1.276_155e-1,
    -7.634_43e-2,
];

#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, x: S::f32s, c: &[f32; N]) -> S::f32s {
    let mut sum = simd.splat_f32s(c[N - 1]);
    for i in (0..N - 1).rev() {
        sum = simd.mul_add_e_f32s(sum, x, simd.splat_f32s(c[i]));
    }
    sum
}

/// `x` if it is a number below the bound, else the bound; NaN becomes the bound.
#[inline(always)]
fn at_most<S: Simd>(simd: S, x: S::f32s, bound: f32) -> S::f32s {
    let bound = simd.splat_f32s(bound);
    simd.select_f32s(simd.less_than_f32s(x, bound), x, bound)
}

#[inline(always)]
fn at_least<S: Simd>(simd: S, x: S::f32s, bound: f32) -> S::f32s {
    let bound = simd.splat_f32s(bound);
    simd.select_f32s(simd.greater_than_f32s(x, bound), x, bound)
}

/// |x| and −x. (Not those of `pulp`: their masks come from functions that may end up outside the
/// code compiled for the vector instructions, and a call there moves every register to memory.)
#[inline(always)]
fn magnitude<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    simd.and_f32s(x, simd.splat_f32s(f32::from_bits(0x7FFF_FFFF)))
}

#[inline(always)]
fn negated<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    simd.xor_f32s(x, simd.splat_f32s(-0.0))
}

#[inline(always)]
fn nan_of<S: Simd>(simd: S, x: S::f32s, result: S::f32s) -> S::f32s {
    simd.select_f32s(simd.equal_f32s(x, x), result, x)
}

/// exp(r) with the integer n (biased by [`ROUND_BITS`]) such that exp(x) = exp(r)·2ⁿ.
#[inline(always)]
fn exp_parts<S: Simd>(simd: S, x: S::f32s) -> (S::f32s, S::u32s) {
    let biased = simd.mul_add_e_f32s(x, simd.splat_f32s(LOG2_E), simd.splat_f32s(ROUND));
    let n = simd.sub_f32s(biased, simd.splat_f32s(ROUND));
    let r = simd.mul_add_e_f32s(n, simd.splat_f32s(-LN2_HIGH), x);
    let r = simd.mul_add_e_f32s(n, simd.splat_f32s(-LN2_LOW), r);
    let q = polynomial(simd, r, &EXP);
    let p = simd.mul_add_e_f32s(simd.mul_f32s(r, r), q, r);
    (simd.add_f32s(p, simd.splat_f32s(1.0)), simd.transmute_u32s_f32s(biased))
}

/// exp(x), gradual to 0 below and infinite above.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let bounded = at_least(simd, at_most(simd, x, 89.0), -104.0);
    let (p, biased) = exp_parts(simd, bounded);
    // 2ⁿ by two factors: n reaches from −150 to 128, one exponent field only from −126 to 127.
    let m = simd.sub_u32s(biased, simd.splat_u32s(ROUND_BITS - 256));
    let half = simd.wrapping_dyn_shr_u32s(m, simd.splat_u32s(1));
    let rest = simd.sub_u32s(m, half);
    let result =
        simd.mul_f32s(simd.mul_f32s(p, power_of_two(simd, half)), power_of_two(simd, rest));
    nan_of(simd, x, result)
}

/// 2^(k − 128) for 2 ≤ k ≤ 255.
#[inline(always)]
fn power_of_two<S: Simd>(simd: S, k: S::u32s) -> S::f32s {
    let exponent = simd.sub_u32s(k, simd.splat_u32s(1));
    simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(exponent, simd.splat_u32s(23)))
}

/// exp(x) for −87 ≤ x ≤ 89, infinite from 88.1 on: cheaper if the caller adds 1 anyway.
#[inline(always)]
fn exp_narrow<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let (p, biased) = exp_parts(simd, x);
    let exponent = simd.sub_u32s(biased, simd.splat_u32s(ROUND_BITS - 127));
    let scale = simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(exponent, simd.splat_u32s(23)));
    simd.mul_f32s(p, scale)
}

/// 1 / (1 + exp(−x)).
#[inline(always)]
pub(crate) fn sigmoid<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let t = at_least(simd, at_most(simd, negated(simd, x), 88.5), -87.0);
    let result = simd.div_f32s(one, simd.add_f32s(one, exp_narrow(simd, t)));
    nan_of(simd, x, result)
}

/// The hyperbolic tangent: a polynomial near 0, 1 − 2 / (exp(2·|x|) + 1) elsewhere.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let size = magnitude(simd, x);
    let bounded = at_most(simd, size, 10.0);
    let e = exp_narrow(simd, simd.add_f32s(bounded, bounded));
    let far = simd.sub_f32s(one, simd.div_f32s(simd.splat_f32s(2.0), simd.add_f32s(e, one)));
    let square = simd.mul_f32s(x, x);
    let q = polynomial(simd, square, &TANH);
    let near = simd.mul_add_e_f32s(simd.mul_f32s(square, x), q, x);
    let is_near = simd.less_than_f32s(size, simd.splat_f32s(0.625));
    let sign = simd.and_f32s(x, simd.splat_f32s(-0.0));
    nan_of(simd, x, simd.or_f32s(simd.select_f32s(is_near, near, far), sign))
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn ln<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let zero = simd.splat_f32s(0.0);
    let subnormal = simd.less_than_f32s(x, simd.splat_f32s(f32::MIN_POSITIVE));
    let scaled = simd.mul_f32s(x, simd.splat_f32s(8_388_608.0));
    let (k, ln_m) = ln_parts(simd, simd.select_f32s(subnormal, scaled, x));
    let k = simd.sub_f32s(k, simd.select_f32s(subnormal, simd.splat_f32s(23.0), zero));
    let result = ln_join(simd, k, ln_m);
    let infinity = simd.splat_f32s(f32::INFINITY);
    let result = simd.select_f32s(simd.equal_f32s(x, infinity), x, result);
    let result =
        simd.select_f32s(simd.equal_f32s(x, zero), simd.splat_f32s(f32::NEG_INFINITY), result);
    let result = simd.select_f32s(simd.less_than_f32s(x, zero), simd.splat_f32s(f32::NAN), result);
    nan_of(simd, x, result)
}

/// For a normal positive x = m·2ᵏ with √½ ≤ m < √2: k, and the terms of ln m.
#[inline(always)]
fn ln_parts<S: Simd>(simd: S, x: S::f32s) -> (S::f32s, [S::f32s; 2]) {
    const HALF_ROOT: u32 = 0x3F35_04F3;
    let bits = simd.transmute_u32s_f32s(x);
    // Biased by 2^8 so that the shift of a negative exponent stays logical.
    let offset = simd.sub_u32s(bits, simd.splat_u32s(HALF_ROOT));
    let shifted = simd.add_u32s(offset, simd.splat_u32s(256 << 23));
    let k = simd.wrapping_dyn_shr_u32s(shifted, simd.splat_u32s(23));
    let mantissa = simd.and_u32s(offset, simd.splat_u32s(0x007F_FFFF));
    let m = simd.transmute_f32s_u32s(simd.add_u32s(mantissa, simd.splat_u32s(HALF_ROOT)));
    let k = simd.and_u32s(k, simd.splat_u32s(0x1FF));
    let k = simd.transmute_f32s_u32s(simd.add_u32s(k, simd.splat_u32s(ROUND_BITS - 256)));
    let k = simd.sub_f32s(k, simd.splat_f32s(ROUND));
    let f = simd.sub_f32s(m, simd.splat_f32s(1.0));
    let square = simd.mul_f32s(f, f);
    let cube = simd.mul_f32s(simd.mul_f32s(square, f), polynomial(simd, f, &LN));
    (k, [f, simd.mul_add_e_f32s(square, simd.splat_f32s(-0.5), cube)])
}

#[inline(always)]
fn ln_join<S: Simd>(simd: S, k: S::f32s, [f, rest]: [S::f32s; 2]) -> S::f32s {
    let rest = simd.mul_add_e_f32s(k, simd.splat_f32s(LN2_LOW), rest);
    let sum = simd.add_f32s(f, rest);
    simd.mul_add_e_f32s(k, simd.splat_f32s(LN2_HIGH), sum)
}

/// ln(1 + e) for 0 ≤ e ≤ 1, also accurate for tiny e.
#[inline(always)]
fn ln_one_plus<S: Simd>(simd: S, e: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let u = simd.add_f32s(one, e);
    // What rounding 1 + e lost, to first order.
    let lost = simd.sub_f32s(e, simd.sub_f32s(u, one));
    let (k, parts) = ln_parts(simd, u);
    simd.add_f32s(ln_join(simd, k, parts), simd.div_f32s(lost, u))
}

/// ln(1 + exp(x)).
#[inline(always)]
pub(crate) fn softplus<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let size = negated(simd, magnitude(simd, x));
    let e = exp(simd, size);
    let positive = simd.max_f32s(x, simd.splat_f32s(0.0));
    nan_of(simd, x, simd.add_f32s(positive, ln_one_plus(simd, e)))
}

/// exp(x) − 1 for x ≤ 0, accurate near 0; any value if x > 0.
#[inline(always)]
pub(crate) fn exp_m1<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let bounded = at_least(simd, at_most(simd, x, 0.0), -87.0);
    let square = simd.mul_f32s(bounded, bounded);
    let near = simd.mul_add_e_f32s(square, polynomial(simd, bounded, &EXP), bounded);
    let far = simd.sub_f32s(exp_narrow(simd, bounded), one);
    let is_near = simd.greater_than_f32s(bounded, simd.splat_f32s(-0.34));
    nan_of(simd, x, simd.select_f32s(is_near, near, far))
}

#[cfg(test)]
mod tests;
