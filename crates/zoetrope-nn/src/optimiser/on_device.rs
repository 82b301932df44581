//! An optimiser at work on a GPU: the state of a host's [`Optimiser`], taken there and back.

use zoetrope_tensor::Gpu;
use zoetrope_tensor::cuda::{UpdateRule, Updater};

use super::{Method, Optimiser};
use crate::parameters::{Parameters, Role};

impl Method {
    fn rule(self) -> UpdateRule {
        match self {
            Self::Sgd { momentum, weight_decay, nesterov } => {
                UpdateRule::sgd(momentum, weight_decay, nesterov)
            }
            Self::Adam { beta1, beta2, epsilon, weight_decay, decoupled } => {
                UpdateRule::adam([beta1, beta2], epsilon, weight_decay, decoupled)
            }
            Self::RmsProp { alpha, epsilon, weight_decay, momentum } => {
                UpdateRule::rms_prop(alpha, epsilon, weight_decay, momentum)
            }
        }
    }
}

/// The state of an optimiser on a GPU.
#[derive(Debug)]
pub struct OnDevice {
    gpu: Gpu,
    updater: Updater,
    /// The host's number of steps when both had the same state.
    agreed: Option<u64>,
}

impl OnDevice {
    /// Room for the state of an optimiser of these parameters.
    pub fn new(gpu: &Gpu, optimiser: &Optimiser, parameters: &Parameters) -> Self {
        let updater = Updater::new(&parameters.on(gpu), optimiser.method.rule());
        Self { gpu: gpu.clone(), updater, agreed: None }
    }

    /// Before steps at a learning rate: takes the host's state, if it is another.
    pub fn begin(&mut self, optimiser: &Optimiser, parameters: &Parameters, rate: f32) {
        if self.agreed != Some(optimiser.step) {
            let block = parameters.on(&self.gpu);
            let slots = optimiser.method.slots().len();
            let mut flat = vec![vec![0.0; block.len()]; slots];
            for ((id, parameter), range) in parameters.iter().zip(block.ranges()) {
                if parameter.role == Role::Weight {
                    for (flat, kept) in flat.iter_mut().zip(&optimiser.state[id.index()]) {
                        flat[range.clone()].copy_from_slice(kept.as_slice());
                    }
                }
            }
            self.updater.restore(optimiser.step, &flat);
        }
        self.agreed = None;
        self.updater.set_rate(rate);
    }

    /// One step with the gradients of the parameters' block; clipped if a limit is given.
    pub fn step(&mut self, parameters: &Parameters, clip: Option<f64>) {
        self.updater.step(&parameters.on(&self.gpu), clip);
    }

    /// Takes the state back to the host; waits. Returns the first step, counted from 1, whose
    /// gradients were not finite: from there on nothing was changed.
    pub fn collect(&mut self, optimiser: &mut Optimiser, parameters: &Parameters) -> Option<u64> {
        let block = parameters.on(&self.gpu);
        let (step, failed, flat) = self.updater.read();
        for ((id, parameter), range) in parameters.iter().zip(block.ranges()) {
            if parameter.role == Role::Weight {
                for (flat, kept) in flat.iter().zip(&mut optimiser.state[id.index()]) {
                    kept.as_mut_slice().copy_from_slice(&flat[range.clone()]);
                }
            }
        }
        optimiser.step = step;
        self.agreed = Some(step);
        failed
    }
}
