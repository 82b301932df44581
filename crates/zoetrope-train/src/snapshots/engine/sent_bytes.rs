//! The bytes that go to a GPU piece by piece, told before anything is sent.

use std::cell::RefCell;
use std::ops::Range;

use zoetrope_nn::PreparedGraph;
use zoetrope_plan::{CopySizes, FramePlan, ModelStage, Residency, StageRole};
use zoetrope_tensor::SparseGroup;
use zoetrope_tensor::cuda::{RowWindow, SentForecast};

use super::estimate::StateSize;
use super::runner::Sending;

/// What is sent for the pieces of a run, one after the other.
#[derive(Debug, Default)]
pub struct SentBytes {
    /// Of each form that is streamed.
    forms: RefCell<Vec<SentForecast>>,
    /// The snapshots of the forms, ascending; nothing if these are all of the data.
    steps: Option<Vec<usize>>,
    /// Bytes of the features of a snapshot, and of what is kept of them, that go along.
    features: u64,
    /// The states before the blocks of a frame, if they wait on the host.
    states: Vec<StateSize>,
}

impl SentBytes {
    pub(super) fn new(forms: Vec<SentForecast>, steps: Option<Vec<usize>>, features: u64) -> Self {
        Self { forms: RefCell::new(forms), steps, features, states: Vec::new() }
    }

    /// Beside that, states before blocks come back from the host.
    pub(crate) fn with_states(self, states: Vec<StateSize>) -> Self {
        Self { states, ..self }
    }

    /// What will be sent to the GPU of a rank that is not there yet, if ranks have whole snapshots: `graph` is
    /// all of the data, `features` the bytes of a snapshot's features.
    pub(crate) fn of_rank(
        plan: &FramePlan,
        rank: usize,
        graph: &PreparedGraph,
        stages: &[ModelStage],
        features: u64,
    ) -> Option<Self> {
        let (gpu, sending) = (plan.gpu?, Sending::of(plan)?);
        let streams = gpu.residency == Residency::Stream;
        let again = streams && plan.keeps_blocks();
        if again || plan.splits_snapshots() {
            return None;
        }
        if !streams && plan.cells().is_none() {
            // Only states go there block by block.
            let stores = !plan.stored_states(plan.longest_frame()).is_empty();
            return stores.then(Self::default);
        }
        let mut steps: Vec<usize> =
            plan.own_pieces(rank, &plan.frames).into_iter().flatten().collect();
        steps.sort_unstable();
        steps.dedup();
        let products = || stages.iter().filter(|stage| stage.role == StageRole::Halo);
        let backward = products().any(|stage| stage.needs_gradient);
        let multiplies = streams && products().next().is_some() && !steps.is_empty();
        let forms = graph.products().filter(|_| multiplies).filter_map(|group| {
            let own =
                SparseGroup::new(steps.iter().map(|&at| group.members()[at].clone()).collect());
            sending.say(&own);
            SentForecast::new(&own, backward)
        });
        let often = if plan.reuse.first_aggregation { 2 } else { 1 };
        let forms = forms.collect();
        Some(Self::new(forms, plan.cells().map(|_| steps), often * features))
    }

    /// Where snapshots are in the sequence that is streamed.
    fn places(&self, steps: &Range<usize>) -> Range<usize> {
        match &self.steps {
            Some(all) if !steps.is_empty() => {
                let first = all.partition_point(|&step| step < steps.start);
                first..first + steps.len()
            }
            _ => steps.clone(),
        }
    }
}

impl CopySizes for SentBytes {
    fn restart(&self) {
        self.forms.borrow_mut().iter_mut().for_each(SentForecast::restart);
    }

    fn sent(&self, here: &Range<usize>, steps: &Range<usize>) -> u64 {
        let (at, places) = (self.places(here), self.places(steps));
        let matrices: u64 =
            self.forms.borrow_mut().iter_mut().map(|form| form.send(&at, &places)).sum();
        matrices + RowWindow::new_rows(here, steps).len() as u64 * self.features
    }

    fn state(&self, block: usize, vertices: u64) -> u64 {
        self.states.get(block).map_or(0, |size| size.bytes(vertices))
    }
}
