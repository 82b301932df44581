//! One step of an optimiser on the elements of a parameter, with PyTorch's formulas and order of
//! operations.
//!
//! Weight decay is L2 (added to the gradient) unless an [`Adam`] is `decoupled` (AdamW).

use super::blocks::ELEMENTS;
use super::simd::current;
use pulp::{Simd, WithSimd};

/// Stochastic gradient descent with momentum (dampening 0).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// Learning rate.
    pub lr: f32,
    /// Momentum; 0 for none.
    pub momentum: f32,
    /// L2 penalty.
    pub weight_decay: f32,
    /// Whether the step looks ahead along the velocity.
    pub nesterov: bool,
}

/// Adam, and AdamW when `decoupled`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// Learning rate.
    pub lr: f32,
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squared gradients.
    pub beta2: f32,
    /// Added to the denominator.
    pub eps: f32,
    /// Weight decay.
    pub weight_decay: f32,
    /// Whether the decay shrinks the parameter itself (AdamW) instead of the gradient.
    pub decoupled: bool,
}

/// RMSprop, not centred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RmsProp {
    /// Learning rate.
    pub lr: f32,
    /// Decay of the mean of squared gradients.
    pub alpha: f32,
    /// Added to the denominator.
    pub eps: f32,
    /// L2 penalty.
    pub weight_decay: f32,
    /// Momentum; 0 for none.
    pub momentum: f32,
}

/// One step of gradient descent; `velocity` (zeros before the first step) is used with momentum.
///
/// # Panics
///
/// When the lengths differ; `velocity` may be empty without momentum.
pub fn sgd_step(o: Sgd, parameter: &mut [f32], gradient: &[f32], velocity: &mut [f32]) {
    if o.momentum == 0.0 {
        update([parameter], gradient, SgdPlain(o));
    } else {
        update([parameter, velocity], gradient, SgdMomentum(o));
    }
}

/// One step of Adam; `step` counts from 1; `mean` and `square` are zeros before the first.
///
/// # Panics
///
/// When the lengths differ.
pub fn adam_step(
    o: Adam,
    step: u64,
    parameter: &mut [f32],
    gradient: &[f32],
    mean: &mut [f32],
    square: &mut [f32],
) {
    // The corrections are taken in f64 as PyTorch does with Python numbers.
    let power = |beta: f32| f64::from(beta).powf(step as f64);
    let step_size = (f64::from(o.lr) / (1.0 - power(o.beta1))) as f32;
    let root = (1.0 - power(o.beta2)).sqrt() as f32;
    update([parameter, mean, square], gradient, AdamUpdate { o, step_size, root });
}

/// One step of RMSprop; `square` (and `velocity`, with momentum) are zeros before the first.
///
/// # Panics
///
/// When the lengths differ; `velocity` may be empty without momentum.
pub fn rmsprop_step(
    o: RmsProp,
    parameter: &mut [f32],
    gradient: &[f32],
    square: &mut [f32],
    velocity: &mut [f32],
) {
    if o.momentum == 0.0 {
        update([parameter, square], gradient, RmsPlain(o));
    } else {
        update([parameter, square, velocity], gradient, RmsMomentum(o));
    }
}

/// New values of `N` state vectors from the old ones and the gradient.
trait Update<const N: usize>: Sync {
    fn apply<S: Simd>(&self, simd: S, state: [S::f32s; N], g: S::f32s) -> [S::f32s; N];
}

/// Applies an update to whole slices, the state first the parameter; halves in parallel.
fn update<U: Update<N>, const N: usize>(state: [&mut [f32]; N], gradient: &[f32], u: U) {
    for state in &state {
        assert_eq!(state.len(), gradient.len(), "state of an optimiser");
    }
    let cpu = current();
    halves(state, gradient, &|state, gradient| cpu.run(StateBlock { state, gradient, u: &u }));
}

fn halves<const N: usize>(
    state: [&mut [f32]; N],
    gradient: &[f32],
    f: &(impl Fn([&mut [f32]; N], &[f32]) + Sync),
) {
    if gradient.len() <= ELEMENTS {
        return f(state, gradient);
    }
    let middle = gradient.len() / 2;
    let mut right: [&mut [f32]; N] = std::array::from_fn(|_| &mut [][..]);
    let mut i = 0;
    let left = state.map(|state| {
        let (left, rest) = state.split_at_mut(middle);
        right[i] = rest;
        i += 1;
        left
    });
    let (g_left, g_right) = gradient.split_at(middle);
    rayon::join(|| halves(left, g_left, f), || halves(right, g_right, f));
}

struct StateBlock<'a, U, const N: usize> {
    state: [&'a mut [f32]; N],
    gradient: &'a [f32],
    u: &'a U,
}

