//! What `predict` and `embed` write: pairs, probabilities, identifiers, times.

mod binary;

use binary::Folder;
use serde_json::Value;

/// Forty days of events among twelve people, one of them a day without a weight.
fn events(missing: bool) -> String {
    let mut text = "src,dst,time,weight\n".to_owned();
    for at in 0..400u64 {
        // A fixed scramble: links repeat often enough to be learned from.
        let (src, dst) = ((at * 7 + at / 13) % 12, (at * 5 + at / 29) % 12);
        let day = format!("2024-{:02}-{:02}", 1 + at / 200, 1 + at % 200 / 10);
        let weight = if missing && at == 123 { String::new() } else { (1 + at % 4).to_string() };
        text.push_str(&format!("p{src},p{dst},{day},{weight}\n"));
    }
    text
}

/// The columns of a text table by name.
fn table(folder: &Folder, name: &str) -> Vec<(String, Vec<String>)> {
    let text = String::from_utf8(folder.bytes(name)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<Vec<String>> = lines.collect();
    let of = |column: usize| rows.iter().map(|row| row[column].clone()).collect();
    header.iter().enumerate().map(|(column, name)| (name.clone(), of(column))).collect()
}

fn column(table: &[(String, Vec<String>)], name: &str) -> Vec<String> {
    let found = table.iter().find(|(found, _)| found == name);
    found.unwrap_or_else(|| panic!("no column {name}")).1.clone()
}

fn numbers(table: &[(String, Vec<String>)], name: &str) -> Vec<f64> {
    column(table, name).iter().map(|text| text.parse().unwrap()).collect()
}

fn names(table: &[(String, Vec<String>)]) -> Vec<&str> {
    table.iter().map(|(name, _)| name.as_str()).collect()
}

/// Average precision; equal scores count together.
fn average_precision(scores: &[f64], happened: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut seen, mut right, mut sum) = (0.0, 0.0, 0.0);
    for group in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let new: f64 = group.iter().map(|&at| happened[at]).sum();
        seen += group.len() as f64;
        right += new;
        sum += new * right / seen;
    }
    sum / right
}

fn metric(folder: &Folder, run: &str, name: &str) -> f64 {
    folder.json(&["eval", "--run", run, "--json"])["metrics"][name].as_f64().unwrap()
}

/// A small T-GCN on the events, by day.
fn train_links(folder: &Folder, more: &[&str]) {
    folder.write("e.csv", &events(false));
    let data = ["train", "--data", "e.csv", "--set", "data.window=1d", "--model", "tgcn"];
    let job = ["--frame", "4", "--epochs", "3", "--hidden", "8", "--out", "run", "--quiet"];
    folder.text(&[&data[..], &job, more].concat());
}

