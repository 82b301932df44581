//! How rows of a piece move between ranks, as encoders ask for it.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_dist::Exchange;
use zoetrope_nn::model::Coverage;
use zoetrope_nn::{PendingRows, RowExchange, VertexNumbers};
use zoetrope_plan::Placements;
use zoetrope_tensor::{Tape, TensorError, TogetherWith, Var};

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
    /// Both directions cut into parts, if messages overlap with computing.
    overlap: Option<Overlap>,
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
        coverage: Coverage,
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
        let time = placements.time.share(sharing.rank(), sharing.vertices(), piece.within());
        // Rows of other ranks are gathered for all snapshots at once: nothing is left to compute beside.
        let overlap = (sharing.overlap && to_time.is_some() && sharing.grid.members == 1)
            .then(|| Overlap::new(sharing, placements, piece, time.vertices.len()));
        Ok(Self {
            to_time,
            to_structure,
            to_answers,
            answers,
            overlap,
            numbers: sharing.numbers(placements, piece)?,
            sharing: sharing.clone(),
            placements: Arc::clone(placements),
            piece: piece.clone(),
        })
    }
}

/// Redistributions in parts: of the snapshots of each rank, one part after the other.
#[derive(Debug)]
struct Overlap {
    to_time: Vec<Exchange>,
    to_structure: Vec<Exchange>,
    /// The steps of each part of all ranks, counted from the start of the piece.
    steps: Vec<Vec<usize>>,
    /// The vertices of this rank's time encoders.
    vertices: usize,
}

impl Overlap {
    fn new(
        sharing: &FrameSharing,
        placements: &Placements,
        piece: &Piece,
        vertices: usize,
    ) -> Self {
        let mut made =
            Self { to_time: Vec::new(), to_structure: Vec::new(), steps: Vec::new(), vertices };
        for part in 0..PARTS {
            let (steps, exchange) = sharing.to_time_of_part(placements, piece, part, PARTS);
            let back = exchange.plan().reversed().expect("each cell is in one place");
            made.to_structure.push(Exchange::new(&sharing.ranks, back));
            made.to_time.push(exchange);
            made.steps.push(steps);
        }
        made
    }

    fn rows_of(&self, at: usize) -> Range<usize> {
        at * self.vertices..(at + 1) * self.vertices
    }
}

/// Sends rows through an exchange and does not wait for those of others.
fn start(exchange: &Exchange, tape: &mut Tape, rows: Var) -> Result<PendingRows, TensorError> {
    let pending = exchange.start(tape, rows)?;
    Ok(PendingRows::new(|tape| Ok(pending.arrive(tape))))
}

/// Parts in which rows are redistributed if that overlaps with computing: few, because each costs
/// messages of its own.
const PARTS: usize = 4;

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
        self.moves.overlap.as_ref().map_or(1, |overlap| overlap.to_time.len())
    }

    fn start_to_time(
        &self,
        tape: &mut Tape,
        part: usize,
        rows: Var,
    ) -> Result<PendingRows, TensorError> {
        let overlap = self.moves.overlap.as_ref().expect("rows move in parts");
        start(&overlap.to_time[part], tape, rows)
    }

    fn arrange(&self, tape: &mut Tape, parts: &[Var]) -> Result<Var, TensorError> {
        let overlap = self.moves.overlap.as_ref().expect("rows move in parts");
        let mut placed = Vec::new();
        for (part, steps) in overlap.steps.iter().enumerate() {
            placed.extend(steps.iter().enumerate().map(|(at, &step)| (step, part, at)));
        }
        placed.sort_unstable();
        let mut rows = Vec::with_capacity(placed.len());
        for (_, part, at) in placed {
            rows.push(tape.rows(parts[part], overlap.rows_of(at))?);
        }
        tape.concat_rows(&rows)
    }

    fn start_to_structure(
        &self,
        tape: &mut Tape,
        rows: Var,
    ) -> Result<Vec<PendingRows>, TensorError> {
        let overlap = self.moves.overlap.as_ref().expect("rows move in parts");
        let mut pending = Vec::with_capacity(overlap.steps.len());
        for (steps, exchange) in overlap.steps.iter().zip(&overlap.to_structure) {
            let mut of_part = Vec::with_capacity(steps.len());
            for &step in steps {
                of_part.push(tape.rows(rows, overlap.rows_of(step))?);
            }
            let part = if of_part.is_empty() {
                tape.rows(rows, 0..0)?
            } else {
                tape.concat_rows(&of_part)?
            };
            pending.push(start(exchange, tape, part)?);
        }
        Ok(pending)
    }
}

impl PieceExchange {
    /// The vertices of the rank.
    pub(super) fn numbers(&self) -> &VertexNumbers {
        &self.moves.numbers
    }

    /// From the cells of the encoders that describe them to whole snapshots.
    pub(super) fn to_answers(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.moves.to_answers.as_ref(), tape, rows)
    }
}
