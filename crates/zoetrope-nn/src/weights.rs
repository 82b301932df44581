//! Weights as safetensors: names, shapes and values of a `state_dict`, read and written.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use zoetrope_graph::spelling::nearest;

use crate::error::NnError;
use crate::parameters::{Parameter, Parameters, Role};

/// The bytes of a safetensors file with all parameters.
///
/// # Errors
/// If the format refuses the arrays, which it does not for parameters of a model.
pub fn to_safetensors(parameters: &Parameters) -> Result<Vec<u8>, NnError> {
    let bytes: Vec<Vec<u8>> = parameters.iter().map(|(_, parameter)| encode(parameter)).collect();
    let views = parameters.iter().zip(&bytes).map(|((_, parameter), bytes)| {
        let dtype = if parameter.role == Role::Counter { Dtype::I64 } else { Dtype::F32 };
        let view = TensorView::new(dtype, parameter.dims.clone(), bytes);
        view.map(|view| (parameter.name.as_str(), view))
    });
    let views = views.collect::<Result<Vec<_>, _>>().map_err(refused)?;
    safetensors::serialize(views, None).map_err(refused)
}

fn refused(error: safetensors::SafeTensorError) -> NnError {
    NnError::NotSafetensors(error.to_string())
}

fn encode(parameter: &Parameter) -> Vec<u8> {
    let values = parameter.matrix.as_slice();
    match parameter.role {
        Role::Counter => values.iter().flat_map(|&v| (v as i64).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

/// Fills the parameters from the bytes of a safetensors file, which must hold exactly the model's
/// names with its shapes. Nothing is changed if anything does not fit.
///
/// Running statistics and counters may be missing (a `state_dict` of another library version);
/// they then keep their first values.
///
/// # Errors
/// If the file is damaged, or a name, a shape or a value does not fit.
pub fn load_safetensors(parameters: &mut Parameters, bytes: &[u8]) -> Result<(), NnError> {
    load_safetensors_for(parameters, bytes, None)
}

/// The name of the weights that have a row for each vertex.
pub const VERTEX_ROWS: &str = "vertex_embedding.weight";

/// For each vertex of the given data the row that belongs to it in saved weights; None for a vertex
/// that they do not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VertexRows(pub Vec<Option<u32>>);

impl VertexRows {
    /// How many vertices the saved weights do not know.
    pub fn unknown(&self) -> usize {
        self.0.iter().filter(|row| row.is_none()).count()
    }

    /// The saved rows in the order of the given vertices, zeros for one that is not known. None if a
    /// row does not exist.
    pub fn arrange(&self, saved: &[f32], width: usize) -> Option<Vec<f32>> {
        let zeros = vec![0.0; width];
        let mut values = Vec::with_capacity(self.0.len() * width);
        for row in &self.0 {
            values.extend_from_slice(match row {
                Some(row) => saved.get(*row as usize * width..(*row as usize + 1) * width)?,
                None => &zeros,
            });
        }
        Some(values)
    }
}

/// The same for data with other vertices than the weights were saved with: `rows` says which row of
/// [`VERTEX_ROWS`] belongs to which vertex.
///
/// # Errors
/// As [`load_safetensors`].
pub fn load_safetensors_for(
    parameters: &mut Parameters,
    bytes: &[u8],
    rows: Option<&VertexRows>,
) -> Result<(), NnError> {
    let file = SafeTensors::deserialize(bytes).map_err(refused)?;
    let mut found: BTreeMap<&str, TensorView<'_>> = file.iter().collect();
    let names: Vec<String> = found.keys().map(|name| (*name).to_owned()).collect();
    let mut values: Vec<Option<Vec<f32>>> = Vec::with_capacity(parameters.len());
    for (_, parameter) in parameters.iter() {
        let view = found
            .remove(parameter.name.as_str())
            .or_else(|| found.remove(numbered_from_zero(&parameter.name)?.as_str()));
        values.push(match view {
            Some(view) => {
                let rows = rows.filter(|_| parameter.name == VERTEX_ROWS);
                Some(decode(parameter, &view, rows)?)
            }
            None if parameter.role == Role::Weight => {
                let name = parameter.name.clone();
                let nearest = nearest(&name, names.iter().map(String::as_str)).map(str::to_owned);
                return Err(NnError::MissingWeight { name, nearest });
            }
            None => None,
        });
    }
    if let Some(name) = found.keys().next() {
        let known = parameters.iter().map(|(_, parameter)| parameter.name.as_str());
        let nearest = nearest(name, known).map(str::to_owned);
        return Err(NnError::UnknownWeight { name: (*name).to_owned(), nearest });
    }
    for ((_, parameter), values) in parameters.iter_mut().zip(values) {
        if let Some(values) = values {
            parameter.matrix.as_mut_slice().copy_from_slice(&values);
        }
    }
    Ok(())
}

/// The name of a stacked layer's parameter in a model that keeps its layers in a list:
/// `recurrent.0.weight` for `recurrent_1.weight`.
fn numbered_from_zero(name: &str) -> Option<String> {
    let (number, rest) = name.strip_prefix("recurrent_")?.split_once('.')?;
    let number: usize = number.parse().ok()?;
    Some(format!("recurrent.{}.{rest}", number.checked_sub(1)?))
}

fn decode(
    parameter: &Parameter,
    view: &TensorView<'_>,
    rows: Option<&VertexRows>,
) -> Result<Vec<f32>, NnError> {
    let name = || parameter.name.clone();
    let other_shape = || {
        let (expected, got) = (parameter.dims.clone(), view.shape().to_vec());
        NnError::WeightShape { name: name(), expected, got }
    };
    let fits = match rows {
        Some(_) => view.shape().get(1..) == parameter.dims.get(1..),
        None => view.shape() == parameter.dims,
    };
    if !fits {
        return Err(other_shape());
    }
    let data = view.data();
    let values: Vec<f32> = match view.dtype() {
        Dtype::F32 => data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        Dtype::F64 => {
            data.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect()
        }
        Dtype::I64 => {
            data.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b) as f32).collect()
        }
        Dtype::BF16 => data
            .as_chunks::<2>()
            .0
            .iter()
            .map(|b| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16))
            .collect(),
        Dtype::F16 => {
            data.as_chunks::<2>().0.iter().map(|b| half(u16::from_le_bytes(*b))).collect()
        }
        other => return Err(NnError::WeightType { name: name(), got: format!("{other:?}") }),
    };
    match values.iter().position(|value| !value.is_finite()) {
        Some(position) => {
            Err(NnError::WeightValue { name: name(), position, value: values[position] })
        }
        None => match rows {
            Some(rows) => {
                let width = parameter.dims.last().copied().unwrap_or(1);
                rows.arrange(&values, width).ok_or_else(other_shape)
            }
            None => Ok(values),
        },
    }
}

