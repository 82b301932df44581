//! Weights that evolve by themselves over the snapshots of a frame.

use super::lstm::{LstmRecurrence, LstmStates};
use super::recurrent::GateInput;
use crate::buffer::Buffer;
use crate::cpu::activation::Activation;
use crate::cpu::evolve::{self, EvolveCall, EvolveGradients, EvolveUnit};
use crate::cpu::gru::GruKind;
use crate::cpu::recurrent::Sequence;
use crate::cuda;
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Tape, Var, expect_shape};

/// The parameters of a recurrence that takes its own state as input.
#[derive(Debug, Clone, Copy)]
pub struct Evolution {
    /// Of the state as input, `G·H × H`.
    pub input_weight: Var,
    /// Of the state, `G·H × H`.
    pub weight: Var,
    /// The rest, by the kind of recurrence.
    pub unit: EvolutionUnit,
}

/// Which recurrence, and what it has besides weights.
#[derive(Debug, Clone, Copy)]
pub enum EvolutionUnit {
    /// PyTorch's GRU with gates r, z, n.
    Gru {
        /// Of the input, `1 × 3H`.
        input_bias: Var,
        /// Of the state, `1 × 3H`.
        bias: Var,
    },
    /// An LSTM with gates i, f, g, o.
    Lstm {
        /// The memory before the first step, `N × H`.
        cell: Var,
        /// A bias for each vector, `N × 4H`.
        bias: Var,
    },
}

impl EvolutionUnit {
    fn gates(&self) -> usize {
        match self {
            Self::Gru { .. } => 3,
            Self::Lstm { .. } => 4,
        }
    }

    /// In the order of [`EvolveGradients`]: what comes first, the bias.
    fn operands(&self) -> [Var; 2] {
        match *self {
            Self::Gru { input_bias, bias } => [input_bias, bias],
            Self::Lstm { cell, bias } => [cell, bias],
        }
    }
}

