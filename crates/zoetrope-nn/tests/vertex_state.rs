//! Mailboxes and memory by themselves: who keeps which mail, and what a large state costs.

use std::sync::Arc;

use zoetrope_nn::memory::{
    Combine, Delivery, EventData, MailRule, StateOptions, Updated, VertexState,
};
use zoetrope_nn::stream::{EventBatch, LastEvent};
use zoetrope_tensor::Table;

fn options(mails: MailRule, combine: Combine, slots: usize) -> StateOptions {
    let (cells, delivery, per_query) = (false, Delivery::Neighbours, true);
    StateOptions { width: 1, cells, features: 1, slots, mails, combine, delivery, per_query }
}

/// The events 0-1 at 5, 1-2 at 5 and 0-3 at 6, of features 10, 20 and 30, each question by itself;
/// the memory of question q becomes q + 1. Vertex 4 is a neighbour of vertex 1 and of vertex 3,
/// vertex 2 of vertex 0 in the last event.
fn absorb(state: &mut VertexState, times: [i64; 3]) {
    let (src, dst) = ([0, 1, 0], [1, 2, 3]);
    let events = EventData {
        src: &src,
        dst: &dst,
        time: &times,
        features: &[10.0, 20.0, 30.0],
        feature_width: 1,
        on_gpu: None,
    };
    let last =
        |vertex, event, is_source, query| LastEvent { vertex, event, is_source, row: query, query };
    let batch = EventBatch {
        events: vec![0, 1, 2],
        query_vertex: Arc::new(vec![0, 1, 1, 2, 0, 3]),
        query_time: vec![times[0], times[0], times[1], times[1], times[2], times[2]],
        query_row: Arc::new(vec![0, 1, 1, 2, 0, 3]),
        vertices: Arc::new(vec![0, 1, 2, 3]),
        event_queries: vec![[0, 1], [2, 3], [4, 5]],
        last_events: vec![
            last(0, 2, true, 4),
            last(1, 1, true, 2),
            last(2, 1, false, 3),
            last(3, 2, false, 5),
        ],
        // Of the sources 0, 1, 0, then of the destinations 1, 2, 3.
        receivers_offsets: vec![0, 0, 1, 2, 3, 3, 4],
        receivers: vec![4, 2, 4, 4],
        ..EventBatch::default()
    };
    let memory = (1..=6).map(|value| value as f32).collect();
    let time = vec![times[0]; 6];
    let updated = Updated { memory: Table::of(1, memory), cell: Table::default(), time };
    state.absorb(&batch, events, &updated);
}

/// The saved rings: what is kept for each place of each vertex, in order of vertices, with the
/// features of the event if they are not kept.
fn mails(state: &VertexState) -> Vec<(u32, Vec<f32>)> {
    let saved = state.save();
    let array = |name: &str| &saved.iter().find(|(known, _, _)| known == name).unwrap().2;
    let options = state.options();
    let (slots, keeps_features) = (options.slots, options.combine == Combine::Mean);
    let vertices = array("vertices").chunks_exact(2).map(|halves| halves[0] as u32);
    let width = array("mail_rows").len() / (array("vertices").len() / 2 * slots);
    let rows = array("mail_rows").chunks_exact(width * slots);
    // An event is saved as 2·(event + 1) + is_source, 0 is none; its features are 10·(event + 1).
    let events = array("mail_events").chunks_exact(4 * slots);
    let mut all: Vec<_> = vertices
        .zip(rows.zip(events))
        .map(|(vertex, (rows, events))| {
            let places = rows.chunks_exact(width).zip(events.chunks_exact(4));
            let mail = places.flat_map(|(row, event)| {
                let features = (!keeps_features).then_some((event[0] / 2.0).floor() * 10.0);
                row.iter().copied().chain(features).collect::<Vec<_>>()
            });
            (vertex, mail.collect())
        })
        .collect();
    all.sort_by_key(|(vertex, _): &(u32, Vec<f32>)| *vertex);
    all
}

