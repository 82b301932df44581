//! What a rank has of the graph and of the features: made for a snapshot when it is first asked for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_dist::Exchange;
use zoetrope_graph::{SnapshotSequence, SnapshotView};
use zoetrope_nn::model::{Coverage, Model};
use zoetrope_nn::{Adjacency, NnError, PendingRows, PreparedGraph, RowExchange, VertexNumbers};
use zoetrope_plan::partition::visit_renamed;
use zoetrope_plan::{Halo, Placements, SnapshotHalo};
use zoetrope_tensor::{
    Device, Matrix, SparseGroup, SparseMatrix, Tape, TensorError, TogetherWith, Var,
};

use super::features::Features;
use super::piece::Piece;
use super::runner::Sending;
use super::sent_graph::SentGraph;
use super::sharing::FrameSharing;

/// How rows of a piece move; None if they are where they have to be.
#[derive(Debug)]
pub(super) struct PieceExchange {
    gather: Option<Exchange>,
    /// By snapshot of the piece; nothing if time encoders do not gather.
    in_time: Vec<Exchange>,
    moves: Arc<Moves>,
}

/// How rows of a piece move that depend on its place in its frame alone: the same in all frames of one length.
#[derive(Debug)]
struct Moves {
    to_time: Option<Exchange>,
    to_structure: Option<Exchange>,
    to_answers: Option<Exchange>,
    /// The snapshots that the rank answers for, counted from the start of the frame.
    answers: Range<usize>,
    /// Both directions cut into parts, if messages overlap with computing.
    overlap: Option<Overlap>,
    /// The vertices of the rank.
    numbers: VertexNumbers,
    sharing: FrameSharing,
    placements: Arc<Placements>,
    piece: Piece,
}

