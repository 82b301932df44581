//! How the real binary reads what new users have: transactions, dated folders, sensors, pipes.

mod binary;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use binary::{Folder, command};

/// Numbers without a pattern.
fn draw(row: usize, column: usize, below: usize) -> usize {
    let mixed = ((row * 31 + column + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) % below as u64) as usize
}

fn transactions() -> String {
    let mut text = "transaction_id,from_account,to_account,amount,timestamp,is_fraud\n".to_owned();
    for row in 0..400 {
        let (from, to) = (1000 + draw(row, 0, 40), 1000 + draw(row, 1, 40));
        let (amount, fraud) = (draw(row, 2, 900), usize::from(draw(row, 3, 10) == 0));
        let time = 1_600_000_000 + 60 * row;
        writeln!(text, "{},{from},{to},{amount}.5,{time},{fraud}", 90_000 + row).unwrap();
    }
    text
}

/// Names that say nothing, so that the values of all four columns could be vertices.
fn unnamed() -> String {
    let mut text = "alpha,beta,gamma,delta\n".to_owned();
    for row in 0..400 {
        let cells: Vec<String> = (0..4).map(|column| draw(row, column, 30).to_string()).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

#[test]
fn accounts_are_vertices_and_fraud_is_the_label() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions());
    let report = folder.json(&["data", "inspect", "fraud.csv", "--json"]);
    assert_eq!(report["vertices"], 40);
    let role = |at: usize| report["columns"][at]["role"].as_str().unwrap();
    let roles: Vec<&str> = (0..6).map(role).collect();
    assert_eq!(roles, ["not used", "source", "destination", "weight", "time", "label"]);
    assert!(report["labels"]["event"].is_object(), "{report}");
    let text = folder.text(&["data", "inspect", "fraud.csv"]);
    assert!(text.contains("transaction_id: not used (every value differs"), "{text}");
}

#[test]
fn an_uncertain_table_is_asked_about_and_the_flags_it_prints_confirm_it() {
    let folder = Folder::new();
    folder.write("unnamed.csv", &unnamed());
    let outcome = folder.run(&["data", "inspect", "unnamed.csv", "--json"]);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
    let error: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(error["error"]["kind"], "uncertain");
    let shown = outcome.stderr_text();
    let flags = shown.lines().find_map(|line| line.split_once("add: ")).unwrap().1.to_owned();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    assert_eq!(flags, ["--src", "alpha", "--dst", "beta"]);
    let confirmed = [&["data", "inspect", "unnamed.csv", "--json"], &flags[..]].concat();
    assert_eq!(folder.json(&confirmed)["vertices"], 30);
    // The same file, the same question, the same flags for training and what uses the run.
    let train = ["train", "--data", "unnamed.csv", "--model", "jodie", "--epochs", "1", "-q"];
    let outcome = folder.run(&[&train[..], &["--out", "r"]].concat());
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stderr_text());
    let outcome =
        folder.run(&[&train[..], &["--out", "run", "--hidden", "8"], &flags[..]].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let config = String::from_utf8(folder.bytes("run/config.toml")).unwrap();
    assert!(config.contains("src = \"alpha\"") && config.contains("dst = \"beta\""), "{config}");
    folder.json(&["eval", "--run", "run", "--json"]);
}

#[test]
fn every_command_that_reads_takes_the_flags() {
    let folder = Folder::new();
    for arguments in [
        &["train"][..],
        &["plan"],
        &["eval"],
        &["predict"],
        &["embed"],
        &["data", "inspect"],
        &["data", "convert"],
        &["data", "negatives"],
    ] {
        let help = folder.text(&[arguments, &["--help"]].concat());
        for flag in [
            "--format",
            "--src",
            "--dst",
            "--time",
            "--no-time",
            "--weight",
            "--no-weight",
            "--label",
            "--no-label",
            "--kind",
            "--feature",
            "--no-features",
            "--delimiter",
            "--header",
            "--no-header",
            "--time-unit",
            "--bipartite",
            "--no-bipartite",
            "--text-ids",
            "--lenient",
            "--max-problems",
        ] {
            assert!(
                help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n")),
                "{arguments:?} {flag}"
            );
        }
    }
}