#[test]
fn the_latest_mail_stays_and_an_end_comes_before_a_neighbour() {
    let mut state = VertexState::new(options(MailRule::Kept, Combine::Last, 1), 5, 5);
    absorb(&mut state, [5, 5, 6]);
    let expected = [
        (0, vec![5.0, 6.0, 30.0]),
        (1, vec![3.0, 4.0, 20.0]),
        // The neighbour's mail of the last event is later than its own one.
        (2, vec![5.0, 6.0, 30.0]),
        (3, vec![6.0, 5.0, 30.0]),
        (4, vec![6.0, 5.0, 30.0]),
    ];
    assert_eq!(mails(&state), expected);
    assert_eq!(state.memory(&[0]), [5.0]);
    assert_eq!(state.memory(&[4]), [0.0]);
    let mut state = VertexState::new(options(MailRule::Kept, Combine::Last, 1), 5, 5);
    absorb(&mut state, [5, 5, 5]);
    assert_eq!(mails(&state)[2], (2, vec![4.0, 3.0, 20.0]), "at equal times the end's stays");
}

#[test]
fn the_mean_of_all_mails_of_a_batch_is_one_mail() {
    let mut state = VertexState::new(options(MailRule::Kept, Combine::Mean, 1), 5, 5);
    absorb(&mut state, [5, 5, 6]);
    let mean = |rows: &[[f32; 3]]| {
        let column = |at: usize| rows.iter().map(|row| row[at]).sum::<f32>() / rows.len() as f32;
        vec![column(0), column(1), column(2)]
    };
    let (first, second, third) = ([2.0, 1.0, 10.0], [3.0, 4.0, 20.0], [5.0, 6.0, 30.0]);
    let back = |[own, other, features]: [f32; 3]| [other, own, features];
    let found = mails(&state);
    let near = |vertex: usize, rows: &[[f32; 3]]| {
        let expected = mean(rows);
        let pairs = found[vertex].1.iter().zip(&expected);
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-6), "{vertex}: {found:?}");
    };
    near(0, &[back(first), third]);
    near(1, &[first, second]);
    near(2, &[back(second), third]);
    near(4, &[second, first, back(third)]);
}

#[test]
fn a_ring_keeps_the_newest_mails() {
    let mut state = VertexState::new(options(MailRule::Kept, Combine::Last, 2), 5, 0);
    for round in 0..5 {
        absorb(&mut state, [5 + round, 5 + round, 6 + round]);
        assert_eq!(mails(&state)[1].1[..3], [3.0, 4.0, 20.0], "round {round}");
        let second = &mails(&state)[1].1[3..];
        assert_eq!(second[0] != 0.0, round > 0, "round {round}");
        let saved = state.save();
        let next = &saved.iter().find(|(name, _, _)| name == "mail_next").unwrap().2;
        assert_eq!(next[0], ((round + 1) % 2) as f32, "round {round}");
    }
}

#[test]
fn a_mail_that_ends_alone_get_keeps_the_memory_of_the_other_end_only() {
    let kept = |combine, per_query| {
        let ends = options(MailRule::Kept, combine, 1);
        let ends = StateOptions { delivery: Delivery::Ends, per_query, ..ends };
        let mut state = VertexState::new(ends, 5, 5);
        absorb(&mut state, [5, 5, 6]);
        mails(&state).swap_remove(1).1
    };
    assert_eq!(kept(Combine::Last, true), [4.0, 20.0]);
    assert_eq!(kept(Combine::Mean, false), [2.0, 15.0], "of the rows 1 and 3, 10 and 20");
    assert_eq!(kept(Combine::Mean, true), [2.5, 2.5, 15.0], "the means of its own rows differ");
}

