//! The states before the blocks of a frame (`π_b` of ESDG §3.1) between its forward and its backward pass.
//!
//! All of them wait where they were computed; or, if the plan says so, a GPU has two places that they take in
//! turn, and those before all but the last two blocks wait on the host. They leave after the forward pass of a block
//! and come back while the block after theirs is computed again.

use std::ops::Range;

use zoetrope_nn::state::{Carried, StateShapes, StoredState};
use zoetrope_plan::FramePlan;
use zoetrope_tensor::Gpu;

/// Places on a GPU if states leave it: a block reads one and writes the other.
const PLACES: usize = 2;

/// The states before the blocks of a frame.
#[derive(Debug, Default)]
pub(super) struct BlockStates {
    /// That before the first block.
    first: Carried,
    /// By block, or in turn.
    here: Vec<Carried>,
    on_host: Vec<StoredState>,
    /// The blocks whose states leave.
    leaving: Range<usize>,
}

impl BlockStates {
    /// Before a frame of `steps` snapshots.
    pub(super) fn begin(&mut self, plan: &FramePlan, steps: usize, first: &Carried) {
        self.first.clone_from(first);
        self.leaving = plan.stored_states(steps);
        let places = if self.leaving.is_empty() { plan.blocks.of(0..steps).len() } else { PLACES };
        self.here.resize_with(places, Carried::default);
        self.on_host.resize_with(self.leaving.end, StoredState::default);
    }

    fn place(&self, block: usize) -> usize {
        if self.leaving.is_empty() { block } else { block % PLACES }
    }

    /// The state before a block.
    pub(super) fn before(&self, block: usize) -> &Carried {
        if block == 0 { &self.first } else { &self.here[self.place(block)] }
    }

    /// Where the state before a later block is written.
    pub(super) fn before_mut(&mut self, block: usize) -> &mut Carried {
        let place = self.place(block);
        &mut self.here[place]
    }

    fn leaves(&self, block: usize) -> bool {
        self.leaving.contains(&block)
    }

    /// Whether something has to be done once the state before a block was written.
    pub(super) fn stores(&self, block: usize) -> bool {
        self.leaves(block) || self.leaves(block - 1)
    }

    /// Begins to copy the state before a block, which has these shapes, to the host, if it leaves; the one that was
    /// copied before it may be overwritten from here on. Returns its bytes.
    pub(super) fn store(&mut self, gpu: &Gpu, block: usize, shapes: &StateShapes) -> Option<u64> {
        if self.leaves(block - 1) {
            self.on_host[block - 1].settle();
        }
        if !self.leaves(block) {
            return None;
        }
        let place = self.place(block);
        self.on_host[block].store(gpu, &self.here[place], shapes);
        Some(self.on_host[block].bytes() as u64)
    }

    /// Whether something has to be done before a block is computed again.
    pub(super) fn fetches(&self, block: usize) -> bool {
        self.leaves(block) || block.checked_sub(1).is_some_and(|earlier| self.leaves(earlier))
    }

    /// Lets what is launched from here on read the state before a block, and begins to fetch that of the block
    /// before it.
    pub(super) fn fetch(&mut self, block: usize) {
        if self.leaves(block) {
            self.on_host[block].settle();
        }
        if let Some(earlier) = block.checked_sub(1).filter(|&earlier| self.leaves(earlier)) {
            let place = self.place(earlier);
            self.on_host[earlier].fetch(&mut self.here[place]);
        }
    }
}
