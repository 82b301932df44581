//! Rows by lists of positions: copied and added, run by run.
//!
//! Plain loops in one thread: a row is moved once, by the rank's own thread, and the ranks run in parallel. The rows of a redistribution lie side by side by the thousand, so that a list is kept as
//! runs of consecutive rows and most of the work is copying long pieces of memory. Lists are checked
//! when a plan is made.

use std::ops::Range;

use zoetrope_tensor::cpu::past_caches;

/// Least values of a run that is worth storing past the caches.
const STREAMED_RUN_VALUES_MIN: usize = 4096;

/// Rows of a matrix in the order of a message, in the fewest bytes: a rule, runs, marks or numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowList {
    rows: usize,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// `count` runs of `length` rows, `stride` rows from start to start.
    Strided { first: usize, length: usize, stride: usize, count: usize },
    /// Where each run starts, and its length.
    Runs(Box<[(u32, u32)]>),
    /// Ascending rows as bits, of which the first stands for row `first`.
    Marked { first: usize, words: Box<[u64]> },
    /// One by one.
    Listed(Box<[u32]>),
}

impl Default for Form {
    fn default() -> Self {
        Self::Listed(Box::default())
    }
}

const BITS: usize = u64::BITS as usize;

impl RowList {
    /// The rows of a list, in the form that takes the fewest bytes.
    pub fn new(list: &[u32]) -> Self {
        let follows = |left: &u32, right: &u32| left + 1 == *right;
        let runs = || list.chunk_by(follows).map(|run| (run[0], run.len() as u32));
        let span = || (list[list.len() - 1] - list[0]) as usize + 1;
        let marked = list.len() > 1 && list.is_sorted_by(|left, right| left < right);
        let words = if marked { span().div_ceil(BITS) } else { usize::MAX };
        let bytes = [runs().count() * 8, words.saturating_mul(8), list.len() * 4];
        let form = match bytes.iter().min() {
            Some(&fewest) if fewest == bytes[0] => Form::Runs(runs().collect()),
            Some(&fewest) if fewest == bytes[1] => {
                let (first, mut bits) = (list[0] as usize, vec![0; words]);
                for row in list.iter().map(|&row| row as usize - first) {
                    bits[row / BITS] |= 1 << (row % BITS);
                }
                Form::Marked { first, words: bits.into() }
            }
            _ => Form::Listed(list.into()),
        };
        Self { rows: list.len(), form }
    }

    /// `count` runs of `length` rows, the first from `first` on, `stride` rows from start to start.
    pub fn strided(first: usize, length: usize, stride: usize, count: usize) -> Self {
        // Runs that follow each other are one.
        let [length, count] = if stride == length { [length * count, 1] } else { [length, count] };
        Self { rows: length * count, form: Form::Strided { first, length, stride, count } }
    }

    /// The first `rows` rows, one after the other.
    pub fn all(rows: usize) -> Self {
        Self::strided(0, rows, rows, 1)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes that the list takes, itself included.
    pub fn bytes(&self) -> usize {
        let own = match &self.form {
            Form::Strided { .. } => 0,
            Form::Runs(runs) => size_of_val(&runs[..]),
            Form::Marked { words, .. } => size_of_val(&words[..]),
            Form::Listed(rows) => size_of_val(&rows[..]),
        };
        size_of::<Self>() + own
    }

    /// The rows as runs of consecutive ones, in order.
    pub fn runs(&self) -> RowRuns<'_> {
        RowRuns { list: self, at: 0 }
    }

    /// The rows one by one.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs().flatten().map(|row| row as u32)
    }
}

/// Runs of consecutive rows.
#[derive(Debug, Clone)]
pub struct RowRuns<'a> {
    list: &'a RowList,
    /// Runs, rows or bits that are behind.
    at: usize,
}

impl Iterator for RowRuns<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.list.rows == 0 {
            return None;
        }
        let at = self.at;
        match &self.list.form {
            &Form::Strided { first, length, stride, count } => {
                self.at += 1;
                let start = first + at * stride;
                (at < count).then_some(start..start + length)
            }
            Form::Runs(runs) => {
                self.at += 1;
                let &(start, length) = runs.get(at)?;
                Some(start as usize..start as usize + length as usize)
            }
            Form::Listed(rows) => {
                self.at += 1;
                rows.get(at).map(|&row| row as usize..row as usize + 1)
            }
            Form::Marked { first, words } => {
                let start = next_bit(words, at, 0)?;
                let end = next_bit(words, start, u64::MAX).unwrap_or(words.len() * BITS);
                self.at = end;
                Some(first + start..first + end)
            }
        }
    }
}

