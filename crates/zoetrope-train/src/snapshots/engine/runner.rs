//! Puts a frame on a tape and runs the model over it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::SnapshotSequence;
use zoetrope_nn::forward::{Forward, Updates};
use zoetrope_nn::model::{Coverage, Embedding, Model};
use zoetrope_nn::{Frame, NnError, Order, ParameterId, PreparedGraph, Shared, State};
use zoetrope_plan::{
    Coding, FramePlan, LayerOrder, ModelStage, OperatorOrder, Residency, StageRole,
};
use zoetrope_tensor::cuda::SentForecast;
use zoetrope_tensor::{Device, Difference, Gpu, Matrix, SparseGroup, Tape, Var};

use super::feature_windows::{FeatureWindows, Of};
use super::features::Features;
use super::local_graph::{LocalGraph, LocalPiece};
use super::own_rows::Rows;
use super::piece::Piece;
use super::reuse;
use super::sent_bytes::SentBytes;
use super::sent_graph::SentGraph;
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
    /// How a GPU gets the graph.
    sending: Option<Sending>,
}

/// How a GPU gets the graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    /// The most snapshots that are there at a time, if not all stay.
    at_once: Option<usize>,
    coding: Coding,
    /// Whether pieces of a frame stay on one tape until its backward pass.
    kept: bool,
}

impl Sending {
    pub(super) fn of(plan: &FramePlan) -> Option<Self> {
        let gpu = plan.gpu?;
        let at_once = plan.longest_frame().div_ceil(plan.blocks.count);
        Some(Self {
            at_once: (gpu.residency == Residency::Stream).then_some(at_once),
            coding: gpu.coding,
            kept: plan.keeps_blocks(),
        })
    }

    /// Says it to the matrices of a graph.
    pub(super) fn apply(self, graph: &PreparedGraph) {
        graph.products().for_each(|group| self.say(group));
    }

    /// Says it to some matrices.
    pub(super) fn say(self, group: &SparseGroup) {
        match self.at_once {
            Some(at_once) => group.stream(at_once, difference(self.coding)),
            None => group.send_as(difference(self.coding)),
        }
    }
}

impl Layout {
    /// The layout of a plan.
    pub fn of(plan: &FramePlan) -> Self {
        let layout = Self::new(&plan.orders, plan.reuse.first_aggregation);
        Self { sending: Sending::of(plan), ..layout }
    }

    /// Layers in these orders, the first aggregation kept or not.
    pub fn new(planned: &[LayerOrder], reuse: bool) -> Self {
        let ranges = |layer: &LayerOrder| -> Vec<Range<usize>> {
            layer.other_order.iter().map(|&[from, until]| from..until).collect()
        };
        let other_orders = planned.iter().map(ranges).collect();
        let (orders, planned) = (Self::orders_of(planned), planned.to_vec());
        Self { orders, planned, other_orders, reuse, sending: None }
    }

    /// The order of the products in each structure layer.
    fn orders_of(planned: &[LayerOrder]) -> Vec<Order> {
        let order = |layer: &LayerOrder| match layer.order {
            OperatorOrder::AggregateFirst => Order::AggregateFirst,
            OperatorOrder::UpdateFirst => Order::UpdateFirst,
        };
        planned.iter().map(order).collect()
    }

    /// Whether a GPU gets the graph piece by piece.
    fn streams(&self) -> bool {
        self.sending.is_some_and(|sending| sending.at_once.is_some())
    }

