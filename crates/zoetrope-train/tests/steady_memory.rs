//! Memory over many steps: a run that goes on does not grow.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{Epochs, TrainingRun};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The bytes that are allocated and not freed.
fn held() -> isize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

fn session(settings: &[&str]) -> Session {
    let mut builder = Config::builder();
    for setting in settings {
        builder = builder.set(setting);
    }
    let config = builder.build().unwrap();
    let material = SnapshotInput::open(&config, &Quiet).unwrap();
    Session::start(config, material, None, Timeline::new()).unwrap()
}

/// Runs epochs until so many updates were made since the start; returns the bytes held then.
fn after(session: &mut Session, updates: usize) -> isize {
    let frames = session.plan().frames.len();
    while session.learner().epochs().len() * frames < updates {
        session.epoch(&mut Unobserved).unwrap();
    }
    held()
}

#[test]
fn a_thousand_steps_hold_no_more_memory_than_the_first_hundred() {
    for settings in [
        &["data.path=synthetic:demo?vertices=20&steps=40", "model.name=tgcn"][..],
        &["data.path=synthetic:demo?vertices=20&steps=40", "model.name=mpnn-lstm"],
        &["data.path=synthetic:demo?vertices=20&steps=40", "model.name=evolvegcn-h"],
        &["data.path=synthetic:demo?vertices=20&steps=40", "model.name=dysat"],
        &[
            "data.path=synthetic:sbm?vertices=60&steps=24&communities=4",
            "task.name=link-prediction",
            "task.candidates=10",
        ],
    ] {
        // EvolveGCN of PyG-Temporal is as wide as the features.
        let square = settings.contains(&"model.name=evolvegcn-h");
        let width: &[&str] = if square { &[] } else { &["model.hidden=8"] };
        let all = [settings, width, &["train.epochs=100000"]].concat();
        let mut session = session(&all);
        let early = after(&mut session, 100);
        let records = session.learner().epochs().len();
        let late = after(&mut session, 1_100);
        // What grows is the list of finished epochs, by its own few hundred bytes each.
        let epochs = (session.learner().epochs().len() - records) as isize;
        let growth = late - early;
        assert!(growth <= epochs * 1024, "{settings:?}: {growth} bytes in {epochs} epochs");
    }
}
