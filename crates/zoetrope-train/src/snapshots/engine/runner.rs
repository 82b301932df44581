//! Puts a frame on a tape and runs the model over it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::forward::{Forward, Updates};
use zoetrope_nn::model::{Coverage, Embedding, Model};
use zoetrope_nn::{Frame, NnError, Order, ParameterId, PreparedGraph, Shared, State};
use zoetrope_plan::{Coding, FramePlan, LayerOrder, ModelStage, OperatorOrder, StageRole};
use zoetrope_tensor::{Device, Difference, Gpu, Matrix, SparseGroup, Tape, Var};

use super::features::Features;
use super::local_graph::{LocalGraph, LocalPiece, Rows};
use super::piece::Piece;
use super::reuse;
use super::sharing::FrameSharing;

/// What a plan says about the inside of every frame.
#[derive(Debug, Clone)]
pub struct Layout {
    orders: Vec<Order>,
    /// What the plan says of each layer.
    planned: Vec<LayerOrder>,
    /// By layer, the snapshots in which the other product comes first.
    other_orders: Vec<Vec<Range<usize>>>,
    reuse: bool,
}

impl Layout {
    /// The layout of a plan.
    pub fn of(plan: &FramePlan) -> Self {
        Self::new(&plan.orders, plan.reuse.first_aggregation)
    }

    /// Layers in these orders, the first aggregation kept or not.
    pub fn new(planned: &[LayerOrder], reuse: bool) -> Self {
        let ranges = |layer: &LayerOrder| -> Vec<Range<usize>> {
            layer.other_order.iter().map(|&[from, until]| from..until).collect()
        };
        let other_orders = planned.iter().map(ranges).collect();
        Self { orders: Self::orders_of(planned), planned: planned.to_vec(), other_orders, reuse }
    }

    /// The order of the products in each structure layer.
    fn orders_of(planned: &[LayerOrder]) -> Vec<Order> {
        let order = |layer: &LayerOrder| match layer.order {
            OperatorOrder::AggregateFirst => Order::AggregateFirst,
            OperatorOrder::UpdateFirst => Order::UpdateFirst,
        };
        planned.iter().map(order).collect()
    }

    /// The cheaper order, kept aggregations if the model allows them.
    pub fn plain(model: &dyn Model, reuse: bool) -> Self {
        let order = |&(inputs, outputs): &(usize, usize)| Order::cheaper(inputs, outputs);
        let mut orders: Vec<Order> = model.structure_widths().iter().map(order).collect();
        let reuse = reuse && model.can_reuse();
        if let Some(first) = orders.first_mut().filter(|_| reuse) {
            *first = Order::AggregateFirst;
        }
        Self { orders, planned: Vec::new(), other_orders: Vec::new(), reuse }
    }
}

/// A piece's share of the prepared graph, cut once.
#[derive(Debug)]
struct Cut {
    graph: PreparedGraph,
    groups: Vec<Range<usize>>,
    /// The rows of its features among those of all snapshots, if they are not a rank's own.
    rows: Range<usize>,
    /// What the rank has of it, if several share it.
    local: Option<LocalPiece>,
}

/// The graph and the features of a run: all of them, or what a rank has.
#[derive(Debug)]
enum Source {
    Whole { graph: PreparedGraph, features: Arc<Matrix>, aggregated: Option<Arc<Matrix>> },
    Local(Box<LocalGraph>),
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
    /// If they are not described.
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
    /// If it is not described.
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
    /// Whether training multiplies with the matrices at all: not if all it needs of them is kept.
    multiplies: bool,
    /// The vertices `0, 1, …` as often as a piece has snapshots, by that number.
    repeated: HashMap<usize, Arc<Vec<u32>>>,
}