    /// The cheaper order, kept aggregations if the model allows them.
    pub fn plain(model: &dyn Model, reuse: bool) -> Self {
        let order = |&(inputs, outputs): &(usize, usize)| Order::cheaper(inputs, outputs);
        let mut orders: Vec<Order> = model.structure_widths().iter().map(order).collect();
        let reuse = reuse && model.can_reuse();
        if let Some(first) = orders.first_mut().filter(|_| reuse) {
            *first = Order::AggregateFirst;
        }
        Self { orders, planned: Vec::new(), other_orders: Vec::new(), reuse, sending: None }
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

impl Source {
    /// The rows of a piece's features, and of what is kept of them.
    fn rows_of(&self, cut: &Cut) -> (Rows, Option<Rows>) {
        match (self, &cut.local) {
            (_, Some(local)) => (local.features.clone(), local.aggregated.clone()),
            (Self::Whole { features, aggregated, .. }, None) => {
                let rows = |matrix: &Arc<Matrix>| Rows {
                    matrix: Arc::clone(matrix),
                    range: cut.rows.clone(),
                };
                (rows(features), aggregated.as_ref().map(rows))
            }
            (Self::Local(_), None) => unreachable!("a piece of a rank is its own"),
        }
    }

    /// Features of a vertex, and of what is kept of them.
    fn width(&self) -> usize {
        match self {
            Self::Whole { features, aggregated, .. } => {
                features.shape().cols * if aggregated.is_some() { 2 } else { 1 }
            }
            Self::Local(local) => local.width() * if local.keeps_aggregations() { 2 } else { 1 },
        }
    }
}

impl Cut {
    /// The rows of its features, counted from the start of the data.
    fn place(&self) -> Range<usize> {
        self.local.as_ref().map_or_else(|| self.rows.clone(), |local| local.place.clone())
    }
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
    /// The features on a GPU, if not all of them stay there.
    windows: Option<FeatureWindows>,
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
                let sending = layout.sending.filter(|_| device.gpu().is_some());
                if let Some(sending) = sending {
                    sending.apply(&graph);
                }
                let stays = sending.is_none_or(|sending| sending.at_once.is_none());
                let aggregated = if layout.reuse {
                    Some(reuse::aggregate(&graph, &features, device, stays)?)
                } else {
                    None
                };
                Source::Whole { graph, features, aggregated }
            }
        };
        Ok(Self {
            source,
            vertices,
            layout,
            cuts: HashMap::new(),
            learned: None,
            multiplies: true,
            repeated: HashMap::new(),
            windows: None,
        })
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

