//! A chain of element-wise operations as one pass over memory.
//!
//! The chain is a small stack program ([`Instr`]). It runs over pieces of [`PIECE`] elements
//! whose intermediate results stay in the first-level cache, so only the inputs and the result
//! move. The backward pass computes the intermediate results of a piece again instead of having
//! stored them.

use super::blocks::{ELEMENTS, for_each_block};
use super::math;
use super::scratch;
use super::simd::{Cpu, Lanewise, Map, current};
use pulp::Simd;

/// Elements of a piece: sixteen intermediate results of it are 16 KiB.
const PIECE: usize = 256;
/// Longest program.
pub const MAX_INSTRUCTIONS: usize = 16;
/// Most inputs of a program.
pub const MAX_INPUTS: usize = 6;

/// One instruction of a stack program: operands are taken from the stack, the last pushed is the
/// right-hand one, and the result is pushed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Instr {
    /// Pushes the input of this number.
    Input(u8),
    /// Pushes a constant.
    Const(f32),
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a · b.
    Mul,
    /// a / b.
    Div,
    /// −a.
    Neg,
    /// 1 − a.
    OneMinus,
    /// A constant times a.
    Scale(f32),
    /// a².
    Square,
    /// √a.
    Sqrt,
    /// max(a, 0).
    Relu,
    /// a for a > 0, else the slope times a.
    LeakyRelu(f32),
    /// 1 / (1 + exp(−a)).
    Sigmoid,
    /// tanh(a).
    Tanh,
    /// exp(a).
    Exp,
    /// ln(a).
    Ln,
}

impl Instr {
    pub(crate) fn operands(self) -> usize {
        match self {
            Self::Input(_) | Self::Const(_) => 0,
            Self::Add | Self::Sub | Self::Mul | Self::Div => 2,
            _ => 1,
        }
    }
}

/// A program whose operands are known by the number of the instruction that made them.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    program: &'a [Instr],
    pub(crate) operands: [[u8; 2]; MAX_INSTRUCTIONS],
}

impl<'a> Plan<'a> {
    /// Panics when the program is empty, too long, takes what is not there or leaves several
    /// values.
    pub(crate) fn new(program: &'a [Instr], inputs: usize) -> Self {
        assert!(!program.is_empty() && program.len() <= MAX_INSTRUCTIONS, "length of a chain");
        assert!(inputs <= MAX_INPUTS, "a chain has at most {MAX_INPUTS} inputs");
        let mut operands = [[0; 2]; MAX_INSTRUCTIONS];
        let mut stack = [0u8; MAX_INSTRUCTIONS];
        let mut depth = 0;
        for (i, &instr) in program.iter().enumerate() {
            if let Instr::Input(input) = instr {
                assert!(usize::from(input) < inputs, "input {input} of a chain with {inputs}");
            }
            let count = instr.operands();
            assert!(depth >= count, "instruction {i} of a chain finds too few values");
            depth -= count;
            operands[i][..count].copy_from_slice(&stack[depth..depth + count]);
            stack[depth] = i as u8;
            depth += 1;
        }
        assert_eq!(depth, 1, "a chain leaves one value");
        Self { program, operands }
    }

    /// Computes the results of all instructions for a piece; `slots` holds one piece each.
    fn run(&self, cpu: Cpu, inputs: &[&[f32]], at: usize, len: usize, slots: &mut [f32]) {
        for (i, &instr) in self.program.iter().enumerate() {
            let (before, rest) = slots.split_at_mut(i * PIECE);
            let out = &mut rest[..len];
            let slot =
                |which: usize| &before[usize::from(self.operands[i][which]) * PIECE..][..len];
            match instr {
                Instr::Input(input) => {
                    out.copy_from_slice(&inputs[usize::from(input)][at..at + len])
                }
                Instr::Const(value) => out.fill(value),
                _ if instr.operands() == 2 => {
                    cpu.run(Map { f: &Value(instr), x: [slot(0), slot(1)], y: out })
                }
                _ => cpu.run(Map { f: &Value(instr), x: [slot(0)], y: out }),
            }
        }
    }

