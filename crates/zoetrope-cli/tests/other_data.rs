//! A run used on other data than its own means the same by it: vertices and classes by name, the
//! weights of edges, the width of windows.

mod binary;

use std::fmt::Write;
use std::time::Duration;

use binary::{Folder, command};
use serde_json::Value;

/// Draws the same numbers in every test.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// Events of 20 people, one every 10 seconds.
fn events(count: usize, name: impl Fn(u64) -> String) -> String {
    let mut draw = Draw(5);
    let mut text = "src,dst,time\n".to_owned();
    for event in 0..count {
        let src = draw.below(20);
        let dst = (src + 1 + draw.below(3)) % 20;
        writeln!(text, "{},{},{}", name(src), name(dst), 10 * event).unwrap();
    }
    text
}

fn run(folder: &Folder, data: &str, more: &[&str]) -> Value {
    let start = ["train", "--data", data, "--out", "run", "--quiet", "--json", "--hidden", "8"];
    folder.json(&[&start[..], &["--lr", "0.02", "--threads", "1"], more].concat())
}

/// What a run predicts for pairs, by the text of each row.
fn predictions(folder: &Folder, data: &str, pairs: &str, out: &str) -> Vec<String> {
    let arguments = ["--data", data, "--pairs", pairs, "--out", out, "--force", "--json"];
    folder.json(&[&["predict", "--run", "run"][..], &arguments].concat());
    let text = String::from_utf8(folder.bytes(out)).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn learned_features_follow_the_names_of_vertices() {
    for model in ["dysat", "jodie"] {
        let folder = Folder::new();
        // The new one comes before all others in the order of names, so that every number changes.
        let old = events(600, |vertex| format!("p{vertex:02}"));
        folder.write("e.csv", &old);
        folder.write("longer.csv", &format!("{old}a00,p01,6000\np02,a00,6010\n"));
        folder.write("others.csv", &events(600, |vertex| format!("q{vertex:02}")));
        let epochs = ["--model", model, "--set", "data.features=learned", "--epochs", "3"];
        run(&folder, "e.csv", &[&epochs[..], &["--task", "link-prediction"]].concat());
        assert!(folder.path("run/vertices.json").is_file());
        let time = if model == "jodie" { "time" } else { "snapshot" };
        let asked = if model == "jodie" { 5_000 } else { 40 };
        folder.write("p.csv", &format!("src,dst,{time}\np01,p02,{asked}\np07,p03,{asked}\n"));
        let own = predictions(&folder, "e.csv", "p.csv", "own.csv");
        assert_eq!(own.len(), 2);
        assert_eq!(predictions(&folder, "longer.csv", "p.csv", "longer-out.csv"), own, "{model}");
        let told = folder.json(&["eval", "--run", "run", "--data", "longer.csv", "--json"]);
        let notes = told["warnings"].to_string();
        assert!(notes.contains("1 vertices are not in the run's data"), "{model}: {notes}");
        let strangers = folder.run(&["eval", "--run", "run", "--data", "others.csv"]);
        assert_eq!(strangers.code(), Some(2), "{}", strangers.stderr_text());
        assert!(strangers.stderr_text().contains("none of the vertices"));
    }
}

#[test]
fn one_hot_columns_of_other_vertices_are_refused() {
    let folder = Folder::new();
    let old = events(400, |vertex| format!("p{vertex:02}"));
    folder.write("e.csv", &old);
    folder.write("other.csv", &old.replace("p07", "a07"));
    let model = ["--model", "jodie", "--set", "data.features=one-hot", "--epochs", "1"];
    run(&folder, "e.csv", &model);
    let other = folder.run(&["eval", "--run", "run", "--data", "other.csv"]);
    assert_eq!(other.code(), Some(2), "{}", other.stderr_text());
    assert!(other.stderr_text().contains("1 of 20 are new"), "{}", other.stderr_text());
}

/// Events whose label says whether a feature is large.
fn labelled(labels: [&str; 2], only_first: bool) -> String {
    let mut draw = Draw(9);
    let mut text = "src,dst,time,f0,label\n".to_owned();
    for event in 0..600 {
        let (src, dst, value) = (draw.below(15), 15 + draw.below(15), draw.below(100));
        let label = if only_first { labels[0] } else { labels[usize::from(value > 80)] };
        writeln!(text, "{src},{dst},{},{value},{label}", 10 * event).unwrap();
    }
    text
}

#[test]
fn classes_keep_their_names() {
    let folder = Folder::new();
    folder.write("e.csv", &labelled(["ok", "fraud"], false));
    folder.write("calm.csv", &labelled(["ok", "fraud"], true));
    folder.write("scam.csv", &labelled(["ok", "scam"], false));
    let task = ["--model", "jodie", "--task", "edge-classification", "--epochs", "8"];
    let summary = run(&folder, "e.csv", &task);
    // The rarer class is the positive one: a model that has learnt finds it.
    assert!(summary["test"]["ap"].as_f64().unwrap() > 0.9, "{}", summary["test"]);
    let predict = |data: &str, out: &str| {
        folder.json(&["predict", "--run", "run", "--data", data, "--out", out, "--json"]);
        String::from_utf8(folder.bytes(out)).unwrap()
    };
    let (own, calm) = (predict("e.csv", "own.csv"), predict("calm.csv", "calm-out.csv"));
    let header = own.lines().next().unwrap();
    assert!(header.contains("p_ok,p_fraud"), "{header}");
    assert_eq!(calm.lines().next(), Some(header));
    let place = header.split(',').position(|name| name == "p_fraud").unwrap();
    let column = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
    };
    assert_eq!(column(&own), column(&calm));
    let scam = folder.json(&["eval", "--run", "run", "--data", "scam.csv", "--json"]);
    let notes = scam["warnings"].to_string();
    assert!(notes.contains("a label that the run was not trained on"), "{notes}");
}

