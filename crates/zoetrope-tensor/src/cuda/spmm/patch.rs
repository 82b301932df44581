//! What turns one side of a snapshot into that of the next (ESDG §3.2).
//!
//! Of the previous snapshot the card has the entries by rows. It is sent which of them are gone (their
//! positions), which are new (row and column, and weight where there are weights), which weights of
//! the others and which factors of vertices (or lengths that these follow from) changed. Where everything that is left of the old
//! entries keeps its order, the place of a new entry follows from a search in its row, and every other
//! one from its rank: see `difference.cu`. What the card could compute only in several passes over
//! all rows is sent as it is, because it is small: the header of the block, the starts of slices and
//! the pieces of long rows, the *frame*.

use super::rows::Rows;

/// New values of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Update {
    /// At some places.
    Some { places: Vec<u32>, values: Vec<u32> },
    /// All of them, where that is shorter.
    All(Vec<u32>),
}

impl Update {
    fn new(places: Vec<u32>, values: Vec<u32>, all: &[u32]) -> Self {
        match places.len() + values.len() < all.len() {
            true => Self::Some { places, values },
            false => Self::All(all.to_vec()),
        }
    }

    fn words(&self) -> usize {
        match self {
            Self::Some { places, values } => places.len() + values.len(),
            Self::All(values) => values.len(),
        }
    }

    /// The places, or None for all of them.
    pub(super) fn places(&self) -> Option<&[u32]> {
        match self {
            Self::Some { places, .. } => Some(places),
            Self::All(_) => None,
        }
    }

    pub(super) fn values(&self) -> &[u32] {
        match self {
            Self::Some { values, .. } | Self::All(values) => values,
        }
    }
}

/// What turns the rows of one snapshot into those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patch {
    /// Positions of entries that only the old snapshot has, ascending.
    pub(super) removed: Vec<u32>,
    /// Entries that only the new one has, by row and column.
    pub(super) added_rows: Vec<u32>,
    pub(super) added_columns: Vec<u32>,
    /// Empty where there are no weights.
    pub(super) added_weights: Vec<u32>,
    /// By position in the new snapshot.
    pub(super) weights: Option<Update>,
    /// By vertex.
    pub(super) vertices: Option<Update>,
    /// All of them: they are few.
    pub(super) lengths: Option<Vec<u32>>,
}

impl Patch {
    /// What turns `old` into `new`; None where these do not have the same kinds of lists.
    pub(super) fn between(old: &Rows, new: &Rows) -> Option<Self> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let (mut places, mut changed) = (Vec::new(), Vec::new());
        let weights = match (&old.weights, &new.weights) {
            (Some(old), Some(new)) => Some((old, new)),
            (None, None) => None,
            _ => return None,
        };
        if old.offsets.len() != new.offsets.len() || old.lengths.is_some() != new.lengths.is_some()
        {
            return None;
        }
        for (row, (from, to)) in old.offsets.windows(2).zip(new.offsets.windows(2)).enumerate() {
            let (mut at, mut to_at) = (from[0], to[0]);
            // Entries of one column are shared as often as both have them, the first ones.
            while at < from[1] || to_at < to[1] {
                let before = (at < from[1]).then(|| old.columns[at as usize]);
                let after = (to_at < to[1]).then(|| new.columns[to_at as usize]);
                match (before, after) {
                    (Some(before), Some(after)) if before == after => {
                        if let Some((old, new)) = weights {
                            let now = new[to_at as usize];
                            if old[at as usize] != now {
                                places.push(to_at);
                                changed.push(now);
                            }
                        }
                        at += 1;
                        to_at += 1;
                    }
                    (Some(before), after) if after.is_none_or(|after| before < after) => {
                        removed.push(at);
                        at += 1;
                    }
                    _ => {
                        added.push((row as u32, to_at));
                        to_at += 1;
                    }
                }
            }
        }
        let of_added = |list: &[u32]| added.iter().map(|&(_, at)| list[at as usize]).collect();
        let vertices = match (&old.vertices, &new.vertices) {
            (Some(old), Some(new)) => Some(changes(old, new)),
            (None, None) => None,
            _ => return None,
        };
        Some(Self {
            removed,
            added_rows: added.iter().map(|&(row, _)| row).collect(),
            added_columns: of_added(&new.columns),
            added_weights: weights.map_or_else(Vec::new, |(_, new)| of_added(new)),
            weights: weights.map(|(_, new)| Update::new(places, changed, new)),
            vertices,
            lengths: new.lengths.clone(),
        })
    }

    /// The number of words of all lists.
    pub(super) fn words(&self) -> usize {
        let lists = [&self.removed, &self.added_rows, &self.added_columns, &self.added_weights];
        let updates = [&self.weights, &self.vertices];
        lists.iter().map(|list| list.len()).sum::<usize>()
            + updates.into_iter().flatten().map(Update::words).sum::<usize>()
            + self.lengths.as_ref().map_or(0, Vec::len)
    }

    /// The new snapshot, by the searches that the kernels do.
    #[cfg(test)]
    pub(super) fn apply(&self, old: &Rows) -> Rows {
        let gone_before = |at: u32| self.removed.partition_point(|&gone| gone < at) as u32;
        let new_before = |row: u32| self.added_rows.partition_point(|&new| new < row) as u32;
        let offsets: Vec<u32> = (0..)
            .zip(&old.offsets)
            .map(|(row, &at)| at - gone_before(at) + new_before(row))
            .collect();
        let added = self.added_rows.iter().zip(&self.added_columns);
        let places: Vec<u32> = (0..)
            .zip(added)
            .map(|(rank, (&row, &column))| {
                let [first, end] = [0, 1].map(|more| old.offsets[row as usize + more]);
                let of_row = &old.columns[first as usize..end as usize];
                let at = first + of_row.partition_point(|&other| other <= column) as u32;
                at - gone_before(at) + rank
            })
            .collect();
        let ranks: Vec<u32> = (0..).zip(&self.removed).map(|(rank, &gone)| gone - rank).collect();
        let list = |old: &[u32], added: &[u32]| -> Vec<u32> {
            (0..offsets[offsets.len() - 1])
                .map(|at| {
                    let rank = places.partition_point(|&place| place < at);
                    if places.get(rank) == Some(&at) {
                        return added[rank];
                    }
                    let kept = at - rank as u32;
                    old[kept as usize + ranks.partition_point(|&before| before <= kept)]
                })
                .collect()
        };
        let updated = |update: &Update, mut list: Vec<u32>| match update {
            Update::Some { places, values } => {
                places.iter().zip(values).for_each(|(&at, &value)| list[at as usize] = value);
                list
            }
            Update::All(values) => values.clone(),
        };
        Rows {
            columns: list(&old.columns, &self.added_columns),
            weights: (old.weights.as_ref().zip(self.weights.as_ref()))
                .map(|(old, update)| updated(update, list(old, &self.added_weights))),
            vertices: (old.vertices.as_ref().zip(self.vertices.as_ref()))
                .map(|(old, update)| updated(update, old.clone())),
            lengths: self.lengths.clone(),
            offsets,
        }
    }
}

fn changes(old: &[u32], new: &[u32]) -> Update {
    let changed = (0..).zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new);
    let (places, values) = changed.map(|(at, (_, &new))| (at, new)).unzip();
    Update::new(places, values, new)
}

#[cfg(test)]
mod tests;