#[test]
fn a_snapshot_model_predicts_the_links_that_are_named() {
    let folder = Folder::new();
    train_links(&folder, &["--task", "link-prediction"]);
    folder.write("pairs.csv", "src,dst\np1,p2\np11,p0\np1,p2\n");
    let ask = |pairs: &str, out: &str, more: &[&str]| {
        let arguments = ["predict", "--run", "run", "--pairs", pairs, "--out", out, "--json"];
        folder.json(&[&arguments[..], more].concat())
    };
    let report = ask("pairs.csv", "s.csv", &[]);
    assert_eq!(report["shape"], serde_json::json!([3]));
    assert_eq!(report["values"], "probabilities");
    let found = table(&folder, "s.csv");
    assert_eq!(names(&found), ["src", "dst", "snapshot", "time", "date", "probability"]);
    assert_eq!(column(&found, "src"), ["p1", "p11", "p1"]);
    assert_eq!(column(&found, "dst"), ["p2", "p0", "p2"]);
    let p = numbers(&found, "probability");
    assert!(p.iter().all(|p| (0.0..1.0).contains(p)) && p[0] == p[2], "{p:?}");
    // After the last snapshot, which is where the events end.
    let last = numbers(&found, "snapshot")[0];
    assert!(column(&found, "date")[0].starts_with("2024-02-21T00:00:00Z"), "{found:?}");
    // The same by number and by date, and what the day before would have said.
    folder.write("n.csv", &format!("src,dst,snapshot\np1,p2,{last}\np1,p2,{}\n", last - 1.0));
    ask("n.csv", "n-out.csv", &[]);
    folder.write("t.csv", "src,dst,time\np1,p2,2024-02-21\np1,p2,2024-02-20\n");
    ask("t.csv", "t-out.csv", &[]);
    let by_number = numbers(&table(&folder, "n-out.csv"), "probability");
    let by_date = numbers(&table(&folder, "t-out.csv"), "probability");
    assert_eq!((by_number[0], &by_number), (p[0], &by_date));
    assert_ne!(by_number[0], by_number[1]);
    // Raw scores are the logarithms of the odds.
    let report = ask("pairs.csv", "l.csv", &["--logits"]);
    assert_eq!(report["values"], "logits");
    for (logit, p) in numbers(&table(&folder, "l.csv"), "logit").iter().zip(&p) {
        assert!((1.0 / (1.0 + (-logit).exp()) - p).abs() < 1e-6);
    }
    // Whoever is not in the data, and whatever is too early, is named.
    folder.write("bad.csv", "src,dst\np1,nobody\n");
    let outcome = folder.run(&["predict", "--run", "run", "--pairs", "bad.csv", "--out", "x.npy"]);
    assert_eq!(outcome.code(), Some(3));
    assert!(outcome.stderr_text().contains("nobody"), "{}", outcome.stderr_text());
    folder.write("early.csv", "src,dst,snapshot\np1,p2,1\n");
    let outcome =
        folder.run(&["predict", "--run", "run", "--pairs", "early.csv", "--out", "x.npy"]);
    assert_eq!(outcome.code(), Some(2));
    assert!(outcome.stderr_text().contains("snapshots from 4 to"), "{}", outcome.stderr_text());
}

#[test]
fn the_pairs_that_a_part_is_judged_by_have_the_score_of_eval() {
    let folder = Folder::new();
    train_links(&folder, &["--task", "link-prediction"]);
    folder.text(&["predict", "--run", "run", "--logits", "--out", "own.csv", "--quiet"]);
    let own = table(&folder, "own.csv");
    let ap = average_precision(&numbers(&own, "logit"), &numbers(&own, "happened"));
    assert!((ap - metric(&folder, "run", "ap")).abs() < 1e-9, "{ap}");

    let stream = ["train", "--data", "e.csv", "--model", "tgn", "--task", "link-prediction"];
    let job = ["--epochs", "2", "--hidden", "8", "--batch-size", "50", "--out", "tgn", "--quiet"];
    folder.text(&[&stream[..], &job].concat());
    folder.text(&["predict", "--run", "tgn", "--logits", "--out", "events.csv", "--quiet"]);
    let own = table(&folder, "events.csv");
    let expected = ["src", "dst", "time", "date", "logit", "happened"];
    assert_eq!(names(&own), expected);
    let ap = average_precision(&numbers(&own, "logit"), &numbers(&own, "happened"));
    assert!((ap - metric(&folder, "tgn", "ap")).abs() < 1e-9, "{ap}");
    assert!(column(&own, "date").iter().all(|date| date.starts_with("2024-02-")));
}

