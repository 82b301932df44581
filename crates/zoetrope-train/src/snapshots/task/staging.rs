//! What a task asks of a frame, on a GPU ahead of its use.
//!
//! An update that was recorded reads what it asks where that lay when it was recorded. A task whose
//! questions change from epoch to epoch has them drawn while earlier frames compute, and written over
//! those of the epoch before. A task that always asks the same has nothing to do with any of this.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::decoder::Ends;
use zoetrope_tensor::{Gpu, Matrix};

use super::Questions;
use super::pairs_ahead::{Drawn, PairsAhead};
use crate::snapshots::sampling::LinkSampling;

/// Puts what a task asks where recordings of its loss find it.
pub trait DeviceStaging {
    /// Begins to draw what [`DeviceStaging::stage_on_device`] will be asked to place, beside everything
    /// else, by `threads` threads.
    fn draw_ahead(&mut self, questions: &Questions, threads: usize);

    /// Draws what the loss of these questions asks and puts it on a GPU, where the loss and a
    /// recording of it find it. Returns false, and the questions are not recorded, if that would
    /// take too much of the GPU.
    fn stage_on_device(&mut self, gpu: &Gpu, questions: &Questions) -> bool;
}

/// The most pairs that are placed, of all questions: some 64 MiB with the readers of their ends. More
/// pairs keep a GPU busy for longer than their launches take.
pub(super) const PLACED_PAIRS_MAX: usize = 1 << 20;

/// Pairs that are drawn ahead and lie on a GPU where recordings read them.
#[derive(Debug)]
pub(super) struct StagedPairs {
    ahead: PairsAhead,
    of_steps: HashMap<Range<usize>, Placed>,
    count: usize,
}

/// The pairs of some questions.
#[derive(Debug)]
pub(super) struct Placed {
    /// The places of both ends: the rows are those of the first time.
    pub(super) ends: Ends,
    /// The labels, which do not change.
    pub(super) labels: Arc<Matrix>,
    epoch: u32,
}

impl StagedPairs {
    /// None yet; they are drawn from the snapshots of a sequence.
    pub(super) fn new(sequence: &Arc<SnapshotSequence>, sampling: LinkSampling) -> Self {
        Self { ahead: PairsAhead::new(sequence, sampling), of_steps: HashMap::new(), count: 0 }
    }

    /// Places the pairs of questions, over those of an earlier epoch. Returns false if they have
    /// no place.
    fn place(&mut self, gpu: &Gpu, questions: &Questions, drawn: &Drawn) -> bool {
        let pairs = &drawn.pairs;
        if let Some(placed) = self.of_steps.get_mut(&questions.steps) {
            if placed.labels.as_slice() != pairs.labels {
                return false;
            }
            gpu.replace_rows(&placed.ends.src, &drawn.src);
            gpu.replace_rows(&placed.ends.dst, &drawn.dst);
            placed.epoch = questions.epoch;
            return true;
        }
        let count = pairs.len();
        if self.count + count > PLACED_PAIRS_MAX {
            return false;
        }
        let Ok(labels) = Matrix::from_slice(count, 1, &pairs.labels) else { return false };
        let [src, dst] = [&pairs.ends.src, &pairs.ends.dst].map(|ends| Arc::new(ends.to_vec()));
        gpu.place_rows(&src);
        gpu.place_rows(&dst);
        let (ends, labels) = (Ends { src, dst }, Arc::new(labels));
        gpu.resident_matrix(&labels);
        let placed = Placed { ends, labels, epoch: questions.epoch };
        self.of_steps.insert(questions.steps.clone(), placed);
        self.count += count;
        true
    }

    /// The pairs that were placed for these questions, in this epoch.
    pub(super) fn find(&self, questions: &Questions) -> Option<&Placed> {
        self.of_steps.get(&questions.steps).filter(|placed| placed.epoch == questions.epoch)
    }
}

/// Pairs are drawn anew in every epoch, but as many.
impl DeviceStaging for StagedPairs {
    fn draw_ahead(&mut self, questions: &Questions, threads: usize) {
        self.ahead.draw_ahead(questions, threads);
    }

    fn stage_on_device(&mut self, gpu: &Gpu, questions: &Questions) -> bool {
        let drawn = self.ahead.take(questions);
        drawn.pairs.len() == 0 || self.place(gpu, questions, &drawn)
    }
}