#[test]
fn a_folder_of_dated_tables_of_places_is_read_whole() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("days")).unwrap();
    let places = ["Paris", "Rome", "Oslo", "Bern", "Wien", "Riga"];
    for day in 1..25 {
        let mut text = "from,to,count\n".to_owned();
        for pair in 0..20 {
            let [from, to] = [0, 1].map(|end| places[draw(day * 20 + pair, end, 6)]);
            writeln!(text, "{from},{to},{}", 1 + draw(day * 20 + pair, 2, 9)).unwrap();
        }
        folder.write(&format!("days/2020-03-{day:02}.csv"), &text);
    }
    folder.write("days/labels.csv", "place,label\nParis,1\nRome,0\n");
    let report = folder.json(&["data", "inspect", "days", "--json"]);
    assert_eq!((&report["format"], &report["snapshots"]), (&"snapshot-folder".into(), &24.into()));
    assert_eq!((&report["vertices"], &report["events"]), (&6.into(), &480.into()));
    assert!(report["weight"].is_object());
    assert!(report["warnings"].to_string().contains("labels.csv"), "{}", report["warnings"]);
    // The dates are the times of the edges.
    folder.json(&["data", "convert", "days", "days.csv", "--json"]);
    let events = folder.json(&["data", "inspect", "days.csv", "--json"]);
    assert_eq!(events["time"]["first"], 1_583_020_800);
}

#[test]
fn a_folder_of_event_tables_is_not_read_by_half() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("parts")).unwrap();
    for part in 0..3 {
        let rows: String =
            (0..30).map(|row| format!("a{}|b{}|{row}|x|y\n", row % 5, row % 7)).collect();
        folder.write(&format!("parts/part{part}.txt"), &rows);
    }
    let outcome = folder.run(&["data", "inspect", "parts"]);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
    assert!(outcome.stderr_text().contains("join them"), "{}", outcome.stderr_text());
}

#[test]
fn a_run_that_nothing_could_be_judged_in_fails_and_says_why() {
    let folder = Folder::new();
    // Labels in the first half alone: the validation and test parts have nothing to judge.
    let mut text = "src,dst,time,label\n".to_owned();
    for row in 0..200 {
        let label = if row < 100 { (draw(row, 2, 2)).to_string() } else { String::new() };
        writeln!(text, "{},{},{row},{label}", draw(row, 0, 10), draw(row, 1, 10)).unwrap();
    }
    folder.write("half.csv", &text);
    let outcome = folder.run(&[
        "train",
        "--data",
        "half.csv",
        "--model",
        "jodie",
        "--task",
        "edge-classification",
        "--epochs",
        "1",
        "--hidden",
        "8",
        "--out",
        "run",
        "-q",
    ]);
    assert_eq!(outcome.code(), Some(3), "{}{}", outcome.stdout_text(), outcome.stderr_text());
    assert!(outcome.stderr_text().contains("no metric has a value"), "{}", outcome.stderr_text());
    assert!(folder.path("run").join("weights.safetensors").is_file());
}

#[cfg(unix)]
#[test]
fn standard_input_and_pipes_are_read_like_files() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions());
    let expected = folder.json(&["data", "inspect", "fraud.csv", "--json"]);
    for name in ["-", "/dev/stdin"] {
        let mut child = command(&folder.path(""), &["data", "inspect", name, "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(transactions().as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["vertices"], expected["vertices"], "{name}");
        assert_eq!(report["bytes"], expected["bytes"], "{name}");
    }
    let pipe = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let writer = std::thread::spawn(move || std::fs::write(pipe, transactions()).unwrap());
    assert_eq!(folder.json(&["data", "inspect", "pipe", "--json"])["vertices"], 40);
    writer.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_not_utf_8_is_trained_on_and_evaluated() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.csv");
    std::fs::write(folder.path("").join(name), transactions()).unwrap();
    let mut train = command(&folder.path(""), &["train", "--model", "jodie", "--epochs", "1"]);
    train.args(["--hidden", "8", "--out", "run", "-q", "--data"]).arg(name);
    let output = train.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(folder.bytes("run/config.toml")).unwrap().contains("caf%E9.csv"));
    folder.json(&["eval", "--run", "run", "--json"]);
}

