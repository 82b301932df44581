//! The backward pass of a linear layer over a piece of a sequence (`tape/pieces.rs`).

use crate::buffer::Buffer;
use crate::cpu::activation::{self, Activation};
use crate::cpu::matmul::backward::LargeLayer;
use crate::cpu::matmul::{self, Accumulate, MatMut, MatRef};
use crate::cpu::past_caches::STREAMING_BYTES_MIN;
use crate::cpu::reduce;
use crate::tape::{Opened, Piece, Tape, Var};

/// Copies the rows of a piece to their places in the whole.
fn place(piece: Piece, count: usize, cols: usize, rows: &[f32], whole: &mut Buffer) {
    let whole = whole.as_mut_slice();
    for step in 0..piece.steps {
        let at = (step * piece.vertices + piece.from) * cols;
        let own = step * count * cols..(step + 1) * count * cols;
        whole[at..at + own.len()].copy_from_slice(&rows[own]);
    }
}

impl Tape {
    /// Adds the gradient of the rows; the first piece adds those of weight and bias, of all rows as if they had
    /// been one matrix.
    pub(super) fn linear_piece_backward(
        &mut self,
        node: Var,
        [x, weight]: [Var; 2],
        bias: Option<Var>,
        activation: Activation,
        piece: Piece,
        dy: &Buffer,
    ) {
        let (input, stored, out) = (self.shape(x), self.shape(weight), self.shape(node));
        let bends = activation != Activation::Identity;
        if self.needs_gradient(x) {
            let dz = bends.then(|| {
                let mut dz = self.pool.take(out.len());
                let (y, mode) = (self.value(node), Accumulate::Overwrite);
                activation::backward(activation, y, dy.as_slice(), dz.as_mut_slice(), mode);
                dz
            });
            if let Some(mut dx) = self.open_to_overwrite(x) {
                let mode = dx.mode;
                let before = dz.as_ref().unwrap_or(dy).as_slice();
                let gradient = MatRef::new(before, out.rows, out.cols);
                let weight = MatRef::new(self.value(weight), stored.rows, stored.cols);
                let to = MatMut::new(dx.slice(), input.rows, input.cols);
                matmul::matmul(gradient, weight, to, mode);
                self.close([Some(dx)]);
            }
            dz.into_iter().for_each(|dz| self.pool.give(dz));
        }
        let rows = piece.steps * piece.vertices;
        let room = |cols: usize| self.pool.take(rows * cols);
        let blocks = self.left.take(weight);
        let [all_x, all_dy, all_y] = blocks.unwrap_or_else(|| {
            [Some(room(input.cols)), Some(room(out.cols)), bends.then(|| room(out.cols))]
        });
        let (Some(mut all_x), Some(mut all_dy), mut all_y) = (all_x, all_dy, all_y) else {
            unreachable!("pieces leave their rows and the gradients of their results")
        };
        let count = out.rows / piece.steps.max(1);
        place(piece, count, input.cols, self.value(x), &mut all_x);
        place(piece, count, out.cols, dy.as_slice(), &mut all_dy);
        if let Some(all_y) = &mut all_y {
            place(piece, count, out.cols, self.value(node), all_y);
        }
        if !piece.is_first() {
            return self.left.put(weight, [Some(all_x), Some(all_dy), all_y]);
        }
        let (mut dw, mut db) = (self.open_to_overwrite(weight), self.open_optional(bias));
        let x = MatRef::new(all_x.as_slice(), rows, input.cols);
        let y = all_y.as_ref().map_or(&[][..], Buffer::as_slice);
        let dy = all_dy.as_slice();
        // The choice of a layer of as many rows: its sums have that order.
        if size_of_val(dy) > STREAMING_BYTES_MIN {
            let weight = MatRef::new(self.value(weight), stored.rows, stored.cols);
            let layer = LargeLayer { x, weight, y, activation };
            let target = dw.as_mut().map(|dw| (dw.mode, dw.slice()));
            layer.backward(dy, None, target, db.as_mut().map(Opened::slice));
        } else {
            let mut before = None;
            if bends {
                let mut dz = self.pool.take(dy.len());
                let mode = Accumulate::Overwrite;
                activation::backward(activation, y, dy, dz.as_mut_slice(), mode);
                before = Some(dz);
            }
            let dz = before.as_ref().map_or(dy, Buffer::as_slice);
            if let Some(dw) = &mut dw {
                let mode = dw.mode;
                let gradient = MatRef::new(dz, rows, out.cols).t();
                let to = MatMut::new(dw.slice(), stored.rows, stored.cols);
                matmul::matmul(gradient, x, to, mode);
            }
            if let Some(db) = &mut db {
                reduce::column_sums(dz, rows, out.cols, db.slice());
            }
            before.into_iter().for_each(|dz| self.pool.give(dz));
        }
        self.close([dw, db]);
        [Some(all_x), Some(all_dy), all_y]
            .into_iter()
            .flatten()
            .for_each(|one| self.pool.give(one));
    }
}