#[test]
fn classes_have_their_names_and_their_probabilities_add_up() {
    let folder = Folder::new();
    let data = "synthetic:aml?accounts=60&events=900&patterns=12&size=4&days=20";
    let short = ["--epochs", "2", "--hidden", "4", "--quiet"];
    for (model, task, more) in [
        ("tgcn", "edge-classification", &["--frame", "3", "--set", "data.window=1d"][..]),
        ("jodie", "edge-classification", &["--batch-size", "100"]),
        ("tgcn", "node-classification", &["--frame", "3", "--set", "data.window=1d"]),
    ] {
        let run = format!("{model}-{task}");
        let job = ["train", "--data", data, "--model", model, "--task", task, "--out", &run];
        folder.text(&[&job[..], &short, more].concat());
        let out = format!("{run}.csv");
        let report =
            folder.json(&["predict", "--run", &run, "--out", &out, "--split", "test", "--json"]);
        let found = table(&folder, &out);
        let classes = match task {
            "edge-classification" => vec!["ordinary", "laundering"],
            _ => vec!["personal", "company", "merchant"],
        };
        assert_eq!(report["classes"], serde_json::json!(classes), "{run}");
        let columns: Vec<Vec<f64>> =
            classes.iter().map(|class| numbers(&found, &format!("p_{class}"))).collect();
        let chosen = column(&found, "class");
        for (row, chosen) in chosen.iter().enumerate() {
            let all: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{run}: {all:?}");
            let place = classes.iter().position(|class| class == chosen).unwrap();
            assert!(all.iter().all(|&p| p <= all[place]), "{run}: {all:?} {chosen}");
        }
        if task == "edge-classification" {
            let right = chosen.iter().zip(column(&found, "truth")).filter(|(a, b)| *a == b);
            let accuracy = right.count() as f64 / chosen.len() as f64;
            assert!((accuracy - metric(&folder, &run, "accuracy")).abs() < 1e-6, "{run}");
        }
    }
}

#[test]
fn an_unknown_suffix_is_refused_before_any_work_is_done() {
    let folder = Folder::new();
    for command in ["predict", "embed"] {
        for out in ["x.foo", "x", "x.csv.gz"] {
            // The run does not even exist.
            let outcome = folder.run(&[command, "--run", "absent", "--out", out, "--json"]);
            assert_eq!(outcome.code(), Some(2));
            let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
            let message = report["error"]["message"].as_str().unwrap();
            assert!(message.contains(".npy, .parquet, .csv") && message.contains(out), "{message}");
        }
    }
}

#[test]
fn every_kind_of_file_holds_the_same_numbers() {
    let folder = Folder::new();
    folder.text(&[
        "train",
        "--model",
        "tgcn",
        "--data",
        "synthetic:demo?vertices=20&steps=40",
        "--hidden",
        "4",
        "--epochs",
        "1",
        "--out",
        "run",
        "--quiet",
    ]);
    let report = folder.json(&["predict", "--run", "run", "--out", "p.csv", "--json"]);
    let found = table(&folder, "p.csv");
    assert_eq!(names(&found), ["snapshot", "vertex", "prediction"]);
    let [frames, vertices] = [0, 1].map(|at| report["shape"][at].as_u64().unwrap() as usize);
    assert_eq!(numbers(&found, "prediction").len(), frames * vertices);
    assert_eq!(column(&found, "vertex")[..3], ["0", "1", "2"]);
    let snapshots = report["snapshots"].as_array().unwrap();
    assert_eq!(numbers(&found, "snapshot")[vertices], snapshots[1].as_f64().unwrap());
    folder.text(&["predict", "--run", "run", "--out", "p.npy", "--quiet"]);
    let array = folder.bytes("p.npy");
    let start = array.len() - 4 * frames * vertices;
    let values: Vec<f64> = array[start..]
        .chunks_exact(4)
        .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())))
        .collect();
    let written: Vec<f64> = numbers(&found, "prediction");
    assert!(values.iter().zip(&written).all(|(a, b)| (*a as f32) == (*b as f32)));
    let report = folder.json(&["predict", "--run", "run", "--out", "p.parquet", "--json"]);
    assert_eq!(report["columns"], serde_json::json!(["snapshot", "vertex", "prediction"]));
    assert_eq!(&folder.bytes("p.parquet")[..4], b"PAR1");
    folder.text(&["embed", "--run", "run", "--out", "e.csv", "--quiet"]);
    let embedded = table(&folder, "e.csv");
    assert_eq!(names(&embedded), ["vertex", "snapshot", "e0", "e1", "e2", "e3"]);
    // A file that stands there is not replaced in silence.
    let again = folder.run(&["predict", "--run", "run", "--out", "p.csv"]);
    assert_eq!(again.code(), Some(2));
}