#[test]
fn labels_of_minus_one_and_one_are_two_classes() {
    let folder = Folder::new();
    folder.write("e.csv", &labelled(["-1", "1"], false));
    let summary = run(&folder, "e.csv", &["--epochs", "8"]);
    assert_eq!(summary["task"], "edge-classification");
    assert!(summary["test"]["ap"].as_f64().unwrap() > 0.9, "{}", summary["test"]);
}

#[test]
fn the_weight_of_a_later_edge_changes_nothing_that_was_trained() {
    let folder = Folder::new();
    let mut draw = Draw(3);
    let mut good = "src,dst,time,weight\n".to_owned();
    for event in 0..800 {
        let (src, dst, weight) = (draw.below(20), draw.below(20), 1 + draw.below(9));
        writeln!(good, "{src},{dst},{},{weight}", 10 * event).unwrap();
    }
    let start = good.trim_end().rfind('\n').unwrap();
    folder.write("good.csv", &good);
    folder.write("odd.csv", &format!("{}\n1,2,7990,-4\n", &good[..start]));
    let model = ["--model", "tgcn", "--task", "link-prediction", "--set", "data.window=200"];
    let mut hashes = Vec::new();
    for data in ["good.csv", "odd.csv"] {
        let out = format!("run-{data}");
        let start = ["train", "--data", data, "--out", &out, "--quiet", "--json", "--hidden", "8"];
        folder.json(&[&start[..], &model, &["--epochs", "2"]].concat());
        hashes.push(folder.bytes(&format!("{out}/weights.safetensors")));
    }
    assert!(hashes[0] == hashes[1], "the last weight changed what was trained");
    let measured = |data: &str| {
        let arguments =
            ["eval", "--run", "run-odd.csv", "--split", "val", "--json", "--data", data];
        folder.json(&arguments)["metrics"].clone()
    };
    assert_eq!(measured("good.csv"), measured("odd.csv"));
}

#[test]
fn a_file_that_goes_on_is_cut_as_the_run_was() {
    let folder = Folder::new();
    let old = events(1200, |vertex| format!("{vertex}"));
    folder.write("e.csv", &old);
    let mut longer = old;
    (0..400).for_each(|at| {
        writeln!(longer, "{},{},{}", at % 20, (at + 3) % 20, 12_000 + 700 * at).unwrap()
    });
    folder.write("longer.csv", &longer);
    let summary = run(&folder, "e.csv", &["--model", "tgcn", "--epochs", "1"]);
    let chosen = summary["chosen"].to_string();
    assert!(chosen.contains("data.window"), "{chosen}");
    folder.write("p.csv", "src,dst,snapshot\n1,2,50\n3,4,50\n");
    let own = predictions(&folder, "e.csv", "p.csv", "own.csv");
    assert_eq!(predictions(&folder, "longer.csv", "p.csv", "longer-out.csv"), own);
}

