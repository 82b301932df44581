//! What a trace shows is the program that the plan is lowered to: task by task, byte by byte.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use zoetrope_config::{Config, ConfigBuilder};
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Timeouts, threads};
use zoetrope_plan::{TaskGraph, TaskKind};
use zoetrope_run::{Timeline, TraceFile};
use zoetrope_testkit::emulator;
use zoetrope_train::TrainError;
use zoetrope_train::events::{EventInput, EventSession};
use zoetrope_train::observer::Unobserved;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;
use zoetrope_train::training_run::{EpochEnd, Epochs};

fn config(ranks: usize, settings: &str) -> Config {
    let shared =
        if ranks > 1 { format!("train.ranks={ranks} plan.timeout=300") } else { String::new() };
    let all = settings.split_whitespace().chain(shared.split_whitespace());
    all.fold(Config::builder(), ConfigBuilder::set).build().unwrap()
}

/// A task as a trace shows it.
#[derive(Debug, PartialEq)]
struct Shown {
    name: String,
    layer: Option<u64>,
    bytes: Option<u64>,
}

/// The tasks of each epoch of a trace, in their order.
fn shown(path: &Path) -> Vec<Vec<Shown>> {
    let events: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut epochs: Vec<Vec<Shown>> = Vec::new();
    for event in events.iter().filter(|event| event["cat"] == "task") {
        let args = &event["args"];
        let number = args["task"].as_u64().unwrap();
        if number == 0 {
            epochs.push(Vec::new());
        }
        let epoch = epochs.last_mut().unwrap();
        assert_eq!(epoch.len() as u64, number, "tasks are numbered in their order");
        epoch.push(Shown {
            name: event["name"].as_str().unwrap().to_owned(),
            layer: args["layer"].as_u64(),
            bytes: args["bytes"].as_u64(),
        });
    }
    epochs
}

#[track_caller]
fn expect_equal(what: &str, program: &TaskGraph, ran: &[Shown]) {
    for (number, (task, shown)) in program.tasks.iter().zip(ran).enumerate() {
        let bytes = task.bytes.map_or(shown.bytes, Some);
        let layer = task.layer.map(|layer| layer as u64);
        let layer = if task.kind == TaskKind::Embed { None } else { layer };
        let planned = Shown { name: task.kind.name().to_owned(), layer, bytes };
        assert_eq!(planned, *shown, "{what}: task {number}: {task:?}");
        assert!(task.after.iter().all(|&earlier| earlier < number), "{what}: {task:?}");
    }
    assert_eq!(program.tasks.len(), ran.len(), "{what}");
}

/// The program of a session and what it ran.
fn run_session(config: Config, ranks: Option<Ranks>, path: &Path) -> Result<TaskGraph, TrainError> {
    let trace = Arc::new(TraceFile::create(path, Instant::now())?);
    let timeline = Timeline::traced(Arc::clone(&trace), 0, "trainer");
    let material = SnapshotInput::open(&config, &Quiet)?;
    let epochs = config.train.epochs;
    let mut session = Session::start_shared(config, material, None, timeline, ranks)?;
    let program = session.program()?;
    for _ in 0..epochs {
        assert!(matches!(session.epoch(&mut Unobserved)?, EpochEnd::Finished(_)));
    }
    drop(session);
    trace.finish()?;
    Ok(program)
}

/// Compares all epochs of a run by so many ranks; returns the program of the first.
fn expect_program(ranks: usize, settings: &str) -> TaskGraph {
    let folder = tempfile::tempdir().unwrap();
    let path = |rank: usize| folder.path().join(format!("{rank}.json"));
    let programs = if ranks == 1 {
        vec![run_session(config(1, settings), None, &path(0)).unwrap()]
    } else {
        let (settings, root) = (settings.to_owned(), folder.path().to_owned());
        let program = move |own: Ranks| {
            let path = root.join(format!("{}.json", own.rank()));
            run_session(config(own.size(), &settings), Some(own), &path)
        };
        threads::run(ranks, Timeouts::default(), program).unwrap()
    };
    for (rank, program) in programs.iter().enumerate() {
        assert!(program.count_of(TaskKind::Update) > 0);
        let epochs = shown(&path(rank));
        assert!(!epochs.is_empty());
        for (epoch, ran) in epochs.iter().enumerate() {
            expect_equal(&format!("{settings}, rank {rank}, epoch {epoch}"), program, ran);
        }
    }
    programs.into_iter().next().unwrap()
}

const SERIES: &str = "data.path=synthetic:demo?vertices=20&steps=24 data.split=80/20 train.frame=4 \
                      train.epochs=2";

/// A graph whose ranks have unlike shares: 17 vertices, 13 snapshots to train on.
const LINKS: &str = "data.path=synthetic:sbm?vertices=17&steps=17&communities=3&inside=2&outside=1 \
                     task.name=link-prediction data.split=80/20 train.epochs=2";

#[test]
fn one_rank_does_what_its_program_says_with_every_model() {
    for model in zoetrope_nn::model::NAMES {
        let program = expect_program(1, &format!("{SERIES} model.name={model} train.batch_size=2"));
        let structured = program.count_of(TaskKind::Structure) > 0;
        assert_eq!(structured, model != "gc-lstm", "its convolution is inside of its recurrence");
        expect_program(1, &format!("{LINKS} model.name={model} train.frame=5"));
    }
}

