//! What an edge costs when it is sent: the bytes by which differences and overlaps are judged.
//!
//! The plain form of a sparse matrix is one (index, value) pair per edge, an index being a pair
//! of vertices (ESDG §3.2). Counting is all this does: nothing is encoded here.

use crate::snapshot::SnapshotView;

/// Bytes of the numbers that stand for an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// Bytes of one vertex number; an index has two.
    pub vertex_bytes: u64,
    /// Bytes of one value.
    pub value_bytes: u64,
}

impl Encoding {
    /// Ours: 32-bit vertices and 32-bit floats.
    pub const COMPACT: Self = Self { vertex_bytes: 4, value_bytes: 4 };
    /// Coordinate tensors of PyTorch, in which ESDG sent its graphs: 64-bit indices and 32-bit
    /// floats.
    pub const TORCH: Self = Self { vertex_bytes: 8, value_bytes: 4 };

    /// Bytes of the indices of `edges` edges.
    pub fn indices(&self, edges: usize) -> u64 {
        2 * self.vertex_bytes * edges as u64
    }

    /// Bytes of the values of `edges` edges.
    pub fn values(&self, edges: usize) -> u64 {
        self.value_bytes * edges as u64
    }

    /// Bytes of `edges` edges in plain (index, value) form.
    pub fn plain(&self, edges: usize) -> u64 {
        self.indices(edges) + self.values(edges)
    }

    /// Bytes of a snapshot in plain form; values are counted where it has weights.
    pub fn snapshot(&self, view: SnapshotView<'_>) -> u64 {
        let values = if view.weight.is_some() { self.values(view.len()) } else { 0 };
        self.indices(view.len()) + values
    }
}

impl Default for Encoding {
    fn default() -> Self {
        Self::COMPACT
    }
}
