//! `--data facts:FILE`: a graph of which only sizes are known is simulated as the graph itself is.

mod binary;

use std::path::Path;

use binary::Folder;
use serde_json::{Value, json};
use zoetrope_config::{Config, ConfigBuilder};
use zoetrope_data::{GraphFacts, Quiet};
use zoetrope_plan::{Task, TaskGraph, TaskKind};
use zoetrope_sim::Machine;
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::foretell;

fn config(settings: &str) -> Config {
    settings.split_whitespace().fold(Config::builder(), ConfigBuilder::set).build().unwrap()
}

fn programs(settings: &str, material: &SnapshotInput, machine: &str) -> Vec<TaskGraph> {
    let (machine, mut all) = (Machine::named(machine).unwrap(), Vec::new());
    foretell(config(settings), material, None, &machine, &mut |program| all.push(program)).unwrap();
    all
}

/// The programs of the data and those of its facts.
fn both(data: &str, settings: &str, machine: &str) -> [Vec<TaskGraph>; 2] {
    let settings = format!("data.path={data} {settings}");
    let told = Folder::new().text(&["data", "inspect", data, "--json"]);
    let facts = GraphFacts::parse(told.as_bytes(), Path::new("facts.json")).unwrap();
    let asked = config(&settings);
    let known = SnapshotInput::of_facts(&facts, &asked).unwrap();
    let whole = SnapshotInput::open(&asked, &Quiet).unwrap();
    [programs(&settings, &whole, machine), programs(&settings, &known, machine)]
}

const CHANGING: &str = "synthetic:sbm?vertices=170&steps=17&communities=3&inside=4&outside=1";

#[test]
fn facts_give_the_tasks_and_bytes_of_the_data_itself() {
    let links = "task.name=link-prediction data.split=80/20 train.frame=all";
    for (data, settings) in [
        (CHANGING, format!("{links} model.name=tm-gcn train.ranks=4 plan.strategy=snapshot")),
        (
            CHANGING,
            format!("{links} model.name=cd-gcn train.ranks=3 plan.strategy=snapshot plan.blocks=3"),
        ),
        (
            CHANGING,
            format!(
                "{links} model.name=evolvegcn-o model.variant=paper train.ranks=4 plan.strategy=snapshot"
            ),
        ),
        (CHANGING, "task.name=link-prediction model.name=wd-gcn train.frame=4".to_owned()),
        (CHANGING, "model.name=tgcn train.frame=5 train.ranks=2 plan.strategy=snapshot".to_owned()),
    ] {
        let [of_data, of_facts] = both(data, &settings, "laptop");
        assert_eq!(of_data, of_facts, "{settings}");
    }
}

#[test]
fn what_goes_to_gpus_is_estimated_within_a_twentieth_and_everything_else_is_told() {
    let data = "synthetic:sbm?vertices=3000&steps=17&communities=3&inside=8&outside=2";
    let gpu = "task.name=link-prediction data.split=80/20 train.frame=all train.device=cuda \
               train.ranks=2 plan.strategy=snapshot plan.residency=stream plan.blocks=2";
    for settings in [
        format!("{gpu} model.name=tm-gcn plan.difference=off"),
        format!("{gpu} model.name=cd-gcn plan.difference=off"),
        format!("{gpu} model.name=cd-gcn plan.difference=on"),
    ] {
        let [of_data, of_facts] = both(data, &settings, "esdg");
        let others = |all: &[TaskGraph]| -> Vec<Task> {
            let bare = |task: &Task| match task.kind {
                TaskKind::Copy => Task { bytes: None, ..task.clone() },
                _ => task.clone(),
            };
            all.iter().flat_map(|program| program.tasks.iter().map(bare)).collect()
        };
        assert_eq!(others(&of_data), others(&of_facts), "{settings}");
        for (real, told) in of_data.iter().zip(&of_facts) {
            let [real, told] = [real, told].map(|one| one.bytes_of(TaskKind::Copy));
            assert!(real > 0 && real.abs_diff(told) * 20 <= real, "{settings}: {told}, not {real}");
        }
    }
}

#[test]
fn ten_billion_edges_are_simulated_without_one_of_them() {
    let folder = Folder::new();
    let facts = json!({"vertices": 20_000_000, "snapshots": 100, "events": 10_000_000_000_u64,
        "change": 0.02, "features": {"node": 8}});
    folder.write("large.json", &facts.to_string());
    let found = folder.json(&[
        "sim",
        "--data",
        "facts:large.json",
        "--model",
        "tm-gcn",
        "--hidden",
        "16",
        "--frame",
        "all",
        "--machine",
        "h100x1024",
        "--ranks",
        "64",
        "--set",
        "plan.strategy=snapshot",
        "--json",
    ]);
    assert_eq!(found["epoch"]["ranks"], 64);
    assert!(found["epoch"]["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn rows_of_ranks_that_divide_vertices_are_said_to_be_estimated() {
    let folder = Folder::new();
    let facts =
        json!({"vertices": 2_000, "snapshots": 20, "events": 90_000, "features": {"node": 2}});
    folder.write("small.json", &facts.to_string());
    let by_vertex = folder.json(&[
        "sim",
        "--data",
        "facts:small.json",
        "--model",
        "tm-gcn",
        "--frame",
        "10",
        "--machine",
        "h100x1024",
        "--ranks",
        "2",
        "--set",
        "plan.strategy=vertex",
        "--json",
    ]);
    let unknown: Vec<&Value> = by_vertex["unknown"].as_array().unwrap().iter().collect();
    assert!(
        unknown.iter().any(|note| note.as_str().unwrap().contains("random partition")),
        "{unknown:?}"
    );
    let exchange = by_vertex["epoch"]["kinds"].as_array().unwrap().iter();
    let bytes = exchange.filter(|one| one["kind"] == "exchange").map(|one| one["bytes"].as_u64());
    assert!(bytes.flatten().sum::<u64>() > 0);
}

#[test]
fn facts_are_refused_if_the_data_is_needed() {
    let folder = Folder::new();
    let facts = json!({"vertices": 20, "snapshots": 30, "events": 900, "features": {"node": 2}});
    folder.write("small.json", &facts.to_string());
    let data = ["--data", "facts:small.json"];
    for (arguments, expected) in [
        (&["train"][..], "zoetrope sim --data facts:FILE"),
        (&["plan"][..], "zoetrope sim --data facts:FILE"),
        (&["sim", "--machine", "laptop", "--model", "tgn"][..], "learns from events"),
        (&["sim", "--machine", "laptop", "--set", "data.edge_life=3"][..], "data.edge_life"),
        (&["sim", "--machine", "laptop", "--set", "data.features=learned"][..], "learned"),
    ] {
        let outcome = folder.run(&[arguments, &data].concat());
        assert_eq!(outcome.code(), Some(2), "{arguments:?}: {}", outcome.stderr_text());
        assert!(outcome.stderr_text().contains(expected), "{}", outcome.stderr_text());
    }
}
