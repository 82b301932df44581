//! A sequence of snapshots, kept as sorted edge columns end to end.
//!
//! One arena for all snapshots, each with a range of it, ordered by (destination, source), ties in
//! input order; snapshots without edges take no memory. The compact form is what files hold
//! and what differences and overlaps are computed on; a matrix with row offsets is derived per
//! snapshot if it is needed. A graph whose topology never changes is stored once.
//!
//! A sequence may also hold nothing but how its snapshots are made ([`SnapshotSequence::made_by`]), so that a process
//! keeps those that it needs. Then columns and ranges are empty; [`SnapshotSequence::visit`] makes snapshots and lets
//! them go, [`SnapshotSequence::at`] keeps what it made.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::boundaries::Boundaries;
use crate::counted::SnapshotCounts;
use crate::error::GraphError;
use crate::ids::VertexId;
use crate::made::{Made, SnapshotSource};
use crate::ranges::Ranges;

/// Snapshots of one graph, in time order.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotSequence {
    vertices: u32,
    steps: usize,
    ranges: Ranges,
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    weight: Option<Vec<f32>>,
    boundaries: Option<Boundaries>,
    /// What makes the snapshots, if the columns hold none of them.
    made: Option<Arc<Made>>,
}

/// The edges of one snapshot, ordered by (destination, source).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SnapshotView<'a> {
    /// The number of vertices of the graph.
    pub vertices: u32,
    /// Where each edge starts.
    pub src: &'a [VertexId],
    /// Where each edge ends; ascending.
    pub dst: &'a [VertexId],
    /// The weight of each edge; 1 if there is none.
    pub weight: Option<&'a [f32]>,
}

impl SnapshotView<'_> {
    /// The number of edges.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// The weight of edge `index`.
    pub fn weight_of(&self, index: usize) -> f32 {
        self.weight.map_or(1.0, |weight| weight[index])
    }

    /// Edge `index` as a number that orders edges by (destination, source).
    pub fn key(&self, index: usize) -> u64 {
        edge_key(self.src[index], self.dst[index])
    }
}

/// An edge as a number that orders edges by (destination, source).
pub fn edge_key(src: VertexId, dst: VertexId) -> u64 {
    u64::from(dst) << 32 | u64::from(src)
}

impl SnapshotSequence {
    /// Takes edges grouped by snapshot and orders each snapshot by (destination, source).
    ///
    /// # Errors
    /// If the columns differ in length, offsets do not rise from 0 to the number of edges, or
    /// an edge names a vertex outside `0..vertices`.
    pub fn new(
        vertices: u32,
        offsets: Vec<u64>,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> Result<Self, GraphError> {
        check_offsets(&offsets, src.len())?;
        Self::in_ranges(vertices, Ranges::from_offsets(&offsets), src, dst, weight)
    }

    fn in_ranges(
        vertices: u32,
        ranges: Ranges,
        mut src: Vec<VertexId>,
        mut dst: Vec<VertexId>,
        mut weight: Option<Vec<f32>>,
    ) -> Result<Self, GraphError> {
        check_length("edge_src", ranges.end() as usize, src.len())?;
        check_length("edge_dst", src.len(), dst.len())?;
        if let Some(weight) = &weight {
            check_length("edge_weight", src.len(), weight.len())?;
        }
        check_range("edge_src", &src, vertices)?;
        check_range("edge_dst", &dst, vertices)?;
        sort_snapshots(&ranges, &mut src, &mut dst, weight.as_mut());
        Ok(Self::of_columns(vertices, ranges, src, dst, weight))
    }

    /// The same snapshots with other edges; each keeps its number of edges.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_edges(
        &self,
        vertices: u32,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> Result<Self, GraphError> {
        let made = Self::in_ranges(vertices, self.ranges.clone(), src, dst, weight)?;
        Ok(Self { steps: self.steps, boundaries: self.boundaries.clone(), ..made })
    }

    /// The same snapshots with other weights, or with none.
    ///
    /// # Errors
    /// If there is not one weight for each stored edge.
    pub fn with_weight(&self, weight: Option<Vec<f32>>) -> Result<Self, GraphError> {
        if let Some(weight) = &weight {
            check_length("edge_weight", self.src.len(), weight.len())?;
        }
        let (src, dst) = (self.src.clone(), self.dst.clone());
        let (ranges, boundaries) = (self.ranges.clone(), self.boundaries.clone());
        Ok(Self {
            vertices: self.vertices,
            steps: self.steps,
            ranges,
            src,
            dst,
            weight,
            boundaries,
            made: None,
        })
    }

    /// The first `steps` snapshots.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first_steps(&self, steps: usize) -> Self {
        assert!(steps <= self.steps, "{steps} of {} snapshots", self.steps);
        let ranges =
            if self.is_constant() { self.ranges.clone() } else { self.ranges.first(steps) };
        let edges = ranges.end() as usize;
        Self {
            vertices: self.vertices,
            steps,
            src: self.src[..edges].to_vec(),
            dst: self.dst[..edges].to_vec(),
            weight: self.weight.as_ref().map(|weight| weight[..edges].to_vec()),
            boundaries: self.boundaries.as_ref().map(|times| times.first(steps + 1)),
            ranges,
            made: None,
        }
    }

