//! Puts a frame on a tape and runs the model over it.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::forward::{Forward, Updates};
use zoetrope_nn::model::{Coverage, Embedding, Model};
use zoetrope_nn::state::Carried;
use zoetrope_nn::{Frame, NnError, Order, PreparedGraph};
use zoetrope_plan::{Grouping, OperatorOrder, Plan};
use zoetrope_tensor::{Device, Difference, Gpu, Matrix, Tape};

use super::reuse;

/// What a plan says about the inside of a frame.
#[derive(Debug, Clone)]
pub struct Layout {
    group: Grouping,
    orders: Vec<Order>,
    reuse: bool,
}

impl Layout {
    /// The layout of a plan.
    pub fn of(plan: &Plan) -> Self {
        let order = |layer: &zoetrope_plan::LayerOrder| match layer.order {
            OperatorOrder::AggregateFirst => Order::AggregateFirst,
            OperatorOrder::UpdateFirst => Order::UpdateFirst,
        };
        Self {
            group: plan.group,
            orders: plan.orders.iter().map(order).collect(),
            reuse: plan.reuse.first_aggregation,
        }
    }

    /// Whole frames as groups, the cheaper order, kept aggregations where the model allows them.
    pub fn plain(model: &dyn Model, steps: usize, reuse: bool) -> Self {
        let order = |&(inputs, outputs): &(usize, usize)| Order::cheaper(inputs, outputs);
        let mut orders: Vec<Order> = model.structure_widths().iter().map(order).collect();
        let reuse = reuse && model.can_reuse();
        if let Some(first) = orders.first_mut().filter(|_| reuse) {
            *first = Order::AggregateFirst;
        }
        Self { group: Grouping { snapshots: steps.max(1) }, orders, reuse }
    }
}

/// A frame's share of the prepared graph, cut once.
#[derive(Debug)]
struct Cut {
    steps: Range<usize>,
    graph: PreparedGraph,
    groups: Vec<Range<usize>>,
}

/// Runs a model over frames of one data set.
#[derive(Debug)]
pub struct FrameRunner {
    graph: PreparedGraph,
    features: Arc<Matrix>,
    aggregated: Option<Arc<Matrix>>,
    layout: Layout,
    cuts: Vec<Cut>,
}

impl FrameRunner {
    /// Prepares the snapshots in the forms that the model needs and, where planned, aggregates the
    /// features of all of them.
    ///
    /// # Errors
    /// Where a snapshot cannot be brought into a form.
    pub fn new(
        sequence: &SnapshotSequence,
        features: &Arc<Matrix>,
        model: &dyn Model,
        layout: Layout,
        device: &Device,
    ) -> Result<Self, NnError> {
        let graph = PreparedGraph::on(device, sequence, &model.forms())?;
        let aggregated = match layout.reuse {
            true => Some(reuse::aggregate(&graph, features, device)?),
            false => None,
        };
        Ok(Self { graph, features: Arc::clone(features), aggregated, layout, cuts: Vec::new() })
    }

    /// Copies matrices to a card frame by frame, `at_once` snapshots at most, instead of keeping all
    /// of them there.
    pub fn stream(&self, at_once: usize, difference: Difference) {
        self.graph.products().for_each(|group| group.stream(at_once, difference));
    }

    /// The bytes that matrices and features take on a card.
    pub fn bytes_on_gpu(&self) -> usize {
        let matrices: usize = self.graph.products().map(|group| 2 * group.bytes_on_gpu()).sum();
        let kept = [Some(&self.features), self.aggregated.as_ref()];
        matrices + kept.into_iter().flatten().map(|matrix| matrix.bytes()).sum::<usize>()
    }

    /// Before the launches of a frame whose matrices are streamed: waits for them on the card, and
    /// begins to copy those of the frame after it.
    pub fn enter(&mut self, gpu: &Gpu, steps: Range<usize>, next: Option<Range<usize>>) {
        let at = self.cut(steps);
        for group in self.cuts[at].graph.products() {
            gpu.enter(group, group.goes_back());
        }
        let Some(next) = next else { return };
        let at = self.cut(next);
        for group in self.cuts[at].graph.products() {
            gpu.prefetch(group, group.goes_back());
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.graph.vertices()
    }

    /// Runs the model over some consecutive snapshots.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn embed(
        &mut self,
        forward: &mut Forward<'_>,
        model: &dyn Model,
        steps: Range<usize>,
        carried: &Carried,
    ) -> Result<Embedding, NnError> {
        let at = self.cut(steps.clone());
        let cut = &self.cuts[at];
        let rows = steps.start * self.graph.vertices()..steps.end * self.graph.vertices();
        let features = forward.tape.constant(&self.features, rows.clone())?;
        let aggregated = match &self.aggregated {
            Some(kept) => Some(forward.tape.constant(kept, rows)?),
            None => None,
        };
        let frame = Frame {
            graph: &cut.graph,
            features,
            aggregated,
            mask: None,
            groups: &cut.groups,
            orders: &self.layout.orders,
            first_step: steps.start,
        };
        let state = carried.attach(forward.tape)?;
        model.embed(forward, &frame, state)
    }

    /// Copies the rows of an embedding that describe one snapshot of a frame off the tape.
    ///
    /// # Panics
    /// Where the model describes the last snapshot only and another one is asked for.
    pub fn read_rows(
        &self,
        tape: &Tape,
        model: &dyn Model,
        embedding: &Embedding,
        steps: &Range<usize>,
        step: usize,
        to: &mut [f32],
    ) {
        let size = self.graph.vertices() * model.width();
        let at = match model.coverage() {
            Coverage::Every => step - steps.start,
            Coverage::Last => {
                assert_eq!(step + 1, steps.end, "{} describes the last snapshot", model.name());
                0
            }
        };
        tape.read_part(embedding.rows, at * size, to);
    }

    /// The position of a frame's share of the graph; frames come again every epoch.
    fn cut(&mut self, steps: Range<usize>) -> usize {
        let found = self.cuts.binary_search_by_key(&(steps.start, steps.end), |cut| {
            (cut.steps.start, cut.steps.end)
        });
        found.unwrap_or_else(|at| {
            let graph = self.graph.cut(steps.clone());
            let groups = self.layout.group.ranges(steps.len());
            self.cuts.insert(at, Cut { steps, graph, groups });
            at
        })
    }
}

// What a plan may ask for is what a model can take.
const _: () = assert!(zoetrope_plan::MAX_GROUPS == zoetrope_nn::frame::MAX_GROUPS);

/// A forward pass that only evaluates, on a tape of its own.
pub(crate) fn evaluating<'a>(
    tape: &'a mut Tape,
    parameters: &'a zoetrope_nn::Parameters,
    updates: &'a mut Updates,
) -> Forward<'a> {
    tape.reset();
    Forward::evaluating(tape, parameters, updates)
}
