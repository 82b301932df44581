//! T-GCN: a GRU whose input is convolved.
//!
//! Zhao and others, "T-GCN: a temporal graph convolutional network for traffic prediction", IEEE
//! T-ITS 2020. With `f_g` the convolution of gate `g`, for each snapshot:
//!
//! ```text
//! z  = σ([f_z(X), H]·L_zᵀ + c_z)
//! r  = σ([f_r(X), H]·L_rᵀ + c_r)
//! n  = tanh([f_h(X), r∘H]·L_hᵀ + c_h)
//! H' = z∘H + (1−z)∘n
//! ```
//!
//! - reference (PyG-Temporal's `TGCN`): one convolution a gate, `f_g(X) = Â·X·W_gᵀ + b_g`.
//! - paper: `f_g(X) = σ(Â·relu(Â·X·W_gᵀ + b_g)·V_gᵀ + d_g)`, two layers a gate as DGC counts them.
//!   Its second layers are named `conv_z_2`, `conv_r_2`, `conv_h_2`.

use zoetrope_tensor::{Activation, GateInput, GruKind, Var};

use super::{Embedding, Model, ModelOptions};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::{Frame, Order};
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;
use crate::layer::Linear;
use crate::parameters::Builder;
use crate::stage::StageKind;
use crate::state::State;
use crate::structure::{Aggregation, Convolution, Gcn};

/// One gate: its convolutions and the linear layer over convolution and state.
#[derive(Debug, Clone, Copy)]
struct Gate {
    first: Gcn,
    second: Option<Gcn>,
    linear: Linear,
}

impl Gate {
    fn new(builder: &mut Builder<'_>, name: &str, options: &ModelOptions) -> Self {
        let &ModelOptions { features, hidden, paper, .. } = options;
        let plain = Activation::Identity;
        let conv = format!("conv_{name}");
        let first = Gcn::new(&mut builder.child(&conv), features, hidden, plain);
        let second = paper.then(|| {
            let conv = format!("conv_{name}_2");
            Gcn::new(&mut builder.child(&conv), hidden, hidden, plain)
        });
        let linear = Linear::new(&mut builder.child(&format!("linear_{name}")), 2 * hidden, hidden);
        Self { first, second, linear }
    }
}

/// The recurrent cell, as T-GCN and A3T-GCN use it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TgcnCell {
    /// In the order of the GRU operator: r, z, n.
    gates: [Gate; 3],
    features: usize,
    hidden: usize,
}

impl TgcnCell {
    pub(crate) fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Self {
        let gates = ["r", "z", "h"].map(|name| Gate::new(builder, name, options));
        Self { gates, features: options.features, hidden: options.hidden }
    }

    /// The convolutions' share of the gates r, z, n.
    fn shares(&self, forward: &mut Forward<'_>, frame: &Frame<'_>) -> Result<GateInput, NnError> {
        if self.gates[0].second.is_some() {
            let rows = self.two_layers(forward, frame)?;
            return Ok(frame.to_time(forward, rows)?.rows.into());
        }
        let composed = self.composed(forward, &self.gates)?;
        let order = frame.order(0, composed.inputs, composed.outputs);
        if frame.aggregated.is_none() && order != Some(Order::AggregateFirst) {
            let x = StructureRows::Here(frame.features);
            return Ok(frame.encode_to_time(forward, &composed, 0, x)?.rows.into());
        }
        // The unit multiplies the aggregated features by the weight itself.
        let aggregation = Aggregation { width: self.features };
        let x = StructureRows::Here(frame.features);
        let x = frame.encode_to_time(forward, &aggregation, 0, x)?.rows;
        Ok(GateInput::Rows { x, weight: composed.weight, bias: composed.bias })
    }

    /// `Â·X·(L_g·W_g)ᵀ + (b_g·L_gᵀ + c_g)` of some gates side by side.
    ///
    /// Nothing stands between a gate's convolution and its linear layer, so their small weights
    /// are multiplied once instead of passing every row of the frame through both.
    fn composed(&self, forward: &mut Forward<'_>, gates: &[Gate]) -> Result<Convolution, NnError> {
        let mut weights = [None; 3];
        let mut biases = [None; 3];
        for (at, gate) in gates.iter().enumerate() {
            let (weight, bias) = (gate.first.weight(forward), gate.first.bias(forward));
            let (linear, offset) = (gate.linear.weight(forward), gate.linear.bias(forward));
            let tape = &mut *forward.tape;
            let left = tape.columns(linear, 0..self.hidden)?;
            weights[at] = Some(tape.matmul(left, weight)?);
            biases[at] = Some(tape.linear(bias, left, Some(offset), Activation::Identity)?);
        }
        let weights: Vec<Var> = weights.into_iter().flatten().collect();
        let biases: Vec<Var> = biases.into_iter().flatten().collect();
        Ok(Convolution {
            weight: forward.tape.concat_rows(&weights)?,
            bias: Some(forward.tape.concat_columns(&biases)?),
            activation: Activation::Identity,
            inputs: self.features,
            outputs: gates.len() * self.hidden,
        })
    }

