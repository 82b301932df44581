//! Rows by lists of positions: copied and added, run by run.
//!
//! Plain loops in one thread: a row is moved once, by the rank's own thread, and ranks are what is
//! parallel. The rows of a redistribution lie side by side by the thousand, so that a list is kept as
//! runs of consecutive rows and most of the work is copying long pieces of memory. Lists are checked
//! when a plan is made.

use std::ops::Range;

/// Consecutive rows of a matrix.
type Run = Range<usize>;

/// A list of rows as runs of consecutive ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
}

impl Runs {
    pub(super) fn new(list: &[u32]) -> Self {
        let follows = |left: &u32, right: &u32| left + 1 == *right;
        let run = |run: &[u32]| run[0] as usize..run[0] as usize + run.len();
        Self { runs: list.chunk_by(follows).map(run).collect() }
    }

    /// Appends these rows of `x`.
    pub(super) fn gather(&self, x: &[f32], cols: usize, y: &mut Vec<f32>) {
        for run in &self.runs {
            y.extend_from_slice(&x[run.start * cols..run.end * cols]);
        }
    }

    /// These rows of `y` are the rows of `x`, one after the other.
    pub(super) fn scatter(&self, mut x: &[f32], cols: usize, y: &mut [f32]) {
        for run in &self.runs {
            let (own, rest) = x.split_at(run.len() * cols);
            y[run.start * cols..run.end * cols].copy_from_slice(own);
            x = rest;
        }
    }

    /// Adds the rows of `x`, one after the other, to these rows of `y`.
    pub(super) fn scatter_add(&self, mut x: &[f32], cols: usize, y: &mut [f32]) {
        for run in &self.runs {
            let (own, rest) = x.split_at(run.len() * cols);
            add(own, &mut y[run.start * cols..run.end * cols]);
            x = rest;
        }
    }
}

/// Pairs of as long runs: where rows are, and where they go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Moves {
    moves: Vec<(Run, Run)>,
}

impl Moves {
    /// Row `to[i]` is row `from[i]`.
    pub(super) fn new(from: &[u32], to: &[u32]) -> Self {
        let mut moves: Vec<(Run, Run)> = Vec::new();
        for (&from, &to) in from.iter().zip(to) {
            let (from, to) = (from as usize, to as usize);
            match moves.last_mut() {
                Some((source, place)) if source.end == from && place.end == to => {
                    (source.end, place.end) = (from + 1, to + 1);
                }
                _ => moves.push((from..from + 1, to..to + 1)),
            }
        }
        Self { moves }
    }

    /// Copies rows of `x` to `y`.
    pub(super) fn copy(&self, x: &[f32], cols: usize, y: &mut [f32]) {
        for (from, to) in &self.moves {
            y[to.start * cols..to.end * cols]
                .copy_from_slice(&x[from.start * cols..from.end * cols]);
        }
    }

    /// Copies rows of `y` back to `x`.
    pub(super) fn copy_back(&self, y: &[f32], cols: usize, x: &mut [f32]) {
        for (from, to) in &self.moves {
            x[from.start * cols..from.end * cols]
                .copy_from_slice(&y[to.start * cols..to.end * cols]);
        }
    }

    /// Adds rows of `y` to those of `x` that they came from.
    pub(super) fn add_back(&self, y: &[f32], cols: usize, x: &mut [f32]) {
        for (from, to) in &self.moves {
            add(&y[to.start * cols..to.end * cols], &mut x[from.start * cols..from.end * cols]);
        }
    }
}

fn add(x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_move_the_rows_that_their_lists_name() {
        let x: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let runs = Runs::new(&[4, 5, 0, 2]);
        assert_eq!(runs.runs, [4..6, 0..1, 2..3]);
        let mut gathered = Vec::new();
        runs.gather(&x, 2, &mut gathered);
        assert_eq!(gathered, [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 4.0, 5.0]);
        let mut y = vec![0.0; 12];
        runs.scatter(&gathered, 2, &mut y);
        runs.scatter_add(&gathered, 2, &mut y);
        assert_eq!(y, [0.0, 2.0, 0.0, 0.0, 8.0, 10.0, 0.0, 0.0, 16.0, 18.0, 20.0, 22.0]);
        let moves = Moves::new(&[1, 2, 3], &[0, 1, 4]);
        assert_eq!(moves.moves, [(1..3, 0..2), (3..4, 4..5)]);
        let mut y = vec![0.0; 10];
        moves.copy(&x, 2, &mut y);
        assert_eq!(y, [2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0, 6.0, 7.0]);
        let mut back = vec![0.0; 8];
        moves.copy_back(&y, 2, &mut back);
        moves.add_back(&y, 2, &mut back);
        assert_eq!(back, [0.0, 0.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]);
    }
}
