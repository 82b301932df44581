//! What enters the gates of a GRU or an LSTM besides the state.

use crate::buffer::Buffer;
use crate::cpu::matmul::Accumulate;
use crate::cpu::recurrent::{Input, InputGradient, InputRows};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Opened, Tape, Var, expect_shape};

/// The input of a recurrent operator with `G` gates.
#[derive(Debug, Clone, Copy)]
pub enum GateInput {
    /// The input's share of the gates, computed before: `T·N × G·H`.
    Gates(Var),
    /// Rows whose product with a weight is that share; it is computed block by block and never
    /// kept, which saves memory and time.
    Rows {
        /// `T·N × in`.
        x: Var,
        /// `G·H × in`.
        weight: Var,
        /// `1 × G·H`.
        bias: Option<Var>,
    },
    /// The same for rows that are two matrices side by side, without putting them together.
    Pair {
        /// `T·N × a` and `T·N × b`.
        x: [Var; 2],
        /// `G·H × (a + b)`.
        weight: Var,
        /// `1 × G·H`.
        bias: Option<Var>,
    },
}

impl From<Var> for GateInput {
    fn from(gates: Var) -> Self {
        Self::Gates(gates)
    }
}

/// The open gradients of an input: of its rows or gates, of what is beside them, of its weight and
/// its bias.
pub(crate) struct OpenedInput([Option<Opened>; 4]);

/// Where a kernel of the processor writes a gradient, and how.
pub(super) fn lent(opened: &mut Option<Opened>) -> Option<(&mut [f32], Accumulate)> {
    lent_by(opened, Opened::slice)
}

/// The same for any device: `write` is one of the ways of [`Opened`].
pub(super) fn lent_by<'a, M>(
    opened: &'a mut Option<Opened>,
    write: impl Fn(&'a mut Opened) -> M,
) -> Option<(M, Accumulate)> {
    opened.as_mut().map(|d| {
        let mode = d.mode;
        (write(d), mode)
    })
}

impl OpenedInput {
    pub(crate) fn gradient<'a, M>(
        &'a mut self,
        write: impl Fn(&'a mut Opened) -> M,
    ) -> InputGradient<M> {
        let [x, beside, weight, bias] = &mut self.0;
        InputGradient {
            x: lent_by(x, &write),
            beside: lent_by(beside, &write),
            weight: weight.as_mut().map(&write),
            bias: bias.as_mut().map(&write),
        }
    }

    pub(crate) fn into_parts(self) -> [Option<Opened>; 4] {
        self.0
    }
}

impl GateInput {
    /// The matrices of an input as `read` gives them.
    pub(crate) fn read<S>(self, read: impl Fn(Var) -> S) -> Input<S> {
        match self {
            Self::Gates(gates) => Input::Gates(read(gates)),
            Self::Rows { x, weight, bias } => Input::Rows(InputRows {
                x: read(x),
                beside: None,
                weight: read(weight),
                bias: bias.map(read),
            }),
            Self::Pair { x: [x, beside], weight, bias } => Input::Rows(InputRows {
                x: read(x),
                beside: Some(read(beside)),
                weight: read(weight),
                bias: bias.map(read),
            }),
        }
    }

    /// What has a row for each cell.
    pub fn rows(self) -> Var {
        match self {
            Self::Gates(x) | Self::Rows { x, .. } | Self::Pair { x: [x, _], .. } => x,
        }
    }

    /// The matrices whose rows a weight is multiplied with.
    pub(crate) fn parts(self) -> [Option<Var>; 2] {
        match self {
            Self::Gates(_) => [None, None],
            Self::Rows { x, .. } => [Some(x), None],
            Self::Pair { x, .. } => x.map(Some),
        }
    }

    /// All operands, the first ones repeated in place of absent ones.
    pub(crate) fn operands(self) -> [Var; 4] {
        match self {
            Self::Gates(x) => [x; 4],
            Self::Rows { x, weight, bias } => [x, x, weight, bias.unwrap_or(weight)],
            Self::Pair { x: [x, beside], weight, bias } => {
                [x, beside, weight, bias.unwrap_or(weight)]
            }
        }
    }
}

impl Tape {
    /// Opens the gradients of an input.
    pub(crate) fn open_input(&mut self, input: GateInput) -> OpenedInput {
        self.open_input_over(input, [&mut None, &mut None])
    }

    /// The same, those of the rows over given blocks ([`Tape::open_over`]).
    pub(crate) fn open_input_over(
        &mut self,
        input: GateInput,
        [spent, spent_too]: [&mut Option<Buffer>; 2],
    ) -> OpenedInput {
        match input {
            GateInput::Gates(gates) => {
                OpenedInput([self.open_to_overwrite(gates), None, None, None])
            }
            GateInput::Rows { x, weight, bias } => OpenedInput([
                self.open_over(x, spent),
                None,
                self.open(weight),
                self.open_optional(bias),
            ]),
            GateInput::Pair { x: [x, beside], weight, bias } => OpenedInput([
                self.open_over(x, spent),
                self.open_over(beside, spent_too),
                self.open(weight),
                self.open_optional(bias),
            ]),
        }
    }

    /// Requires that an input has `rows` rows and fits gates that are `wide` altogether.
    pub(crate) fn expect_input(
        &self,
        operator: &'static str,
        input: GateInput,
        rows: usize,
        wide: usize,
    ) -> Result<(), TensorError> {
        let (parts, weight, bias) = match input {
            GateInput::Gates(gates) => {
                let expected = Shape::new(rows, wide);
                return expect_shape(operator, "the input's share", expected, self.shape(gates));
            }
            GateInput::Rows { x, weight, bias } => ([Some(x), None], weight, bias),
            GateInput::Pair { x, weight, bias } => (x.map(Some), weight, bias),
        };
        let mut inner = 0;
        for x in parts.into_iter().flatten() {
            let width = self.shape(x).cols;
            expect_shape(operator, "the input", Shape::new(rows, width), self.shape(x))?;
            inner += width;
        }
        let expected = Shape::new(wide, inner);
        expect_shape(operator, "the input's weight", expected, self.shape(weight))?;
        let Some(bias) = bias else { return Ok(()) };
        expect_shape(operator, "the input's bias", Shape::new(1, wide), self.shape(bias))
    }
}
