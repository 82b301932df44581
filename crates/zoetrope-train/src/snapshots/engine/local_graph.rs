//! What a rank has of the graph and of the features: made for a snapshot when it is first asked for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_dist::Exchange;
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::{Adjacency, NnError, PendingRows, PreparedGraph, RowExchange};
use zoetrope_plan::{Halo, Placements};
use zoetrope_tensor::{Device, Matrix, SparseGroup, SparseMatrix, Tape, TensorError, Var};

use super::piece::Piece;
use super::sharing::FrameSharing;

/// How rows of a piece move; None if they are where they have to be.
#[derive(Debug)]
pub(super) struct PieceExchange {
    gather: Option<Exchange>,
    to_time: Option<Exchange>,
    to_structure: Option<Exchange>,
    to_answers: Option<Exchange>,
    /// Both directions cut into parts, if messages overlap with computing.
    overlap: Option<Overlap>,
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
        through(self.to_time.as_ref(), tape, rows)
    }

    fn to_structure(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.to_structure.as_ref(), tape, rows)
    }

    fn parts(&self) -> usize {
        self.overlap.as_ref().map_or(1, |overlap| overlap.to_time.len())
    }

    fn start_to_time(
        &self,
        tape: &mut Tape,
        part: usize,
        rows: Var,
    ) -> Result<PendingRows, TensorError> {
        let overlap = self.overlap.as_ref().expect("rows move in parts");
        start(&overlap.to_time[part], tape, rows)
    }

    fn arrange(&self, tape: &mut Tape, parts: &[Var]) -> Result<Var, TensorError> {
        let overlap = self.overlap.as_ref().expect("rows move in parts");
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
        let overlap = self.overlap.as_ref().expect("rows move in parts");
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
    /// From the cells of structure encoders to whole snapshots.
    pub(super) fn to_answers(&self, tape: &mut Tape, rows: Var) -> Result<Var, TensorError> {
        through(self.to_answers.as_ref(), tape, rows)
    }
}

/// A rank's share of a piece.
#[derive(Debug)]
pub(super) struct LocalPiece {
    /// The matrices of its structure encoders.
    pub(super) graph: PreparedGraph,
    /// The rows of its features.
    pub(super) rows: Range<usize>,
    /// The first of its snapshots, counted from the start of the piece.
    pub(super) first: usize,
    /// The vertices of its time encoders.
    pub(super) time_vertices: usize,
    /// The snapshots that it answers for, counted from the start of the sequence.
    pub(super) answers: Range<usize>,
    pub(super) exchange: PieceExchange,
}

/// A rank's share of a sequence.
#[derive(Debug)]
pub(super) struct LocalGraph {
    sharing: FrameSharing,
    device: Device,
    /// The snapshots between renamed vertices.
    sequence: Arc<SnapshotSequence>,
    forms: Vec<Adjacency>,
    /// By snapshot, in the order of the forms.
    matrices: HashMap<usize, Vec<Arc<SparseMatrix>>>,
    /// By the length of a frame.
    placements: HashMap<usize, Arc<Placements>>,
    /// The features of all vertices as the data has them.
    data: Arc<Matrix>,
    /// Those of the rank's vertices, stacked by time.
    features: Arc<Matrix>,
    /// `Â·X` of them, if that is kept; rows of snapshots that nobody asked for are 0.
    aggregated: Option<Arc<Matrix>>,
    is_aggregated: Vec<bool>,
}

impl LocalGraph {
    pub(super) fn new(
        sharing: FrameSharing,
        device: &Device,
        sequence: &Arc<SnapshotSequence>,
        features: &Arc<Matrix>,
        forms: Vec<Adjacency>,
        reuse: bool,
    ) -> Result<Self, NnError> {
        let sequence = match &sharing.renaming {
            Some(renaming) => Arc::new(renaming.snapshots(sequence)?),
            None => Arc::clone(sequence),
        };
        let (steps, data) = (sequence.steps(), Arc::clone(features));
        let features = match sharing.renaming {
            Some(_) => Arc::new(own_features(&sharing, &data)?),
            None => Arc::clone(&data),
        };
        let shape = features.shape();
        Ok(Self {
            aggregated: reuse.then(|| Arc::new(Matrix::zeros(shape.rows, shape.cols))),
            is_aggregated: vec![false; steps],
            sharing,
            device: device.clone(),
            sequence,
            forms,
            matrices: HashMap::new(),
            placements: HashMap::new(),
            data,
            features,
        })
    }

    pub(super) fn sharing(&self) -> &FrameSharing {
        &self.sharing
    }

    pub(super) fn features(&self) -> &Arc<Matrix> {
        &self.features
    }

    pub(super) fn aggregated(&self) -> Option<&Arc<Matrix>> {
        self.aggregated.as_ref()
    }

