//! `zoetrope data convert` and `data generate`, from outside.

mod binary;

use binary::{EVENTS, Folder};

#[test]
fn a_converted_file_holds_the_same_events() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let text = folder.text(&["data", "convert", "events.csv", "copy.tsv.gz"]);
    assert!(text.starts_with("wrote copy.tsv.gz (edge-list"), "{text}");
    let before = folder.json(&["data", "inspect", "events.csv", "--json"]);
    let after = folder.json(&["data", "inspect", "copy.tsv.gz", "--json"]);
    for key in ["vertices", "events", "time", "weight", "pairs", "self_loops", "degrees"] {
        assert_eq!(before[key], after[key], "{key}");
    }
}

#[test]
fn events_become_one_snapshot_a_window() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let done =
        folder.json(&["data", "convert", "events.csv", "days.npz", "--window", "1d", "--json"]);
    assert_eq!(done["format"], "npz");
    assert_eq!(done["snapshots"], 3);
    assert_eq!(done["events"], 9);
    let found = folder.json(&["data", "inspect", "days.npz", "--json"]);
    assert_eq!(found["snapshots"], 3);
    assert_eq!(found["events"], 9);
    assert_eq!(found["vertices"], 4);
}

#[test]
fn merging_decides_the_weights() {
    let folder = Folder::new();
    folder.write("events.csv", "src,dst,t,w\n0,1,0,1\n0,1,1,5\n0,1,2,3\n");
    for (rule, expected) in [("sum", 9.0), ("mean", 3.0), ("last", 3.0), ("count", 3.0)] {
        let out = format!("{rule}.npz");
        folder.text(&["data", "convert", "events.csv", &out, "--window", "1d", "--merge", rule]);
        let found = folder.json(&["data", "inspect", &out, "--json"]);
        assert_eq!(found["weight"]["max"], expected, "{rule}");
        assert_eq!(found["events"], 1, "{rule}");
    }
    folder.text(&["data", "convert", "events.csv", "all.npz", "--window", "1d", "--merge", "none"]);
    let found = folder.json(&["data", "inspect", "all.npz", "--json"]);
    assert_eq!(found["events"], 3);
}

#[test]
fn degrees_become_features_of_vertices() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let arguments = ["data", "convert", "events.csv", "out.npz", "--window", "1d"];
    folder.text(&[&arguments[..], &["--features", "degree"]].concat());
    let found = folder.json(&["data", "inspect", "out.npz", "--json"]);
    assert_eq!(found["features"]["node"], 2);
    assert_eq!(found["node_features"]["all"]["max"], 2.0);
}

#[test]
fn lags_turn_a_series_into_features_and_targets() {
    let folder = Folder::new();
    let series = "{\"edges\": [[0, 1], [1, 0]], \"weights\": [1, 1], \
                   \"FX\": [[1, 5], [2, 6], [3, 7], [4, 9]]}";
    folder.write("series.json", series);
    let done = folder.json(&["data", "convert", "series.json", "out.npz", "--lags", "2", "--json"]);
    assert_eq!((&done["snapshots"], &done["vertices"]), (&2.into(), &2.into()));
    let found = folder.json(&["data", "inspect", "out.npz", "--json"]);
    assert_eq!(found["features"]["node"], 2);
    assert!(found["signal"].is_null(), "{found}");
    // Trained on, both are the same data: the loss agrees to the last bit.
    let loss = |data: &str, out: &str, more: &[&str]| {
        let train =
            ["train", "--data", data, "--out", out, "--epochs", "2", "--frame", "2", "--json"];
        let whole = [&train[..], &["--set", "data.split=none"], more].concat();
        folder.json(&whole)["epochs"][1]["loss"].as_f64().unwrap()
    };
    // Converted lags are not scaled again, so neither may the series be.
    let lags = ["--set", "data.lags=2", "--set", "data.scaling=raw"];
    assert_eq!(loss("out.npz", "a", &[]), loss("series.json", "b", &lags));
    folder.write("events.csv", EVENTS);
    let refused = folder.run(&["data", "convert", "events.csv", "no.npz", "--lags", "2"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.stderr_text().contains("no series"));
}

#[test]
fn nothing_is_replaced_without_force() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    folder.write("copy.tsv", "precious");
    let refused = folder.run(&["data", "convert", "events.csv", "copy.tsv"]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.stderr_text().contains("--force"));
    assert_eq!(std::fs::read_to_string(folder.path("copy.tsv")).unwrap(), "precious");
    folder.text(&["data", "convert", "events.csv", "copy.tsv", "--force"]);
    assert_ne!(std::fs::read_to_string(folder.path("copy.tsv")).unwrap(), "precious");
}

#[test]
fn input_and_output_may_not_be_the_same_file() {
    let folder = Folder::new();
    folder.write("events.csv", EVENTS);
    let outcome = folder.run(&["data", "convert", "events.csv", "./events.csv", "--force"]);
    assert_eq!(outcome.code(), Some(2));
    assert_eq!(std::fs::read_to_string(folder.path("events.csv")).unwrap(), EVENTS);
}

