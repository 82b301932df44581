//! Settings drawn over the documented range of every key, for every model: the real binary trains or
//! refuses, and never panics.
//!
//! `ZOETROPE_CASES=300 ZOETROPE_SEED=7 cargo test -p zoetrope-cli --test any_settings` draws more, and others.
#![cfg(unix)]

mod binary;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use binary::{Folder, command};
use zoetrope_config::{Config, ModelName};
use zoetrope_testkit::run_measured;

/// Cases for each model if nobody asks for more: enough that every key has its turn.
const CASES: usize = 10;

/// Keys that name files, or what the test gives itself.
const NOT_DRAWN: [&str; 8] = [
    "data.path",
    "model.name",
    "plan.name",
    "task.negatives_file",
    "train.weights",
    "train.resume",
    "train.accept_changed_data",
    "output.dir",
];

/// Random numbers of a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Mostly small, sometimes at the ends of the range, sometimes anywhere in it.
    fn whole(&mut self, from: u64, to: u64) -> u64 {
        let span = to - from;
        match self.below(8) {
            0 => from,
            1 => to,
            2 => {
                let most = 1 << self.below(62);
                from + self.below(1 + span.min(most))
            }
            _ => from + self.below(1 + span.min(12)),
        }
    }

    fn number(&mut self, choices: &[f64]) -> f64 {
        match self.below(2) {
            0 => choices[self.below(choices.len() as u64) as usize],
            _ => (1 + self.below(999)) as f64 / 1000.0,
        }
    }
}

/// `2^20` or `65536`.
fn power(text: &str) -> u64 {
    match text.split_once('^') {
        Some((base, exponent)) => base.parse::<u64>().unwrap().pow(exponent.parse().unwrap()),
        None => text.parse().unwrap(),
    }
}

/// A value of what a key expects, as documented.
fn value(expected: &str, draw: &mut Draw) -> String {
    let optional = expected.strip_suffix(", or \"none\"");
    if optional.is_some() && draw.below(8) == 0 {
        return "none".to_owned();
    }
    let expected = optional.unwrap_or(expected);
    if let Some(names) = expected.strip_prefix("one of ") {
        let names: Vec<&str> = names.split(", ").collect();
        return draw.of(&names).to_owned();
    }
    if let Some(range) = expected.strip_prefix("a whole number from ")
        && let Some((from, to)) = range.split_once(" to ")
    {
        return draw.whole(power(from), power(to)).to_string();
    }
    let columns = ["0", "1", "2", "3", "4", "5", "6", "src", "dst", "time", "label", "f", "false"];
    match expected {
        "true or false" => draw.of(&["true", "false"]).to_owned(),
        "true, false or \"auto\"" => draw.of(&["true", "false", "auto"]).to_owned(),
        "a whole number from 1, or \"all\"" => match draw.below(4) {
            0 => "all".to_owned(),
            _ => draw.whole(1, 1 << 40).to_string(),
        },
        "a whole number below 2^63" => draw.whole(0, i64::MAX as u64).to_string(),
        "a number above 0" => draw.number(&[1e-300, 1e-30, 1e-3, 1.0, 1e30, 1e300]).to_string(),
        "a number from 0 and below 1" => {
            draw.number(&[0.0, 1e-300, 0.5, 0.999_999_999]).to_string()
        }
        "a number above 0 and up to 1" => draw.number(&[1e-300, 1e-6, 0.5, 1.0]).to_string(),
        "a number from 0 to 1" => draw.number(&[0.0, 1e-300, 1.0]).to_string(),
        "a number from 0 to 1000000" => draw.number(&[0.0, 1e-300, 1e6]).to_string(),
        text if text.starts_with("a column by name") => draw.of(&columns).to_owned(),
        text if text.starts_with("columns by number") => {
            draw.of(&["[0]", "[4, 5]", "[\"f\"]", "[]", "[99]"]).to_owned()
        }
        text if text.starts_with("comma, tab") => draw.of(&["comma", "tab", "bar", ";"]).to_owned(),
        text if text.starts_with("\"none\", shares") => {
            let shares = ["none", "80/20", "70/15/15", "1/1/98", "98/1/1", "34/33/33", "99/1"];
            draw.of(&shares).to_owned()
        }
        text if text.starts_with("a width such as") => {
            let widths = ["1d", "1h", "1", "7", "hour", "month", "5 events", "1 events", "3 parts"];
            draw.of(&[&widths[..], &["1 parts", "9223372036854775807", "100000 events"]].concat())
                .to_owned()
        }
        text if text.starts_with("a number or several") => draw.of(&["0", "[0, -1]"]).to_owned(),
        text if text.starts_with("\"none\", \"balanced\"") => {
            draw.of(&["none", "balanced", "[1, 50]", "[1e-30, 1e30]", "[1]"]).to_owned()
        }
        text if text.starts_with("a number of bytes") => {
            draw.of(&["1", "1MiB", "50MB", "200MiB", "9223372036854775807"]).to_owned()
        }
        "cpu, cuda or cuda:N" => draw.of(&["cpu", "cuda", "cuda:4294967295"]).to_owned(),
        other => panic!("no values are known for a key that expects {other}"),
    }
}

