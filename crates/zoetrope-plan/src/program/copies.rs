//! Which snapshots are sent to a GPU when, if they do not stay there: two groups have room, one that is
//! read and one on its way. The same of states before blocks that wait on the host.

use std::ops::Range;

use super::builder::Builder;
use super::facts::CopySizes;
use crate::plan::frame::Frame;
use crate::plan::frame_plan::FramePlan;

/// Groups of snapshots on a GPU.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    sizes: &'a dyn CopySizes,
    current: Range<usize>,
    coming: Option<(Range<usize>, Option<usize>)>,
}

fn holds(group: &Range<usize>, steps: &Range<usize>) -> bool {
    group.start <= steps.start && steps.end <= group.end
}

impl<'a> Copies<'a> {
    pub(super) fn new(sizes: &'a dyn CopySizes) -> Self {
        sizes.restart();
        Self { sizes, current: 0..0, coming: None }
    }

    /// Before the products of some snapshots: sends them unless they are there or on their way, and lets
    /// products wait for them. Then begins to send `next`.
    pub(super) fn enter(
        &mut self,
        program: &mut Builder,
        steps: &Range<usize>,
        next: Option<&Range<usize>>,
    ) {
        if !steps.is_empty() && !holds(&self.current, steps) {
            self.prefetch(program, steps);
            if let Some((group, id)) = self.coming.take() {
                if let Some(id) = id {
                    program.wait_for(id);
                }
                self.current = group;
            }
        }
        if let Some(next) = next.filter(|next| !next.is_empty()) {
            self.prefetch(program, next);
        }
    }

    fn prefetch(&mut self, program: &mut Builder, steps: &Range<usize>) {
        let is_coming = self.coming.as_ref().is_some_and(|(group, _)| holds(group, steps));
        if is_coming || holds(&self.current, steps) {
            return;
        }
        let bytes = self.sizes.sent(&self.current, steps);
        let id = (bytes > 0).then(|| program.copy(bytes));
        self.coming = Some((steps.clone(), id));
    }
}

impl FramePlan {
    /// The snapshots whose structure encoders run on a rank, for each piece of an epoch that is computed at once,
    /// in the order in which pieces are computed; the frames come in the order of `frames`.
    ///
    /// # Panics
    /// If there are fewer frames than updates say.
    pub fn own_pieces(&self, rank: usize, frames: &[Frame]) -> Vec<Range<usize>> {
        let (mut pieces, mut from) = (Vec::new(), 0);
        for update in &self.updates {
            let of_update = frames[from..from + update.frames].iter().enumerate();
            for (_, frame) in of_update.filter(|(place, _)| update.is_of(*place, rank)) {
                let own = self.own_blocks(rank, frame);
                if self.blocks.recompute && own.len() > 1 {
                    pieces.extend_from_slice(&own[..own.len() - 1]);
                    pieces.extend(own.into_iter().rev());
                } else {
                    pieces.extend(own);
                }
            }
            from += update.frames;
        }
        pieces
    }

    /// What a rank has of each block of a frame.
    fn own_blocks(&self, rank: usize, frame: &Frame) -> Vec<Range<usize>> {
        let blocks = self.blocks.of(frame.range());
        if self.cells().is_none() {
            return blocks;
        }
        let structure = self.placements(frame.steps).structure;
        let own = |block: Range<usize>| {
            let within = block.start - frame.start..block.end - frame.start;
            let vertices = self.head.vertices as u32;
            let steps = structure.share(rank as u32, vertices, within.clone()).steps;
            let first = frame.start + steps.first().copied().unwrap_or(within.start);
            first..first + steps.len()
        };
        blocks.into_iter().map(own).collect()
    }

    /// The bytes that are sent to the GPU of a rank piece by piece in an epoch whose frames come in that order,
    /// if it has nothing at the start. Looking ahead changes when they are sent, not which.
    ///
    /// # Panics
    /// As [`own_pieces`](Self::own_pieces).
    pub fn sent_bytes(&self, rank: usize, frames: &[Frame], sizes: &dyn CopySizes) -> u64 {
        let (mut copies, mut program) = (Copies::new(sizes), Builder::default());
        for piece in self.own_pieces(rank, frames) {
            copies.enter(&mut program, &piece, None);
        }
        let pieces: u64 = program.tasks.iter().filter_map(|task| task.bytes).sum();
        let own = self
            .updates
            .iter()
            .flat_map(|update| (0..update.frames).map(move |place| update.is_of(place, rank)));
        let states = frames.iter().zip(own).filter(|(_, is_own)| *is_own).map(|(frame, _)| {
            let vertices = self.time_vertices(rank, frame.steps);
            let stored = self.stored_states(frame.steps);
            stored.map(|block| sizes.state(block, vertices)).sum::<u64>()
        });
        pieces + states.sum::<u64>()
    }

    /// The vertices of a rank's time encoders in a frame of so many snapshots.
    pub(super) fn time_vertices(&self, rank: usize, steps: usize) -> u64 {
        let vertices = self.head.vertices as u32;
        match self.cells() {
            None => u64::from(vertices),
            Some(_) => {
                let time = self.placements(steps).time;
                time.share(rank as u32, vertices, 0..1).vertices.len() as u64
            }
        }
    }
}
