//! Whether `--memory-limit` limits: every model, two sizes, one rank and four, under limits that are
//! drawn at random.
//!
//! Each case is trained without a limit first, which tells what it needs; then under limits between a
//! fifth and a half of that, and under one above it. A run keeps to its limit, or says that it cannot
//! with exit code 4. The peak is what the system counted for the process. Rows go to
//! `bench/results/limits.md`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wait4::Wait4;

use crate::validate::{self, Profile};

/// Models of snapshots; those that ranks can share come first.
const SNAPSHOTS: [&str; 10] = [
    "tgcn",
    "cd-gcn",
    "wd-gcn",
    "tm-gcn",
    "evolvegcn-o",
    "a3tgcn",
    "gc-lstm",
    "evolvegcn-h",
    "mpnn-lstm",
    "dysat",
];
const SHARED: usize = 5;
const EVENTS: [&str; 4] = ["tgn", "jodie", "apan", "tgat"];
const RANKS: usize = 4;

/// What is left of a run.
struct Ended {
    code: Option<i32>,
    peak: u64,
}

/// One model on one data set.
struct Case {
    model: &'static str,
    data: &'static str,
    flags: &'static [&'static str],
    ranks: usize,
}

fn cases() -> Vec<Case> {
    let sizes: [(&str, &[&str]); 2] = [
        ("synthetic:demo?vertices=300&steps=96", &["--frame", "24", "--stride", "24"]),
        ("synthetic:demo?vertices=3000&steps=96", &["--frame", "48", "--stride", "24"]),
    ];
    let streams: [(&str, &[&str]); 2] = [
        ("synthetic:bipartite?events=20000", &["--batch-size", "200"]),
        ("synthetic:bipartite?events=60000", &["--batch-size", "4000"]),
    ];
    let mut cases = Vec::new();
    for (at, model) in SNAPSHOTS.into_iter().enumerate() {
        for (data, flags) in sizes {
            cases.push(Case { model, data, flags, ranks: 1 });
            if at < SHARED {
                cases.push(Case { model, data, flags, ranks: RANKS });
            }
        }
    }
    for model in EVENTS {
        for (data, flags) in streams {
            cases.push(Case { model, data, flags, ranks: 1 });
        }
    }
    cases
}

/// Runs all cases, or those of the named models; true if every run kept to its limit or said so.
pub(crate) fn run(root: &Path, flags: &[&str]) -> bool {
    let mut seed = 1;
    let mut wanted = Vec::new();
    let mut program = None;
    let mut rest = flags.iter();
    while let Some(&flag) = rest.next() {
        match flag {
            "--seed" => match rest.next().map(|text| text.parse()) {
                Some(Ok(number)) => seed = number,
                _ => return refuse("--seed needs a whole number"),
            },
            "--program" => match rest.next() {
                Some(path) => program = Some(PathBuf::from(path)),
                None => return refuse("--program needs a file"),
            },
            model if SNAPSHOTS.contains(&model) || EVENTS.contains(&model) => wanted.push(model),
            other => return refuse(&format!("{other} is no flag and no model")),
        }
    }
    let built = || validate::build_binary(root, Profile::Release);
    let Some(binary) = program.or_else(built) else { return false };
    let out = validate::target(root).join("limits");
    let mut random = Random(seed);
    let mut page = format!(
        "# Limits on memory\n\n`cargo xtask limits --seed {seed}`: the peak that the system counted ÷ \
         `--memory-limit`, of one epoch; or exit code 4. The first column of limits is above what the \
         run needs, the others are drawn between a fifth and a half of it.\n\n\
         | model | data | ranks | needs, MB | limit, MB: peak ÷ limit | | |\n\
         | --- | --- | ---: | ---: | --- | --- | --- |\n"
    );
    let mut broken = 0;
    for case in cases() {
        if !wanted.is_empty() && !wanted.contains(&case.model) {
            continue;
        }
        let free = train(&binary, &case, &out, None);
        let mut row = format!(
            "| {} | {} | {} | {:.0} |",
            case.model,
            case.data.trim_start_matches("synthetic:"),
            case.ranks,
            megabytes(free.peak)
        );
        let shares = [1.2, random.between(0.2, 0.5), random.between(0.2, 0.5)];
        for share in shares {
            let limit = (free.peak as f64 * share) as u64;
            let ended = train(&binary, &case, &out, Some(limit));
            let ratio = ended.peak as f64 / limit as f64;
            let (cell, good) = match ended.code {
                Some(0) => (format!("{ratio:.2}"), ratio <= 1.0),
                // A limit below what the program itself takes cannot be kept to.
                Some(4) => (format!("exit code 4 ({ratio:.2})"), true),
                code => (format!("ended with {code:?}"), false),
            };
            broken += usize::from(!good);
            let mark = if good { "" } else { " **broken**" };
            let _ = write!(row, " {:.0}: {cell}{mark} |", megabytes(limit));
        }
        println!("{row}");
        page.push_str(&row);
        page.push('\n');
    }
    let _ = writeln!(page, "\n{broken} broken.");
    println!("{broken} broken");
    if wanted.is_empty()
        && let Err(error) = std::fs::write(root.join("bench/results/limits.md"), page)
    {
        eprintln!("cannot write the table: {error}");
        return false;
    }
    broken == 0
}

fn refuse(why: &str) -> bool {
    eprintln!("{why}; cargo xtask limits [--seed S] [--program FILE] [MODEL …]");
    false
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn train(binary: &Path, case: &Case, out: &Path, limit: Option<u64>) -> Ended {
    let _ = std::fs::remove_dir_all(out);
    let mut command = Command::new(binary);
    command.args(["train", "--quiet", "--epochs", "1", "--data", case.data, "--model", case.model]);
    command.args(case.flags).arg("--out").arg(out);
    command.args(["--ranks", &case.ranks.to_string()]);
    if let Some(limit) = limit {
        command.args(["--memory-limit", &limit.to_string()]);
    }
    let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started.and_then(|child| child.wait4()) {
        Ok(used) => Ended { code: used.status.code(), peak: used.rusage.maxrss },
        Err(error) => {
            eprintln!("cannot run {}: {error}", binary.display());
            Ended { code: None, peak: 0 }
        }
    }
}

/// SplitMix64: enough to draw limits.
struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (high - low) * ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
