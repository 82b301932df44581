//! What a rank has of snapshots: its rows of their matrices, and what is gathered beside them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zoetrope_graph::{SnapshotSequence, SnapshotView};
use zoetrope_nn::{Adjacency, NnError, PreparedGraph};
use zoetrope_plan::partition::visit_renamed;
use zoetrope_plan::{Placement, SnapshotHalo};
use zoetrope_tensor::{Device, SparseMatrix};

use super::sharing::FrameSharing;

/// A snapshot of a rank: its rows, and nothing of the others.
#[derive(Debug)]
struct OwnSnapshot {
    /// In the order of the forms.
    matrices: Vec<Arc<SparseMatrix>>,
    /// What is gathered from others, if the vertices are shared.
    halo: Option<SnapshotHalo>,
}

/// The snapshots of a rank that somebody asked for, in some forms.
#[derive(Debug)]
pub(super) struct OwnSnapshots {
    forms: Vec<Adjacency>,
    of_step: HashMap<usize, OwnSnapshot>,
}

impl OwnSnapshots {
    pub(super) fn new(forms: Vec<Adjacency>) -> Self {
        Self { forms, of_step: HashMap::new() }
    }

    pub(super) fn forms(&self) -> &[Adjacency] {
        &self.forms
    }

    /// A matrix of a snapshot that is there.
    pub(super) fn matrix(&self, step: usize, form: usize) -> &Arc<SparseMatrix> {
        &self.of_step[&step].matrices[form]
    }

    /// What is gathered at a snapshot that is there, if the vertices are shared.
    pub(super) fn halo(&self, step: usize) -> Option<&SnapshotHalo> {
        self.of_step[&step].halo.as_ref()
    }

    /// The matrices of some snapshots that are there.
    pub(super) fn graph(&self, vertices: usize, steps: &Range<usize>) -> PreparedGraph {
        let forms = self.forms.iter().enumerate().map(|(form, &name)| {
            let matrices = steps.clone().map(|step| Arc::clone(self.matrix(step, form)));
            (name, matrices.collect())
        });
        PreparedGraph::of_share(vertices, steps.len(), forms)
    }

    /// Takes the rows of structure encoders out of snapshots that nobody asked for before, one after the other.
    pub(super) fn prepare(
        &mut self,
        sharing: &FrameSharing,
        device: &Device,
        sequence: &SnapshotSequence,
        steps: Range<usize>,
    ) -> Result<(), NnError> {
        let Self { forms, of_step } = self;
        let mut from = steps.start;
        while let Some(first) = (from..steps.end).find(|step| !of_step.contains_key(step)) {
            let until = (first..steps.end).find(|step| of_step.contains_key(step));
            let until = until.unwrap_or(steps.end);
            let (renaming, split) = (sharing.renaming.as_deref(), sharing.grid.members > 1);
            visit_renamed(sequence, renaming, first..until, |step, view| -> Result<(), NnError> {
                let halo =
                    split.then(|| SnapshotHalo::of(view, sharing.own_vertices(), &sharing.starts));
                let one = |form: &Adjacency| {
                    Ok(Arc::new(match &halo {
                        None => form.prepare(device, view, step)?,
                        Some(halo) => {
                            form.arranged(device, halo.matrix(&form.matrix(view, step)?)?)
                        }
                    }))
                };
                let matrices = forms.iter().map(one).collect::<Result<_, NnError>>()?;
                of_step.insert(step, OwnSnapshot { matrices, halo });
                Ok(())
            })?;
            from = until;
        }
        Ok(())
    }

    /// Takes the rows of time encoders out of a snapshot that nobody asked for before.
    pub(super) fn prepare_in_time(
        &mut self,
        sharing: &FrameSharing,
        device: &Device,
        sequence: &SnapshotSequence,
        time: &Placement,
        step: usize,
    ) -> Result<(), NnError> {
        let Self { forms, of_step } = self;
        if of_step.contains_key(&step) {
            return Ok(());
        }
        let (vertices, rank) = (sharing.vertices(), sharing.rank());
        let look = |step, view: SnapshotView<'_>| -> Result<(), NnError> {
            let halo = SnapshotHalo::of_vertices(view, time, vertices, rank);
            let one = |form: &Adjacency| {
                let rows = halo.matrix(&form.matrix(view, step)?)?;
                Ok(Arc::new(form.arranged(device, rows)))
            };
            let matrices = forms.iter().map(one).collect::<Result<_, NnError>>()?;
            of_step.insert(step, OwnSnapshot { matrices, halo: Some(halo) });
            Ok(())
        };
        visit_renamed(sequence, sharing.renaming.as_deref(), step..step + 1, look)
    }
}
