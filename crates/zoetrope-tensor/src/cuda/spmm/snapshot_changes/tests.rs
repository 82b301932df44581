use super::super::test_support::{Kind, SIDES, sequence};
use super::*;

#[test]
fn words_of_vertices_are_those_of_every_step() {
    let rows: Vec<CodedRows> = sequence(Kind::Weighted, 700, 5)
        .iter()
        .map(|matrix| CodedRows::of(matrix, SIDES[0]))
        .collect();
    let changes =
        SnapshotChanges::new(Some(&rows[0]), &rows[1..].iter().collect::<Vec<_>>()).unwrap();
    let mut words = rows[0].vertices.clone().unwrap();
    for (step, rows) in rows[1..].iter().enumerate() {
        match &changes.vertices {
            VertexWords::All(all) => words.copy_from_slice(&all[700 * step..700 * (step + 1)]),
            VertexWords::Numbered { numbers, words: by_number } => {
                let numbers = &numbers[700 * step..700 * (step + 1)];
                for (word, &number) in words.iter_mut().zip(numbers) {
                    *word = by_number[step][usize::from(number)];
                }
            }
            VertexWords::Some(Changes { places, steps, values }) => {
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
    let rows: Vec<CodedRows> = sequence(Kind::Weighted, 700, 5)
        .iter()
        .map(|matrix| CodedRows::of(matrix, SIDES[0]))
        .collect();
    let changes =
        SnapshotChanges::new(Some(&rows[0]), &rows[1..].iter().collect::<Vec<_>>()).unwrap();
    let all: usize = rows[1..].iter().map(|rows| 2 * rows.columns.len()).sum();
    assert!(changes.entries.weights.places.len() < rows[1].columns.len() / 2);
    assert!(changes.words() < all / 2, "{} of {all}", changes.words());
}

#[test]
fn next_to_nothing_is_sent_for_a_snapshot_that_stays_the_same() {
    for kind in Kind::ALL {
        let rows = CodedRows::of(&sequence(kind, 300, 1)[0], SIDES[0]);
        let changes = SnapshotChanges::new(Some(&rows), &[&rows, &rows]).unwrap();
        assert_eq!(changes.words(), 0);
    }
}

#[test]
fn snapshots_of_different_kinds_cannot_be_compared() {
    let [plain, weighted] = [Kind::Plain, Kind::Weighted]
        .map(|kind| CodedRows::of(&sequence(kind, 300, 1)[0], SIDES[0]));
    assert!(SnapshotChanges::new(Some(&plain), &[&weighted]).is_none());
    assert!(SnapshotChanges::new(None, &[&plain, &weighted]).is_none());
}
