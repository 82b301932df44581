//! The entries of consecutive snapshots together, by what differs from the snapshot before (ESDG §3.2).
//!
//! Of the snapshot before, a receiver has the entries by rows. With those that are *born* in one of the
//! snapshots they are a list by row and column, in which what was there before keeps its order. Of every
//! entry it is known when it comes and when it *dies*, and when its weight *changes*: so each row of
//! each snapshot follows from the list alone, and all of them can be made at once (`difference.cu`).
//! An entry that comes back is born again. What is dead at the end leaves the list with the next one.
//!
//! Entries of one column are the same as often as two snapshots have them, the first ones; so those
//! that live are always in the order of the row.

use rayon::prelude::*;

use super::rows::Rows;

/// The most snapshots together: steps are told in a byte, and what comes and goes adds up.
pub(super) const MOST_STEPS: usize = 64;

/// Rows that a task looks through.
const TASK_ROWS: usize = 2048;

/// Something that happens to one of a list at a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Ascending, those of one place by step.
    pub(super) places: Vec<u32>,
    pub(super) steps: Vec<u8>,
    pub(super) values: Vec<u32>,
}

impl Changes {
    fn push(&mut self, place: u32, step: u8, value: u32) {
        self.places.push(place);
        self.steps.push(step);
        self.values.push(value);
    }

    /// Words of all lists, where each value has so many bytes.
    fn words(&self, bytes: usize) -> usize {
        self.places.len() + (self.places.len() * (1 + bytes)).div_ceil(4)
    }
}

/// What a list by rows needs to become that of the next snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Union {
    /// Whether weights are numbers, each of which is a byte.
    pub(super) numbered: bool,
    /// All entries of the list.
    pub(super) entries: usize,
    /// For each row, and for the end, how many are born in rows before it.
    pub(super) born_before: Vec<u32>,
    pub(super) born_columns: Vec<u32>,
    /// Empty where there are no weights.
    pub(super) born_weights: Vec<u32>,
    pub(super) born_steps: Vec<u8>,
    /// Places in the list of entries that die, ascending, and the first step without them.
    pub(super) dead: Vec<u32>,
    pub(super) dead_steps: Vec<u8>,
    /// Weights by place in the list.
    pub(super) weights: Changes,
    /// Words of vertices.
    pub(super) vertices: Vertices,
}

/// Words of vertices at each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Vertices {
    /// Where they change.
    Some(Changes),
    /// All of them, where that is shorter.
    All(Vec<u32>),
    /// The same by number, and the words of each step by number.
    Numbered { numbers: Vec<u16>, words: Vec<Vec<u32>> },
}

impl Default for Vertices {
    fn default() -> Self {
        Self::Some(Changes::default())
    }
}

impl Union {
    /// What turns `before`, or nothing, into the list of some snapshots; None where these do not have
    /// the same kinds of lists.
    pub(super) fn new(before: Option<&Rows>, snapshots: &[&Rows]) -> Option<Self> {
        debug_assert!((1..=MOST_STEPS).contains(&snapshots.len()));
        let first = snapshots[0];
        let kinds = |rows: &Rows| {
            let optional = [&rows.weights, &rows.codes, &rows.vertices, &rows.lengths];
            (rows.offsets.len(), optional.map(Option::is_some))
        };
        let mut others = before.into_iter().chain(snapshots[1..].iter().copied());
        if others.any(|rows| kinds(rows) != kinds(first)) {
            return None;
        }
        let rows = first.offsets.len() - 1;
        let tasks: Vec<usize> = (0..rows).step_by(TASK_ROWS).collect();
        let parts: Vec<Part> = (tasks.into_par_iter())
            .map(|from| Part::of(before, snapshots, from..rows.min(from + TASK_ROWS)))
            .collect();
        let numbered = first.codes.is_some();
        let mut union = Self { numbered, born_before: vec![0], ..Self::default() };
        parts.into_iter().for_each(|part| union.append(part));
        if first.vertices.is_some() {
            union.vertices = vertices(before, snapshots);
        }
        Some(union)
    }

