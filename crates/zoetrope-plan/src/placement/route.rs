//! Routes: which rows a rank sends to whom, which it receives from whom, and where they lie.
//!
//! A route belongs to one rank and leads from one matrix of rows to another. The `k`-th row that
//! rank `p` sends to `q` is the `k`-th that `q` receives from `p`; a rank's own rows are copied. Lists
//! are made once and serve every layer, whatever its width; backward is the same route, reversed.

use std::ops::Range;

use super::{Placement, Share};

/// Rows of a matrix, in the order in which they are sent or received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// `count` runs of `length` rows, the first from `first` on, `stride` rows from start to start.
    Strided {
        /// The first row.
        first: usize,
        /// Rows of a run.
        length: usize,
        /// Rows from the start of a run to the start of the next.
        stride: usize,
        /// The number of runs.
        count: usize,
    },
    /// One by one.
    Listed(Vec<u32>),
}

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Strided { length, count, .. } => length * count,
            Self::Listed(rows) => rows.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows one by one.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match *self {
            Self::Strided { first, length, stride, count } => {
                let run = move |at: usize| first + at * stride..first + at * stride + length;
                Box::new((0..count).flat_map(run).map(|row| row as u32))
            }
            Self::Listed(ref rows) => Box::new(rows.iter().copied()),
        }
    }

    /// The rows as runs of consecutive ones, in order.
    pub fn runs(&self) -> Vec<Range<usize>> {
        match *self {
            Self::Strided { first, length, stride, count } => {
                if stride == length {
                    std::iter::once(first..first + length * count).collect()
                } else {
                    (0..count).map(|at| first + at * stride..first + at * stride + length).collect()
                }
            }
            Self::Listed(ref rows) => {
                let follows = |left: &u32, right: &u32| left + 1 == *right;
                let run = |run: &[u32]| run[0] as usize..run[0] as usize + run.len();
                rows.chunk_by(follows).map(run).collect()
            }
        }
    }
}

/// Rows that go to or come from one other rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// The other rank.
    pub peer: u32,
    /// The rows, in the order of the message.
    pub rows: Rows,
}

/// What one rank sends, keeps and receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Rows of the matrix that it leads from.
    pub rows_before: usize,
    /// Rows of the matrix that it leads to.
    pub rows_after: usize,
    /// Rows of the first matrix by receiver, ascending; never the rank itself, never empty.
    pub sends: Vec<Leg>,
    /// Rows of the second matrix by sender, ascending; never the rank itself, never empty.
    pub receives: Vec<Leg>,
    /// Rows of the first matrix that stay.
    pub kept_before: Rows,
    /// Where they lie in the second, in the same order.
    pub kept_after: Rows,
}

impl Route {
    /// Rows that leave the rank: units of communication.
    pub fn sent(&self) -> usize {
        self.sends.iter().map(|leg| leg.rows.len()).sum()
    }

    /// Rows that come in.
    pub fn received(&self) -> usize {
        self.receives.iter().map(|leg| leg.rows.len()).sum()
    }

    /// Whether nothing moves: the two matrices are one.
    pub fn is_identity(&self) -> bool {
        let all = 0..self.rows_before as u32;
        self.rows_before == self.rows_after
            && self.kept_before.iter().eq(all.clone())
            && self.kept_after.iter().eq(all)
    }

    /// The route in the other direction, which gradients take in the backward pass.
    pub fn reversed(&self) -> Self {
        Self {
            rows_before: self.rows_after,
            rows_after: self.rows_before,
            sends: self.receives.clone(),
            receives: self.sends.clone(),
            kept_before: self.kept_after.clone(),
            kept_after: self.kept_before.clone(),
        }
    }

    /// The redistribution of some time steps of a frame (a block, or all) from one placement to
    /// another, for one of `ranks` ranks.
    ///
    /// # Panics
    /// If a placement does not know the time steps or the ranks.
    pub fn between(
        from: &Placement,
        to: &Placement,
        vertices: u32,
        steps: Range<usize>,
        ranks: u32,
        rank: u32,
    ) -> Self {
        let before = from.share(rank, vertices, steps.clone());
        let after = to.share(rank, vertices, steps.clone());
        let legs = |mine: &Share, theirs: &Placement| {
            let others = (0..ranks).filter(|&peer| peer != rank);
            let leg = |peer| Leg {
                peer,
                rows: common(mine, &theirs.share(peer, vertices, steps.clone())),
            };
            others.map(leg).filter(|leg| !leg.rows.is_empty()).collect()
        };
        Self {
            rows_before: before.rows(),
            rows_after: after.rows(),
            sends: legs(&before, to),
            receives: legs(&after, from),
            kept_before: common(&before, &after),
            kept_after: common(&after, &before),
        }
    }
}

/// The rows of `mine` whose cells are also in `theirs`, ordered by cell.
fn common(mine: &Share, theirs: &Share) -> Rows {
    let vertices =
        mine.vertices.start.max(theirs.vertices.start)..mine.vertices.end.min(theirs.vertices.end);
    let stride = mine.vertices.len();
    let length = vertices.len();
    let is_theirs = |step: &usize| theirs.steps.binary_search(step).is_ok();
    let positions: Vec<usize> =
        (0..mine.steps.len()).filter(|&at| is_theirs(&mine.steps[at])).collect();
    if length == 0 || positions.is_empty() {
        return Rows::Listed(Vec::new());
    }
    let offset = (vertices.start - mine.vertices.start) as usize;
    let gap = positions.get(1).map_or(1, |second| second - positions[0]);
    if positions.windows(2).all(|pair| pair[1] - pair[0] == gap) {
        Rows::Strided {
            first: positions[0] * stride + offset,
            length,
            stride: gap * stride,
            count: positions.len(),
        }
    } else {
        let run = |at: usize| at * stride + offset..at * stride + offset + length;
        Rows::Listed(positions.into_iter().flat_map(run).map(|row| row as u32).collect())
    }
}