#[test]
fn groups_stretches_and_the_last_snapshot_are_in_the_program() {
    let grouped = expect_program(1, &format!("{SERIES} model.name=cd-gcn plan.group=2"));
    let whole = expect_program(1, &format!("{SERIES} model.name=cd-gcn plan.group=4"));
    let structure = |program: &TaskGraph| program.count_of(TaskKind::Structure);
    assert_eq!(structure(&grouped), 2 * structure(&whole));
    for more in [
        "model.name=tgcn train.truncate=3 train.carry_state=true train.frame=7",
        "model.name=tgcn train.truncate=3 train.frame=8 train.loss=last",
        "model.name=tgcn plan.reuse=false plan.order=update-first train.stride=4",
        "model.name=wd-gcn model.dropout=0.2 train.shuffle=false",
    ] {
        expect_program(1, &format!("{SERIES} {more}"));
    }
}

#[test]
fn blocks_are_in_the_program_kept_and_recomputed() {
    for model in ["tm-gcn", "cd-gcn", "evolvegcn-o"] {
        let settings = format!("{LINKS} model.name={model} train.frame=all plan.blocks=3");
        let again = expect_program(1, &settings);
        let kept = expect_program(1, &format!("{settings} plan.recompute=false"));
        let time = |program: &TaskGraph| program.count_of(TaskKind::Time);
        assert_eq!(3 * time(&again), 5 * time(&kept), "two of three blocks run twice");
    }
}

#[test]
fn ranks_that_share_cells_do_what_their_programs_say() {
    for model in ["tm-gcn", "cd-gcn", "evolvegcn-o", "tgcn", "gc-lstm", "mpnn-lstm", "evolvegcn-h"]
    {
        for strategy in ["snapshot", "vertex", "hypergraph", "hybrid"] {
            let frame = if model == "mpnn-lstm" { "12" } else { "all" };
            let settings =
                format!("{LINKS} model.name={model} train.frame={frame} plan.strategy={strategy}");
            let program = expect_program(4, &settings);
            assert!(program.bytes_of(TaskKind::AllReduce) > 0);
            assert_eq!(program.bytes_of(TaskKind::AllGather) > 0, model == "mpnn-lstm");
            let exchanges = model != "evolvegcn-o" || strategy != "snapshot";
            assert_eq!(program.bytes_of(TaskKind::Exchange) > 0, exchanges, "{settings}");
        }
    }
    for more in [
        "model.name=tm-gcn plan.strategy=snapshot plan.blocks=3",
        "model.name=cd-gcn plan.strategy=hybrid plan.blocks=2 plan.reuse=false",
        "model.name=cd-gcn plan.strategy=hypergraph plan.blocks=5 plan.recompute=false",
        "model.name=evolvegcn-o plan.strategy=hybrid train.loss=last plan.blocks=2",
        "model.name=tm-gcn plan.strategy=snapshot plan.overlap=true",
        "model.name=cd-gcn plan.strategy=snapshot plan.overlap=true plan.blocks=2",
        "model.name=cd-gcn model.variant=paper plan.strategy=hybrid plan.reuse=false",
        "model.name=tgcn model.variant=paper plan.strategy=snapshot plan.reuse=false",
        "model.name=wd-gcn plan.strategy=snapshot plan.order=update-first plan.group=1",
        "model.name=tm-gcn plan.strategy=vertex model.hidden=40",
        "model.name=gc-lstm plan.strategy=hybrid plan.blocks=3",
        "model.name=gc-lstm model.variant=paper model.k=3 plan.strategy=hypergraph",
        "model.name=wd-gcn plan.strategy=hypergraph train.truncate=5",
        "model.name=tgcn plan.strategy=snapshot train.truncate=4 train.loss=last",
    ] {
        expect_program(4, &format!("{LINKS} train.frame=all {more}"));
    }
    // Vertices enough for several pieces of each rank.
    let many = "data.path=synthetic:sbm?vertices=900&steps=8&communities=3&inside=2&outside=1 \
                task.name=link-prediction data.split=80/20 train.epochs=1 train.frame=all";
    for more in [
        "model.name=cd-gcn",
        "model.name=wd-gcn plan.reuse=false plan.blocks=2",
        "model.name=tm-gcn plan.reuse=false",
    ] {
        expect_program(2, &format!("{many} plan.strategy=snapshot plan.overlap=true {more}"));
    }
    for more in [
        "model.name=a3tgcn plan.strategy=snapshot",
        "model.name=a3tgcn model.variant=paper plan.strategy=hybrid",
        "model.name=dysat model.heads=1 model.layers=2 plan.strategy=hypergraph",
        "model.name=mpnn-lstm model.variant=paper plan.strategy=hybrid",
        "model.name=cd-gcn plan.strategy=hybrid train.carry_state=true",
    ] {
        expect_program(4, &format!("{LINKS} train.frame=6 {more}"));
    }
}

