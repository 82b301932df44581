//! Heavy-tailed choices: ranks with power-law popularity, spread over the vertices by a shuffle.

use zoetrope_graph::random::Random;

/// Ranks `0..count`, rank `r` with probability close to `(r + 1)^-decay`, in constant memory.
///
/// The density `x^-decay` on `[1, count + 1)` is inverted in closed form and rounded down, so the
/// probability of rank `r` is the integral of the density over `[r + 1, r + 2)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PowerRanks {
    count: u64,
    decay: f64,
    /// `(count + 1)^(1 - decay) - 1`, or `ln(count + 1)` at `decay = 1`.
    span: f64,
}

impl PowerRanks {
    pub(super) fn new(count: u64, decay: f64) -> Self {
        // Near 1 the closed form divides by almost zero; there the logarithm is its limit.
        let decay = if (decay - 1.0).abs() < 1e-6 { 1.0 } else { decay };
        let top = (count + 1) as f64;
        let span = if decay == 1.0 { top.ln() } else { top.powf(1.0 - decay) - 1.0 };
        Self { count, decay, span }
    }

    /// Degrees of vertices chosen this way follow `P(degree) ~ degree^-exponent`.
    pub(super) fn for_degree_exponent(count: u64, exponent: f64) -> Self {
        Self::new(count, 1.0 / (exponent - 1.0))
    }

    /// The rank at `unit` in `[0, 1)`.
    pub(super) fn rank(&self, unit: f64) -> u64 {
        let position = if self.decay == 1.0 {
            (unit * self.span).exp()
        } else {
            (1.0 + unit * self.span).powf(1.0 / (1.0 - self.decay))
        };
        (position as u64).clamp(1, self.count) - 1
    }

    /// The probability of `rank`.
    #[cfg(test)]
    pub(super) fn probability(&self, rank: u64) -> f64 {
        let integral =
            |x: f64| if self.decay == 1.0 { x.ln() } else { x.powf(1.0 - self.decay) - 1.0 };
        (integral(rank as f64 + 2.0) - integral(rank as f64 + 1.0)) / self.span
    }
}

/// A random order of `0..count` (Fisher–Yates), so that hubs do not have the lowest numbers.
pub(super) fn shuffled(count: u32, random: Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for position in (1..count as usize).rev() {
        order.swap(position, random.below(position as u64, position as u64 + 1) as usize);
    }
    order
}

/// Two 32-bit halves of a block as numbers in `[0, 1)`, for choices among at most 2^32.
pub(super) fn units([a, b, ..]: [u32; 4]) -> [f64; 2] {
    [a, b].map(|word| f64::from(word) * (1.0 / (1u64 << 32) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_density_says() {
        for decay in [0.0, 0.5, 1.0, 2.5] {
            let ranks = PowerRanks::new(50, decay);
            let random = Random::new(3, 1);
            let draws = 200_000;
            let mut counts = [0u32; 50];
            for draw in 0..draws {
                counts[ranks.rank(random.unit(draw)) as usize] += 1;
            }
            for (rank, &count) in counts.iter().enumerate() {
                let expected = ranks.probability(rank as u64) * draws as f64;
                // Five standard deviations of a binomial count: about one failure in 10^4
                // choices of seed over these 200 comparisons, and the seed is fixed.
                let slack = 5.0 * expected.sqrt() + 1.0;
                assert!((f64::from(count) - expected).abs() < slack, "{decay} {rank} {count}");
            }
        }
    }

    #[test]
    fn ranks_stay_in_range_at_both_ends() {
        for decay in [0.0, 0.3, 1.0, 1.0 + 1e-9, 4.0] {
            for count in [1, 2, 1 << 31] {
                let ranks = PowerRanks::new(count, decay);
                assert_eq!(ranks.rank(0.0), 0);
                assert!(ranks.rank(1.0 - f64::EPSILON / 2.0) < count);
            }
        }
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut order = shuffled(1000, Random::new(1, 2));
        assert_ne!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(position, &value)| position as u32 == value));
    }
}
