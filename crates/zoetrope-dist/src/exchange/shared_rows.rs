//! Rows that ranks of one process show each other, so that each row is copied once: out of the matrix
//! of the rank that has it, by the rank that wants it.
//!
//! A rank shows a matrix for as long as one call takes. It says that the matrix is there and waits
//! until everyone has taken their rows; both are messages without values, so that a rank that is lost
//! is noticed and named as anywhere else. If that fails the call ends all the same: nobody reads a
//! matrix after that, because it is taken away under a lock.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::rows::{Arrive, RowList};
use super::{Exchange, Lists, Way};
use crate::error::DistError;

/// A place for the matrix of each rank.
pub struct SharedRows {
    places: Vec<RwLock<Option<Shown<'static>>>>,
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRows").field("ranks", &self.places.len()).finish()
    }
}

/// What a rank sends, and where it is.
struct Shown<'a> {
    values: &'a [f32],
    cols: usize,
    lists: Arc<Lists>,
    way: Way,
    /// The number of the collective.
    number: u64,
}

impl SharedRows {
    /// Places for `size` ranks.
    pub fn new(size: usize) -> Self {
        Self { places: (0..size).map(|_| RwLock::new(None)).collect() }
    }

    /// Shows a rank's matrix while `during` runs.
    fn show<R>(&self, rank: usize, shown: Shown<'_>, during: impl FnOnce() -> R) -> R {
        /// Takes the matrix away, also if `during` panics; waits for those who are reading.
        struct Shows<'a>(&'a SharedRows, usize);
        impl Drop for Shows<'_> {
            fn drop(&mut self) {
                self.0.put(self.1, None);
            }
        }
        // SAFETY: the reference leaves its place before what it refers to ends: either another one replaces
        // it, or `_shows` takes it away when this function is left. Readers hold the lock while they
        // read (`look`), and get a shorter reference.
        #[expect(unsafe_code, reason = "a borrow that a lock ends, not a scope")]
        let values = unsafe { std::mem::transmute::<&[f32], &'static [f32]>(shown.values) };
        let _shows = Shows(self, rank);
        self.put(rank, Some(Shown { values, ..shown }));
        during()
    }

    fn put(&self, rank: usize, shown: Option<Shown<'static>>) {
        *self.places[rank].write().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    /// Hands to `take` what a rank shows in collective `number`; None if it shows nothing any more.
    fn look<R>(&self, rank: usize, number: u64, take: impl FnOnce(&Shown<'_>) -> R) -> Option<R> {
        let place = self.places[rank].read().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().filter(|shown| shown.number == number).map(take)
    }
}

impl Exchange {
    /// Shows its own rows to the other ranks of the process and takes theirs, in the order of ranks.
    pub(super) fn go_by_shared_rows(
        &self,
        shared_rows: &SharedRows,
        way: Way,
        arrive: Arrive,
        x: &[f32],
        cols: usize,
        y: &mut [f32],
    ) -> Result<(), DistError> {
        let (ranks, own) = (&self.ranks, self.plan.rank());
        let (leave, come) = (self.lists.leave(way), self.lists.come(way));
        let (takers, givers) = (others(leave, own), others(come, own));
        let values = takers.iter().map(|&peer| leave[peer].len() * cols).sum();
        ranks.show_rows(values, |site| {
            let (lists, number) = (Arc::clone(&self.lists), site.number);
            shared_rows.show(own, Shown { values: x, cols, lists, way, number }, || {
                ranks.signal(site, 0, &takers, &givers)?;
                // A rank that shows nothing any more has failed: to wait for it is to hear why.
                let mut awaited = takers;
                for (peer, places) in come.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
                    if peer == own {
                        leave[own].carry(x, places, cols, arrive, y);
                        continue;
                    }
                    let taken = shared_rows.look(peer, number, |shown| {
                        let rows = &shown.lists.leave(shown.way)[own];
                        let lengths = [places.len() * cols, rows.len() * shown.cols];
                        if lengths[0] != lengths[1] || cols != shown.cols {
                            return Err(ranks.disagree(site, peer, lengths));
                        }
                        rows.carry(shown.values, places, cols, arrive, y);
                        Ok(())
                    });
                    match taken {
                        Some(taken) => taken?,
                        None => awaited.push(peer),
                    }
                }
                ranks.signal(site, 1, &givers, &awaited)
            })
        })
    }
}

/// The other ranks for which there are rows.
fn others(lists: &[RowList], own: usize) -> Vec<usize> {
    let lists = lists.iter().enumerate().filter(|(peer, rows)| *peer != own && !rows.is_empty());
    lists.map(|(peer, _)| peer).collect()
}
