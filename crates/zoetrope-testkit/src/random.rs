//! Random numbers that a seed reproduces on every machine.

/// A stream of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed and of a number within it: streams of neighbouring numbers have nothing
    /// in common.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut mixed = Self(seed);
        let key = mixed.next_u64() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(key.rotate_left(17))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }

    /// True once in `times` on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_every_number_its_own() {
        let draw = |seed, number| {
            let mut random = Random::new(seed, number);
            [random.below(1000), random.below(1000), random.below(1000), random.below(1000)]
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
        let mut random = Random::new(7, 0);
        let mut seen = [0; 10];
        (0..1000).for_each(|_| seen[random.below(10)] += 1);
        assert!(seen.iter().all(|&count| (60..140).contains(&count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
