//! Gradient checkpoints: how many blocks a timeline is cut into (ESDG §3.1).
//!
//! With `nb` blocks, activations are held for one block at a time, and what a time encoder passes from
//! block to block (`π_b`: hidden states, or the last rows of its window) for all of them:
//! `memory(nb) = activations of the largest block + nb · π`. More blocks need less of the first and more
//! of the second, and every block after the first costs computing, because its forward pass runs twice.

use crate::error::PlanError;

/// The fewest blocks whose memory keeps to a limit; one where there is no limit.
///
/// `memory` tells bytes by the number of blocks, from 1 to `steps`.
///
/// # Errors
/// [`PlanError::TooLarge`] where no number of blocks keeps to it, with what the best one needs.
pub fn fewest_blocks(
    steps: usize,
    limit: Option<u64>,
    memory: impl Fn(usize) -> u64,
) -> Result<usize, PlanError> {
    let Some(limit) = limit else { return Ok(1) };
    if let Some(blocks) = (1..=steps.max(1)).find(|&blocks| memory(blocks) <= limit) {
        return Ok(blocks);
    }
    let needed = (1..=steps.max(1)).map(memory).min().unwrap_or(0);
    Err(PlanError::TooLarge {
        needed,
        limit,
        largest: "activations and checkpoints",
        largest_bytes: needed,
        advice: "choose a smaller hidden size or a shorter frame, or more ranks",
    })
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
        assert_eq!(fewest_blocks(20, None, memory), Ok(1));
        assert_eq!(fewest_blocks(20, Some(20_000), memory), Ok(1));
        assert_eq!(fewest_blocks(20, Some(19_999), memory), Ok(2));
        assert_eq!(fewest_blocks(20, Some(5_200), memory), Ok(4));
        assert_eq!(fewest_blocks(20, Some(2_500), memory), Ok(10));
    }

    #[test]
    fn a_limit_that_no_number_of_blocks_keeps_to_is_refused_with_the_best() {
        let error = fewest_blocks(20, Some(1_000), memory).unwrap_err();
        assert!(
            matches!(error, PlanError::TooLarge { needed: 2_000, limit: 1_000, .. }),
            "{error}"
        );
    }
}
