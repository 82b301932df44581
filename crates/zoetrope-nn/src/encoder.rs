//! The two kinds of building blocks: structure encoders and time encoders.

use zoetrope_tensor::Var;

use crate::error::NnError;
use crate::forward::Forward;
use crate::frame::Group;
use crate::graph::Adjacency;
use crate::state::State;

/// Works within snapshots: from features of vertices to features of vertices.
pub trait StructureEncoder: Send + Sync {
    /// The width of the result.
    fn width(&self) -> usize;

    /// The form of the snapshots that it multiplies with.
    fn form(&self) -> Adjacency;

    /// The widths `(in, out)` of a convolution that multiplies by `Â` of [`Adjacency::Gcn`] and a
    /// weight in either order, and takes a kept `Â·X`; None for other encoders.
    fn convolution_widths(&self) -> Option<(usize, usize)> {
        None
    }

    /// Whether it has weights, whose gradients are sums over rows. One that has none may run in parts of its
    /// snapshots: results have the same bits.
    fn has_weights(&self) -> bool {
        true
    }

    /// From `T·N × in` to `T·N × width`, stacked by time.
    ///
    /// # Errors
    /// If shapes do not fit.
    fn encode(&self, forward: &mut Forward<'_>, group: &Group<'_>, x: Var) -> Result<Var, NnError>;
}

/// Stacked sequences: one for each vertex.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    /// `T·N × F`, stacked by time.
    pub rows: Var,
    /// The number of snapshots.
    pub steps: usize,
    /// The number of vertices.
    pub vertices: usize,
    /// `T·N × 1`, 0 if a vertex is not there; None if all are.
    pub mask: Option<Var>,
    /// `N × 1`: the bits of the numbers of the vertices, which dropout depends on; their places if None.
    pub numbers: Option<Var>,
}

/// Works along time: from sequences of vertices to sequences of vertices.
pub trait TimeEncoder: Send + Sync {
    /// The width of the result.
    fn width(&self) -> usize;

    /// How many places of a [`State`] it uses.
    fn carried(&self) -> usize;

    /// From `T·N × in` to `T·N × width`. Reads and writes its places of `state`, from `place` on.
    ///
    /// # Errors
    /// If shapes do not fit.
    fn encode(
        &self,
        forward: &mut Forward<'_>,
        sequence: Sequence,
        state: &mut State,
        place: usize,
    ) -> Result<Var, NnError>;
}
