//! Columns while they are read: of one block of text, and of all blocks so far.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use zoetrope_graph::TextTable;

use crate::error::Problem;
use crate::table::row::{Action, Plan};
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
    pub(crate) fn text() -> Self {
        Self::Text { codes: Vec::new(), table: Interner::default() }
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
            unreachable!("text is pushed only if the plan made the column text")
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

    /// Appends another block; widens if one of the two is wide.
    pub(crate) fn append(&mut self, block: &Self) {
        match (&mut *self, block) {
            (Self::Narrow(all), Self::Narrow(more)) => all.extend_from_slice(more),
            (Self::Wide(all), Self::Wide(more)) => all.extend_from_slice(more),
            (Self::Wide(all), Self::Narrow(more)) => {
                all.extend(more.iter().map(|&id| i64::from(id)));
            }
            (Self::Narrow(all), Self::Wide(more)) => {
                let wide = all.iter().map(|&id| i64::from(id)).chain(more.iter().copied());
                *self = Self::Wide(wide.collect());
            }
            (Self::Text { codes, table }, Self::Text { codes: more, table: texts }) => {
                append_codes(codes, table, more, texts);
            }
            _ => unreachable!("the plan makes a column text in every block or in none"),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Narrow(values) => values.clear(),
            // Back to narrow: one wide identifier must not slow down the rest of the file.
            Self::Wide(_) => *self = Self::Narrow(Vec::new()),
            Self::Text { codes, table } => {
                codes.clear();
                *table = Interner::default();
            }
        }
    }
}

/// Appends the codes of a block, translated into the codes of the whole.
fn append_codes(codes: &mut Vec<u32>, table: &mut Interner, more: &[u32], texts: &Interner) {
    const UNSEEN: u32 = u32::MAX;
    let mut translated = vec![UNSEEN; texts.len()];
    codes.extend(more.iter().map(|&code| {
        let slot = &mut translated[code as usize];
        if *slot == UNSEEN {
            *slot = table.code(texts.text(code));
        }
        *slot
    }));
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

impl LabelChunk {
    pub(crate) fn text() -> Self {
        Self::Text { codes: Vec::new(), table: Interner::default() }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        match self {
            Self::Numbers(values) => values.truncate(length),
            Self::Text { codes, .. } => codes.truncate(length),
        }
    }

    fn append(&mut self, block: &Self) {
        match (self, block) {
            (Self::Numbers(all), Self::Numbers(more)) => all.extend_from_slice(more),
            (Self::Text { codes, table }, Self::Text { codes: more, table: texts }) => {
                append_codes(codes, table, more, texts);
            }
            _ => unreachable!("the plan makes a label text in every block or in none"),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Numbers(values) => values.clear(),
            Self::Text { .. } => *self = Self::text(),
        }
    }
}

/// Times at the finest precision met so far.
#[derive(Debug, Default)]
pub(crate) struct TimeChunk {
    pub(crate) ticks: Vec<i64>,
    pub(crate) digits: u8,
}

impl TimeChunk {
    /// Appends a time; `false` if it does not fit into 64 bits at the precision of the block.
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
        if !self.refine(stamp.digits) {
            return false;
        }
        let Some(ticks) = rescale(stamp.ticks, stamp.digits, self.digits) else { return false };
        self.ticks.push(ticks);
        true
    }

    /// Brings all times to at least `digits` decimals; `false`, and nothing changed, if one
    /// of them does not fit.
    pub(crate) fn refine(&mut self, digits: u8) -> bool {
        if digits <= self.digits {
            return true;
        }
        if self.ticks.iter().any(|&ticks| rescale(ticks, self.digits, digits).is_none()) {
            return false;
        }
        let factor = 10i64.pow(u32::from(digits - self.digits));
        self.ticks.iter_mut().for_each(|ticks| *ticks *= factor);
        self.digits = digits;
        true
    }
}

/// The columns of one block, or of all blocks so far.
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
    /// Complete rows; every column that the plan fills has one entry for each.
    pub(crate) rows: usize,
    /// Lines, good and bad, blank and comment.
    pub(crate) lines: u64,
    pub(crate) missing_values: u64,
    /// Rows without a destination, kept as self-loops.
    pub(crate) without_destination: u64,
    /// The first problems; lines count from 0 at the start of the block.
    pub(crate) problems: Vec<Problem>,
    pub(crate) bad_rows: u64,
    /// Set if times of two blocks have no common precision that fits 64 bits.
    pub(crate) time_overflow: bool,
}

impl Chunk {
    /// Makes room for `rows` rows in the columns that `plan` fills.
    pub(crate) fn reserve(&mut self, rows: usize, plan: &Plan) {
        for ids in [&mut self.src, &mut self.dst] {
            match ids {
                IdChunk::Narrow(values) => values.reserve_exact(rows),
                IdChunk::Wide(values) => values.reserve_exact(rows),
                IdChunk::Text { codes, .. } => codes.reserve_exact(rows),
            }
        }
        self.features.reserve_exact(rows * plan.feature_width);
        for action in &plan.actions {
            match (action, &mut self.label) {
                (Action::DecimalTime | Action::DateTime(_), _) => {
                    self.time.ticks.reserve_exact(rows)
                }
                (Action::Weight, _) => self.weight.reserve_exact(rows),
                (Action::NumberLabel, LabelChunk::Numbers(labels)) => labels.reserve_exact(rows),
                _ => {}
            }
        }
    }

    /// Bytes of a row in the columns that `plan` fills.
    pub(crate) fn row_bytes(&self, plan: &Plan) -> u64 {
        let id = |ids: &IdChunk| match ids {
            IdChunk::Narrow(_) | IdChunk::Text { .. } => 4,
            IdChunk::Wide(_) => 8,
        };
        let column = |action: &Action| match action {
            Action::DecimalTime | Action::DateTime(_) => 8,
            Action::Weight | Action::NumberLabel => 4,
            _ => 0,
        };
        let columns: u64 = plan.actions.iter().map(column).sum();
        id(&self.src) + id(&self.dst) + columns + 4 * plan.feature_width as u64
    }

    /// Appends the columns of the block that follows in the file.
    pub(crate) fn append(&mut self, block: &mut Self, max_problems: usize) {
        self.src.append(&block.src);
        self.dst.append(&block.dst);
        let digits = self.time.digits.max(block.time.digits);
        let fits = self.time.refine(digits) && block.time.refine(digits);
        self.time_overflow |= !fits;
        self.time.ticks.extend_from_slice(&block.time.ticks);
        self.weight.extend_from_slice(&block.weight);
        self.label.append(&block.label);
        self.kind.extend_from_slice(&block.kind);
        self.features.extend_from_slice(&block.features);
        self.src_class.append(&block.src_class);
        self.dst_class.append(&block.dst_class);
        for mut problem in block.problems.drain(..) {
            if self.problems.len() < max_problems {
                problem.at.line = problem.at.line.map(|line| line + self.lines);
                self.problems.push(problem);
            }
        }
        self.rows += block.rows;
        self.lines += block.lines;
        self.missing_values += block.missing_values;
        self.without_destination += block.without_destination;
        self.bad_rows += block.bad_rows;
    }

    /// Empties the columns and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.src.clear();
        self.dst.clear();
        self.time.ticks.clear();
        self.time.digits = 0;
        self.weight.clear();
        self.label.clear();
        self.kind.clear();
        self.features.clear();
        self.src_class.clear();
        self.dst_class.clear();
        self.problems.clear();
        self.rows = 0;
        (self.lines, self.missing_values, self.without_destination, self.bad_rows) = (0, 0, 0, 0);
    }
}
