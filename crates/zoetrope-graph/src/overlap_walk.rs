//! Walks several sorted snapshots at once and tells common edges from exclusive ones.

use std::ops::Range;

use crate::edges::Edges;
use crate::ids::VertexId;
use crate::snapshot::SnapshotView;

/// Reports each edge that all snapshots have (its position in each) and, per snapshot, ranges of
/// positions that some other snapshot lacks. Within a snapshot, reports come in order.
pub(crate) fn walk(
    snapshots: &[SnapshotView<'_>],
    ranges: &[Range<usize>],
    mut common: impl FnMut(&[usize]),
    mut exclusive: impl FnMut(usize, Range<usize>),
) {
    let mut heads: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    while heads.iter().zip(ranges).all(|(&head, range)| head < range.end) {
        let first = snapshots[0].key(heads[0]);
        let mut highest = first;
        let mut same = true;
        for (view, &head) in snapshots[1..].iter().zip(&heads[1..]) {
            let key = view.key(head);
            same &= key == first;
            highest = highest.max(key);
        }
        if same {
            common(&heads);
            heads.iter_mut().for_each(|head| *head += 1);
            continue;
        }
        for (snapshot, view) in snapshots.iter().enumerate() {
            let start = heads[snapshot];
            let mut end = start;
            while end < ranges[snapshot].end && view.key(end) < highest {
                end += 1;
            }
            if end > start {
                exclusive(snapshot, start..end);
                heads[snapshot] = end;
            }
        }
    }
    for (snapshot, (&head, range)) in heads.iter().zip(ranges).enumerate() {
        exclusive(snapshot, head..range.end);
    }
}

/// Edge columns that grow; weights stay empty where the snapshots have none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    src: Vec<VertexId>,
    dst: Vec<VertexId>,
    weight: Vec<f32>,
}

impl Part {
    pub(crate) fn with_capacity(edges: usize) -> Self {
        let (src, dst) = (Vec::with_capacity(edges), Vec::with_capacity(edges));
        Self { src, dst, weight: Vec::with_capacity(edges) }
    }

    pub(crate) fn push_topology(&mut self, view: SnapshotView<'_>, edge: usize) {
        self.src.push(view.src[edge]);
        self.dst.push(view.dst[edge]);
    }

    pub(crate) fn push(&mut self, view: SnapshotView<'_>, edge: usize) {
        self.push_topology(view, edge);
        self.weight.extend(view.weight.map(|weight| weight[edge]));
    }

    pub(crate) fn extend(&mut self, view: SnapshotView<'_>, edges: Range<usize>) {
        self.src.extend_from_slice(&view.src[edges.clone()]);
        self.dst.extend_from_slice(&view.dst[edges.clone()]);
        if let Some(weight) = view.weight {
            self.weight.extend_from_slice(&weight[edges]);
        }
    }

    pub(crate) fn join(parts: &[&Self]) -> Self {
        let mut joined = Self::with_capacity(parts.iter().map(|part| part.src.len()).sum());
        for part in parts {
            joined.src.extend_from_slice(&part.src);
            joined.dst.extend_from_slice(&part.dst);
            joined.weight.extend_from_slice(&part.weight);
        }
        joined
    }

    pub(crate) fn into_edges(self, vertices: u32, weighted: bool) -> Edges {
        Edges::from_sorted(vertices, self.src, self.dst, weighted.then_some(self.weight))
    }
}
