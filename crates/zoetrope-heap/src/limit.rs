//! The most that the process may hold.
//!
//! What is in use is counted exactly, but the system counts more: pages of the program, memory that
//! its allocator keeps between uses. That difference is read from the system now and then
//! ([`LOOK`]), and belongs to what is held.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::{Bytes, count, resident};

/// Bytes that are newly in use between two looks at what the system counts.
const LOOK: i64 = 4 << 20;
/// What a run needs at least, besides the program as it starts: threads, buffers of files, code that
/// is loaded when it is used first.
const LEAST: i64 = 16 << 20;
/// What may come between two looks: pages of code and stacks.
const SPARE: i64 = 2 << 20;

/// 0 stands for none.
static LIMIT: AtomicI64 = AtomicI64::new(0);
/// What the system counted beyond what was in use, when it was asked last.
static BEYOND: AtomicI64 = AtomicI64::new(0);
/// What was in use when the system was asked last.
static LOOKED_AT: AtomicI64 = AtomicI64::new(0);

/// A limit below what the program itself takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the program itself takes {}, but the limit on memory is {}; choose a larger one",
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
    if (count::sum() - LOOKED_AT.load(Relaxed)).abs() >= LOOK {
        look(taking);
    }
    if !over() {
        return false;
    }
    // What the allocator of the system keeps for later may be what is missing now.
    resident::trim();
    BEYOND.store(0, Relaxed);
    look(taking);
    over()
}

/// Asks the system, while a block of `taking` bytes is counted and not yet there. What was taken and
/// not yet touched hides some of the difference, so that the largest one seen counts until what is
/// kept between uses was given back.
fn look(taking: i64) {
    let used = count::sum();
    if let Some(resident) = resident::bytes() {
        BEYOND.fetch_max(resident - (used - taking), Relaxed);
        LOOKED_AT.store(used, Relaxed);
    }
}
