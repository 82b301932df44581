//! A side of a snapshot as it goes over the bus where differences are sent: words, and what they are.

use super::Slices;
use super::patch::{Patch, Update};
use super::rows::Rows;

/// Lists begin at multiples of this many words.
const GRAIN: usize = 4;

/// A list inside of a packet, in words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) at: usize,
    pub(super) len: usize,
}

/// New values of a list, and their places unless all of them are there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes {
    pub(super) places: Option<Span>,
    pub(super) values: Span,
}

/// What a packet holds beside the frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// All rows.
    Rows { offsets: Span, columns: Span, weights: Option<Span>, vertices: Option<Span> },
    /// How they differ from those of the snapshot before.
    Patch {
        removed: Span,
        added_rows: Span,
        added_columns: Span,
        added_weights: Span,
        weights: Option<Changes>,
        vertices: Option<Changes>,
    },
}

/// Where everything lies in the words of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    /// The words of the block that are sent as they are.
    pub(super) frame: Span,
    pub(super) content: Content,
    /// Lengths that differ.
    pub(super) lengths: Span,
    /// Entries of the snapshot.
    pub(super) entries: usize,
    /// Its pieces of long rows.
    pub(super) units: usize,
    /// All words, to a multiple of the grain.
    pub(super) len: usize,
}

/// Appends lists to words.
struct Writer<'a> {
    words: &'a mut Vec<u32>,
    first: usize,
}

impl Writer<'_> {
    fn put(&mut self, list: &[u32]) -> Span {
        let at = self.words.len() - self.first;
        self.words.extend_from_slice(list);
        self.pad();
        Span { at, len: list.len() }
    }

    fn pad(&mut self) {
        let len = (self.words.len() - self.first).next_multiple_of(GRAIN);
        self.words.resize(self.first + len, 0);
    }

    fn put_changes(&mut self, update: &Update) -> Changes {
        Changes {
            places: update.places().map(|places| self.put(places)),
            values: self.put(update.values()),
        }
    }

    fn frame(&mut self, slices: &Slices) -> Span {
        let at = self.words.len() - self.first;
        let [head, tail] = slices.frame();
        self.words.extend_from_slice(head);
        self.words.extend_from_slice(tail);
        self.pad();
        Span { at, len: head.len() + tail.len() }
    }
}

impl Packet {
    /// Appends a snapshot as it is.
    pub(super) fn whole(words: &mut Vec<u32>, slices: &Slices, rows: &Rows) -> Self {
        let mut writer = Writer { first: words.len(), words };
        let frame = writer.frame(slices);
        let content = Content::Rows {
            offsets: writer.put(&rows.offsets),
            columns: writer.put(&rows.columns),
            weights: rows.weights.as_ref().map(|list| writer.put(list)),
            vertices: rows.vertices.as_ref().map(|list| writer.put(list)),
        };
        Self::end(writer, frame, content, rows.lengths.as_deref(), slices, rows.entries())
    }

    /// Appends a snapshot of so many entries as a difference.
    pub(super) fn patch(
        words: &mut Vec<u32>,
        slices: &Slices,
        patch: &Patch,
        entries: usize,
    ) -> Self {
        let mut writer = Writer { first: words.len(), words };
        let frame = writer.frame(slices);
        let content = Content::Patch {
            removed: writer.put(&patch.removed),
            added_rows: writer.put(&patch.added_rows),
            added_columns: writer.put(&patch.added_columns),
            added_weights: writer.put(&patch.added_weights),
            weights: patch.weights.as_ref().map(|update| writer.put_changes(update)),
            vertices: patch.vertices.as_ref().map(|update| writer.put_changes(update)),
        };
        Self::end(writer, frame, content, patch.lengths.as_deref(), slices, entries)
    }

    fn end(
        mut writer: Writer<'_>,
        frame: Span,
        content: Content,
        lengths: Option<&[u32]>,
        slices: &Slices,
        entries: usize,
    ) -> Self {
        let lengths = writer.put(lengths.unwrap_or_default());
        let len = writer.words.len() - writer.first;
        Self { frame, content, lengths, entries, units: slices.units(), len }
    }

    /// The most entries that a patch adds; 0 for all rows.
    pub(super) fn added(&self) -> usize {
        match self.content {
            Content::Patch { added_rows, .. } => added_rows.len,
            Content::Rows { .. } => 0,
        }
    }
}
