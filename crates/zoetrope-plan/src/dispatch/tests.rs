use proptest::prelude::*;

use super::*;

/// Algorithm 2 as the paper writes it, looking every vertex up in the list.
fn as_written(interactions: &[[VertexId; 2]]) -> (Vec<VertexId>, Dispatch) {
    let (mut unique, mut dispatch) = (Vec::new(), Dispatch::default());
    for (interaction, ends) in interactions.iter().enumerate() {
        for vertex in ends {
            let row = unique.iter().position(|found| found == vertex).unwrap_or_else(|| {
                unique.push(*vertex);
                dispatch.last_interaction.push(0);
                unique.len() - 1
            });
            dispatch.last_interaction[row] = interaction as u32;
            dispatch.rows.push(row as u32);
        }
    }
    (unique, dispatch)
}

proptest! {
    #[test]
    fn a_stamped_table_finds_what_the_paper_s_search_finds(
        batches in proptest::collection::vec(
            proptest::collection::vec([0_u32..12, 0_u32..12], 0..30), 1..6),
    ) {
        let (mut found, mut dispatch) = (UniqueVertices::new(12), Dispatch::default());
        for batch in &batches {
            found.find(batch.iter().copied(), &mut dispatch);
            let (unique, expected) = as_written(batch);
            prop_assert_eq!(found.unique(), &unique[..]);
            prop_assert_eq!(&dispatch, &expected);
            for vertex in 0..12 {
                let row = unique.iter().position(|&found| found == vertex);
                prop_assert_eq!(found.row(vertex), row.map(|row| row as u32));
            }
            // Ψ turns the found back into the series.
            let restored: Vec<_> =
                dispatch.rows.iter().map(|&row| found.unique()[row as usize]).collect();
            prop_assert_eq!(restored, batch.concat());
        }
    }
}

/// The interactions that the text to Figure 1 names: 1–2 at t₅ and t₇, 1–4 at t₈. Vertex 1 keeps
/// the last; the second remains because vertex 2 needs it.
#[test]
fn the_example_of_the_paper_keeps_the_interaction_that_the_other_end_needs() {
    let (mut found, mut dispatch) = (UniqueVertices::new(5), Dispatch::default());
    found.find([[1, 2], [1, 2], [1, 4]], &mut dispatch);
    assert_eq!(found.unique(), [1, 2, 4]);
    assert_eq!(dispatch.last_interaction, [2, 1, 2]);
    assert_eq!(dispatch.rows, [0, 1, 0, 1, 0, 2]);
    let mut redundancy = Redundancy::default();
    redundancy.add_sampled(dispatch.rows.len(), found.unique().len());
    // The original series begins at t₇.
    found.find([[1, 2], [1, 4]], &mut dispatch);
    assert_eq!(dispatch.last_interaction, [1, 0, 1]);
    redundancy.add_original(dispatch.rows.len(), found.unique().len());
    assert_eq!((redundancy.eta1(), redundancy.eta2()), (0.5, 0.25));
}

#[test]
fn a_self_loop_names_its_vertex_twice_and_counts_once() {
    let (mut found, mut dispatch) = (UniqueVertices::new(4), Dispatch::default());
    found.find([[3, 3]], &mut dispatch);
    assert_eq!(found.unique(), [3]);
    assert_eq!(dispatch, Dispatch { last_interaction: vec![0], rows: vec![0, 0] });
}

#[test]
fn rows_of_the_batch_before_are_forgotten_even_when_stamps_run_out() {
    let mut found = UniqueVertices::new(3);
    assert_eq!(found.place(2), 0);
    found.stamp = u32::MAX;
    assert_eq!((found.place(1), found.row(0)), (1, None));
    found.begin();
    assert_eq!((found.row(1), found.row(2)), (None, None));
    assert_eq!((found.place(0), found.place(1), found.place(0)), (0, 1, 0));
    assert_eq!(found.unique(), [0, 1]);
}

#[test]
fn rates_add_up_over_batches_and_are_zero_of_nothing() {
    let mut sum = Redundancy::default();
    assert_eq!((sum.eta1(), sum.eta2()), (0.0, 0.0));
    for (named, distinct) in [(10, 4), (30, 6)] {
        let mut batch = Redundancy::default();
        batch.add_sampled(named, distinct);
        batch.add_original(named / 10, 1);
        sum += batch;
    }
    assert_eq!((sum.eta1(), sum.eta2()), (0.75, 0.5));
}

#[test]
fn nothing_is_allocated_once_the_buffers_have_grown() {
    let (mut found, mut dispatch) = (UniqueVertices::new(100), Dispatch::default());
    let batch = |shift: u32| (0..50_u32).map(move |event| [event, (event * 7 + shift) % 100]);
    found.find(batch(0), &mut dispatch);
    let grown = |found: &UniqueVertices, dispatch: &Dispatch| {
        [found.unique.capacity(), dispatch.last_interaction.capacity()]
            .map(|capacity| (capacity, dispatch.rows.capacity()))
    };
    found.find((0..50).map(|event| [2 * event, 2 * event + 1]), &mut dispatch);
    let before = grown(&found, &dispatch);
    for shift in 0..100 {
        found.find(batch(shift), &mut dispatch);
    }
    assert_eq!(grown(&found, &dispatch), before);
}
