//! Long short-term memory over a whole sequence of stacked snapshots.

use std::ops::Range;

use super::recurrent::{GateInput, OpenedInput};
use crate::buffer::Buffer;
use crate::cpu::lstm::{self, LstmCall, LstmGradients, LstmShape, PieceSums};
use crate::cuda::lstm::{Flow, Norms};
use crate::cuda::{self, View};
use crate::error::TensorError;
use crate::matrix::Shape;
use crate::tape::{Op, Opened, Piece, Tape, Var, expect_shape};

/// What an LSTM leaves.
#[derive(Debug, Clone, Copy)]
pub struct LstmStates {
    /// Hidden states after each snapshot, `T·N × H`.
    pub hidden: Var,
    /// Cell states after the last snapshot, `N × H`.
    pub cell: Var,
}

/// The recurrent share of an LSTM's gates; absent if the caller has put it into the input's
/// share already (models that convolve the hidden state).
#[derive(Debug, Clone, Copy)]
pub struct LstmRecurrence {
    /// `4H × H`, gates i, f, g, o.
    pub weight: Var,
    /// `1 × 4H`.
    pub bias: Option<Var>,
}

fn sequence(input: Shape, state: Shape, piece: Option<Piece>) -> LstmShape {
    let (vertices, hidden) = (state.rows, state.cols);
    let steps = input.rows / vertices.max(1);
    LstmShape { steps, vertices, hidden, whole: piece.map_or(vertices, |piece| piece.vertices) }
}

impl Tape {
    /// Runs an LSTM over `T` snapshots of `N` vertices each, from `hidden` and `cell` on.
    ///
    /// `input` is the input's share of the gates i, f, g, o (`T·N × 4H`), or rows with their
    /// weight. If `mask` (`T·N × 1`) is 0 both states of that vertex pass unchanged, whatever
    /// its gates hold.
    ///
    /// # Errors
    /// If the shapes do not fit, or several steps are asked for without a recurrence.
    pub fn lstm(
        &mut self,
        input: impl Into<GateInput>,
        hidden: Var,
        cell: Var,
        recurrence: Option<LstmRecurrence>,
        mask: Option<Var>,
    ) -> Result<LstmStates, TensorError> {
        let input = input.into();
        let state = self.shape(hidden);
        let piece = self.piece.filter(|_| recurrence.is_some());
        let shape = sequence(self.shape(input.rows()), state, piece);
        let rows = shape.steps * shape.vertices;
        self.expect_input("lstm", input, rows, 4 * shape.hidden)?;
        expect_shape("lstm", "the cell state", state, self.shape(cell))?;
        let (weight, bias) = (recurrence.map(|r| r.weight), recurrence.and_then(|r| r.bias));
        self.expect_recurrence(shape, weight, bias)?;
        if let Some(mask) = mask {
            expect_shape("lstm", "the mask", Shape::new(rows, 1), self.shape(mask))?;
        }
        // Hidden states above the last cell states: one node with two results, read through
        // aliases.
        let above = rows * shape.hidden;
        let mut y = self.pool.take(above + state.len());
        let op = Op::Lstm { input, hidden, cell, weight, bias, mask, piece };
        let mut saved = self.pool.take(match self.gpu() {
            None => lstm::lstm_saved_len(shape),
            Some(_) => cuda::lstm::saved_len(shape, self.lstm_widths(input)),
        });
        match self.gpu() {
            None => {
                let call = self.lstm_call(&op, |var| self.value(var));
                let (out_h, out_c) = y.as_mut_slice().split_at_mut(above);
                lstm::lstm_forward(&call, out_h, out_c, saved.as_mut_slice());
            }
            Some(gpu) => {
                let (call, norms) = self.lstm_call_on_gpu(&op);
                let (out_h, out_c) = y.view_mut().split_at(above);
                cuda::lstm::forward(gpu, &call, norms, out_h, out_c, saved.view_mut());
            }
        }
        // The kernels of the backward pass normalise again what others needed in full.
        if self.gpu().is_some() && cuda::lstm::is_narrow(shape, self.lstm_widths(input)) {
            input.parts().into_iter().flatten().for_each(|x| self.forget(x));
        }
        let [a, b, c, d] = input.operands();
        let inputs = [a, b, c, d, hidden, cell, weight.unwrap_or(a), bias.unwrap_or(a)];
        let whole = Shape::new(rows + state.rows, shape.hidden);
        let both = self.record(op, whole, y, Some(saved), &inputs);
        Ok(LstmStates {
            hidden: self.alias(both, 0, Shape::new(rows, shape.hidden)),
            cell: self.alias(both, above, state),
        })
    }

