//! Memory updated by a recurrent cell: once for each distinct vertex of a batch.
//!
//! `s_i ← cell(m_i, s_i)` if a mail waits for vertex i. All vertices without mail have a memory
//! of zeros and get the same row, the cell's answer to a message of zeros, which is computed once.

use zoetrope_graph::VertexId;
use zoetrope_tensor::Var;

use super::cell::{Cell, CellState};
use super::message::{Mailbag, MessageLayers};
use super::time_encoder::TimeEncoder;
use crate::error::NnError;
use crate::forward::Forward;
use crate::memory::{EventData, VertexState};

/// Messages, their time encoding and the cell.
#[derive(Debug, Clone)]
pub(super) struct Updater {
    pub(super) layers: Option<MessageLayers>,
    pub(super) time: TimeEncoder,
    pub(super) cell: Cell,
}

impl Updater {
    /// Rows of memory with the waiting mails, one for each of these vertices.
    pub(super) fn update(
        &self,
        forward: &mut Forward<'_>,
        vertices: &[VertexId],
        events: EventData<'_>,
        state: &VertexState,
        bag: &mut Mailbag,
    ) -> Result<CellState, NnError> {
        bag.open(vertices, events, state);
        let (mails, all) = (bag.len(), bag.len() == vertices.len());
        if self.layers.is_none() && mails > 0 {
            let parts = |forward: &mut Forward<'_>| bag.parts(forward, &self.time, events, state);
            if let Some(mut hidden) = self.cell.read(forward, !all, parts)? {
                if !all {
                    hidden = forward.tape.gather(hidden, bag.place.shared())?;
                }
                return Ok(CellState { hidden, cell: None });
            }
        }
        let mailed = match mails {
            0 => None,
            _ => Some(self.mailed(forward, events, state, bag)?),
        };
        if let (true, Some(mailed)) = (all, mailed) {
            return Ok(mailed);
        }
        let others = self.cell.after_nothing(forward)?;
        let Some(mailed) = mailed else {
            let hidden = forward.tape.gather(others.hidden, bag.place.shared())?;
            let cell = others.cell.map(|cell| forward.tape.gather(cell, bag.place.shared()));
            return Ok(CellState { hidden, cell: cell.transpose()? });
        };
        let mut spread = |mailed: Var, others: Var| -> Result<Var, NnError> {
            let both = forward.tape.concat_rows(&[mailed, others])?;
            Ok(forward.tape.gather(both, bag.place.shared())?)
        };
        let hidden = spread(mailed.hidden, others.hidden)?;
        let cell = match (mailed.cell, others.cell) {
            (Some(mailed), Some(others)) => Some(spread(mailed, others)?),
            _ => None,
        };
        Ok(CellState { hidden, cell })
    }

    /// The rows of the vertices with mail.
    fn mailed(
        &self,
        forward: &mut Forward<'_>,
        events: EventData<'_>,
        state: &VertexState,
        bag: &Mailbag,
    ) -> Result<CellState, NnError> {
        let message = bag.messages(forward, self.layers.as_ref(), &self.time, events, state)?;
        let hidden = bag.state_rows(forward, state.memory_rows());
        let cell = state.options().cells.then(|| bag.state_rows(forward, state.cell_rows()));
        self.cell.apply(forward, message, CellState { hidden, cell })
    }
}