    fn append(&mut self, part: Part) {
        let (first, born) = (self.entries as u32, self.born_columns.len() as u32);
        self.entries += part.entries;
        self.born_before.extend(part.born_before.iter().map(|before| before + born));
        self.born_columns.extend(part.born_columns);
        self.born_weights.extend(part.born_weights);
        self.born_steps.extend(part.born_steps);
        self.dead.extend(part.dead.iter().map(|place| place + first));
        self.dead_steps.extend(part.dead_steps);
        self.weights.places.extend(part.weights.places.iter().map(|place| place + first));
        self.weights.steps.extend(part.weights.steps);
        self.weights.values.extend(part.weights.values);
    }

    /// The row of each that is born.
    pub(super) fn born_rows(&self) -> Vec<u32> {
        let before = self.born_before.windows(2).enumerate();
        before.flat_map(|(row, pair)| (pair[0]..pair[1]).map(move |_| row as u32)).collect()
    }

    /// The number of words of all lists.
    pub(super) fn words(&self) -> usize {
        let vertices = match &self.vertices {
            Vertices::Some(changes) => changes.words(size_of::<u32>()),
            Vertices::All(values) => values.len(),
            Vertices::Numbered { numbers, words } => numbered_words(numbers, words),
        };
        let bytes = if self.numbered { 1 } else { size_of::<u32>() };
        let born_at = self.born_before.len().min(self.born_columns.len());
        let lists = [&self.born_columns, &self.dead];
        let short = [self.born_steps.len(), self.dead_steps.len(), bytes * self.born_weights.len()];
        born_at
            + lists.iter().map(|list| list.len()).sum::<usize>()
            + short.iter().map(|bytes| bytes.div_ceil(4)).sum::<usize>()
            + self.weights.words(bytes)
            + vertices
    }
}

fn vertices(before: Option<&Rows>, snapshots: &[&Rows]) -> Vertices {
    let words: Vec<&[u32]> = snapshots.iter().filter_map(|rows| rows.vertices.as_deref()).collect();
    let before = before.and_then(|rows| rows.vertices.as_deref());
    let mut changes = Changes::default();
    for vertex in 0..words[0].len() {
        let mut known = before.map(|before| before[vertex]);
        for (step, words) in words.iter().enumerate() {
            if known != Some(words[vertex]) {
                changes.push(vertex as u32, step as u8, words[vertex]);
                known = Some(words[vertex]);
            }
        }
    }
    let some = changes.words(size_of::<u32>());
    let all = words.len() * words[0].len();
    match numbered(&words) {
        Some((numbers, words)) if numbered_words(&numbers, &words) < some.min(all) => {
            Vertices::Numbered { numbers, words }
        }
        _ if some < all => Vertices::Some(changes),
        _ => Vertices::All(words.concat()),
    }
}

/// The numbers of words, and the words of each step by number; None where too many of them differ.
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

/// The same of some rows, with places from the first of their entries.
#[derive(Default)]
struct Part {
    entries: usize,
    born_before: Vec<u32>,
    born_columns: Vec<u32>,
    born_weights: Vec<u32>,
    born_steps: Vec<u8>,
    dead: Vec<u32>,
    dead_steps: Vec<u8>,
    weights: Changes,
}

/// An entry of the row that is looked through.
#[derive(Clone, Copy)]
struct Entry {
    column: u32,
    /// The latest.
    weight: u32,
    born: Option<u8>,
    dies: Option<u8>,
    /// Which it is among those of its row, in the order in which they came.
    came: u32,
}

/// A change of a weight: which entry of the row, by coming, when, and to what.
type Change = (u32, u8, u32);

/// Buffers of a row.
#[derive(Default)]
struct Row {
    entries: Vec<Entry>,
    /// Which of them live, by column.
    alive: Vec<u32>,
    next: Vec<u32>,
    changes: Vec<Change>,
    first_weights: Vec<u32>,
    places: Vec<u32>,
}

