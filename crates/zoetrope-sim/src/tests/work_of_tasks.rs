//! What tasks compute, in bytes and operations.

use zoetrope_plan::program::TaskShape;

use super::*;

fn shaped(kind: TaskKind, rows: u64, edges: u64, widths: [usize; 2]) -> Task {
    let [inputs, outputs] = widths;
    let shape = Some(TaskShape { rows, edges, inputs, outputs });
    Task { shape, ..task(kind, Stream::Compute, None, &[]) }
}

/// A machine that nobody measured.
fn laptop() -> Machine {
    Machine::named("laptop").unwrap()
}

#[test]
fn a_backward_pass_is_twice_the_forward_passes_that_it_goes_back_through() {
    let structure = shaped(TaskKind::Structure, 100, 300, [8, 4]);
    let time = shaped(TaskKind::Time, 50, 0, [4, 6]);
    let backward = task(TaskKind::Backward, Stream::Compute, None, &[]);
    let tasks = [structure.clone(), time, backward.clone(), structure, backward];
    let work = facts().work_of(&tasks, &laptop());
    // Without an order the narrower side is multiplied with the graph: entries of eight bytes and a row of four values.
    assert_eq!(work[0].sparse_bytes, 400.0 * (8.0 + 16.0) + 100.0 * 16.0);
    assert_eq!(work[0].dense_flops, 2.0 * 100.0 * 8.0 * 4.0);
    // Four gates, each of what goes in and of the state.
    assert_eq!(work[1].dense_flops, 2.0 * 50.0 * 4.0 * (4.0 + 6.0) * 6.0);
    for (at, of) in [(2, vec![0, 1]), (4, vec![3])] {
        let sum = |part: fn(&crate::work::Work) -> f64| {
            of.iter().map(|&one| part(&work[one])).sum::<f64>()
        };
        assert_eq!(work[at].dense_flops, 2.0 * sum(|work| work.dense_flops));
        assert_eq!(work[at].sparse_bytes, 2.0 * sum(|work| work.sparse_bytes));
        assert_eq!(work[at].launches, 2.0 * sum(|work| work.launches));
    }
}

#[test]
fn an_update_reads_and_writes_what_the_optimiser_keeps() {
    let adam = ModelFacts { optimiser_slots: 2, ..facts() };
    let work = adam.work_of(&[update(&[])], &laptop());
    assert_eq!(work[0].other_bytes, 4.0 * WEIGHTS as f64 * 7.0);
}
