//! Narrow units: states up to eight wide of many vertices, a lane a vertex (`recurrent.cuh`).

use bytemuck::{Pod, Zeroable};

use super::{MANY_VERTICES, address, parts};
use crate::cpu::matmul::Accumulate;
use crate::cpu::recurrent::{Input, InputGradient, Sequence};
use crate::cuda::{Gpu, Scratch, View, ViewMut};

use super::gradients::{BiasSum, add_sums};

/// The widest state and input, as `recurrent.cuh` has them.
const WIDEST: usize = 8;
const WIDEST_INPUT: usize = 16;
/// Floats of the norms of an input in shared memory.
const NORMS: usize = 3 * WIDEST_INPUT;
/// Floats of a row in shared memory, and warps of a block.
const ROW: usize = 36;
const WARPS: usize = 4;
/// Blocks of the backward pass, at most: three for each multiprocessor of a large GPU, what its registers
/// hold. Each warp leaves a row of sums.
const BLOCKS: usize = 396;

/// As in `recurrent.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(in crate::cuda) struct NarrowInput {
    x: u64,
    beside: u64,
    weight: u64,
    bias: u64,
    norms: [NarrowNorm; 2],
    wide_a: u32,
    wide_b: u32,
}

/// A batch norm of rows that the kernels read: `(x − mean)·inverse·scale + shift`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Norm<'a> {
    /// Mean and inverse deviation of each column.
    pub(crate) statistics: View<'a>,
    /// Scale and shift of each column.
    pub(crate) affine: [View<'a>; 2],
}

/// As in `recurrent.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct NarrowNorm {
    statistics: u64,
    scale: u64,
    shift: u64,
}

impl From<Option<Norm<'_>>> for NarrowNorm {
    fn from(norm: Option<Norm<'_>>) -> Self {
        let Some(Norm { statistics, affine: [scale, shift] }) = norm else {
            return Self::zeroed();
        };
        Self { statistics: statistics.ptr(), scale: scale.ptr(), shift: shift.ptr() }
    }
}

/// As in `recurrent.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(in crate::cuda) struct NarrowGradient {
    x: u64,
    beside: u64,
    parts: u64,
    add_x: u32,
    add_beside: u32,
}

/// How a narrow unit is laid over the GPU.
#[derive(Clone, Copy)]
pub(in crate::cuda) struct Narrow {
    shape: Sequence,
    gates: usize,
    inner: usize,
    input: NarrowInput,
}

impl Narrow {
    /// Whether a sequence is narrow, from the widths of its input's rows.
    pub(in crate::cuda) fn fits(shape: Sequence, widths: [Option<usize>; 2]) -> bool {
        let widths = || widths.into_iter().flatten();
        (1..=WIDEST).contains(&shape.hidden)
            && shape.vertices >= MANY_VERTICES
            && shape.steps > 0
            && widths().sum::<usize>() <= WIDEST_INPUT
            && widths().all(|width| width > 0)
    }

    /// The layout, if a unit of so many gates is narrow; depends on shapes only. The rows of the
    /// input are normalised first if there are norms.
    pub(in crate::cuda) fn new(
        shape: Sequence,
        input: &Input<View<'_>>,
        norms: [Option<Norm<'_>>; 2],
        gates: usize,
    ) -> Option<Self> {
        let [x, beside] = parts(input, shape, gates);
        let widths = [x, beside].map(|part| part.map(|part| part.width));
        if !Self::fits(shape, widths) {
            return None;
        }
        let (h, inner) = (shape.hidden, widths.into_iter().flatten().sum());
        let input = match *input {
            Input::Gates(given) => {
                NarrowInput { x: given.ptr(), wide_a: (gates * h) as u32, ..NarrowInput::zeroed() }
            }
            Input::Rows(rows) => NarrowInput {
                x: rows.x.ptr(),
                beside: address(rows.beside),
                weight: rows.weight.ptr(),
                bias: address(rows.bias),
                norms: norms.map(NarrowNorm::from),
                wide_a: x.map_or(0, |part| part.width as u32),
                wide_b: beside.map_or(0, |part| part.width as u32),
            },
        };
        Some(Self { shape, gates, inner, input })
    }

    pub(in crate::cuda) fn input(&self) -> NarrowInput {
        self.input
    }

    /// Which kernel: for states up to six wide, or eight.
    pub(in crate::cuda) fn kernel(&self) -> usize {
        usize::from(self.shape.hidden > 6)
    }

    /// Threads of a block.
    pub(in crate::cuda) const THREADS: u32 = 32 * WARPS as u32;

    /// Blocks and shared bytes of the way forward.
    pub(in crate::cuda) fn forward(&self) -> (u32, u32) {
        (self.shape.vertices.div_ceil(32 * WARPS) as u32, self.shared_bytes(32))
    }

    /// Blocks and shared bytes of the backward pass.
    pub(in crate::cuda) fn backward(&self) -> (u32, u32) {
        let (blocks, _) = self.forward();
        (blocks.min(BLOCKS as u32), self.shared_bytes(64))
    }

    fn shared_bytes(&self, rows: usize) -> u32 {
        let wide = self.gates * if self.kernel() == 0 { 6 } else { WIDEST };
        let table = (self.inner + WIDEST + 2) * wide.next_multiple_of(4);
        (size_of::<f32>() * (WARPS * rows * ROW + table + NORMS)) as u32
    }

    /// Values of a row of sums: of the weight, the recurrent one, the bias of input and of state.
    fn row(&self) -> usize {
        self.gates * self.shape.hidden * (self.inner + self.shape.hidden + 2)
    }

    /// Where the sums of weights and biases go.
    pub(in crate::cuda) fn sums(&self, gpu: &Gpu) -> Scratch {
        gpu.take(self.backward().0 as usize * WARPS * self.row())
    }

    /// Where the kernel writes the gradients; sums only if they are wanted.
    pub(in crate::cuda) fn gradient(
        &self,
        d_input: &InputGradient<ViewMut<'_>>,
        sums: Option<&Scratch>,
    ) -> NarrowGradient {
        let place = |d: &Option<(ViewMut<'_>, Accumulate)>| match d {
            Some((d, mode)) => (d.ptr(), u32::from(*mode == Accumulate::Add)),
            None => (0, 0),
        };
        let ((x, add_x), (beside, add_beside)) = (place(&d_input.x), place(&d_input.beside));
        let parts = sums.map_or(0, |sums| sums.view().ptr());
        NarrowGradient { x, beside, parts, add_x, add_beside }
    }

    /// Adds the sums to the gradients of the weight, the recurrent one, the bias of input and state.
    pub(in crate::cuda) fn join(&self, gpu: &Gpu, sums: &Scratch, to: [Option<ViewMut<'_>>; 4]) {
        let (h, wide) = (self.shape.hidden, self.gates * self.shape.hidden);
        let starts = [0, wide * self.inner, wide * (self.inner + h), wide * (self.inner + h + 1)];
        let (parts, stride) = (sums.view(), self.row());
        let mut starts = starts.into_iter();
        let all = to.map(|to| {
            let from = starts.next().expect("a start for each");
            to.map(|to| BiasSum { parts, stride, from, to })
        });
        add_sums(gpu, 0, [], all);
    }
}
