//! Links of every kind that ranking treats in a way of its own; for tests here and beside the kernel.

use zoetrope_graph::{LinkSet, SnapshotSequence};

/// A hub, sources with a few links, one that is linked with all, and two vertices without a link.
pub(crate) fn links(vertices: u32) -> LinkSet {
    let mut edges: Vec<(u32, u32)> = (1..vertices - 3).map(|to| (0, to)).collect();
    edges.extend((0..vertices).filter(|&to| to != 5).map(|to| (5, to)));
    edges.extend((6..vertices - 2).flat_map(|from| [(from, 0), (from, from + 1), (from, 3)]));
    edges.sort_by_key(|&(src, dst)| (dst, src));
    let (src, dst): (Vec<u32>, Vec<u32>) = edges.into_iter().unzip();
    let offsets = vec![0, src.len() as u64];
    let graph = SnapshotSequence::new(vertices, offsets, src, dst, None).unwrap();
    let mut links = LinkSet::default();
    links.load_by_source(graph.at(0));
    links
}
