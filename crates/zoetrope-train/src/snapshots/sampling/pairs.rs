//! Flat columns of labelled pairs.

use zoetrope_graph::VertexId;

/// Pairs of vertices with a label each; the columns are equally long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    /// Where each pair starts.
    pub src: Vec<VertexId>,
    /// Where each pair ends.
    pub dst: Vec<VertexId>,
    /// 1 for a positive and 0 for a negative, or the number of a class.
    pub label: Vec<f32>,
}

impl Pairs {
    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// Forgets all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.src.clear();
        self.dst.clear();
        self.label.clear();
    }

    /// Appends a pair.
    pub fn push(&mut self, src: VertexId, dst: VertexId, label: f32) {
        self.src.push(src);
        self.dst.push(dst);
        self.label.push(label);
    }

    /// Room for pairs without allocating.
    pub fn capacity(&self) -> usize {
        self.src.capacity().min(self.dst.capacity()).min(self.label.capacity())
    }
}
