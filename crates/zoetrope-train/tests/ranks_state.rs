//! Dropout, stretches, and states that are carried from frame to frame do not depend on ranks or blocks.

// Each test program uses some of it.
#[allow(dead_code, unused_imports)]
mod equality_case;

use std::ops::ControlFlow;

use equality_case::{MODELS, TASKS, expect_as_alone};
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_run::Timeline;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::TrainError;
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Checkpointed, EpochEnd, Epochs, TrainingRun};

/// A part that is scored after every epoch, and steps that keep a rounding one.
const SCORED: &str = "data.split=60/20/20 train.optimiser=sgd train.lr=0.01";

#[test]
fn what_is_dropped_follows_from_the_cell() {
    for model in MODELS {
        let settings = format!("model.name={model} model.dropout=0.3 {} {SCORED}", TASKS[0]);
        for (strategy, size) in [("snapshot", 3), ("hypergraph", 2), ("hybrid", 4)] {
            expect_as_alone(&settings, &format!("plan.strategy={strategy}"), size);
        }
    }
}

#[test]
fn what_is_dropped_does_not_depend_on_blocks() {
    for model in ["tgcn", "tm-gcn", "evolvegcn-o", "gc-lstm"] {
        let settings = format!("model.name={model} model.dropout=0.3 {} {SCORED}", TASKS[1]);
        expect_as_alone(&settings, "plan.blocks=3", 1);
        expect_as_alone(&settings, "plan.blocks=2 plan.strategy=snapshot", 2);
    }
}

#[test]
fn stretches_are_spread_over_all_ranks() {
    for settings in [
        "tgcn train.truncate=2",
        "cd-gcn train.truncate=4 train.loss=last",
        "mpnn-lstm model.variant=paper train.truncate=3 model.dropout=0.2",
        "evolvegcn-h train.truncate=5",
        "gc-lstm train.truncate=2",
    ] {
        let settings = format!("model.name={settings} {} {SCORED}", TASKS[0]);
        for (strategy, size) in [("snapshot", 2), ("vertex", 3), ("hybrid", 4)] {
            expect_as_alone(&settings, &format!("plan.strategy={strategy}"), size);
        }
    }
}

#[test]
fn states_are_carried_from_frame_to_frame() {
    for model in ["tgcn", "wd-gcn", "gc-lstm", "evolvegcn-o", "evolvegcn-h"] {
        let settings = format!("model.name={model} train.carry_state=true {} {SCORED}", TASKS[0]);
        for (strategy, size) in [("snapshot", 2), ("vertex", 3), ("hybrid", 4)] {
            expect_as_alone(&settings, &format!("plan.strategy={strategy}"), size);
        }
        expect_as_alone(&settings, "plan.strategy=snapshot plan.blocks=3", 2);
    }
}

/// Stops after so many updates.
struct Updates(usize);

impl Observer for Updates {
    fn observe(&mut self, _: RunEvent<'_>) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

fn train(session: &mut Session, updates: usize) -> Result<(), TrainError> {
    let mut watch = Updates(updates);
    while !(&*session as &dyn TrainingRun).is_over() {
        if session.epoch(&mut watch)? == EpochEnd::Interrupted {
            break;
        }
    }
    Ok(())
}

#[test]
fn a_run_of_ranks_that_stopped_inside_an_epoch_goes_on_with_the_states_of_all_of_them() {
    let start = |ranks: &Ranks| -> Result<Session, TrainError> {
        let settings = format!(
            "model.name=wd-gcn train.carry_state=true train.frame=3 train.epochs=2 model.hidden=8 \
             plan.strategy=hybrid {} {SCORED}",
            TASKS[0]
        );
        let builder = settings.split_whitespace().fold(Config::builder(), |b, s| b.set(s));
        let mut config = builder.build()?;
        config.train.ranks = ranks.size();
        let material = SnapshotInput::open(&config, &Quiet)?;
        Session::start_shared(config, material, None, Timeline::new(), Some(ranks.clone()))
    };
    let hashes = threads::run(4, Timeouts::default(), move |ranks| {
        let mut whole = start(&ranks)?;
        train(&mut whole, usize::MAX)?;
        let mut begun = start(&ranks)?;
        train(&mut begun, 2)?;
        let mut rest = start(&ranks)?;
        rest.restore(begun.save())?;
        train(&mut rest, usize::MAX)?;
        Ok::<_, TrainError>([whole, rest].map(|session| state_hash(&session.save())))
    });
    let [whole, rest] = &hashes.unwrap()[0];
    assert_eq!(whole, rest);
}
