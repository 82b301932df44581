//! GC-LSTM: an LSTM whose hidden state passes through Chebyshev convolutions.
//!
//! Chen, Wang and Xu, "GC-LSTM: graph convolution embedded LSTM for dynamic network link
//! prediction", Applied Intelligence 2022. For each snapshot, with one convolution a gate:
//!
//! ```text
//! i, f, o = σ(X·W + cheb(H) + b)      g = tanh(X·W_c + cheb_c(H) + b_c)
//! C' = f∘C + i∘g                      H' = o∘tanh(C')
//! ```
//!
//! - reference (PyG-Temporal's `GCLSTM`): as above.
//! - paper: the cell state is convolved too, `C' = f∘cheb_cell(C) + i∘g`, with `conv_cell`.
//!
//! The convolution of the state makes every step wait for the one before; a filter of one term does
//! not see the graph, and then the whole frame is one LSTM.

use zoetrope_graph::laplacian::Laplacian;
use zoetrope_tensor::{LstmRecurrence, LstmStates, Var};

use super::{Embedding, Model, ModelOptions};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::stage::StageKind;
use crate::state::State;
use crate::structure::{Chebyshev, polynomials};

#[derive(Debug)]
struct Gate {
    convolution: Chebyshev,
    weight: ParameterId,
    bias: ParameterId,
}

/// GC-LSTM: from `T·N × F` features to `T·N × H` states.
///
/// Parameters under `recurrent.`: for each gate `i`, `f`, `c`, `o` a [`Chebyshev`] `conv_g`, `W_g`
/// (`F × H`, glorot) and `b_g` (`1 × H`, zeros).
#[derive(Debug)]
pub struct GcLstm {
    /// In the order of the LSTM operator: i, f, g, o.
    gates: [Gate; 4],
    cell: Option<Chebyshev>,
    hidden: usize,
    terms: usize,
    laplacian: Laplacian,
    dropout: f32,
}

/// The parameters of all gates side by side, on the tape.
struct Shares {
    /// `F × 4H`.
    input: Var,
    /// `1 × 4H`.
    bias: Var,
    /// `4H × K·H`.
    recurrent: Var,
}

impl GcLstm {
    /// Adds the parameters of the model.
    ///
    /// # Errors
    /// If more than one layer is asked for, or no term.
    pub fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        options.single_layer("gc-lstm")?;
        let &ModelOptions { features, hidden, dropout, paper, laplacian, .. } = options;
        let terms = options.chebyshev;
        if terms == 0 {
            let expected = "at least 1".to_owned();
            let got = terms.to_string();
            return Err(NnError::Option { model: "gc-lstm", option: "k", expected, got });
        }
        let mut builder = builder.child("recurrent");
        let gates = ["i", "f", "c", "o"].map(|name| {
            let mut part = builder.child(&format!("conv_{name}"));
            let convolution = Chebyshev::new(&mut part, hidden, hidden, terms, laplacian);
            let weight = format!("W_{name}");
            let weight = builder.weight(&weight, &[features, hidden], Initialise::Glorot);
            let bias = builder.weight(&format!("b_{name}"), &[1, hidden], Initialise::Zeros);
            Gate { convolution, weight, bias }
        });
        let cell = paper.then(|| {
            Chebyshev::new(&mut builder.child("conv_cell"), hidden, hidden, terms, laplacian)
        });
        Ok(Self { gates, cell, hidden, terms, laplacian, dropout })
    }

    fn shares(&self, forward: &mut Forward<'_>) -> Result<Shares, NnError> {
        let (mut inputs, mut biases, mut recurrent) = (Vec::new(), Vec::new(), Vec::new());
        for gate in &self.gates {
            inputs.push(forward.parameter(gate.weight));
            let (own, convolved) = (forward.parameter(gate.bias), gate.convolution.bias(forward));
            biases.push(forward.tape.add(own, convolved)?);
            recurrent.push(gate.convolution.weight(forward)?);
        }
        Ok(Shares {
            input: forward.tape.concat_columns(&inputs)?,
            bias: forward.tape.concat_columns(&biases)?,
            recurrent: forward.tape.concat_rows(&recurrent)?,
        })
    }

    /// One snapshot, whose graph `multiply` multiplies with; `gates` (`N × 4H`) is the input's share.
    fn step(
        &self,
        forward: &mut Forward<'_>,
        multiply: impl Fn(&mut Forward<'_>, Var) -> Result<Var, NnError> + Copy,
        gates: Var,
        recurrent: Var,
        states: LstmStates,
        mask: Option<Var>,
    ) -> Result<LstmStates, NnError> {
        let convolved = polynomials(forward, states.hidden, self.terms, multiply)?;
        let mut cell = states.cell;
        if let Some(convolution) = &self.cell {
            cell = convolution.apply(forward, cell, multiply)?;
        }
        let tape = &mut *forward.tape;
        let moved = tape.matmul_turned(convolved, false, recurrent, true)?;
        let gates = tape.add(gates, moved)?;
        Ok(tape.lstm(gates, states.hidden, cell, None, mask)?)
    }
}

impl Model for GcLstm {
    fn name(&self) -> &'static str {
        "gc-lstm"
    }

    fn width(&self) -> usize {
        self.hidden
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::Chebyshev(self.laplacian)]
    }

    /// Its convolutions are of the state that time encoders have.
    fn time_forms(&self) -> Vec<Adjacency> {
        self.forms()
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn can_reuse(&self) -> bool {
        false
    }

    fn carries_state(&self) -> bool {
        true
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let (steps, vertices) = (frame.all_steps(), frame.time_vertices());
        let hidden = state.or_zeros(0, forward.tape, vertices, self.hidden);
        let cell = state.or_zeros(1, forward.tape, vertices, self.hidden);
        let Shares { input, bias, recurrent } = self.shares(forward)?;
        // Features move, not gates: they are narrower, and need no gradient.
        let x = frame.to_time(forward, frame.features)?.rows;
        let gates = forward.tape.matmul(x, input)?;
        let gates = forward.tape.add_bias(gates, bias)?;
        let last = (steps - 1) * vertices..steps * vertices;
        let rows = forward.stage(StageKind::Time, 0, gates, |forward| {
            Ok(if self.terms == 1 && self.cell.is_none() {
                let recurrence = Some(LstmRecurrence { weight: recurrent, bias: None });
                let states = forward.tape.lstm(gates, hidden, cell, recurrence, frame.mask)?;
                state.set(0, forward.tape.rows(states.hidden, last)?);
                state.set(1, states.cell);
                states.hidden
            } else {
                let mut states = LstmStates { hidden, cell };
                let mut parts = Vec::with_capacity(steps);
                for step in 0..steps {
                    let own = step * vertices..(step + 1) * vertices;
                    let gates = forward.tape.rows(gates, own.clone())?;
                    let mask = frame.mask.map(|mask| forward.tape.rows(mask, own)).transpose()?;
                    let form = Adjacency::Chebyshev(self.laplacian);
                    let multiply = |forward: &mut Forward<'_>, x| {
                        frame.multiply_in_time(forward, form, step, x)
                    };
                    states = self.step(forward, multiply, gates, recurrent, states, mask)?;
                    parts.push(states.hidden);
                }
                state.set(0, states.hidden);
                state.set(1, states.cell);
                forward.tape.concat_rows(&parts)?
            })
        })?;
        let rows = frame.dropout_in_time(forward, rows, self.dropout)?;
        let rows = frame.to_structure(forward, rows)?;
        Ok(Embedding { rows, state })
    }
}
