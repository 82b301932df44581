//! Traces of training on a GPU: a traced run is the run that users have, recordings included.
//!
//! A process has one profiler, so each test runs in a process of its own, with the emulated GPU.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_run::{Timeline, TraceFile};
use zoetrope_testkit::emulator;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::train::Opened;

/// Computed in the first epoch, recorded in the second, launched as recorded in the third.
const SETTINGS: &str = "data.path=synthetic:demo?vertices=30&steps=14 data.split=none train.frame=4 \
                        train.epochs=3 train.stride=2 model.hidden=6 train.device=cuda model.name=tgcn";

/// What makes the emulated profiler fail.
const FAULT: &str = "ZOETROPE_EMULATED_CUPTI";

fn train(more: &str, timeline: Timeline) -> String {
    let settings = SETTINGS.split_whitespace().chain(more.split_whitespace());
    let config = settings.fold(Config::builder(), |builder, setting| builder.set(setting));
    let mut config = config.build().unwrap();
    let mut run = Opened::open(&mut config, &Quiet).unwrap().start(config, None, timeline).unwrap();
    let session = run.session_mut();
    while !session.is_over() {
        session.epoch(&mut Unobserved).unwrap();
    }
    state_hash(&session.save())
}

struct Traced {
    hash: String,
    remarks: Vec<String>,
    events: Vec<Value>,
}

impl Traced {
    fn run(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let trace = Arc::new(TraceFile::create(&path, Instant::now()).unwrap());
        let hash = train(more, Timeline::traced(Arc::clone(&trace), 0, "trainer"));
        trace.finish().unwrap();
        Self { hash, remarks: trace.take_remarks(), events: events(&path) }
    }

    /// The last source that the trace names.
    fn source(&self) -> &str {
        let named = self.events.iter().rfind(|event| event["name"] == "process_labels");
        named.unwrap()["args"]["labels"].as_str().unwrap()
    }

    /// The spans of a track, as begin and name.
    fn track(&self, name: &str) -> Vec<(f64, &str)> {
        let track = self.events.iter().find(|event| event["args"]["name"] == name).unwrap();
        let of_track = |event: &&Value| event["ph"] == "X" && event["tid"] == track["tid"];
        let found = self.events.iter().filter(of_track);
        found
            .map(|event| (event["ts"].as_f64().unwrap(), event["name"].as_str().unwrap()))
            .collect()
    }

    /// The kernels of each epoch, in order.
    fn kernels_by_epoch(&self) -> Vec<Vec<&str>> {
        let epochs = self.events.iter().filter(|event| event["name"] == "epoch");
        let within = |epoch: &Value| {
            let from = epoch["ts"].as_f64().unwrap();
            let until = from + epoch["dur"].as_f64().unwrap();
            let kernels = self.track("GPU compute").into_iter();
            let inside = kernels.filter(|(at, _)| (from..until).contains(at));
            // Lists are copied once, and what an epoch begins with is zeroed when it is not fresh.
            let other = |name: &&str| name.starts_with("copy") || *name == "zero";
            inside.map(|(_, name)| name).filter(|name| !other(name)).collect()
        };
        epochs.map(within).collect()
    }
}

fn events(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_traced_run_is_recorded_and_shows_what_its_recordings_do() {
    if !emulator::is_here("a_traced_run_is_recorded_and_shows_what_its_recordings_do", &[]) {
        return;
    }
    let traced = Traced::run("");
    assert_eq!(traced.source(), "GPU spans: CUPTI");
    assert!(traced.remarks.is_empty(), "{:?}", traced.remarks);
    assert_eq!(traced.hash, train("", Timeline::new()));
    let [computed, recorded, launched] = traced.kernels_by_epoch().try_into().unwrap();
    assert!(computed.len() > 50, "{computed:?}");
    assert_eq!(computed, launched);
    assert_eq!(recorded, launched);
}

#[test]
fn updates_that_draw_at_random_are_recorded_too() {
    if !emulator::is_here("updates_that_draw_at_random_are_recorded_too", &[]) {
        return;
    }
    let classes = "task.name=edge-classification data.window=14parts \
                   data.path=synthetic:bipartite?users=20&items=20&events=900&features=3&labels=0.3";
    for settings in ["model.dropout=0.3", "task.name=link-prediction", classes] {
        let traced = Traced::run(settings);
        let count = |name| traced.events.iter().filter(|event| event["name"] == name).count();
        // The third epoch launches what the first computed and the second recorded.
        assert_eq!(3 * count("forward"), 2 * count("frames"), "{settings}");
    }
}

#[test]
fn copies_ahead_of_use_are_shown_on_their_own_track() {
    if !emulator::is_here("copies_ahead_of_use_are_shown_on_their_own_track", &[]) {
        return;
    }
    let traced = Traced::run("plan.residency=stream plan.reuse=false");
    let copies = traced.track("GPU copy");
    assert!(!copies.is_empty());
    assert!(copies.iter().all(|(_, name)| *name == "copy up"), "{copies:?}");
    assert_eq!(traced.hash, train("plan.residency=stream plan.reuse=false", Timeline::new()));
}

#[test]
fn a_run_goes_on_where_the_profiler_refuses() {
    let test = "a_run_goes_on_where_the_profiler_refuses";
    if emulator::is_here(test, &[(FAULT, "refuse")]) {
        let kernels = kernels_by_events();
        assert!(kernels.iter().all(|&kernels| kernels > 50), "{kernels:?}");
    }
}

#[test]
fn a_run_goes_on_where_the_profiler_breaks() {
    if emulator::is_here("a_run_goes_on_where_the_profiler_breaks", &[(FAULT, "break")]) {
        // It breaks at the end of the first epoch, whose spans are lost.
        let kernels = kernels_by_events();
        assert_eq!(kernels[0], 0);
        assert!(kernels[1..].iter().all(|&kernels| kernels > 50), "{kernels:?}");
    }
}

/// The number of kernels of each epoch of a run that the profiler cannot watch.
fn kernels_by_events() -> Vec<usize> {
    let traced = Traced::run("");
    assert_eq!(traced.source(), "GPU spans: events around launches");
    assert_eq!(traced.remarks.len(), 1, "{:?}", traced.remarks);
    assert!(traced.remarks[0].contains("CUPTI"), "{}", traced.remarks[0]);
    assert_eq!(traced.hash, train("", Timeline::new()));
    traced.kernels_by_epoch().iter().map(Vec::len).collect()
}
