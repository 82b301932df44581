//! A run folder that is moved, sent, continued, interrupted, or never begun.

mod binary;

use std::fs;
use std::path::Path;
use std::process::Command;

use binary::{EVENTS, Folder, command};
use serde_json::Value;
use zoetrope_testkit::{Outcome, run_measured};

const SMALL: &[&str] = &[
    "--model",
    "tgcn",
    "--data",
    "synthetic:demo?vertices=20&steps=60",
    "--hidden",
    "4",
    "--quiet",
];

/// A run on a file, in a folder of its own.
fn train_on_file(folder: &Folder) {
    fs::create_dir(folder.path("project")).unwrap();
    let events: String = (0..12).map(shifted).collect();
    folder.write("project/e.csv", &format!("src,dst,t,w\n{events}"));
    let data = ["train", "--data", "e.csv", "--set", "data.window=1d", "--model", "tgcn"];
    let job = ["--task", "link-prediction", "--frame", "3", "--epochs", "2", "--hidden", "4"];
    let outcome =
        run_in(&folder.path("project"), &[&data[..], &job, &["--out", "run", "--quiet"]].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
}

/// The events of the testbench, three days later each time.
fn shifted(times: i64) -> String {
    let line = |line: &str| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        fields[2] = (fields[2].parse::<i64>().unwrap() + times * 3 * 86_400).to_string();
        fields.join(",") + "\n"
    };
    EVENTS.lines().skip(1).map(line).collect()
}

fn run_in(folder: &Path, arguments: &[&str]) -> Outcome {
    run_measured(command(folder, arguments), std::time::Duration::from_secs(60)).unwrap()
}

fn measured(folder: &Path, run: &str, more: &[&str]) -> Value {
    let outcome = run_in(folder, &[&["eval", "--run", run, "--json"], more].concat());
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    report["metrics"].clone()
}

#[test]
fn a_run_is_used_from_anywhere_and_wherever_it_was_moved() {
    let folder = Folder::new();
    train_on_file(&folder);
    let home = folder.path("");
    let expected = measured(&folder.path("project"), "run", &[]);
    assert_eq!(measured(&home, "project/run", &[]), expected, "from another folder");
    fs::rename(folder.path("project/run"), folder.path("moved")).unwrap();
    assert_eq!(measured(&home, "moved", &[]), expected, "the run alone was moved");
    fs::rename(folder.path("moved"), folder.path("project/run")).unwrap();
    fs::rename(folder.path("project"), folder.path("elsewhere")).unwrap();
    assert_eq!(measured(&home, "elsewhere/run", &[]), expected, "run and data were moved together");
    let resumed =
        run_in(&home, &["train", "--resume", "elsewhere/run", "--epochs", "3", "--quiet"]);
    assert_eq!(resumed.code(), Some(0), "{}", resumed.stderr_text());
}

#[test]
fn data_that_is_not_there_is_named_with_its_digest() {
    let folder = Folder::new();
    train_on_file(&folder);
    fs::rename(folder.path("project/run"), folder.path("sent")).unwrap();
    fs::rename(folder.path("project/e.csv"), folder.path("project/mine.csv")).unwrap();
    let summary: Value = serde_json::from_slice(&folder.bytes("sent/summary.json")).unwrap();
    let digest = summary["data"]["sha256"].as_str().unwrap();
    for command in [&["eval"][..], &["predict", "--out", "p.npy"], &["embed", "--out", "e.npy"]] {
        let outcome = folder.run(&[command, &["--run", "sent", "--quiet"]].concat());
        let said = outcome.stderr_text();
        assert_eq!(outcome.code(), Some(3), "{said}");
        for part in ["e.csv", digest, "--data"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    measured(&folder.path(""), "sent", &["--data", "project/mine.csv"]);
    // A run does not go on with other data than its own.
    folder.write("other.csv", &format!("src,dst,t,w\n{}{}", shifted(0), shifted(2)));
    let other = ["train", "--resume", "sent", "--epochs", "3", "--data", "other.csv", "--quiet"];
    let outcome = folder.run(&other);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains(digest), "{}", outcome.stderr_text());
}

#[test]
fn a_configuration_means_the_same_from_every_folder() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("jobs/data")).unwrap();
    let events: String = (0..12).map(shifted).collect();
    folder.write("jobs/data/e.csv", &format!("src,dst,t,w\n{events}"));
    folder.write(
        "jobs/job.toml",
        "[data]\npath = \"data/e.csv\"\nwindow = \"1d\"\n[model]\nname = \"tgcn\"\nhidden = 4\n\
         [task]\nname = \"link-prediction\"\n[train]\nframe = 3\nepochs = 1\n\
         [output]\ndir = \"out\"\n",
    );
    folder.text(&["train", "jobs/job.toml", "--quiet"]);
    assert!(folder.path("jobs/out/summary.json").is_file());
    // The saved configuration is one, too.
    folder.text(&["train", "jobs/out/config.toml", "--out", "again", "--quiet"]);
    let hash = |run: &str| {
        let bytes = folder.bytes(&format!("{run}/summary.json"));
        serde_json::from_slice::<Value>(&bytes).unwrap()["state_hash"].clone()
    };
    assert_eq!(hash("jobs/out"), hash("again"));
}

