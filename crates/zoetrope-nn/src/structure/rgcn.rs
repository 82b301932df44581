//! Relational graph convolution (Schlichtkrull and others, ESWC 2018).

use zoetrope_tensor::{SparseGroup, Var};

use crate::error::NnError;
use crate::forward::Forward;
use crate::initialise::Initialise;
use crate::parameters::{Builder, ParameterId};

/// `x·W_0 + Σ_r mean_r(x)·W_r + b`, one weight for each relation; names as PyG's `RGCNConv`.
///
/// It takes one group of matrices a relation (rows that average over the in-edges of that
/// relation), so it is not a [`StructureEncoder`](crate::StructureEncoder): a frame holds one kind
/// of edges. Parameters: `weight` (`relations × in × out`), `root` (`in × out`), glorot, `bias`
/// (`out`, zeros).
#[derive(Debug, Clone, Copy)]
pub struct Rgcn {
    weight: ParameterId,
    root: ParameterId,
    bias: ParameterId,
    inputs: usize,
    relations: usize,
}

impl Rgcn {
    /// Adds the parameters of a layer.
    pub fn new(builder: &mut Builder<'_>, inputs: usize, outputs: usize, relations: usize) -> Self {
        let stacked = [relations, inputs, outputs];
        Self {
            weight: builder.weight("weight", &stacked, Initialise::Glorot),
            root: builder.weight("root", &[inputs, outputs], Initialise::Glorot),
            bias: builder.weight("bias", &[outputs], Initialise::Zeros),
            inputs,
            relations,
        }
    }

    /// From `T·N × in` to `T·N × out`, one group of matrices a relation.
    ///
    /// # Errors
    /// If there is not one group for each relation, or shapes do not fit.
    pub fn encode(
        &self,
        forward: &mut Forward<'_>,
        relations: &[SparseGroup],
        x: Var,
    ) -> Result<Var, NnError> {
        if relations.len() != self.relations {
            return Err(NnError::Option {
                model: "r-gcn",
                option: "the number of groups",
                expected: format!("one for each of {} relations", self.relations),
                got: relations.len().to_string(),
            });
        }
        let weight = forward.parameter(self.weight);
        let root = forward.parameter(self.root);
        let bias = forward.parameter(self.bias);
        let tape = &mut *forward.tape;
        let mut sum = tape.matmul(x, root)?;
        for (relation, matrices) in relations.iter().enumerate() {
            let rows = relation * self.inputs..(relation + 1) * self.inputs;
            let block = tape.rows(weight, rows)?;
            let mean = tape.spmm(matrices, x)?;
            let part = tape.matmul(mean, block)?;
            sum = tape.add(sum, part)?;
        }
        Ok(tape.add_bias(sum, bias)?)
    }
}
