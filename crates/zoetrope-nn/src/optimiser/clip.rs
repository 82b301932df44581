//! Gradients of a step, and their clipping.

use zoetrope_tensor::Buffer;
use zoetrope_tensor::cpu::{elementwise, reduce};

use crate::parameters::{ParameterId, Parameters};

/// The gradients of a table of parameters, kept from step to step without allocating.
#[derive(Debug, Clone)]
pub struct Gradients {
    values: Vec<Buffer>,
    present: Vec<bool>,
}

impl Gradients {
    /// Room for the gradients of all parameters, none of them present.
    pub fn new(parameters: &Parameters) -> Self {
        let values: Vec<_> =
            parameters.iter().map(|(_, p)| Buffer::zeroed(p.matrix.shape().len())).collect();
        Self { present: vec![false; values.len()], values }
    }

    /// Forgets all gradients.
    pub fn clear(&mut self) {
        self.present.fill(false);
    }

    /// Whether there is no gradient.
    pub fn is_empty(&self) -> bool {
        !self.present.contains(&true)
    }

    /// The gradient of a parameter; None if the loss did not depend on it.
    pub fn get(&self, id: ParameterId) -> Option<&[f32]> {
        self.present[id.index()].then(|| self.values[id.index()].as_slice())
    }

    /// Adds to the gradient of a parameter.
    pub fn add(&mut self, id: ParameterId, gradient: &[f32], factor: f32) {
        let kept = self.values[id.index()].as_mut_slice();
        if std::mem::replace(&mut self.present[id.index()], true) {
            elementwise::scale_add(factor, gradient, kept)
        } else {
            elementwise::scale(factor, gradient, kept)
        }
    }

    /// Lets a gradient be changed for another; it is present if `exchange` says so.
    pub(super) fn exchange(&mut self, id: ParameterId, exchange: impl FnOnce(&mut Buffer) -> bool) {
        self.present[id.index()] = exchange(&mut self.values[id.index()]);
    }

    /// The same, which leaves a gradient that was present so.
    pub(super) fn replace(&mut self, id: ParameterId, exchange: impl FnOnce(&mut Buffer) -> bool) {
        self.present[id.index()] |= exchange(&mut self.values[id.index()]);
    }

    /// Appends all gradients, zeros if there is none, and whether each is present as 1 or 0: what
    /// several ranks can add up.
    pub fn pack(&self, to: &mut Vec<f32>) {
        for (buffer, &here) in self.values.iter().zip(&self.present) {
            if here {
                to.extend_from_slice(buffer.as_slice())
            } else {
                to.resize(to.len() + buffer.len(), 0.0)
            }
        }
        to.extend(self.present.iter().map(|&here| f32::from(u8::from(here))));
    }

    /// How many values [`pack`](Self::pack) appends for a table of parameters.
    pub fn packed(parameters: &Parameters) -> usize {
        parameters.iter().map(|(_, parameter)| parameter.matrix.shape().len() + 1).sum()
    }

    /// Takes sums of what was packed.
    ///
    /// # Panics
    /// If there are not as many values.
    pub fn unpack(&mut self, mut from: &[f32]) {
        for buffer in &mut self.values {
            let (own, rest) = from.split_at(buffer.len());
            buffer.as_mut_slice().copy_from_slice(own);
            from = rest;
        }
        assert_eq!(from.len(), self.present.len(), "a flag for each gradient");
        for (present, &count) in self.present.iter_mut().zip(from) {
            *present = count > 0.0;
        }
    }

    /// The Euclidean norm over all gradients; not finite if one of them is not.
    pub fn norm(&self) -> f64 {
        self.present_values()
            .map(|buffer| reduce::squared_norm(buffer.as_slice()))
            .sum::<f64>()
            .sqrt()
    }

    fn present_values(&self) -> impl Iterator<Item = &Buffer> {
        self.values.iter().zip(&self.present).filter_map(|(buffer, &here)| here.then_some(buffer))
    }
}

/// Scales all gradients so that their norm is at most `limit` (PyTorch's `clip_grad_norm_`) and
/// returns the norm before.
pub fn clip_norm(gradients: &mut Gradients, limit: f64) -> f64 {
    let norm = gradients.norm();
    let factor = (limit / (norm + 1e-6)).min(1.0) as f32;
    if factor < 1.0 {
        for (buffer, &here) in gradients.values.iter_mut().zip(&gradients.present) {
            if here {
                buffer.as_mut_slice().iter_mut().for_each(|value| *value *= factor);
            }
        }
    }
    norm
}
