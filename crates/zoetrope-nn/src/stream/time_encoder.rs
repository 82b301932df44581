//! Encoding of time differences (Xu and others, "Inductive representation learning on temporal
//! graphs", ICLR 2020).

use std::sync::Arc;

use zoetrope_tensor::Var;

use super::options::Convention;
use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `φ(Δt) = cos(w·Δt + b)`, `w` and `b` being rows of `T` numbers.
///
/// Differences are exact: 64-bit times are subtracted before anything becomes a float. By PyG's
/// convention the parameters are `lin.weight` (`T × 1`) and `lin.bias` (`T`), uniform in `±1`; by
/// TGL's `w.weight`, from 1 down to 10⁻⁹, and `w.bias`, zeros.
#[derive(Debug, Clone)]
pub(super) struct TimeEncoder {
    weight: ParameterId,
    bias: ParameterId,
    width: usize,
    zero: Arc<Vec<f64>>,
}

impl TimeEncoder {
    pub(super) fn new(builder: &mut Builder<'_>, convention: Convention, width: usize) -> Self {
        let (part, weight, bias) = match convention {
            Convention::Pyg => ("lin", Initialise::Uniform(1.0), Initialise::Uniform(1.0)),
            Convention::Tgl => ("w", Initialise::Decades, Initialise::Zeros),
        };
        let mut builder = builder.child(part);
        Self {
            weight: builder.weight("weight", &[width, 1], weight),
            bias: builder.weight("bias", &[width], bias),
            width,
            zero: Arc::new(vec![0.0]),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Weight and bias on the tape.
    pub(super) fn parameters(&self, forward: &mut Forward<'_>) -> [Var; 2] {
        [forward.parameter(self.weight), forward.parameter(self.bias)]
    }

    /// A row for each difference.
    pub(super) fn encode(
        &self,
        forward: &mut Forward<'_>,
        deltas: &Arc<Vec<f64>>,
    ) -> Result<Var, NnError> {
        let [weight, bias] = self.parameters(forward);
        Ok(forward.tape.time_encoding(deltas, weight, bias)?)
    }

    /// `φ(0)`, one row.
    pub(super) fn at_zero(&self, forward: &mut Forward<'_>) -> Result<Var, NnError> {
        self.encode(forward, &self.zero)
    }
}
