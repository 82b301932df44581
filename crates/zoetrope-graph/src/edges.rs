//! The edges of one snapshot, owned: what reconstructions return.
//!
//! Same order as everywhere: ascending (destination, source), equal edges in the order of the
//! snapshot they stand for. It does not know where it came from or when.

use crate::ids::VertexId;
use crate::snapshot::{SnapshotView, edge_key};

/// Owned edges of one snapshot, ordered by (destination, source).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edges {
    vertices: u32,
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    weight: Option<Vec<f32>>,
}

impl Edges {
    /// Takes columns that are known to be ordered, in range and of one length.
    pub(crate) fn from_sorted(
        vertices: u32,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> Self {
        let edges = Self { vertices, src, dst, weight };
        debug_assert!(edges.weight.as_ref().is_none_or(|weight| weight.len() == edges.src.len()));
        debug_assert!((1..edges.src.len()).all(|at| {
            edge_key(edges.src[at - 1], edges.dst[at - 1]) <= edge_key(edges.src[at], edges.dst[at])
        }));
        edges
    }

    /// The edges as a view, as [`SnapshotSequence::at`](crate::SnapshotSequence::at) gives them.
    pub fn view(&self) -> SnapshotView<'_> {
        SnapshotView {
            vertices: self.vertices,
            src: &self.src,
            dst: &self.dst,
            weight: self.weight.as_deref(),
        }
    }

    /// The number of edges.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }
}

impl From<SnapshotView<'_>> for Edges {
    fn from(view: SnapshotView<'_>) -> Self {
        Self {
            vertices: view.vertices,
            src: view.src.to_vec(),
            dst: view.dst.to_vec(),
            weight: view.weight.map(<[f32]>::to_vec),
        }
    }
}
