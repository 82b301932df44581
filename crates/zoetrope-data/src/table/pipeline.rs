//! Blocks of lines from a source to columns, on several threads.
//!
//! Each thread takes the next block off the source (reading and decompressing under a lock),
//! parses it into scratch columns, and appends these to the whole when it is the block's turn. A
//! block that is ready too early is left for the thread that fills the gap, so that no thread
//! sleeps for another. Rows keep the order of the file, and memory is the columns plus a few
//! blocks and their scratch, whatever the size of the file.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::{DataError, Location};
use crate::options::Limits;
use crate::source::Source;
use crate::table::chunk::Chunk;
use crate::table::row::Plan;

/// A block and its scratch columns fit into the level-2 cache of a core.
const BLOCK_BYTES: usize = 128 << 10;

/// Reads the rest of `source` behind `head` (bytes already read, from the first data row on,
/// `start` bytes into the content) as rows of `plan`.
///
/// # Errors
/// If reading fails or a line is longer than the limit. Bad rows are in the columns.
pub(crate) fn read_rows(
    plan: &Plan,
    source: Source<'_>,
    head: &[u8],
    start: u64,
    limits: &Limits,
) -> Result<Chunk, DataError> {
    let path = source.path().to_owned();
    let rows = |bytes: u64| {
        let rest = bytes.saturating_sub(start);
        expected_rows(rest, head, plan.actions.len().max(plan.feature_width))
    };
    let (likely, least) = (source.content_bytes().map_or(0, rows), rows(source.least_bytes()));
    let feed = Feed { source, carried: head.to_vec(), start, index: 0, ended: false, limits };
    let feed = Mutex::new(feed);
    let mut columns = plan.new_chunk();
    expect_room(&path, least as u64 * columns.row_bytes(plan))?;
    columns.reserve(likely, plan);
    let whole = Whole { columns, next: 0, early: Vec::new(), spare: Vec::new(), error: None };
    let whole = Mutex::new(whole);
    let turn = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 1..rayon::current_num_threads().clamp(1, 16) {
            scope.spawn(|| work(plan, &path, &feed, &whole, &turn));
        }
        work(plan, &path, &feed, &whole, &turn);
    });
    let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    match whole.error {
        Some(error) => Err(error),
        None => Ok(whole.columns),
    }
}

/// Refuses a file whose columns do not fit, before they are read.
fn expect_room(path: &Path, bytes: u64) -> Result<(), DataError> {
    const ADVICE: &str = "leave features out (--no-features), or read fewer rows";
    Ok(zoetrope_heap::need(&format!("reading {}", path.display()), bytes, ADVICE)?)
}

/// How many rows `rest` bytes have if they are as long as those in `head`; reserving for them
/// spares the columns from growing. Never more than there can be with a separator per column, so
/// that a few wide rows before a desert of blank lines reserve no more than the file is worth.
fn expected_rows(rest: u64, head: &[u8], columns: usize) -> usize {
    let lines = memchr::memchr_iter(b'\n', head).count().max(1);
    let alike = rest as f64 * lines as f64 / head.len().max(1) as f64 * 1.05;
    (alike as u64).min(rest / columns.max(1) as u64) as usize
}

/// So many blocks may be ready before their turn; then threads wait for the one that is behind.
const MOST_EARLY: usize = 8;

struct Whole {
    columns: Chunk,
    /// The block whose turn it is.
    next: usize,
    /// Blocks that were ready before their turn.
    early: Vec<(usize, Chunk)>,
    /// Scratch columns to use again.
    spare: Vec<Chunk>,
    error: Option<DataError>,
}

impl Whole {
    /// Appends a block whose turn it is, and the early ones that follow it.
    fn append(&mut self, block: &mut Chunk, max_problems: usize) {
        self.columns.append(block, max_problems);
        self.next += 1;
        while let Some(at) = self.early.iter().position(|(index, _)| *index == self.next) {
            let (_, mut block) = self.early.swap_remove(at);
            self.columns.append(&mut block, max_problems);
            self.next += 1;
            self.spare.push(block);
        }
    }
}