impl Tape {
    /// Lets the rows of `state` (`N × H`) go through `steps` steps of a recurrence whose input is the
    /// state itself. Returns the rows after each step (`steps·N × H`) and for an LSTM the last memory;
    /// a GRU's is its last state.
    ///
    /// On a GPU all steps are one launch if the weights fit into the shared memory of a block;
    /// otherwise they are computed one after the other.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn evolve(
        &mut self,
        state: Var,
        evolution: Evolution,
        steps: usize,
    ) -> Result<LstmStates, TensorError> {
        let Shape { rows: n, cols: h } = self.shape(state);
        let Evolution { input_weight, weight, unit } = evolution;
        let square = Shape::new(unit.gates() * h, h);
        expect_shape("evolve", "the input's weight", square, self.shape(input_weight))?;
        expect_shape("evolve", "the recurrent weight", square, self.shape(weight))?;
        let [first, bias] = unit.operands();
        let (first_name, first_shape, bias_shape) = match unit {
            EvolutionUnit::Gru { .. } => {
                ("the input's bias", Shape::new(1, 3 * h), Shape::new(1, 3 * h))
            }
            EvolutionUnit::Lstm { .. } => {
                ("the cell state", Shape::new(n, h), Shape::new(n, 4 * h))
            }
        };
        expect_shape("evolve", first_name, first_shape, self.shape(first))?;
        expect_shape("evolve", "the bias", bias_shape, self.shape(bias))?;
        if steps == 0 {
            let memory = if let EvolutionUnit::Lstm { cell, .. } = unit { cell } else { state };
            return Ok(LstmStates { hidden: self.zeros(0, h), cell: memory });
        }
        let in_one = self.gpu().is_none_or(|gpu| cuda::evolve::fits(gpu, h));
        if !in_one && n * h > 0 {
            return self.evolve_by_steps(state, evolution, steps);
        }
        // Rows after each step above the last memory: one node with two results, read through aliases.
        let above = steps * n * h;
        let memory = if matches!(unit, EvolutionUnit::Lstm { .. }) { n * h } else { 0 };
        let mut y = self.pool.take(above + memory);
        let op = Op::Evolve { state, evolution, steps };
        let mut saved = self.pool.take(match self.gpu() {
            None => evolve::evolve_saved_len(&self.evolve_call(&op, |var| self.value(var))),
            Some(_) => cuda::evolve::saved_len(&self.evolve_call(&op, |var| self.view(var))),
        });
        match self.gpu() {
            None => {
                let call = self.evolve_call(&op, |var| self.value(var));
                let (out, out_c) = y.as_mut_slice().split_at_mut(above);
                evolve::evolve_forward(&call, out, out_c, saved.as_mut_slice());
            }
            Some(gpu) => {
                let call = self.evolve_call(&op, |var| self.view(var));
                let (out, out_c) = y.view_mut().split_at(above);
                cuda::evolve::forward(gpu, &call, out, out_c, saved.view_mut());
            }
        }
        let whole = Shape::new(steps * n + if memory > 0 { n } else { 0 }, h);
        let inputs = [state, input_weight, weight, first, bias];
        let both = self.record(op, whole, y, Some(saved), &inputs);
        let hidden = self.alias(both, 0, Shape::new(steps * n, h));
        let last = above - if memory > 0 { 0 } else { n * h };
        let cell = self.alias(both, last, Shape::new(n, h));
        Ok(LstmStates { hidden, cell })
    }

    /// The same by the operators of one step.
    fn evolve_by_steps(
        &mut self,
        mut state: Var,
        evolution: Evolution,
        steps: usize,
    ) -> Result<LstmStates, TensorError> {
        let Evolution { input_weight, weight, unit } = evolution;
        let mut all = Vec::with_capacity(steps);
        let mut memory = state;
        if let EvolutionUnit::Lstm { cell, .. } = unit {
            memory = cell;
        }
        for _ in 0..steps {
            match unit {
                EvolutionUnit::Gru { input_bias, bias } => {
                    let input =
                        GateInput::Rows { x: state, weight: input_weight, bias: Some(input_bias) };
                    state =
                        self.gru(GruKind::ResetAfter, input, state, weight, Some(bias), None)?;
                    memory = state;
                }
                EvolutionUnit::Lstm { bias, .. } => {
                    let identity = Activation::Identity;
                    let gates =
                        self.linear_plus(state, input_weight, None, Some(bias), identity)?;
                    let recurrence = Some(LstmRecurrence { weight, bias: None });
                    let states = self.lstm(gates, state, memory, recurrence, None)?;
                    (state, memory) = (states.hidden, states.cell);
                }
            }
            all.push(state);
        }
        Ok(LstmStates { hidden: self.concat_rows(&all)?, cell: memory })
    }

    /// The operands as the kernels read them, each given by `read`.
    fn evolve_call<S>(&self, op: &Op, read: impl Fn(Var) -> S) -> EvolveCall<S> {
        let Op::Evolve { state, evolution, steps } = *op else { unreachable!() };
        let Shape { rows: vertices, cols: hidden } = self.shape(state);
        EvolveCall {
            shape: Sequence { steps, vertices, hidden, whole: vertices },
            h0: read(state),
            w: read(evolution.input_weight),
            u: read(evolution.weight),
            unit: match evolution.unit {
                EvolutionUnit::Gru { input_bias, bias } => {
                    EvolveUnit::Gru { input_bias: read(input_bias), bias: read(bias) }
                }
                EvolutionUnit::Lstm { cell, bias } => {
                    EvolveUnit::Lstm { c0: read(cell), bias: read(bias) }
                }
            },
        }
    }

    pub(super) fn evolve_backward(&mut self, op: &Op, node: Var, dy: &Buffer) {
        let Op::Evolve { state, evolution, steps } = *op else { unreachable!() };
        let [first, bias] = evolution.unit.operands();
        let mut opened = [state, evolution.input_weight, evolution.weight, first, bias]
            .map(|operand| self.open(operand));
        let above = steps * self.shape(state).len();
        let saved = self.node(node).saved.as_ref().expect("the forward pass saved its gates");
        match self.gpu() {
            None => {
                let call = self.evolve_call(op, |var| self.value(var));
                let (out, (d_out, d_c)) =
                    (&self.value(node)[..above], dy.as_slice().split_at(above));
                let gradients = gradients(&mut opened, Opened::slice);
                evolve::evolve_backward(&call, out, saved.as_slice(), d_out, d_c, gradients);
            }
            Some(gpu) => {
                let call = self.evolve_call(op, |var| self.view(var));
                let out = self.view(node).slice(0..above);
                let (d_out, d_c) = (dy.view().slice(0..above), dy.view().slice(above..dy.len()));
                let gradients = gradients(&mut opened, Opened::view);
                cuda::evolve::backward(gpu, &call, out, saved.view(), d_out, d_c, gradients);
            }
        }
        self.close(opened);
    }
}

fn gradients<'a, M>(
    opened: &'a mut [Option<Opened>; 5],
    write: impl Fn(&'a mut Opened) -> M + Copy,
) -> EvolveGradients<M> {
    let [h0, w, u, first, bias] = opened.each_mut().map(|one| one.as_mut().map(write));
    EvolveGradients { h0, w, u, first, bias }
}