#[test]
fn a_flag_that_a_continued_run_cannot_take_is_named() {
    let folder = Folder::new();
    folder.text(&[&["train"], SMALL, &["--epochs", "1", "--out", "run"]].concat());
    let before = folder.bytes("run/config.toml");
    for (more, named) in [
        (&["--seed", "5"][..], "--seed: the run has train.seed = 0"),
        (&["--hidden", "16"], "--hidden: the run has model.hidden = 4"),
        (&["--frame", "5"], "--frame: "),
        (&["--set", "task.theta=0.5"], "--set task.theta: "),
        (&["--model", "gc-lstm"], "--model: the run has model.name"),
        (&["--model", "jodie"], "--model: the run has model.name"),
        (&["--model", "dysat"], "--model: the run has model.name"),
    ] {
        let outcome = folder.run(&[&["train", "--resume", "run", "--epochs", "2"], more].concat());
        let said = outcome.stderr_text();
        assert_eq!(outcome.code(), Some(2), "{said}");
        assert!(said.contains(named), "{named}: {said}");
        assert!(said.contains("What may differ with --resume: --epochs --lr"), "{said}");
        assert_eq!(folder.bytes("run/config.toml"), before);
    }
    let variable = |command: &mut Command| {
        command.env("ZOETROPE_TRAIN_SEED", "7");
    };
    let minute = std::time::Duration::from_secs(60);
    let outcome = folder.run_with(&["train", "--resume", "run"], variable, minute);
    assert!(outcome.stderr_text().contains("ZOETROPE_TRAIN_SEED"), "{}", outcome.stderr_text());
    let allowed = ["--epochs", "2", "--lr", "0.002", "--threads", "1", "--seed", "0", "--quiet"];
    folder.text(&[&["train", "--resume", "run"], &allowed[..]].concat());
}

#[test]
fn a_run_is_not_taken_back_to_fewer_epochs() {
    let folder = Folder::new();
    folder.text(&[&["train"], SMALL, &["--epochs", "4", "--out", "run"]].concat());
    let files = ["config.toml", "summary.json", "metrics.jsonl", "weights.safetensors"];
    let all = || files.map(|file| folder.bytes(&format!("run/{file}")));
    let before = all();
    let outcome = folder.run(&["train", "--resume", "run", "--epochs", "2", "--quiet"]);
    let said = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(2), "{said}");
    assert!(said.contains("4 epochs already") && said.contains("--epochs"), "{said}");
    assert!(all() == before, "a refused command changed the run");
    folder.text(&["train", "--resume", "run", "--epochs", "4", "--quiet"]);
    folder.text(&["train", "--resume", "run", "--epochs", "5", "--quiet"]);
    assert_eq!(folder.summary("run")["epochs"].as_array().unwrap().len(), 5);
}

