//! A frame: some consecutive snapshots as a model sees them.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zoetrope_tensor::{Cells, GatOptions, SparseGroup, Var};

use crate::encoder::{Sequence, StructureEncoder, TimeEncoder};
use crate::error::NnError;
use crate::forward::Forward;
use crate::frame_share::{Shared, VertexNumbers};
use crate::graph::{Adjacency, PreparedGraph};
use crate::stage::StageKind;
use crate::state::State;

/// Which of the two products of a graph convolution comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// `(Â·X)·W`: less work if the input is narrower than the output, and `Â·X` can be kept.
    AggregateFirst,
    /// `Â·(X·W)`: less work if the output is narrower.
    UpdateFirst,
}

impl Order {
    /// The order with less work for a layer of these widths.
    pub fn cheaper(inputs: usize, outputs: usize) -> Self {
        if inputs <= outputs { Self::AggregateFirst } else { Self::UpdateFirst }
    }

    /// The order of a structure layer of these widths: what the plan says, or the cheaper one.
    pub fn at(planned: &[Self], layer: usize, inputs: usize, outputs: usize) -> Self {
        planned.get(layer).copied().unwrap_or(Self::cheaper(inputs, outputs))
    }

    /// The one in which the other product comes first.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::AggregateFirst => Self::UpdateFirst,
            Self::UpdateFirst => Self::AggregateFirst,
        }
    }

    /// The width of the rows that meet the graph.
    pub fn aggregated(self, inputs: usize, outputs: usize) -> usize {
        match self {
            Self::AggregateFirst => inputs,
            Self::UpdateFirst => outputs,
        }
    }

    /// Whether those rows follow from weights: in the first layer they may be the features.
    pub fn needs_gradient(self, layer: usize) -> bool {
        layer > 0 || self == Self::UpdateFirst
    }
}

/// Some consecutive snapshots with their features on a tape.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The snapshots.
    pub graph: &'a PreparedGraph,
    /// `T·N × F` features stacked by time.
    pub features: Var,
    /// `Â·X` of the first layer if it was computed before.
    pub aggregated: Option<Var>,
    /// `T·N × 1`, 0 if a vertex is not there; None if all are.
    pub mask: Option<Var>,
    /// How structure encoders take the snapshots: consecutive ranges that cover the frame.
    pub groups: &'a [Range<usize>],
    /// The order of the two products in each structure layer, from the first on.
    pub orders: &'a [Order],
    /// For each structure layer the snapshots of the whole sequence in which the other product comes first;
    /// nothing if there are none. Groups do not mix orders.
    pub other_orders: &'a [Vec<Range<usize>>],
    /// The position of the first snapshot in the whole sequence.
    pub first_step: usize,
    /// What this rank has of a frame that several share; None if it has all of it.
    pub shared: Option<Shared<'a>>,
}

impl<'a> Frame<'a> {
    /// All snapshots of a graph with their features (`T·N × F`), from the first one on, as one group:
    /// nothing was computed before, every vertex is there, nobody shares it.
    pub fn whole(graph: &'a PreparedGraph, features: Var) -> Self {
        Self {
            graph,
            features,
            aggregated: None,
            mask: None,
            groups: &[],
            orders: &[],
            other_orders: &[],
            first_step: 0,
            shared: None,
        }
    }

    /// The number of snapshots that structure encoders see here.
    pub fn steps(&self) -> usize {
        self.graph.steps()
    }

    /// The number of vertices that structure encoders describe here.
    pub fn vertices(&self) -> usize {
        self.graph.vertices()
    }

    /// The snapshots that structure encoders see here, within all of the frame.
    pub fn own_steps(&self) -> Range<usize> {
        let first = self.shared.map_or(0, |shared| shared.first);
        first..first + self.steps()
    }

    /// The number of snapshots of the whole frame.
    pub fn all_steps(&self) -> usize {
        self.shared.map_or(self.steps(), |shared| shared.steps)
    }

    /// The number of vertices that time encoders follow here.
    pub fn time_vertices(&self) -> usize {
        self.shared.map_or(self.vertices(), |shared| shared.time_vertices())
    }

