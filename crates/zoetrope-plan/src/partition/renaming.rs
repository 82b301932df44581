//! New numbers for vertices, so that each rank owns consecutive ones (ESDG §6.4).

use zoetrope_graph::{GraphError, SnapshotSequence, VertexId};

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

    /// The same snapshots between renamed vertices.
    ///
    /// # Errors
    /// [`GraphError::ShapeMismatch`] if the sequence has not as many vertices.
    pub fn snapshots(&self, sequence: &SnapshotSequence) -> Result<SnapshotSequence, GraphError> {
        let vertices = self.new_of_old.len() as u32;
        if sequence.vertices() != vertices {
            let (left, right) = (sequence.vertices() as usize, self.new_of_old.len());
            let what = "vertices of the graph against renamed ones";
            return Err(GraphError::ShapeMismatch { what, left, right });
        }
        let renamed = |old: &[VertexId]| -> Vec<VertexId> {
            old.iter().map(|&vertex| self.new_of_old[vertex as usize]).collect()
        };
        let (src, dst) = (renamed(sequence.src()), renamed(sequence.dst()));
        let weight = sequence.weight().map(<[f32]>::to_vec);
        sequence.with_edges(vertices, src, dst, weight)
    }
}
