//! What turns one side of a snapshot's matrix into those of the next snapshots: the difference of their
//! entries ([`Difference`]), and the words of vertices that their values follow from.

use rayon::prelude::*;

use zoetrope_graph::Difference;
use zoetrope_graph::difference::Changes;

use super::coded_rows::CodedRows;

/// What some snapshots need to be rebuilt from the one before them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SnapshotChanges {
    pub(super) entries: Difference,
    /// Whether weights are numbers, each of which is a byte.
    pub(super) numbered: bool,
    /// Words of vertices.
    pub(super) vertices: VertexWords,
}

/// Words of vertices at each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VertexWords {
    /// Those that change.
    Some(Changes),
    /// All of them, if that is shorter.
    All(Vec<u32>),
    /// All of them by number, and the words of each step by number.
    Numbered { numbers: Vec<u16>, words: Vec<Vec<u32>> },
}

impl Default for VertexWords {
    fn default() -> Self {
        Self::Some(Changes::default())
    }
}

impl SnapshotChanges {
    /// What turns `before`, or nothing, into each of some snapshots; None if these do not have the same
    /// kinds of lists.
    pub(super) fn new(before: Option<&CodedRows>, snapshots: &[&CodedRows]) -> Option<Self> {
        let first = snapshots[0];
        let kinds = |rows: &CodedRows| {
            let optional = [&rows.weights, &rows.codes, &rows.vertices, &rows.lengths];
            (rows.offsets.len(), optional.map(Option::is_some))
        };
        let mut others = before.into_iter().chain(snapshots[1..].iter().copied());
        if others.any(|rows| kinds(rows) != kinds(first)) {
            return None;
        }
        let entries: Vec<_> = snapshots.iter().map(|rows| rows.entries()).collect();
        let entries = Difference::new(before.map(CodedRows::entries), &entries)
            .expect("snapshots with the same kinds of lists can be compared");
        let vertices = if first.vertices.is_some() {
            VertexWords::new(before, snapshots)
        } else {
            VertexWords::default()
        };
        Some(Self { entries, numbered: first.codes.is_some(), vertices })
    }

    /// The number of words of all lists.
    pub(super) fn words(&self) -> usize {
        let entries = &self.entries;
        let bytes = if self.numbered { 1 } else { size_of::<u32>() };
        let born_at = entries.born_before.len().min(entries.born_columns.len());
        let lists = [&entries.born_columns, &entries.dead];
        let short = [
            entries.born_steps.len(),
            entries.dead_steps.len(),
            bytes * entries.born_weights.len(),
        ];
        born_at
            + lists.iter().map(|list| list.len()).sum::<usize>()
            + short.iter().map(|bytes| bytes.div_ceil(4)).sum::<usize>()
            + change_words(&entries.weights, bytes)
            + self.vertices.words()
    }
}

/// Words of changes, if each value has so many bytes.
fn change_words(changes: &Changes, bytes: usize) -> usize {
    changes.len() + (changes.len() * (1 + bytes)).div_ceil(4)
}

impl VertexWords {
    /// The shortest way to encode them.
    fn new(before: Option<&CodedRows>, snapshots: &[&CodedRows]) -> Self {
        let words: Vec<&[u32]> =
            snapshots.iter().filter_map(|rows| rows.vertices.as_deref()).collect();
        let before = before.and_then(|rows| rows.vertices.as_deref());
        let changes = Changes::between(before, &words);
        let some = change_words(&changes, size_of::<u32>());
        let all = words.len() * words[0].len();
        match numbered(&words) {
            Some((numbers, words)) if numbered_words(&numbers, &words) < some.min(all) => {
                Self::Numbered { numbers, words }
            }
            _ if some < all => Self::Some(changes),
            _ => Self::All(words.concat()),
        }
    }

    fn words(&self) -> usize {
        match self {
            Self::Some(changes) => change_words(changes, size_of::<u32>()),
            Self::All(values) => values.len(),
            Self::Numbered { numbers, words } => numbered_words(numbers, words),
        }
    }
}

/// The numbers of words, and the words of each step by number; None if too many of them differ.
fn numbered(words: &[&[u32]]) -> Option<(Vec<u16>, Vec<Vec<u32>>)> {
    let of_steps = words.par_iter().map(|words| {
        let mut different = words.to_vec();
        different.sort_unstable();
        different.dedup();
        let number = |word: &u32| different.partition_point(|other| other < word) as u16;
        let numbers: Vec<u16> = words.iter().map(number).collect();
        (different.len() <= usize::from(u16::MAX) + 1).then_some((numbers, different))
    });
    let (numbers, different): (Vec<_>, Vec<_>) =
        of_steps.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    Some((numbers.concat(), different))
}

fn numbered_words(numbers: &[u16], words: &[Vec<u32>]) -> usize {
    numbers.len().div_ceil(2) + words.iter().map(Vec::len).sum::<usize>()
}

#[cfg(test)]
mod tests;
