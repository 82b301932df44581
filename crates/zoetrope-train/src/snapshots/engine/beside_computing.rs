//! Redistributions that a rank does not wait for at once: from parts of its snapshots to pieces of its vertices, and
//! back.

use std::ops::Range;

use zoetrope_dist::{Exchange, PendingExchange};
use zoetrope_nn::{Cut, PendingRows};
use zoetrope_plan::{Overlap, Placements};
use zoetrope_tensor::{Tape, TensorError, Var};

use super::piece::Piece;
use super::sharing::FrameSharing;

/// Exchanges from each part to each piece, and back, for one number of parts and of pieces.
#[derive(Debug)]
struct Grid {
    /// By part, then by piece.
    to_time: Vec<Vec<Exchange>>,
    /// By piece, then by part.
    to_structure: Vec<Vec<Exchange>>,
}

impl Grid {
    fn new(sharing: &FrameSharing, to_time: Vec<Vec<Exchange>>) -> Self {
        let back = |part: &Vec<Exchange>, number: usize| {
            let back = part[number].plan().reversed().expect("each cell is in one place");
            Exchange::new(&sharing.ranks, back)
        };
        let of_piece = |number| to_time.iter().map(|part| back(part, number)).collect();
        let to_structure: Vec<Vec<Exchange>> = (0..to_time[0].len()).map(of_piece).collect();
        Self { to_time, to_structure }
    }

    fn size(&self) -> (usize, usize) {
        (self.to_time.len(), self.to_structure.len())
    }
}

/// How the rows of a piece of a frame move beside computing.
#[derive(Debug)]
pub(super) struct BesideComputing {
    overlap: Overlap,
    /// With parts and pieces, and with one of either if what is at that end needs all rows at once.
    grids: Vec<Grid>,
    pieces: Vec<Range<usize>>,
}

impl BesideComputing {
    /// `width` is that of the states of time encoders.
    pub(super) fn new(
        sharing: &FrameSharing,
        overlap: Overlap,
        placements: &Placements,
        piece: &Piece,
        width: usize,
    ) -> Self {
        let one = |piece: Range<usize>| std::iter::once(piece).collect();
        let mut grids: Vec<Grid> = Vec::new();
        for parts in [overlap.parts, 1] {
            for cut in [true, false] {
                let pieces = |vertices: usize| {
                    if cut { sharing.pieces(vertices, width) } else { one(0..vertices) }
                };
                let made = sharing.to_time_in_parts(placements, piece, parts, &pieces);
                let made = Grid::new(sharing, made);
                if grids.iter().all(|grid| grid.size() != made.size()) {
                    grids.push(made);
                }
            }
        }
        let within = piece.within();
        let time = placements.time.share(sharing.rank(), sharing.vertices(), within).vertices;
        Self { overlap, grids, pieces: sharing.pieces(time.len(), width) }
    }

    pub(super) fn parts(&self) -> usize {
        self.overlap.parts
    }

    pub(super) fn pieces(&self) -> &[Range<usize>] {
        &self.pieces
    }

    fn grid(&self, parts: usize, pieces: usize) -> &Grid {
        let found = self.grids.iter().find(|grid| grid.size() == (parts, pieces));
        found.expect("all or one of parts and pieces")
    }

    pub(super) fn start_to_time(
        &self,
        tape: &mut Tape,
        part: Cut,
        pieces: usize,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError> {
        start(&self.grid(part.of, pieces).to_time[part.number], tape, rows)
    }

    pub(super) fn start_to_structure(
        &self,
        tape: &mut Tape,
        piece: Cut,
        parts: usize,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError> {
        start(&self.grid(parts, piece.of).to_structure[piece.number], tape, rows)
    }
}

fn start(
    exchanges: &[Exchange],
    tape: &mut Tape,
    rows: Var,
) -> Result<Vec<PendingRows>, TensorError> {
    let sent = Exchange::start_each(exchanges, tape, rows)?;
    Ok(sent.into_iter().map(PendingRows::new).collect())
}

/// Waits for what comes into one matrix.
pub(super) fn receive(tape: &mut Tape, pending: Vec<PendingRows>) -> Var {
    let pending = pending.into_iter().map(PendingRows::into_inner::<PendingExchange>).collect();
    PendingExchange::arrive_together(pending, tape)
}
