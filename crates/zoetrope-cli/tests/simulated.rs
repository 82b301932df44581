//! `zoetrope sim`: what is simulated is what is executed, and what the command says.

mod binary;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use binary::Folder;
use serde_json::Value;
use zoetrope_config::{Config, ConfigBuilder};
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_plan::TaskGraph;
use zoetrope_run::{Timeline, TraceFile};
use zoetrope_sim::{Job, Machine, ModelFacts, Options};
use zoetrope_train::TrainError;
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::{Session, foretell};
use zoetrope_train::training_run::Epochs;

/// A graph whose ranks have unlike shares: 17 vertices, 13 snapshots to train on.
const LINKS: &str = "data.path=synthetic:sbm?vertices=17&steps=17&communities=3&inside=2&outside=1 \
                     task.name=link-prediction data.split=80/20 train.epochs=1";

fn config(settings: &str) -> Config {
    settings.split_whitespace().fold(Config::builder(), ConfigBuilder::set).build().unwrap()
}

/// Tasks and bytes by kind.
type Totals = BTreeMap<String, (u64, u64)>;

fn add(totals: &mut Totals, kind: &str, tasks: u64, bytes: u64) {
    let of_kind = totals.entry(kind.to_owned()).or_default();
    *of_kind = (of_kind.0 + tasks, of_kind.1 + bytes);
}

/// Trains an epoch as one of several ranks, traced.
fn execute(config: Config, ranks: Option<Ranks>, trace: &Path) -> Result<TaskGraph, TrainError> {
    let trace = Arc::new(TraceFile::create(trace, Instant::now())?);
    let timeline = Timeline::traced(Arc::clone(&trace), 0, "trainer");
    let material = SnapshotInput::open(&config, &Quiet)?;
    let mut session = Session::start_shared(config, material, None, timeline, ranks)?;
    let program = session.program()?;
    session.epoch(&mut Unobserved)?;
    drop(session);
    trace.finish()?;
    Ok(program)
}

/// Executes and simulates the same settings; returns how many kinds of tasks there were.
fn expect_the_same(ranks: usize, settings: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let path = |rank: usize| root.join(format!("{rank}.json"));
    let settings = if ranks > 1 {
        format!("{settings} train.ranks={ranks} plan.timeout=300")
    } else {
        settings.to_owned()
    };
    let own_settings = settings.clone();
    let programs = if ranks == 1 {
        vec![execute(config(&settings), None, &path(0)).unwrap()]
    } else {
        let root = root.clone();
        let run = move |own: Ranks| {
            let trace = root.join(format!("{}.json", own.rank()));
            execute(config(&own_settings), Some(own), &trace)
        };
        threads::run(ranks, Timeouts::default(), run).unwrap()
    };
    let mut executed = Totals::new();
    for rank in 0..ranks {
        let events: Vec<Value> =
            serde_json::from_slice(&std::fs::read(path(rank)).unwrap()).unwrap();
        for event in events.iter().filter(|event| event["cat"] == "task") {
            let bytes = event["args"]["bytes"].as_u64().unwrap_or(0);
            add(&mut executed, event["name"].as_str().unwrap(), 1, bytes);
        }
    }
    let asked = config(&settings);
    let material = SnapshotInput::open(&asked, &Quiet).unwrap();
    let (mut job, mut rank) = (Job::new(ModelFacts::default(), 1, false), 0);
    let laptop = Machine::named("laptop").unwrap();
    foretell(asked, &material, None, &laptop, &mut |program| {
        assert_eq!(program, programs[rank], "{settings}, rank {rank}");
        rank += 1;
        job.push(program);
    })
    .unwrap();
    let machine = Machine::named("esdg").unwrap();
    let outcome = machine.run(&job, &Options::default(), &mut |_, _| ()).unwrap();
    let mut simulated = Totals::new();
    for one in &outcome.kinds {
        add(&mut simulated, one.kind.name(), one.tasks, one.bytes);
    }
    assert_eq!(simulated, executed, "{settings}");
    executed.len()
}

#[test]
fn tasks_messages_and_bytes_are_those_of_a_run_with_every_strategy() {
    for (model, strategy) in [
        ("tm-gcn", "snapshot"),
        ("cd-gcn", "hypergraph"),
        ("cd-gcn", "hybrid"),
        ("evolvegcn-o", "snapshot"),
        ("tgcn", "vertex"),
        ("gc-lstm", "hybrid"),
    ] {
        let shared = format!("{LINKS} train.frame=all model.name={model} plan.strategy={strategy}");
        assert!(expect_the_same(4, &shared) >= 5);
    }
    expect_the_same(
        4,
        &format!("{LINKS} train.frame=all model.name=tm-gcn plan.strategy=snapshot plan.blocks=3"),
    );
    expect_the_same(
        3,
        &format!("{LINKS} train.frame=4 model.name=tgcn plan.strategy=frames train.batch_size=4"),
    );
    expect_the_same(1, &format!("{LINKS} train.frame=4 model.name=wd-gcn"));
}

const DATA: &[&str] = &[
    "--data",
    "synthetic:sbm?vertices=60&steps=40&communities=3&inside=4&outside=1",
    "--frame",
    "all",
];

fn sim(folder: &Folder, more: &[&str]) -> Value {
    folder.json(&[&["sim", "--json"], DATA, more].concat())
}