#[test]
fn every_separator_has_its_name_on_every_command() {
    let folder = Folder::new();
    for (name, byte) in
        [("tab", "\t"), ("space", " "), ("bar", "|"), ("semicolon", ";"), ("comma", ",")]
    {
        let file = format!("{name}.txt");
        folder.write(&file, &transactions().replace(',', byte));
        let flag = ["--delimiter", name];
        let inspect = ["data", "inspect", &file, "--json"];
        assert_eq!(folder.json(&[&inspect[..], &flag].concat())["vertices"], 40, "{name}");
        let plan =
            ["plan", "--data", &file, "--model", "tgcn", "--set", "data.window=1h", "--json"];
        folder.json(&[&plan[..], &flag].concat());
    }
    // A key may hold the separator itself.
    let plan =
        ["plan", "--data", "tab.txt", "--model", "tgcn", "--set", "data.window=1h", "--json"];
    folder.json(&[&plan[..], &["--set", "data.delimiter=\t"]].concat());
    let model = ["--model", "jodie", "--epochs", "1", "--hidden", "4", "-q"];
    let train = ["train", "--data", "tab.txt", "--delimiter", "tab", "--out", "run"];
    folder.text(&[&train[..], &model].concat());
    folder.json(&["eval", "--run", "run", "--data", "bar.txt", "--delimiter", "bar", "--json"]);
}

#[test]
fn a_time_that_comes_round_is_asked_about_and_can_be_ruled_out() {
    let folder = Folder::new();
    let mut text = "src,dst,hour,amount\n".to_owned();
    for row in 0..400 {
        let (src, dst, amount) = (draw(row, 0, 30), draw(row, 1, 30), draw(row, 2, 9));
        writeln!(text, "{src},{dst},{},{amount}", row % 24).unwrap();
    }
    folder.write("hours.csv", &text);
    let outcome = folder.run(&["data", "inspect", "hours.csv"]);
    assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
    let shown = outcome.stderr_text();
    let flags = shown.lines().find_map(|line| line.split_once("add: ")).unwrap().1.to_owned();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    assert!(flags.contains(&"--no-time"), "{shown}");
    assert_eq!(shown.matches("--weight amount").count(), 1, "{shown}");
    let report = folder.json(&[&["data", "inspect", "hours.csv", "--json"], &flags[..]].concat());
    assert_eq!((&report["time"]["unit"], &report["time"]["last"]), (&"step".into(), &399.into()));
    let train = ["train", "--data", "hours.csv", "--model", "jodie", "--epochs", "1", "-q"];
    let rest = ["--out", "run", "--hidden", "8", "--no-label"];
    let outcome = folder.run(&[&train[..], &rest, &flags[..]].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let config = String::from_utf8(folder.bytes("run/config.toml")).unwrap();
    assert!(config.contains("time = false") && config.contains("label = false"), "{config}");
    folder.json(&["eval", "--run", "run", "--json"]);
}

#[test]
fn flags_that_name_columns_are_refused_where_there_are_none() {
    let folder = Folder::new();
    folder.write("fraud.csv", &transactions());
    folder.json(&["data", "convert", "fraud.csv", "fraud.zoe", "--json"]);
    for flags in [&["--label", "amount"][..], &["--src", "nothing"], &["--no-weight"]] {
        let outcome = folder.run(&[&["data", "inspect", "fraud.zoe"], flags].concat());
        assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
        assert!(outcome.stderr_text().contains(flags[0]), "{}", outcome.stderr_text());
    }
    folder.json(&["data", "inspect", "fraud.zoe", "--no-features", "--json"]);
}

#[test]
fn what_reading_found_is_in_documents_and_in_the_run_folder_however_quiet_a_command_is() {
    let folder = Folder::new();
    let mut rows: Vec<String> = transactions().lines().map(str::to_owned).collect();
    for broken in [20, 40, 60] {
        rows[broken] = "90000,1001,nobody,when,1600000000".into();
    }
    folder.write("fraud.csv", &rows.join("\n"));
    let data = ["--data", "fraud.csv", "--lenient", "--model", "jodie", "--hidden", "8"];
    let job = ["--epochs", "1", "--out", "run", "--quiet", "--json"];
    let summary = folder.json(&[&["train"], &data[..], &job].concat());
    let told = |document: &serde_json::Value| {
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("3 bad rows skipped"), "{warnings}");
    };
    told(&summary);
    for file in ["run/summary.json", "run/data.json"] {
        told(&serde_json::from_slice(&folder.bytes(file)).unwrap());
    }
    let run = ["--run", "run", "--quiet", "--json"];
    told(&folder.json(&[&["eval"], &run[..]].concat()));
    told(&folder.json(&[&["predict", "--out", "p.csv"], &run[..]].concat()));
    told(&folder.json(&[&["embed", "--out", "e.csv"], &run[..]].concat()));
    told(&folder.json(&[&["plan", "--quiet", "--json"], &data[..]].concat()));
    let negatives = ["data", "negatives", "fraud.csv", "--out", "n.npz", "--lenient", "--json"];
    told(&folder.json(&negatives));
}

