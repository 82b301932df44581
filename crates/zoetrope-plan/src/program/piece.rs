//! The forward pass of a piece of a frame: the stages of the model, group by group, with the exchanges
//! between them.

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use super::builder::Builder;
use super::facts::{FrameFacts, ModelStage, StageRole};
use super::rows::{PieceRows, RowsOut};
use super::{Purpose, TaskKind, TaskShape};
use crate::placement::grid::even_parts;
use crate::strategy::{all_reduce_bytes, statistics_values};

/// Bytes of a value.
const VALUE: u64 = 4;

/// Some snapshots of a frame that are on the tape together.
pub(super) struct PieceWork {
    /// The snapshots, counted from the start of the frame.
    pub(super) within: Range<usize>,
    /// The groups of structure encoders, as ranges of this rank's snapshots.
    pub(super) groups: Vec<Range<usize>>,
    /// What this rank has of it.
    pub(super) rows: PieceRows,
}

/// An exchange whose gradients go the other way in the backward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Returning {
    kind: TaskKind,
    purpose: Purpose,
    bytes: u64,
}

impl Returning {
    fn rows(purpose: Purpose, bytes: u64) -> Self {
        Self { kind: TaskKind::Exchange, purpose, bytes }
    }
}

/// Puts the forward pass of a piece into a program. Returns the exchanges that the backward pass turns
/// around, in the order in which their rows arrived.
pub(super) fn forward(
    program: &mut Builder,
    facts: &FrameFacts<'_>,
    piece: &PieceWork,
) -> Vec<Returning> {
    let mut work = Forward {
        program,
        piece,
        returning: Vec::new(),
        arriving: Vec::new(),
        pending: Vec::new(),
    };
    let mut stages = facts.stages.iter().peekable();
    let overlap = piece.rows.beside.as_ref().map(|beside| beside.overlap);
    let [parts, pieces] = overlap.map_or([1, 1], |overlap| [overlap.parts, overlap.pieces]);
    let mut cut = [1, 1];
    while let Some(stage) = stages.next() {
        match stage.role {
            StageRole::InParts => cut[0] = parts,
            StageRole::InPieces => cut[1] = pieces,
            StageRole::Halo => work.exchange(Purpose::Halo, piece.rows.halo, stage),
            StageRole::Structure if cut != [1, 1] => {
                let leaves = stages.next_if(|next| next.role == StageRole::ToTime);
                work.structure_beside(stage, leaves.unwrap_or(stage), cut);
                cut[0] = 1;
            }
            StageRole::Structure => work.structure(stage),
            StageRole::Time if cut[1] > 1 => {
                let leaves = stages.next_if(|next| next.role == StageRole::ToStructure);
                let parts = if goes_on_in_parts(&stages) { parts } else { 1 };
                work.time_in_pieces(stage, leaves.unwrap_or(stage), [parts, cut[1]]);
                cut[1] = 1;
            }
            StageRole::Time => {
                let rows = piece.within.len() as u64 * piece.rows.time_vertices;
                work.layer(TaskKind::Time, stage, rows, 0);
            }
            StageRole::ToTime => work.exchange(Purpose::ToTime, piece.rows.to_time, stage),
            StageRole::ToStructure if parts > 1 && goes_on_in_parts(&stages) => {
                work.pending = (0..parts).map(|_| Vec::new()).collect();
                work.leave(stage, [0, 1]);
            }
            StageRole::ToStructure => {
                let back = piece.rows.to_time.map(RowsOut::reversed);
                work.exchange(Purpose::ToStructure, back, stage);
            }
            StageRole::HaloInTime => work.halo_in_time(stage),
            StageRole::ToAll => {
                let best = piece.rows.together.as_ref().map(|all| all.best(stage.outputs));
                work.exchange(Purpose::Best, best, stage);
            }
            StageRole::Statistics | StageRole::Sum => work.together(stage),
        }
    }
    work.receive();
    let answered = ModelStage {
        role: StageRole::Halo,
        layer: 0,
        inputs: facts.width,
        outputs: facts.width,
        needs_gradient: true,
    };
    work.exchange(Purpose::Answers, piece.rows.to_answers, &answered);
    work.returning
}

/// Whether the next structure encoder runs in parts.
fn goes_on_in_parts(stages: &Peekable<Iter<'_, ModelStage>>) -> bool {
    let mut before = stages.clone().take_while(|stage| stage.role != StageRole::Structure);
    before.any(|stage| stage.role == StageRole::InParts)
}

/// An exchange under way: its number, and whether its gradients go the other way.
type Sent = (usize, Returning, bool);

/// Puts the exchanges of a backward pass into a program, the last that arrived first.
pub(super) fn turn_around(program: &mut Builder, returning: &[Returning]) {
    program.backward = true;
    for &Returning { kind, purpose, bytes } in returning.iter().rev() {
        program.talk(kind, purpose, bytes);
    }
    program.backward = false;
}

impl RowsOut {
    /// The rows of the exchange in the other direction.
    pub(super) fn reversed(self) -> Self {
        Self { forward: self.backward, backward: self.forward }
    }
}

struct Forward<'w> {
    program: &'w mut Builder,
    piece: &'w PieceWork,
    returning: Vec<Returning>,
    /// By piece what is on its way to time encoders.
    arriving: Vec<Vec<Sent>>,
    /// By part what is on its way to structure encoders.
    pending: Vec<Vec<Sent>>,
}

