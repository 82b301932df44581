//! The features of a rank's rows, and what is kept of them, collected for stretches of consecutive snapshots.

use std::ops::Range;
use std::sync::Arc;

use zoetrope_nn::{Adjacency, NnError};
use zoetrope_tensor::{Device, Matrix, SparseGroup, Tape};

use super::features::Features;
use super::own_snapshots::OwnSnapshots;
use super::sent_graph::SentGraph;
use super::sharing::FrameSharing;

/// Rows of a matrix.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub(super) matrix: Arc<Matrix>,
    pub(super) range: Range<usize>,
}

impl Rows {
    /// Their width and their values.
    pub(super) fn values(&self) -> (usize, &[f32]) {
        let (width, Range { start, end }) = (self.matrix.shape().cols, self.range.clone());
        (width, &self.matrix.as_slice()[start * width..end * width])
    }
}

/// The rows of a rank of consecutive snapshots.
#[derive(Debug)]
struct Stretch {
    steps: Range<usize>,
    /// None if those of all ranks lie in one matrix that they share.
    features: Option<Arc<Matrix>>,
    aggregated: Option<Arc<Matrix>>,
}

/// What rows are collected from.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSources<'a> {
    pub(super) sharing: &'a FrameSharing,
    pub(super) device: &'a Device,
    pub(super) snapshots: &'a OwnSnapshots,
    pub(super) sent: &'a [SentGraph],
}

/// The rows of a rank.
#[derive(Debug)]
pub(super) struct OwnRows {
    /// The features of all vertices as the data has them.
    data: Features,
    /// Whether `Â·X` is kept.
    reuse: bool,
    /// Those of the rank's rows. Stretches overlap only if nobody said that their pieces would come.
    stretches: Vec<Stretch>,
    /// Consecutive snapshots of the rank in pieces that will come.
    expected: Vec<Range<usize>>,
}

impl OwnRows {
    pub(super) fn new(data: Features, reuse: bool) -> Self {
        Self { data, reuse, stretches: Vec::new(), expected: Vec::new() }
    }

    /// Whether `Â·X` is kept.
    pub(super) fn keeps_aggregations(&self) -> bool {
        self.reuse
    }

    /// Features of a vertex.
    pub(super) fn width(&self) -> usize {
        self.data.width()
    }

    /// Says which snapshots of the rank will be asked for together: rows that several of them have are kept once.
    pub(super) fn expect(&mut self, mut ranges: Vec<Range<usize>>) {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        for range in ranges {
            match self.expected.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => self.expected.push(range),
            }
        }
    }

    /// The snapshots that have to be collected before some can be given; None if those are there.
    pub(super) fn missing(&self, steps: &Range<usize>) -> Option<Range<usize>> {
        if self.stretches.iter().any(|stretch| holds(&stretch.steps, steps)) {
            return None;
        }
        let expected = self.expected.iter().find(|range| holds(range, steps));
        Some(expected.unwrap_or(steps).clone())
    }

    /// The features of the rank's rows of some snapshots that are there, and what is kept of them.
    pub(super) fn of(&self, steps: &Range<usize>, vertices: usize) -> (Rows, Option<Rows>) {
        let stretch = self.stretches.iter().find(|stretch| holds(&stretch.steps, steps));
        let stretch = stretch.expect("rows were collected");
        let of = |matrix: &Arc<Matrix>, first: usize| Rows {
            matrix: Arc::clone(matrix),
            range: (steps.start - first) * vertices..(steps.end - first) * vertices,
        };
        let features = match (&stretch.features, &self.data) {
            (Some(own), _) => of(own, stretch.steps.start),
            (None, Features::Stacked(all)) => of(all, 0),
            (None, Features::ByStep(_)) => unreachable!("features that are made are a rank's own"),
        };
        (features, stretch.aggregated.as_ref().map(|kept| of(kept, stretch.steps.start)))
    }

    /// Collects the rows of consecutive snapshots, whose matrices are there.
    pub(super) fn collect(
        &mut self,
        sources: RowSources<'_>,
        steps: Range<usize>,
    ) -> Result<(), NnError> {
        let RowSources { sharing, device, snapshots, sent } = sources;
        let Self { data, reuse, .. } = self;
        let (cols, vertices) = (data.width(), sharing.own_vertices());
        let size = vertices.len() * cols;
        let is_shared = matches!(data, Features::Stacked(_)) && sharing.renaming.is_none();
        let rows = steps.len() * vertices.len();
        let mut features = (!is_shared).then(|| Matrix::zeros(rows, cols));
        let mut aggregated = reuse.then(|| Matrix::zeros(rows, cols));
        let form = snapshots.forms().iter().position(|&form| form == Adjacency::Gcn);
        let mut tape = Tape::on(device.clone());
        let all_vertices = sharing.vertices() as usize;
        data.visit(all_vertices, steps.clone(), |step, all| -> Result<(), NnError> {
            let place = (step - steps.start) * size..(step - steps.start + 1) * size;
            let row = |new: u32| {
                let vertex = sharing.old(new) as usize;
                &all[vertex * cols..(vertex + 1) * cols]
            };
            if let Some(features) = &mut features {
                let to = &mut features.as_mut_slice()[place.clone()];
                for (to, vertex) in to.chunks_exact_mut(cols.max(1)).zip(vertices.clone()) {
                    to.copy_from_slice(row(vertex));
                }
            }
            let Some(kept) = &mut aggregated else { return Ok(()) };
            let form = form.expect("what can be kept is of a convolution");
            let cut = |one: &SentGraph| one.cut(step..step + 1);
            let group = match sent.iter().find_map(cut) {
                Some(graph) => graph.form(Adjacency::Gcn).clone(),
                None => SparseGroup::new(Arc::new([Arc::clone(snapshots.matrix(step, form))])),
            };
            // Whoever can read the features of all vertices needs none sent for this.
            let x = match snapshots.halo(step) {
                Some(halo) => {
                    let mut values = Vec::with_capacity(halo.rows() * cols);
                    halo.vertices().for_each(|vertex| values.extend_from_slice(row(vertex)));
                    tape.copied(halo.rows(), cols, &values)?
                }
                None => tape.copied(all_vertices, cols, all)?,
            };
            let y = tape.spmm(&group, x)?;
            tape.read_into(y, &mut kept.as_mut_slice()[place]);
            tape.reset();
            Ok(())
        })?;
        let [features, aggregated] = [features, aggregated].map(|made| made.map(Arc::new));
        self.stretches.push(Stretch { steps, features, aggregated });
        Ok(())
    }
}

fn holds(range: &Range<usize>, steps: &Range<usize>) -> bool {
    range.start <= steps.start && steps.end <= range.end
}