    /// The operands of an LSTM as its kernels read them, each given by `read`.
    fn lstm_call<S>(&self, op: &Op, read: impl Fn(Var) -> S) -> LstmCall<S> {
        let Op::Lstm { input, hidden, cell, weight, bias, mask, piece } = *op else {
            unreachable!()
        };
        LstmCall {
            shape: sequence(self.shape(input.rows()), self.shape(hidden), piece),
            input: input.read(&read),
            h0: read(hidden),
            c0: read(cell),
            u: weight.map(&read),
            bias: bias.map(&read),
            mask: mask.map(&read),
        }
    }

    /// The widths of the rows of an input; none if the gates' share is given.
    fn lstm_widths(&self, input: GateInput) -> [Option<usize>; 2] {
        let width = |var| self.shape(var).cols;
        match input {
            GateInput::Gates(_) => [None, None],
            GateInput::Rows { x, .. } => [Some(width(x)), None],
            GateInput::Pair { x: [x, beside], .. } => [Some(width(x)), Some(width(beside))],
        }
    }

    /// The operands on a GPU, and the batch norms of the input's rows if the kernels apply them to
    /// what was given to the norms.
    fn lstm_call_on_gpu(&self, op: &Op) -> (LstmCall<View<'_>>, Norms<'_>) {
        let Op::Lstm { input, hidden, cell, .. } = *op else { unreachable!() };
        let shape = sequence(self.shape(input.rows()), self.shape(hidden), None);
        let rows = input.parts();
        let is_state = rows.iter().flatten().any(|&x| x == hidden || x == cell);
        let before = |var: Var| {
            let applies = cuda::lstm::is_narrow(shape, self.lstm_widths(input)) && !is_state;
            self.unnormalised(var).filter(|_| applies && rows.contains(&Some(var)))
        };
        let norms = rows.map(|var| before(var?).map(|(_, norm)| norm));
        let view = |var| before(var).map_or_else(|| self.view(var), |(x, _)| x);
        (self.lstm_call(op, view), norms)
    }

    /// Whether the backward pass of an LSTM takes a gradient of some of its results: whole snapshots
    /// up to the last one, and perhaps the cell states.
    pub(super) fn lstm_takes_part(&self, op: &Op, part: Range<usize>) -> bool {
        let Op::Lstm { input, hidden, .. } = *op else { unreachable!() };
        let shape = sequence(self.shape(input.rows()), self.shape(hidden), None);
        let (above, state) = (shape.cells() * shape.hidden, shape.vertices * shape.hidden);
        let Some(gpu) = self.gpu() else { return false };
        part.start.is_multiple_of(state)
            && [above, above + state].contains(&part.end)
            && cuda::lstm::takes_part(gpu, &self.lstm_call_on_gpu(op).0, self.lstm_widths(input))
    }

    fn expect_recurrence(
        &self,
        shape: LstmShape,
        weight: Option<Var>,
        bias: Option<Var>,
    ) -> Result<(), TensorError> {
        let wide = 4 * shape.hidden;
        match weight {
            Some(weight) => {
                let square = Shape::new(wide, shape.hidden);
                expect_shape("lstm", "the recurrent weight", square, self.shape(weight))?;
            }
            None if shape.steps > 1 => {
                return Err(TensorError::Argument {
                    operator: "lstm",
                    name: "the number of steps",
                    expected: "1 if the recurrent weight is absent",
                    got: shape.steps.to_string(),
                });
            }
            None => {}
        }
        match bias {
            Some(bias) => expect_shape("lstm", "the bias", Shape::new(1, wide), self.shape(bias)),
            None => Ok(()),
        }
    }