#[test]
fn files_that_were_not_read_are_told_by_a_plan_that_can_be_executed() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("days")).unwrap();
    for day in 1..25 {
        let mut text = "src,dst\n".to_owned();
        for at in 0..20 {
            writeln!(text, "{},{}", draw(day * 20 + at, 0, 9), draw(day * 20 + at, 1, 9)).unwrap();
        }
        folder.write(&format!("days/2020-03-{day:02}.csv"), &text);
    }
    folder.write("days/labels.csv", "place,label\n1,1\n2,0\n");
    let data = ["--data", "days", "--model", "tgcn", "--hidden", "4", "--quiet"];
    let plan = folder.json(&[&["plan", "--json"], &data[..]].concat());
    assert!(plan["warnings"].to_string().contains("labels.csv"), "{}", plan["warnings"]);
    folder.write("plan.json", &plan.to_string());
    let job = ["train", "--plan", "plan.json", "--epochs", "1", "--out", "run", "--json"];
    let summary = folder.json(&[&job, &data[..]].concat());
    assert!(summary["warnings"].to_string().contains("labels.csv"), "{}", summary["warnings"]);
}

/// pandas writes a column of integers that lacks one value as `12.0`.
#[test]
fn whole_decimals_name_the_vertices_of_whole_numbers() {
    let folder = Folder::new();
    for [src, dst] in [["src", "dst"], ["one", "two"]] {
        let mut text = format!("{src},{dst},time\n");
        for row in 0..200 {
            let (from, to) = (draw(row, 0, 9), draw(row, 1, 9));
            writeln!(text, "{from},{to}.0,{}", 1_600_000_000 + 60 * row).unwrap();
        }
        folder.write("float.csv", &text);
        let report = folder.json(&["data", "inspect", "float.csv", "--json"]);
        assert_eq!((&report["vertices"], &report["events"]), (&9.into(), &200.into()));
        // A row that lacks the value is a bad row, as in a column of integers.
        folder.write("float.csv", &format!("{text}3,,1700000000\n"));
        let outcome = folder.run(&["data", "inspect", "float.csv"]);
        assert_eq!(outcome.code(), Some(3), "{}", outcome.stdout_text());
        assert!(outcome.stderr_text().contains("float.csv:202"), "{}", outcome.stderr_text());
    }
}