    /// On a GPU, before the first piece: brings the graph into the form in which it is sent, and makes room for
    /// features if these go there piece by piece. `pieces` are all that will be run, `training` how many
    /// of them, the first ones, are trained on.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn send(&mut self, gpu: &Gpu, pieces: &[Piece], training: usize) -> Result<(), NnError> {
        let Some(sending) = self.layout.sending else { return Ok(()) };
        let rows = match &mut self.source {
            Source::Whole { .. } => sending.at_once.unwrap_or(0) * self.vertices,
            Source::Local(local) => {
                if sending.at_once.is_some() || sending.coding == Coding::Differences {
                    let (trained, others) = pieces.split_at(training);
                    local.send(trained, others, sending)?;
                }
                let vertices = local.sharing().own_vertices().len();
                let trained = pieces[..training].iter().map(|piece| local.own_steps(piece).len());
                trained.max().unwrap_or(0) * vertices
            }
        };
        if rows > 0 && self.learned.is_none() {
            self.windows = Some(FeatureWindows::new(gpu, rows, sending.kept));
        }
        // What is aggregated once and kept is sent once, before anything is counted.
        if sending.at_once.is_some()
            && matches!(&self.source, Source::Local(local) if local.keeps_aggregations())
        {
            pieces.iter().try_for_each(|piece| self.cut(piece))?;
        }
        Ok(())
    }

    /// Whether anything is sent to a GPU piece by piece.
    pub fn sends_pieces(&self) -> bool {
        self.windows.is_some() || self.layout.streams()
    }

    /// The matrices that training streams as one sequence.
    fn streamed(&self) -> Option<&PreparedGraph> {
        self.layout.sending?.at_once?;
        match &self.source {
            Source::Whole { graph, .. } => Some(graph),
            Source::Local(local) => local.sent().first().map(SentGraph::graph),
        }
    }

    /// Forgets what of the graph and the features is on a GPU, if they go there piece by piece: what is sent
    /// in an epoch does not depend on what was before it.
    pub fn forget(&mut self, gpu: &Gpu) {
        if let Some(graph) = self.streamed().filter(|_| self.multiplies) {
            graph.products().for_each(|group| gpu.forget(group, group.uses_transposes()));
        }
        self.windows.iter_mut().for_each(FeatureWindows::forget);
    }

    /// Before the launches of a piece whose matrices or features are sent for it: waits for them on the GPU.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn enter(&mut self, gpu: &Gpu, piece: &Piece) -> Result<(), NnError> {
        self.cut(piece)?;
        let cut = &self.cuts[piece];
        if self.multiplies && self.layout.streams() {
            for group in cut.graph.products() {
                gpu.enter(group, group.uses_transposes());
            }
        }
        if let Some(windows) = &mut self.windows {
            let (features, aggregated) = self.source.rows_of(cut);
            windows.enter(Of::Features, &features, &cut.place());
            aggregated.iter().for_each(|kept| windows.enter(Of::Aggregated, kept, &cut.place()));
        }
        Ok(())
    }

    /// Begins to copy the matrices and features of a piece that comes next.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn send_ahead(&mut self, gpu: &Gpu, next: &Piece) -> Result<(), NnError> {
        self.cut(next)?;
        let cut = &self.cuts[next];
        if self.multiplies && self.layout.streams() {
            for group in cut.graph.products() {
                gpu.prefetch(group, group.uses_transposes());
            }
        }
        if let Some(windows) = &mut self.windows {
            let (features, aggregated) = self.source.rows_of(cut);
            windows.send_ahead(Of::Features, &features, &cut.place());
            aggregated.iter().for_each(|kept| {
                windows.send_ahead(Of::Aggregated, kept, &cut.place());
            });
        }
        Ok(())
    }

    /// The bytes that go to a GPU for the pieces of training; None if nothing goes there piece by piece, or if
    /// blocks are kept, whose matrices the backward pass asks for again.
    pub fn sent_bytes(&self) -> Option<SentBytes> {
        let again = self.layout.sending.is_some_and(|one| one.kept && one.at_once.is_some());
        if !self.sends_pieces() || again {
            return None;
        }
        let streamed = self.streamed().filter(|_| self.multiplies);
        let groups = streamed.into_iter().flat_map(PreparedGraph::products);
        let forms = groups.filter_map(|group| SentForecast::new(group, group.uses_transposes()));
        let steps = match &self.source {
            Source::Whole { .. } => None,
            Source::Local(local) => local.sent().first().map(|sent| sent.steps().to_vec()),
        };
        let values = self.structure_vertices() * self.source.width();
        let features = if self.windows.is_some() { (values * size_of::<f32>()) as u64 } else { 0 };
        Some(SentBytes::new(forms.collect(), steps, features))
    }

    /// The vertices that structure encoders describe here.
    fn structure_vertices(&self) -> usize {
        match &self.source {
            Source::Whole { .. } => self.vertices,
            Source::Local(local) => local.sharing().own_vertices().len(),
        }
    }

    /// Says what training multiplies with: with matrices at all, and with their transposes in a backward
    /// pass. Only that is sent ahead to a GPU.
    pub fn expect(&mut self, stages: &[ModelStage]) {
        let products = || stages.iter().filter(|stage| stage.role == StageRole::Halo);
        self.multiplies = products().next().is_some();
        if let Some(graph) = self.streamed()
            && products().any(|stage| stage.needs_gradient)
        {
            graph.products().for_each(SparseGroup::expect_backward);
        }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// The snapshots of a piece that a model that describes all of its input describes here.
    ///
    /// # Errors
    /// If a snapshot cannot be brought into a form.
    pub fn described(&mut self, piece: &Piece) -> Result<Range<usize>, NnError> {
        self.cut(piece)?;
        let local = self.cuts[piece].local.as_ref();
        Ok(local.map_or_else(|| piece.steps.clone(), |local| local.answers.clone()))
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
        let (features, aggregated) = self.source.rows_of(cut);
        let features = match self.learned {
            Some(learned) => {
                let (steps, vertices) = (piece.steps.len(), self.vertices as u32);
                let again = || Arc::new((0..steps).flat_map(|_| 0..vertices).collect());
                let rows = self.repeated.entry(steps).or_insert_with(again);
                let all = forward.parameter(learned);
                forward.tape.gather(all, rows)?
            }
            None => match &mut self.windows {
                None => forward.tape.constant(&features.matrix, features.range)?,
                Some(windows) => {
                    windows.constant(forward, Of::Features, &features, &cut.place())?
                }
            },
        };
        let aggregated = match (aggregated, &mut self.windows) {
            (None, _) => None,
            (Some(kept), None) => Some(forward.tape.constant(&kept.matrix, kept.range)?),
            (Some(kept), Some(windows)) => {
                Some(windows.constant(forward, Of::Aggregated, &kept, &cut.place())?)
            }
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
