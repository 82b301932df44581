//! Optimisers over a table of parameters, with PyTorch's formulas.

mod clip;
mod on_device;
mod schedule;
mod stopping;

use zoetrope_tensor::cpu::optimiser::{self as kernel, Adam, RmsProp, Sgd};
use zoetrope_tensor::{Buffer, Tape};

use crate::parameters::{Parameters, Role};

pub use clip::{Gradients, clip_norm};
pub use on_device::OnDevice;
pub use schedule::{Schedule, ScheduleState};
pub use stopping::{Direction, EarlyStopping};

/// An optimiser and its numbers, except the learning rate, which a schedule decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Gradient descent.
    Sgd {
        /// 0 for none.
        momentum: f32,
        /// L2 penalty.
        weight_decay: f32,
        /// Whether the step looks ahead along the velocity.
        nesterov: bool,
    },
    /// Adam, or AdamW if the decay is decoupled.
    Adam {
        /// Decay of the mean of gradients.
        beta1: f32,
        /// Decay of the mean of squared gradients.
        beta2: f32,
        /// Added to the denominator.
        epsilon: f32,
        /// Weight decay.
        weight_decay: f32,
        /// Whether the decay shrinks the parameter itself.
        decoupled: bool,
    },
    /// RMSprop.
    RmsProp {
        /// Decay of the mean of squared gradients.
        alpha: f32,
        /// Added to the denominator.
        epsilon: f32,
        /// L2 penalty.
        weight_decay: f32,
        /// 0 for none.
        momentum: f32,
    },
}

impl Method {
    /// Adam with PyTorch's defaults.
    pub fn adam() -> Self {
        let (beta1, beta2, epsilon) = (0.9, 0.999, 1e-8);
        Self::Adam { beta1, beta2, epsilon, weight_decay: 0.0, decoupled: false }
    }

    /// The names of the arrays that the method keeps for each parameter, as PyTorch names them.
    fn slots(self) -> &'static [&'static str] {
        match self {
            Self::Sgd { momentum: 0.0, .. } => &[],
            Self::Sgd { .. } => &["momentum_buffer"],
            Self::Adam { .. } => &["exp_avg", "exp_avg_sq"],
            Self::RmsProp { momentum: 0.0, .. } => &["square_avg"],
            Self::RmsProp { .. } => &["square_avg", "momentum_buffer"],
        }
    }
}

/// An optimiser with its state.
#[derive(Debug, Clone)]
pub struct Optimiser {
    method: Method,
    step: u64,
    /// For each parameter, as many arrays as the method keeps.
    state: Vec<[Buffer; 2]>,
}

impl Optimiser {
    /// An optimiser before its first step.
    pub fn new(method: Method, parameters: &Parameters) -> Self {
        let slots = method.slots().len();
        let state = parameters.iter().map(|(_, parameter)| {
            let len = parameter.matrix.shape().len();
            let kept = |slot: usize| {
                Buffer::zeroed(if slot < slots && parameter.role == Role::Weight { len } else { 0 })
            };
            [kept(0), kept(1)]
        });
        Self { method, step: 0, state: state.collect() }
    }

    /// How many steps were made.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Changes every parameter that has a gradient.
    pub fn update(&mut self, parameters: &mut Parameters, gradients: &Gradients, rate: f32) {
        self.step += 1;
        for (id, parameter) in parameters.iter_mut() {
            let Some(gradient) = gradients.get(id) else { continue };
            if parameter.role != Role::Weight {
                continue;
            }
            let [first, second] = &mut self.state[id.index()];
            let (first, second) = (first.as_mut_slice(), second.as_mut_slice());
            let values = parameter.matrix.as_mut_slice();
            match self.method {
                Method::Sgd { momentum, weight_decay, nesterov } => {
                    let numbers = Sgd { lr: rate, momentum, weight_decay, nesterov };
                    kernel::sgd_step(numbers, values, gradient, first);
                }
                Method::Adam { beta1, beta2, epsilon, weight_decay, decoupled } => {
                    let numbers =
                        Adam { lr: rate, beta1, beta2, eps: epsilon, weight_decay, decoupled };
                    kernel::adam_step(numbers, self.step, values, gradient, first, second);
                }
                Method::RmsProp { alpha, epsilon, weight_decay, momentum } => {
                    let numbers = RmsProp { lr: rate, alpha, eps: epsilon, weight_decay, momentum };
                    kernel::rmsprop_step(numbers, values, gradient, first, second);
                }
            }
        }
    }

    /// The state as named arrays, for a checkpoint.
    pub fn state<'a>(
        &'a self,
        parameters: &'a Parameters,
    ) -> impl Iterator<Item = (String, &'a [usize], &'a [f32])> {
        parameters.iter().flat_map(move |(id, parameter)| {
            let slots = self.method.slots().iter().zip(&self.state[id.index()]);
            slots.filter(|(_, buffer)| !buffer.is_empty()).map(move |(slot, buffer)| {
                let name = format!("{}.{slot}", parameter.name);
                (name, parameter.dims.as_slice(), buffer.as_slice())
            })
        })
    }

    /// Takes the state back from a checkpoint: `find` returns the array of a name. Tells the first
    /// name that is missing or has another length.
    ///
    /// # Errors
    /// The name that does not fit.
    pub fn restore<'a>(
        &mut self,
        parameters: &Parameters,
        step: u64,
        find: impl Fn(&str) -> Option<&'a [f32]>,
    ) -> Result<(), String> {
        let slots = self.method.slots();
        for (id, parameter) in parameters.iter() {
            for (slot, buffer) in slots.iter().zip(&mut self.state[id.index()]) {
                if buffer.is_empty() {
                    continue;
                }
                let name = format!("{}.{slot}", parameter.name);
                match find(&name) {
                    Some(values) if values.len() == buffer.len() => {
                        buffer.as_mut_slice().copy_from_slice(values);
                    }
                    _ => return Err(name),
                }
            }
        }
        self.step = step;
        Ok(())
    }
}

/// The gradients of a tape's parameters, taken or added.
impl Gradients {
    /// Takes what the backward pass of a tape found in place of what is here; nothing is copied.
    pub fn take_from(&mut self, tape: &mut Tape, parameters: &Parameters) {
        for (id, _) in parameters.iter() {
            self.exchange(id, |block| tape.exchange_gradient(id.index(), block));
        }
    }

    /// Lets the next backward pass of a tape add to what is here, as if it had found that itself;
    /// [`Gradients::take_back`] has the sums.
    pub fn lend_to(&mut self, tape: &mut Tape, parameters: &Parameters) {
        for (id, _) in parameters.iter() {
            if self.get(id).is_some() {
                self.replace(id, |block| tape.lend_gradient(id.index(), block));
            }
        }
    }

    /// Takes what the backward pass of a tape found, if it found anything.
    pub fn take_back(&mut self, tape: &mut Tape, parameters: &Parameters) {
        for (id, _) in parameters.iter() {
            self.replace(id, |block| tape.exchange_gradient(id.index(), block));
        }
    }

    /// Adds what the backward pass of a tape found, times `factor`.
    pub fn add_from(&mut self, tape: &Tape, parameters: &Parameters, factor: f32) {
        for (id, _) in parameters.iter() {
            if let Some(gradient) = tape.parameter_gradient(id.index()) {
                self.add(id, gradient, factor);
            }
        }
    }
}
