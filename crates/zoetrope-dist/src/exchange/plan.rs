//! Which rows go where: derived once, used in every step.

use std::sync::Arc;

use super::rows::RowList;
use crate::error::DistError;
use crate::ranks::Ranks;

/// The rows that a rank sends to and receives from each rank, itself included.
///
/// A row may be sent to several ranks (a halo). A row is received at most once; one that no rank sends
/// is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangePlan {
    rank: usize,
    rows_in: usize,
    rows_out: usize,
    /// By rank. The backward pass of a plan has the same lists.
    sends: Arc<[RowList]>,
    receives: Arc<[RowList]>,
    covered: bool,
}

/// Lists that are no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is not one list for each rank.
    #[error("{sends} lists to send and {receives} to receive: there must be one for each rank")]
    Lists {
        /// Lists of rows to send.
        sends: usize,
        /// Lists of rows to receive.
        receives: usize,
    },
    /// A list names a row that is not there.
    #[error("row {row} of the list for rank {peer} is out of range, there are {rows}")]
    OutOfRange {
        /// The rank whose list it is.
        peer: usize,
        /// The row.
        row: u32,
        /// How many rows there are.
        rows: usize,
    },
    /// A row is received twice.
    #[error("row {row} is received more than once, the last time from rank {peer}")]
    Twice {
        /// The rank whose list it is.
        peer: usize,
        /// The row.
        row: u32,
    },
    /// A rank does not keep as many rows as it sends itself.
    #[error("rank {rank} sends itself {sends} rows, but receives {receives}")]
    Own {
        /// The rank.
        rank: usize,
        /// Rows it sends itself.
        sends: usize,
        /// Rows it expects from itself.
        receives: usize,
    },
    /// An owner is no rank.
    #[error("row {row} belongs to rank {owner}, but there are {size} ranks")]
    Owner {
        /// The row of the whole.
        row: usize,
        /// Its owner.
        owner: usize,
        /// How many ranks there are.
        size: usize,
    },
}

impl ExchangePlan {
    /// A plan from lists: `sends[q]` are rows of this rank's `rows_in` that go to rank `q`, in that
    /// order; `receives[q]` are the rows of its `rows_out` into which those of rank `q` go.
    ///
    /// # Errors
    /// If a row is out of range or received twice, or the lists for the rank itself differ in
    /// length.
    pub fn new(
        rank: usize,
        rows: [usize; 2],
        sends: Vec<Vec<u32>>,
        receives: Vec<Vec<u32>>,
    ) -> Result<Self, PlanError> {
        let compact = |lists: Vec<Vec<u32>>| lists.iter().map(|list| RowList::new(list)).collect();
        Self::of_lists(rank, rows, compact(sends), compact(receives))
    }

    /// The same from lists that say more in less.
    ///
    /// # Errors
    /// As [`ExchangePlan::new`].
    pub fn of_lists(
        rank: usize,
        rows: [usize; 2],
        sends: Arc<[RowList]>,
        receives: Arc<[RowList]>,
    ) -> Result<Self, PlanError> {
        let [rows_in, rows_out] = rows;
        if sends.len() != receives.len() || rank >= sends.len() {
            return Err(PlanError::Lists { sends: sends.len(), receives: receives.len() });
        }
        for (lists, rows) in [(&sends, rows_in), (&receives, rows_out)] {
            for (peer, list) in lists.iter().enumerate() {
                if let Some(run) = list.runs().find(|run| run.end > rows) {
                    let row = run.start.max(rows) as u32;
                    return Err(PlanError::OutOfRange { peer, row, rows });
                }
            }
        }
        let (to_own, from_own) = (sends[rank].len(), receives[rank].len());
        if to_own != from_own {
            return Err(PlanError::Own { rank, sends: to_own, receives: from_own });
        }
        if let Some((peer, row)) = repeated(&receives, rows_out) {
            return Err(PlanError::Twice { peer, row });
        }
        let covered = receives.iter().map(RowList::len).sum::<usize>() == rows_out;
        Ok(Self { rank, rows_in, rows_out, sends, receives, covered })
    }

    /// The redistribution of `rows` rows from one placement to another. Row `i` of the whole belongs
    /// to rank `from(i)` before and to `to(i)` after; each rank holds its rows in ascending order.
    ///
    /// With rows `t · N + v`, `from` a function of `t` and `to` one of `v`, this is the
    /// redistribution between snapshot and vertex partitioning (ESDG, section 4.2).
    ///
    /// # Errors
    /// If an owner is no rank.
    pub fn between(
        rank: usize,
        size: usize,
        rows: usize,
        from: impl Fn(usize) -> usize,
        to: impl Fn(usize) -> usize,
    ) -> Result<Self, PlanError> {
        let mut sends: Vec<Vec<u32>> = vec![Vec::new(); size];
        let mut receives = sends.clone();
        let (mut rows_in, mut rows_out) = (0, 0);
        for row in 0..rows {
            let (source, target) = (from(row), to(row));
            for owner in [source, target] {
                if owner >= size {
                    return Err(PlanError::Owner { row, owner, size });
                }
            }
            if source == rank {
                sends[target].push(rows_in as u32);
                rows_in += 1;
            }
            if target == rank {
                receives[source].push(rows_out as u32);
                rows_out += 1;
            }
        }
        Self::new(rank, [rows_in, rows_out], sends, receives)
    }

    /// A plan from what each rank needs: `wanted[q]` are rows of rank `q`, by its own numbers, and
    /// `receives[q]` the rows of this rank's result into which they go. The ranks tell each other
    /// what they want, in one all-to-all. All ranks call it.
    ///
    /// # Errors
    /// If communication fails, or the lists are no plan.
    pub fn wanting(
        ranks: &Ranks,
        rows: [usize; 2],
        wanted: Vec<Vec<u32>>,
        receives: Vec<Vec<u32>>,
    ) -> Result<Result<Self, PlanError>, DistError> {
        let sends = ranks.all_to_all(wanted)?;
        Ok(Self::new(ranks.rank(), rows, sends, receives))
    }