#[test]
fn what_snapshots_cannot_hold_is_dropped_only_on_request() {
    let folder = Folder::new();
    folder.write("labelled.csv", "src,dst,t,label\n0,1,0,1\n1,2,9,0\n");
    let arguments = ["data", "convert", "labelled.csv", "out.npz", "--window", "1d"];
    let refused = folder.run(&arguments);
    assert_eq!(refused.code(), Some(2));
    let error = refused.stderr_text();
    assert!(error.contains("snapshots cannot hold event labels"), "{error}");
    assert!(error.contains("--drop"), "{error}");
    assert!(!folder.path("out.npz").exists());
    let mut dropping = arguments.to_vec();
    dropping.push("--drop");
    let text = folder.text(&dropping);
    assert!(text.contains("left out: event labels"), "{text}");
}

#[test]
fn what_a_format_cannot_hold_is_dropped_only_on_request() {
    let folder = Folder::new();
    folder.write("sides.csv", "src,dst,t,w\na,x,0,1\nb,y,9,2\n");
    let arguments = ["data", "convert", "sides.csv", "out.csv", "--to", "jodie-csv"];
    let refused = folder.run(&arguments);
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr_text());
    assert!(refused.stderr_text().contains("cannot hold weights"), "{}", refused.stderr_text());
    assert!(!folder.path("out.csv").exists());
    let mut dropping = arguments.to_vec();
    dropping.push("--drop");
    assert!(folder.text(&dropping).contains("left out: weights"));
}

#[test]
fn a_generated_file_is_the_same_for_the_same_seed() {
    let folder = Folder::new();
    let make = |out: &str, seed: &str| {
        let name = "uniform";
        let size = "vertices=40";
        folder.text(&["data", "generate", name, size, "steps=3", "--seed", seed, "--out", out]);
        std::fs::read(folder.path(out)).unwrap()
    };
    assert_eq!(make("a.npz", "7"), make("b.npz", "7"));
    assert_ne!(make("c.npz", "7"), make("d.npz", "8"));
    let found = folder.json(&["data", "inspect", "a.npz", "--json"]);
    assert_eq!(found["vertices"], 40);
    assert_eq!(found["snapshots"], 3);
}

#[test]
fn the_catalogue_lists_every_generator_with_its_parameters() {
    let folder = Folder::new();
    let overview = folder.text(&["data", "generate", "--list"]);
    let document = folder.json(&["data", "generate", "--list", "--json"]);
    let generators = document["generators"].as_array().unwrap();
    assert!(generators.len() >= 2);
    for generator in generators {
        let name = generator["name"].as_str().unwrap();
        assert!(overview.contains(name), "{name}");
        let page = folder.text(&["data", "generate", "--list", name]);
        for parameter in generator["parameters"].as_array().unwrap() {
            assert!(page.contains(parameter["name"].as_str().unwrap()), "{page}");
        }
    }
}

#[test]
fn an_unknown_generator_or_parameter_is_wrong_usage() {
    let folder = Folder::new();
    for arguments in [
        &["data", "generate", "nonsense", "--out", "x.npz"][..],
        &["data", "generate", "uniform", "vertexes=3", "--out", "x.npz"],
        &["data", "generate", "uniform", "--out", "no/such/folder/x.npz"],
        &["data", "generate", "uniform"],
        &["data", "generate", "--list", "nonsense"],
    ] {
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code(), Some(2), "{arguments:?}: {}", outcome.stderr_text());
    }
    assert!(!folder.path("x.npz").exists());
}

#[test]
fn snapshots_of_a_shuffled_file_equal_those_of_the_sorted_one() {
    let folder = Folder::new();
    folder.text(&["data", "generate", "aml", "events=3k", "--out", "sorted.csv"]);
    let sorted = String::from_utf8(folder.bytes("sorted.csv")).unwrap();
    let mut rows: Vec<&str> = sorted.lines().skip(1).collect();
    // Any fixed permutation will do: order by a hash-like function of the position.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| (row * 7_919 + 13) % 10_007);
    rows = order.into_iter().map(|row| rows[row]).collect();
    let header = sorted.lines().next().unwrap();
    folder.write("shuffled.csv", &format!("{header}\n{}\n", rows.join("\n")));
    for (rule, more) in
        [("sum", None), ("mean", None), ("last", None), ("count", Some("--undirected"))]
    {
        for name in ["sorted", "shuffled"] {
            let (source, out) = (format!("{name}.csv"), format!("{name}-{rule}.npz"));
            let mut arguments =
                vec!["data", "convert", &source, &out, "--window", "6h", "--merge", rule, "--drop"];
            arguments.extend(more);
            folder.text(&arguments);
        }
        let bytes = |name: &str| folder.bytes(&format!("{name}-{rule}.npz"));
        assert!(bytes("sorted") == bytes("shuffled"), "{rule}");
    }
}

#[test]
fn snapshots_become_events_of_their_step_in_a_format_of_events() {
    let folder = Folder::new();
    let name = "synthetic:uniform?steps=4&vertices=50&density=2&features=none";
    let done = folder.json(&["data", "convert", name, "edges.parquet", "--json"]);
    assert_eq!(done["format"], "parquet");
    let found = folder.json(&["data", "inspect", "edges.parquet", "--json"]);
    assert_eq!((found["events"].as_u64(), found["time"]["last"].as_i64()), (Some(400), Some(3)));
}
