//! Which vertices were ever written: what a reset has to clear and a checkpoint has to hold.

use zoetrope_graph::VertexId;

/// A set of vertices in the order in which they came.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    bits: Vec<u64>,
    list: Vec<VertexId>,
}

impl Touched {
    pub(super) fn new(vertices: usize) -> Self {
        Self { bits: vec![0; vertices.div_ceil(64)], list: Vec::new() }
    }

    /// Adds a vertex; whether it is new.
    pub(super) fn mark(&mut self, vertex: VertexId) -> bool {
        let (word, bit) = (&mut self.bits[vertex as usize / 64], 1 << (vertex % 64));
        let new = *word & bit == 0;
        if new {
            *word |= bit;
            self.list.push(vertex);
        }
        new
    }

    pub(super) fn list(&self) -> &[VertexId] {
        &self.list
    }

    pub(super) fn clear(&mut self) {
        for vertex in self.list.drain(..) {
            self.bits[vertex as usize / 64] = 0;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bits.capacity() * 8 + self.list.capacity() * size_of::<VertexId>()
    }
}
