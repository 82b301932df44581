//! How many bytes are in use.
//!
//! Large blocks are counted in one number. Small ones come too often for that: threads would wait for
//! each other's cache line. Each thread adds them to one of a few numbers of its own; a thread that has
//! taken another step (`STEP_BITS`) looks at the sum.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

/// Least bytes of a block that is counted in one number with all large ones.
const LARGE_BLOCK_BYTES_MIN: usize = 32 << 10;
/// Bytes that a thread takes in small blocks between two looks at the sum, as a power of two.
pub(crate) const STEP_BITS: u32 = 18;
/// Counters of small blocks; threads share them in turn.
const SMALL_COUNTERS: usize = 16;

/// A number that shares its cache line with no other.
#[repr(align(128))]
struct Apart(AtomicI64);

static LARGE_BLOCKS_BYTES: Apart = Apart(AtomicI64::new(0));
static SMALL_BLOCKS_BYTES: [Apart; SMALL_COUNTERS] =
    [const { Apart(AtomicI64::new(0)) }; SMALL_COUNTERS];
/// The most that was in use since measuring began; negative if nothing is being measured.
static PEAK: Apart = Apart(AtomicI64::new(-1));
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The counter of this thread, counted from 1. Without a destructor: allocators are called when
    /// those of other thread-local values run.
    static OWN_COUNTER: Cell<usize> = const { Cell::new(0) };
}

/// What a block takes, with what the allocator of the system adds to it.
fn taken(size: usize) -> i64 {
    let bytes = if size < LARGE_BLOCK_BYTES_MIN {
        (size + 8).next_multiple_of(16).max(32)
    } else {
        size.saturating_add(16).div_ceil(4096).saturating_mul(4096)
    };
    i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

fn counter() -> usize {
    // A thread that is ending has no counter any more: the first one does.
    OWN_COUNTER
        .try_with(|counter| {
            if counter.get() == 0 {
                counter.set(1 + THREADS.fetch_add(1, Relaxed) % SMALL_COUNTERS);
            }
            counter.get() - 1
        })
        .unwrap_or(0)
}

/// Counts a block that is about to be taken; true if it is time to look whether that is too much.
pub(crate) fn add(size: usize) -> bool {
    if size >= LARGE_BLOCK_BYTES_MIN {
        LARGE_BLOCKS_BYTES.0.fetch_add(taken(size), Relaxed);
        if PEAK.0.load(Relaxed) >= 0 {
            PEAK.0.fetch_max(sum(), Relaxed);
        }
        return true;
    }
    let bytes = taken(size);
    let before = SMALL_BLOCKS_BYTES[counter()].0.fetch_add(bytes, Relaxed);
    (before >> STEP_BITS) != ((before + bytes) >> STEP_BITS)
}

/// Counts a block that was given back.
pub(crate) fn remove(size: usize) {
    let place = if size >= LARGE_BLOCK_BYTES_MIN {
        &LARGE_BLOCKS_BYTES
    } else {
        &SMALL_BLOCKS_BYTES[counter()]
    };
    place.0.fetch_sub(taken(size), Relaxed);
}

/// Bytes in use.
pub(crate) fn sum() -> i64 {
    let small: i64 = SMALL_BLOCKS_BYTES.iter().map(|counter| counter.0.load(Relaxed)).sum();
    (LARGE_BLOCKS_BYTES.0.load(Relaxed) + small).max(0)
}

/// Measures the most in use from now on.
pub(crate) fn begin_peak(now: i64) {
    PEAK.0.store(now, Relaxed);
}

/// The most that was in use since [`begin_peak`].
pub(crate) fn peak() -> i64 {
    PEAK.0.load(Relaxed)
}