    /// Adds the derivatives of a piece, from the last instruction to the first; `slots` holds the
    /// results of all instructions, `slopes` the derivative of the last and zeros elsewhere.
    fn run_back(&self, cpu: Cpu, len: usize, slots: &[f32], slopes: &mut [f32]) {
        let slot = |i: u8| &slots[usize::from(i) * PIECE..][..len];
        for (i, &instr) in self.program.iter().enumerate().rev() {
            let (before, rest) = slopes.split_at_mut(i * PIECE);
            let (d, y) = (&rest[..len], slot(i as u8));
            let operands = &self.operands[i][..instr.operands()];
            for (which, &operand) in operands.iter().enumerate() {
                let out = &mut before[usize::from(operand) * PIECE..][..len];
                let a = slot(operands[0]);
                let b = slot(operands[operands.len() - 1]);
                cpu.run(Map { f: &Slope(instr, which), x: [a, b, y, d], y: out });
            }
        }
    }
}

/// y = program(inputs).
///
/// # Panics
///
/// When the program is not well formed or the lengths differ.
pub fn chain_forward(program: &[Instr], inputs: &[&[f32]], y: &mut [f32]) {
    let plan = Plan::new(program, inputs.len());
    for input in inputs {
        assert_eq!(input.len(), y.len(), "inputs of a chain have the length of its result");
    }
    let cpu = current();
    for_each_block(y, ELEMENTS, |i, y| {
        let mut slots = scratch::take(program.len() * PIECE);
        for (j, y) in y.chunks_mut(PIECE).enumerate() {
            plan.run(cpu, inputs, i * ELEMENTS + j * PIECE, y.len(), &mut slots);
            y.copy_from_slice(&slots[(program.len() - 1) * PIECE..][..y.len()]);
        }
    });
}

/// `d_inputs[i] += dy · ∂program/∂input i`, for the inputs whose gradient is wanted.
///
/// # Panics
///
/// When the program is not well formed or the lengths differ.
pub fn chain_backward(
    program: &[Instr],
    inputs: &[&[f32]],
    dy: &[f32],
    d_inputs: &mut [Option<&mut [f32]>],
) {
    let plan = Plan::new(program, inputs.len());
    assert_eq!(inputs.len(), d_inputs.len(), "one gradient, or none, per input of a chain");
    for input in inputs {
        assert_eq!(input.len(), dy.len(), "inputs of a chain have the length of its result");
    }
    let mut outputs: [Option<&mut [f32]>; MAX_INPUTS] = [const { None }; MAX_INPUTS];
    for (output, d) in outputs.iter_mut().zip(d_inputs) {
        if let Some(d) = d {
            assert_eq!(d.len(), dy.len(), "gradients of a chain have the length of its result");
            *output = Some(&mut **d);
        }
    }
    backward_halves(&plan, current(), inputs, dy, 0, outputs);
}

fn backward_halves(
    plan: &Plan,
    cpu: Cpu,
    inputs: &[&[f32]],
    dy: &[f32],
    from: usize,
    d_inputs: [Option<&mut [f32]>; MAX_INPUTS],
) {
    if dy.len() <= ELEMENTS {
        return backward_block(plan, cpu, inputs, dy, from, d_inputs);
    }
    let middle = dy.len() / 2;
    let mut right: [Option<&mut [f32]>; MAX_INPUTS] = [const { None }; MAX_INPUTS];
    let mut i = 0;
    let left = d_inputs.map(|d| {
        let halves = d.map(|d| d.split_at_mut(middle));
        let (left, rest) = halves.map_or((None, None), |(a, b)| (Some(a), Some(b)));
        right[i] = rest;
        i += 1;
        left
    });
    let (dy0, dy1) = dy.split_at(middle);
    rayon::join(
        || backward_halves(plan, cpu, inputs, dy0, from, left),
        || backward_halves(plan, cpu, inputs, dy1, from + middle, right),
    );
}

