//! The board on which the position of every rank is written.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::site::Position;
use crate::sync::lock;
use crate::watch::judge::{Observation, culprit};
use crate::watch::{Cause, Timeouts, Verdict};

/// The positions of all ranks, and the verdict once one is lost.
#[derive(Debug)]
pub struct Board {
    entries: Vec<Mutex<Entry>>,
    verdict: OnceLock<Verdict>,
    timeouts: Timeouts,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    position: Position,
    changed: Instant,
    /// When it last announced a slow operation: until then no rank waited in vain.
    excused: Option<Instant>,
    /// The last sign of the rank's process; None if it is this process.
    heard: Option<Instant>,
}

impl Entry {
    fn go_to(&mut self, position: Position) {
        self.changed = Instant::now();
        if self.position.takes_time && !position.takes_time {
            self.excused = Some(self.changed);
        }
        self.position = position;
    }
}

impl Board {
    /// A board of `size` ranks that have done nothing yet.
    pub fn new(size: usize, timeouts: Timeouts) -> Self {
        let (position, changed) = (Position::default(), Instant::now());
        let entry = Entry { position, changed, excused: None, heard: None };
        let entries = (0..size).map(|_| Mutex::new(entry)).collect();
        Self { entries, verdict: OnceLock::new(), timeouts }
    }

    /// How long ranks are waited for.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// How far a rank is.
    pub fn position(&self, rank: usize) -> Position {
        lock(&self.entries[rank]).position
    }

    /// How far everyone is.
    pub fn positions(&self) -> Vec<Position> {
        (0..self.entries.len()).map(|rank| self.position(rank)).collect()
    }

    /// Changes the position of a rank of this process.
    pub fn update(&self, rank: usize, change: impl FnOnce(&mut Position)) {
        let mut entry = lock(&self.entries[rank]);
        let mut position = entry.position;
        change(&mut position);
        entry.go_to(position);
    }

    /// Writes down what another process says of its rank.
    #[cfg(feature = "mpi")]
    pub(crate) fn heard(&self, rank: usize, position: Position) {
        let mut entry = lock(&self.entries[rank]);
        if entry.position != position {
            entry.go_to(position);
        }
        entry.heard = Some(Instant::now());
    }

    /// Since when nothing was heard of the process of a rank.
    #[cfg(feature = "mpi")]
    pub(crate) fn silence(&self, rank: usize) -> Duration {
        lock(&self.entries[rank]).heard.map_or(Duration::ZERO, |heard| heard.elapsed())
    }

    /// Forgets that `gap` passed: this process was stopped itself and has received nothing meanwhile.
    #[cfg(feature = "mpi")]
    pub(crate) fn forgive(&self, gap: Duration) {
        for entry in &self.entries {
            let mut entry = lock(entry);
            entry.changed += gap;
            entry.excused = entry.excused.map(|excused| excused + gap);
            entry.heard = entry.heard.map(|heard| heard + gap);
        }
    }

    /// The verdict, once a rank is lost.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.get()
    }

    /// Writes the verdict down, if it is the first.
    pub(crate) fn record(&self, verdict: Verdict) {
        // The first verdict names the cause; what follows are its consequences.
        let _ = self.verdict.set(verdict);
    }

    /// The verdict that a rank ended, with everyone's position.
    pub(crate) fn ended(&self, rank: usize, how: impl Into<String>) -> Verdict {
        let cause = Cause::Ended { how: how.into() };
        Verdict { rank, cause, positions: self.positions() }
    }

    /// Looks at everyone: the verdict that a rank hangs, if one does.
    pub(crate) fn judge(&self) -> Option<Verdict> {
        let entries: Vec<Entry> = self.entries.iter().map(|entry| *lock(entry)).collect();
        let (now, excused) =
            (Instant::now(), entries.iter().filter_map(|entry| entry.excused).max());
        let observe = |&Entry { position, changed, heard, .. }: &Entry| {
            let silent = heard.map_or(Duration::ZERO, |heard| now.duration_since(heard));
            let since = changed.max(excused.unwrap_or(changed));
            Observation { position, still: now.duration_since(since), silent }
        };
        let seen: Vec<Observation> = entries.iter().map(observe).collect();
        let (rank, manner, time) = culprit(&seen, self.timeouts.timeout)?;
        let cause = Cause::Hung { manner, seconds: time.as_secs_f64() };
        Some(Verdict { rank, cause, positions: seen.iter().map(|one| one.position).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Call, Site};

    #[test]
    fn the_first_verdict_stands() {
        let board = Board::new(2, Timeouts::default());
        board.record(board.ended(1, "panicked"));
        board.record(board.ended(0, "has lost rank 1"));
        assert_eq!(board.verdict().map(|verdict| verdict.rank), Some(1));
    }

    #[test]
    fn a_rank_that_is_at_work_is_not_blamed_however_long_it_takes() {
        let board = Board::new(2, Timeouts::default());
        board.update(0, |position| position.waits = Some(Site { call: Call::Barrier, number: 1 }));
        board.update(1, |position| position.takes_time = true);
        let long = board.timeouts().timeout * (crate::watch::SLOW_TIMEOUT_FACTOR + 1);
        for entry in &board.entries {
            lock(entry).changed -= long;
        }
        assert_eq!(board.judge().map(|verdict| verdict.rank), Some(1));
        board.update(1, |position| position.signs += 1);
        assert_eq!(board.judge(), None);
    }

    #[test]
    fn a_rank_that_others_wait_for_is_named_with_all_positions() {
        let timeouts = Timeouts { timeout: Duration::from_millis(5), ..Timeouts::default() };
        let board = Board::new(2, timeouts);
        assert_eq!(board.judge(), None);
        board.update(0, |position| position.waits = Some(Site { call: Call::Barrier, number: 1 }));
        while board.judge().is_none() {
            std::thread::yield_now();
        }
        let verdict = board.judge().unwrap();
        assert_eq!(verdict.rank, 1);
        let text = verdict.to_string();
        assert!(text.contains("rank 0: step 0, waits in barrier 1"), "{text}");
        assert!(text.contains("rank 1: step 0, has not communicated yet"), "{text}");
    }
}
