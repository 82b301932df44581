//! Dropout whose mask is a function of a counter, the same as the CPU's bit for bit.

use bytemuck::{Pod, Zeroable};

use super::elementwise::{BLOCK, fours};
use super::{ByValue, Gpu, Kernel, View, ViewMut};
use crate::cpu::dropout::{Dropout, DropoutKey, Mask};
use crate::cpu::matmul::Accumulate;

static APPLY: Kernel = Kernel::new("dropout", "dropout_apply");

/// `DropoutMask` of `prelude.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct DropoutMask {
    step_at: u64,
    seed: u64,
    stream: u32,
    step: u32,
    threshold: u32,
    scale: f32,
}

impl DropoutMask {
    /// A mask. While something is recorded, the GPU's own number of the step takes the place of the
    /// key's, so that each launch of the recording drops something else.
    pub(crate) fn new(gpu: &Gpu, dropout: Dropout) -> Self {
        let Mask { key, threshold, scale } = Mask::from(dropout);
        let step_at = gpu.arena().recorded_step().unwrap_or(0);
        Self { step_at, seed: key.seed, stream: key.stream, step: key.step, threshold, scale }
    }

    /// The same if there may be no dropout: then nothing is dropped.
    pub(crate) fn optional(gpu: &Gpu, dropout: Option<Dropout>) -> Self {
        let key = DropoutKey { seed: 0, stream: 0, step: 0 };
        Self::new(gpu, dropout.unwrap_or(Dropout { p: 0.0, key }))
    }
}

/// `y (+)= x` with values dropped and the others scaled: forward from x to y, backward from dy to dx.
pub(crate) fn apply(
    gpu: &Gpu,
    x: View<'_>,
    dropout: Dropout,
    y: ViewMut<'_>,
    accumulate: Accumulate,
) {
    let len = y.len();
    debug_assert_eq!(x.len(), len);
    let mask = DropoutMask::new(gpu, dropout);
    let arguments: [&dyn super::Arg; 5] = [&ByValue(&mask), &x, &y, &accumulate, &(len as u64)];
    gpu.launch(&APPLY, fours(len), BLOCK, 0, &arguments);
}
