//! Counter-based random numbers: Philox 4×32-10.
//!
//! A draw is a pure function of (seed, stream, step, index), so results do not depend on the
//! number of threads or on how much was drawn before. Salmon, Moraes, Dror and Shaw, "Parallel
//! random numbers: as easy as 1, 2, 3", SC 2011.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// A key from which independent draws are made by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random {
    key: [u32; 2],
    stream: u32,
    step: u32,
}

impl Random {
    /// Draws keyed by `seed` and by a `stream` that names the purpose.
    pub fn new(seed: u64, stream: u32) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], stream, step: 0 }
    }

    /// The same stream at another step (epoch, snapshot, batch).
    pub fn at_step(self, step: u32) -> Self {
        Self { step, ..self }
    }

    /// Four 32-bit numbers for `index`.
    pub fn block(&self, index: u64) -> [u32; 4] {
        philox([index as u32, (index >> 32) as u32, self.step, self.stream], self.key)
    }

    /// A 64-bit number for `index`.
    pub fn u64(&self, index: u64) -> u64 {
        let [low, high, ..] = self.block(index);
        u64::from(high) << 32 | u64::from(low)
    }

    /// A number in `0..bound` for `index`, by multiplication (bias below `bound / 2^64`).
    pub fn below(&self, index: u64, bound: u64) -> u64 {
        ((u128::from(self.u64(index)) * u128::from(bound)) >> 64) as u64
    }

    /// The seed, the stream and the step.
    pub fn key(&self) -> (u64, u32, u32) {
        (u64::from(self.key[1]) << 32 | u64::from(self.key[0]), self.stream, self.step)
    }

    /// A number in `[0, 1)` with 53 random bits for `index`.
    pub fn unit(&self, index: u64) -> f64 {
        (self.u64(index) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A standard normal number for `index` (Box–Muller).
    pub fn normal(&self, index: u64) -> f64 {
        let [a, b, c, d] = self.block(index);
        let first = (u64::from(a) << 32 | u64::from(b)) >> 11;
        let second = (u64::from(c) << 32 | u64::from(d)) >> 11;
        let scale = 1.0 / (1u64 << 53) as f64;
        let radius = (-2.0 * ((first as f64 + 0.5) * scale).ln()).sqrt();
        radius * (std::f64::consts::TAU * second as f64 * scale).cos()
    }
}

/// Draws of one purpose and step, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    random: Random,
    first: u64,
}

/// Draws that are computed at a time.
const SIDE_BY_SIDE: usize = 16;

impl Draws {
    /// Draws of `random` from its index `first` on.
    pub fn new(random: Random, first: u64) -> Self {
        Self { random, first }
    }

    /// The generator, and the index of the draw at position 0.
    pub fn source(&self) -> (Random, u64) {
        (self.random, self.first)
    }

    /// A number in `0..bound`.
    pub fn below(&self, position: u64, bound: u64) -> u64 {
        self.random.below(self.first + position, bound)
    }

    /// The number of position `position + n` below `bound + n`, for each place `n`: what distinct numbers
    /// are made of. Inlined into a function that is compiled for wide vectors, it draws many at a time.
    #[allow(
        clippy::needless_range_loop,
        reason = "loops over lanes become vectors; zipped iterators over five arrays do not read better"
    )]
    #[inline(always)]
    pub fn below_rising(&self, position: u64, bound: u32, numbers: &mut [u32]) {
        let Random { key, stream, step } = self.random;
        for (block, numbers) in numbers.chunks_mut(SIDE_BY_SIDE).enumerate() {
            let done = block * SIDE_BY_SIDE;
            let index = self.first + position + done as u64;
            let bound = bound.wrapping_add(done as u32);
            // Words of 32 bits in the lower halves of 64: a product needs no other place, its upper half is a
            // shift away, and what an exclusive or leaves in upper halves is never looked at.
            let mut counter = [[0u64; SIDE_BY_SIDE]; 4];
            for lane in 0..SIDE_BY_SIDE {
                let index = index.wrapping_add(lane as u64);
                counter[0][lane] = index;
                counter[1][lane] = index >> 32;
                counter[2][lane] = u64::from(step);
                counter[3][lane] = u64::from(stream);
            }
            let mut key = key;
            let multipliers = MULTIPLIERS.map(u64::from);
            for _ in 0..10 {
                let keys = key.map(u64::from);
                for lane in 0..SIDE_BY_SIDE {
                    let first = multipliers[0] * lower(counter[0][lane]);
                    let second = multipliers[1] * lower(counter[2][lane]);
                    counter[0][lane] = (second >> 32) ^ counter[1][lane] ^ keys[0];
                    counter[1][lane] = second;
                    counter[2][lane] = (first >> 32) ^ counter[3][lane] ^ keys[1];
                    counter[3][lane] = first;
                }
                key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
            }
            let mut drawn = [0u32; SIDE_BY_SIDE];
            for lane in 0..SIDE_BY_SIDE {
                // The upper half of a product of 64 and 32 bits, as `Random::below` has it.
                let bound = u64::from(bound.wrapping_add(lane as u32));
                let low = (lower(counter[0][lane]) * bound) >> 32;
                drawn[lane] = ((lower(counter[1][lane]) * bound + low) >> 32) as u32;
            }
            numbers.copy_from_slice(&drawn[..numbers.len()]);
        }
    }
}

/// The lower half of a word.
#[inline(always)]
fn lower(word: u64) -> u64 {
    word & u64::from(u32::MAX)
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let second = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors published with the Random123 library for philox4x32-10.
    #[test]
    fn philox_gives_the_published_vectors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn draws_side_by_side_are_those_of_their_positions() {
        let (random, huge) = (Random::new(5, 0x0A83).at_step(9), u32::MAX - 40);
        for (first, bound) in [(0, 1), (u64::from(u32::MAX) - 7, 900), (1 << 40, huge)] {
            let draws = Draws::new(random, first);
            let mut numbers = [0; 37];
            draws.below_rising(11, bound, &mut numbers);
            for (at, &number) in (0..).zip(&numbers) {
                let expected = draws.below(11 + at, u64::from(bound) + at);
                assert_eq!(u64::from(number), expected, "{first} {bound} {at}");
            }
        }
    }
}
