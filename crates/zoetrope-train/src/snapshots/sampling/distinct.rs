//! Drawing distinct numbers without allocating.
//!
//! Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987): `count` distinct numbers
//! of `0..size` in as many draws, every subset equally likely. Which numbers are taken is marked in a
//! bit each, so that the marks of a million numbers stay in the cache of a core.

use super::draw_key::Draws;

const BITS: usize = u64::BITS as usize;

/// Marks of the numbers that were drawn; the memory is reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Distinct {
    /// All 0 between draws.
    marks: Vec<u64>,
    drawn: Vec<usize>,
}

impl Distinct {
    /// `count` distinct numbers of `0..size` in the order in which they were drawn, all of them if
    /// there are not more. Draw `n` has position `first + n`.
    pub(super) fn draw(&mut self, draws: Draws, first: u64, count: usize, size: usize) -> &[usize] {
        self.mark(draws, first, count, size);
        for number in &self.drawn {
            self.marks[number / BITS] = 0;
        }
        &self.drawn
    }

    /// The same numbers in ascending order.
    pub(super) fn draw_ascending(&mut self, draws: Draws, count: usize, size: usize) -> &[usize] {
        self.mark(draws, 0, count, size);
        self.drawn.clear();
        for (at, word) in self.marks[..size.div_ceil(BITS)].iter_mut().enumerate() {
            while *word != 0 {
                self.drawn.push(at * BITS + word.trailing_zeros() as usize);
                *word &= *word - 1;
            }
        }
        &self.drawn
    }

    /// Draws numbers and leaves their marks.
    fn mark(&mut self, draws: Draws, first: u64, count: usize, size: usize) {
        self.drawn.clear();
        if self.marks.len() * BITS < size {
            self.marks.resize(size.div_ceil(BITS), 0);
        }
        let count = count.min(size);
        for (position, last) in (first..).zip(size - count..size) {
            // Of as many numbers as are asked for each is taken, whatever is drawn: in order.
            let drawn =
                if count == size { last } else { draws.below(position, last as u64 + 1) as usize };
            let number = if self.is_marked(drawn) { last } else { drawn };
            self.marks[number / BITS] |= 1 << (number % BITS);
            self.drawn.push(number);
        }
    }

    fn is_marked(&self, number: usize) -> bool {
        self.marks[number / BITS] >> (number % BITS) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshots::sampling::draw_key::{DrawKey, Purpose};

    fn draws(step: u32) -> Draws {
        DrawKey::training(0, step).draws(3, Purpose::Positives)
    }

    #[test]
    fn numbers_differ_and_lie_in_range() {
        let mut distinct = Distinct::default();
        for step in 0..6 {
            let mut numbers = distinct.draw(draws(step), 0, 70, 90).to_vec();
            numbers.sort_unstable();
            assert_eq!(distinct.draw_ascending(draws(step), 70, 90), numbers);
            numbers.dedup();
            assert!(numbers.len() == 70 && numbers[69] < 90, "{numbers:?}");
        }
    }

    #[test]
    fn asking_for_all_or_more_gives_all() {
        for count in [4, 5, 100] {
            let mut distinct = Distinct::default();
            assert_eq!(distinct.draw(draws(0), 0, count, 4), [0, 1, 2, 3]);
            assert_eq!(distinct.draw_ascending(draws(0), count, 4), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn every_subset_is_as_likely() {
        let (mut distinct, mut counts) = (Distinct::default(), [0u32; 4]);
        for step in 0..40_000 {
            distinct.draw(draws(step), 0, 2, 4).iter().for_each(|&number| counts[number] += 1);
        }
        // 20,000 expected, deviation 100: five deviations.
        assert!(counts.iter().all(|&count| count.abs_diff(20_000) < 500), "{counts:?}");
    }
}