    /// The paper's two layers: both layers of all gates share their aggregation.
    fn two_layers(&self, forward: &mut Forward<'_>, frame: &Frame<'_>) -> Result<Var, NnError> {
        let hidden = self.hidden;
        let weights = self.gates.map(|gate| gate.first.weight(forward));
        let biases = self.gates.map(|gate| gate.first.bias(forward));
        let first = Convolution {
            weight: forward.tape.concat_rows(&weights)?,
            bias: Some(forward.tape.concat_columns(&biases)?),
            activation: Activation::Relu,
            inputs: self.features,
            outputs: 3 * hidden,
        };
        let x = frame.encode(forward, &first, 0, frame.features)?;
        let x = frame.encode(forward, &Aggregation { width: 3 * hidden }, 1, x)?;
        let mut shares = [x; 3];
        for (at, gate) in self.gates.iter().enumerate() {
            let Some(second) = gate.second else { continue };
            let (weight, bias) = (second.weight(forward), second.bias(forward));
            let (linear, offset) = (gate.linear.weight(forward), gate.linear.bias(forward));
            let tape = &mut *forward.tape;
            let own = tape.columns(x, at * hidden..(at + 1) * hidden)?;
            let convolved = tape.linear(own, weight, Some(bias), Activation::Sigmoid)?;
            let left = tape.columns(linear, 0..hidden)?;
            shares[at] = tape.linear(convolved, left, Some(offset), Activation::Identity)?;
        }
        Ok(forward.tape.concat_columns(&shares)?)
    }

    /// The states after each snapshot, `T·N × H`, from `state` on.
    pub(crate) fn run(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        state: Var,
    ) -> Result<Var, NnError> {
        let shares = self.shares(forward, frame)?;
        let mut recurrent = [state; 3];
        for (var, gate) in recurrent.iter_mut().zip(&self.gates) {
            let weight = gate.linear.weight(forward);
            *var = forward.tape.columns(weight, self.hidden..2 * self.hidden)?;
        }
        let weight = forward.tape.concat_rows(&recurrent)?;
        let kind = GruKind::ResetBefore;
        forward.stage(StageKind::Time, 0, shares.rows(), |forward| {
            Ok(forward.tape.gru(kind, shares, state, weight, None, frame.mask)?)
        })
    }

    /// The shares of the gates z and n alone: all there is of a step from the state 0.
    pub(crate) fn without_state(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
    ) -> Result<[Var; 2], NnError> {
        let composed = self.composed(forward, &self.gates[1..])?;
        let x = StructureRows::Here(frame.features);
        let shares = composed.encode_to_time(forward, frame, 0, x)?.rows;
        let tape = &mut *forward.tape;
        Ok([
            tape.columns(shares, 0..self.hidden)?,
            tape.columns(shares, self.hidden..2 * self.hidden)?,
        ])
    }
}

/// T-GCN: from `T·N × F` features to `T·N × H` states.
///
/// Parameters under `recurrent.`: for each gate `z`, `r`, `h` the convolution `conv_g.lin.weight`
/// (`H × F`), `conv_g.bias` (`H`) and the layer `linear_g.weight` (`H × 2H`), `linear_g.bias` (`H`).
#[derive(Debug)]
pub struct Tgcn {
    cell: TgcnCell,
    dropout: f32,
}

impl Tgcn {
    /// Adds the parameters of the model.
    ///
    /// # Errors
    /// If more than one layer is asked for.
    pub fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        options.single_layer("tgcn")?;
        let cell = TgcnCell::new(&mut builder.child("recurrent"), options);
        Ok(Self { cell, dropout: options.dropout })
    }
}

/// The widths of the structure layers of the cell.
pub(crate) fn structure_widths(cell: &TgcnCell) -> Vec<(usize, usize)> {
    // The second layers aggregate before they split by gate, so they have no order to choose.
    vec![(cell.features, 3 * cell.hidden)]
}

impl Model for Tgcn {
    fn name(&self) -> &'static str {
        "tgcn"
    }

    fn width(&self) -> usize {
        self.cell.hidden
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
        true
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let (steps, vertices) = (frame.all_steps(), frame.time_vertices());
        let first = state.or_zeros(0, forward.tape, vertices, self.cell.hidden);
        let states = self.cell.run(forward, frame, first)?;
        state.set(0, forward.tape.rows(states, (steps - 1) * vertices..steps * vertices)?);
        let rows = frame.dropout_in_time(forward, states, self.dropout)?;
        let rows = frame.to_structure(forward, rows)?;
        Ok(Embedding { rows, state })
    }
}
