//! A sum over sampled neighbours, the cheap embedding of the TGN paper ("TGN-sum").

use zoetrope_tensor::{Activation, NeighbourAttention, Var};

use super::attention::{Level, Widths, missing};
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::layer::Linear;
use crate::parameters::Builder;

/// `y_i = W₂·[relu(Σ_j W₁·[h_j, φ(Δt), e_ij] + b₁), h_i, φ(0)] + b₂`.
///
/// Parameters of layer `l`: `linear_1.l.*`, `linear_2.l.*`.
#[derive(Debug, Clone)]
pub(super) struct SumLayer {
    first: Linear,
    second: Linear,
    time: TimeEncoder,
    widths: Widths,
}

impl SumLayer {
    pub(super) fn new(
        builder: &mut Builder<'_>,
        layer: usize,
        widths: Widths,
        time: TimeEncoder,
    ) -> Self {
        let Widths { rows, features, out } = widths;
        let inputs = rows + time.width() + features;
        let mut linear = |name: &str, inputs| {
            Linear::new(&mut builder.child(&format!("{name}.{layer}")), inputs, out)
        };
        let first = linear("linear_1", inputs);
        let second = linear("linear_2", out + rows + time.width());
        Self { first, second, time, widths }
    }

    pub(super) fn apply(
        &self,
        forward: &mut Forward<'_>,
        level: &Level<'_>,
    ) -> Result<Var, NnError> {
        let Widths { rows: inner, features, out } = self.widths;
        let Some(roots) = level.root_rows(forward)? else {
            return Err(missing("rows of memory or vertex features"));
        };
        let time = self.time.width();
        // Equal scores make a mean; times the number of slots it is the sum.
        let width = inner + features + time + 1;
        let call = NeighbourAttention {
            queries: forward.tape.zeros(level.roots.len(), width),
            rows: level.rows,
            features: level.features,
            time: Some(self.time.parameters(forward)),
            heads: 1,
            scale: 1.0,
            slope: None,
            dropout: None,
        };
        let means = forward.tape.neighbour_attention(call, level.layout, level.deltas)?;
        let layout = level.layout;
        let counts = forward.tape.filled(layout.targets(), 1, |counts| {
            let slots = layout.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as f32);
            counts.iter_mut().zip(slots).for_each(|(count, slots)| *count = slots);
        });
        let sums = forward.tape.row_scale(means, counts)?;
        let (weight, bias) = (self.first.weight(forward), self.first.bias(forward));
        let tape = &mut *forward.tape;
        let bias = tape.reshape(bias, out, 1)?;
        let rows_part = tape.columns(weight, 0..inner)?;
        let time_part = tape.columns(weight, inner..inner + time)?;
        let event_part = tape.columns(weight, inner + time..inner + time + features)?;
        let weight = tape.concat_columns(&[rows_part, event_part, time_part, bias])?;
        let read = tape.linear(sums, weight, None, Activation::Relu)?;
        self.last(forward, level, roots, read)
    }

    /// `W₂·[read, h_i, φ(0)] + b₂`.
    fn last(
        &self,
        forward: &mut Forward<'_>,
        level: &Level<'_>,
        roots: Var,
        read: Var,
    ) -> Result<Var, NnError> {
        let Widths { rows: inner, out, .. } = self.widths;
        let zero = self.time.at_zero(forward)?;
        let (weight, bias) = (self.second.weight(forward), self.second.bias(forward));
        let tape = &mut *forward.tape;
        let left = tape.columns(weight, 0..out)?;
        let middle = tape.columns(weight, out..out + inner)?;
        let right = tape.columns(weight, out + inner..out + inner + self.time.width())?;
        let offset = tape.linear(zero, right, Some(bias), Activation::Identity)?;
        let own = tape.linear(roots, middle, Some(offset), Activation::Identity)?;
        let own = Some(tape.gather(own, level.targets)?);
        Ok(tape.linear_plus(read, left, None, own, Activation::Identity)?)
    }
}
