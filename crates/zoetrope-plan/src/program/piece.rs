//! The forward pass of a piece of a frame: the stages of the model, group by group, with the exchanges
//! between them.

use std::ops::Range;

use super::builder::Builder;
use super::facts::{FrameFacts, ModelStage, StageRole};
use super::rows::{PieceRows, RowsOut};
use super::{Purpose, TaskKind, TaskShape};
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
    let mut work = Forward { program, piece, returning: Vec::new(), pending: Vec::new() };
    let mut stages = facts.stages.iter().peekable();
    let mut in_parts = false;
    while let Some(stage) = stages.next() {
        match stage.role {
            StageRole::InParts => in_parts = !piece.rows.parts.is_empty(),
            StageRole::Halo => work.exchange(Purpose::Halo, piece.rows.halo, stage),
            StageRole::Structure if std::mem::take(&mut in_parts) => {
                let leaves = stages.next_if(|next| next.role == StageRole::ToTime);
                work.structure_in_parts(stage, leaves.unwrap_or(stage));
            }
            StageRole::Structure => work.structure(stage),
            StageRole::Time => {
                let rows = piece.within.len() as u64 * piece.rows.time_vertices;
                work.layer(TaskKind::Time, stage, rows, 0);
            }
            StageRole::ToTime => work.exchange(Purpose::ToTime, piece.rows.to_time, stage),
            StageRole::ToStructure if piece.rows.parts.is_empty() => {
                let back = piece.rows.to_time.map(RowsOut::reversed);
                work.exchange(Purpose::ToStructure, back, stage);
            }
            StageRole::ToStructure => work.leave_in_parts(stage),
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
    /// Parts on their way to structure encoders, with their numbers.
    pending: Vec<(usize, Returning, bool)>,
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

    /// One part after the other, each of which leaves while the next is computed.
    fn structure_in_parts(&mut self, stage: &ModelStage, leaves: &ModelStage) {
        let own = self.piece.rows.own_steps.len();
        let count = self.piece.rows.parts.len();
        let width = leaves.inputs as u64 * VALUE;
        let (mut sent, mut arriving) = (Vec::new(), std::mem::take(&mut self.pending).into_iter());
        for (part, rows) in self.piece.rows.parts.clone().into_iter().enumerate() {
            if let Some(arrived) = arriving.next() {
                self.arrived(arrived);
            }
            let steps = crate::placement::grid::even_parts(own, count).nth(part).unwrap_or(0..0);
            self.structure_of(stage, steps);
            let id = self.program.send(Purpose::ToTime, rows.forward * width);
            let returning = Returning::rows(Purpose::ToTime, rows.backward * width);
            sent.push((id, returning, leaves.needs_gradient));
        }
        for one in sent {
            self.arrived(one);
        }
    }

    fn leave_in_parts(&mut self, stage: &ModelStage) {
        let width = stage.inputs as u64 * VALUE;
        for rows in self.piece.rows.parts.clone() {
            let rows = rows.reversed();
            let id = self.program.send(Purpose::ToStructure, rows.forward * width);
            let returning = Returning::rows(Purpose::ToStructure, rows.backward * width);
            self.pending.push((id, returning, stage.needs_gradient));
        }
    }

    /// Waits for all parts that are on their way.
    fn receive(&mut self) {
        for one in std::mem::take(&mut self.pending) {
            self.arrived(one);
        }
    }

    fn arrived(&mut self, (id, returning, needs_gradient): (usize, Returning, bool)) {
        self.program.wait_for(id);
        if needs_gradient {
            self.returning.push(returning);
        }
    }
}