impl FrameRunner {
    /// Prepares the snapshots in the forms that the model needs and, if planned, aggregates the
    /// features of all of them. If ranks share frames, what a rank needs is prepared when it is
    /// asked for.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn new(
        sequence: &Arc<SnapshotSequence>,
        features: impl Into<Features>,
        model: &dyn Model,
        layout: Layout,
        device: &Device,
        sharing: Option<FrameSharing>,
    ) -> Result<Self, NnError> {
        let features = features.into();
        let vertices = sequence.vertices() as usize;
        let source = match sharing {
            Some(sharing) => {
                let reuse = layout.reuse;
                let local = LocalGraph::new(sharing, device, sequence, features, model, reuse);
                Source::Local(Box::new(local))
            }
            None => {
                let graph = PreparedGraph::on(device, sequence, &model.forms())?;
                let features = features.stacked(sequence)?;
                let aggregated = if layout.reuse {
                    Some(reuse::aggregate(&graph, &features, device)?)
                } else {
                    None
                };
                Source::Whole { graph, features, aggregated }
            }
        };
        let (cuts, repeated) = (HashMap::new(), HashMap::new());
        Ok(Self { source, vertices, layout, cuts, learned: None, multiplies: true, repeated })
    }

    /// Takes the features of vertices from a parameter (`N × F`), the same in every snapshot, instead
    /// of those of the data. Not for ranks that share frames.
    pub fn learning(self, features: Option<ParameterId>) -> Self {
        Self { learned: features, ..self }
    }

    /// How ranks share the cells of frames, if they do.
    pub fn sharing(&self) -> Option<&FrameSharing> {
        match &self.source {
            Source::Whole { .. } => None,
            Source::Local(local) => Some(local.sharing()),
        }
    }

    /// Says which pieces will come, so that ranks that share frames keep no row twice.
    pub fn expect_pieces(&mut self, pieces: &[Piece]) {
        if let Source::Local(local) = &mut self.source {
            local.expect(pieces);
        }
    }

    /// Sends matrices to a GPU frame by frame, `at_once` snapshots at most, instead of keeping all of
    /// them there. Ranks that share cells keep what they have.
    pub fn stream(&self, at_once: usize, coding: Coding) {
        if let Source::Whole { graph, .. } = &self.source {
            graph.products().for_each(|group| group.stream(at_once, difference(coding)));
        }
    }

    /// Sends matrices that stay on a GPU there in that way.
    pub fn send_as(&self, coding: Coding) {
        if let Source::Whole { graph, .. } = &self.source {
            graph.products().for_each(|group| group.send_as(difference(coding)));
        }
    }

    /// Before the launches of a piece whose matrices are streamed: waits for them on the GPU.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn enter(&mut self, gpu: &Gpu, piece: &Piece) -> Result<(), NnError> {
        if !self.multiplies {
            return Ok(());
        }
        self.cut(piece)?;
        for group in self.cuts[piece].graph.products() {
            gpu.enter(group, group.uses_transposes());
        }
        Ok(())
    }

    /// Begins to copy the matrices of a piece that comes next.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn send_ahead(&mut self, gpu: &Gpu, next: &Piece) -> Result<(), NnError> {
        if !self.multiplies {
            return Ok(());
        }
        self.cut(next)?;
        for group in self.cuts[next].graph.products() {
            gpu.prefetch(group, group.uses_transposes());
        }
        Ok(())
    }

    /// The bytes of each snapshot as it is sent to a GPU whole, in all forms that are multiplied with; with
    /// transposes if a backward pass needs them.
    pub fn whole_bytes(&self, backward: bool) -> Vec<u64> {
        let Source::Whole { graph, .. } = &self.source else { return Vec::new() };
        let mut all = vec![0; graph.steps()];
        for group in graph.products() {
            for (sum, bytes) in all.iter_mut().zip(group.whole_bytes(backward)) {
                *sum += bytes;
            }
        }
        all
    }

    /// Says what training multiplies with: with matrices at all, and with their transposes in a backward
    /// pass. Only that is sent ahead to a GPU.
    pub fn expect(&mut self, stages: &[ModelStage]) {
        let products = || stages.iter().filter(|stage| stage.role == StageRole::Halo);
        self.multiplies = products().next().is_some();
        if let Source::Whole { graph, .. } = &self.source
            && products().any(|stage| stage.needs_gradient)
        {
            graph.products().for_each(SparseGroup::expect_backward);
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Runs the model over a piece of a frame, from the state after what came before it.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn embed(
        &mut self,
        forward: &mut Forward<'_>,
        model: &dyn Model,
        piece: &Piece,
        state: State,
    ) -> Result<Output, NnError> {
        self.cut(piece)?;
        let cut = &self.cuts[piece];
        let own = |rows: &Rows| (Arc::clone(&rows.matrix), rows.range.clone());
        let (features, aggregated) = match (&self.source, &cut.local) {
            (_, Some(local)) => (own(&local.features), local.aggregated.as_ref().map(own)),
            (Source::Whole { features, aggregated, .. }, None) => {
                let rows = |matrix: &Arc<Matrix>| (Arc::clone(matrix), cut.rows.clone());
                (rows(features), aggregated.as_ref().map(rows))
            }
            (Source::Local(_), None) => unreachable!("a piece of a rank is its own"),
        };
        let features = match self.learned {
            Some(learned) => {
                let (steps, vertices) = (piece.steps.len(), self.vertices as u32);
                let again = || Arc::new((0..steps).flat_map(|_| 0..vertices).collect());
                let rows = self.repeated.entry(steps).or_insert_with(again);
                let all = forward.parameter(learned);
                forward.tape.gather(all, rows)?
            }
            None => forward.tape.constant(&features.0, features.1)?,
        };
        let aggregated = match aggregated {
            Some((kept, rows)) => Some(forward.tape.constant(&kept, rows)?),
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
            other_orders: &self.layout.other_orders,
            first_step: steps.start,
            shared: cut.local.as_ref().map(|local| Shared {
                steps: steps.len(),
                first: local.first,
                numbers: local.exchange.numbers(),
                time_graph: &local.time_graph,
                exchange: &local.exchange,
            }),
        };
        let Embedding { mut rows, mut state } = model.embed(forward, &frame, state)?;
        state.advance(steps.len());
        let described = match (&cut.local, model.coverage()) {
            (Some(local), _) => {
                rows = local.exchange.to_answers(forward.tape, rows)?;
                local.answers.clone()
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
        let cut = match &mut self.source {
            Source::Whole { graph, .. } => {
                let steps = &piece.steps;
                let groups = LayerOrder::groups(&self.layout.planned, steps.clone(), piece.group);
                let graph = graph.cut(steps.clone());
                let rows = steps.start * self.vertices..steps.end * self.vertices;
                Cut { graph, groups, rows, local: None }
            }
            Source::Local(local) => {
                let made = local.cut(piece)?;
                // Rows of others are gathered for all snapshots of a piece at once.
                let groups = match local.sharing().grid.members {
                    1 => {
                        let first = piece.steps.start + made.first;
                        let own = first..first + made.graph.steps();
                        LayerOrder::groups(&self.layout.planned, own, piece.group)
                    }
                    _ => Vec::new(),
                };
                Cut { graph: made.graph.clone(), groups, rows: 0..0, local: Some(made) }
            }
        };
        self.cuts.insert(piece.clone(), cut);
        Ok(())
    }
}

// What a plan may ask for is what a model can take.
const _: () = assert!(zoetrope_plan::MAX_GROUPS == zoetrope_nn::frame::MAX_GROUPS);

fn difference(coding: Coding) -> Difference {
    match coding {
        Coding::Auto => Difference::Auto,
        Coding::Differences => Difference::On,
        Coding::Whole => Difference::Off,
    }
}

/// A forward pass that only evaluates, on a tape of its own.
pub(crate) fn evaluating<'a>(
    tape: &'a mut Tape,
    parameters: &'a zoetrope_nn::Parameters,
    updates: &'a mut Updates,
) -> Forward<'a> {
    tape.reset();
    Forward::evaluating(tape, parameters, updates)
}