#[test]
fn both_sides_of_bipartite_data_are_told_apart() {
    let folder = Folder::new();
    let data = "synthetic:bipartite?users=20&items=20&events=600&features=2";
    let model = ["train", "--data", data, "--model", "jodie", "--task", "link-prediction"];
    let job = ["--epochs", "1", "--hidden", "4", "--batch-size", "100", "--out", "run", "--quiet"];
    folder.text(&[&model[..], &job].concat());
    folder.text(&["embed", "--run", "run", "--out", "e.csv", "--quiet"]);
    let found = table(&folder, "e.csv");
    let sides = column(&found, "side");
    assert_eq!(sides.iter().filter(|side| *side == "source").count(), 20);
    assert_eq!((&sides[20][..], &column(&found, "vertex")[20][..]), ("destination", "0"));
}

#[test]
fn a_missing_weight_is_not_called_negative() {
    let folder = Folder::new();
    folder.write("e.csv", &events(true));
    let data = ["train", "--data", "e.csv", "--set", "data.window=1d", "--model", "tgcn"];
    let job = ["--task", "link-prediction", "--frame", "4", "--epochs", "1", "--hidden", "4"];
    let outcome = folder.run(&[&data[..], &job, &["--out", "run"]].concat());
    let said = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(0), "{said}");
    assert!(said.contains("1 of ") && said.contains("weights are missing"), "{said}");
    assert!(!said.contains("negative"), "{said}");
    let given = ["--set", "data.weights=given", "--out", "given"];
    let outcome = folder.run(&[&data[..], &job, &given].concat());
    let said = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(2), "{said}");
    assert!(said.contains("missing") && said.contains("data.weights=ones"), "{said}");
    let advised = ["--set", "data.weights=ones", "--out", "advised", "--quiet"];
    assert_eq!(folder.run(&[&data[..], &job, &advised].concat()).code(), Some(0));
}

/// A folder of a table of sensors with times, and the graph between them.
fn sensors(folder: &Folder, steps: usize) {
    std::fs::create_dir(folder.path("roads")).unwrap();
    let mut table = "timestamp,s1,s2,s3,s4,s5\n".to_owned();
    for step in 0..steps {
        let value = |sensor: usize| format!("{}.5", 40 + (step * (sensor + 3)) % 11);
        let (day, hour) = (1 + step / 24, step % 24);
        let values = [0, 1, 2, 3, 4].map(value).join(",");
        table.push_str(&format!("2022-03-{day:02} {hour:02}:00:00,{values}\n"));
    }
    folder.write("roads/speed.csv", &table);
    let row = |at: usize| [0, 1, 2, 3, 4].map(|to| u8::from(to + 1 == at || at + 1 == to));
    let line = |at| row(at).map(|cell| cell.to_string()).join(",") + "\n";
    folder.write("roads/adj.csv", &(0..5).map(line).collect::<String>());
}

