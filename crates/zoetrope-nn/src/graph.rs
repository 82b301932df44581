//! Snapshots in the forms that layers multiply with, made once for a whole sequence.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use zoetrope_graph::laplacian::{self, Laplacian};
use zoetrope_graph::normalise::{self, GcnOptions};
use zoetrope_graph::{Csr, SnapshotSequence, SnapshotView};
use zoetrope_tensor::{Device, SparseGroup, SparseMatrix};

use crate::error::NnError;

/// A form of a snapshot's matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adjacency {
    /// `D^-1/2 (A + I) D^-1/2` as PyG's `gcn_norm` makes it.
    Gcn,
    /// The same entries for layers that weigh them one by one, as DySAT's attention does.
    GcnEntries,
    /// The scaled Laplacian `2L/λ - I` as PyG's `ChebConv` makes it.
    Chebyshev(Laplacian),
    /// Rows that average over in-edges, without weights: GraphSAGE-mean.
    Mean,
    /// `A` with one self-loop a vertex: attention with PyG's convention.
    SelfLoops,
    /// `A` as given.
    Plain,
}

impl Adjacency {
    /// The name in plans and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcn => "gcn",
            Self::GcnEntries => "gcn-entries",
            Self::Chebyshev(_) => "chebyshev",
            Self::Mean => "mean",
            Self::SelfLoops => "self-loops",
            Self::Plain => "plain",
        }
    }

    /// Whether layers look at the entries one by one instead of multiplying.
    pub fn is_for_attention(self) -> bool {
        matches!(self, Self::GcnEntries | Self::SelfLoops)
    }

    /// The matrix of a snapshot, the `step`-th of its sequence.
    ///
    /// # Errors
    /// If it has more entries than 32-bit offsets can name, or one that is not finite.
    pub fn matrix(self, view: SnapshotView<'_>, step: usize) -> Result<Csr, NnError> {
        self.finite(self.of(view)?, step)
    }

    fn finite(self, matrix: Csr, step: usize) -> Result<Csr, NnError> {
        if matrix.values().iter().all(|value| value.is_finite()) {
            Ok(matrix)
        } else {
            Err(NnError::GraphNotFinite { step, form: self.name() })
        }
    }

    /// The same as a device takes it.
    ///
    /// # Errors
    /// As [`Adjacency::matrix`].
    pub fn prepare(
        self,
        device: &Device,
        view: SnapshotView<'_>,
        step: usize,
    ) -> Result<SparseMatrix, NnError> {
        let on_gpu = device.gpu().is_some();
        if self == Self::Gcn && on_gpu {
            let (weights, factors) = normalise::gcn_parts(view, GcnOptions::default())?;
            let own = weights.values().to_vec();
            let matrix = self.finite(normalise::scale(weights, &factors), step)?;
            return Ok(SparseMatrix::for_gpu(matrix).made_from(own, factors));
        }
        Ok(self.arranged(device, self.matrix(view, step)?))
    }

    /// A matrix of this form as a device takes it.
    pub fn arranged(self, device: &Device, matrix: Csr) -> SparseMatrix {
        match (self.is_for_attention(), device.gpu()) {
            (true, _) => SparseMatrix::for_attention(matrix),
            (_, Some(_)) => SparseMatrix::for_gpu(matrix),
            (_, None) => SparseMatrix::new(matrix),
        }
    }

    fn of(self, view: SnapshotView<'_>) -> Result<Csr, NnError> {
        Ok(match self {
            Self::Gcn | Self::GcnEntries => normalise::gcn(view, GcnOptions::default())?,
            Self::Chebyshev(kind) => laplacian::scaled(view, kind)?,
            Self::Mean => {
                let mut matrix = Csr::from_view(view)?;
                matrix.values_mut().fill(1.0);
                normalise::mean(matrix)
            }
            Self::SelfLoops => normalise::with_self_loops(&Csr::from_view(view)?, 1.0)?,
            Self::Plain => Csr::from_view(view)?,
        })
    }
}

/// A sequence of snapshots in every form that a model needs.
#[derive(Debug, Clone)]
pub struct PreparedGraph {
    forms: Vec<(Adjacency, SparseGroup)>,
    vertices: usize,
    steps: usize,
}

impl PreparedGraph {
    /// Prepares all snapshots; a topology that does not change is prepared once and shared.
    ///
    /// # Errors
    /// If a snapshot has more entries than 32-bit offsets can name, or there is no snapshot.
    pub fn new(sequence: &SnapshotSequence, forms: &[Adjacency]) -> Result<Self, NnError> {
        Self::on(&Device::Cpu, sequence, forms)
    }

    /// The same, arranged as a device takes it.
    ///
    /// # Errors
    /// As [`PreparedGraph::new`].
    pub fn on(
        device: &Device,
        sequence: &SnapshotSequence,
        forms: &[Adjacency],
    ) -> Result<Self, NnError> {
        let steps = sequence.steps();
        if steps == 0 {
            return Err(NnError::NoSnapshots);
        }
        let prepare = |&form: &Adjacency| -> Result<(Adjacency, SparseGroup), NnError> {
            let one = |step| form.prepare(device, sequence.at(step), step).map(Arc::new);
            let matrices: Vec<Arc<SparseMatrix>> = if sequence.is_constant() {
                vec![one(0)?; steps]
            } else {
                (0..steps).into_par_iter().map(one).collect::<Result<_, NnError>>()?
            };
            Ok((form, SparseGroup::new(matrices.into())))
        };
        let forms = forms.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { forms, vertices: sequence.vertices() as usize, steps })
    }

    /// Some snapshots of which a rank has some vertices: for each form the matrices with the rows of
    /// these. There may be none at all.
    ///
    /// # Panics
    /// If forms have different numbers of matrices.
    pub fn of_share(
        vertices: usize,
        steps: usize,
        forms: impl IntoIterator<Item = (Adjacency, Arc<[Arc<SparseMatrix>]>)>,
    ) -> Self {
        let group = |(form, matrices): (Adjacency, Arc<[Arc<SparseMatrix>]>)| {
            assert_eq!(matrices.len(), steps, "a matrix for each snapshot");
            (steps > 0).then(|| (form, SparseGroup::new(matrices)))
        };
        Self { forms: forms.into_iter().filter_map(group).collect(), vertices, steps }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// The number of snapshots.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Some consecutive snapshots, without copying.
    ///
    /// # Panics
    /// If there are no such snapshots.
    pub fn cut(&self, steps: Range<usize>) -> Self {
        let forms = self.forms.iter().map(|(form, group)| (*form, group.cut(steps.clone())));
        Self { forms: forms.collect(), vertices: self.vertices, steps: steps.len() }
    }

    /// The matrices that products multiply with, in every form.
    pub fn products(&self) -> impl Iterator<Item = &SparseGroup> {
        let forms = self.forms.iter().filter(|(form, _)| !form.is_for_attention());
        forms.map(|(_, group)| group)
    }

    /// The snapshots in one form.
    ///
    /// # Panics
    /// If the graph was not prepared in that form: a model names what it needs.
    pub fn form(&self, form: Adjacency) -> &SparseGroup {
        let found = self.forms.iter().find(|(have, _)| *have == form);
        &found.unwrap_or_else(|| panic!("the model did not ask for `{}`", form.name())).1
    }
}
