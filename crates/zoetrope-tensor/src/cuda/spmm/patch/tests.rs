use super::super::trial::{Kind, SIDES, sequence};
use super::*;

#[test]
fn a_patch_turns_the_rows_of_a_snapshot_into_those_of_the_next() {
    for kind in Kind::ALL {
        for side in SIDES {
            let rows: Vec<Rows> =
                sequence(kind, 700, 4).iter().map(|matrix| Rows::of(matrix, side)).collect();
            for pair in rows.windows(2) {
                let patch = Patch::between(&pair[0], &pair[1]).unwrap();
                assert!(!patch.removed.is_empty() && !patch.added_rows.is_empty());
                assert_eq!(patch.apply(&pair[0]), pair[1], "{kind:?} {side:?}");
            }
        }
    }
}

#[test]
fn values_that_follow_from_weights_and_degrees_are_sent_where_these_change() {
    let [first, second] =
        [0, 1].map(|step| Rows::of(&sequence(Kind::Weighted, 700, 2)[step], SIDES[0]));
    let patch = Patch::between(&first, &second).unwrap();
    let changed = patch.weights.as_ref().unwrap().places().unwrap().len();
    assert!(changed < second.entries() / 10, "{changed} of {}", second.entries());
    assert!(patch.words() < second.words() / 2, "{} of {}", patch.words(), second.words());
}

#[test]
fn next_to_nothing_is_sent_for_a_snapshot_that_stays_the_same() {
    for kind in Kind::ALL {
        let rows = Rows::of(&sequence(kind, 300, 1)[0], SIDES[0]);
        let lengths = rows.lengths.as_ref().map_or(0, Vec::len);
        assert_eq!(Patch::between(&rows, &rows).unwrap().words(), lengths);
    }
}

#[test]
fn snapshots_of_different_kinds_have_no_difference() {
    let [plain, weighted] =
        [Kind::Plain, Kind::Weighted].map(|kind| Rows::of(&sequence(kind, 300, 1)[0], SIDES[0]));
    assert!(Patch::between(&plain, &weighted).is_none());
}

#[test]
fn equal_entries_are_shared_as_often_as_both_have_them() {
    let rows = |columns: &[u32], weights: &[u32]| Rows {
        offsets: vec![0, columns.len() as u32],
        columns: columns.to_vec(),
        weights: Some(weights.to_vec()),
        vertices: None,
        lengths: None,
    };
    let old = rows(&[1, 1, 1, 4, 6], &[10, 11, 12, 40, 60]);
    let new = rows(&[1, 4, 4, 7], &[10, 40, 41, 70]);
    let there = Patch::between(&old, &new).unwrap();
    assert_eq!((&there.removed[..], &there.added_columns[..]), (&[1, 2, 4][..], &[4, 7][..]));
    assert_eq!(there.apply(&old), new);
    assert_eq!(Patch::between(&new, &old).unwrap().apply(&new), old);
}