#[test]
fn a_run_that_was_interrupted_says_so_wherever_it_is_used() {
    let folder = Folder::new();
    for (name, more) in [
        ("snapshots", SMALL),
        (
            "events",
            &[
                "--model",
                "jodie",
                "--data",
                "synthetic:bipartite?users=20&items=20&events=600&features=2",
                "--hidden",
                "4",
                "--batch-size",
                "100",
                "--quiet",
            ],
        ),
    ] {
        let job = ["--epochs", "1000000", "--out", name];
        interrupt(&folder, &[&["train"], more, &job].concat(), name);
        let report = folder.json(&["eval", "--run", name, "--json"]);
        let state = &report["interrupted"];
        assert!(state["epoch"].as_u64().unwrap() >= 1, "{report}");
        assert_eq!(state["of"], 1_000_000);
        for command in [&["eval"][..], &["predict", "--out"], &["embed", "--out"]] {
            let file = format!("{name}-{}.csv", command[0]);
            let out: &[&str] = if command.len() > 1 { &[&file] } else { &[] };
            let outcome = folder.run(&[command, out, &["--run", name]].concat());
            let said = outcome.stdout_text();
            assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
            assert!(said.contains("interrupted after epoch"), "{said}");
            assert!(said.contains(" of 1000000"), "{said}");
        }
    }
    folder.text(&[&["train"], SMALL, &["--epochs", "1", "--out", "whole"]].concat());
    let report = folder.json(&["eval", "--run", "whole", "--json"]);
    assert_eq!(report["interrupted"], Value::Null);
    // Stopped so early that there is nothing to use.
    fs::remove_dir_all(folder.path("snapshots/checkpoints")).unwrap();
    let outcome = folder.run(&["eval", "--run", "snapshots"]);
    assert_eq!(outcome.code(), Some(2));
    assert!(outcome.stderr_text().contains("before its first checkpoint"));
}

