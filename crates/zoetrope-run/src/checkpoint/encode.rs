//! Tensors as the bytes of a safetensors file, and back.

use std::borrow::Cow;

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::state::{SavedTensor, Tensors};

impl View for &SavedTensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        self.dims()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = Vec::with_capacity(self.data_len());
        for value in SavedTensor::data(self) {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        Cow::Owned(bytes)
    }

    fn data_len(&self) -> usize {
        4 * SavedTensor::data(self).len()
    }
}

/// The bytes of a safetensors file.
pub(super) fn encode(tensors: &Tensors) -> Result<Vec<u8>, String> {
    safetensors::serialize(tensors.iter(), None).map_err(|error| error.to_string())
}

/// The tensors of a safetensors file.
pub(super) fn decode(bytes: &[u8]) -> Result<Tensors, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    file.iter()
        .map(|(name, view)| {
            if view.dtype() != Dtype::F32 {
                return Err(format!("`{name}` holds {:?} instead of F32", view.dtype()));
            }
            let data = view.data().chunks_exact(4);
            let data = data.map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
            let tensor = SavedTensor::new(view.shape().to_vec(), data.collect());
            Ok((name.to_owned(), tensor))
        })
        .collect()
}