    /// The backward pass: the rows that this plan sends, received, and the other way round. None if a
    /// row goes to several ranks, from which it would come back several times.
    pub fn reversed(&self) -> Option<Self> {
        let rows = [self.rows_out, self.rows_in];
        Self::of_lists(self.rank, rows, Arc::clone(&self.receives), Arc::clone(&self.sends)).ok()
    }

    /// The rank whose plan it is.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.sends.len()
    }

    /// Rows before.
    pub fn rows_in(&self) -> usize {
        self.rows_in
    }

    /// Rows after.
    pub fn rows_out(&self) -> usize {
        self.rows_out
    }

    /// Rows that go to each rank.
    pub fn sends(&self) -> &[RowList] {
        &self.sends
    }

    /// Rows that come from each rank.
    pub fn receives(&self) -> &[RowList] {
        &self.receives
    }

    /// Bytes of its lists. A plan and its [`reversed`](Self::reversed) one share them.
    pub fn list_bytes(&self) -> usize {
        self.sends.iter().chain(&*self.receives).map(RowList::bytes).sum()
    }

    /// Whether every row of the result is received.
    pub(super) fn is_covered(&self) -> bool {
        self.covered
    }

    /// Rows that leave for other ranks.
    pub fn rows_sent(&self) -> usize {
        let others = self.sends.iter().enumerate().filter(|(peer, _)| *peer != self.rank);
        others.map(|(_, list)| list.len()).sum()
    }

    /// Rows that come from other ranks.
    pub fn rows_received(&self) -> usize {
        let others = self.receives.iter().enumerate().filter(|(peer, _)| *peer != self.rank);
        others.map(|(_, list)| list.len()).sum()
    }

    /// Bytes that leave the rank in the forward pass, for rows of `cols` values. In the backward pass as
    /// many arrive, and those of [`rows_received`](Self::rows_received) leave.
    pub fn bytes(&self, cols: usize) -> usize {
        self.rows_sent() * cols * size_of::<f32>()
    }
}

/// The first row that is in the lists more than once, with the rank in whose list it is for the second time.
fn repeated(lists: &[RowList], rows: usize) -> Option<(usize, u32)> {
    let mut seen = vec![0_u64; rows.div_ceil(64)];
    for (peer, list) in lists.iter().enumerate() {
        for row in list.iter() {
            let bit = 1 << (row % 64);
            let word = &mut seen[row as usize / 64];
            if *word & bit != 0 {
                return Some((peer, row));
            }
            *word |= bit;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redistribution_keeps_every_row_once_and_in_order() {
        let (steps, vertices, size) = (5, 7, 3);
        let by_step = |row: usize| (row / vertices) * size / steps;
        let by_vertex = |row: usize| (row % vertices) * size / vertices;
        let mut sent = 0;
        for rank in 0..size {
            let plan =
                ExchangePlan::between(rank, size, steps * vertices, by_step, by_vertex).unwrap();
            assert!(plan.is_covered());
            for peer in 0..size {
                let other = ExchangePlan::between(peer, size, steps * vertices, by_step, by_vertex);
                assert_eq!(plan.sends()[peer].len(), other.unwrap().receives()[rank].len());
                assert!(plan.sends()[peer].iter().is_sorted());
            }
            assert_eq!(plan.reversed().unwrap().reversed(), Some(plan.clone()));
            sent += plan.rows_sent();
        }
        let stay = |row: &usize| by_step(*row) == by_vertex(*row);
        assert_eq!(sent, steps * vertices - (0..steps * vertices).filter(stay).count());
    }

    #[test]
    fn the_volume_of_a_redistribution_is_the_papers() {
        // T·N·(P-1)/P rows, where P divides T and N.
        for size in [1, 2, 4, 8] {
            let (steps, vertices) = (16, 24);
            let sent: usize = (0..size)
                .map(|rank| {
                    let from = |row: usize| (row / vertices) * size / steps;
                    let to = |row: usize| (row % vertices) * size / vertices;
                    let rows = steps * vertices;
                    ExchangePlan::between(rank, size, rows, from, to).unwrap().rows_sent()
                })
                .sum();
            assert_eq!(sent, steps * vertices * (size - 1) / size);
        }
    }

    #[test]
    fn lists_that_are_no_plan_are_refused() {
        let lists = |first: &[u32], second: &[u32]| vec![first.to_vec(), second.to_vec()];
        let new = |sends, receives| ExchangePlan::new(0, [2, 2], sends, receives);
        let fine = new(lists(&[0, 1], &[0]), lists(&[0, 1], &[])).unwrap();
        assert_eq!(fine.reversed(), None);
        assert_eq!(
            new(lists(&[0], &[2]), lists(&[0], &[])),
            Err(PlanError::OutOfRange { peer: 1, row: 2, rows: 2 })
        );
        assert_eq!(
            new(lists(&[0], &[]), lists(&[1], &[1])),
            Err(PlanError::Twice { peer: 1, row: 1 })
        );
        assert_eq!(
            new(lists(&[0], &[]), lists(&[], &[1])),
            Err(PlanError::Own { rank: 0, sends: 1, receives: 0 })
        );
        assert_eq!(
            new(lists(&[0], &[]), vec![vec![0]]),
            Err(PlanError::Lists { sends: 2, receives: 1 })
        );
        assert_eq!(
            ExchangePlan::between(0, 2, 1, |_| 0, |_| 5),
            Err(PlanError::Owner { row: 0, owner: 5, size: 2 })
        );
    }
}