/// Interrupts a run as Ctrl-C does, once it has finished an epoch.
fn interrupt(folder: &Folder, arguments: &[&str], run: &str) {
    use std::process::Stdio;
    let mut child = command(&folder.path(""), arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let metrics = folder.path(run).join("metrics.jsonl");
    while fs::metadata(&metrics).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended");
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_summary_is_short_and_names_the_files_with_the_rest() {
    let folder = Folder::new();
    folder.text(&[&["train"], SMALL, &["--epochs", "30", "--out", "run"]].concat());
    let text = String::from_utf8(folder.bytes("run/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["epochs"].as_array().unwrap().len(), 30);
    // A line an epoch, and less than a page for the rest.
    assert!(text.lines().count() < 30 + 70, "{} lines", text.lines().count());
    let frames = summary["plan"]["frames"]["count"].as_u64().unwrap();
    assert!(frames > 12, "{frames}");
    let file = summary["plan"]["file"].as_str().unwrap();
    let plan: Value = serde_json::from_slice(&folder.bytes(&format!("run/{file}"))).unwrap();
    assert_eq!(plan["frames"].as_array().unwrap().len() as u64, frames);
    assert!(summary["plan"]["rule"]["frame"].is_u64());
}

#[test]
fn a_start_that_fails_leaves_no_folder() {
    let folder = Folder::new();
    let entries = || {
        let mut names: Vec<_> = fs::read_dir(folder.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    folder.write("bad.csv", "src,dst,time\na,b,1\na,b\n");
    folder.write("bad.safetensors", "no weights");
    fs::create_dir(folder.path("mine")).unwrap();
    let before = entries();
    let bad = ["train", "--model", "tgcn", "--data", "bad.csv", "--out", "a/b/c", "--trace"];
    assert_eq!(folder.run(&bad).code(), Some(3));
    assert_eq!(entries(), before);
    for more in [
        &["--frame", "5000"][..],
        &["--weights", "bad.safetensors"],
        &["--task", "node-classification"],
        &["--memory-limit", "1KiB"],
        &["--lr", "1e30", "--set", "train.optimiser=sgd"],
    ] {
        for out in [&["--out", "a/b/c", "--trace"][..], &["--out", "mine", "--trace"], &[]] {
            let outcome = folder.run(&[&["train"], SMALL, more, out].concat());
            assert!(outcome.code().unwrap() > 0, "{more:?}");
            assert_eq!(entries(), before, "{more:?} {out:?}: {}", outcome.stderr_text());
            let left: Vec<_> = fs::read_dir(folder.path("mine")).unwrap().collect();
            assert!(left.is_empty(), "{more:?}: {left:?}");
        }
    }
}

/// Numbers without a pattern.
fn draw(row: usize, column: usize, below: usize) -> usize {
    let mixed = ((row * 31 + column + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) % below as u64) as usize
}

const EVENT_MODEL: &[&str] =
    &["--model", "jodie", "--epochs", "1", "--hidden", "4", "--batch-size", "50", "--quiet"];

#[test]
fn new_data_is_read_with_the_roles_that_were_judged_for_the_run() {
    let folder = Folder::new();
    // Weights, then times that never fall: the fourth column is the time.
    let row = |at: usize, time: usize| {
        format!("{},{},{},{time}\n", draw(at, 0, 20), draw(at, 1, 20), 1 + draw(at, 2, 50))
    };
    let rows: String = (0..300).map(|at| row(at, 10 * at)).collect();
    folder.write("k.csv", &rows);
    folder.text(&[&["train", "--data", "k.csv", "--out", "run"], EVENT_MODEL].concat());
    let source: Value = serde_json::from_slice(&folder.bytes("run/data.json")).unwrap();
    assert_eq!((&source["reading"]["time"], &source["reading"]["weight"]), (&3.into(), &2.into()));
    assert_eq!(source["reading"]["times"]["unit"], "second");
    // Two late rows in front: judged alone, neither column would never fall.
    folder.write("k2.csv", &format!("{}{}{rows}", row(300, 2991), row(301, 2995)));
    let eval = ["eval", "--run", "run", "--data", "k2.csv", "--split", "new", "--json"];
    let report = folder.json(&eval);
    assert_eq!(report["memory"], "continued", "{report}");
    // The user knows better.
    let other =
        ["eval", "--run", "run", "--data", "k2.csv", "--time", "2", "--weight", "3", "--json"];
    assert_eq!(folder.json(&other)["memory"], "replayed");
    // Columns of another number are judged anew, and that is said.
    let wide: String = rows.lines().map(|line| format!("{line},x\n")).collect();
    folder.write("wide.csv", &wide);
    let outcome = folder.run(&["eval", "--run", "run", "--data", "wide.csv"]);
    let said = outcome.stderr_text();
    assert_eq!(outcome.code(), Some(0), "{said}");
    assert!(said.contains("judged anew"), "{said}");
}

#[test]
fn new_data_has_the_ticks_of_the_run() {
    let folder = Folder::new();
    let row = |at: usize, time: &str| format!("{},{},{time}\n", draw(at, 0, 20), draw(at, 1, 20));
    let rows: String = (0..300).map(|at| row(at, &(10 * at).to_string())).collect();
    folder.write("e.csv", &format!("src,dst,time\n{rows}"));
    folder.text(&[&["train", "--data", "e.csv", "--out", "run"], EVENT_MODEL].concat());
    let more: String = (300..320).map(|at| row(at, &format!("{}.5", 10 * at))).collect();
    folder.write("more.csv", &format!("src,dst,time\n{rows}{more}"));
    let eval = ["eval", "--run", "run", "--data", "more.csv", "--split", "new"];
    let outcome = folder.run(&eval);
    assert_eq!(outcome.code(), Some(0), "{}", outcome.stderr_text());
    let said = outcome.stderr_text();
    assert!(said.contains("20 times are finer than a tick of the run's data (1 s)"), "{said}");
    assert_eq!(folder.json(&[&eval[..], &["--json"]].concat())["memory"], "continued");
    // The same times in another unit or as decimals are the same events.
    let decimals: String = (0..300).map(|at| row(at, &format!("{}.0", 10 * at))).collect();
    folder.write("decimals.csv", &format!("src,dst,time\n{decimals}"));
    let report = folder.json(&["eval", "--run", "run", "--data", "decimals.csv", "--json"]);
    assert_eq!(report["memory"], "run");
}

#[test]
fn data_that_is_not_what_the_run_learnt_from_is_said_to_be_so() {
    let folder = Folder::new();
    train_on_file(&folder);
    let expected = measured(&folder.path("project"), "run", &[]);
    let own = folder.bytes("project/e.csv");
    // A copy lies beside the run; at the recorded place are other rows now.
    fs::write(folder.path("project/run/e.csv"), &own).unwrap();
    let events: String = (1..12).map(shifted).collect();
    folder.write("project/e.csv", &format!("src,dst,t,w\n{events}"));
    let report = folder.json(&["eval", "--run", "project/run", "--json"]);
    assert_eq!(report["metrics"], expected);
    assert!(!report["warnings"].to_string().contains("not the data"), "{report}");
    // No place has the right content.
    fs::remove_file(folder.path("project/run/e.csv")).unwrap();
    for (command, more) in
        [("eval", &[][..]), ("predict", &["--out", "p.csv"]), ("embed", &["--out", "e.npy"])]
    {
        let arguments = [&[command, "--run", "project/run", "--json"], more].concat();
        let outcome = folder.run(&arguments);
        let said = outcome.stderr_text();
        assert_eq!(outcome.code(), Some(0), "{said}");
        assert!(said.contains("is not the data that this run was trained on"), "{said}");
        let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
        assert!(report["warnings"].to_string().contains("not the data"), "{report}");
    }
    // Who names data means it.
    let named = ["eval", "--run", "project/run", "--data", "project/../project/e.csv", "--json"];
    let report = folder.json(&named);
    assert!(!report["warnings"].to_string().contains("not the data"), "{report}");
}

#[cfg(unix)]
#[test]
fn what_came_through_a_pipe_has_the_digest_of_its_bytes() {
    let folder = Folder::new();
    let row =
        |at: usize| format!("{},{},{at},{}\n", draw(at, 0, 20), draw(at, 1, 20), draw(at, 2, 9));
    let rows: String = (0..300).map(row).collect();
    folder.write("e.csv", &format!("src,dst,time,f\n{rows}"));
    folder.text(&[&["train", "--data", "e.csv", "--out", "file"], EVENT_MODEL].concat());
    let piped = [&["train", "--data", "-", "--out", "piped"], EVENT_MODEL].concat();
    let output = command(&folder.path(""), &piped)
        .stdin(fs::File::open(folder.path("e.csv")).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let digest = |run: &str| {
        let source: Value =
            serde_json::from_slice(&folder.bytes(&format!("{run}/data.json"))).unwrap();
        source["sha256"].clone()
    };
    assert_eq!(digest("piped"), digest("file"));
    let report = folder.json(&["eval", "--run", "piped", "--data", "e.csv", "--json"]);
    assert_eq!(report["memory"], "run");
    // Several processes cannot share a pipe.
    let job = |command: &mut Command| {
        command.env("OMPI_COMM_WORLD_SIZE", "2").env("OMPI_COMM_WORLD_RANK", "0");
    };
    let minute = std::time::Duration::from_secs(60);
    let outcome = folder.run_with(&["train", "--data", "-", "--out", "job"], job, minute);
    assert_eq!(outcome.code(), Some(2), "{}", outcome.stderr_text());
    assert!(outcome.stderr_text().contains("several processes"), "{}", outcome.stderr_text());
}

#[cfg(target_os = "linux")]
#[test]
fn folders_whose_names_are_not_text_are_what_they_are_called() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let place = folder.path("").join(OsStr::from_bytes(b"d\xe9"));
    fs::create_dir(&place).unwrap();
    let rows: String =
        (0..300).map(|at| format!("{},{},{at}\n", draw(at, 0, 20), draw(at, 1, 20))).collect();
    fs::write(place.join("e.csv"), format!("src,dst,time\n{rows}")).unwrap();
    let train = [&["train", "--data", "e.csv", "--out"], EVENT_MODEL].concat();
    let out = OsStr::from_bytes(b"out\xe9");
    let mut job = command(&place, &train[..4]);
    let output = job.arg(out).args(&train[4..]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<_> =
        fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.contains(&out.to_owned()) && names.len() == 2, "{names:?}");
    // From another folder, and moved.
    for root in [place.clone(), folder.path("").join("moved")] {
        if !root.exists() {
            fs::rename(&place, &root).unwrap();
        }
        let mut eval = command(&folder.path(""), &["eval", "--json", "--run"]);
        let output = eval.arg(root.join(out)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["memory"], "run", "{report}");
    }
    let store = folder.path("").join(OsStr::from_bytes(b"caf\xe9.zoe"));
    let mut convert = command(&folder.path(""), &["data", "convert", "moved/e.csv"]);
    let output = convert.arg(&store).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(store.is_file());
}
