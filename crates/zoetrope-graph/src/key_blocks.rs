//! Cuts several sorted snapshots at the same edges, so that each block can be merged on its own.
//!
//! All copies of an edge fall into one block. Where the cuts fall depends on the snapshots alone,
//! never on the number of threads, so results put together in block order are reproducible.

use std::ops::Range;

use crate::snapshot::SnapshotView;

/// Edges of all snapshots together in one block: some hundred microseconds of merging.
pub(crate) const BLOCK_EDGES: usize = 1 << 16;

/// For each block, the range of edges of each snapshot; ranges of a snapshot follow each other.
pub(crate) fn key_blocks(views: &[SnapshotView<'_>], block_edges: usize) -> Vec<Vec<Range<usize>>> {
    let total: usize = views.iter().map(SnapshotView::len).sum();
    let Some(largest) = views.iter().max_by_key(|view| view.len()) else {
        return Vec::new();
    };
    let count = total.div_ceil(block_edges.max(1)).clamp(1, largest.len().max(1));
    let mut starts = vec![0; views.len()];
    let mut blocks = Vec::with_capacity(count);
    for block in 1..=count {
        let ends: Vec<usize> = if block == count {
            views.iter().map(SnapshotView::len).collect()
        } else {
            let key = largest.key(largest.len() / count * block);
            views.iter().map(|view| first_from(view, key)).collect()
        };
        blocks.push(starts.iter().zip(&ends).map(|(&start, &end)| start..end).collect());
        starts = ends;
    }
    blocks
}

/// The first edge that is not before `key` in the order of (destination, source).
pub(crate) fn first_from(view: &SnapshotView<'_>, key: u64) -> usize {
    let (dst, src) = ((key >> 32) as u32, key as u32);
    let start = view.dst.partition_point(|&other| other < dst);
    let same = view.dst[start..].partition_point(|&other| other == dst);
    start + view.src[start..start + same].partition_point(|&other| other < src)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::SnapshotSequence;

    #[test]
    fn blocks_cover_every_snapshot_and_never_split_the_copies_of_an_edge() {
        let src = vec![0, 1, 1, 1, 2, 0, 1, 1, 3, 3];
        let dst = vec![0, 0, 0, 0, 1, 0, 0, 0, 2, 2];
        let sequence = SnapshotSequence::new(4, vec![0, 5, 10], src, dst, None).unwrap();
        let views: Vec<_> = sequence.iter().collect();
        for block_edges in 1..12 {
            let blocks = key_blocks(&views, block_edges);
            for (index, view) in views.iter().enumerate() {
                let covered: Vec<usize> =
                    blocks.iter().flat_map(|block| block[index].clone()).collect();
                assert_eq!(covered, (0..view.len()).collect::<Vec<_>>());
            }
            for pair in blocks.windows(2) {
                let last = pair[0].iter().zip(&views).filter_map(|(range, view)| {
                    range.clone().next_back().map(|edge| view.key(edge))
                });
                let first = pair[1]
                    .iter()
                    .zip(&views)
                    .filter_map(|(range, view)| range.clone().next().map(|edge| view.key(edge)));
                if let (Some(last), Some(first)) = (last.max(), first.min()) {
                    assert!(last < first);
                }
            }
        }
    }
}
