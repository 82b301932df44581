//! Rows by lists of positions: copied and added, run by run.
//!
//! Plain loops in one thread: a row is moved once, by the rank's own thread, and the ranks run in parallel. The rows of a redistribution lie side by side by the thousand, so that a list is kept as
//! runs of consecutive rows and most of the work is copying long pieces of memory. Lists are checked
//! when a plan is made.

use std::ops::Range;

use zoetrope_tensor::cpu::past_caches;

/// Least values of a run that is worth storing past the caches.
const STREAMED_RUN_VALUES_MIN: usize = 4096;

/// A list of rows as runs of consecutive ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Runs {
    runs: Vec<Range<usize>>,
    rows: usize,
}

/// What happens to the rows where others arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrive {
    /// They are overwritten.
    Put,
    /// They are added to.
    Add,
}

impl Runs {
    pub(super) fn new(list: &[u32]) -> Self {
        let follows = |left: &u32, right: &u32| left + 1 == *right;
        let run = |run: &[u32]| run[0] as usize..run[0] as usize + run.len();
        Self { runs: list.chunk_by(follows).map(run).collect(), rows: list.len() }
    }

    /// The first `rows` rows, one after the other.
    pub(super) fn all(rows: usize) -> Self {
        let first = 0..rows;
        Self { runs: vec![first], rows }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Appends these rows of `x`.
    pub(super) fn gather(&self, x: &[f32], cols: usize, y: &mut Vec<f32>) {
        for run in &self.runs {
            y.extend_from_slice(&x[run.start * cols..run.end * cols]);
        }
    }

    /// Takes these rows of `x` to the rows `to` of `y`, in the order of both lists.
    pub(super) fn carry(&self, x: &[f32], to: &Self, cols: usize, arrive: Arrive, y: &mut [f32]) {
        debug_assert_eq!(self.rows, to.rows, "as many rows as places");
        let past = size_of_val(y) > past_caches::STREAMING_BYTES_MIN;
        let (mut sources, mut places) = (self.runs.iter().cloned(), to.runs.iter().cloned());
        let (mut source, mut place) = (0..0, 0..0);
        loop {
            if source.is_empty() {
                let Some(next) = sources.next() else { return };
                source = next;
            }
            if place.is_empty() {
                let Some(next) = places.next() else { return };
                place = next;
            }
            let rows = source.len().min(place.len());
            let x = &x[source.start * cols..(source.start + rows) * cols];
            let y = &mut y[place.start * cols..(place.start + rows) * cols];
            match arrive {
                Arrive::Put if past && x.len() > STREAMED_RUN_VALUES_MIN => past_caches::copy(x, y),
                Arrive::Put => y.copy_from_slice(x),
                Arrive::Add => y.iter_mut().zip(x).for_each(|(y, x)| *y += x),
            }
            source.start += rows;
            place.start += rows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_move_the_rows_that_their_lists_name() {
        let x: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let runs = Runs::new(&[4, 5, 0, 2]);
        assert_eq!(runs.runs, [4..6, 0..1, 2..3]);
        assert_eq!(runs.len(), 4);
        let mut gathered = Vec::new();
        runs.gather(&x, 2, &mut gathered);
        assert_eq!(gathered, [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 4.0, 5.0]);
        let mut y = vec![0.0; 12];
        Runs::all(4).carry(&gathered, &runs, 2, Arrive::Put, &mut y);
        assert_eq!(y, [0.0, 1.0, 0.0, 0.0, 4.0, 5.0, 0.0, 0.0, 8.0, 9.0, 10.0, 11.0]);
        Runs::all(4).carry(&gathered, &runs, 2, Arrive::Add, &mut y);
        assert_eq!(y, [0.0, 2.0, 0.0, 0.0, 8.0, 10.0, 0.0, 0.0, 16.0, 18.0, 20.0, 22.0]);
    }

    #[test]
    fn runs_of_different_lengths_pair_row_by_row() {
        let x: Vec<f32> = (0..6).map(|value| value as f32).collect();
        let (from, to) = (Runs::new(&[1, 2, 3, 0, 5]), Runs::new(&[0, 1, 4, 5, 6]));
        let mut y = vec![-1.0; 7];
        from.carry(&x, &to, 1, Arrive::Put, &mut y);
        assert_eq!(y, [1.0, 2.0, -1.0, -1.0, 3.0, 0.0, 5.0]);
        Runs::default().carry(&x, &Runs::default(), 1, Arrive::Put, &mut y);
    }
}