impl Part {
    fn of(before: Option<&Rows>, snapshots: &[&Rows], rows: std::ops::Range<usize>) -> Self {
        let mut part = Self::default();
        let mut buffers = Row::default();
        let weighted = snapshots[0].weights.is_some();
        for row in rows {
            let old = before.map_or((&[][..], &[][..]), |before| before.row(row));
            let same = before.is_some() && snapshots.iter().all(|rows| rows.row(row) == old);
            if same {
                part.entries += old.0.len();
            } else {
                buffers.follow(old, snapshots.iter().map(|rows| rows.row(row)));
                part.take(&mut buffers, weighted);
            }
            part.born_before.push(part.born_columns.len() as u32);
        }
        part
    }

    /// Appends a row that was looked through.
    fn take(&mut self, row: &mut Row, weighted: bool) {
        let Row { entries, changes, first_weights, places, .. } = row;
        let first = self.entries as u32;
        // Stable: those that were there before come first, the others as they came.
        entries.sort_by_key(|entry| (entry.column, entry.born.is_some()));
        places.clear();
        places.resize(entries.len(), 0);
        for (place, entry) in (first..).zip(&*entries) {
            places[entry.came as usize] = place;
            if let Some(step) = entry.born {
                self.born_columns.push(entry.column);
                self.born_steps.push(step);
                if weighted {
                    self.born_weights.push(first_weights[entry.came as usize]);
                }
            }
            if let Some(step) = entry.dies {
                self.dead.push(place);
                self.dead_steps.push(step);
            }
        }
        changes.sort_unstable_by_key(|&(entry, step, _)| (places[entry as usize], step));
        for &(entry, step, weight) in &*changes {
            self.weights.push(places[entry as usize], step, weight);
        }
        self.entries += entries.len();
    }
}

/// Columns of a row, and weights where there are any.
type Entries<'a> = (&'a [u32], &'a [u32]);

impl Row {
    /// Looks through a row of all snapshots.
    fn follow<'a>(&mut self, old: Entries<'a>, snapshots: impl Iterator<Item = Entries<'a>>) {
        self.entries.clear();
        self.changes.clear();
        self.first_weights.clear();
        self.alive.clear();
        let weight = |weights: &[u32], at: usize| weights.get(at).copied().unwrap_or(0);
        for (at, &column) in old.0.iter().enumerate() {
            let came = self.come(column, weight(old.1, at), None);
            self.alive.push(came);
        }
        for (step, (columns, weights)) in snapshots.enumerate() {
            let step = step as u8;
            self.next.clear();
            let (mut at, mut new) = (0, 0);
            while at < self.alive.len() || new < columns.len() {
                let before =
                    self.alive.get(at).map(|&entry| (entry, self.entries[entry as usize].column));
                match (before, columns.get(new)) {
                    (Some((entry, column)), Some(&now)) if column == now => {
                        let (known, weight) =
                            (&mut self.entries[entry as usize], weight(weights, new));
                        if known.weight != weight {
                            known.weight = weight;
                            self.changes.push((entry, step, weight));
                        }
                        self.next.push(entry);
                        at += 1;
                        new += 1;
                    }
                    (Some((entry, column)), now) if now.is_none_or(|&now| column < now) => {
                        self.entries[entry as usize].dies = Some(step);
                        at += 1;
                    }
                    _ => {
                        let came = self.come(columns[new], weight(weights, new), Some(step));
                        self.next.push(came);
                        new += 1;
                    }
                }
            }
            std::mem::swap(&mut self.alive, &mut self.next);
        }
    }

    fn come(&mut self, column: u32, weight: u32, born: Option<u8>) -> u32 {
        let came = self.entries.len() as u32;
        self.entries.push(Entry { column, weight, born, dies: None, came });
        self.first_weights.push(weight);
        came
    }
}

#[cfg(test)]
mod tests;