fn backward_block(
    plan: &Plan,
    cpu: Cpu,
    inputs: &[&[f32]],
    dy: &[f32],
    from: usize,
    mut d_inputs: [Option<&mut [f32]>; MAX_INPUTS],
) {
    let last = (plan.program.len() - 1) * PIECE;
    let mut slots = scratch::take(plan.program.len() * PIECE);
    let mut slopes = scratch::take(plan.program.len() * PIECE);
    for (j, dy) in dy.chunks(PIECE).enumerate() {
        let at = j * PIECE;
        plan.run(cpu, inputs, from + at, dy.len(), &mut slots);
        slopes[..last].fill(0.0);
        slopes[last..last + dy.len()].copy_from_slice(dy);
        plan.run_back(cpu, dy.len(), &slots, &mut slopes);
        for (i, &instr) in plan.program.iter().enumerate() {
            if let Instr::Input(input) = instr
                && let Some(d) = &mut d_inputs[usize::from(input)]
            {
                let slope = &slopes[i * PIECE..][..dy.len()];
                for (d, slope) in d[at..at + dy.len()].iter_mut().zip(slope) {
                    *d += slope;
                }
            }
        }
    }
}

/// An instruction on vectors.
struct Value(Instr);

impl Lanewise<2> for Value {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b]: [S::f32s; 2], _: S::f32s) -> S::f32s {
        match self.0 {
            Instr::Add => simd.add_f32s(a, b),
            Instr::Sub => simd.sub_f32s(a, b),
            Instr::Mul => simd.mul_f32s(a, b),
            _ => simd.div_f32s(a, b),
        }
    }
}

impl Lanewise<1> for Value {
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a]: [S::f32s; 1], _: S::f32s) -> S::f32s {
        let zero = simd.splat_f32s(0.0);
        match self.0 {
            Instr::Neg => simd.neg_f32s(a),
            Instr::OneMinus => simd.sub_f32s(simd.splat_f32s(1.0), a),
            Instr::Scale(factor) => simd.mul_f32s(a, simd.splat_f32s(factor)),
            Instr::Square => simd.mul_f32s(a, a),
            Instr::Sqrt => simd.sqrt_f32s(a),
            Instr::Relu => simd.select_f32s(simd.greater_than_f32s(a, zero), a, zero),
            Instr::LeakyRelu(slope) => {
                let below = simd.mul_f32s(a, simd.splat_f32s(slope));
                simd.select_f32s(simd.greater_than_f32s(a, zero), a, below)
            }
            Instr::Sigmoid => math::sigmoid(simd, a),
            Instr::Tanh => math::tanh(simd, a),
            Instr::Exp => math::exp(simd, a),
            Instr::Ln => math::ln(simd, a),
            _ => a,
        }
    }
}

/// d_operand + d·∂instruction/∂operand, from both operands, the result and its derivative.
struct Slope(Instr, usize);

impl Lanewise<4> for Slope {
    const READS_OUTPUT: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, [a, b, y, d]: [S::f32s; 4], old: S::f32s) -> S::f32s {
        let (one, zero) = (simd.splat_f32s(1.0), simd.splat_f32s(0.0));
        let slope = match (self.0, self.1) {
            (Instr::Add, _) | (Instr::Sub, 0) => return simd.add_f32s(old, d),
            (Instr::Sub | Instr::Neg | Instr::OneMinus, _) => return simd.sub_f32s(old, d),
            (Instr::Mul, 0) => b,
            (Instr::Mul, _) => a,
            (Instr::Div, 0) => simd.div_f32s(one, b),
            (Instr::Div, _) => simd.neg_f32s(simd.div_f32s(y, b)),
            (Instr::Scale(factor), _) => simd.splat_f32s(factor),
            (Instr::Square, _) => simd.add_f32s(a, a),
            (Instr::Sqrt, _) => simd.div_f32s(simd.splat_f32s(0.5), y),
            (Instr::Relu, _) => simd.select_f32s(simd.greater_than_f32s(a, zero), one, zero),
            (Instr::LeakyRelu(slope), _) => {
                simd.select_f32s(simd.greater_than_f32s(a, zero), one, simd.splat_f32s(slope))
            }
            (Instr::Sigmoid, _) => simd.mul_f32s(y, simd.sub_f32s(one, y)),
            (Instr::Tanh, _) => simd.sub_f32s(one, simd.mul_f32s(y, y)),
            (Instr::Exp, _) => y,
            (Instr::Ln, _) => simd.div_f32s(one, a),
            (Instr::Input(_) | Instr::Const(_), _) => zero,
        };
        simd.mul_add_e_f32s(slope, d, old)
    }
}

#[cfg(test)]
mod tests;
