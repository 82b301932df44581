//! A pool of blocks for messages. A training step sends messages of the same sizes as the step before, and
//! in the backward pass as much as it received in the forward pass, so that blocks can be reused.

use std::sync::Mutex;

use crate::message::{Element, Kind, Message};
use crate::sync::lock;

/// Blocks of f32 that wait for their next message. Other types travel in small messages, which are
/// not worth keeping.
#[derive(Debug)]
pub struct BufferPool {
    blocks: Mutex<Vec<Vec<f32>>>,
    most: usize,
}

impl BufferPool {
    /// Keeps up to `most` blocks.
    pub fn new(most: usize) -> Self {
        Self { blocks: Mutex::default(), most }
    }

    /// `len` values, whatever they hold: from the smallest block with room for them.
    pub fn take(&self, len: usize) -> Vec<f32> {
        let mut block = self.block(len);
        block.resize(len, 0.0);
        block
    }

    /// No value yet, and room for `len`.
    pub fn empty(&self, len: usize) -> Vec<f32> {
        let mut block = self.block(len);
        block.clear();
        block
    }

    fn block(&self, len: usize) -> Vec<f32> {
        let mut blocks = lock(&self.blocks);
        let fitting = blocks.iter().enumerate().filter(|(_, block)| block.capacity() >= len);
        let best = fitting.min_by_key(|(_, block)| block.capacity()).map(|(at, _)| at);
        best.map_or_else(|| Vec::with_capacity(len), |at| blocks.swap_remove(at))
    }

    /// A message to receive into.
    pub fn message(&self, kind: Kind, len: usize) -> Message {
        match kind {
            Kind::F32 => Message::F32(self.take(len)),
            _ => Message::zeros(kind, len),
        }
    }

    /// A copy of values, in a block that was used before if there is one: fresh memory costs more
    /// than the copy, because the system clears it page by page.
    pub fn copy<T: Element>(&self, values: &[T]) -> Vec<T> {
        match T::unpack(self.message(T::KIND, values.len())) {
            Some(mut copy) => {
                copy.copy_from_slice(values);
                copy
            }
            None => values.to_vec(),
        }
    }

    /// Keeps a block for later; if there are too many, the smallest goes.
    pub fn give(&self, block: Vec<f32>) {
        if block.capacity() == 0 {
            return;
        }
        let mut blocks = lock(&self.blocks);
        blocks.push(block);
        if blocks.len() > self.most {
            let smallest = blocks.iter().enumerate().min_by_key(|(_, block)| block.capacity());
            if let Some((at, _)) = smallest {
                blocks.swap_remove(at);
            }
        }
    }

    /// The same for a message that is done with.
    pub fn give_message(&self, message: Message) {
        if let Message::F32(block) = message {
            self.give(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_block_that_fits_is_used_again() {
        let buffers = BufferPool::new(2);
        buffers.give(Vec::with_capacity(100));
        buffers.give(Vec::with_capacity(10));
        assert_eq!(buffers.take(5).capacity(), 10);
        assert_eq!(buffers.take(5).capacity(), 100);
        assert_eq!(buffers.take(5).len(), 5);
    }

    #[test]
    fn no_more_blocks_are_kept_than_said() {
        let buffers = BufferPool::new(1);
        buffers.give(Vec::with_capacity(10));
        buffers.give(Vec::with_capacity(20));
        assert_eq!(buffers.take(1).capacity(), 20);
        assert!(buffers.take(1).capacity() < 10);
    }
}
