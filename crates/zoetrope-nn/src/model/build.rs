//! Models by name.

use super::{
    A3tgcn, DynamicGcn, Dysat, EvolveGcn, GcLstm, Model, ModelOptions, MpnnLstm, Tgcn, TmGcn,
};
use crate::error::NnError;
use crate::parameters::Builder;

/// The names of all models.
pub const NAMES: [&str; 10] = [
    "tgcn",
    "a3tgcn",
    "gc-lstm",
    "evolvegcn-o",
    "evolvegcn-h",
    "mpnn-lstm",
    "cd-gcn",
    "wd-gcn",
    "tm-gcn",
    "dysat",
];

/// Adds the parameters of the model of that name and returns it.
///
/// # Errors
/// [`NnError::UnknownModel`], or if an option does not suit the model.
pub fn build(
    name: &str,
    builder: &mut Builder<'_>,
    options: &ModelOptions,
) -> Result<Box<dyn Model>, NnError> {
    Ok(match name {
        "tgcn" => Box::new(Tgcn::new(builder, options)?),
        "a3tgcn" => Box::new(A3tgcn::new(builder, options)?),
        "gc-lstm" => Box::new(GcLstm::new(builder, options)?),
        "evolvegcn-o" => Box::new(EvolveGcn::weights_only(builder, options)?),
        "evolvegcn-h" => Box::new(EvolveGcn::by_embeddings(builder, options)?),
        "mpnn-lstm" => Box::new(MpnnLstm::new(builder, options)?),
        "cd-gcn" => Box::new(DynamicGcn::concatenate(builder, options)?),
        "wd-gcn" => Box::new(DynamicGcn::waterfall(builder, options)?),
        "tm-gcn" => Box::new(TmGcn::new(builder, options)?),
        "dysat" => Box::new(Dysat::new(builder, options)?),
        _ => {
            let (name, known) = (name.to_owned(), NAMES.join(", "));
            return Err(NnError::UnknownModel { name, known });
        }
    })
}
