//! A journal of communications, kept if somebody asks for it: what a trace shows and what a program of
//! tasks is compared with.

use std::time::{Duration, Instant};

use crate::site::{Call, Site};

/// One communication of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalEntry {
    /// Which one it was.
    pub site: Site,
    /// Bytes that left this rank for others.
    pub bytes: u64,
    /// When it began.
    pub began: Instant,
    /// How long the caller was in it; for an overlapped one how long was left to wait for.
    pub took: Duration,
}

/// The communications since the journal was last taken.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Vec<JournalEntry>,
}

impl Journal {
    pub(crate) fn enter(&mut self, site: Site) {
        let (bytes, began, took) = (0, Instant::now(), Duration::ZERO);
        self.entries.push(JournalEntry { site, bytes, began, took });
    }

    pub(crate) fn count_bytes(&mut self, call: Call, bytes: usize) {
        if let Some(entry) = self.last(call) {
            entry.bytes += bytes as u64;
        }
    }

    pub(crate) fn count_time(&mut self, call: Call, time: Duration) {
        if let Some(entry) = self.last(call) {
            entry.took += time;
        }
    }

    pub(crate) fn take(&mut self) -> Vec<JournalEntry> {
        std::mem::take(&mut self.entries)
    }

    fn last(&mut self, call: Call) -> Option<&mut JournalEntry> {
        self.entries.iter_mut().rev().find(|entry| entry.site.call == call)
    }
}