    /// The rank's share of a piece.
    pub(super) fn cut(&mut self, piece: &Piece) -> Result<LocalPiece, NnError> {
        let length = piece.frame.len();
        let placements = match self.placements.get(&length) {
            Some(placements) => Arc::clone(placements),
            None => {
                let made = Arc::new(self.sharing.placements(length));
                self.placements.insert(length, Arc::clone(&made));
                made
            }
        };
        let sharing = &self.sharing;
        let own = sharing.own_steps(&placements, piece);
        let halo = sharing.halo(&placements, piece, |step| self.sequence.at(step));
        let to_time = sharing.to_time(&placements, piece);
        let to_structure = to_time.as_ref().map(|exchange| {
            let back = exchange.plan().reversed().expect("each cell is in one place");
            Exchange::new(&sharing.ranks, back)
        });
        let (answers, to_answers) = sharing.to_answers(&own);
        let vertices = sharing.own_vertices().len();
        let time = placements.time.share(sharing.rank(), sharing.vertices(), piece.within());
        // Rows of other ranks are gathered for all snapshots at once: nothing is left to compute beside.
        let overlap = (sharing.overlap && to_time.is_some() && halo.is_none())
            .then(|| Overlap::new(sharing, &placements, piece, time.vertices.len()));
        let exchange = PieceExchange {
            gather: halo.as_ref().map(|halo| sharing.exchange(&halo.route)),
            to_time,
            to_structure,
            to_answers,
            overlap,
        };
        let start = piece.frame.start;
        let steps = start + own.start..start + own.end;
        for (at, step) in steps.clone().enumerate() {
            self.prepare(step, halo.as_ref(), at)?;
        }
        let forms = self.forms.iter().enumerate().map(|(form, &name)| {
            let matrices = steps.clone().map(|step| Arc::clone(&self.matrices[&step][form]));
            (name, matrices.collect())
        });
        Ok(LocalPiece {
            graph: PreparedGraph::of_share(vertices, steps.len(), forms),
            rows: steps.start * vertices..steps.end * vertices,
            first: steps.start - piece.steps.start,
            time_vertices: time.vertices.len(),
            answers: start + answers.start..start + answers.end,
            exchange,
        })
    }

    /// Makes the matrices of a snapshot, the `at`-th of the rank's in a halo, and aggregates its
    /// features, if nobody asked for it before.
    fn prepare(&mut self, step: usize, halo: Option<&Halo>, at: usize) -> Result<(), NnError> {
        let view = self.sequence.at(step);
        if !self.matrices.contains_key(&step) {
            let one = |form: &Adjacency| {
                Ok(Arc::new(match halo {
                    None => form.prepare(&self.device, view, step)?,
                    Some(halo) => {
                        let own = halo.steps[at].matrix(&form.matrix(view, step)?)?;
                        match self.device.gpu() {
                            Some(_) => SparseMatrix::for_gpu(own),
                            None => SparseMatrix::new(own),
                        }
                    }
                }))
            };
            let made = self.forms.iter().map(one).collect::<Result<_, NnError>>()?;
            self.matrices.insert(step, made);
        }
        let Some(kept) = self.aggregated.as_mut().filter(|_| !self.is_aggregated[step]) else {
            return Ok(());
        };
        let form = self.forms.iter().position(|&form| form == Adjacency::Gcn);
        let form = form.expect("what can be kept is of a convolution");
        let group = SparseGroup::new(Arc::new([Arc::clone(&self.matrices[&step][form])]));
        let sharing = &self.sharing;
        let mut tape = Tape::on(self.device.clone());
        let x = match halo.map(|halo| &halo.steps[at]) {
            None => {
                let vertices = group.vertices();
                tape.constant(&self.features, step * vertices..(step + 1) * vertices)?
            }
            // Every rank has read all features: nothing has to be sent for this.
            Some(halo) => {
                let (all, own) = (sharing.vertices() as usize, sharing.own_vertices());
                let (below, above) = halo.ghosts.split_at(halo.below);
                let here = below.iter().copied().chain(own).chain(above.iter().copied());
                let mut values = Vec::with_capacity(halo.rows() * self.data.shape().cols);
                for vertex in here {
                    values.extend_from_slice(
                        self.data.row(step * all + sharing.old(vertex) as usize),
                    );
                }
                tape.copied(halo.rows(), self.data.shape().cols, &values)?
            }
        };
        let y = tape.spmm(&group, x)?;
        let size = group.vertices() * self.data.shape().cols;
        let place = step * size..(step + 1) * size;
        tape.read_into(y, &mut Arc::make_mut(kept).as_mut_slice()[place]);
        self.is_aggregated[step] = true;
        Ok(())
    }
}

/// The features of a rank's vertices, stacked by time.
fn own_features(sharing: &FrameSharing, data: &Matrix) -> Result<Matrix, TensorError> {
    let (all, cols) = (sharing.vertices() as usize, data.shape().cols);
    let steps = data.shape().rows / all.max(1);
    let own = sharing.own_vertices();
    let mut values = Vec::with_capacity(steps * own.len() * cols);
    for step in 0..steps {
        for vertex in own.clone() {
            values.extend_from_slice(data.row(step * all + sharing.old(vertex) as usize));
        }
    }
    Matrix::from_slice(steps * own.len(), cols, &values)
}