    /// The rows of structure encoders at the rank whose time encoders read them, as sequences.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    pub fn to_time(&self, forward: &mut Forward<'_>, rows: Var) -> Result<Sequence, NnError> {
        forward.may_exchange(StageKind::ToTime, rows);
        let rows = match self.shared {
            Some(shared) => shared.exchange.to_time(forward.tape, rows)?,
            None => rows,
        };
        let (steps, vertices) = (self.all_steps(), self.time_vertices());
        self.sequence(forward, rows, steps, vertices)
    }

    pub(crate) fn sequence(
        &self,
        forward: &mut Forward<'_>,
        rows: Var,
        steps: usize,
        vertices: usize,
    ) -> Result<Sequence, NnError> {
        let bits = self.shared.map(|shared| shared.numbers.time_bits());
        let numbers = bits.map(|bits| forward.tape.constant(bits, 0..vertices)).transpose()?;
        Ok(Sequence { rows, steps, vertices, mask: self.mask, numbers })
    }

    /// The rows of time encoders at the rank whose structure encoders read them.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    pub fn to_structure(&self, forward: &mut Forward<'_>, rows: Var) -> Result<Var, NnError> {
        forward.may_exchange(StageKind::ToStructure, rows);
        Ok(match self.shared {
            Some(shared) => shared.exchange.to_structure(forward.tape, rows)?,
            None => rows,
        })
    }

    /// The matrix of one snapshot of the frame in one of the forms of time encoders times the rows that they
    /// have of it; rows of other ranks are gathered.
    ///
    /// # Errors
    /// If there are not as many rows as time encoders have here.
    pub fn multiply_in_time(
        &self,
        forward: &mut Forward<'_>,
        form: Adjacency,
        step: usize,
        x: Var,
    ) -> Result<Var, NnError> {
        forward.may_exchange_at(StageKind::GatherInTime, step, x);
        let (graph, x) = match self.shared {
            Some(shared) => {
                (shared.time_graph, shared.exchange.gather_in_time(forward.tape, step, x)?)
            }
            None => (self.graph, x),
        };
        Ok(forward.tape.spmm(&graph.form(form).cut(step..step + 1), x)?)
    }

    /// The rows of all ranks that describe cells of structure encoders.
    pub fn all_cells(&self) -> usize {
        let vertices = self.shared.map_or(self.vertices(), |shared| shared.numbers.all());
        self.all_steps() * vertices
    }

    /// Dropout of rows of structure encoders while training.
    ///
    /// # Errors
    /// If the rate is not in `[0, 1)`.
    pub fn dropout(&self, forward: &mut Forward<'_>, x: Var, rate: f32) -> Result<Var, NnError> {
        let cells = self.cells(self.own_steps().start, VertexNumbers::structure);
        forward.dropout_of_cells(x, rate, cells)
    }

    /// Dropout of rows of time encoders, of the whole frame or of its last snapshots, while training.
    ///
    /// # Errors
    /// If the rate is not in `[0, 1)`.
    pub fn dropout_in_time(
        &self,
        forward: &mut Forward<'_>,
        x: Var,
        rate: f32,
    ) -> Result<Var, NnError> {
        let steps = forward.tape.shape(x).rows / self.time_vertices().max(1);
        let cells = self.cells(self.all_steps() - steps, VertexNumbers::time);
        forward.dropout_of_cells(x, rate, cells)
    }

    /// The cells of rows whose first is of that snapshot of the frame.
    fn cells(&self, step: usize, vertices: fn(&VertexNumbers) -> &Arc<Vec<u32>>) -> Cells {
        let numbers = self.shared.map(|shared| shared.numbers);
        Cells {
            first_step: self.first_step + step,
            all: numbers.map_or(self.vertices(), VertexNumbers::all),
            vertices: numbers.map(|numbers| Arc::clone(vertices(numbers))),
        }
    }

    /// All snapshots of the frame in one form.
    pub fn form(&self, form: Adjacency) -> &'a SparseGroup {
        self.graph.form(form)
    }

    /// The order of the products in a structure layer of these widths, if it is the same in all snapshots
    /// that structure encoders see here: what the plan says, or the cheaper one.
    pub fn order(&self, layer: usize, inputs: usize, outputs: usize) -> Option<Order> {
        let own = self.own_steps();
        let steps = self.first_step + own.start..self.first_step + own.end;
        let order = Order::at(self.orders, layer, inputs, outputs);
        let others = steps.clone().filter(|&step| is_other(self.other_orders, layer, step)).count();
        match others {
            0 => Some(order),
            all if all == steps.len() => Some(order.other()),
            _ => None,
        }
    }

    /// Runs a structure encoder over the frame, group by group as planned.
    ///
    /// `layer` is its position among the structure layers; the first one (0) may use the kept
    /// aggregation.
    ///
    /// # Errors
    /// As the encoder.
    pub fn encode(
        &self,
        forward: &mut Forward<'_>,
        encoder: &dyn StructureEncoder,
        layer: usize,
        x: Var,
    ) -> Result<Var, NnError> {
        let vertices = self.vertices();
        if self.groups.len() <= 1 {
            let aggregated = self.aggregated.filter(|_| layer == 0);
            return run(forward, encoder, &self.group(0..self.steps(), layer, aggregated), x);
        }
        // Only evaluation has longer passes, in which nothing has to be free of allocations.
        let (mut few, mut many) = ([x; MAX_GROUPS], Vec::new());
        let count = self.groups.len();
        let parts = match few.get_mut(..count) {
            Some(few) => few,
            None => {
                many.resize(count, x);
                &mut many[..]
            }
        };
        for (steps, part) in self.groups.iter().zip(parts.iter_mut()) {
            let rows = steps.start * vertices..steps.end * vertices;
            let aggregated = match self.aggregated.filter(|_| layer == 0) {
                Some(kept) => Some(forward.tape.rows(kept, rows.clone())?),
                None => None,
            };
            let x = forward.tape.rows(x, rows)?;
            let group = self.group(steps.clone(), layer, aggregated);
            *part = run(forward, encoder, &group, x)?;
        }
        Ok(forward.tape.concat_rows(parts)?)
    }

    /// Runs a time encoder over sequences of the frame. `layer` is its position among the time layers,
    /// `place` that of its state.
    ///
    /// # Errors
    /// As the encoder.
    pub fn follow(
        &self,
        forward: &mut Forward<'_>,
        encoder: &dyn TimeEncoder,
        (layer, place): (usize, usize),
        sequence: Sequence,
        state: &mut State,
    ) -> Result<Var, NnError> {
        forward.stage(StageKind::Time, layer, sequence.rows, |forward| {
            encoder.encode(forward, sequence, state, place)
        })
    }

    /// Runs a structure encoder over some of the snapshots, of which nothing is kept.
    pub(crate) fn encode_group(
        &self,
        forward: &mut Forward<'_>,
        encoder: &dyn StructureEncoder,
        steps: Range<usize>,
        layer: usize,
        x: Var,
    ) -> Result<Var, NnError> {
        run(forward, encoder, &self.group(steps, layer, None), x)
    }

    fn group(&self, steps: Range<usize>, layer: usize, aggregated: Option<Var>) -> Group<'a> {
        let (graph, orders, shared) = (self.graph, self.orders, self.shared);
        let first = self.first_step + self.own_steps().start + steps.start;
        let turned = is_other(self.other_orders, layer, first);
        Group { graph, steps, layer, aggregated, orders, turned, shared }
    }
}