impl<U: Update<N>, const N: usize> WithSimd for StateBlock<'_, U, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { state, gradient, u } = self;
        let (g_heads, g_tail) = S::as_simd_f32s(gradient);
        let state = state.map(
            #[inline(always)]
            |state| S::as_mut_simd_f32s(state),
        );
        for (i, g) in g_heads.iter().enumerate() {
            let mut old = [*g; N];
            for j in 0..N {
                old[j] = state[j].0[i];
            }
            let new = u.apply(simd, old, *g);
            for j in 0..N {
                state[j].0[i] = new[j];
            }
        }
        if !g_tail.is_empty() {
            let g = simd.partial_load_f32s(g_tail);
            let mut old = [g; N];
            for j in 0..N {
                old[j] = simd.partial_load_f32s(state[j].1);
            }
            let new = u.apply(simd, old, g);
            for j in 0..N {
                simd.partial_store_f32s(state[j].1, new[j]);
            }
        }
    }
}

/// g + decay·p.
#[inline(always)]
fn decayed<S: Simd>(simd: S, g: S::f32s, p: S::f32s, decay: f32) -> S::f32s {
    if decay == 0.0 { g } else { simd.mul_add_e_f32s(p, simd.splat_f32s(decay), g) }
}

struct SgdPlain(Sgd);
impl Update<1> for SgdPlain {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p]: [S::f32s; 1], g: S::f32s) -> [S::f32s; 1] {
        let g = decayed(simd, g, p, self.0.weight_decay);
        [simd.mul_add_e_f32s(g, simd.splat_f32s(-self.0.lr), p)]
    }
}

struct SgdMomentum(Sgd);
impl Update<2> for SgdMomentum {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p, v]: [S::f32s; 2], g: S::f32s) -> [S::f32s; 2] {
        let momentum = simd.splat_f32s(self.0.momentum);
        let g = decayed(simd, g, p, self.0.weight_decay);
        let v = simd.mul_add_e_f32s(v, momentum, g);
        let direction = if self.0.nesterov { simd.mul_add_e_f32s(v, momentum, g) } else { v };
        [simd.mul_add_e_f32s(direction, simd.splat_f32s(-self.0.lr), p), v]
    }
}

struct AdamUpdate {
    o: Adam,
    step_size: f32,
    root: f32,
}
impl Update<3> for AdamUpdate {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p, m, v]: [S::f32s; 3], g: S::f32s) -> [S::f32s; 3] {
        let o = self.o;
        let (p, g) = if o.decoupled {
            (simd.mul_f32s(p, simd.splat_f32s(1.0 - o.lr * o.weight_decay)), g)
        } else {
            (p, decayed(simd, g, p, o.weight_decay))
        };
        let rest1 = simd.splat_f32s((1.0 - f64::from(o.beta1)) as f32);
        let rest2 = simd.splat_f32s((1.0 - f64::from(o.beta2)) as f32);
        let m = simd.mul_add_e_f32s(rest1, simd.sub_f32s(g, m), m);
        let old = simd.mul_f32s(v, simd.splat_f32s(o.beta2));
        let v = simd.mul_add_e_f32s(rest2, simd.mul_f32s(g, g), old);
        let root = simd.div_f32s(simd.sqrt_f32s(v), simd.splat_f32s(self.root));
        let denominator = simd.add_f32s(root, simd.splat_f32s(o.eps));
        let step = simd.div_f32s(m, denominator);
        [simd.mul_add_e_f32s(step, simd.splat_f32s(-self.step_size), p), m, v]
    }
}

/// The new mean of squares, and g / (√square + eps).
#[inline(always)]
fn normalised<S: Simd>(simd: S, o: RmsProp, s: S::f32s, g: S::f32s) -> (S::f32s, S::f32s) {
    let rest = simd.splat_f32s((1.0 - f64::from(o.alpha)) as f32);
    let old = simd.mul_f32s(s, simd.splat_f32s(o.alpha));
    let s = simd.mul_add_e_f32s(rest, simd.mul_f32s(g, g), old);
    let denominator = simd.add_f32s(simd.sqrt_f32s(s), simd.splat_f32s(o.eps));
    (s, simd.div_f32s(g, denominator))
}

struct RmsPlain(RmsProp);
impl Update<2> for RmsPlain {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p, s]: [S::f32s; 2], g: S::f32s) -> [S::f32s; 2] {
        let g = decayed(simd, g, p, self.0.weight_decay);
        let (s, step) = normalised(simd, self.0, s, g);
        [simd.mul_add_e_f32s(step, simd.splat_f32s(-self.0.lr), p), s]
    }
}

struct RmsMomentum(RmsProp);
impl Update<3> for RmsMomentum {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [p, s, v]: [S::f32s; 3], g: S::f32s) -> [S::f32s; 3] {
        let g = decayed(simd, g, p, self.0.weight_decay);
        let (s, step) = normalised(simd, self.0, s, g);
        let v = simd.mul_add_e_f32s(v, simd.splat_f32s(self.0.momentum), step);
        [simd.mul_add_e_f32s(v, simd.splat_f32s(-self.0.lr), p), s, v]
    }
}

#[cfg(test)]
mod tests;
