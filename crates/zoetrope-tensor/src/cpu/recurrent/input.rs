//! What enters the gates besides the state: computed before, or rows with their weight.

use super::planes::turn_back;
use super::weight::{Weight, add_weight_gradient};
use super::{Block, Layout, Sequence, to_planes, to_rows};
use crate::cpu::matmul::Accumulate;
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;

/// The input of a recurrent kernel with `G` gates.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// The input's share of the gates, [T·N, G·H].
    Gates(&'a [f32]),
    /// Rows whose product with a weight is that share: it never exists as a whole.
    Rows(InputRows<'a>),
}

/// Rows and the weight of the gates' input.
#[derive(Clone, Copy)]
pub struct InputRows<'a> {
    /// [T·N, in].
    pub x: &'a [f32],
    /// [G·H, in].
    pub weight: &'a [f32],
    /// `[G·H]`.
    pub bias: Option<&'a [f32]>,
}

/// Where the gradients of an [`Input`] go; those that nobody wants are absent.
pub struct InputGradient<'a> {
    /// Of the rows, or of the gates; replaced or added to.
    pub x: Option<(&'a mut [f32], Accumulate)>,
    /// Of the weight; added to.
    pub weight: Option<&'a mut [f32]>,
    /// Of the bias; added to.
    pub bias: Option<&'a mut [f32]>,
}

impl InputGradient<'_> {
    /// The gradients where no gate depends on the input.
    pub(crate) fn of_nothing(self) {
        if let Some((d_x, Accumulate::Overwrite)) = self.x {
            d_x.fill(0.0);
        }
    }
}

impl Input<'_> {
    /// Width of what the input's gradient belongs to.
    pub(crate) fn width(&self, shape: Sequence, gates: usize) -> usize {
        match self {
            Self::Gates(_) => gates * shape.hidden,
            Self::Rows(rows) => rows.weight.len() / (gates * shape.hidden).max(1),
        }
    }

    pub(crate) fn bias(&self) -> Option<&[f32]> {
        match self {
            Self::Gates(_) => None,
            Self::Rows(rows) => rows.bias,
        }
    }

    /// Elements of the weight, 0 without one.
    pub(crate) fn weight_len(&self) -> usize {
        match self {
            Self::Gates(_) => 0,
            Self::Rows(rows) => rows.weight.len(),
        }
    }

    /// # Panics
    ///
    /// When a length does not fit.
    pub(crate) fn check(&self, shape: Sequence, gates: usize) {
        let wide = gates * shape.hidden;
        let x = match self {
            Self::Gates(x) => x,
            Self::Rows(rows) => {
                assert_eq!(rows.weight.len(), wide * self.width(shape, gates), "input's weight");
                assert!(rows.bias.is_none_or(|bias| bias.len() == wide), "one bias per gate");
                rows.x
            }
        };
        assert_eq!(x.len(), shape.cells() * self.width(shape, gates), "the input");
    }
}

/// An input ready to go forward.
pub(crate) struct ForwardInput<'a> {
    input: Input<'a>,
    weight: Option<Weight<'a>>,
    width: usize,
    gates: usize,
}

impl<'a> ForwardInput<'a> {
    pub(crate) fn new(input: Input<'a>, shape: Sequence, gates: usize) -> Self {
        input.check(shape, gates);
        let width = input.width(shape, gates);
        let weight = match input {
            Input::Gates(_) => None,
            Input::Rows(rows) => {
                Some(Weight::forward(shape.layout(), rows.weight, shape.hidden, width))
            }
        };
        Self { input, weight, width, gates }
    }

    /// Elements of the spare memory that [`ForwardInput::share`] wants.
    pub(crate) fn spare(&self, block: Block) -> usize {
        if block.layout == Layout::Lanes && self.weight.is_some() {
            block.room * self.width
        } else {
            0
        }
    }

    /// planes (+)= the input's share of a step, without its bias.
    pub(crate) fn share(
        &self,
        block: Block,
        step: usize,
        spare: &mut [f32],
        planes: &mut [f32],
        mode: Accumulate,
    ) {
        match (&self.input, &self.weight) {
            (Input::Rows(rows), Some(weight)) => {
                let x = block.operand(block.of(rows.x, step, self.width), self.width, spare);
                weight.gates(block, 0..self.gates, x, planes, mode);
            }
            (Input::Gates(x), _) => to_planes(block, block.of(x, step, self.width), planes, mode),
            (Input::Rows(_), None) => unreachable!("rows come with a weight"),
        }
    }
}

/// An input ready to go back.
pub(crate) struct BackInput<'a> {
    input: Input<'a>,
    weight: Option<Weight<'a>>,
    width: usize,
    gates: usize,
    d_x: Option<(Scattered<'a>, Accumulate)>,
    wants_weight: bool,
}

impl<'a> BackInput<'a> {
    pub(crate) fn new(
        input: Input<'a>,
        shape: Sequence,
        gates: usize,
        d_x: Option<(&'a mut [f32], Accumulate)>,
        wants_weight: bool,
    ) -> Self {
        input.check(shape, gates);
        let width = input.width(shape, gates);
        let len = shape.cells() * width;
        assert!(d_x.as_ref().is_none_or(|(d, _)| d.len() == len), "gradient of the input");
        let weight = match input {
            Input::Rows(rows) if d_x.is_some() => {
                Some(Weight::back(shape.layout(), rows.weight, shape.hidden, width))
            }
            _ => None,
        };
        let d_x = d_x.map(|(d, mode)| (Scattered::new(d), mode));
        Self { input, weight, width, gates, d_x, wants_weight }
    }

    /// Sends the gradients of the gates of a step on to the input and into the sums of its weight.
    ///
    /// # Safety
    ///
    /// No other thread goes back through this block.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn send(
        &self,
        block: Block,
        step: usize,
        d_planes: &[f32],
        d_weight: &mut [f32],
    ) {
        let (at, len) = block.at(step, self.width);
        if let Input::Rows(rows) = self.input
            && self.wants_weight
        {
            let x = (rows.x, at, self.width);
            add_weight_gradient(block, self.gates, d_planes, x, d_weight);
        }
        let Some((d_x, mode)) = self.d_x else { return };
        // SAFETY: rows of this block's vertices, which no other block touches; the caller
        // promises that nobody else is at this block.
        let d_x = unsafe { d_x.piece(at, len) };
        match &self.weight {
            None => to_rows(block, d_planes, d_x, mode),
            Some(weight) if block.layout == Layout::Rows => {
                weight.input_gradient(block, 0..self.gates, d_planes, d_x, mode);
            }
            Some(weight) => {
                let mut turned = scratch::take(block.room * self.width);
                let fresh = Accumulate::Overwrite;
                weight.input_gradient(block, 0..self.gates, d_planes, &mut turned, fresh);
                turn_back(&turned, block.room, self.width, d_x, mode);
            }
        }
    }
}