    /// Adds the gradients of the operands; `dy` begins at the value `from` of the node.
    pub(super) fn lstm_backward(&mut self, op: &Op, node: Var, dy: Buffer, from: usize) {
        let Op::Lstm { input, hidden, weight, piece, .. } = *op else { unreachable!() };
        let shape = sequence(self.shape(input.rows()), self.shape(hidden), piece);
        let above = shape.cells() * shape.hidden;
        let y = self.take_block(node).expect("results are kept for the backward pass");
        let (y, dy) = match self.gpu() {
            None => {
                let mut left = weight
                    .filter(|_| piece.is_some())
                    .and_then(|weight| self.left.take(weight))
                    .and_then(|[sums, ..]| sums);
                let mut opened = self.open_lstm(op, [&mut None, &mut None]);
                let call = self.lstm_call(op, |var| self.value(var));
                let (h, (d_h, d_c)) = (&y.as_slice()[..above], dy.as_slice().split_at(above));
                let gradients = opened.gradients(Opened::slice);
                let saved = self.saved_gates(node).as_slice();
                let wanted = [gradients.input.weight.is_some(), gradients.u.is_some()];
                let sums = piece.zip(weight).map(|(_, weight)| match left.take() {
                    Some(sums) => (weight, sums),
                    None => {
                        let len = lstm::lstm_piece_sums_len(&call, wanted[0], wanted[1]);
                        (weight, self.pool.take_zeroed(len))
                    }
                });
                let mut sums = sums;
                let of_piece = piece.zip(sums.as_mut()).map(|(piece, (_, sums))| PieceSums {
                    from: piece.from,
                    parts: sums.as_mut_slice(),
                });
                lstm::lstm_backward(&call, h, saved, d_h, Some(d_c), of_piece, gradients);
                self.close_all(opened.into_all());
                match (piece, sums) {
                    (Some(piece), Some((_, sums))) if piece.is_first() => self.pool.give(sums),
                    (_, Some((weight, sums))) => self.left.put(weight, [Some(sums), None, None]),
                    _ => {}
                }
                (Some(y), Some(dy))
            }
            Some(_) => {
                let in_place = cuda::lstm::goes_in_place(shape, self.lstm_widths(input));
                let view = |block: &Buffer| View::new(block.view().ptr(), block.len());
                let (h, flow) = (view(&y).slice(0..above), Flow::new(shape, view(&dy), from));
                let (mut y, mut dy) = (Some(y), Some(dy));
                // The kernel is done with a row of the results and of their gradient when it writes the
                // same row of the input's gradients, which take over these blocks.
                let mut spent = y.take_if(|_| in_place);
                let mut spent_too = dy.take_if(|_| in_place && from == 0);
                let mut opened = self.open_lstm(op, [&mut spent, &mut spent_too]);
                let (call, norms) = self.lstm_call_on_gpu(op);
                let gradients = opened.gradients(Opened::view);
                let (gpu, saved) = (self.gpu().expect("as above"), self.saved_gates(node).view());
                cuda::lstm::backward(gpu, &call, norms, h, saved, flow, gradients);
                self.close_all(opened.into_all());
                (y.or(spent), dy.or(spent_too))
            }
        };
        for block in [y, dy].into_iter().flatten() {
            self.pool.give(block);
        }
    }

    fn saved_gates(&self, node: Var) -> &Buffer {
        self.node(node).saved.as_ref().expect("the forward pass saved its gates")
    }

    /// Opens the gradients of the operands, those of the input's rows over given blocks.
    fn open_lstm(&mut self, op: &Op, spent: [&mut Option<Buffer>; 2]) -> OpenedLstm {
        let Op::Lstm { input, hidden, cell, weight, bias, .. } = *op else { unreachable!() };
        OpenedLstm {
            input: self.open_input_over(input, spent),
            others: [
                self.open(hidden),
                self.open(cell),
                self.open_optional(weight),
                self.open_optional(bias),
            ],
        }
    }
}

/// The open gradients of an LSTM: of its input, its first states, its weight and its bias.
struct OpenedLstm {
    input: OpenedInput,
    others: [Option<Opened>; 4],
}

impl OpenedLstm {
    fn gradients<'a, M>(
        &'a mut self,
        write: impl Fn(&'a mut Opened) -> M + Copy,
    ) -> LstmGradients<M> {
        let [h0, c0, u, bias] = self.others.each_mut().map(|d| d.as_mut().map(write));
        LstmGradients { input: self.input.gradient(write), h0, c0, u, bias }
    }

    /// In the order in which they were opened.
    fn into_all(self) -> impl Iterator<Item = Opened> {
        self.input.into_parts().into_iter().chain(self.others).flatten()
    }
}
