//! Batch normalisation (Ioffe and Szegedy, ICML 2015).

use zoetrope_tensor::{SharedRows, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Frame;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};
use crate::stage::StageKind;

/// Added to variances, PyTorch's default.
const EPSILON: f32 = 1e-5;
/// The weight of a batch in the running statistics, PyTorch's default.
const MOMENTUM: f32 = 0.1;

/// `(x − mean) / √(variance + ε) ∘ weight + bias` for each column; names as PyTorch's
/// `BatchNorm1d`.
///
/// Training passes use the statistics of all rows of the frame, those of other ranks included, and
/// move the running ones; evaluation uses the running ones. Parameters: `weight` (ones), `bias`
/// (zeros); statistics: `running_mean`, `running_var`, `num_batches_tracked`.
#[derive(Debug, Clone, Copy)]
pub struct BatchNorm {
    weight: ParameterId,
    bias: ParameterId,
    mean: ParameterId,
    variance: ParameterId,
    count: ParameterId,
}

impl BatchNorm {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, width: usize) -> Self {
        Self {
            weight: builder.weight("weight", &[width], Initialise::Ones),
            bias: builder.weight("bias", &[width], Initialise::Zeros),
            mean: builder.statistic("running_mean", &[width], Initialise::Zeros),
            variance: builder.statistic("running_var", &[width], Initialise::Ones),
            count: builder.counter("num_batches_tracked"),
        }
    }

    /// From `rows × width` to the same, of the cells of structure encoders.
    ///
    /// # Errors
    /// If `x` is not `width` wide.
    pub fn apply(
        &self,
        forward: &mut Forward<'_>,
        frame: &Frame<'_>,
        x: Var,
    ) -> Result<Var, NnError> {
        let (weight, bias) = (forward.parameter(self.weight), forward.parameter(self.bias));
        if !forward.is_training() {
            let (mean, variance) = (forward.values(self.mean), forward.values(self.variance));
            let affine = [weight, bias];
            return Ok(forward.tape.batch_norm_fixed(x, affine, mean, variance, EPSILON)?);
        }
        forward.may_exchange(StageKind::Statistics, x);
        let normalised = match frame.shared {
            None => forward.tape.batch_norm(x, weight, bias, EPSILON)?,
            Some(shared) => {
                let rows =
                    SharedRows { ranks: shared.exchange.together(), rows: frame.all_cells() };
                forward.tape.shared_batch_norm(x, [weight, bias], EPSILON, rows)?
            }
        };
        let statistics = [self.mean, self.variance, self.count];
        forward.update_statistics(statistics, normalised, EPSILON, MOMENTUM);
        Ok(normalised)
    }
}