/// The first bit from `from` on that differs from those of `unlike`, which are all 0 or all 1.
fn next_bit(words: &[u64], from: usize, unlike: u64) -> Option<usize> {
    let (mut at, shift) = (from / BITS, from % BITS);
    let mut word = (words.get(at)? ^ unlike) >> shift << shift;
    while word == 0 {
        at += 1;
        word = words.get(at)? ^ unlike;
    }
    Some(at * BITS + word.trailing_zeros() as usize)
}

/// What happens to the rows where others arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrive {
    /// They are overwritten.
    Put,
    /// They are added to.
    Add,
}

impl RowList {
    /// Appends these rows of `x`.
    pub(super) fn gather(&self, x: &[f32], cols: usize, y: &mut Vec<f32>) {
        for run in self.runs() {
            y.extend_from_slice(&x[run.start * cols..run.end * cols]);
        }
    }

    /// Takes these rows of `x` to the rows `to` of `y`, in the order of both lists.
    pub(super) fn carry(&self, x: &[f32], to: &Self, cols: usize, arrive: Arrive, y: &mut [f32]) {
        debug_assert_eq!(self.rows, to.rows, "as many rows as places");
        let past = size_of_val(y) > past_caches::STREAMING_BYTES_MIN;
        let (mut sources, mut places) = (self.runs(), to.runs());
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_move_the_rows_that_their_lists_name() {
        let x: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let runs = RowList::new(&[4, 5, 0, 2]);
        let mut gathered = Vec::new();
        runs.gather(&x, 2, &mut gathered);
        assert_eq!(gathered, [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 4.0, 5.0]);
        let mut y = vec![0.0; 12];
        RowList::all(4).carry(&gathered, &runs, 2, Arrive::Put, &mut y);
        assert_eq!(y, [0.0, 1.0, 0.0, 0.0, 4.0, 5.0, 0.0, 0.0, 8.0, 9.0, 10.0, 11.0]);
        RowList::all(4).carry(&gathered, &runs, 2, Arrive::Add, &mut y);
        assert_eq!(y, [0.0, 2.0, 0.0, 0.0, 8.0, 10.0, 0.0, 0.0, 16.0, 18.0, 20.0, 22.0]);
    }

    #[test]
    fn runs_of_different_lengths_pair_row_by_row() {
        let x: Vec<f32> = (0..6).map(|value| value as f32).collect();
        let (from, to) = (RowList::new(&[1, 2, 3, 0, 5]), RowList::new(&[0, 1, 4, 5, 6]));
        let mut y = vec![-1.0; 7];
        from.carry(&x, &to, 1, Arrive::Put, &mut y);
        assert_eq!(y, [1.0, 2.0, -1.0, -1.0, 3.0, 0.0, 5.0]);
        RowList::default().carry(&x, &RowList::default(), 1, Arrive::Put, &mut y);
    }

    #[test]
    fn a_list_takes_the_bytes_of_its_shortest_form() {
        let own = size_of::<RowList>();
        let bytes = |list: &[u32]| RowList::new(list).bytes() - own;
        let long: Vec<u32> = (0..10_000).collect();
        assert_eq!(bytes(&long), 8);
        let every_third: Vec<u32> = (0..3_000).map(|row| 3 * row).collect();
        assert_eq!(bytes(&every_third), 9_000_usize.div_ceil(64) * 8);
        let sparse: Vec<u32> = (0..100).map(|row| 1_000 * row).collect();
        assert_eq!(bytes(&sparse), 400);
        let back: Vec<u32> = (0..100).rev().collect();
        assert_eq!(bytes(&back), 400);
        assert_eq!(RowList::strided(3, 5, 100, 1_000_000).bytes(), own);
    }

    proptest! {
        #[test]
        fn every_form_names_the_rows_that_it_was_made_of(
            gaps in prop::collection::vec(1_u32..200, 0..300), dense in any::<bool>(), turned in any::<bool>(),
        ) {
            let step = |gap: u32| if dense { gap % 3 + 1 } else { gap };
            let mut rows: Vec<u32> = gaps.iter().scan(7, |at, &gap| { *at += step(gap); Some(*at) }).collect();
            if turned {
                rows.reverse();
            }
            let list = RowList::new(&rows);
            prop_assert_eq!(list.len(), rows.len());
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), rows);
        }
    }
}
