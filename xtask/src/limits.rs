//! Whether `--memory-limit` limits: every model, two sizes, one rank and four, under limits that are
//! drawn at random.
//!
//! Each case is trained without a limit first, which tells what it needs if nobody asks it to save. The least
//! limit that `zoetrope plan` accepts (the run itself, for ranks) is found by bisection. Then the case is trained under a limit above
//! the need, under one drawn between that least limit and half of the need (or a quarter more than the
//! least, if that is more), and under one drawn below the least. A run keeps to its limit, or says that it
//! cannot with exit code 4; a run whose plan was accepted has to end well. The peak is what the system
//! counted for the process. Rows go to `bench/results/limits.md`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wait4::Wait4;

use crate::repository;
use crate::validate::{self, Profile};

/// Snapshot models.
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
    for model in SNAPSHOTS {
        for (data, flags) in sizes {
            cases.extend([1, RANKS].map(|ranks| Case { model, data, flags, ranks }));
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
    let (out, commit) = (validate::target(root).join("limits"), repository::commit(root));
    let mut random = Random(seed);
    let mut page = format!(
        "# Limits on memory\n\n`cargo xtask limits --seed {seed}`: the peak that the system counted ÷ \
         `--memory-limit`, of one epoch; or exit code 4. Needs: the peak without a limit. Least: the \
         smallest limit that the plan accepts. Limits: above the need; drawn between the least and half of \
         the need (at least a quarter more than the least); drawn below the least.\n\n\
         | model | data | ranks | needs, MB | least, MB | limit, MB: peak ÷ limit | | | commit \
         |\n| --- | --- | ---: | ---: | ---: | --- | --- | --- | --- |\n"
    );
    let (mut broken, mut runs, mut ended_well, mut planned_for) = (0, 0, 0, [0, 0]);
    for case in cases() {
        if !wanted.is_empty() && !wanted.contains(&case.model) {
            continue;
        }
        let free = train(&binary, &case, &out, None);
        let least = least_limit(&binary, &case, &out, free.peak);
        let mut row = format!(
            "| {} | {} | {} | {:.0} | {:.0} |",
            case.model,
            case.data.trim_start_matches("synthetic:"),
            case.ranks,
            megabytes(free.peak),
            megabytes(least)
        );
        let (need, floor) = (free.peak as f64, least as f64);
        let accepted = random.between(floor, (need / 2.0).max(1.25 * floor));
        let limits = [1.2 * need, accepted, random.between(0.4, 0.99) * floor];
        for (column, limit) in limits.into_iter().enumerate() {
            let limit = limit as u64;
            let ended = train(&binary, &case, &out, Some(limit));
            let ratio = ended.peak as f64 / limit as f64;
            let (cell, good) = match ended.code {
                Some(0) => {
                    ended_well += 1;
                    planned_for[1] += usize::from(column == 1);
                    (format!("{ratio:.2}"), ratio <= 1.0)
                }
                // A limit below what the program itself takes cannot be kept to.
                Some(4) => (format!("exit code 4 ({ratio:.2})"), true),
                code => (format!("ended with {code:?}"), false),
            };
            runs += 1;
            planned_for[0] += usize::from(column == 1);
            broken += usize::from(!good);
            let mark = if good { "" } else { " **broken**" };
            let _ = write!(row, " {:.0}: {cell}{mark} |", megabytes(limit));
        }
        let _ = write!(row, " {commit} |");
        println!("{row}");
        page.push_str(&row);
        page.push('\n');
    }
    let totals = format!(
        "{runs} runs under a limit: {ended_well} ended well, {} with exit code 4, {broken} broken. Of the \
         {} whose limit the plan accepts below the need, {} ended well.",
        runs - ended_well - broken,
        planned_for[0],
        planned_for[1]
    );
    let _ = writeln!(page, "\n{totals}");
    println!("{totals}");
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

/// The smallest limit that a plan is made for, to a hundredth. `plan` plans for ranks that are processes;
/// for ranks that are threads the run itself is asked.
fn least_limit(binary: &Path, case: &Case, out: &Path, need: u64) -> u64 {
    let (mut refused, mut accepted) = (0, 2 * need);
    while accepted - refused > accepted / 100 {
        let middle = refused + (accepted - refused) / 2;
        let ended = if case.ranks > 1 {
            train(binary, case, out, Some(middle))
        } else {
            run_to_end(binary, command(binary, case, "plan", Some(middle)))
        };
        match ended.code {
            Some(0) => accepted = middle,
            _ => refused = middle,
        }
    }
    accepted
}

fn train(binary: &Path, case: &Case, out: &Path, limit: Option<u64>) -> Ended {
    let _ = std::fs::remove_dir_all(out);
    let mut command = command(binary, case, "train", limit);
    command.arg("--out").arg(out);
    run_to_end(binary, command)
}

fn command(binary: &Path, case: &Case, name: &str, limit: Option<u64>) -> Command {
    let mut command = Command::new(binary);
    command.args([name, "--quiet", "--epochs", "1", "--data", case.data, "--model", case.model]);
    command.args(case.flags).args(["--ranks", &case.ranks.to_string()]);
    if let Some(limit) = limit {
        command.args(["--memory-limit", &limit.to_string()]);
    }
    command
}

fn run_to_end(binary: &Path, mut command: Command) -> Ended {
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
