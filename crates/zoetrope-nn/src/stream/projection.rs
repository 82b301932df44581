//! Embeddings that read no neighbours: the normalised row of memory, and JODIE's projection of it.

use zoetrope_tensor::{Activation, Chain, Instr, Var};

use super::batch::EventBatch;
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::layer::LayerNorm;
use crate::parameters::{Builder, ParameterId};
use zoetrope_graph::Time;

/// `norm(h)`, or `norm(h) ∘ (1 + w·δ + b)` with the share `δ = (t − t_i) / (t − t_0 + 1)` of the
/// time up to the question that passed since vertex i was last heard of (Kumar and others,
/// "JODIE", KDD 2019, as TGL has it).
///
/// Parameters: `l0h0.norm.*`; `l0h0t.time_emb.weight` (`D × 1`), `l0h0t.time_emb.bias` (`D`),
/// standard normal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Projection {
    norm: LayerNorm,
    time: Option<[ParameterId; 2]>,
}

impl Projection {
    pub(super) fn new(builder: &mut Builder<'_>, width: usize, by_time: bool) -> Self {
        let norm = LayerNorm::new(&mut builder.child("l0h0.norm"), width);
        let time = by_time.then(|| {
            let mut builder = builder.child("l0h0t.time_emb");
            [
                builder.weight("weight", &[width, 1], Initialise::Normal(1.0)),
                builder.weight("bias", &[width], Initialise::Normal(1.0)),
            ]
        });
        Self { norm, time }
    }

    /// From rows of vertices, or of questions if `per_query`, to a row for each question.
    /// `times` tells when each row was last heard of.
    pub(super) fn apply(
        &self,
        forward: &mut Forward<'_>,
        rows: Var,
        per_query: bool,
        batch: &EventBatch,
        times: &[Time],
        origin: Time,
    ) -> Result<Var, NnError> {
        let mut y = self.norm.apply(forward, rows)?;
        if !per_query {
            y = forward.tape.gather(y, &batch.query_row)?;
        }
        let Some(time) = self.time else { return Ok(y) };
        let [weight, bias] = time.map(|id| forward.parameter(id));
        let shares = forward.tape.filled(batch.query_time.len(), 1, |shares| {
            for (at, (share, &asked)) in shares.iter_mut().zip(&batch.query_time).enumerate() {
                let row = if per_query { at } else { batch.query_row[at] as usize };
                let passed = asked.wrapping_sub(times[row]) as f64;
                *share = (passed / (asked.wrapping_sub(origin) as f64 + 1.0)) as f32;
            }
        });
        let drift = forward.tape.linear(shares, weight, Some(bias), Activation::Identity)?;
        let chain = [Instr::Input(1), Instr::Const(1.0), Instr::Add, Instr::Input(0), Instr::Mul];
        Ok(forward.tape.chain(Chain::new(&chain)?, &[y, drift])?)
    }
}