    fn of_columns(
        vertices: u32,
        ranges: Ranges,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> Self {
        let steps = ranges.len();
        Self { vertices, steps, ranges, src, dst, weight, boundaries: None, made: None }
    }

    /// Snapshots that `source` makes when they are asked for, with the number of edges of each.
    pub fn made_by(vertices: u32, edges: Vec<u64>, source: Arc<dyn SnapshotSource>) -> Self {
        let none = Ranges::empty(edges.len(), 0);
        let made = Some(Arc::new(Made::new(source, edges)));
        Self { made, ..Self::of_columns(vertices, none, Vec::new(), Vec::new(), None) }
    }

    /// The same topology for `steps` steps, if it is one of one step.
    pub(crate) fn repeated(self, steps: usize) -> Self {
        debug_assert_eq!(self.ranges.len(), 1, "one topology");
        Self { steps, ..self }
    }

    /// The sizes of the snapshots, if nothing else is known of them.
    pub fn counts(&self) -> Option<&SnapshotCounts> {
        self.made.as_ref().and_then(|made| made.counts())
    }

    /// Whether snapshots are made when they are asked for.
    pub fn is_made(&self) -> bool {
        self.made.is_some()
    }

    /// As [`new`](Self::new), for columns that are known to be ordered and in range.
    pub(crate) fn from_sorted(
        vertices: u32,
        ranges: Ranges,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> Self {
        let sequence = Self::of_columns(vertices, ranges, src, dst, weight);
        debug_assert!(sequence.ranges.filled().all(|(step, _)| {
            let view = sequence.at(step);
            (1..view.len()).all(|edge| view.key(edge - 1) <= view.key(edge))
        }));
        sequence
    }

    /// One topology that holds for `steps` steps; stored once.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn constant(
        vertices: u32,
        steps: usize,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> Result<Self, GraphError> {
        let offsets = vec![0, src.len() as u64];
        Ok(Self { steps, ..Self::new(vertices, offsets, src, dst, weight)? })
    }

    /// Attaches the window boundaries: snapshot `t` covers `boundaries[t]..boundaries[t + 1]`.
    ///
    /// # Errors
    /// [`GraphError::LengthMismatch`] if there are not `steps + 1` of them.
    pub fn with_boundaries(
        mut self,
        boundaries: impl Into<Boundaries>,
    ) -> Result<Self, GraphError> {
        let boundaries = boundaries.into();
        check_length("boundaries", self.steps + 1, boundaries.len())?;
        self.boundaries = Some(boundaries);
        Ok(self)
    }

    /// The number of vertices; every snapshot has all of them, isolated if it has no edge.
    pub fn vertices(&self) -> u32 {
        self.vertices
    }

    /// The number of snapshots.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether one topology holds for all steps.
    pub fn is_constant(&self) -> bool {
        self.ranges.len() == 1 && self.steps != 1
    }

    /// The number of stored edges: those of all snapshots, or of the one constant topology.
    pub fn stored_edges(&self) -> usize {
        match &self.made {
            Some(made) => made.edges().iter().sum::<u64>() as usize,
            None => self.src.len(),
        }
    }

    /// The number of edges that are in memory: all, or those of snapshots that were made and kept.
    pub fn held_edges(&self) -> usize {
        self.made.as_ref().map_or(self.src.len(), |made| made.held_edges())
    }

    /// The number of edges of a snapshot, which is not made for this.
    ///
    /// # Panics
    /// If `step` is not below [`steps`](Self::steps).
    pub fn edges_at(&self, step: usize) -> usize {
        match &self.made {
            Some(made) => made.edges()[self.stored(step)] as usize,
            None => self.at(step).len(),
        }
    }

    /// Which of the stored snapshots one is.
    fn stored(&self, step: usize) -> usize {
        if self.is_constant() { 0 } else { step }
    }

    /// The window boundaries, if the snapshots were cut from events.
    pub fn boundaries(&self) -> Option<&Boundaries> {
        self.boundaries.as_ref()
    }

    /// The range of each stored snapshot in the edge columns: of all snapshots, or of the one constant
    /// topology.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// The source column of all stored snapshots.
    pub fn src(&self) -> &[VertexId] {
        &self.src
    }

    /// The destination column of all stored snapshots.
    pub fn dst(&self) -> &[VertexId] {
        &self.dst
    }

    /// The weight column of all stored snapshots.
    pub fn weight(&self) -> Option<&[f32]> {
        self.weight.as_deref()
    }

    /// The edges of a snapshot.
    ///
    /// A snapshot that has to be made for this is kept: [`visit`](Self::visit) does not keep it.
    ///
    /// # Panics
    /// If `step` is not below [`steps`](Self::steps), or its snapshot cannot be made: whoever wants the reason as an
    /// error calls [`keep`](Self::keep) first.
    pub fn at(&self, step: usize) -> SnapshotView<'_> {
        assert!(step < self.steps, "snapshot {step} of {}", self.steps);
        if let Some(made) = &self.made {
            let kept = made.kept(self.stored(step));
            return kept.unwrap_or_else(|error| panic!("snapshot {step}: {error}")).at(0);
        }
        let range = self.ranges.get(self.stored(step));
        SnapshotView {
            vertices: self.vertices,
            src: &self.src[range.clone()],
            dst: &self.dst[range.clone()],
            weight: self.weight.as_ref().map(|weight| &weight[range]),
        }
    }

    /// Makes a snapshot and keeps it, if it is not here.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn keep(&self, step: usize) -> Result<(), GraphError> {
        self.made.as_ref().map_or(Ok(()), |made| made.kept(self.stored(step)).map(drop))
    }

