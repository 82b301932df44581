//! Walks ascending keys of edges side by side and tells shared edges from others.
//!
//! The walks decide by arithmetic instead of branches: which side an edge is on is a coin toss to
//! the processor's predictor, and a wrong guess costs more than the whole step. That is why
//! every step writes its output and advances a cursor by 0 or 1.

use std::ops::Range;

use crate::snapshot::SnapshotView;

/// How many edges two snapshots share within a range of each.
pub(crate) fn count_common(
    (left, left_range): (SnapshotView<'_>, &Range<usize>),
    (right, right_range): (SnapshotView<'_>, &Range<usize>),
) -> u64 {
    let mut common = 0;
    let (mut at_left, mut at_right) = (left_range.start, right_range.start);
    while at_left < left_range.end && at_right < right_range.end {
        let (one, other) = (left.key(at_left), right.key(at_right));
        common += u64::from(one == other);
        at_left += usize::from(one <= other);
        at_right += usize::from(other <= one);
    }
    common
}

/// Keeps those of `common` (ascending) that are also among the keys at some positions (ascending),
/// each as often as both have it.
pub(crate) fn keep_common(
    common: &mut Vec<u64>,
    positions: Range<usize>,
    key: impl Fn(usize) -> u64,
) {
    let (mut kept, mut next, mut at) = (0, 0, positions.start);
    while next < common.len() && at < positions.end {
        let (own, other) = (common[next], key(at));
        common[kept] = own;
        kept += usize::from(own == other);
        next += usize::from(own <= other);
        at += usize::from(other <= own);
    }
    common.truncate(kept);
}
