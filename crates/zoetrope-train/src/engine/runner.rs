//! Puts a frame on a tape and runs the model over it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::forward::{Forward, Updates};
use zoetrope_nn::model::{Coverage, Embedding, Model};
use zoetrope_nn::{Frame, NnError, Order, ParameterId, PreparedGraph, Shared, State};
use zoetrope_plan::{Grouping, OperatorOrder, Plan};
use zoetrope_tensor::{Device, Difference, Gpu, Matrix, Tape, Var};

use super::piece::Piece;
use super::reuse;
use super::share::{Share, ShareCut};
use super::team::Team;

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

    /// The order of the products in each structure layer.
    pub(crate) fn orders(&self) -> &[Order] {
        &self.orders
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

/// A piece's share of the prepared graph, cut once.
#[derive(Debug)]
struct Cut {
    graph: PreparedGraph,
    groups: Vec<Range<usize>>,
    /// The rows of its features.
    rows: Range<usize>,
    /// What the rank has of it, where several share it.
    share: Option<ShareCut>,
}

/// The graph and the features of a run: all of them, or what a rank has.
#[derive(Debug)]
enum Source {
    Whole { graph: PreparedGraph, features: Arc<Matrix>, aggregated: Option<Arc<Matrix>> },
    Share(Box<Share>),
}

/// What a model says about a piece.
#[derive(Debug, Clone)]
pub struct Output {
    /// `steps·N × width`, in the order of the data.
    pub rows: Var,
    /// The snapshots that rows describe, counted from the start of the sequence: all, the last one,
    /// or those that this rank answers for.
    pub steps: Range<usize>,
    /// What to hand to the next piece.
    pub state: State,
}

impl Output {
    /// The rows of some of the described snapshots of `vertices` vertices.
    ///
    /// # Errors
    /// Where they are not described.
    pub fn rows_of(
        &self,
        forward: &mut Forward<'_>,
        steps: &Range<usize>,
        vertices: usize,
    ) -> Result<Var, NnError> {
        if *steps == self.steps {
            return Ok(self.rows);
        }
        let from = (steps.start - self.steps.start) * vertices;
        Ok(forward.tape.rows(self.rows, from..from + steps.len() * vertices)?)
    }

    /// Copies the rows of one described snapshot off the tape.
    ///
    /// # Panics
    /// Where it is not described.
    pub fn read(&self, tape: &Tape, step: usize, to: &mut [f32]) {
        assert!(self.steps.contains(&step), "snapshot {step} of {:?}", self.steps);
        tape.read_part(self.rows, (step - self.steps.start) * to.len(), to);
    }
}

/// Runs a model over frames of one data set.
#[derive(Debug)]
pub struct FrameRunner {
    source: Source,
    vertices: usize,
    layout: Layout,
    cuts: HashMap<Piece, Cut>,
    /// The features, if they are learned.
    learned: Option<ParameterId>,
    /// The vertices `0, 1, …` as often as a piece has snapshots, by that number.
    repeated: HashMap<usize, Arc<Vec<u32>>>,
}

impl FrameRunner {
    /// Prepares the snapshots in the forms that the model needs and, where planned, aggregates the
    /// features of all of them. Where ranks share frames, what a rank needs is prepared when it is
    /// asked for.
    ///
    /// # Errors
    /// Where a snapshot cannot be brought into a form.
    pub fn new(
        sequence: &Arc<SnapshotSequence>,
        features: &Arc<Matrix>,
        model: &dyn Model,
        layout: Layout,
        device: &Device,
        team: Option<Team>,
    ) -> Result<Self, NnError> {
        let vertices = sequence.vertices() as usize;
        let source = match team {
            Some(team) => {
                let (forms, reuse) = (model.forms(), layout.reuse);
                let share = Share::new(team, device, sequence, features, forms, reuse)?;
                Source::Share(Box::new(share))
            }
            None => {
                let graph = PreparedGraph::on(device, sequence, &model.forms())?;
                let aggregated = match layout.reuse {
                    true => Some(reuse::aggregate(&graph, features, device)?),
                    false => None,
                };
                Source::Whole { graph, features: Arc::clone(features), aggregated }
            }
        };
        let (cuts, repeated) = (HashMap::new(), HashMap::new());
        Ok(Self { source, vertices, layout, cuts, learned: None, repeated })
    }

    /// Takes the features of vertices from a parameter (`N × F`), the same in every snapshot, instead
    /// of those of the data. Not for ranks that share frames.
    pub fn learning(self, features: Option<ParameterId>) -> Self {
        Self { learned: features, ..self }
    }

    /// The ranks that share frames, where several do.
    pub fn team(&self) -> Option<&Team> {
        match &self.source {
            Source::Whole { .. } => None,
            Source::Share(share) => Some(share.team()),
        }
    }

    /// Copies matrices to a card frame by frame, `at_once` snapshots at most, instead of keeping all
    /// of them there. Ranks keep what they have.
    pub fn stream(&self, at_once: usize, difference: Difference) {
        if let Source::Whole { graph, .. } = &self.source {
            graph.products().for_each(|group| group.stream(at_once, difference));
        }
    }

    /// Sends matrices that stay on a card there in that way.
    pub fn send_as(&self, difference: Difference) {
        if let Source::Whole { graph, .. } = &self.source {
            graph.products().for_each(|group| group.send_as(difference));
        }
    }

    /// The bytes that matrices and features take on a card; 0 where they are not known beforehand.
    pub fn bytes_on_gpu(&self) -> usize {
        let Source::Whole { graph, features, aggregated } = &self.source else { return 0 };
        let matrices: usize = graph.products().map(|group| 2 * group.bytes_on_gpu()).sum();
        let kept = [Some(features), aggregated.as_ref()];
        matrices + kept.into_iter().flatten().map(|matrix| matrix.bytes()).sum::<usize>()
    }

    /// Before the launches of a frame whose matrices are streamed: waits for them on the card, and
    /// begins to copy those of the frame after it.
    ///
    /// # Errors
    /// Where a snapshot cannot be brought into a form.
    pub fn enter(&mut self, gpu: &Gpu, piece: &Piece, next: Option<&Piece>) -> Result<(), NnError> {
        self.cut(piece)?;
        for group in self.cuts[piece].graph.products() {
            gpu.enter(group, group.uses_transposes());
        }
        let Some(next) = next else { return Ok(()) };
        self.cut(next)?;
        for group in self.cuts[next].graph.products() {
            gpu.prefetch(group, group.uses_transposes());
        }
        Ok(())
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Runs the model over a piece of a frame, from the state after what came before it.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn embed(
        &mut self,
        forward: &mut Forward<'_>,
        model: &dyn Model,
        piece: &Piece,
        state: State,
    ) -> Result<Output, NnError> {
        self.cut(piece)?;
        let cut = &self.cuts[piece];
        let (features, aggregated) = match &self.source {
            Source::Whole { features, aggregated, .. } => (features, aggregated.as_ref()),
            Source::Share(share) => (share.features(), share.aggregated()),
        };
        let features = match self.learned {
            Some(learned) => {
                let (steps, vertices) = (piece.steps.len(), self.vertices as u32);
                let again = || Arc::new((0..steps).flat_map(|_| 0..vertices).collect());
                let rows = self.repeated.entry(steps).or_insert_with(again);
                let all = forward.parameter(learned);
                forward.tape.gather(all, rows)?
            }
            None => forward.tape.constant(features, cut.rows.clone())?,
        };
        let aggregated = match aggregated {
            Some(kept) => Some(forward.tape.constant(kept, cut.rows.clone())?),
            None => None,
        };
        let steps = piece.steps.clone();
        let frame = Frame {
            graph: &cut.graph,
            features,
            aggregated,
            mask: None,
            groups: &cut.groups,
            orders: &self.layout.orders,
            first_step: steps.start,
            shared: cut.share.as_ref().map(|share| Shared {
                steps: steps.len(),
                first: share.first,
                time_vertices: share.time_vertices,
                exchange: &share.exchange,
            }),
        };
        let Embedding { mut rows, mut state } = model.embed(forward, &frame, state)?;
        state.advance(steps.len());
        let described = match (&cut.share, model.coverage()) {
            (Some(share), _) => {
                rows = share.exchange.to_answers(forward.tape, rows)?;
                share.answers.clone()
            }
            (None, Coverage::Every) => steps,
            (None, Coverage::Last) => steps.end - 1..steps.end,
        };
        Ok(Output { rows, steps: described, state })
    }

    /// Makes a piece's share of the graph; pieces come again every epoch.
    fn cut(&mut self, piece: &Piece) -> Result<(), NnError> {
        if self.cuts.contains_key(piece) {
            return Ok(());
        }
        let group = self.layout.group;
        let cut = match &mut self.source {
            Source::Whole { graph, .. } => {
                let steps = &piece.steps;
                let (graph, groups) = (graph.cut(steps.clone()), group.ranges(steps.len()));
                let rows = steps.start * self.vertices..steps.end * self.vertices;
                Cut { graph, groups, rows, share: None }
            }
            Source::Share(share) => {
                let made = share.cut(piece)?;
                // Rows of others are gathered for all snapshots of a piece at once.
                let groups = match share.team().grid.members {
                    1 => group.ranges(made.graph.steps()),
                    _ => Vec::new(),
                };
                Cut {
                    graph: made.graph.clone(),
                    groups,
                    rows: made.rows.clone(),
                    share: Some(made),
                }
            }
        };
        self.cuts.insert(piece.clone(), cut);
        Ok(())
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