fn work(plan: &Plan, path: &Path, feed: &Mutex<Feed<'_>>, whole: &Mutex<Whole>, turn: &Condvar) {
    let mut scratch = plan.new_chunk();
    let mut buffer = Vec::new();
    let guard = StopOnPanic { whole, turn };
    loop {
        // A poisoned lock means that another thread panicked: `scope` will show it.
        let Ok(mut taking) = feed.lock() else { break };
        let taken = taking.take(&mut buffer);
        drop(taking);
        match taken {
            Ok(None) => break,
            Ok(Some(block)) => {
                scratch.clear();
                plan.read_block(path, &buffer[..block.length], &mut scratch);
                for problem in &mut scratch.problems {
                    problem.at.byte = problem.at.byte.map(|byte| byte + block.start);
                }
                let Ok(mut all) = whole.lock() else { break };
                while all.next != block.index
                    && all.early.len() >= MOST_EARLY
                    && all.error.is_none()
                {
                    let Ok(woken) = turn.wait(all) else { return };
                    all = woken;
                }
                if all.error.is_some() {
                    break;
                }
                if all.next == block.index {
                    all.append(&mut scratch, plan.max_problems);
                    turn.notify_all();
                } else {
                    let spare = all.spare.pop().unwrap_or_else(|| plan.new_chunk());
                    let ready = std::mem::replace(&mut scratch, spare);
                    all.early.push((block.index, ready));
                }
            }
            Err(error) => {
                let Ok(mut all) = whole.lock() else { break };
                all.error.get_or_insert(error);
                turn.notify_all();
                break;
            }
        }
    }
    std::mem::forget(guard);
}

/// Wakes the others if a thread panics while they wait for its block.
struct StopOnPanic<'a> {
    whole: &'a Mutex<Whole>,
    turn: &'a Condvar,
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        let mut all = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        all.error.get_or_insert(DataError::invalid(
            Location::default(),
            "a row",
            "a bug in Zoetrope",
        ));
        self.turn.notify_all();
    }
}

struct TextBlock {
    index: usize,
    length: usize,
    /// Offset of the block in the uncompressed content.
    start: u64,
}

/// Hands out blocks that end at a line end.
struct Feed<'a> {
    source: Source<'a>,
    /// What was read behind the last line end.
    carried: Vec<u8>,
    start: u64,
    index: usize,
    ended: bool,
    limits: &'a Limits,
}

impl Feed<'_> {
    /// Fills `buffer` with the next block, or returns `None` at the end.
    fn take(&mut self, buffer: &mut Vec<u8>) -> Result<Option<TextBlock>, DataError> {
        while !self.ended {
            let kept = self.carried.len();
            let wanted = BLOCK_BYTES.max(kept + BLOCK_BYTES / 2);
            buffer.resize(wanted, 0);
            buffer[..kept].copy_from_slice(&self.carried);
            let filled = match self.source.fill(&mut buffer[kept..]) {
                Ok(count) => kept + count,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            };
            self.ended = filled < wanted;
            let length = match memchr::memrchr(b'\n', &buffer[..filled]) {
                _ if self.ended => filled,
                Some(end) => end + 1,
                None => 0,
            };
            self.carried.clear();
            self.carried.extend_from_slice(&buffer[length..filled]);
            if self.carried.len() > self.limits.line_bytes {
                self.ended = true;
                return Err(DataError::Limit {
                    at: Location::file(self.source.path()).byte(self.start),
                    what: "the length of a line in bytes",
                    limit: self.limits.line_bytes as u64,
                    advice: "check that the file has line ends",
                });
            }
            if length > 0 {
                let block = TextBlock { index: self.index, length, start: self.start };
                self.index += 1;
                self.start += length as u64;
                return Ok(Some(block));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_for_rows_like_the_first_ones() {
        assert_eq!(expected_rows(1_000, b"1,2,3\n1,2,3\n", 3), 175);
    }

    #[test]
    fn blank_lines_behind_a_wide_row_reserve_no_more_than_the_file_is_worth() {
        let mut head = b"7,".repeat(1_000);
        head.extend([b'\n'; 10_000]);
        assert!(expected_rows(1 << 20, &head, 1_001) * 1_001 <= 1 << 20);
    }
}