impl Moves {
    fn new(
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

/// Rows of a matrix.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub(super) matrix: Arc<Matrix>,
    pub(super) range: Range<usize>,
}

impl Rows {
    /// Their width and their values.
    pub(super) fn values(&self) -> (usize, &[f32]) {
        let (width, Range { start, end }) = (self.matrix.shape().cols, self.range.clone());
        (width, &self.matrix.as_slice()[start * width..end * width])
    }
}

/// A rank's share of a piece.
#[derive(Debug)]
pub(super) struct LocalPiece {
    /// The matrices of its structure encoders.
    pub(super) graph: PreparedGraph,
    /// Its features.
    pub(super) features: Rows,
    /// `Â·X` of them, if that is kept.
    pub(super) aggregated: Option<Rows>,
    /// These rows counted from the start of the data.
    pub(super) place: Range<usize>,
    /// The first of its snapshots, counted from the start of the piece.
    pub(super) first: usize,
    /// The matrices of its time encoders.
    pub(super) time_graph: PreparedGraph,
    /// The snapshots that it answers for, counted from the start of the sequence.
    pub(super) answers: Range<usize>,
    pub(super) exchange: PieceExchange,
}

/// What a rank has of a snapshot: its rows, and nothing of the others.
#[derive(Debug)]
struct OwnSnapshot {
    /// In the order of the forms.
    matrices: Vec<Arc<SparseMatrix>>,
    /// What is gathered from others, if the vertices are shared.
    halo: Option<SnapshotHalo>,
}

/// The rows of a rank of consecutive snapshots.
#[derive(Debug)]
struct Stretch {
    steps: Range<usize>,
    /// None if those of all ranks lie in one matrix that they share.
    features: Option<Arc<Matrix>>,
    aggregated: Option<Arc<Matrix>>,
}

/// A rank's share of a sequence.
#[derive(Debug)]
pub(super) struct LocalGraph {
    sharing: FrameSharing,
    device: Device,
    /// The snapshots between vertices as the data numbers them.
    sequence: Arc<SnapshotSequence>,
    forms: Vec<Adjacency>,
    own: HashMap<usize, OwnSnapshot>,
    /// The forms that time encoders multiply with, and what these have of each snapshot.
    time_forms: Vec<Adjacency>,
    in_time: HashMap<usize, OwnSnapshot>,
    /// Which snapshots of a frame the model describes.
    coverage: Coverage,
    /// By the length of a frame.
    placements: HashMap<usize, Arc<Placements>>,
    /// By the length of a frame and the steps of a piece in it.
    moves: HashMap<(usize, Range<usize>), Arc<Moves>>,
    /// The features of all vertices as the data has them.
    data: Features,
    /// Whether `Â·X` is kept.
    reuse: bool,
    /// Those of the rank's rows. Stretches overlap only if nobody said that their pieces would come.
    stretches: Vec<Stretch>,
    /// Consecutive snapshots of the rank in pieces that will come.
    expected: Vec<Range<usize>>,
    /// The snapshots as a GPU gets them, unless each is sent when it is first multiplied with and stays there:
    /// those of training, and those of other pieces.
    sent: Vec<SentGraph>,
}

impl LocalGraph {
    pub(super) fn new(
        sharing: FrameSharing,
        device: &Device,
        sequence: &Arc<SnapshotSequence>,
        data: Features,
        model: &dyn Model,
        reuse: bool,
    ) -> Self {
        let (mut forms, time_forms) = (model.forms(), model.time_forms());
        forms.retain(|form| !time_forms.contains(form));
        Self {
            sharing,
            device: device.clone(),
            sequence: Arc::clone(sequence),
            forms,
            own: HashMap::new(),
            time_forms,
            in_time: HashMap::new(),
            coverage: model.coverage(),
            placements: HashMap::new(),
            moves: HashMap::new(),
            data,
            reuse,
            stretches: Vec::new(),
            expected: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Says how a GPU gets the snapshots of the pieces of training, and those of other pieces, which are a
    /// sequence of their own. What is in neither is sent when it is first multiplied with, and stays there.
    pub(super) fn send(
        &mut self,
        training: &[Piece],
        others: &[Piece],
        sending: Sending,
    ) -> Result<(), NnError> {
        for pieces in [training, others] {
            let mut steps = Vec::new();
            for piece in pieces {
                let own = self.own_steps(piece);
                self.prepare(own.clone())?;
                steps.extend(own);
            }
            steps.sort_unstable();
            steps.dedup();
            if steps.is_empty() {
                continue;
            }
            let forms = self.forms.iter().enumerate().map(|(form, &name)| {
                let matrices = steps.iter().map(|at| Arc::clone(&self.own[at].matrices[form]));
                (name, matrices.collect())
            });
            let vertices = self.sharing.own_vertices().len();
            let sent = SentGraph::new(vertices, steps.clone(), forms);
            sending.apply(sent.graph());
            self.sent.push(sent);
        }
        Ok(())
    }

    /// The snapshots of training that a GPU gets as one sequence, and those of other pieces.
    pub(super) fn sent(&self) -> &[SentGraph] {
        &self.sent
    }

    /// Whether `Â·X` is kept.
    pub(super) fn keeps_aggregations(&self) -> bool {
        self.reuse
    }

    /// Features of a vertex.
    pub(super) fn width(&self) -> usize {
        self.data.width()
    }

    /// The snapshots of a piece whose structure encoders run here, counted from the start of the data.
    pub(super) fn own_steps(&mut self, piece: &Piece) -> Range<usize> {
        let placements = self.placements_of(piece.frame.len());
        let own = self.sharing.own_steps(&placements, piece);
        piece.frame.start + own.start..piece.frame.start + own.end
    }

    /// The matrices of some snapshots.
    fn graph_of(&self, steps: &Range<usize>) -> PreparedGraph {
        let mut sent = self.sent.iter().filter(|_| !steps.is_empty());
        if let Some(graph) = sent.find_map(|sent| sent.cut(steps.clone())) {
            return graph;
        }
        share_of(self.sharing.own_vertices().len(), steps, &self.forms, &self.own)
    }

    pub(super) fn sharing(&self) -> &FrameSharing {
        &self.sharing
    }

    /// Says which pieces will come: rows that several of them have are kept once.
    pub(super) fn expect(&mut self, pieces: &[Piece]) {
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let placements = self.placements_of(piece.frame.len());
            let own = self.sharing.own_steps(&placements, piece);
            ranges.push(piece.frame.start + own.start..piece.frame.start + own.end);
        }
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        for range in ranges {
            match self.expected.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => self.expected.push(range),
            }
        }
    }

    fn placements_of(&mut self, length: usize) -> Arc<Placements> {
        let make = || Arc::new(self.sharing.placements(length));
        Arc::clone(self.placements.entry(length).or_insert_with(make))
    }