#[test]
fn ranks_that_take_different_frames_do_what_their_programs_say() {
    for model in ["tgcn", "mpnn-lstm", "dysat"] {
        let settings =
            format!("{SERIES} model.name={model} plan.strategy=frames train.batch_size=4");
        let program = expect_program(3, &settings);
        assert_eq!(program.bytes_of(TaskKind::Exchange), 0);
    }
}

#[test]
fn snapshots_that_are_streamed_to_a_gpu_are_copied_as_their_program_says() {
    let test = "snapshots_that_are_streamed_to_a_gpu_are_copied_as_their_program_says";
    if !emulator::is_here(test, &[]) {
        return;
    }
    // An update that is launched as it was recorded shows no tasks.
    let gpu = "train.device=cuda plan.residency=stream plan.difference=off";
    for more in [
        "model.name=tm-gcn plan.reuse=false plan.record=false",
        "model.name=tgcn plan.reuse=false train.batch_size=2 train.epochs=1",
        "model.name=evolvegcn-o plan.record=false",
        "model.name=cd-gcn plan.blocks=2 train.frame=6 plan.reuse=false train.stride=6",
    ] {
        let program = expect_program(1, &format!("{SERIES} {gpu} {more}"));
        assert!(program.bytes_of(TaskKind::Copy) > 0, "{more}");
    }
    // The bytes of differences depend on what was sent before them.
    let gpu = "train.device=cuda plan.residency=stream plan.difference=on plan.record=false";
    for (ranks, more) in [
        (1, "model.name=tm-gcn plan.reuse=false train.stride=2"),
        (
            2,
            "model.name=cd-gcn plan.reuse=false train.frame=6 plan.strategy=snapshot plan.blocks=2",
        ),
    ] {
        let program = expect_program(ranks, &format!("{SERIES} {gpu} {more}"));
        assert!(program.bytes_of(TaskKind::Copy) > 0, "{more}");
    }
    expect_program(1, &format!("{SERIES} model.name=tgcn train.device=cuda plan.record=false"));
}

#[test]
fn states_between_blocks_leave_a_gpu_and_come_back_as_their_program_says() {
    let test = "states_between_blocks_leave_a_gpu_and_come_back_as_their_program_says";
    if !emulator::is_here(test, &[]) {
        return;
    }
    let gpu = "train.device=cuda plan.record=false plan.block_states=stream plan.reuse=false";
    // Blocks of one snapshot: the state of an average over three snapshots is not the same size before each.
    for (ranks, more) in [
        (1, "model.name=tm-gcn plan.blocks=12 plan.residency=stream plan.difference=on"),
        (1, "model.name=tgcn plan.blocks=5 train.epochs=1"),
        (2, "model.name=cd-gcn plan.blocks=6 plan.strategy=snapshot plan.residency=stream"),
        (2, "model.name=evolvegcn-o plan.blocks=4 plan.strategy=hypergraph train.epochs=1"),
    ] {
        let all = format!("{SERIES} {gpu} train.frame=12 train.stride=6 {more}");
        let program = expect_program(ranks, &all);
        assert!(program.bytes_of(TaskKind::Store) > 0, "{more}");
        assert!(program.bytes_of(TaskKind::Copy) >= program.bytes_of(TaskKind::Store), "{more}");
    }
}

fn expect_event_program(settings: &str) -> TaskGraph {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let trace = Arc::new(TraceFile::create(&path, Instant::now()).unwrap());
    let timeline = Timeline::traced(Arc::clone(&trace), 0, "trainer");
    let config = config(1, settings);
    let material = EventInput::open(&config, &Quiet).unwrap();
    let mut session = EventSession::start(config, material, None, timeline).unwrap();
    let program = session.program();
    assert!(matches!(session.epoch(&mut Unobserved).unwrap(), EpochEnd::Finished(_)));
    trace.finish().unwrap();
    let epochs = shown(&path);
    expect_equal(settings, &program, &epochs[0]);
    program
}

#[test]
fn batches_of_events_do_what_their_program_says() {
    let data = "data.path=synthetic:bipartite?users=30&items=20&events=700&features=3&labels=0.2 \
                model.hidden=8 train.batch_size=100 train.epochs=1";
    for model in ["tgn", "jodie", "apan", "tgat"] {
        for more in ["", "plan.prefetch=false", "task.name=edge-classification"] {
            let program = expect_event_program(&format!("{data} model.name={model} {more}"));
            let remembers = program.count_of(TaskKind::Remember) > 0;
            assert_eq!(remembers, model != "tgat");
        }
    }
    // Few times with many events each: batches go through the model in several steps.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ties.csv");
    let row = |event: usize| format!("u{},i{},{}\n", event * 7 % 13, event * 5 % 11, event / 60);
    let rows: String = (0..420).map(row).collect();
    std::fs::write(&path, format!("src,dst,time\n{rows}")).unwrap();
    let settings = format!(
        "data.path={} model.hidden=8 train.batch_size=20 train.epochs=1 model.name=tgn \
         task.name=link-prediction",
        path.display()
    );
    let program = expect_event_program(&settings);
    assert!(program.tasks.iter().any(|task| task.block.is_some()));
}
