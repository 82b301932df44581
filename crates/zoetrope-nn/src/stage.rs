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
    /// The structure encoder that follows may run in parts, beside exchanges of rows.
    InParts,
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
            Self::InParts => "in-parts",
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
    /// The position of its layer among those of its kind; 0 for exchanges.
    pub layer: usize,
    /// The width of the rows that went in.
    pub inputs: usize,
    /// The width of the rows that came out.
    pub outputs: usize,
    /// Whether a gradient flows back to the rows that went in.
    pub needs_gradient: bool,
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
        listener.stage(Stage { kind, layer, inputs, outputs, needs_gradient }, began);
    }

    /// Says that something without rows of its own is over that began at `began`.
    pub fn tell(&self, kind: StageKind, began: Instant) {
        let Some(listener) = self.listener() else { return };
        let stage = Stage { kind, layer: 0, inputs: 0, outputs: 0, needs_gradient: false };
        listener.stage(stage, began);
    }

    /// Says that rows are at a place where ranks that share the frame exchange them.
    pub(crate) fn may_exchange(&mut self, kind: StageKind, rows: Var) {
        if self.listener().is_some() {
            self.stage_is_over(kind, 0, rows, rows, Instant::now());
        }
    }
}