    /// Shows some snapshots in time order. Those that are made for this are let go afterwards, so that few of them
    /// are in memory at once.
    ///
    /// # Errors
    /// What `see` returns, and if a snapshot cannot be made.
    pub fn visit<E: From<GraphError>>(
        &self,
        steps: Range<usize>,
        mut see: impl FnMut(usize, SnapshotView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.made {
            Some(made) => made.visit(steps, see),
            None => steps.into_iter().try_for_each(|step| see(step, self.at(step))),
        }
    }

    /// All snapshots in time order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SnapshotView<'_>> {
        (0..self.steps).map(|step| self.at(step))
    }
}

/// Orders the edges of each snapshot, in parallel over snapshots; stable, so equal edges keep
/// their input order.
fn sort_snapshots(
    ranges: &Ranges,
    src: &mut [VertexId],
    dst: &mut [VertexId],
    weight: Option<&mut Vec<f32>>,
) {
    let ordered = |range: std::ops::Range<usize>| {
        (range.start + 1..range.end)
            .all(|edge| edge_key(src[edge - 1], dst[edge - 1]) <= edge_key(src[edge], dst[edge]))
    };
    let filled = 0..ranges.filled().len();
    let sorted = filled.into_par_iter().all(|place| ordered(ranges.nth_filled(place).1));
    if sorted {
        return;
    }
    let mut order: Vec<u64> = (0..src.len() as u64).collect();
    let mut rest = &mut order[..];
    let mut parts = Vec::with_capacity(ranges.filled().len());
    for (_, range) in ranges.filled() {
        let (part, tail) = rest.split_at_mut(range.len());
        parts.push(part);
        rest = tail;
    }
    parts.into_par_iter().for_each(|part| {
        part.sort_by_key(|&edge| edge_key(src[edge as usize], dst[edge as usize]));
    });
    permute(&order, src);
    permute(&order, dst);
    if let Some(weight) = weight {
        permute(&order, weight);
    }
}

fn permute<T: Copy + Send + Sync>(order: &[u64], values: &mut [T]) {
    let moved: Vec<T> = order.par_iter().map(|&from| values[from as usize]).collect();
    values.copy_from_slice(&moved);
}

fn check_length(column: &'static str, expected: usize, got: usize) -> Result<(), GraphError> {
    if expected == got { Ok(()) } else { Err(GraphError::LengthMismatch { column, expected, got }) }
}

fn check_range(column: &'static str, values: &[VertexId], vertices: u32) -> Result<(), GraphError> {
    match values.par_iter().position_first(|&vertex| vertex >= vertices) {
        None => Ok(()),
        Some(position) => Err(GraphError::VertexOutOfRange {
            column,
            position,
            vertex: values[position],
            vertices,
        }),
    }
}

fn check_offsets(offsets: &[u64], edges: usize) -> Result<(), GraphError> {
    let bad = |position: usize| {
        let value = offsets.get(position).copied().unwrap_or(0);
        Err(GraphError::BadOffsets { position, value, edges })
    };
    if offsets.first() != Some(&0) {
        return bad(0);
    }
    if let Some(position) = (1..offsets.len()).find(|&at| offsets[at] < offsets[at - 1]) {
        return bad(position);
    }
    if offsets.last() != Some(&(edges as u64)) {
        return bad(offsets.len() - 1);
    }
    Ok(())
}