/// The f32 of an IEEE half-precision number.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::initialise::Initialise;
    use crate::parameters::Builder;

    fn two_layers() -> Parameters {
        let mut parameters = Parameters::default();
        let mut builder = Builder::new(&mut parameters, 1);
        builder.child("recurrent").weight("weight", &[2, 3], Initialise::Glorot);
        builder.child("recurrent").counter("num_batches_tracked");
        builder.child("linear").weight("bias", &[2], Initialise::Uniform(1.0));
        parameters
    }

    #[test]
    fn weights_survive_a_round_trip() {
        let saved = two_layers();
        let bytes = to_safetensors(&saved).unwrap();
        let mut loaded = two_layers();
        loaded.iter_mut().for_each(|(_, p)| p.matrix.as_mut_slice().fill(0.0));
        load_safetensors(&mut loaded, &bytes).unwrap();
        for ((_, a), (_, b)) in saved.iter().zip(loaded.iter()) {
            assert_eq!((&a.name, &a.matrix), (&b.name, &b.matrix));
        }
    }

    #[test]
    fn rows_of_vertices_follow_their_vertices() {
        let build = |vertices: usize| {
            let mut parameters = Parameters::default();
            let mut builder = Builder::new(&mut parameters, 1);
            builder.child("vertex_embedding").weight("weight", &[vertices, 2], Initialise::Glorot);
            parameters
        };
        let mut saved = build(2);
        saved.iter_mut().for_each(|(_, p)| {
            p.matrix.as_mut_slice().copy_from_slice(&[1.0, 2.0, 5.0, 8.0]);
        });
        let bytes = to_safetensors(&saved).unwrap();
        let mut other = build(3);
        assert!(load_safetensors(&mut other, &bytes).is_err());
        let rows = VertexRows(vec![Some(1), None, Some(0)]);
        load_safetensors_for(&mut other, &bytes, Some(&rows)).unwrap();
        let values = other.iter().next().unwrap().1.matrix.as_slice();
        assert_eq!(values, [5.0, 8.0, 0.0, 0.0, 1.0, 2.0]);
        let outside = VertexRows(vec![Some(2), None, Some(0)]);
        assert!(load_safetensors_for(&mut other, &bytes, Some(&outside)).is_err());
    }

    #[test]
    fn a_missing_name_is_told_with_the_nearest_one() {
        let bytes = to_safetensors(&two_layers()).unwrap();
        let mut other = Parameters::default();
        Builder::new(&mut other, 1).child("recurrents").weight(
            "weight",
            &[2, 3],
            Initialise::Zeros,
        );
        let error = load_safetensors(&mut other, &bytes).unwrap_err().to_string();
        assert!(
            error.contains("`recurrents.weight`") && error.contains("`recurrent.weight`"),
            "{error}"
        );
    }

    #[test]
    fn another_shape_is_refused_and_nothing_changes() {
        let bytes = to_safetensors(&two_layers()).unwrap();
        let mut other = Parameters::default();
        let mut builder = Builder::new(&mut other, 1);
        builder.child("linear").weight("bias", &[2], Initialise::Ones);
        builder.child("recurrent").weight("weight", &[2, 4], Initialise::Ones);
        let error = load_safetensors(&mut other, &bytes).unwrap_err();
        assert!(matches!(error, NnError::WeightShape { .. }), "{error}");
        assert!(other.iter().all(|(_, p)| p.matrix.as_slice().iter().all(|&v| v == 1.0)));
    }

    #[test]
    fn layers_of_a_list_fill_numbered_layers() {
        let build = |names: [&str; 2]| {
            let mut parameters = Parameters::default();
            let mut builder = Builder::new(&mut parameters, 3);
            for name in names {
                builder.child(name).weight("weight", &[2, 2], Initialise::Glorot);
            }
            parameters
        };
        let bytes = to_safetensors(&build(["recurrent.0", "recurrent.1"])).unwrap();
        let mut model = build(["recurrent_1", "recurrent_2"]);
        model.iter_mut().for_each(|(_, p)| p.matrix.as_mut_slice().fill(0.0));
        load_safetensors(&mut model, &bytes).unwrap();
        let filled = build(["recurrent_1", "recurrent_2"]);
        assert!(model.iter().zip(filled.iter()).all(|((_, a), (_, b))| a.matrix == b.matrix));
    }

    #[test]
    fn half_precision_numbers_are_exact() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x0001), 2f32.powi(-24));
        assert_eq!(half(0x7bff), 65504.0);
    }
}