/// Writes small data of every kind: events, a PyG-Temporal file and a folder of traffic.
fn write_data(folder: &Folder) {
    let mut random = Draw(5);
    let mut rows = "src,dst,time,weight,label,f\n".to_owned();
    for at in 0..160 {
        let [src, dst, label] = [12, 9, 3].map(|bound| random.below(bound));
        rows.push_str(&format!("{src},{},{},{}.5,{label},{}\n", 12 + dst, at * 7, src % 4, at % 5));
    }
    folder.write("events.csv", &rows);
    let step = |step: usize| [0, 1, 2].map(|vertex| ((vertex * step + step) % 7).to_string());
    let series: Vec<[String; 3]> = (0..40).map(step).collect();
    let lines = |left: &str, right: &str, between: &str| {
        let line = |values: &[String; 3]| format!("{left}{}{right}", values.join(","));
        series.iter().map(line).collect::<Vec<_>>().join(between)
    };
    let numbers = lines("[", "]", ",");
    let graph = "\"edges\":[[0,1],[1,2],[2,0]],\"node_ids\":{\"A\":0,\"B\":1,\"C\":2}";
    folder.write("series.json", &format!("{{{graph},\"FX\":[{numbers}]}}"));
    std::fs::create_dir(folder.path("traffic")).unwrap();
    folder.write("traffic/adj.csv", "1,0.5,0\n0.5,1,0.2\n0,0.2,1\n");
    folder.write("traffic/speeds.csv", &format!("a,b,c\n{}\n", lines("", "", "\n")));
}

/// Data that a model takes.
fn data(model: ModelName, draw: &mut Draw) -> &'static str {
    let every =
        ["events.csv", "synthetic:bipartite?users=12&items=9&tastes=3&events=200&features=2"];
    let snapshots = [
        "synthetic:demo?vertices=20&steps=40",
        "synthetic:sbm?vertices=40&steps=24&communities=4",
        "series.json",
        "traffic",
    ];
    if model.is_stream() { draw.of(&every) } else { draw.of(&[&every[..], &snapshots].concat()) }
}

