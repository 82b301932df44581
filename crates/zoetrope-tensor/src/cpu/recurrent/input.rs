//! What enters the gates besides the state: computed before, or rows with their weight.

use std::ops::Range;

use super::planes::turn_back;
use super::weight::{RowsAt, Weight, add_weight_gradient};
use super::{Layout, Sequence, SequenceBlock, to_planes, to_rows};
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;

/// The input of a recurrent kernel with `G` gates, in matrices `S` of this or of another device.
#[derive(Clone, Copy)]
pub enum Input<S> {
    /// The input's share of the gates, [T·N, G·H].
    Gates(S),
    /// Rows whose product with a weight is that share.
    Rows(InputRows<S>),
}

/// Rows and the weight of the gates' input.
#[derive(Clone, Copy)]
pub struct InputRows<S> {
    /// [T·N, in].
    pub x: S,
    /// More features of the same cells, as if they stood to the right of `x`.
    pub beside: Option<S>,
    /// [G·H, in], columns for the features of `x` and then for those beside it.
    pub weight: S,
    /// `[G·H]`.
    pub bias: Option<S>,
}

/// Where the gradients of an [`Input`] go; those that are not wanted are absent.
pub struct InputGradient<M> {
    /// Of the rows, or of the gates; replaced or added to.
    pub x: Option<(M, Accumulate)>,
    /// Of the rows beside them; replaced or added to.
    pub beside: Option<(M, Accumulate)>,
    /// Of the weight; added to.
    pub weight: Option<M>,
    /// Of the bias; added to.
    pub bias: Option<M>,
}

impl InputGradient<&mut [f32]> {
    /// The gradients if no gate depends on the input.
    pub(crate) fn of_nothing(self) {
        for d_x in [self.x, self.beside].into_iter().flatten() {
            if let (d_x, Accumulate::Overwrite) = d_x {
                d_x.fill(0.0);
            }
        }
    }
}

/// Rows of one matrix and the columns of the weight that belong to them.
#[derive(Clone)]
struct InputColumns<'a> {
    x: &'a [f32],
    columns: Range<usize>,
}

impl<S: Copy> Input<S> {
    fn weight(&self) -> Option<S> {
        match self {
            Self::Gates(_) => None,
            Self::Rows(rows) => Some(rows.weight),
        }
    }

    pub(crate) fn bias(&self) -> Option<S> {
        match self {
            Self::Gates(_) => None,
            Self::Rows(rows) => rows.bias,
        }
    }
}

impl<'a> Input<&'a [f32]> {
    /// Elements of the weight, 0 without one.
    pub(crate) fn weight_len(&self) -> usize {
        self.weight().map_or(0, <[f32]>::len)
    }

    /// The matrices of the input, each with its columns: of the weight, or of the gates.
    ///
    /// # Panics
    ///
    /// When a length does not fit.
    fn parts(&self, shape: Sequence, gates: usize) -> [Option<InputColumns<'a>>; 2] {
        let (wide, cells) = (gates * shape.hidden, shape.cells());
        match *self {
            Self::Gates(x) => {
                assert_eq!(x.len(), cells * wide, "the input's share");
                [Some(InputColumns { x, columns: 0..wide }), None]
            }
            Self::Rows(InputRows { x, beside, weight, bias }) => {
                assert!(bias.is_none_or(|bias| bias.len() == wide), "one bias per gate");
                let inner = weight.len() / wide.max(1);
                let right = beside.map_or(0, |beside| beside.len() / cells.max(1));
                assert!(right <= inner, "the input's weight has columns for what is beside");
                let left = inner - right;
                assert_eq!(weight.len(), wide * inner, "the input's weight");
                assert_eq!(x.len(), cells * left, "the input");
                assert!(beside.is_none_or(|x| x.len() == cells * right), "what is beside it");
                let beside = beside.map(|x| InputColumns { x, columns: left..inner });
                [Some(InputColumns { x, columns: 0..left }), beside]
            }
        }
    }
}

/// An input ready to go forward.
pub(crate) struct ForwardInput<'a> {
    parts: [Option<InputColumns<'a>>; 2],
    weight: Option<Weight<'a>>,
    gates: usize,
}

impl<'a> ForwardInput<'a> {
    pub(crate) fn new(input: Input<&'a [f32]>, shape: Sequence, gates: usize) -> Self {
        let h = shape.hidden;
        let weight = input.weight().map(|weight| {
            Weight::forward(shape.layout(), weight, h, weight.len() / (gates * h).max(1))
        });
        Self { parts: input.parts(shape, gates), weight, gates }
    }

