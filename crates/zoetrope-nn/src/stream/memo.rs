//! Rows of memory that were computed in this pass and are still right.
//!
//! As long as weights stand still, the row of a vertex with its waiting mail stays the same until it
//! gets another mail. Evaluation reads the same vertices again and again, as neighbours and as
//! candidates: with this each is computed once for each mail that it gets. While weights change it is
//! of no use, and a pass that trains turns it off.

use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::Var;

use super::message::{Mailbag, gathered};
use super::reused::Reused;
use super::updater::Updater;
use crate::error::NnError;
use crate::forward::Forward;
use crate::memory::{EventData, VertexState};

/// The rows of a pass.
#[derive(Debug, Default)]
pub(super) struct Memo {
    active: bool,
    rows: Vec<f32>,
    since: Vec<Time>,
    /// The mail with which the row of each vertex was computed: 0 where there is no row yet.
    mail: Vec<u64>,
    written: Vec<VertexId>,
    missing: Vec<VertexId>,
    /// The time up to which each vertex of the batch remembers.
    pub(super) times: Reused<Vec<Time>>,
}

impl Memo {
    /// Forgets all rows. Until weights change, those that are computed from now on are kept.
    pub(super) fn begin(&mut self) {
        self.active = true;
        for vertex in self.written.drain(..) {
            self.mail[vertex as usize] = 0;
        }
    }

    /// Whether rows are kept in this pass over this state.
    pub(super) fn serves(&mut self, forward: &Forward<'_>, state: &VertexState) -> bool {
        self.active &= !forward.is_training();
        self.active && state.rows_stand_still()
    }

    /// Rows of memory with the waiting mails, one for each of these vertices.
    pub(super) fn rows(
        &mut self,
        forward: &mut Forward<'_>,
        updater: &Updater,
        vertices: &[VertexId],
        events: EventData<'_>,
        state: &VertexState,
        bag: &mut Mailbag,
    ) -> Result<Var, NnError> {
        let width = state.options().width;
        self.mail.resize(state.vertices(), 0);
        self.since.resize(state.vertices(), 0);
        if self.rows.len() != state.vertices() * width {
            // Zeros that the system commits when they are first written.
            self.rows = vec![0.0; state.vertices() * width];
        }
        self.missing.clear();
        for &vertex in vertices {
            let mail = state.waiting(vertex).first().map_or(1, |&event| event + 1);
            let known = &mut self.mail[vertex as usize];
            if *known == 0 {
                self.written.push(vertex);
            }
            if std::mem::replace(known, mail) != mail {
                self.missing.push(vertex);
            }
        }
        if !self.missing.is_empty() {
            let computed = updater.update(forward, &self.missing, events, state, bag)?;
            let rows = forward.tape.value(computed.hidden).chunks_exact(width);
            for ((&vertex, row), &time) in self.missing.iter().zip(rows).zip(&**bag.times.shared())
            {
                self.rows[vertex as usize * width..][..width].copy_from_slice(row);
                self.since[vertex as usize] = time;
            }
        }
        let times = self.times.refill();
        times.extend(vertices.iter().map(|&vertex| self.since[vertex as usize]));
        let rows = &self.rows;
        Ok(gathered(forward, vertices.len(), width, |at, row| {
            row.copy_from_slice(&rows[vertices[at] as usize * width..][..width]);
        }))
    }
}