/// Whether the other product comes first in a snapshot of a layer.
fn is_other(other_orders: &[Vec<Range<usize>>], layer: usize, step: usize) -> bool {
    other_orders.get(layer).is_some_and(|ranges| ranges.iter().any(|range| range.contains(&step)))
}

/// Runs a structure encoder over a group.
fn run(
    forward: &mut Forward<'_>,
    encoder: &dyn StructureEncoder,
    group: &Group<'_>,
    x: Var,
) -> Result<Var, NnError> {
    forward.stage(StageKind::Structure, group.layer, x, |forward| encoder.encode(forward, group, x))
}

/// The snapshots of one of `parts` parts of `steps`, as even as can be, larger ones first.
pub fn part_of(steps: usize, parts: usize, part: usize) -> Range<usize> {
    let (size, larger) = (steps / parts, steps % parts);
    let start = |part: usize| part * size + part.min(larger);
    start(part)..start(part + 1)
}

/// The most groups of one frame.
pub const MAX_GROUPS: usize = 64;

/// Consecutive snapshots that a structure encoder takes at once.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    graph: &'a PreparedGraph,
    steps: Range<usize>,
    layer: usize,
    orders: &'a [Order],
    /// Whether the other product comes first in its snapshots.
    turned: bool,
    shared: Option<Shared<'a>>,
    /// `Â·X` if it was computed before.
    pub aggregated: Option<Var>,
}

impl Group<'_> {
    /// The snapshots of the group in one form.
    pub fn form(&self, form: Adjacency) -> SparseGroup {
        self.graph.form(form).cut(self.steps.clone())
    }

    /// Rows of features with those of other ranks that edges lead from: what the matrices of the group
    /// have columns for.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    pub fn gather(&self, forward: &mut Forward<'_>, x: Var) -> Result<Var, NnError> {
        forward.may_exchange(StageKind::Gather, x);
        Ok(match self.shared {
            Some(shared) => shared.exchange.gather(forward.tape, x)?,
            None => x,
        })
    }

    /// The matrices of the group in one form times rows of features, of which those of other ranks
    /// are gathered.
    ///
    /// # Errors
    /// If there are not as many rows as this rank has.
    pub fn multiply(
        &self,
        forward: &mut Forward<'_>,
        form: Adjacency,
        x: Var,
    ) -> Result<Var, NnError> {
        let x = self.gather(forward, x)?;
        if self.steps.is_empty() { Ok(x) } else { Ok(forward.tape.spmm(&self.form(form), x)?) }
    }

    /// Attention over the entries of the matrices of the group in one form: `features` and `source` are of
    /// [gathered](Self::gather) rows, `destination` of those that this rank describes.
    ///
    /// # Errors
    /// If shapes do not fit.
    pub fn attend(
        &self,
        forward: &mut Forward<'_>,
        form: Adjacency,
        [features, source, destination]: [Var; 3],
        options: GatOptions,
    ) -> Result<Var, NnError> {
        // Without a snapshot there are no matrices, and no rows either.
        if self.steps.is_empty() {
            return Ok(features);
        }
        Ok(forward.tape.gat(&self.form(form), features, source, destination, options)?)
    }

    /// The number of snapshots.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.graph.vertices()
    }

    /// The order of the products for a layer of these widths.
    pub fn order(&self, inputs: usize, outputs: usize) -> Order {
        let order = Order::at(self.orders, self.layer, inputs, outputs);
        if self.turned { order.other() } else { order }
    }
}