#[test]
fn mails_that_wait_as_events_are_kept_once_training_ends() {
    let alone = StateOptions {
        delivery: Delivery::Ends,
        per_query: false,
        ..options(MailRule::Deferred, Combine::Last, 1)
    };
    let (times, events) = ([5, 5, 6], [10.0, 20.0, 30.0]);
    let data = |time| EventData {
        src: &[0, 1, 0],
        dst: &[1, 2, 3],
        time,
        features: &events,
        feature_width: 1,
        on_gpu: None,
    };
    let mut state = VertexState::new(alone, 5, 0);
    absorb(&mut state, times);
    assert!(state.save().iter().all(|(name, ..)| name != "mail_rows"));
    state.keep_mails(data(&times));
    // The other end's memory and the features of the last event: 0-3, 1-2, 2-1, 3-0.
    let expected = [(0, 6.0, 30.0), (1, 4.0, 20.0), (2, 3.0, 20.0), (3, 5.0, 30.0)];
    let expected = expected.map(|(vertex, other, feature)| (vertex, vec![other, feature]));
    assert_eq!(mails(&state), expected);
    // It goes through a checkpoint, and nothing of it is left after a reset.
    let saved = state.save();
    let find = |name: &str| {
        let found = saved.iter().find(|(known, ..)| known == name);
        found.map(|(_, dims, values)| (&dims[..], &values[..]))
    };
    let mut other = VertexState::new(alone, 5, 0);
    other.restore(find).unwrap();
    assert_eq!(mails(&other), expected);
    assert_eq!(other.save(), saved);
    other.reset();
    absorb(&mut other, times);
    assert!(other.save().iter().all(|(name, ..)| name != "mail_rows"));
}

#[test]
fn a_state_of_five_million_vertices_costs_what_is_written() {
    let wide = StateOptions {
        width: 100,
        features: 0,
        delivery: Delivery::Ends,
        ..options(MailRule::Deferred, Combine::Last, 1)
    };
    let before = resident();
    let mut state = VertexState::new(wide, 5_000_000, 0);
    assert!(state.bytes() < 2_100_000_000, "{}", state.bytes());
    state.reset();
    assert_eq!(state.memory(&[4_999_999]), [0.0; 100]);
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes were committed for nothing");
}

/// The bytes of memory that the process holds; 0 if the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

#[test]
fn a_copy_is_the_same_state_and_goes_on_by_itself() {
    for (mails, combine, slots) in [
        (MailRule::Kept, Combine::Last, 1),
        (MailRule::Kept, Combine::Mean, 2),
        (MailRule::Deferred, Combine::Last, 1),
        (MailRule::Deferred, Combine::Mean, 1),
    ] {
        let mut state = VertexState::new(options(mails, combine, slots), 5, 5);
        absorb(&mut state, [5, 5, 6]);
        let saved = state.save();
        let mut copy = state.fresh();
        // What a state held before it became a copy is gone.
        absorb(&mut copy, [7, 8, 9]);
        copy.copy_from(&state);
        assert_eq!(copy.save(), saved, "{mails:?} {combine:?}");
        absorb(&mut state, [7, 8, 9]);
        assert_eq!(copy.save(), saved, "{mails:?} {combine:?}");
        absorb(&mut copy, [7, 8, 9]);
        assert_eq!(copy.save(), state.save(), "{mails:?} {combine:?}");
    }
}

#[test]
fn a_state_is_saved_and_restored_under_other_numbers() {
    let mut state = VertexState::new(options(MailRule::Kept, Combine::Last, 1), 5, 5);
    absorb(&mut state, [5, 5, 6]);
    let saved = state.save_numbered(|vertex| 4 - vertex);
    let find = |name: &str| {
        let found = saved.iter().find(|(known, _, _)| known == name);
        found.map(|(_, dims, values)| (&dims[..], &values[..]))
    };
    let mut other = state.fresh();
    other.restore_numbered(find, |number| Some(4 - number)).unwrap();
    assert_eq!(other.save(), state.save());
    assert_eq!(other.restore_numbered(find, |_| Some(9)), Err("vertices".to_owned()));
    assert_eq!(other.restore_numbered(find, |_| None), Err("vertices".to_owned()));
}
