//! Chebyshev convolution (Defferrard, Bresson and Vandergheynst, NeurIPS 2016).

use zoetrope_graph::laplacian::Laplacian;
use zoetrope_tensor::{Activation, Chain, Instr, Var};

use crate::encoder::StructureEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Group;
use crate::graph::Adjacency;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `Σ_k T_k(L̂)·X·W_kᵀ + b` with `T_0 = 1`, `T_1 = L̂`, `T_k = 2·L̂·T_{k-1} − T_{k-2}`; names as PyG's
/// `ChebConv`.
///
/// From `T·N × in` to `T·N × out`. Parameters: `lins.k.weight` (`out × in`, glorot) for each of the
/// `K` terms, `bias` (`out`, zeros). One term (`K = 1`) does not see the graph.
#[derive(Debug, Clone)]
pub struct Chebyshev {
    weights: Vec<ParameterId>,
    bias: ParameterId,
    outputs: usize,
    laplacian: Laplacian,
}

impl Chebyshev {
    /// Adds the parameters of a layer with `terms` terms.
    pub fn new(
        builder: &mut Builder<'_>,
        inputs: usize,
        outputs: usize,
        terms: usize,
        laplacian: Laplacian,
    ) -> Self {
        let weight = |k| {
            let name = format!("lins.{k}.weight");
            builder.weight(&name, &[outputs, inputs], Initialise::Glorot)
        };
        let weights = (0..terms).map(weight).collect();
        let bias = builder.weight("bias", &[outputs], Initialise::Zeros);
        Self { weights, bias, outputs, laplacian }
    }

    /// The weights of all terms side by side, `out × K·in`.
    pub(crate) fn weight(&self, forward: &mut Forward<'_>) -> Result<Var, NnError> {
        let weights: Vec<Var> = self.weights.iter().map(|&id| forward.parameter(id)).collect();
        match weights[..] {
            [only] => Ok(only),
            _ => Ok(forward.tape.concat_columns(&weights)?),
        }
    }

    /// The bias on the tape, `1 × out`.
    pub(crate) fn bias(&self, forward: &mut Forward<'_>) -> Var {
        forward.parameter(self.bias)
    }

    /// The number of terms.
    pub fn terms(&self) -> usize {
        self.weights.len()
    }

    /// The layer, given the product of the Laplacian with rows.
    pub(crate) fn apply(
        &self,
        forward: &mut Forward<'_>,
        x: Var,
        multiply: impl FnMut(&mut Forward<'_>, Var) -> Result<Var, NnError>,
    ) -> Result<Var, NnError> {
        let weight = self.weight(forward)?;
        let bias = self.bias(forward);
        let terms = polynomials(forward, x, self.terms(), multiply)?;
        Ok(forward.tape.linear(terms, weight, Some(bias), Activation::Identity)?)
    }
}

impl StructureEncoder for Chebyshev {
    fn width(&self) -> usize {
        self.outputs
    }

    fn form(&self) -> Adjacency {
        Adjacency::Chebyshev(self.laplacian)
    }

    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError> {
        self.apply(forward, x, |forward, x| group.multiply(forward, self.form(), x))
    }
}

/// `T_0(L̂)·x, …, T_{terms-1}(L̂)·x` side by side; `multiply` is the product with `L̂`.
pub(crate) fn polynomials(
    forward: &mut Forward<'_>,
    x: Var,
    terms: usize,
    mut multiply: impl FnMut(&mut Forward<'_>, Var) -> Result<Var, NnError>,
) -> Result<Var, NnError> {
    use Instr::{Const, Input, Mul, Sub};
    if terms == 1 {
        return Ok(x);
    }
    let mut all = Vec::with_capacity(terms);
    all.push(x);
    all.push(multiply(forward, x)?);
    let next = Chain::new(&[Const(2.0), Input(0), Mul, Input(1), Sub])?;
    for k in 2..terms {
        let moved = multiply(forward, all[k - 1])?;
        all.push(forward.tape.chain(next, &[moved, all[k - 2]])?);
    }
    Ok(forward.tape.concat_columns(&all)?)
}