#[test]
fn an_epoch_is_told_with_where_its_seconds_and_bytes_go() {
    let folder = Folder::new();
    let esdg = ["--model", "tm-gcn", "--machine", "esdg", "--ranks", "16"];
    let found = sim(&folder, &esdg);
    assert_eq!(found["calibrated"], false);
    assert_eq!(found["epoch"]["ranks"], 16);
    let seconds = found["epoch"]["seconds"].as_f64().unwrap();
    assert!(seconds > 0.0);
    let bytes = &found["epoch"]["bytes"];
    assert!(bytes["inside"].as_u64().unwrap() > 0 && bytes["between"].as_u64().unwrap() > 0);
    // On one node nothing crosses between nodes.
    let eight = sim(&folder, &["--model", "tm-gcn", "--machine", "esdg", "--ranks", "8"]);
    assert_eq!(eight["epoch"]["bytes"]["between"], 0);
    let slow = sim(&folder, &[&esdg[..], &["--straggler", "5=0.2"]].concat());
    assert!(slow["epoch"]["seconds"].as_f64().unwrap() > seconds);
    assert!(slow["epoch"]["mean"]["wait"].as_f64() > found["epoch"]["mean"]["wait"].as_f64());
    let text = folder.text(&[&["sim", "--quiet"], DATA, &esdg].concat());
    for word in [
        "16 ranks",
        "2 nodes",
        "not calibrated",
        "no interval",
        "between nodes",
        "memory of a rank",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn snapshots_that_are_streamed_go_to_the_gpus_of_the_machine_and_are_counted() {
    let folder = Folder::new();
    let streamed = [
        "--model",
        "cd-gcn",
        "--machine",
        "esdg",
        "--ranks",
        "2",
        "--set",
        "plan.residency=stream",
    ];
    let found = sim(&folder, &streamed);
    assert!(found["epoch"]["bytes"]["copies"].as_u64().unwrap() > 0, "{found}");
    assert!(found["epoch"]["mean"]["transfer"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_timeline_is_written_as_a_trace_and_as_a_picture() {
    let folder = Folder::new();
    let more = [
        "--model",
        "cd-gcn",
        "--machine",
        "sven",
        "--ranks",
        "4",
        "--trace",
        "t.json",
        "--svg",
        "t.svg",
    ];
    sim(&folder, &more);
    let trace: Vec<Value> = serde_json::from_slice(&folder.bytes("t.json")).unwrap();
    for name in ["structure", "exchange", "backward", "update"] {
        assert!(trace.iter().any(|event| event["name"] == name && event["ph"] == "X"), "{name}");
    }
    assert!(String::from_utf8(folder.bytes("t.svg")).unwrap().starts_with("<svg"));
    let again = folder.run(&[&["sim"], DATA, &more].concat());
    assert_eq!(again.code(), Some(2), "files are not replaced without --force");
}

#[test]
fn failures_and_prices_of_a_machine_file_are_told_for_the_whole_run() {
    let folder = Folder::new();
    let text = Machine::text_of("h100x1024").unwrap();
    folder.write("own.toml", &format!("{text}\n[price]\nnode_dollars_per_hour = 25.0\n"));
    let found = sim(
        &folder,
        &["--model", "tm-gcn", "--machine", "own.toml", "--ranks", "16", "--epochs", "1000"],
    );
    let run = &found["run"];
    let number = |value: &Value| value.as_f64().unwrap();
    assert_eq!(number(&run["failures"]["failure_seconds"]), 6334.0 * 3600.0 / 2.0);
    assert!(number(&run["failures"]["seconds"]) > number(&run["seconds"]));
    let dollars = 2.0 * 25.0 * number(&run["failures"]["seconds"]) / 3600.0;
    assert!((number(&run["dollars"]) - dollars).abs() <= 1e-9 * dollars);
}

#[test]
fn what_cannot_be_simulated_is_refused_with_the_reason() {
    let folder = Folder::new();
    folder.write("bad.toml", &Machine::text_of("laptop").unwrap().replace("latency", "latensy"));
    for (more, expected) in [
        (&["--machine", "lap-top"][..], "did you mean `laptop`"),
        (
            &["--machine", "bad.toml"][..],
            "bad.toml:22: unknown key `links.inside.latensy`, did you mean `links.inside.latency`",
        ),
        (&["--machine", "none.toml"][..], "none.toml"),
        (
            &["--machine", "laptop", "--ranks", "3"][..],
            "3 ranks, but laptop has 1 nodes of 2 devices",
        ),
        (&["--machine", "laptop", "--ranks", "2", "--straggler", "2=0.5"][..], "there are 2 ranks"),
        (&["--machine", "laptop", "--straggler", "0=-1"][..], "expected RANK=SPEED"),
        (&["--machine", "esdg", "--device", "cpu"][..], "esdg has GPUs"),
    ] {
        let outcome = folder.run(&[&["sim", "--quiet"], DATA, more].concat());
        assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
        assert!(outcome.stderr_text().contains(expected), "{}", outcome.stderr_text());
    }
    let data = "synthetic:bipartite?users=30&items=20&events=300&features=3";
    let events = folder.run(&["sim", "--data", data, "--model", "tgn", "--machine", "laptop"]);
    assert_eq!(events.code(), Some(2));
    assert!(events.stderr_text().contains("learns from events"), "{}", events.stderr_text());
}

#[test]
fn the_help_names_every_machine_that_is_built_in() {
    let help = Folder::new().text(&["sim", "--help"]);
    for name in Machine::names() {
        assert!(help.contains(name), "{name}");
    }
}