#[test]
fn an_interrupted_run_judges_data_that_goes_on() {
    let folder = Folder::new();
    let old = events(1000, |vertex| format!("{vertex}"));
    folder.write("e.csv", &old);
    folder.write("longer.csv", &format!("{old}1,2,10000\n3,4,10010\n5,6,10020\n"));
    let train = ["train", "--data", "e.csv", "--out", "run", "--model", "tgn", "--hidden", "8"];
    let more = ["--epochs", "100000", "--checkpoint-every", "1", "--quiet"];
    let mut child = command(&folder.path("."), &[&train[..], &more].concat()).spawn().unwrap();
    let saved = folder.path("run/checkpoints/latest");
    for _ in 0..6000 {
        if saved.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(saved.exists(), "no checkpoint came");
    child.kill().unwrap();
    child.wait().unwrap();
    let measured =
        folder.json(&["eval", "--run", "run", "--data", "longer.csv", "--split", "new", "--json"]);
    assert_eq!(measured["memory"], "continued");
    assert!(measured["interrupted"]["epoch"].as_u64().unwrap() > 0, "{measured}");
}

#[test]
fn weights_beside_their_run_have_its_memory_without_a_model_name() {
    let folder = Folder::new();
    folder.write("e.csv", &events(1000, |vertex| format!("{vertex}")));
    let start = ["train", "--data", "e.csv", "--out", "run", "--quiet", "--json"];
    let summary = folder.json(&[&start[..], &["--epochs", "1"]].concat());
    let weights = ["--weights", "run/weights.safetensors", "--json"];
    let measured = folder.json(&[&["eval", "--data", "e.csv"][..], &weights].concat());
    assert_eq!((&measured["memory"], &measured["metrics"]), (&"run".into(), &summary["test"]));
}

#[test]
fn parts_without_anything_in_them_are_refused_before_training() {
    let folder = Folder::new();
    let rows: String = (0..300).map(|at| format!("{},{},7\n", at % 9, at % 11)).collect();
    folder.write("e.csv", &format!("src,dst,time\n{rows}"));
    let outcome = folder.run(&["train", "--data", "e.csv", "--out", "run"]);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stderr_text());
    assert!(!folder.path("run").exists());
    folder.json(&[
        "train",
        "--data",
        "e.csv",
        "--set",
        "data.split=none",
        "--epochs",
        "1",
        "--json",
    ]);
}

#[test]
fn a_feature_that_is_missing_is_named() {
    let folder = Folder::new();
    let mut draw = Draw(4);
    let (mut full, mut half, mut bare) = (String::new(), String::new(), String::new());
    full.push_str("src,dst,time,speed,height\n");
    half.push_str("src,dst,time,height\n");
    bare.push_str("src,dst,time\n");
    for event in 0..400 {
        let (src, dst, time) = (draw.below(20), draw.below(20), 10 * event);
        let (speed, height) = (draw.below(90), draw.below(7));
        writeln!(full, "{src},{dst},{time},{speed},{height}").unwrap();
        writeln!(half, "{src},{dst},{time},{height}").unwrap();
        writeln!(bare, "{src},{dst},{time}").unwrap();
    }
    folder.write("full.csv", &full);
    folder.write("half.csv", &half);
    folder.write("bare.csv", &bare);
    run(&folder, "full.csv", &["--model", "tgn", "--epochs", "1"]);
    for (data, columns) in
        [("half.csv", "column `speed`"), ("bare.csv", "columns `speed`, `height`")]
    {
        for command in [&["eval"][..], &["predict", "--out", "p.csv"], &["embed", "--out", "e.csv"]]
        {
            let outcome = folder.run(&[command, &["--run", "run", "--data", data, "-q"]].concat());
            let said = outcome.stderr_text();
            assert_eq!(outcome.code(), Some(2), "{data}: {said}");
            let named = said.contains(&format!("no {columns}, which the run was trained with"));
            assert!(named, "{data}: {said}");
        }
    }
}
