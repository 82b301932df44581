//! The stages of a forward pass: a [`StageListener`] is told when each one ends. Traces are written from this,
//! and the stages of a model are found by it.
//!
//! A pass that nobody listens to pays one comparison a stage.

use std::fmt::Debug;
use std::time::Instant;

use zoetrope_tensor::Var;

use crate::error::NnError;
use crate::forward::Forward;

/// What happens in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StageKind {
    /// A structure encoder runs over a group of snapshots.
    Structure,
    /// A time encoder runs over sequences, or weights evolve.
    Time,
    /// Rows of other ranks are gathered for a structure encoder; nothing if all rows are here.
    Gather,
    /// Rows of other ranks are gathered for one snapshot of a time encoder; nothing if all rows are here.
    GatherInTime,
    /// The best rows of each snapshot go to all ranks; nothing if all rows are here.
    ToAll,
    /// Ranks put the statistics of their rows together; nothing if all rows are here.
    Statistics,
    /// Ranks add up a small matrix; nothing if all rows are here.
    Sum,
    /// The structure encoder that follows may run in parts of its snapshots, beside exchanges of rows.
    InParts,
    /// The time encoder of the layer that follows may run in pieces of its vertices, beside exchanges of rows.
    InPieces,
    /// Rows go from structure encoders to time encoders; nothing if they stay where they are.
    ToTime,
    /// Rows go from time encoders to structure encoders; nothing if they stay where they are.
    ToStructure,
    /// Neighbours' rows become embeddings of the questions of a batch of events.
    Embed,
    /// What is asked is drawn at random.
    Draw,
    /// The loss of what is asked is found.
    Loss,
    /// Mails become new rows of memory of the vertices of a batch of events.
    Remember,
}

impl StageKind {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Time => "time",
            Self::Gather => "gather",
            Self::GatherInTime => "gather-in-time",
            Self::ToAll => "to-all",
            Self::Statistics => "statistics",
            Self::Sum => "sum",
            Self::InParts => "in-parts",
            Self::InPieces => "in-pieces",
            Self::ToTime => "to-time",
            Self::ToStructure => "to-structure",
            Self::Draw => "draw",
            Self::Loss => "loss",
            Self::Embed => "embed",
            Self::Remember => "remember",
        }
    }
}

/// A stage that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stage {
    /// What happened.
    pub kind: StageKind,
    /// The position of its layer among those of its kind; of [`StageKind::GatherInTime`] that of the snapshot
    /// in the frame; 0 for other exchanges.
    pub layer: usize,
    /// The width of the rows that went in.
    pub inputs: usize,
    /// The width of the rows that came out; of [`StageKind::ToAll`] how many rows of a snapshot go, of
    /// [`StageKind::Sum`] how many rows are added up.
    pub outputs: usize,
    /// Whether a gradient flows back to the rows that went in.
    pub needs_gradient: bool,
    /// What was on the tape when it was over.
    pub recorded: usize,
}

/// Who listens to a pass.
pub trait StageListener: Debug {
    /// A stage is over that began at `began`. Stages inside of another one are over before it.
    fn stage(&self, stage: Stage, began: Instant);
}

impl Forward<'_> {
    /// Computes a stage from rows to rows.
    ///
    /// # Errors
    /// As the computation.
    pub fn stage(
        &mut self,
        kind: StageKind,
        layer: usize,
        x: Var,
        compute: impl FnOnce(&mut Self) -> Result<Var, NnError>,
    ) -> Result<Var, NnError> {
        if self.listener().is_none() {
            return compute(self);
        }
        let began = Instant::now();
        let y = compute(self)?;
        self.stage_is_over(kind, layer, x, y, began);
        Ok(y)
    }

    /// Says that a stage from rows to rows is over that began at `began`.
    pub(crate) fn stage_is_over(
        &self,
        kind: StageKind,
        layer: usize,
        x: Var,
        y: Var,
        began: Instant,
    ) {
        let Some(listener) = self.listener() else { return };
        let width = |var| self.tape.shape(var).cols;
        let (inputs, outputs, needs_gradient) = (width(x), width(y), self.tape.needs_gradient(x));
        let recorded = self.tape.len();
        listener.stage(Stage { kind, layer, inputs, outputs, needs_gradient, recorded }, began);
    }

    /// Says that something without rows of its own is over that began at `began`.
    pub fn tell(&self, kind: StageKind, began: Instant) {
        let Some(listener) = self.listener() else { return };
        let recorded = self.tape.len();
        let stage =
            Stage { kind, layer: 0, inputs: 0, outputs: 0, needs_gradient: false, recorded };
        listener.stage(stage, began);
    }

    /// Says that rows are at a place where ranks that share the frame exchange them.
    pub(crate) fn may_exchange(&mut self, kind: StageKind, rows: Var) {
        self.may_exchange_at(kind, 0, rows);
    }

    /// The same at one of several such places.
    pub(crate) fn may_exchange_at(&mut self, kind: StageKind, place: usize, rows: Var) {
        if self.listener().is_some() {
            self.stage_is_over(kind, place, rows, rows, Instant::now());
        }
    }

    /// The same if so many of the rows move.
    pub(crate) fn may_exchange_some(&mut self, kind: StageKind, rows: Var, count: usize) {
        let Some(listener) = self.listener() else { return };
        let (inputs, needs_gradient) = (self.tape.shape(rows).cols, self.tape.needs_gradient(rows));
        let recorded = self.tape.len();
        let stage = Stage { kind, layer: 0, inputs, outputs: count, needs_gradient, recorded };
        listener.stage(stage, Instant::now());
    }
}
