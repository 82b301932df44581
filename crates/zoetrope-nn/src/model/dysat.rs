//! DySAT: attention over neighbours within snapshots, then over the snapshots of a vertex.
//!
//! Sankar, Wu, Gou, Zhang and Yang, "DySAT: deep neural representation learning on dynamic graphs
//! via self-attention networks", WSDM 2020. A structural layer is, with the weights `Â` of the
//! normalised snapshot with self-loops:
//!
//! ```text
//! α_r = softmax_c(leaky_relu(Â_rc·(a_l·W·x_c + a_r·W·x_r)))     (each head)
//! y_r = elu(Σ_c α_rc·W·x_c) + V·x_r
//! ```
//!
//! and a temporal layer is [`TemporalAttention`]. The scores of the latter are divided by the root
//! of the number of steps in the reference implementation (FeiGSSS/DySAT_pytorch and the authors'
//! code) and by the root of the width in the paper. DGC runs one layer of each kind.
//!
//! Dropout is on the results of structural layers, whole frames at a time so that groups of snapshots
//! change no mask, and on the weights of temporal attention.

use zoetrope_tensor::{Activation, GatOptions, Var};

use super::{Embedding, Model, ModelOptions};
use crate::encoder::StructureEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::{Frame, Group};
use crate::frame_share::StructureRows;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::state::State;
use crate::structure::{HEAD_SLOPE, head_scores};
use crate::time::{ScoreDivisor, TemporalAttention};

/// Attention over the neighbours in a snapshot.
#[derive(Debug, Clone, Copy)]
struct Structural {
    weight: ParameterId,
    source: ParameterId,
    destination: ParameterId,
    residual: ParameterId,
    heads: usize,
    width: usize,
}

impl Structural {
    fn new(builder: &mut Builder<'_>, inputs: usize, options: &ModelOptions) -> Self {
        let &ModelOptions { hidden, heads, .. } = options;
        let width = hidden / heads;
        let attention = [1, heads, width];
        let linear = Initialise::linear(inputs);
        // PyTorch's `xavier_uniform_` takes the three dimensions as those of a filter.
        let xavier = Initialise::Uniform((6.0 / (hidden + width) as f32).sqrt());
        Self {
            weight: builder.weight("lin.weight", &[hidden, inputs], linear),
            source: builder.weight("att_l", &attention, xavier),
            destination: builder.weight("att_r", &attention, xavier),
            residual: builder.weight("lin_residual.weight", &[hidden, inputs], linear),
            heads,
            width: hidden,
        }
    }
}

impl StructureEncoder for Structural {
    fn width(&self) -> usize {
        self.width
    }

    fn form(&self) -> Adjacency {
        Adjacency::GcnEntries
    }

    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError> {
        let weight = forward.parameter(self.weight);
        let source = forward.parameter(self.source);
        let destination = forward.parameter(self.destination);
        let residual = forward.parameter(self.residual);
        // Rows before the layer are gathered, not what it makes of them: features need no gradient.
        let all = group.gather(forward, x)?;
        let source = head_scores(forward, all, weight, source)?;
        let destination = head_scores(forward, x, weight, destination)?;
        let features = forward.tape.linear(all, weight, None, Activation::Identity)?;
        let options =
            GatOptions { heads: self.heads, slope: HEAD_SLOPE, weighted: true, dropout: None };
        let operands = [features, source, destination];
        let attended = group.attend(forward, Adjacency::GcnEntries, operands, options)?;
        let tape = &mut *forward.tape;
        let attended = tape.activate(attended, Activation::Elu(1.0));
        Ok(tape.linear_plus(x, residual, None, Some(attended), Activation::Identity)?)
    }
}

/// DySAT: from `T·N × F` features to `T·N × H`, for frames of up to the length it was built for.
///
/// Parameters: under `structural_attn.structural_layer_0.`, … `lin.weight`, `lin_residual.weight`
/// (`H × in`), `att_l`, `att_r` (`1 × heads × H/heads`); under `temporal_attn.temporal_layer_0.`, …
/// those of [`TemporalAttention`].
#[derive(Debug)]
pub struct Dysat {
    structural: Vec<Structural>,
    temporal: Vec<TemporalAttention>,
    hidden: usize,
    dropout: f32,
    steps: usize,
}

impl Dysat {
    /// Adds the parameters of the model.
    ///
    /// # Errors
    /// If the heads do not divide the hidden width.
    pub fn new(builder: &mut Builder<'_>, options: &ModelOptions) -> Result<Self, NnError> {
        let &ModelOptions { features, hidden, heads, frame, dropout, paper, .. } = options;
        if heads == 0 || !hidden.is_multiple_of(heads) {
            return Err(NnError::Option {
                model: "dysat",
                option: "heads",
                expected: format!("a divisor of the hidden width {hidden}"),
                got: heads.to_string(),
            });
        }
        let count = options.layers_within("dysat", 1, 1)?;
        let divisor = if paper { ScoreDivisor::Width } else { ScoreDivisor::Steps };
        let structural = (0..count).map(|at| {
            let inputs = if at == 0 { features } else { hidden };
            let name = format!("structural_attn.structural_layer_{at}");
            Structural::new(&mut builder.child(&name), inputs, options)
        });
        let structural = structural.collect();
        let temporal = (0..count).map(|at| {
            let mut builder = builder.child(&format!("temporal_attn.temporal_layer_{at}"));
            TemporalAttention::new(&mut builder, hidden, frame, heads, divisor, dropout)
        });
        Ok(Self { structural, temporal: temporal.collect(), hidden, dropout, steps: frame })
    }
}

impl Model for Dysat {
    fn name(&self) -> &'static str {
        "dysat"
    }

    fn width(&self) -> usize {
        self.hidden
    }

    fn forms(&self) -> Vec<Adjacency> {
        vec![Adjacency::GcnEntries]
    }

    fn structure_widths(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    fn can_reuse(&self) -> bool {
        false
    }

    fn carries_state(&self) -> bool {
        false
    }

    fn most_steps(&self) -> Option<usize> {
        Some(self.steps)
    }

    fn embed(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        mut state: State,
    ) -> Result<Embedding, NnError> {
        let mut rows = frame.features;
        let last = self.structural.len() - 1;
        for (at, layer) in self.structural[..last].iter().enumerate() {
            rows = frame.encode(forward, layer, at, rows)?;
            rows = frame.dropout(forward, rows, self.dropout)?;
        }
        let x = StructureRows::Here(rows);
        let mut sequence = frame.encode_to_time(forward, &self.structural[last], last, x)?;
        sequence.rows = frame.dropout_in_time(forward, sequence.rows, self.dropout)?;
        for (at, layer) in self.temporal.iter().enumerate() {
            sequence.rows = frame.follow(forward, layer, (at, 0), sequence, &mut state)?;
        }
        let rows = frame.to_structure(forward, sequence.rows)?;
        Ok(Embedding { rows, state })
    }
}
