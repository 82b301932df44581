//! Drawing distinct numbers without allocating.
//!
//! Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987): `count` distinct numbers
//! of `0..size` in as many draws, every subset equally likely. Which numbers are taken is marked: of few by a stamp
//! each, which is written without being read and never taken back; of many in a bit each, so that the marks
//! of a million numbers stay in the cache of a core.

use crate::random::Draws;

const BITS: usize = u64::BITS as usize;

/// Up to so many numbers have a stamp of four bytes each, 256 KiB at most; more are marked in bits, which take less
/// memory. With few numbers, bits are slower: many draws in a row change the same word and wait for each other.
const STAMPED_MAX: usize = 1 << 16;

/// Fewer draws are made one by one: side by side some would be made for nothing.
const SIDE_BY_SIDE_MIN: usize = 8;

/// Marks of the numbers that were drawn; the memory is reused.
#[derive(Debug, Clone, Default)]
pub struct Distinct {
    /// All 0 between draws.
    marks: Vec<u64>,
    /// The number of the draw that took a number last.
    stamps: Vec<u32>,
    draws: u32,
    drawn: Vec<u32>,
    ascending: Vec<usize>,
}

impl Distinct {
    /// `count` distinct numbers of `0..size` in the order in which they were drawn, all of them where
    /// there are not more. Draw `n` has position `first + n`. Inlined into a function that is compiled for
    /// wide vectors, it draws many at a time.
    #[inline(always)]
    pub fn draw(&mut self, draws: Draws, first: u64, count: usize, size: u32) -> &[u32] {
        let count = count.min(size as usize);
        self.drawn.resize(count, 0);
        if count == size as usize {
            // Of as many numbers as are asked for each is taken, whatever is drawn: in order.
            self.drawn.iter_mut().zip(0..).for_each(|(number, at)| *number = at);
            return &self.drawn;
        }
        let lowest = size - count as u32;
        if count < SIDE_BY_SIDE_MIN {
            for ((number, position), bound) in
                self.drawn.iter_mut().zip(first..).zip(u64::from(lowest) + 1..)
            {
                *number = draws.below(position, bound) as u32;
            }
        } else {
            draws.below_rising(first, lowest + 1, &mut self.drawn);
        }
        if size as usize <= STAMPED_MAX {
            self.stamp(size as usize, lowest);
        } else {
            self.mark(size as usize, lowest);
        }
        &self.drawn
    }

    /// `count` distinct numbers of `0..size` in ascending order, from positions from 0 on.
    pub fn draw_ascending(&mut self, draws: Draws, count: usize, size: usize) -> &[usize] {
        self.make_room(size);
        let count = count.min(size);
        for (position, last) in (0..).zip(size - count..size) {
            let drawn =
                if count == size { last } else { draws.below(position, last as u64 + 1) as usize };
            let number = if self.is_marked(drawn) { last } else { drawn };
            self.marks[number / BITS] |= 1 << (number % BITS);
        }
        self.ascending.clear();
        for (at, word) in self.marks[..size.div_ceil(BITS)].iter_mut().enumerate() {
            while *word != 0 {
                self.ascending.push(at * BITS + word.trailing_zeros() as usize);
                *word &= *word - 1;
            }
        }
        &self.ascending
    }

    /// Replaces what was drawn before by the number that its place adds.
    #[inline(always)]
    fn stamp(&mut self, size: usize, lowest: u32) {
        if self.stamps.len() < size {
            self.stamps.resize(size, 0);
        }
        if self.draws == u32::MAX {
            self.stamps.fill(0);
            self.draws = 0;
        }
        self.draws += 1;
        for (number, last) in self.drawn.iter_mut().zip(lowest..) {
            *number = if self.stamps[*number as usize] == self.draws { last } else { *number };
            self.stamps[*number as usize] = self.draws;
        }
    }

    /// The same in bits.
    #[inline(always)]
    fn mark(&mut self, size: usize, lowest: u32) {
        self.make_room(size);
        for (number, last) in self.drawn.iter_mut().zip(lowest..) {
            let drawn = *number as usize;
            let is_marked = self.marks[drawn / BITS] >> (drawn % BITS) & 1 == 1;
            *number = if is_marked { last } else { *number };
            self.marks[*number as usize / BITS] |= 1 << (*number as usize % BITS);
        }
        for &number in &self.drawn {
            self.marks[number as usize / BITS] = 0;
        }
    }

    fn make_room(&mut self, size: usize) {
        if self.marks.len() * BITS < size {
            self.marks.resize(size.div_ceil(BITS), 0);
        }
    }

    fn is_marked(&self, number: usize) -> bool {
        self.marks[number / BITS] >> (number % BITS) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn draws(step: u32) -> Draws {
        Draws::new(Random::new(3, 0x0A01).at_step(step), 0)
    }

    #[test]
    fn numbers_differ_and_lie_in_range() {
        let mut distinct = Distinct::default();
        for step in 0..6 {
            let mut numbers = distinct.draw(draws(step), 0, 70, 90).to_vec();
            numbers.sort_unstable();
            let ascending: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
            assert_eq!(distinct.draw_ascending(draws(step), 70, 90), ascending);
            numbers.dedup();
            assert!(numbers.len() == 70 && numbers[69] < 90, "{numbers:?}");
        }
    }

    #[test]
    fn stamps_and_bits_take_the_same_numbers() {
        let mut distinct = Distinct { draws: u32::MAX - 2, ..Distinct::default() };
        for step in 0..5 {
            let stamped = distinct.draw(draws(step), 0, 60, 80).to_vec();
            draws(step).below_rising(0, 21, &mut distinct.drawn);
            distinct.mark(80, 20);
            assert_eq!(distinct.drawn, stamped);
        }
        let (count, size) = (3000, STAMPED_MAX as u32 + 9);
        let marked = distinct.draw(draws(7), 0, count, size).to_vec();
        draws(7).below_rising(0, size - count as u32 + 1, &mut distinct.drawn);
        distinct.stamp(size as usize, size - count as u32);
        assert_eq!(distinct.drawn, marked);
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
            distinct
                .draw(draws(step), 0, 2, 4)
                .iter()
                .for_each(|&number| counts[number as usize] += 1);
        }
        // 20,000 expected, deviation 100: five deviations.
        assert!(counts.iter().all(|&count| count.abs_diff(20_000) < 500), "{counts:?}");
    }
}