    /// Elements of the spare memory that [`ForwardInput::share`] wants.
    pub(crate) fn spare(&self, block: SequenceBlock) -> usize {
        if block.layout == Layout::Rows || self.weight.is_none() {
            return 0;
        }
        let widest = self.parts.iter().flatten().map(|part| part.columns.len()).max();
        block.room * widest.unwrap_or(0)
    }

    /// planes = the input's share of a step, without its bias.
    pub(crate) fn share(
        &self,
        block: SequenceBlock,
        step: usize,
        spare: &mut [f32],
        planes: &mut [f32],
    ) {
        let rows = |x, width| block.of(x, step, width);
        self.share_of(
            block,
            [0, 1].map(|at| self.columns(at).map(|(x, width)| rows(x, width))),
            spare,
            planes,
        );
    }

    /// The same from rows of each matrix of the input.
    pub(crate) fn share_of(
        &self,
        block: SequenceBlock,
        rows: [Option<&[f32]>; 2],
        spare: &mut [f32],
        planes: &mut [f32],
    ) {
        let mut mode = Accumulate::Overwrite;
        for (InputColumns { columns, .. }, rows) in
            self.parts.iter().flatten().zip(rows.iter().flatten())
        {
            match &self.weight {
                None => to_planes(block, rows, planes, mode),
                Some(weight) => {
                    let x = block.operand(rows, columns.len(), spare);
                    weight.gates(block, 0..self.gates, columns.clone(), x, planes, mode);
                }
            }
            mode = Accumulate::Add;
        }
    }

    /// A matrix of the input with its width, if there is one of this number.
    pub(crate) fn columns(&self, at: usize) -> Option<(&'a [f32], usize)> {
        self.parts[at].as_ref().map(|part| (part.x, part.columns.len()))
    }
}

/// An input ready for the backward pass.
pub(crate) struct BackInput<'a> {
    parts: [Option<InputColumns<'a>>; 2],
    d_parts: [Option<(Scattered<'a>, Accumulate)>; 2],
    weight: Option<Weight<'a>>,
    gates: usize,
    wants_weight: bool,
}

impl<'a> BackInput<'a> {
    pub(crate) fn new(
        input: Input<&'a [f32]>,
        shape: Sequence,
        gates: usize,
        d_parts: [Option<(&'a mut [f32], Accumulate)>; 2],
        wants_weight: bool,
    ) -> Self {
        let h = shape.hidden;
        let parts = input.parts(shape, gates);
        for (part, d) in parts.iter().zip(&d_parts) {
            let len = part.as_ref().map_or(0, |part| part.x.len());
            assert!(d.as_ref().is_none_or(|(d, _)| d.len() == len), "gradient of the input");
        }
        let weight = input.weight().map(|weight| {
            Weight::back(shape.layout(), weight, h, weight.len() / (gates * h).max(1))
        });
        let d_parts = d_parts.map(|d| d.map(|(d, mode)| (Scattered::new(d), mode)));
        Self { parts, d_parts, weight, gates, wants_weight }
    }

    /// Sends the gradients of the gates of a step on to the input and into the sums of its weight.
    ///
    /// # Safety
    ///
    /// No other thread runs the backward pass of this block.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn send(
        &self,
        block: SequenceBlock,
        step: usize,
        d_planes: &[f32],
        d_weight: &mut [f32],
    ) {
        for (part, d_x) in self.parts.iter().zip(self.d_parts) {
            let Some(InputColumns { x, columns }) = part else { continue };
            let width = columns.len();
            let (at, len) = block.at(step, width);
            if let Some(weight) = &self.weight
                && self.wants_weight
            {
                let rows = RowsAt { x, at, width };
                let d_weight = &mut d_weight[columns.start..];
                add_weight_gradient(block, self.gates, d_planes, rows, d_weight, weight.inner);
            }
            let Some((d_x, mode)) = d_x else { continue };
            // SAFETY: rows of this block's vertices, which no other block touches; the caller
            // promises that nobody else is at this block.
            let d_x = unsafe { d_x.piece(at, len) };
            let Some(weight) = &self.weight else {
                to_rows(block, d_planes, d_x, mode);
                continue;
            };
            let (gates, columns) = (0..self.gates, columns.clone());
            if block.layout == Layout::Rows {
                weight.input_gradient(block, gates, columns, d_planes, d_x, mode);
            } else {
                let mut turned = scratch::take(block.room * width);
                let fresh = Accumulate::Overwrite;
                weight.input_gradient(block, gates, columns, d_planes, &mut turned, fresh);
                turn_back(&turned, block.room, width, d_x, mode);
            }
        }
    }
}