    /// The rank's share of a piece.
    pub(super) fn cut(&mut self, piece: &Piece) -> Result<LocalPiece, NnError> {
        let placements = self.placements_of(piece.frame.len());
        let own = self.sharing.own_steps(&placements, piece);
        let start = piece.frame.start;
        let steps = start + own.start..start + own.end;
        self.prepare(steps.clone())?;
        let (features, aggregated) = self.rows(&steps)?;
        let in_time = self.exchanges_in_time(&placements, piece)?;
        let sharing = &self.sharing;
        let halo = (sharing.grid.members > 1).then(|| {
            let of = |step: usize| {
                let halo = self.own[&(start + step)].halo.as_ref();
                halo.expect("vertices are shared")
            };
            let (vertices, rank) = (sharing.vertices(), sharing.rank());
            Halo::of_snapshots(&placements.structure, vertices, piece.within(), rank, of)
        });
        let gather = halo.as_ref().map(|halo| sharing.exchange(&halo.route));
        let place = (piece.frame.len(), piece.within());
        let moves = match self.moves.get(&place) {
            Some(moves) => Arc::clone(moves),
            None => {
                let made = Moves::new(sharing, &placements, piece, &own, self.coverage)?;
                let made = Arc::new(made);
                self.moves.insert(place, Arc::clone(&made));
                made
            }
        };
        let vertices = sharing.own_vertices().len();
        let time = placements.time.share(sharing.rank(), sharing.vertices(), piece.within());
        let exchange = PieceExchange { gather, in_time, moves };
        let (time_vertices, all) = (time.vertices.len(), &piece.steps);
        Ok(LocalPiece {
            graph: self.graph_of(&steps),
            time_graph: share_of(time_vertices, all, &self.time_forms, &self.in_time),
            place: steps.start * vertices..steps.end * vertices,
            features,
            aggregated,
            first: steps.start - piece.steps.start,
            answers: start + exchange.moves.answers.start..start + exchange.moves.answers.end,
            exchange,
        })
    }

    /// What time encoders gather at each snapshot of a piece; nothing if they do not.
    fn exchanges_in_time(
        &mut self,
        placements: &Placements,
        piece: &Piece,
    ) -> Result<Vec<Exchange>, NnError> {
        let Self { sharing, device, sequence, time_forms, in_time, .. } = self;
        if time_forms.is_empty() {
            return Ok(Vec::new());
        }
        let (time, vertices, rank) = (&placements.time, sharing.vertices(), sharing.rank());
        let mut exchanges = Vec::with_capacity(piece.steps.len());
        for (step, within) in piece.steps.clone().zip(piece.within()) {
            if !in_time.contains_key(&step) {
                let renaming = sharing.renaming.as_deref();
                let look = |step, view: SnapshotView<'_>| -> Result<(), NnError> {
                    let halo = SnapshotHalo::of_vertices(view, time, vertices, rank);
                    let one = |form: &Adjacency| {
                        let rows = halo.matrix(&form.matrix(view, step)?)?;
                        Ok(Arc::new(form.arranged(device, rows)))
                    };
                    let matrices = time_forms.iter().map(one).collect::<Result<_, NnError>>()?;
                    in_time.insert(step, OwnSnapshot { matrices, halo: Some(halo) });
                    Ok(())
                };
                visit_renamed(sequence, renaming, step..step + 1, look)?;
            }
            let halo = in_time[&step].halo.as_ref().expect("time encoders share vertices");
            let route =
                Halo::of_snapshots(time, vertices, within..within + 1, rank, |_| halo).route;
            exchanges.push(sharing.exchange(&route));
        }
        Ok(exchanges)
    }

    /// Takes the rank's rows out of snapshots that nobody asked for before, one after the other.
    fn prepare(&mut self, steps: Range<usize>) -> Result<(), NnError> {
        let Self { sharing, device, sequence, forms, own, .. } = self;
        let mut from = steps.start;
        while let Some(first) = (from..steps.end).find(|step| !own.contains_key(step)) {
            let until = (first..steps.end).find(|step| own.contains_key(step));
            let until = until.unwrap_or(steps.end);
            let (renaming, split) = (sharing.renaming.as_deref(), sharing.grid.members > 1);
            visit_renamed(sequence, renaming, first..until, |step, view| -> Result<(), NnError> {
                let halo =
                    split.then(|| SnapshotHalo::of(view, sharing.own_vertices(), &sharing.starts));
                let one = |form: &Adjacency| {
                    Ok(Arc::new(match &halo {
                        None => form.prepare(device, view, step)?,
                        Some(halo) => {
                            form.arranged(device, halo.matrix(&form.matrix(view, step)?)?)
                        }
                    }))
                };
                let matrices = forms.iter().map(one).collect::<Result<_, NnError>>()?;
                own.insert(step, OwnSnapshot { matrices, halo });
                Ok(())
            })?;
            from = until;
        }
        Ok(())
    }

