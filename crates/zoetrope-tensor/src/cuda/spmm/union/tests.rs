use super::super::trial::{Kind, SIDES, sequence};
use super::*;

/// The rows of each snapshot out of the list, by what the kernels do.
fn unfold(union: &Union, before: Option<&Rows>, steps: usize) -> Vec<Rows> {
    let none = Rows { offsets: vec![0; union.born_before.len()], ..Rows::default() };
    let old = before.unwrap_or(&none);
    let weighted = !union.born_weights.is_empty() || old.weights.is_some();
    // The list.
    let (mut offsets, mut columns, mut weights, mut lives) = (vec![0], vec![], vec![], vec![]);
    for row in 0..old.offsets.len() - 1 {
        let (old_columns, old_weights) = old.row(row);
        let mut entries: Vec<(u32, u32, u8)> = (old_columns.iter().enumerate())
            .map(|(at, &column)| (column, old_weights.get(at).copied().unwrap_or(0), 0))
            .collect();
        for born in union.born_before[row] as usize..union.born_before[row + 1] as usize {
            let column = union.born_columns[born];
            let at = entries.partition_point(|&(other, ..)| other <= column);
            let weight = union.born_weights.get(born).copied().unwrap_or(0);
            entries.insert(at, (column, weight, union.born_steps[born]));
        }
        for (column, weight, born) in entries {
            columns.push(column);
            weights.push(weight);
            lives.push(born..u8::MAX);
        }
        offsets.push(columns.len() as u32);
    }
    assert_eq!(columns.len(), union.entries);
    for (&place, &step) in union.dead.iter().zip(&union.dead_steps) {
        lives[place as usize].end = step;
    }
    (0..steps as u8)
        .map(|step| {
            let Changes { places, steps, values } = &union.weights;
            for ((&place, _), &value) in
                places.iter().zip(steps).zip(values).filter(|((_, at), _)| **at == step)
            {
                weights[place as usize] = value;
            }
            let mut rows = Rows { offsets: vec![0], ..Rows::default() };
            let mut own = Vec::new();
            for row in offsets.windows(2) {
                for at in (row[0] as usize..row[1] as usize).filter(|&at| lives[at].contains(&step))
                {
                    rows.columns.push(columns[at]);
                    own.push(weights[at]);
                }
                rows.offsets.push(rows.columns.len() as u32);
            }
            rows.weights = weighted.then_some(own);
            rows
        })
        .collect()
}

/// The same without what is sent by vertex.
fn entries_of(rows: &Rows) -> Rows {
    Rows { codes: None, vertices: None, lengths: None, ..rows.clone() }
}

fn assert_unfolds(before: Option<&Rows>, snapshots: &[&Rows], about: &str) -> Union {
    let union = Union::new(before, snapshots).unwrap();
    let made = unfold(&union, before, snapshots.len());
    for (step, (made, rows)) in made.iter().zip(snapshots).enumerate() {
        assert_eq!(*made, entries_of(rows), "{about}, step {step}");
    }
    union
}

#[test]
fn every_snapshot_follows_from_the_list_of_all() {
    for kind in Kind::ALL {
        for side in SIDES {
            let rows: Vec<Rows> =
                sequence(kind, 700, 6).iter().map(|matrix| Rows::of(matrix, side)).collect();
            let about = format!("{kind:?} {side:?}");
            let others: Vec<&Rows> = rows[1..].iter().collect();
            let union = assert_unfolds(Some(&rows[0]), &others, &about);
            assert!(!union.dead.is_empty() && !union.born_columns.is_empty());
            assert_unfolds(None, &rows.iter().collect::<Vec<_>>(), &about);
        }
    }
}

#[test]
fn words_of_vertices_are_those_of_every_step() {
    let rows: Vec<Rows> =
        sequence(Kind::Weighted, 700, 5).iter().map(|matrix| Rows::of(matrix, SIDES[0])).collect();
    let union = Union::new(Some(&rows[0]), &rows[1..].iter().collect::<Vec<_>>()).unwrap();
    let mut words = rows[0].vertices.clone().unwrap();
    for (step, rows) in rows[1..].iter().enumerate() {
        match &union.vertices {
            Vertices::All(all) => words.copy_from_slice(&all[700 * step..700 * (step + 1)]),
            Vertices::Numbered { numbers, words: by_number } => {
                let numbers = &numbers[700 * step..700 * (step + 1)];
                for (word, &number) in words.iter_mut().zip(numbers) {
                    *word = by_number[step][usize::from(number)];
                }
            }
            Vertices::Some(Changes { places, steps, values }) => {
                for (at, &place) in places.iter().enumerate() {
                    if usize::from(steps[at]) == step {
                        words[place as usize] = values[at];
                    }
                }
            }
        }
        assert_eq!(Some(&words), rows.vertices.as_ref(), "step {step}");
    }
}

#[test]
fn values_that_follow_from_weights_and_degrees_are_sent_where_these_change() {
    let rows: Vec<Rows> =
        sequence(Kind::Weighted, 700, 5).iter().map(|matrix| Rows::of(matrix, SIDES[0])).collect();
    let union = Union::new(Some(&rows[0]), &rows[1..].iter().collect::<Vec<_>>()).unwrap();
    let all: usize = rows[1..].iter().map(|rows| 2 * rows.columns.len()).sum();
    assert!(union.weights.places.len() < rows[1].columns.len() / 2);
    assert!(union.words() < all / 2, "{} of {all}", union.words());
}

#[test]
fn next_to_nothing_is_sent_for_a_snapshot_that_stays_the_same() {
    for kind in Kind::ALL {
        let rows = Rows::of(&sequence(kind, 300, 1)[0], SIDES[0]);
        let union = Union::new(Some(&rows), &[&rows, &rows]).unwrap();
        assert_eq!(union.words(), 0);
    }
}

#[test]
fn snapshots_of_different_kinds_have_no_list() {
    let [plain, weighted] =
        [Kind::Plain, Kind::Weighted].map(|kind| Rows::of(&sequence(kind, 300, 1)[0], SIDES[0]));
    assert!(Union::new(Some(&plain), &[&weighted]).is_none());
    assert!(Union::new(None, &[&plain, &weighted]).is_none());
}

#[test]
fn equal_entries_come_and_go_as_often_as_snapshots_have_them() {
    let rows = |columns: &[u32], weights: &[u32]| Rows {
        offsets: vec![0, columns.len() as u32],
        columns: columns.to_vec(),
        weights: Some(weights.to_vec()),
        ..Rows::default()
    };
    let snapshots = [
        rows(&[1, 1, 1, 4, 6], &[10, 11, 12, 40, 60]),
        rows(&[1, 4, 4, 7], &[10, 40, 41, 70]),
        rows(&[], &[]),
        rows(&[1, 1, 7], &[13, 14, 70]),
        rows(&[1, 7], &[13, 71]),
        rows(&[1, 1, 6], &[13, 15, 61]),
    ];
    let all: Vec<&Rows> = snapshots.iter().collect();
    for first in 0..3 {
        assert_unfolds(Some(all[first]), &all[first + 1..], "after one");
        assert_unfolds(None, &all[first..], "after none");
    }
}
