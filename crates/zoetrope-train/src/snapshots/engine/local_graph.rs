//! What a rank has of the graph and of the features: made for a snapshot when it is first asked for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_dist::Exchange;
use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::model::{Coverage, Model};
use zoetrope_nn::{NnError, PreparedGraph};
use zoetrope_plan::{Halo, Placements};
use zoetrope_tensor::Device;

use super::features::Features;
use super::own_rows::{OwnRows, RowSources, Rows};
use super::own_snapshots::OwnSnapshots;
use super::piece::Piece;
use super::piece_exchange::{Moves, PieceExchange};
use super::runner::Sending;
use super::sent_graph::SentGraph;
use super::sharing::FrameSharing;

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

/// A rank's share of a sequence.
#[derive(Debug)]
pub(super) struct LocalGraph {
    sharing: FrameSharing,
    device: Device,
    /// The snapshots between vertices as the data numbers them.
    sequence: Arc<SnapshotSequence>,
    /// What structure encoders multiply with.
    own: OwnSnapshots,
    /// What time encoders multiply with.
    in_time: OwnSnapshots,
    /// Which snapshots of a frame the model describes.
    coverage: Coverage,
    /// The width of its embeddings.
    model_width: usize,
    /// By the length of a frame.
    placements: HashMap<usize, Arc<Placements>>,
    /// By the length of a frame and the steps of a piece in it.
    moves: HashMap<(usize, Range<usize>), Arc<Moves>>,
    rows: OwnRows,
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
            own: OwnSnapshots::new(forms),
            in_time: OwnSnapshots::new(time_forms),
            coverage: model.coverage(),
            model_width: model.width(),
            placements: HashMap::new(),
            moves: HashMap::new(),
            rows: OwnRows::new(data, reuse),
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
            let forms = self.own.forms().iter().enumerate().map(|(form, &name)| {
                let matrices = steps.iter().map(|&at| Arc::clone(self.own.matrix(at, form)));
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
        self.rows.keeps_aggregations()
    }

    /// Features of a vertex.
    pub(super) fn width(&self) -> usize {
        self.rows.width()
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
        self.own.graph(self.sharing.own_vertices().len(), steps)
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
        self.rows.expect(ranges);
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
            let of = |step: usize| self.own.halo(start + step).expect("vertices are shared");
            let (vertices, rank) = (sharing.vertices(), sharing.rank());
            Halo::of_snapshots(&placements.structure, vertices, piece.within(), rank, of)
        });
        let gather = halo.as_ref().map(|halo| sharing.exchange(&halo.route));
        let place = (piece.frame.len(), piece.within());
        let moves = match self.moves.get(&place) {
            Some(moves) => Arc::clone(moves),
            None => {
                let made = Moves::new(
                    sharing,
                    &placements,
                    piece,
                    &own,
                    (self.coverage, self.model_width),
                )?;
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
            time_graph: self.in_time.graph(time_vertices, all),
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
        let Self { sharing, device, sequence, in_time, .. } = self;
        if in_time.forms().is_empty() {
            return Ok(Vec::new());
        }
        let (time, vertices, rank) = (&placements.time, sharing.vertices(), sharing.rank());
        let mut exchanges = Vec::with_capacity(piece.steps.len());
        for (step, within) in piece.steps.clone().zip(piece.within()) {
            in_time.prepare_in_time(sharing, device, sequence, time, step)?;
            let halo = in_time.halo(step).expect("time encoders share vertices");
            let route =
                Halo::of_snapshots(time, vertices, within..within + 1, rank, |_| halo).route;
            exchanges.push(sharing.exchange(&route));
        }
        Ok(exchanges)
    }

    fn prepare(&mut self, steps: Range<usize>) -> Result<(), NnError> {
        let Self { sharing, device, sequence, own, .. } = self;
        own.prepare(sharing, device, sequence, steps)
    }

    /// The features of the rank's rows of some snapshots, and what is kept of them.
    fn rows(&mut self, steps: &Range<usize>) -> Result<(Rows, Option<Rows>), NnError> {
        if let Some(missing) = self.rows.missing(steps) {
            self.prepare(missing.clone())?;
            let Self { sharing, device, own: snapshots, sent, rows, .. } = self;
            rows.collect(RowSources { sharing, device, snapshots, sent }, missing)?;
        }
        Ok(self.rows.of(steps, self.sharing.own_vertices().len()))
    }
}