impl Forward<'_> {
    fn layer(&mut self, kind: TaskKind, stage: &ModelStage, rows: u64, edges: u64) -> usize {
        let shape = TaskShape { rows, edges, inputs: stage.inputs, outputs: stage.outputs };
        self.program.layer(kind, stage.layer, shape)
    }

    /// Rows that leave and are waited for; nothing if all are where they have to be.
    fn exchange(&mut self, purpose: Purpose, rows: Option<RowsOut>, stage: &ModelStage) {
        let Some(rows) = rows else { return };
        let width = stage.inputs as u64 * VALUE;
        self.program.talk(TaskKind::Exchange, purpose, rows.forward * width);
        if stage.needs_gradient {
            self.returning.push(Returning::rows(purpose, rows.backward * width));
        }
    }

    /// Rows of one snapshot of a time encoder; a miniature has as many as a whole frame. A state that comes from
    /// an earlier block needs a gradient, too.
    fn halo_in_time(&mut self, stage: &ModelStage) {
        let rows = self.piece.rows.in_time.get(stage.layer).copied();
        let needs_gradient = stage.needs_gradient || self.piece.within.start > 0;
        self.exchange(Purpose::Halo, rows, &ModelStage { needs_gradient, ..*stage });
    }

    /// Statistics of the rows of all ranks, or sums over them.
    fn together(&mut self, stage: &ModelStage) {
        let Some(all) = &self.piece.rows.together else { return };
        let (kind, [there, back]) = match stage.role {
            StageRole::Sum => {
                let bytes = all_reduce_bytes(all.ranks, all.rank, stage.outputs);
                (TaskKind::AllReduce, [bytes, bytes])
            }
            _ => {
                let bytes = |values: usize| (all.ranks as u64 - 1) * values as u64 * VALUE;
                (TaskKind::AllGather, statistics_values(stage.inputs).map(bytes))
            }
        };
        let purpose = Purpose::Statistics;
        self.program.talk(kind, purpose, there);
        if stage.needs_gradient {
            self.returning.push(Returning { kind, purpose, bytes: back });
        }
    }

    /// The own snapshots of the piece by group.
    fn structure(&mut self, stage: &ModelStage) {
        self.receive();
        if self.piece.groups.len() <= 1 {
            let own = self.piece.rows.own_steps.len();
            self.structure_of(stage, 0..own);
            return;
        }
        for group in self.piece.groups.clone() {
            self.structure_of(stage, group);
        }
    }

    fn structure_of(&mut self, stage: &ModelStage, own: Range<usize>) -> usize {
        let PieceRows { vertices, edges, .. } = &self.piece.rows;
        let (rows, edges) = (own.len() as u64 * vertices, edges[own].iter().sum());
        self.layer(TaskKind::Structure, stage, rows, edges)
    }

    /// One part after the other, each of which leaves for all pieces while the next is computed.
    fn structure_beside(&mut self, stage: &ModelStage, leaves: &ModelStage, cut: [usize; 2]) {
        let Some(beside) = self.piece.rows.beside.clone() else { return };
        let [parts, pieces] = cut;
        let (own, width) = (self.piece.rows.own_steps.len(), leaves.inputs as u64 * VALUE);
        let mut sent: Vec<Vec<Sent>> = (0..pieces).map(|_| Vec::new()).collect();
        let coming = if parts > 1 && self.pending.len() == parts {
            std::mem::take(&mut self.pending)
        } else {
            self.receive();
            Vec::new()
        };
        let mut coming = coming.into_iter();
        for part in 0..parts {
            coming.next().into_iter().flatten().for_each(|one| self.arrived(one));
            if parts == 1 {
                self.structure(stage);
            } else {
                let steps = even_parts(own, parts).nth(part).unwrap_or(0..0);
                self.structure_of(stage, steps);
            }
            for (piece, sent) in sent.iter_mut().enumerate() {
                let rows = beside.to_time([part, parts], [piece, pieces]);
                let id = self.program.send(Purpose::ToTime, rows.forward * width);
                let returning = Returning::rows(Purpose::ToTime, rows.backward * width);
                sent.push((id, returning, leaves.needs_gradient));
            }
        }
        if pieces > 1 {
            self.arriving = sent;
        } else {
            sent.into_iter().flatten().for_each(|one| self.arrived(one));
        }
    }

    /// One piece after the other, each of which leaves for all parts while the next is computed.
    fn time_in_pieces(&mut self, stage: &ModelStage, leaves: &ModelStage, cut: [usize; 2]) {
        let Some(beside) = self.piece.rows.beside.clone() else { return };
        let [parts, pieces] = cut;
        self.pending = (0..parts).map(|_| Vec::new()).collect();
        for (piece, coming) in std::mem::take(&mut self.arriving).into_iter().enumerate() {
            coming.into_iter().for_each(|one| self.arrived(one));
            let steps = self.piece.within.len() as u64;
            let rows = steps * beside.own_vertices([piece, pieces]);
            self.layer(TaskKind::Time, stage, rows, 0);
            self.leave(leaves, [piece, pieces]);
        }
    }

    /// Rows of a piece leave for all parts.
    fn leave(&mut self, stage: &ModelStage, piece: [usize; 2]) {
        let Some(beside) = &self.piece.rows.beside else { return };
        let (width, parts) = (stage.inputs as u64 * VALUE, self.pending.len());
        for (part, sent) in self.pending.iter_mut().enumerate() {
            let rows = beside.to_time([part, parts], piece).reversed();
            let id = self.program.send(Purpose::ToStructure, rows.forward * width);
            let returning = Returning::rows(Purpose::ToStructure, rows.backward * width);
            sent.push((id, returning, stage.needs_gradient));
        }
    }

    /// Waits for everything that is on its way to structure encoders.
    fn receive(&mut self) {
        for one in std::mem::take(&mut self.pending).into_iter().flatten() {
            self.arrived(one);
        }
    }

    fn arrived(&mut self, (id, returning, needs_gradient): Sent) {
        self.program.wait_for(id);
        if needs_gradient {
            self.returning.push(returning);
        }
    }
}
