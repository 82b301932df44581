//! How rows of a piece move between ranks, as encoders ask for it.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_dist::Exchange;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::{Cut, PendingRows, RowExchange, VertexNumbers};
use zoetrope_plan::Placements;
use zoetrope_tensor::{Tape, TensorError, TogetherWith, Var};

use super::beside_computing::{self, BesideComputing};
use super::piece::Piece;
use super::sharing::FrameSharing;

/// How rows of a piece move; None if they are where they have to be.
#[derive(Debug)]
pub(super) struct PieceExchange {
    pub(super) gather: Option<Exchange>,
    /// By snapshot of the piece; nothing if time encoders do not gather.
    pub(super) in_time: Vec<Exchange>,
    pub(super) moves: Arc<Moves>,
}

/// How rows of a piece move that depend on its place in its frame alone: the same in all frames of one length.
#[derive(Debug)]
pub(super) struct Moves {
    to_time: Option<Exchange>,
    to_structure: Option<Exchange>,
    to_answers: Option<Exchange>,
    /// The snapshots that the rank answers for, counted from the start of the frame.
    pub(super) answers: Range<usize>,
    /// Both directions in parts, if rows move beside computing.
    beside: Option<BesideComputing>,
    /// The vertices of the rank.
    numbers: VertexNumbers,
    sharing: FrameSharing,
    placements: Arc<Placements>,
    piece: Piece,
}

impl Moves {
    pub(super) fn new(
        sharing: &FrameSharing,
        placements: &Arc<Placements>,
        piece: &Piece,
        own: &Range<usize>,
        (coverage, width): (Coverage, usize),
    ) -> Result<Self, TensorError> {
        let to_time = sharing.to_time(placements, piece);
        let to_structure = to_time.as_ref().map(|exchange| {
            let back = exchange.plan().reversed().expect("each cell is in one place");
            Exchange::new(&sharing.ranks, back)
        });
        let (answers, to_answers) = match coverage {
            Coverage::Every => sharing.to_answers(own),
            Coverage::Last => sharing.last_to_answers(placements, piece),
        };
        // Rows of other ranks are gathered for all snapshots at once: nothing is left to compute beside.
        let beside = sharing
            .overlap
            .filter(|_| to_time.is_some() && sharing.grid.members == 1)
            .map(|overlap| BesideComputing::new(sharing, overlap, placements, piece, width));
        Ok(Self {
            to_time,
            to_structure,
            to_answers,
            answers,
            beside,
            numbers: sharing.numbers(placements, piece)?,
            sharing: sharing.clone(),
            placements: Arc::clone(placements),
            piece: piece.clone(),
        })
    }
}

fn through(exchange: Option<&Exchange>, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
    exchange.map_or(Ok(rows), |exchange| exchange.apply(tape, rows))
}

impl RowExchange for PieceExchange {
    fn gather(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.gather.as_ref(), tape, rows)
    }

    fn to_time(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.moves.to_time.as_ref(), tape, rows)
    }

    fn to_structure(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.moves.to_structure.as_ref(), tape, rows)
    }

    fn gather_in_time(&self, tape: &mut Tape, step: usize, rows: Var) -> Result<Var, TensorError> {
        through(self.in_time.get(step), tape, rows)
    }

    fn to_all(&self, tape: &mut Tape, rows: Var, count: usize) -> Result<Var, TensorError> {
        let Moves { sharing, placements, piece, .. } = &*self.moves;
        sharing.to_all(placements, piece, count).apply(tape, rows)
    }

    fn sum(&self, tape: &mut Tape, rows: Var) -> Var {
        self.moves.sharing.ranks.sum_on_tape(tape, rows)
    }

    fn together(&self) -> Arc<dyn TogetherWith> {
        Arc::new(self.moves.sharing.ranks.clone())
    }

    fn parts(&self) -> usize {
        self.moves.beside.as_ref().map_or(1, BesideComputing::parts)
    }

    fn pieces(&self) -> &[Range<usize>] {
        self.moves.beside.as_ref().map_or(&[][..], BesideComputing::pieces)
    }

    fn start_to_time(
        &self,
        tape: &mut Tape,
        part: Cut,
        pieces: usize,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError> {
        self.beside().start_to_time(tape, part, pieces, rows)
    }

    fn start_to_structure(
        &self,
        tape: &mut Tape,
        piece: Cut,
        parts: usize,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError> {
        self.beside().start_to_structure(tape, piece, parts, rows)
    }

    fn receive(&self, tape: &mut Tape, pending: Vec<PendingRows>) -> Result<Var, TensorError> {
        Ok(beside_computing::receive(tape, pending))
    }
}

impl PieceExchange {
    fn beside(&self) -> &BesideComputing {
        self.moves.beside.as_ref().expect("rows move beside computing")
    }

    /// The vertices of the rank.
    pub(super) fn numbers(&self) -> &VertexNumbers {
        &self.moves.numbers
    }

    /// From the cells of the encoders that describe them to whole snapshots.
    pub(super) fn to_answers(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.moves.to_answers.as_ref(), tape, rows)
    }
}
