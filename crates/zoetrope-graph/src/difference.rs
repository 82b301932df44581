//! What differs from snapshot to snapshot, for several consecutive snapshots at once (ESDG §3.2).
//!
//! A receiver has the entries of one snapshot, by rows. Together with the entries that are *born* in
//! later snapshots they form one list, ordered by row and column, in which the entries of the first
//! snapshot keep their order. The difference says in which step an entry of the list is born, in which
//! step it *dies*, and in which steps its weight *changes*. So each row of each snapshot follows from
//! the list alone, and all snapshots can be rebuilt at the same time. An entry that comes back is born
//! again. Entries that are dead at the end are not in the list of the next difference.
//!
//! Matrices are multisets: entries of one column are shared as often as two snapshots have them, by
//! their first copies. So those that live are always in the order of their row.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::GraphError;
use crate::ids::VertexId;
use crate::matrix_rows::MatrixRows;

mod row_walk;

use row_walk::RowWalk;

/// Rows that a task compares.
const TASK_ROWS: usize = 2048;

/// Changes of the members of a list: which member, at which step, and its new value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Which member each change is of; ascending, changes of one member by step.
    pub places: Vec<u32>,
    /// When each change happens.
    pub steps: Vec<u8>,
    /// What the member is from then on.
    pub values: Vec<u32>,
}

impl Changes {
    /// How lists of one length change, from `before` on; all members of the first list if there is
    /// nothing before it.
    ///
    /// # Panics
    /// If lists are shorter than the first one, or there are more than
    /// [`Difference::STEPS_MAX`].
    pub fn between(before: Option<&[u32]>, lists: &[&[u32]]) -> Self {
        assert!(lists.len() <= Difference::STEPS_MAX, "{} lists", lists.len());
        let mut changes = Self::default();
        for place in 0..lists.first().map_or(0, |list| list.len()) {
            let mut known = before.map(|before| before[place]);
            for (step, list) in (0..).zip(lists) {
                if known != Some(list[place]) {
                    changes.push(place as u32, step, list[place]);
                    known = Some(list[place]);
                }
            }
        }
        changes
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn push(&mut self, place: u32, step: u8, value: u32) {
        self.places.push(place);
        self.steps.push(step);
        self.values.push(value);
    }
}

/// What turns the entries of one snapshot into those of the next ones.
///
/// ```
/// # use zoetrope_graph::{Difference, MatrixRows};
/// let row = |columns| MatrixRows { offsets: &[0, 2], columns, weights: None };
/// let difference = Difference::new(Some(row(&[1, 4])), &[row(&[1, 3]), row(&[3, 4])])?;
/// assert_eq!(difference.entries, 4); // columns 1, 3, and 4 twice: it dies and comes back.
/// assert_eq!((&difference.born_columns[..], &difference.born_steps[..]), (&[3, 4][..], &[0, 1][..]));
/// assert_eq!((&difference.dead[..], &difference.dead_steps[..]), (&[0, 2][..], &[1, 0][..]));
/// # Ok::<(), zoetrope_graph::GraphError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// The number of entries of the list: those before the first step and all that are born.
    pub entries: usize,
    /// For each row, and for the end, how many entries are born in rows before it.
    pub born_before: Vec<u32>,
    /// The column of each entry that is born, by row and column.
    pub born_columns: Vec<VertexId>,
    /// The first weight of each entry that is born; empty if there are no weights.
    pub born_weights: Vec<u32>,
    /// The first step that has each entry.
    pub born_steps: Vec<u8>,
    /// Places in the list of the entries that die; ascending.
    pub dead: Vec<u32>,
    /// The first step without each of them.
    pub dead_steps: Vec<u8>,
    /// Weights by place in the list.
    pub weights: Changes,
}

impl Difference {
    /// The most snapshots of one difference: steps are held in a byte.
    pub const STEPS_MAX: usize = 64;

    /// What turns the entries of `before`, or no entries, into those of each of `snapshots`.
    ///
    /// # Errors
    /// If there is no snapshot or more than [`STEPS_MAX`](Self::STEPS_MAX), they differ in rows, or
    /// only some have weights.
    pub fn new(
        before: Option<MatrixRows<'_>>,
        snapshots: &[MatrixRows<'_>],
    ) -> Result<Self, GraphError> {
        let Some((first, others)) =
            snapshots.split_first().filter(|_| snapshots.len() <= Self::STEPS_MAX)
        else {
            return Err(GraphError::BadParameter {
                parameter: "snapshots of a difference",
                value: snapshots.len().to_string(),
                expected: "1 to 64",
            });
        };
        first.expect_alike(others)?;
        before.map_or(Ok(()), |before| first.expect_alike(&[before]))?;
        let tasks: Vec<usize> = (0..first.rows()).step_by(TASK_ROWS).collect();
        let parts: Vec<Self> = (tasks.into_par_iter())
            .map(|from| Self::of_rows(before, snapshots, from..first.rows().min(from + TASK_ROWS)))
            .collect();
        let mut all = Self { born_before: vec![0], ..Self::default() };
        parts.into_iter().for_each(|part| all.append(part));
        Ok(all)
    }

    /// The same of some rows, with places from the first of their entries, and without the first
    /// number of `born_before`.
    fn of_rows(
        before: Option<MatrixRows<'_>>,
        snapshots: &[MatrixRows<'_>],
        rows: Range<usize>,
    ) -> Self {
        let mut part = Self::default();
        let mut walk = RowWalk::default();
        let weighted = snapshots[0].weights.is_some();
        for row in rows {
            let old = before.map_or((&[][..], &[][..]), |before| before.row(row));
            let same = before.is_some() && snapshots.iter().all(|rows| rows.row(row) == old);
            if same {
                part.entries += old.0.len();
            } else {
                walk.follow(old, snapshots.iter().map(|rows| rows.row(row)));
                walk.append_to(&mut part, weighted);
            }
            part.born_before.push(part.born_columns.len() as u32);
        }
        part
    }

    fn append(&mut self, part: Self) {
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

    /// The row of each entry that is born.
    pub fn born_rows(&self) -> Vec<u32> {
        let before = self.born_before.windows(2).enumerate();
        before.flat_map(|(row, pair)| (pair[0]..pair[1]).map(move |_| row as u32)).collect()
    }
}
