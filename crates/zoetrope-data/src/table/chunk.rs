//! Columns of one block of text, before the blocks are joined.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use zoetrope_graph::TextTable;

use crate::error::Problem;
use crate::table::timestamp::{Stamp, rescale};

/// Identifiers of one block: as narrow as its values allow.
#[derive(Debug)]
pub(crate) enum IdChunk {
    /// Integers below 2^32.
    Narrow(Vec<u32>),
    /// Any 64-bit integers.
    Wide(Vec<i64>),
    /// Text, as codes into a table of the distinct values of the block.
    Text { codes: Vec<u32>, table: Interner },
}

impl IdChunk {
    pub(crate) fn integers(capacity: usize) -> Self {
        Self::Narrow(Vec::with_capacity(capacity))
    }

    pub(crate) fn text(capacity: usize) -> Self {
        Self::Text { codes: Vec::with_capacity(capacity), table: Interner::default() }
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
            Self::Text { codes, .. } => codes.len(),
        }
    }

    #[inline(always)]
    pub(crate) fn push_integer(&mut self, value: i64) {
        match self {
            Self::Narrow(values) => match u32::try_from(value) {
                Ok(narrow) => values.push(narrow),
                Err(_) => {
                    let mut wide: Vec<i64> = values.iter().map(|&value| i64::from(value)).collect();
                    wide.push(value);
                    *self = Self::Wide(wide);
                }
            },
            Self::Wide(values) => values.push(value),
            Self::Text { .. } => self.push_text(value.to_string().as_bytes()),
        }
    }

    pub(crate) fn push_text(&mut self, value: &[u8]) {
        let Self::Text { codes, table } = self else {
            unreachable!("text is pushed only where the plan made the column text")
        };
        codes.push(table.code(value));
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        match self {
            Self::Narrow(values) => values.truncate(length),
            Self::Wide(values) => values.truncate(length),
            Self::Text { codes, .. } => codes.truncate(length),
        }
    }
}

/// Distinct strings, numbered by first appearance.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    texts: TextTable,
    index: HashTable<u32>,
    hasher: hashbrown::DefaultHashBuilder,
}

impl Interner {
    pub(crate) fn code(&mut self, text: &[u8]) -> u32 {
        use std::hash::BuildHasher;
        let Self { texts, index, hasher } = self;
        let hash = hasher.hash_one(text);
        let entry = index.entry(
            hash,
            |&code| texts.get(code as usize) == text,
            |&code| hasher.hash_one(texts.get(code as usize)),
        );
        match entry {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(free) => {
                let code = texts.len() as u32;
                texts.push(text);
                free.insert(code);
                code
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, code: u32) -> &[u8] {
        self.texts.get(code as usize)
    }

    pub(crate) fn into_texts(self) -> TextTable {
        self.texts
    }
}

/// A column of numbers, or of text that will become class numbers.
#[derive(Debug)]
pub(crate) enum LabelChunk {
    Numbers(Vec<f32>),
    Text { codes: Vec<u32>, table: Interner },
}

/// Times of one block at the finest precision met in it.
#[derive(Debug, Default)]
pub(crate) struct TimeChunk {
    pub(crate) ticks: Vec<i64>,
    pub(crate) digits: u8,
}

impl TimeChunk {
    /// Appends a time; `false` where it does not fit into 64 bits at the precision of the block.
    #[inline(always)]
    pub(crate) fn push(&mut self, stamp: Stamp) -> bool {
        if stamp.digits == self.digits {
            self.ticks.push(stamp.ticks);
            return true;
        }
        self.push_rescaled(stamp)
    }

    #[cold]
    fn push_rescaled(&mut self, stamp: Stamp) -> bool {
        if stamp.digits > self.digits {
            let finer: Option<Vec<i64>> =
                self.ticks.iter().map(|&ticks| rescale(ticks, self.digits, stamp.digits)).collect();
            let Some(finer) = finer else { return false };
            self.ticks = finer;
            self.digits = stamp.digits;
        }
        let Some(ticks) = rescale(stamp.ticks, stamp.digits, self.digits) else { return false };
        self.ticks.push(ticks);
        true
    }
}

/// What one block of text yields.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) src: IdChunk,
    pub(crate) dst: IdChunk,
    pub(crate) time: TimeChunk,
    pub(crate) weight: Vec<f32>,
    pub(crate) label: LabelChunk,
    pub(crate) kind: Vec<u8>,
    pub(crate) features: Vec<f32>,
    pub(crate) src_class: LabelChunk,
    pub(crate) dst_class: LabelChunk,
    /// Lines of the block, good and bad, blank and comment.
    pub(crate) lines: u64,
    pub(crate) missing_values: u64,
    /// Rows without a destination, kept as self-loops.
    pub(crate) without_destination: u64,
    /// Lines are relative to the block (from 0) until the blocks are joined.
    pub(crate) problems: Vec<Problem>,
    pub(crate) bad_rows: u64,
}
