//! New numbers for vertices, so that each rank owns consecutive ones (ESDG §6.4).

use std::ops::Range;

use zoetrope_graph::{GraphError, SnapshotSequence, SnapshotView, VertexId};

use super::Partition;

/// A permutation of the vertices that puts parts one behind the other; inside a part the order
/// stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    new_of_old: Vec<VertexId>,
    old_of_new: Vec<VertexId>,
    starts: Vec<u32>,
}

impl Renaming {
    pub(super) fn new(partition: &Partition) -> Self {
        let mut starts = vec![0_u32; partition.parts as usize + 1];
        for &part in &partition.of {
            starts[part as usize + 1] += 1;
        }
        for part in 0..partition.parts as usize {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut old_of_new = vec![0; partition.of.len()];
        let new_of_old: Vec<VertexId> = partition
            .of
            .iter()
            .enumerate()
            .map(|(old, &part)| {
                let new = next[part as usize];
                next[part as usize] += 1;
                old_of_new[new as usize] = old as VertexId;
                new
            })
            .collect();
        Self { new_of_old, old_of_new, starts }
    }

    /// The new number of each vertex.
    pub fn new_of_old(&self) -> &[VertexId] {
        &self.new_of_old
    }

    /// The vertex that has each new number: the order in which rows of features are to be taken.
    pub fn old_of_new(&self) -> &[VertexId] {
        &self.old_of_new
    }

    /// Where the new numbers of each part start, and the end of the last.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// A snapshot between renamed vertices, as a sequence of one step.
    ///
    /// # Errors
    /// [`GraphError::ShapeMismatch`] if the snapshot has not as many vertices.
    pub fn snapshot(&self, view: SnapshotView<'_>) -> Result<SnapshotSequence, GraphError> {
        let vertices = self.new_of_old.len() as u32;
        if view.vertices != vertices {
            let (left, right) = (view.vertices as usize, self.new_of_old.len());
            let what = "vertices of the graph against renamed ones";
            return Err(GraphError::ShapeMismatch { what, left, right });
        }
        let renamed = |old: &[VertexId]| -> Vec<VertexId> {
            old.iter().map(|&vertex| self.new_of_old[vertex as usize]).collect()
        };
        let (src, dst) = (renamed(view.src), renamed(view.dst));
        let weight = view.weight.map(<[f32]>::to_vec);
        SnapshotSequence::new(vertices, vec![0, view.len() as u64], src, dst, weight)
    }
}

/// Shows some snapshots between renamed vertices, if they are renamed, one after the other: nothing of the whole is
/// copied.
///
/// # Errors
/// What `see` returns, and if a snapshot cannot be made or renamed.
pub fn visit_renamed<E: From<GraphError>>(
    graph: &SnapshotSequence,
    renaming: Option<&Renaming>,
    steps: Range<usize>,
    mut see: impl FnMut(usize, SnapshotView<'_>) -> Result<(), E>,
) -> Result<(), E> {
    graph.visit(steps, |step, view| match renaming {
        Some(renaming) => see(step, renaming.snapshot(view)?.at(0)),
        None => see(step, view),
    })
}
