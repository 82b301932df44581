//! The most that the process may hold.
//!
//! What is in use is counted exactly, but the system counts more: pages of the program, memory that
//! its allocator keeps between uses. That difference is read from the system now and then
//! ([`LOOK`]), and belongs to what is held.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::count::STEP_BITS;
use crate::{Bytes, count, resident};

/// Bytes that are taken between two looks at what the system counts, whether they were given back or not:
/// blocks that come and go leave gaps, so that the system counts more while as much is in use.
const LOOK: i64 = 2 << 20;
/// Bytes that a question stands for at least: small blocks ask once for as many.
const ASKED_BYTES_MIN: i64 = 1 << STEP_BITS;
/// What a run needs at least, besides the program as it starts: threads, buffers of files, code that
/// is loaded when it is used first.
const LEAST: i64 = 16 << 20;
/// What may come between two looks: pages of code and stacks.
const SPARE: i64 = 2 << 20;

/// 0 stands for none.
static LIMIT: AtomicI64 = AtomicI64::new(0);
/// What the system counted beyond what was in use, when it was asked last.
static BEYOND: AtomicI64 = AtomicI64::new(0);
/// The part of that difference that a limit began with and that belongs to no file: stacks, data of the
/// program and of the allocator.
static AT_FIRST: AtomicI64 = AtomicI64::new(0);
/// What was taken since the system was asked last.
static TAKEN: AtomicI64 = AtomicI64::new(0);

/// A limit below what the program itself takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the program itself takes {}, but the limit on memory is {}; choose a larger --memory-limit",
    Bytes(*.least),
    Bytes(*.limit)
)]
pub struct LimitError {
    /// The limit.
    pub limit: u64,
    /// The least that could do.
    pub least: u64,
}

/// Ends the process rather than let it hold more bytes than this, from now on.
///
/// # Errors
/// If the program itself takes more.
pub fn keep_to(bytes: u64) -> Result<(), LimitError> {
    resident::prepare();
    resident::return_large_blocks();
    if let Some(resident) = resident::bytes() {
        AT_FIRST.store((resident.all - resident.of_files - count::sum()).max(0), Relaxed);
    }
    look(0);
    let least = held() as i64 + LEAST;
    let limit = i64::try_from(bytes).unwrap_or(i64::MAX);
    if limit < least {
        return Err(LimitError { limit: bytes, least: least as u64 });
    }
    LIMIT.store(limit, Relaxed);
    Ok(())
}

/// The limit, if there is one.
pub fn limit() -> Option<u64> {
    Some(LIMIT.load(Relaxed)).filter(|&limit| limit > 0).map(|limit| limit as u64)
}

/// What the process holds: what is in use, and what the system counted beyond that.
pub fn held() -> u64 {
    (count::sum() + BEYOND.load(Relaxed)).max(0) as u64
}

/// What may still be taken, if there is a limit.
pub fn room() -> Option<u64> {
    if LIMIT.load(Relaxed) > 0 {
        look(0);
    }
    Some(limit()?.saturating_sub(held() + SPARE as u64))
}

/// Whether what is in use, the `size` bytes of a block that is being taken among it, breaks the limit.
pub(crate) fn is_broken(size: usize) -> bool {
    let limit = LIMIT.load(Relaxed);
    if limit == 0 {
        return false;
    }
    let taking = i64::try_from(size).unwrap_or(i64::MAX / 4);
    let over = || count::sum() + BEYOND.load(Relaxed) + SPARE > limit;
    if is_time_to_look(taking) {
        look(taking);
    }
    if !over() {
        return false;
    }
    // What the allocator of the system keeps for later may be what is missing now.
    resident::trim();
    if let Some(beyond) = beyond(taking) {
        BEYOND.store(beyond, Relaxed);
    }
    over()
}

/// Asks the system. What was taken and not yet touched hides some of the difference, so that the largest
/// one seen counts until what is kept between uses was given back.
fn look(taking: i64) {
    TAKEN.store(0, Relaxed);
    if let Some(beyond) = beyond(taking) {
        BEYOND.fetch_max(beyond, Relaxed);
    }
}

/// What the system counts beyond what is in use, while a block of `taking` bytes is counted and not yet there.
/// Nothing hides the pages of files, and what there was at first.
fn beyond(taking: i64) -> Option<i64> {
    let used = count::sum();
    let resident = resident::bytes()?;
    let least = resident.of_files + AT_FIRST.load(Relaxed);
    Some((resident.all - (used - taking)).max(least))
}

/// Whether so much was taken since the last look, `taking` bytes among it, that it is time for the next.
fn is_time_to_look(taking: i64) -> bool {
    let asked = taking.clamp(ASKED_BYTES_MIN, LOOK);
    TAKEN.fetch_add(asked, Relaxed) + asked >= LOOK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_come_and_go_are_looked_at_as_those_that_stay() {
        // Nothing else in these tests takes blocks under a limit.
        TAKEN.store(0, Relaxed);
        let blocks = (0..64).filter(|_| {
            let is_time = is_time_to_look(64 << 10);
            if is_time {
                TAKEN.store(0, Relaxed);
            }
            is_time
        });
        assert_eq!(blocks.count() as i64, 64 * ASKED_BYTES_MIN / LOOK);
        assert!(is_time_to_look(i64::MAX / 4));
    }
}
