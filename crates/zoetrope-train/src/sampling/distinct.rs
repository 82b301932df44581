//! Drawing distinct numbers without allocating.
//!
//! Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987): `count` distinct numbers
//! of `0..size` in as many draws, every subset equally likely. Which numbers are taken is marked in
//! an array of stamps, so starting over costs nothing.

use super::draw_key::Draws;

/// Marks of the numbers that were drawn; the memory is reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Distinct {
    stamps: Vec<u32>,
    stamp: u32,
}

impl Distinct {
    /// Hands `count` distinct numbers of `0..size` to `take`, all of them where there are not
    /// more. Draw `n` has position `first + n`.
    pub(super) fn draw(
        &mut self,
        draws: Draws,
        first: u64,
        count: usize,
        size: usize,
        mut take: impl FnMut(usize),
    ) {
        if count >= size {
            (0..size).for_each(take);
            return;
        }
        self.start(size);
        for (position, last) in (first..).zip(size - count..size) {
            let drawn = draws.below(position, last as u64 + 1) as usize;
            let number = if self.is_drawn(drawn) { last } else { drawn };
            self.stamps[number] = self.stamp;
            take(number);
        }
    }

    /// Whether a number was drawn since the last call of [`draw`](Self::draw).
    fn is_drawn(&self, number: usize) -> bool {
        self.stamps[number] == self.stamp
    }

    fn start(&mut self, size: usize) {
        if self.stamps.len() < size {
            self.stamps.resize(size, 0);
        }
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.stamps.fill(0);
            self.stamp = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::draw_key::{DrawKey, Purpose};

    fn draws(step: u32) -> Draws {
        DrawKey::training(0, step).draws(3, Purpose::Positives)
    }

    #[test]
    fn numbers_differ_and_lie_in_range() {
        let mut distinct = Distinct { stamps: Vec::new(), stamp: u32::MAX - 2 };
        for step in 0..6 {
            let mut numbers = Vec::new();
            distinct.draw(draws(step), 0, 7, 9, |number| numbers.push(number));
            numbers.sort_unstable();
            numbers.dedup();
            assert!(numbers.len() == 7 && numbers[6] < 9, "{numbers:?}");
        }
    }

    #[test]
    fn asking_for_all_or_more_gives_all() {
        for count in [4, 5, 100] {
            let mut numbers = Vec::new();
            Distinct::default().draw(draws(0), 0, count, 4, |number| numbers.push(number));
            assert_eq!(numbers, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn every_subset_is_as_likely() {
        let (mut distinct, mut counts) = (Distinct::default(), [0u32; 4]);
        for step in 0..40_000 {
            distinct.draw(draws(step), 0, 2, 4, |number| counts[number] += 1);
        }
        // 20,000 expected, deviation 100: five deviations.
        assert!(counts.iter().all(|&count| count.abs_diff(20_000) < 500), "{counts:?}");
    }
}
