//! One step of an optimiser on all parameters of a [`ParameterBlock`].
//!
//! Nothing comes back to the host: learning rate, number of steps and whether a step failed are on
//! the GPU, so that a step can be recorded and played again.

use bytemuck::{Pod, Zeroable};

use super::elementwise::{BLOCK, fours};
use super::{Arg, ByValue, Gpu, Kernel, ParameterBlock, Scratch, ViewMut};

static SQUARES: Kernel = Kernel::new("optimiser", "optimiser_squares");
static ADVANCE: Kernel = Kernel::new("optimiser", "optimiser_advance");
static UPDATE: Kernel = Kernel::new("optimiser", "optimiser_update");

/// The most blocks that add up squares.
const MOST_BLOCKS: u32 = 1024;

/// An optimiser and its numbers, except the learning rate: `Rule` of `optimiser.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct UpdateRule {
    kind: u32,
    variant: u32,
    decay: f32,
    first: f32,
    second: f32,
    epsilon: f32,
}

impl UpdateRule {
    /// Gradient descent, with momentum if it is not 0.
    pub fn sgd(momentum: f32, weight_decay: f32, nesterov: bool) -> Self {
        Self {
            kind: u32::from(momentum != 0.0),
            variant: u32::from(nesterov),
            decay: weight_decay,
            first: momentum,
            ..Self::zeroed()
        }
    }

    /// Adam with the decays of both means, or AdamW if the weight decay is decoupled.
    pub fn adam(betas: [f32; 2], epsilon: f32, weight_decay: f32, decoupled: bool) -> Self {
        let [first, second] = betas;
        let variant = u32::from(decoupled);
        Self { kind: 2, variant, decay: weight_decay, first, second, epsilon }
    }

    /// RMSprop with the decay of squared gradients, and momentum if it is not 0.
    pub fn rms_prop(alpha: f32, epsilon: f32, weight_decay: f32, momentum: f32) -> Self {
        Self {
            kind: if momentum == 0.0 { 3 } else { 4 },
            variant: 0,
            decay: weight_decay,
            first: alpha,
            second: momentum,
            epsilon,
        }
    }

    /// How many arrays the rule keeps for each parameter.
    fn slots(&self) -> usize {
        match self.kind {
            0 => 0,
            1 | 3 => 1,
            _ => 2,
        }
    }
}

/// `State` of `optimiser.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct State {
    rate: f32,
    step: u32,
    failed_step: u32,
    factor: f32,
    step_size: f32,
    root: f32,
}

/// An optimiser at work on the parameters of one block.
#[derive(Debug)]
pub struct Updater {
    gpu: Gpu,
    rule: UpdateRule,
    state: Scratch<State>,
    /// The arrays that the rule keeps, each laid out as the block, one after another.
    kept: Scratch,
    starts: Scratch<u64>,
    reached: Scratch<u32>,
    /// What `reached` holds.
    known: Vec<bool>,
}

impl Updater {
    /// An optimiser before its first step, at learning rate 0.
    pub fn new(block: &ParameterBlock, rule: UpdateRule) -> Self {
        let gpu = block.gpu();
        let starts: Vec<u64> = block.ranges().iter().map(|range| range.start as u64).collect();
        let mut kept = gpu.take(rule.slots() * block.len());
        gpu.zero(kept.view_mut());
        Self {
            gpu: gpu.clone(),
            rule,
            state: gpu.uploaded(&[State::zeroed()]),
            kept,
            reached: gpu.uploaded(&vec![0; starts.len()]),
            known: vec![false; starts.len()],
            starts: gpu.uploaded(&starts),
        }
    }

    /// Sets the learning rate of the steps to come.
    pub fn set_rate(&mut self, rate: f32) {
        const { assert!(std::mem::offset_of!(State, rate) == 0) };
        self.gpu.upload(&[rate], ViewMut::new(self.state.view().ptr(), 1));
    }

    fn state(&self) -> State {
        let mut state = [State::zeroed()];
        self.gpu.download(self.state.view(), &mut state);
        state[0]
    }

    /// Goes on after `step` steps with the arrays that the rule keeps, each laid out as the block.
    ///
    /// # Panics
    /// If there is not one array for each that the rule keeps, or one has another length.
    pub fn restore(&mut self, step: u64, kept: &[Vec<f32>]) {
        assert_eq!(kept.len(), self.rule.slots(), "arrays that the optimiser keeps");
        self.gpu.upload(&kept.concat(), self.kept.view_mut());
        let state = State { step: step as u32, failed_step: 0, ..self.state() };
        self.gpu.upload(&[state], self.state.view_mut());
    }

    /// Changes every parameter that a gradient flowed into; gradients are scaled so that their norm
    /// is at most `clip`. If the norm is not finite, nothing is changed from then on.
    pub fn step(&mut self, block: &ParameterBlock, clip: Option<f64>) {
        let (shared, reached) = (block.shared_flags(), block.reached());
        if shared.is_none() && reached != self.known {
            let flags: Vec<u32> = reached.iter().map(|&here| u32::from(here)).collect();
            self.gpu.upload(&flags, self.reached.view_mut());
            self.known = reached;
        }
        let (gradients, mut values) = (block.gradients(), block.values());
        let (rule, len) = (ByValue(&self.rule), block.len() as u64);
        let blocks = fours(block.len()).min(MOST_BLOCKS);
        let mut parts = self.gpu.take_of::<f64>(blocks as usize);
        let arguments: [&dyn Arg; 3] = [&gradients.view(), &len, &parts.view_mut()];
        self.gpu.launch(&SQUARES, blocks, BLOCK, 0, &arguments);
        let limit = clip.unwrap_or(0.0);
        let arguments: [&dyn Arg; 5] =
            [&parts.view(), &blocks, &limit, &rule, &self.state.view_mut()];
        self.gpu.launch(&ADVANCE, 1, BLOCK, 0, &arguments);
        let kept: Vec<_> = (0..self.rule.slots())
            .map(|slot| self.kept.view().slice(slot * block.len()..(slot + 1) * block.len()))
            .collect();
        self.gpu.launch(
            &UPDATE,
            fours(block.len()),
            BLOCK,
            0,
            &[
                &rule,
                &self.state.view(),
                &values.view_mut(),
                &gradients.view(),
                &kept.first().copied(),
                &kept.get(1).copied(),
                &len,
                &self.starts.view(),
                &shared.unwrap_or(self.reached.view()),
                &(self.known.len() as u32),
            ],
        );
    }

    /// The number of steps made, the first one whose gradients were not finite (counted from 1), and
    /// the arrays that the rule keeps; waits.
    pub fn read(&self) -> (u64, Option<u64>, Vec<Vec<f32>>) {
        let State { step, failed_step, .. } = self.state();
        let failed = (failed_step > 0).then_some(u64::from(failed_step));
        let mut kept = vec![0.0; self.kept.len()];
        self.gpu.download(self.kept.view(), &mut kept);
        let of_slot = kept.len() / self.rule.slots().max(1);
        let kept = kept.chunks_exact(of_slot.max(1)).map(<[f32]>::to_vec).collect();
        (u64::from(step), failed, kept)
    }
}

#[cfg(test)]
mod tests;
