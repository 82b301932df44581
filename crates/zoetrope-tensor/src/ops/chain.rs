//! Chains of element-wise operations as one pass over memory.

use crate::buffer::Buffer;
use crate::cpu::elementwise::{self, Instr, MAX_INPUTS, MAX_INSTRUCTIONS};
use crate::cuda::{self, Sink, View};
use crate::error::TensorError;
use crate::tape::{List, Op, Opened, Tape, Var, expect_shape, sink};

/// A small program in postfix order over matrices of one shape.
///
/// `Chain::new(&[Input(0), Input(1), Mul, Tanh])` is `tanh(a ∘ b)`.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    program: [Instr; MAX_INSTRUCTIONS],
    len: u8,
}

impl Chain {
    /// A chain of the given instructions.
    ///
    /// # Errors
    /// If there are none or too many, one takes more operands than are there, an input is
    /// beyond the sixth, or more than one value is left at the end.
    pub fn new(instructions: &[Instr]) -> Result<Self, TensorError> {
        let wrong = |expected, got: String| {
            Err(TensorError::Argument { operator: "chain", name: "the program", expected, got })
        };
        let count = instructions.len();
        if count == 0 || count > MAX_INSTRUCTIONS {
            return wrong("1 to 16 instructions", count.to_string());
        }
        let mut height = 0usize;
        for (at, instruction) in instructions.iter().enumerate() {
            if matches!(instruction, Instr::Input(input) if usize::from(*input) >= MAX_INPUTS) {
                return wrong("over inputs 0 to 5", format!("{instruction:?}"));
            }
            let taken = instruction.operands();
            if height < taken {
                return wrong("in postfix order", format!("short of operands at position {at}"));
            }
            height = height - taken + 1;
        }
        if height != 1 {
            return wrong("one that leaves one value", format!("one that leaves {height}"));
        }
        let mut program = [Instr::Const(0.0); MAX_INSTRUCTIONS];
        program[..count].copy_from_slice(instructions);
        Ok(Self { program, len: count as u8 })
    }

    fn instructions(&self) -> &[Instr] {
        &self.program[..usize::from(self.len)]
    }

    fn inputs(&self) -> usize {
        let index = |instruction: &Instr| match instruction {
            Instr::Input(input) => usize::from(*input) + 1,
            _ => 0,
        };
        self.instructions().iter().map(index).max().unwrap_or(0)
    }
}

impl Tape {
    /// Runs a chain over matrices of one shape.
    ///
    /// # Errors
    /// If the chain reads more matrices than given, none is given, or their shapes differ.
    pub fn chain(&mut self, chain: Chain, inputs: &[Var]) -> Result<Var, TensorError> {
        if inputs.is_empty() || inputs.len() > MAX_INPUTS || inputs.len() < chain.inputs() {
            return Err(TensorError::Argument {
                operator: "chain",
                name: "the number of inputs",
                expected: "what the program reads, 1 to 6",
                got: inputs.len().to_string(),
            });
        }
        let shape = self.shape(inputs[0]);
        for &input in inputs {
            expect_shape("chain", "an input", shape, self.shape(input))?;
        }
        let mut y = self.pool.take(shape.len());
        let (program, count) = (chain.instructions(), inputs.len());
        match self.gpu() {
            None => {
                let mut values: [&[f32]; MAX_INPUTS] = [&[]; MAX_INPUTS];
                for (place, &input) in values.iter_mut().zip(inputs) {
                    *place = self.value(input);
                }
                elementwise::chain_forward(program, &values[..count], y.as_mut_slice());
            }
            Some(gpu) => {
                let mut values = [View::none(); MAX_INPUTS];
                for (place, &input) in values.iter_mut().zip(inputs) {
                    *place = self.view(input);
                }
                cuda::chain::chain_forward(gpu, program, &values[..count], y.view_mut());
            }
        }
        let list = self.keep_list(inputs);
        Ok(self.record(Op::Chain { chain, inputs: list }, shape, y, None, inputs))
    }

    pub(super) fn chain_backward(&mut self, chain: &Chain, inputs: List, dy: &Buffer) {
        let count = inputs.len as usize;
        let mut opened: [Option<Opened>; MAX_INPUTS] = Default::default();
        for (at, place) in opened.iter_mut().enumerate().take(count) {
            *place = self.open_to_overwrite(self.listed(inputs, at));
        }
        let (program, input) = (chain.instructions(), |at| self.listed(inputs, at));
        match self.gpu() {
            None => {
                let mut values: [&[f32]; MAX_INPUTS] = [&[]; MAX_INPUTS];
                for (at, place) in values.iter_mut().enumerate().take(count) {
                    *place = self.value(input(at));
                }
                let mut gradients: [Option<&mut [f32]>; MAX_INPUTS] = Default::default();
                for (place, one) in gradients.iter_mut().zip(&mut opened) {
                    *place = one.as_mut().map(Opened::slice_to_add);
                }
                let (values, gradients) = (&values[..count], &mut gradients[..count]);
                elementwise::chain_backward(program, values, dy.as_slice(), gradients);
            }
            Some(gpu) => {
                let mut values = [View::none(); MAX_INPUTS];
                for (at, place) in values.iter_mut().enumerate().take(count) {
                    *place = self.view(input(at));
                }
                let gradients: [Sink<'_>; MAX_INPUTS] = opened.each_mut().map(sink);
                let (values, gradients) = (&values[..count], &gradients[..count]);
                cuda::chain::chain_backward(gpu, program, values, dy.view(), gradients);
            }
        }
        self.close(opened);
    }
}
