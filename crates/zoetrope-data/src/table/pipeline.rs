//! Blocks of lines through a reader and several parsers.
//!
//! One thread reads (and decompresses) blocks that end at a line end; the others parse them.
//! Buffers go round in a ring, so memory is bounded by the ring and the parsed columns, never by
//! the file. Chunks come back in file order.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::error::{DataError, Location};
use crate::options::Limits;
use crate::source::Source;
use crate::table::chunk::Chunk;
use crate::table::row::Plan;

/// Blocks of this size keep two cores busy on small files and stay in the level-2 cache.
const BLOCK_BYTES: usize = 256 << 10;

struct Block {
    index: usize,
    bytes: Vec<u8>,
    length: usize,
    /// Offset of the block in the uncompressed content.
    start: u64,
}

/// Reads the rest of `source` behind `head` (bytes already read, from the first data row on) as
/// rows of `plan`.
///
/// # Errors
/// Where reading fails or a line is longer than the limit. Bad rows are in the chunks.
pub(crate) fn read_rows(
    plan: &Plan,
    source: Source<'_>,
    head: &[u8],
    head_start: u64,
    limits: &Limits,
) -> Result<Vec<Chunk>, DataError> {
    let path = source.path().to_owned();
    let parsers = rayon::current_num_threads().clamp(1, 16);
    let (to_parsers, blocks) = sync_channel::<Block>(parsers);
    let (give_back, buffers) = sync_channel::<Vec<u8>>(2 * parsers + 2);
    let blocks = Mutex::new(blocks);
    let chunks: Mutex<Vec<(usize, Chunk)>> = Mutex::new(Vec::new());
    let result = std::thread::scope(|scope| {
        for _ in 0..parsers {
            let give_back = give_back.clone();
            scope.spawn(|| parse_blocks(plan, &path, &blocks, give_back, &chunks));
        }
        drop(give_back);
        let mut feeder =
            Feeder { source, limits, to_parsers, buffers, start: head_start, index: 0 };
        feeder.run(head)
    });
    result?;
    // A panic in a parser is a bug of ours and has surfaced in `scope` already.
    let mut chunks = chunks.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    chunks.sort_unstable_by_key(|(index, _)| *index);
    Ok(chunks.into_iter().map(|(_, chunk)| chunk).collect())
}

fn parse_blocks(
    plan: &Plan,
    path: &std::path::Path,
    blocks: &Mutex<Receiver<Block>>,
    give_back: SyncSender<Vec<u8>>,
    chunks: &Mutex<Vec<(usize, Chunk)>>,
) {
    loop {
        let Ok(receiver) = blocks.lock() else { return };
        let Ok(block) = receiver.recv() else { return };
        drop(receiver);
        let mut chunk = plan.read_block(path, &block.bytes[..block.length]);
        for problem in &mut chunk.problems {
            problem.at.byte = problem.at.byte.map(|byte| byte + block.start);
        }
        // The ring may be full at the end of the file; then the buffer is simply freed.
        let _ = give_back.try_send(block.bytes);
        let Ok(mut chunks) = chunks.lock() else { return };
        chunks.push((block.index, chunk));
    }
}

struct Feeder<'a> {
    source: Source<'a>,
    limits: &'a Limits,
    to_parsers: SyncSender<Block>,
    buffers: Receiver<Vec<u8>>,
    start: u64,
    index: usize,
}

impl Feeder<'_> {
    fn run(&mut self, head: &[u8]) -> Result<(), DataError> {
        let mut carried = head.to_vec();
        loop {
            let mut bytes = self.buffers.try_recv().unwrap_or_default();
            let wanted = BLOCK_BYTES.max(carried.len() + BLOCK_BYTES / 2);
            bytes.resize(wanted, 0);
            bytes[..carried.len()].copy_from_slice(&carried);
            let filled = carried.len() + self.source.fill(&mut bytes[carried.len()..])?;
            let ended = filled < wanted;
            let cut = match memchr::memrchr(b'\n', &bytes[..filled]) {
                _ if ended => filled,
                Some(end) => end + 1,
                None => 0,
            };
            if filled - cut > self.limits.line_bytes {
                return Err(DataError::Limit {
                    at: Location::file(self.source.path()).byte(self.start),
                    what: "the length of a line in bytes",
                    limit: self.limits.line_bytes as u64,
                    advice: "check that the file has line ends",
                });
            }
            carried.clear();
            carried.extend_from_slice(&bytes[cut..filled]);
            if cut > 0 {
                let block = Block { index: self.index, bytes, length: cut, start: self.start };
                self.index += 1;
                self.start += cut as u64;
                if self.to_parsers.send(block).is_err() {
                    // Every parser is gone, which only a panic in one can cause: `scope` shows it.
                    return Ok(());
                }
            }
            if ended {
                return Ok(());
            }
        }
    }
}
