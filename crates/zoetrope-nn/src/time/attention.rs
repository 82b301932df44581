//! Masked self-attention of a vertex over its own snapshots (Sankar and others, "DySAT", WSDM
//! 2020).

use zoetrope_tensor::{AttentionOptions, TemporalParameters, Var};

use crate::encoder::{Sequence, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::state::State;

/// What the scores of an attention are divided by the root of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreDivisor {
    /// The number of positions, as in the reference implementation.
    Steps,
    /// The width, as in the paper.
    Width,
}

/// `x' = x + p_t`, `o = softmax(q·kᵀ/√s)·v` over the present and earlier steps, then
/// `relu(o·Wᵀ + b) + o + x'`; names as in FeiGSSS/DySAT_pytorch.
///
/// From `T·N × F` to the same, `T` up to the number of positions. Parameters:
/// `position_embeddings` (`T × F`), `Q_embedding_weights`, `K_embedding_weights`,
/// `V_embedding_weights` (`F × F`, `in × out`), all glorot; `lin.weight` (`F × F`), `lin.bias`
/// (`F`), uniform in `±1/√F`.
#[derive(Debug, Clone, Copy)]
pub struct TemporalAttention {
    positions: ParameterId,
    projections: [ParameterId; 3],
    weight: ParameterId,
    bias: ParameterId,
    width: usize,
    steps: usize,
    heads: usize,
    scale: f32,
    dropout: f32,
}

impl TemporalAttention {
    /// Adds the parameters for sequences of up to `steps` snapshots.
    pub fn new(
        builder: &mut Builder<'_>,
        width: usize,
        steps: usize,
        heads: usize,
        divisor: ScoreDivisor,
        dropout: f32,
    ) -> Self {
        let square = [width, width];
        let under_root = if divisor == ScoreDivisor::Steps { steps } else { width };
        Self {
            positions: builder.weight("position_embeddings", &[steps, width], Initialise::Glorot),
            projections: ["Q_embedding_weights", "K_embedding_weights", "V_embedding_weights"]
                .map(|name| builder.weight(name, &square, Initialise::Glorot)),
            weight: builder.weight("lin.weight", &square, Initialise::linear(width)),
            bias: builder.weight("lin.bias", &[width], Initialise::linear(width)),
            width,
            steps,
            heads,
            scale: 1.0 / (under_root as f32).sqrt(),
            dropout,
        }
    }
}

impl TimeEncoder for TemporalAttention {
    fn width(&self) -> usize {
        self.width
    }

    fn carried(&self) -> usize {
        0
    }

    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        _: &mut State,
        _: usize,
    ) -> Result<Var, NnError> {
        if sequence.steps > self.steps {
            return Err(NnError::Option {
                model: "dysat",
                option: "the length of a frame",
                expected: format!("at most the {} positions it was built for", self.steps),
                got: sequence.steps.to_string(),
            });
        }
        let parameters = TemporalParameters {
            positions: forward.parameter(self.positions),
            projections: self.projections.map(|projection| forward.parameter(projection)),
            weight: forward.parameter(self.weight),
            bias: forward.parameter(self.bias),
        };
        let options = AttentionOptions {
            steps: sequence.steps,
            heads: self.heads,
            causal: true,
            scale: self.scale,
            dropout: forward.dropout_mask(self.dropout),
            numbers: sequence.numbers,
        };
        let tape = &mut *forward.tape;
        Ok(tape.temporal_layer(sequence.rows, parameters, sequence.mask, options)?)
    }
}
