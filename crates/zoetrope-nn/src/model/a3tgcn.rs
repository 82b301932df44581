//! A3T-GCN: T-GCN with attention over the snapshots of a frame.
//!
//! Bai and others, "A3T-GCN: attention temporal graph convolutional network for traffic
//! forecasting", ISPRS IJGI 2021. The result is one row a vertex, for the last snapshot of the
//! frame: `C = Σ_t α_t·H_t`.
//!
//! - reference (PyG-Temporal's `A3TGCN`): `α = softmax(a)` with one number a snapshot; every `H_t`
//!   is a T-GCN step from the state 0, so the frame has no recurrence at all. That library takes
//!   one graph for the whole frame; here each snapshot has its own.
//! - paper: `H_t` are the states of a recurrent T-GCN and `α = softmax(e)` with
//!   `e_t = w_2·(H_t·w_1 + b_1) + b_2`, `w_1` over the width and `w_2` over the vertices.

use zoetrope_tensor::{Activation, Chain, Instr, Var};

use super::tgcn::{TgcnCell, structure_widths};
use super::{Coverage, Embedding, Model, ModelOptions};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::layer::Linear;
use crate::parameters::{Builder, ParameterId};
use crate::stage::StageKind;
use crate::state::State;

#[derive(Debug)]
enum Attention {
    /// One number a snapshot.
    Numbers(ParameterId),
    /// Scores of the states.
    Scores { width: Linear, vertices: Linear },
}

/// A3T-GCN: from `T·N × F` features to `N × H`, for frames of the length it was built for.
///
/// Parameters under `recurrent.`: those of T-GCN's cell under `_base_tgcn.`, and `_attention` (`T`,
/// uniform in 0..1) or, for the paper, `score_1` (`1 × H`) and `score_2` (`1 × N`) with their
/// biases.
#[derive(Debug)]
pub struct A3tgcn {
    cell: TgcnCell,
    attention: Attention,
    options: ModelOptions,
}

impl A3tgcn {
    /// Adds the parameters of the model.
    ///
    /// # Errors
    /// If more than one layer is asked for.
    pub fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        options.single_layer("a3tgcn")?;
        let mut builder = builder.child("recurrent");
        // The paper's departure is the attention; its cell is the one-layer T-GCN.
        let one_layer = ModelOptions { paper: false, ..*options };
        let cell = TgcnCell::new(&mut builder.child("_base_tgcn"), &one_layer);
        let attention = if options.paper {
            Attention::Scores {
                width: Linear::new(&mut builder.child("score_1"), options.hidden, 1),
                vertices: Linear::new(&mut builder.child("score_2"), options.vertices, 1),
            }
        } else {
            Attention::Numbers(builder.weight("_attention", &[options.frame], Initialise::Unit))
        };
        Ok(Self { cell, attention, options: *options })
    }

    fn expect(&self, option: &'static str, expected: usize, got: usize) -> Result<(), NnError> {
        if expected == got {
            Ok(())
        } else {
            Err(NnError::Option {
                model: "a3tgcn",
                option,
                expected: format!("{expected}, what it was built for"),
                got: got.to_string(),
            })
        }
    }

    /// `w_2` over the vertices, those of other ranks included, from `T × N` to `T × 1`.
    fn over_vertices(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        layer: &Linear,
        scores: Var,
    ) -> Result<Var, NnError> {
        forward.may_exchange_some(StageKind::Sum, scores, frame.all_steps());
        let Some(shared) = frame.shared else {
            return layer.apply(forward, scores, Activation::Identity);
        };
        let (weight, bias) = (layer.weight(forward), layer.bias(forward));
        let tape = &mut *forward.tape;
        let weight = tape.reshape(weight, self.options.vertices, 1)?;
        let own = tape.gather(weight, shared.numbers.time())?;
        let part = tape.matmul(scores, own)?;
        let sum = shared.exchange.sum(tape, part);
        Ok(tape.add_bias(sum, bias)?)
    }

    /// `(1−σ(z))∘tanh(n)`: the state after one step from the state 0, zeros if a vertex is not
    /// there.
    fn single_steps(&self, forward: &mut Forward<'_>, frame: &Frame<'_>) -> Result<Var, NnError> {
        use Instr::{Input, Mul, OneMinus, Sigmoid, Tanh};
        let shares = self.cell.without_state(forward, frame)?;
        let step = Chain::new(&[Input(0), Sigmoid, OneMinus, Input(1), Tanh, Mul])?;
        let states = forward.stage(StageKind::Time, 0, shares[0], |forward| {
            Ok(forward.tape.chain(step, &shares)?)
        })?;
        match frame.mask {
            Some(mask) => Ok(forward.tape.row_scale(states, mask)?),
            None => Ok(states),
        }
    }
}

impl Model for A3tgcn {
    fn name(&self) -> &'static str {
        "a3tgcn"
    }

    fn width(&self) -> usize {
        self.options.hidden
    }

    fn coverage(&self) -> Coverage {
        Coverage::Last
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::Gcn]
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        structure_widths(&self.cell)
    }

    fn can_reuse(&self) -> bool {
        true
    }

    fn carries_state(&self) -> bool {
        false
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        state: State,
    ) -> Result<Embedding, NnError> {
        let (steps, vertices) = (frame.all_steps(), frame.time_vertices());
        let hidden = self.options.hidden;
        let (states, numbers) = match &self.attention {
            Attention::Numbers(id) => {
                self.expect("the length of a frame", self.options.frame, steps)?;
                let states = self.single_steps(forward, frame)?;
                (states, forward.parameter(*id))
            }
            Attention::Scores { width, vertices: over } => {
                let all = frame.shared.map_or(vertices, |shared| shared.numbers.all());
                self.expect("the number of vertices", self.options.vertices, all)?;
                let first = forward.tape.zeros(vertices, hidden);
                let states = self.cell.run(forward, frame, first)?;
                let scores = width.apply(forward, states, Activation::Identity)?;
                let scores = forward.tape.reshape(scores, steps, vertices)?;
                let scores = self.over_vertices(forward, frame, over, scores)?;
                (states, forward.tape.reshape(scores, 1, steps)?)
            }
        };
        let tape = &mut *forward.tape;
        let shares = tape.softmax(numbers);
        let flat = tape.reshape(states, steps, vertices * hidden)?;
        let context = tape.matmul(shares, flat)?;
        let context = tape.reshape(context, vertices, hidden)?;
        let rows = frame.dropout_in_time(forward, context, self.options.dropout)?;
        Ok(Embedding { rows, state })
    }
}