    /// The features of the rank's rows of some snapshots, and what is kept of them.
    fn rows(&mut self, steps: &Range<usize>) -> Result<(Rows, Option<Rows>), NnError> {
        let holds = |range: &Range<usize>| range.start <= steps.start && steps.end <= range.end;
        let found = self.stretches.iter().position(|stretch| holds(&stretch.steps));
        let at = match found {
            Some(at) => at,
            None => {
                let expected = self.expected.iter().find(|range| holds(range));
                let made = self.stretch(expected.unwrap_or(steps).clone())?;
                self.stretches.push(made);
                self.stretches.len() - 1
            }
        };
        let (stretch, vertices) = (&self.stretches[at], self.sharing.own_vertices().len());
        let of = |matrix: &Arc<Matrix>, first: usize| Rows {
            matrix: Arc::clone(matrix),
            range: (steps.start - first) * vertices..(steps.end - first) * vertices,
        };
        let features = match (&stretch.features, &self.data) {
            (Some(own), _) => of(own, stretch.steps.start),
            (None, Features::Stacked(all)) => of(all, 0),
            (None, Features::ByStep(_)) => unreachable!("features that are made are a rank's own"),
        };
        let aggregated = stretch.aggregated.as_ref().map(|kept| of(kept, stretch.steps.start));
        Ok((features, aggregated))
    }

    /// Collects the rows of consecutive snapshots of the rank.
    fn stretch(&mut self, steps: Range<usize>) -> Result<Stretch, NnError> {
        self.prepare(steps.clone())?;
        let Self { sharing, device, forms, own, data, reuse, sent, .. } = self;
        let (cols, vertices) = (data.width(), sharing.own_vertices());
        let size = vertices.len() * cols;
        let is_shared = matches!(data, Features::Stacked(_)) && sharing.renaming.is_none();
        let rows = steps.len() * vertices.len();
        let mut features = (!is_shared).then(|| Matrix::zeros(rows, cols));
        let mut aggregated = reuse.then(|| Matrix::zeros(rows, cols));
        let form = forms.iter().position(|&form| form == Adjacency::Gcn);
        let mut tape = Tape::on(device.clone());
        let all_vertices = sharing.vertices() as usize;
        data.visit(all_vertices, steps.clone(), |step, all| -> Result<(), NnError> {
            let place = (step - steps.start) * size..(step - steps.start + 1) * size;
            let row = |new: u32| {
                let vertex = sharing.old(new) as usize;
                &all[vertex * cols..(vertex + 1) * cols]
            };
            if let Some(features) = &mut features {
                let to = &mut features.as_mut_slice()[place.clone()];
                for (to, vertex) in to.chunks_exact_mut(cols.max(1)).zip(vertices.clone()) {
                    to.copy_from_slice(row(vertex));
                }
            }
            let Some(kept) = &mut aggregated else { return Ok(()) };
            let snapshot = &own[&step];
            let form = form.expect("what can be kept is of a convolution");
            let cut = |one: &SentGraph| one.cut(step..step + 1);
            let group = match sent.iter().find_map(cut) {
                Some(graph) => graph.form(Adjacency::Gcn).clone(),
                None => SparseGroup::new(Arc::new([Arc::clone(&snapshot.matrices[form])])),
            };
            // Whoever can read the features of all vertices needs none sent for this.
            let x = match &snapshot.halo {
                Some(halo) => {
                    let mut values = Vec::with_capacity(halo.rows() * cols);
                    halo.vertices().for_each(|vertex| values.extend_from_slice(row(vertex)));
                    tape.copied(halo.rows(), cols, &values)?
                }
                None => tape.copied(all_vertices, cols, all)?,
            };
            let y = tape.spmm(&group, x)?;
            tape.read_into(y, &mut kept.as_mut_slice()[place]);
            tape.reset();
            Ok(())
        })?;
        let [features, aggregated] = [features, aggregated].map(|made| made.map(Arc::new));
        Ok(Stretch { steps, features, aggregated })
    }
}

/// The matrices of some snapshots, each of which has some in the order of `forms`.
fn share_of(
    vertices: usize,
    steps: &Range<usize>,
    forms: &[Adjacency],
    snapshots: &HashMap<usize, OwnSnapshot>,
) -> PreparedGraph {
    let forms = forms.iter().enumerate().map(|(form, &name)| {
        let matrices = steps.clone().map(|step| Arc::clone(&snapshots[&step].matrices[form]));
        (name, matrices.collect())
    });
    PreparedGraph::of_share(vertices, steps.len(), forms)
}
