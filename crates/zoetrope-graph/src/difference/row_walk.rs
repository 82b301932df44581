//! Follows one row through consecutive snapshots.

use super::Difference;
use crate::ids::VertexId;

/// An entry of the row.
#[derive(Clone, Copy)]
struct Entry {
    column: VertexId,
    /// The latest.
    weight: u32,
    born: Option<u8>,
    dies: Option<u8>,
    /// Which it is among those of its row, in the order in which they came.
    came: u32,
}

/// A change of a weight: which entry of the row (by coming), when, and to what.
type WeightChange = (u32, u8, u32);

/// Columns of a row, and weights if there are any.
type Row<'a> = (&'a [VertexId], &'a [u32]);

/// What happens to a row; its buffers serve one row after another.
#[derive(Default)]
pub(super) struct RowWalk {
    entries: Vec<Entry>,
    /// Which of them live, by column.
    alive: Vec<u32>,
    next: Vec<u32>,
    changes: Vec<WeightChange>,
    first_weights: Vec<u32>,
    places: Vec<u32>,
}

impl RowWalk {
    /// Compares a row of all snapshots.
    pub(super) fn follow<'a>(&mut self, old: Row<'a>, snapshots: impl Iterator<Item = Row<'a>>) {
        self.entries.clear();
        self.changes.clear();
        self.first_weights.clear();
        self.alive.clear();
        let weight = |weights: &[u32], at: usize| weights.get(at).copied().unwrap_or(0);
        for (at, &column) in old.0.iter().enumerate() {
            let came = self.come(column, weight(old.1, at), None);
            self.alive.push(came);
        }
        for (step, (columns, weights)) in (0..).zip(snapshots) {
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

    fn come(&mut self, column: VertexId, weight: u32, born: Option<u8>) -> u32 {
        let came = self.entries.len() as u32;
        self.entries.push(Entry { column, weight, born, dies: None, came });
        self.first_weights.push(weight);
        came
    }

    /// Appends the row that was followed to the rows before it.
    pub(super) fn append_to(&mut self, rows: &mut Difference, weighted: bool) {
        let Self { entries, changes, first_weights, places, .. } = self;
        let first = rows.entries as u32;
        // Stable: those that were there before come first, the others as they came.
        entries.sort_by_key(|entry| (entry.column, entry.born.is_some()));
        places.clear();
        places.resize(entries.len(), 0);
        for (place, entry) in (first..).zip(&*entries) {
            places[entry.came as usize] = place;
            if let Some(step) = entry.born {
                rows.born_columns.push(entry.column);
                rows.born_steps.push(step);
                if weighted {
                    rows.born_weights.push(first_weights[entry.came as usize]);
                }
            }
            if let Some(step) = entry.dies {
                rows.dead.push(place);
                rows.dead_steps.push(step);
            }
        }
        changes.sort_unstable_by_key(|&(entry, step, _)| (places[entry as usize], step));
        for &(entry, step, weight) in &*changes {
            rows.weights.push(places[entry as usize], step, weight);
        }
        rows.entries += entries.len();
    }
}