/// Settings of a case: each alone and all together are accepted with the model. The key at place `turn` of
/// all keys is among them if the model reads it.
fn settings(model: ModelName, given: &[String], turn: usize, draw: &mut Draw) -> Vec<String> {
    let keys: Vec<_> = Config::keys()
        .into_iter()
        .filter(|key| !NOT_DRAWN.contains(&format!("{}.{}", key.section, key.name).as_str()))
        .collect();
    let accepts = |settings: &[String]| {
        let name = format!("model.name={}", model.name());
        let all = [&[name], given, settings].concat();
        all.iter().fold(Config::builder(), |layers, text| layers.set(text)).build().is_ok()
    };
    let mut chosen: Vec<String> = Vec::new();
    let wanted = 1 + draw.below(5) as usize;
    for attempt in 0..60 {
        let at = if attempt < 6 { turn } else { draw.next() as usize };
        let key = &keys[at % keys.len()];
        let name = format!("{}.{}=", key.section, key.name);
        if chosen.len() == wanted || chosen.iter().any(|setting| setting.starts_with(&name)) {
            continue;
        }
        chosen.push(name + &value(&key.expected, draw));
        if !accepts(&chosen) {
            chosen.pop();
        }
    }
    chosen
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs one case; says what is wrong with how it ended.
fn trial(model: ModelName, number: usize, seed: u64) -> Option<String> {
    let mut draw = Draw(seed ^ (number as u64) << 8 ^ (model as u64) << 40);
    let folder = Folder::new();
    write_data(&folder);
    let data = data(model, &mut draw);
    // EvolveGCN of PyG-Temporal is as wide as the features.
    let square = matches!(model, ModelName::EvolveGcnO | ModelName::EvolveGcnH);
    let given = ["model.hidden=4", "train.epochs=1", "plan.memory_limit=300MiB", "train.threads=2"];
    let given = given.into_iter().skip(usize::from(square)).map(str::to_owned);
    let given: Vec<String> = given.collect();
    let turn = model as usize * CASES + number;
    let settings = settings(model, &given, turn, &mut draw);
    let mut arguments = vec!["train", "--quiet", "--out", "run", "--model", model.name()];
    arguments.extend(["--data", data]);
    for setting in given.iter().chain(&settings) {
        arguments.extend(["--set", setting]);
    }
    // What takes long is asked to stop, and what does not stop then hangs.
    let plain = command(&folder.path(""), &arguments);
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=120", "20"]).arg(plain.get_program()).args(&arguments);
    limited.current_dir(folder.path(""));
    let outcome = run_measured(limited, Duration::from_secs(600)).unwrap();
    let said = outcome.stderr_text();
    let wrong = outcome.status.signal().is_some()
        || !matches!(outcome.code(), Some(0..=5 | 124))
        || said.contains("panicked")
        || said.contains("bug in Zoetrope");
    wrong.then(|| format!("{arguments:?}\n{:?}\n{said}", outcome.status))
}

#[test]
fn no_settings_make_any_model_panic() {
    let (cases, seed) = (number("ZOETROPE_CASES", CASES as u64), number("ZOETROPE_SEED", 1));
    let mut failures = Vec::new();
    for &model in ModelName::ALL {
        failures.extend((0..cases as usize).filter_map(|at| trial(model, at, seed)));
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn ones_and_degrees_are_features_of_every_series() {
    let folder = Folder::new();
    write_data(&folder);
    for data in ["synthetic:demo?vertices=100&steps=40", "series.json", "traffic"] {
        for features in ["ones", "degree"] {
            let features = format!("data.features={features}");
            let job = ["train", "--model", "tgcn", "--epochs", "1", "--quiet", "--json", "--data"];
            let report = folder.json(&[&job[..], &[data, "--set", &features]].concat());
            assert!(report["epochs"][0]["loss"].is_f64(), "{data} {features}: {report}");
        }
    }
}

#[test]
fn the_longest_patience_is_no_panic() {
    let folder = Folder::new();
    for timeout in ["1e19", "1.7e308"] {
        let timeout = format!("plan.timeout={timeout}");
        let job =
            ["train", "--model", "tm-gcn", "--ranks", "2", "--epochs", "1", "--quiet", "--json"];
        let data =
            ["--data", "synthetic:sbm?vertices=40&steps=24&communities=4", "--set", &timeout];
        folder.json(&[&job[..], &data].concat());
    }
}
