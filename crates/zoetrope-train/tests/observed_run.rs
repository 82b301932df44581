//! Who watches a run is told everything in order, and can end it.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use zoetrope_train::interrupt::Interrupt;
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::train::{Finished, train, train_by_threads};
use zoetrope_train::{Config, TrainError};

fn config(folder: &Path, ranks: usize) -> Config {
    let settings = [
        "data.path=synthetic:demo?vertices=20&steps=40".to_owned(),
        "model.name=tgcn".to_owned(),
        "model.hidden=4".to_owned(),
        "train.epochs=2".to_owned(),
        format!("train.ranks={ranks}"),
        format!("output.dir={}", folder.display()),
    ];
    settings.iter().fold(Config::builder(), |builder, text| builder.set(text)).build().unwrap()
}

/// Runs alone or by ranks; returns the end and the kinds of what was told, each kind once.
fn run(
    folder: &Path,
    ranks: usize,
    stops: bool,
) -> (Result<Finished, TrainError>, Vec<&'static str>) {
    let (sender, told) = std::sync::mpsc::channel();
    let observer = move |event: RunEvent<'_>| {
        let kind = match event {
            RunEvent::Reading { .. } | RunEvent::Read(_) => "reading",
            RunEvent::Started { .. } => "started",
            RunEvent::Step { .. } => "step",
            RunEvent::Epoch { .. } => "epoch",
            RunEvent::Testing => "testing",
            _ => "other",
        };
        sender.send(kind).unwrap();
        if stops && kind == "step" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let (begun, interrupt, config) = (Instant::now(), Interrupt::new(), config(folder, ranks));
    let mut observer: Box<dyn Observer> = Box::new(observer);
    let end = if ranks > 1 {
        train_by_threads(config, begun, &interrupt, observer)
    } else {
        let end = train(config, begun, &interrupt, &mut *observer);
        drop(observer);
        end
    };
    let mut kinds: Vec<&str> = told.iter().collect();
    kinds.dedup();
    (end, kinds)
}

#[test]
fn a_run_tells_what_it_does_in_order_alone_and_by_ranks() {
    for ranks in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let (end, kinds) = run(folder.path(), ranks, false);
        end.unwrap();
        let epochs = ["step", "epoch", "step", "epoch"];
        let expected = [&["reading", "started"], &epochs[..], &["testing"]].concat();
        assert_eq!(kinds, expected, "{ranks} ranks");
    }
}

#[test]
fn an_observer_that_breaks_ends_a_run_with_a_checkpoint() {
    for ranks in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let (end, kinds) = run(folder.path(), ranks, true);
        assert!(matches!(end, Err(TrainError::Interrupted { epochs: 0, .. })), "{end:?}");
        assert_eq!(kinds, ["reading", "started", "step"], "{ranks} ranks");
        let checkpoints = std::fs::read_dir(folder.path().join("checkpoints")).unwrap();
        assert!(checkpoints.count() > 0, "{ranks} ranks");
    }
}
