//! A chain of element-wise operations as one pass over memory.

use bytemuck::{Pod, Zeroable};

use super::elementwise::{BLOCK, fours, singles};
use super::{ByValue, Gpu, Kernel, Sink, View, ViewMut};
use crate::cpu::chain::{Instr, MAX_INPUTS, MAX_INSTRUCTIONS, Plan};
use crate::cpu::matmul::Accumulate;

static FORWARD: Kernel = Kernel::new("chain", "chain_forward");
static BACKWARD: Kernel = Kernel::new("chain", "chain_backward");

/// `Program` of `chain.cu`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Program {
    len: u32,
    code: [u32; MAX_INSTRUCTIONS],
    constant: [f32; MAX_INSTRUCTIONS],
    operand: [u32; MAX_INSTRUCTIONS],
}

/// `Arrays` of `chain.cu`.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Arrays {
    input: [u64; MAX_INPUTS],
    gradient: [u64; MAX_INPUTS],
    adds: [u32; MAX_INPUTS],
}

impl Program {
    fn new(program: &[Instr], inputs: usize) -> Self {
        let plan = Plan::new(program, inputs);
        let mut result = Self { len: program.len() as u32, ..Self::zeroed() };
        for (at, &instr) in program.iter().enumerate() {
            let [left, right] = plan.operands[at].map(u32::from);
            (result.code[at], result.constant[at]) = code(instr);
            result.operand[at] = match instr {
                Instr::Input(input) => u32::from(input),
                _ => left | right << 8,
            };
        }
        result
    }
}

/// The number of an instruction in `chain.cu`, and its constant.
fn code(instr: Instr) -> (u32, f32) {
    match instr {
        Instr::Input(_) => (0, 0.0),
        Instr::Const(value) => (1, value),
        Instr::Add => (2, 0.0),
        Instr::Sub => (3, 0.0),
        Instr::Mul => (4, 0.0),
        Instr::Div => (5, 0.0),
        Instr::Neg => (6, 0.0),
        Instr::OneMinus => (7, 0.0),
        Instr::Scale(factor) => (8, factor),
        Instr::Square => (9, 0.0),
        Instr::Sqrt => (10, 0.0),
        Instr::Relu => (11, 0.0),
        Instr::LeakyRelu(slope) => (12, slope),
        Instr::Sigmoid => (13, 0.0),
        Instr::Tanh => (14, 0.0),
        Instr::Exp => (15, 0.0),
        Instr::Ln => (16, 0.0),
    }
}

/// `y = program(inputs)`.
pub(crate) fn chain_forward(gpu: &Gpu, program: &[Instr], inputs: &[View<'_>], y: ViewMut<'_>) {
    let len = y.len();
    let program = Program::new(program, inputs.len());
    let mut arrays = Arrays::default();
    let mut addresses = y.ptr();
    for (place, input) in arrays.input.iter_mut().zip(inputs) {
        debug_assert_eq!(input.len(), len);
        *place = input.ptr();
        addresses |= input.ptr();
    }
    let (program, arrays) = (ByValue(&program), ByValue(&arrays));
    let arguments: [&dyn super::Arg; 5] = [&program, &arrays, &addresses, &y, &(len as u64)];
    gpu.launch(&FORWARD, fours(len), BLOCK, 0, &arguments);
}

/// `d_inputs[i] (+)= dy · ∂program/∂input i`, for the inputs whose gradient is wanted.
pub(crate) fn chain_backward(
    gpu: &Gpu,
    program: &[Instr],
    inputs: &[View<'_>],
    dy: View<'_>,
    d_inputs: &[Sink<'_>],
) {
    let len = dy.len();
    let shared = program.len() as u32 * BLOCK * size_of::<f32>() as u32;
    let program = Program::new(program, inputs.len());
    let mut arrays = Arrays::default();
    for (at, (input, sink)) in inputs.iter().zip(d_inputs).enumerate() {
        arrays.input[at] = input.ptr();
        arrays.gradient[at] = sink.place.as_ref().map_or(0, ViewMut::ptr);
        arrays.adds[at] = u32::from(sink.mode == Accumulate::Add);
    }
    let (program, arrays) = (ByValue(&program), ByValue(&arrays));
    gpu.launch(&BACKWARD, singles(len), BLOCK, shared, &[&program, &arrays, &dy, &(len as u64)]);
}
