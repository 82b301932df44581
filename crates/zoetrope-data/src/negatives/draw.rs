//! Drawing without repeats from `0..size`.

use hashbrown::HashMap;
use zoetrope_graph::random::Random;

/// A random order of `0..size`, made one number at a time (Fisher–Yates).
///
/// Every number comes exactly once, so drawing always ends, however many numbers a caller
/// rejects.
pub(super) struct Order {
    random: Random,
    first: u64,
    size: u64,
    drawn: u64,
    places: Places,
}

/// The array that is shuffled.
enum Places {
    /// All of it.
    Whole(Vec<u64>),
    /// Where it differs from `0..size`: a few draws from many numbers touch little of it.
    Moved(HashMap<u64, u64>),
}

impl Order {
    /// `first` is the number of the first draw within `random`; draw `n` uses `first + n`.
    /// `expected` draws are likely; it changes the speed, not the order.
    pub(super) fn new(random: Random, first: u64, size: u64, expected: usize) -> Self {
        let places = if size <= 8 * expected as u64 {
            Places::Whole((0..size).collect())
        } else {
            Places::Moved(HashMap::new())
        };
        Self { random, first, size, drawn: 0, places }
    }
}

impl Iterator for Order {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let left = self.size.checked_sub(self.drawn).filter(|&left| left > 0)?;
        let from = self.drawn;
        let place = from + self.random.below(self.first.wrapping_add(from), left);
        self.drawn += 1;
        match &mut self.places {
            Places::Whole(numbers) => {
                numbers.swap(from as usize, place as usize);
                Some(numbers[from as usize])
            }
            Places::Moved(moved) => {
                let displaced = moved.remove(&from).unwrap_or(from);
                if place == from {
                    Some(displaced)
                } else {
                    Some(moved.insert(place, displaced).unwrap_or(place))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for size in [0, 1, 2, 17, 1000] {
            let mut order: Vec<u64> = Order::new(Random::new(5, 1), 0, size, 1).collect();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..size), "{size}");
        }
    }

    #[test]
    fn the_expected_number_of_draws_does_not_change_the_order() {
        let order = |expected| Order::new(Random::new(5, 1), 7, 300, expected);
        assert!(order(1).eq(order(300)));
    }

    #[test]
    fn every_number_is_as_likely_at_every_place() {
        let mut counts = [[0u32; 5]; 5];
        for run in 0..50_000u64 {
            for (place, number) in Order::new(Random::new(1, 1), run << 24, 5, 5).enumerate() {
                counts[place][number as usize] += 1;
            }
        }
        // 10,000 expected, deviation 89: five deviations.
        assert!(counts.iter().flatten().all(|&count| count.abs_diff(10_000) < 450), "{counts:?}");
    }
}