#[test]
fn a_prediction_of_a_series_has_the_row_and_the_time_that_it_is_about() {
    let folder = Folder::new();
    sensors(&folder, 120);
    let data = ["train", "--data", "roads", "--model", "tgcn", "--set", "data.lags=5"];
    let job = ["--frame", "4", "--epochs", "1", "--hidden", "4", "--out", "run", "--quiet"];
    folder.text(&[&data[..], &job].concat());
    let report = folder.json(&["predict", "--run", "run", "--out", "p.csv", "--json"]);
    let found = table(&folder, "p.csv");
    let expected = ["snapshot", "time", "date", "vertex", "prediction"];
    assert_eq!(names(&found), expected);
    // The last prediction is of the last row, and every one of the hour of its row.
    let snapshots = numbers(&found, "snapshot");
    assert_eq!(snapshots.last(), Some(&119.0));
    assert_eq!(report["snapshots"].as_array().unwrap().last().unwrap(), 119);
    for (row, date) in snapshots.iter().zip(column(&found, "date")) {
        let (day, hour) = (1 + *row as usize / 24, *row as usize % 24);
        assert!(date.starts_with(&format!("2022-03-{day:02}T{hour:02}:00")), "{row}: {date}");
    }
    // Embeddings count alike, and dates name rows.
    let embed = |at: &str, out: &str| {
        folder.text(&["embed", "--run", "run", "--at", at, "--out", out, "--quiet"]);
        folder.bytes(out)
    };
    assert_eq!(embed("119", "n.csv"), embed("2022-03-05 23:30:00", "d.csv"));
    assert!(column(&table(&folder, "n.csv"), "date")[0].starts_with("2022-03-05T23:00"));
    let outcome = folder.run(&["embed", "--run", "run", "--at", "4", "--out", "x.csv"]);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stdout_text());
    let said = outcome.stderr_text();
    assert!(said.contains("from 5 to 119") && said.contains("2022-03-01 05:00"), "{said}");
}

#[test]
fn pairs_of_dated_snapshots_have_dates() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("days")).unwrap();
    for day in 1..25usize {
        let edge = |at: usize| format!("p{},p{}\n", (day * at + at) % 9, (day + at * at) % 9);
        let rows: String = (1..20).map(edge).collect();
        folder.write(&format!("days/2020-03-{day:02}.csv"), &format!("src,dst\n{rows}"));
    }
    let data = ["train", "--data", "days", "--model", "tgcn", "--task", "link-prediction"];
    let job = ["--frame", "3", "--epochs", "1", "--hidden", "4", "--out", "run", "--quiet"];
    folder.text(&[&data[..], &job].concat());
    folder.text(&["predict", "--run", "run", "--out", "own.csv", "--quiet"]);
    let own = table(&folder, "own.csv");
    let expected = ["src", "dst", "snapshot", "time", "date", "probability", "happened"];
    assert_eq!(names(&own), expected);
    assert!(column(&own, "date").last().unwrap().starts_with("2020-03-24"), "{own:?}");
    folder.write("pairs.csv", "src,dst,time\np1,p2,2020-03-20\np1,p2,2020-03-25\n");
    let ask = ["predict", "--run", "run", "--pairs", "pairs.csv", "--out", "p.csv", "--quiet"];
    folder.text(&ask);
    let found = table(&folder, "p.csv");
    assert_eq!(numbers(&found, "snapshot"), [19.0, 24.0]);
    // Nothing is known of what comes later than the day after the data.
    folder.write("far.csv", "src,dst,time\np1,p2,2020-03-20\np1,p2,2020-03-26\n");
    let far = ["predict", "--run", "run", "--pairs", "far.csv", "--out", "far.out.csv", "--quiet"];
    let refused = folder.run(&far);
    let said = refused.stderr_text();
    assert_eq!(refused.code(), Some(3), "{said}");
    assert!(said.contains("pair 2, 2020-03-26") && said.contains("before 2020-03-26"), "{said}");
    assert!(!folder.path("far.out.csv").exists());
    folder.write("n.csv", "src,dst,snapshot\np1,p2,19\np1,p2,24\n");
    folder.text(&["predict", "--run", "run", "--pairs", "n.csv", "--out", "n.out.csv", "--quiet"]);
    let by_number = numbers(&table(&folder, "n.out.csv"), "probability");
    assert_eq!(by_number, numbers(&found, "probability"));
    folder.text(&["embed", "--run", "run", "--at", "2020-03-07", "--out", "e.csv", "--quiet"]);
    assert_eq!(numbers(&table(&folder, "e.csv"), "snapshot")[0], 6.0);
}
