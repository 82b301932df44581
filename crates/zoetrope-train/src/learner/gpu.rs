//! Learning on a GPU: steps are launched ahead, and what they found is read once an epoch.

use std::collections::VecDeque;

use zoetrope_dist::Ranks;
use zoetrope_nn::Parameters;
use zoetrope_nn::optimiser::{OnDevice, Optimiser};
use zoetrope_tensor::cuda::{Consumer, Event, StepCounter, Steps};
use zoetrope_tensor::{Gpu, Seed, Tape, Var};

use super::WeighedLoss;
use crate::error::TrainError;

/// Steps that the host may be ahead of the GPU: enough to keep it busy, few enough that an
/// interrupt and the progress bar tell the truth.
const AHEAD: usize = 16;

/// What of a learner lives on a GPU.
#[derive(Debug)]
pub(crate) struct OnGpu {
    gpu: Gpu,
    optimiser: OnDevice,
    steps: Steps,
    /// For each step that has a loss, what its parts add up to.
    shares: Vec<f64>,
    launched: VecDeque<Event>,
}

impl OnGpu {
    pub(super) fn new(gpu: &Gpu, optimiser: &Optimiser, parameters: &Parameters) -> Self {
        let on_device = || OnDevice::new(gpu, optimiser, parameters);
        Self {
            gpu: gpu.clone(),
            optimiser: gpu.charging(Consumer::Parameters, on_device),
            steps: Steps::new(gpu, 1),
            shares: Vec::new(),
            launched: VecDeque::new(),
        }
    }

    /// The number of the frame that the GPU is at.
    pub(super) fn frame_counter(&self) -> &StepCounter {
        self.steps.counter()
    }

    /// Before the steps of an epoch, or of the rest of one, the first of which has that number.
    pub(super) fn begin_epoch(
        &mut self,
        optimiser: &Optimiser,
        parameters: &Parameters,
        steps: usize,
        number: u32,
        rate: f32,
    ) {
        if self.steps.room() < steps {
            self.steps = Steps::new(&self.gpu, steps);
        }
        self.steps.restart(number);
        self.shares.clear();
        self.optimiser.begin(optimiser, parameters, rate);
    }

    pub(super) fn clear_gradients(&self, parameters: &Parameters) {
        parameters.on(&self.gpu).clear_gradients();
    }

    pub(super) fn backward(
        &mut self,
        tape: &mut Tape,
        loss: Var,
        factor: f32,
        share: f64,
    ) -> Result<(), TrainError> {
        tape.log_loss(loss, share as f32, &mut self.steps);
        tape.backward_from(loss, &[factor])?;
        Ok(())
    }

    pub(super) fn backward_from(
        &mut self,
        tape: &mut Tape,
        losses: &[WeighedLoss],
        seeds: &[(Var, Seed<'_>)],
    ) -> Result<(), TrainError> {
        for &WeighedLoss { loss, weight } in losses {
            tape.log_loss(loss, weight as f32, &mut self.steps);
        }
        tape.backward_from_all(seeds)?;
        Ok(())
    }

    /// One frame or batch is through; `share` is what its parts with a loss add up to.
    pub(super) fn end_frame(&mut self, share: f64) {
        self.steps.advance(share > 0.0);
        self.count_frame(share);
    }

    /// The same for a frame that a recording goes through.
    pub(super) fn count_frame(&mut self, share: f64) {
        if share > 0.0 {
            self.shares.push(share);
        }
    }

    /// Adds up the gradients of all ranks, and which parameters they reached: from GPU to GPU if these
    /// are linked, which nothing waits for. Says whether it did.
    pub(super) fn share(&self, parameters: &Parameters, ranks: &Ranks) -> Result<bool, TrainError> {
        let linked = ranks.are_linked(&self.gpu);
        if linked {
            let mut all = parameters.on(&self.gpu).gradients_to_share();
            ranks.all_reduce_on_gpu(all.view_mut())?;
        }
        Ok(linked)
    }

    /// Appends the gradients, and which parameters they reached: what several ranks can add up.
    pub(super) fn pack(&self, parameters: &Parameters, to: &mut Vec<f32>) {
        let block = parameters.on(&self.gpu);
        to.extend_from_slice(&block.gradients().to_vec());
        to.extend(block.reached().into_iter().map(|here| f32::from(u8::from(here))));
    }

    /// Takes sums of what was packed.
    pub(super) fn unpack(&self, parameters: &Parameters, from: &[f32]) {
        let block = parameters.on(&self.gpu);
        let (gradients, reached) = from.split_at(block.len());
        block.gradients().write(gradients);
        block.set_reached(reached.iter().map(|&count| count > 0.0));
    }

    pub(super) fn step(&mut self, parameters: &Parameters, clip: Option<f64>) {
        self.optimiser.step(parameters, clip);
    }

    /// Lets the GPU catch up if the host is too far ahead, and looks for faults.
    pub(super) fn pace(&mut self) -> Result<(), TrainError> {
        self.launched.push_back(self.gpu.mark());
        if self.launched.len() > AHEAD
            && let Some(oldest) = self.launched.pop_front()
        {
            oldest.wait();
        }
        self.gpu.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Waits for all steps; brings weights and the optimiser's state to the host. Returns the losses
    /// and the first step that was not finite.
    pub(super) fn collect(
        &mut self,
        optimiser: &mut Optimiser,
        parameters: &mut Parameters,
    ) -> Result<(Vec<f64>, Option<u64>), TrainError> {
        self.launched.clear();
        let losses = self.steps.read(self.shares.len());
        let failed = self.optimiser.collect(optimiser, parameters);
        parameters.refresh();
        if let Some(fault) = self.gpu.fault() {
            return Err(fault.into());
        }
        let losses = losses.iter().zip(&self.shares).map(|(&loss, share)| f64::from(loss) / share);
        let losses = losses.collect();
        self.shares.clear();
        Ok((losses, failed))
    }
}
