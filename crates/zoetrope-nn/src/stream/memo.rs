//! Rows of memory that were computed in this pass and are still right.
//!
//! As long as weights stand still, the row of a vertex with its waiting mail stays the same until it
//! gets another mail. Evaluation reads the same vertices again and again, as neighbours and as
//! candidates: with this each is computed once for each mail that it gets. While weights change it is
//! of no use, and a pass that trains turns it off.

use std::sync::Arc;

use zoetrope_graph::{Time, VertexId};
use zoetrope_tensor::{PickedColumns, Table, Var};

use super::message::Mailbag;
use super::reused::Reused;
use super::updater::Updater;
use crate::error::NnError;
use crate::forward::Forward;
use crate::memory::{EventData, VertexState};

/// The rows of a pass.
#[derive(Debug, Default)]
pub(super) struct Memo {
    active: bool,
    rows: Table,
    since: Vec<Time>,
    /// The mail with which the row of each vertex was computed: 0 if there is no row yet.
    mail: Vec<u64>,
    written: Vec<VertexId>,
    missing: Reused<Vec<VertexId>>,
    /// `0, 1, …`: the rows that were computed for those that were missing.
    computed: Reused<Vec<u32>>,
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
        vertices: &Arc<Vec<VertexId>>,
        events: EventData<'_>,
        state: &VertexState,
        bag: &mut Mailbag,
    ) -> Result<Var, NnError> {
        self.mail.resize(state.vertices(), 0);
        self.since.resize(state.vertices(), 0);
        if self.rows.rows() != state.vertices() {
            self.rows = Table::new(forward.tape.device(), state.vertices(), state.options().width);
        }
        let missing = self.missing.refill();
        for &vertex in &**vertices {
            let mail = state.waiting(vertex).first().map_or(1, |&event| event + 1);
            let known = &mut self.mail[vertex as usize];
            if *known == 0 {
                self.written.push(vertex);
            }
            if std::mem::replace(known, mail) != mail {
                missing.push(vertex);
            }
        }
        let missing = self.missing.shared();
        if !missing.is_empty() {
            let computed = updater.update(forward, missing, events, state, bag)?.hidden;
            self.computed.refill().extend(0..missing.len() as u32);
            let part = PickedColumns::new(forward.tape.source(computed), self.computed.shared());
            self.rows.put(missing, &[part]);
            for (&vertex, &time) in missing.iter().zip(&**bag.times.shared()) {
                self.since[vertex as usize] = time;
            }
        }
        let times = self.times.refill();
        times.extend(vertices.iter().map(|&vertex| self.since[vertex as usize]));
        Ok(forward.tape.picked(vertices.len(), &[PickedColumns::new(self.rows.all(), vertices)]))
    }
}
