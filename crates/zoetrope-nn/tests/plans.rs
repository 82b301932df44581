//! What a plan may choose changes no result: groups, order of products, reuse, carried states.

mod golden_file;
mod model_run;

use golden_file::{Golden, difference};
use model_run::{Layout, Run};
use zoetrope_nn::model::Coverage;
use zoetrope_nn::{Order, State};

#[test]
fn groups_orders_and_reuse_change_no_result() {
    let layouts = [
        Layout { groups: vec![0..2, 2..3, 3..5], ..Layout::default() },
        Layout { orders: vec![Order::UpdateFirst; 2], ..Layout::default() },
        Layout { orders: vec![Order::AggregateFirst; 2], ..Layout::default() },
        Layout { reuse: true, ..Layout::default() },
        Layout { groups: vec![0..4, 4..5], orders: vec![Order::UpdateFirst; 2], reuse: true },
    ];
    for golden in Golden::folder("models") {
        for layout in &layouts {
            let mut run = Run::new(&golden);
            run.layout = layout.clone();
            let apart = difference(&run.predict(true), golden.values("output"));
            assert!(apart <= 1e-5, "{} with {layout:?}: {apart}", golden.name);
            run.forget_statistics(&golden);
            let loss = run.differentiate();
            assert!((loss - golden.values("losses")[0]).abs() <= 1e-5, "{}", golden.name);
        }
    }
}

#[test]
fn two_frames_with_carried_state_are_one_long_frame() {
    for golden in Golden::folder("models") {
        let mut run = Run::new(&golden);
        let every = run.model.coverage() == Coverage::Every;
        if !run.model.carries_state() || !every {
            continue;
        }
        let (whole, _) = run.embed(0..5, State::default(), false);
        let (mut parts, state) = run.embed(0..2, State::default(), false);
        let (rest, _) = run.embed(2..5, state, true);
        parts.extend(rest);
        let apart = difference(&parts, &whole);
        assert!(apart <= 1e-6, "{}: {apart}", golden.name);
    }
}

#[test]
fn the_state_of_a_vertex_that_is_not_there_passes_unchanged() {
    const ABSENT: usize = 3;
    for golden in Golden::folder("models") {
        let single_memory = ["tgcn", "gc-lstm", "wd-gcn"];
        if !single_memory.contains(&golden.metadata["model"].as_str()) {
            continue;
        }
        let mut run = Run::new(&golden);
        let (vertices, width) = (run.graph.vertices(), run.model.width());
        let mut mask = vec![1.0; 5 * vertices];
        mask[2 * vertices + ABSENT] = 0.0;
        let rows = run.embed_masked(&mask);
        let state = |step: usize| &rows[(step * vertices + ABSENT) * width..][..width];
        assert_eq!(state(1), state(2), "{}", golden.name);
        assert_ne!(state(2), state(3), "{}", golden.name);
    }
}
