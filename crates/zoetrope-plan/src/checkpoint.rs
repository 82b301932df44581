//! Gradient checkpoints: how many blocks a timeline is cut into (ESDG §3.1).
//!
//! With `nb` blocks, activations are held for one block at a time, and what a time encoder passes from
//! block to block (`π_b`: hidden states, or the last rows of its window) for all of them:
//! `memory(nb) = activations of the largest block + nb · π`. More blocks need less of the first and more
//! of the second, and every block after the first costs computing, because its forward pass runs twice.

/// The first of some numbers of blocks whose memory keeps to a limit; if none does, the one that
/// takes least. None if no numbers are given.
pub fn fewest_blocks(
    counts: impl Iterator<Item = usize>,
    limit: Option<u64>,
    memory: impl Fn(usize) -> u64,
) -> Option<usize> {
    let mut least: Option<(u64, usize)> = None;
    for count in counts {
        let bytes = memory(count);
        if limit.is_none_or(|limit| bytes <= limit) {
            return Some(count);
        }
        least = least.filter(|&(before, _)| before <= bytes).or(Some((bytes, count)));
    }
    least.map(|(_, count)| count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 bytes of activations a step, 50 bytes of state at each block.
    fn memory(blocks: usize) -> u64 {
        (20_usize.div_ceil(blocks) * 1000 + if blocks > 1 { blocks * 50 } else { 0 }) as u64
    }

    #[test]
    fn the_fewest_blocks_that_fit_are_taken() {
        let fewest = |limit| fewest_blocks(1..=20, limit, memory);
        assert_eq!(fewest(None), Some(1));
        assert_eq!(fewest(Some(20_000)), Some(1));
        assert_eq!(fewest(Some(19_999)), Some(2));
        assert_eq!(fewest(Some(5_200)), Some(4));
        assert_eq!(fewest(Some(2_500)), Some(10));
    }

    #[test]
    fn where_no_number_of_blocks_keeps_to_a_limit_the_one_that_takes_least_is_told() {
        assert_eq!(fewest_blocks(1..=20, Some(1_000), memory), Some(20));
        assert_eq!(fewest_blocks(std::iter::empty(), Some(1_000), memory), None);
    }
}
