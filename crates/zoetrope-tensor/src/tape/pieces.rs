//! Sequences that are computed some vertices at a time, to the bits of a computation of all of them at once.
//!
//! What works row by row does not care. The gradient of a weight is a sum over rows, whose bits depend on its
//! order: linear layers and LSTMs that were recorded within a piece leave what they would add, and the piece that
//! begins the sequence, the last one on the way back, adds up all of it in the order of the whole.

use crate::buffer::Buffer;
use crate::tape::{Tape, Var};

/// Some vertices of a sequence whose other vertices are computed apart. Pieces follow each other in the order of
/// their vertices, and all of them are recorded; [`sequence_pieces`](crate::sequence_pieces) says where to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Snapshots of the sequence.
    pub steps: usize,
    /// Vertices of the whole.
    pub vertices: usize,
    /// The first vertex of the piece.
    pub from: usize,
}

impl Piece {
    /// Whether nothing is left to come on the way back.
    pub(crate) fn is_first(self) -> bool {
        self.from == 0
    }
}

/// What pieces leave until all of them are there.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// By the weight of a layer: blocks for the rows of all pieces, or for sums.
    blocks: Vec<(Var, [Option<Buffer>; 3])>,
}

impl Left {
    /// What the pieces of a layer have left so far.
    pub(crate) fn take(&mut self, weight: Var) -> Option<[Option<Buffer>; 3]> {
        let at = self.blocks.iter().position(|(of, _)| *of == weight)?;
        Some(self.blocks.swap_remove(at).1)
    }

    pub(crate) fn put(&mut self, weight: Var, blocks: [Option<Buffer>; 3]) {
        self.blocks.push((weight, blocks));
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Buffer> {
        std::mem::take(&mut self.blocks).into_iter().flat_map(|(_, blocks)| blocks).flatten()
    }
}

impl Tape {
    /// Says that what is recorded from now on is of a piece of a sequence, or no longer. On the processor only.
    pub fn set_piece(&mut self, piece: Option<Piece>) {
        self.piece = piece.filter(|_| self.gpu().is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activation, GateInput, LstmRecurrence, Matrix, sequence_pieces};

    fn values(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|at| ((at * 37 + seed * 11) % 101) as f32 / 101.0 - 0.5).collect()
    }

    /// Gradients of the weights of a linear layer and an LSTM behind it, and of their input, with the states.
    fn run(vertices: usize, hidden: usize, activation: Activation, count: usize) -> Vec<Vec<f32>> {
        let (steps, width) = (3, 6);
        let shapes = [
            [hidden, width],
            [1, hidden],
            [4 * hidden, hidden],
            [4 * hidden, hidden],
            [1, 4 * hidden],
        ];
        let mut tape = Tape::new();
        let weights = [0, 1, 2, 3, 4].map(|slot: usize| {
            let [rows, cols] = shapes[slot];
            let matrix = Matrix::from_slice(rows, cols, &values(rows * cols, slot)).unwrap();
            tape.parameter(slot, &matrix)
        });
        let [layer, layer_bias, input, recurrent, bias] = weights;
        let all = values(steps * vertices * width, 9);
        let (mut sources, mut ends) = (Vec::new(), Vec::new());
        let cut = sequence_pieces(vertices, hidden, count);
        assert_eq!(cut.last().unwrap().end, vertices);
        for own in cut {
            let rows = |cols: usize| {
                let of = move |step: usize| {
                    (step * vertices + own.start) * cols..(step * vertices + own.end) * cols
                };
                (0..steps).map(of)
            };
            let here: Vec<f32> = rows(width).flat_map(|range| all[range].to_vec()).collect();
            let x = tape.variable(steps * own.len(), width, &here).unwrap();
            if count > 1 {
                tape.set_piece(Some(Piece { steps, vertices, from: own.start }));
            }
            let y = tape.linear(x, layer, Some(layer_bias), activation).unwrap();
            let zeros = tape.zeros(own.len(), hidden);
            let gates = GateInput::Rows { x: y, weight: input, bias: Some(bias) };
            let recurrence = LstmRecurrence { weight: recurrent, bias: None };
            let states = tape.lstm(gates, zeros, zeros, Some(recurrence), None).unwrap();
            tape.set_piece(None);
            sources.push((x, own.clone()));
            ends.push(states.hidden);
        }
        let seeds: Vec<_> = ends.iter().map(|&end| (end, crate::Seed::Number(0.25))).collect();
        let hidden_rows: Vec<Vec<f32>> = ends.iter().map(|&end| tape.value(end).to_vec()).collect();
        tape.backward_from_all(&seeds).unwrap();
        let mut found: Vec<Vec<f32>> =
            weights.iter().map(|&weight| tape.gradient(weight).unwrap().to_vec()).collect();
        let mut whole = |cols: usize, parts: Vec<Vec<f32>>| {
            let mut all = vec![0.0; steps * vertices * cols];
            for ((_, own), part) in sources.iter().zip(parts) {
                for step in 0..steps {
                    let to = (step * vertices + own.start) * cols;
                    let from = step * own.len() * cols..(step + 1) * own.len() * cols;
                    all[to..to + from.len()].copy_from_slice(&part[from]);
                }
            }
            found.push(all);
        };
        let gradient = |tape: &Tape, x| tape.gradient(x).map_or_else(Vec::new, <[f32]>::to_vec);
        whole(width, sources.iter().map(|&(x, _)| gradient(&tape, x)).collect());
        whole(hidden, hidden_rows);
        found
    }

    #[test]
    fn a_sequence_in_pieces_has_the_bits_of_a_whole_one() {
        for (vertices, hidden) in [(700, 16), (1000, 6), (40, 16)] {
            for activation in [Activation::Identity, Activation::Relu] {
                let whole = run(vertices, hidden, activation, 1);
                for count in [2, 5, 8] {
                    let pieces = run(vertices, hidden, activation, count);
                    assert!(whole == pieces, "{vertices} vertices of {hidden} in {count} pieces");
                }
            }
        }
        // So large that the linear layer's gradients are computed block by block.
        let [whole, pieces] = [1, 5].map(|count| run(24_000, 32, Activation::Relu, count));
        assert!(whole == pieces);
    }
}
