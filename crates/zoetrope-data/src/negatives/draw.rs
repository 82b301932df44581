//! Drawing without repeats from `0..size`, in constant memory per draw.

use hashbrown::HashMap;
use zoetrope_graph::random::Random;

/// A random order of `0..size`, made one number at a time.
///
/// This is Fisher–Yates on an array that exists only where it differs from `0..size`. Every
/// number comes exactly once, so drawing always ends, however many numbers a caller rejects.
pub(super) struct Order {
    random: Random,
    first: u64,
    size: u64,
    drawn: u64,
    moved: HashMap<u64, u64>,
}

impl Order {
    /// `first` is the number of the first draw within `random`; draw `n` uses `first + n`.
    pub(super) fn new(random: Random, first: u64, size: u64) -> Self {
        Self { random, first, size, drawn: 0, moved: HashMap::new() }
    }
}

impl Iterator for Order {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let left = self.size.checked_sub(self.drawn).filter(|&left| left > 0)?;
        let from = self.drawn;
        let place = from + self.random.below(self.first.wrapping_add(from), left);
        self.drawn += 1;
        let displaced = self.moved.remove(&from).unwrap_or(from);
        match place == from {
            true => Some(displaced),
            false => Some(self.moved.insert(place, displaced).unwrap_or(place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for size in [0, 1, 2, 17, 1000] {
            let mut order: Vec<u64> = Order::new(Random::new(5, 1), 0, size).collect();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..size), "{size}");
        }
    }

    #[test]
    fn every_number_is_as_likely_at_every_place() {
        let mut counts = [[0u32; 5]; 5];
        for run in 0..50_000u64 {
            for (place, number) in Order::new(Random::new(1, 1), run << 24, 5).enumerate() {
                counts[place][number as usize] += 1;
            }
        }
        // 10,000 expected, deviation 89: five deviations.
        assert!(counts.iter().flatten().all(|&count| count.abs_diff(10_000) < 450), "{counts:?}");
    }
}
