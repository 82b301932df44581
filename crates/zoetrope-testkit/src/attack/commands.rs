//! What is run on an input of each role.

use super::honest::{Honest, Role};
use crate::random::Random;

/// Memory that a command which trains or judges is given, and must stay within.
pub(super) const RUN_MEMORY_BYTES: u64 = 256 << 20;

/// A command line and what is promised about it.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The command, for the table.
    pub(super) command: &'static str,
    pub(super) arguments: Vec<String>,
    /// Whether it only reads: then it is decided within the limits of a reader. Otherwise it trains
    /// or judges, within the memory that it is given and until it is asked to stop.
    pub(super) reads: bool,
    /// Whether standard output is one JSON document if it ends well.
    pub(super) json: bool,
}

const WINDOWS: [&str; 5] = ["1d", "10 parts", "20 events", "1000", "month"];
const MODELS: [&str; 5] = ["tgcn", "tgn", "evolvegcn-o", "jodie", "tgat"];

/// A command for an input.
pub(super) fn order(random: &mut Random, input: &Honest) -> Order {
    let chosen = match input.role {
        Role::Data => data(random, &input.entry),
        Role::Run => run(random),
        Role::Weights => weights(random),
        Role::Config => config(random, &input.entry),
        Role::Plan => plan(random),
        Role::Pairs => pairs(),
        Role::Negatives => negatives(),
    };
    let (command, mut arguments) = chosen;
    arguments.extend(input.arguments.iter().cloned());
    let reads = matches!(command, "inspect" | "convert" | "plan" | "checkpoint");
    let json = command != "checkpoint" && random.once_in(2);
    if json {
        arguments.push("--json".into());
    }
    if command != "checkpoint" {
        arguments.push("--quiet".into());
    }
    if !reads {
        arguments.push(format!("--memory-limit={RUN_MEMORY_BYTES}"));
    }
    Order { command, arguments, reads, json }
}

/// The command that an input which nobody changed must get through.
pub(super) fn plain_order(input: &Honest) -> Order {
    let (command, mut arguments) = match input.role {
        Role::Data => lines("inspect", &format!("data inspect {}", input.entry)),
        Role::Run => lines("eval", "eval --run run"),
        Role::Weights => lines("eval", "eval --weights w.safetensors"),
        Role::Config => lines("plan", &format!("plan {}", input.entry)),
        Role::Plan => lines("train", "train --plan plan.json --epochs 1 --out ../out/r"),
        Role::Pairs => pairs(),
        Role::Negatives => negatives(),
    };
    arguments.extend(input.arguments.iter().cloned());
    Order { command, arguments, reads: false, json: false }
}

fn pairs() -> (&'static str, Vec<String>) {
    lines("predict", "predict --run run --pairs pairs.csv --out ../out/p.csv --force")
}

fn negatives() -> (&'static str, Vec<String>) {
    let shape =
        "--model tgn --task link-prediction --epochs 1 --hidden 4 --set task.negatives_file=n.npz";
    lines("train", &format!("train --data e.csv {shape} --out ../out/r"))
}

fn lines(command: &'static str, text: &str) -> (&'static str, Vec<String>) {
    (command, text.split_whitespace().map(str::to_owned).collect())
}

fn data(random: &mut Random, entry: &str) -> (&'static str, Vec<String>) {
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match random.below(20) {
        0..=9 => {
            let mut arguments = words(format!("data inspect {entry}"));
            if random.once_in(3) {
                arguments.extend(["--window".into(), (*random.pick(&WINDOWS)).to_owned()]);
            }
            if random.once_in(5) {
                arguments.push("--lenient".into());
            }
            ("inspect", arguments)
        }
        10..=13 => {
            let out = *random.pick(&["o.zoe", "o.csv", "o.parquet", "o.npz", "o.json"]);
            let mut arguments = words(format!("data convert {entry} ../out/{out} --drop"));
            if out == "o.npz" || random.once_in(4) {
                arguments.extend(["--window".into(), (*random.pick(&WINDOWS)).to_owned()]);
            }
            ("convert", arguments)
        }
        14..=16 => {
            let mut arguments = words(format!("plan --data {entry}"));
            if random.once_in(2) {
                arguments.extend(["--model".into(), (*random.pick(&MODELS)).to_owned()]);
            }
            ("plan", arguments)
        }
        _ => {
            let mut arguments = words(format!("train --data {entry} --epochs 1 --out ../out/r"));
            if random.once_in(2) {
                arguments.extend(["--model".into(), (*random.pick(&MODELS)).to_owned()]);
            }
            // EvolveGCN of PyG-Temporal is as wide as the features.
            if !arguments.iter().any(|word| word == "evolvegcn-o") {
                arguments.extend(["--hidden".to_owned(), "4".to_owned()]);
            }
            ("train", arguments)
        }
    }
}

fn run(random: &mut Random) -> (&'static str, Vec<String>) {
    match random.below(10) {
        0..=2 => lines("resume", "train --resume run --epochs 3"),
        3..=4 => lines("eval", "eval --run run"),
        5 => lines("predict", "predict --run run --out ../out/p.csv"),
        6 => lines("embed", "embed --run run --out ../out/p.npy"),
        7..=8 => lines("checkpoint", "checkpoint verify run"),
        _ => lines("checkpoint", "checkpoint show run"),
    }
}

fn weights(random: &mut Random) -> (&'static str, Vec<String>) {
    match random.below(3) {
        0 => lines("eval", "eval --weights w.safetensors"),
        1 => lines("predict", "predict --weights w.safetensors --out ../out/p.csv"),
        _ => lines("train", "train --weights w.safetensors --epochs 1 --out ../out/r"),
    }
}

fn config(random: &mut Random, entry: &str) -> (&'static str, Vec<String>) {
    match random.below(2) {
        0 => lines("plan", &format!("plan {entry}")),
        _ => lines("train", &format!("train {entry} --epochs 1 --out ../out/r")),
    }
}

fn plan(random: &mut Random) -> (&'static str, Vec<String>) {
    match random.below(2) {
        0 => lines("plan", "plan --plan plan.json"),
        _ => lines("train", "train --plan plan.json --epochs 1 --out ../out/r"),
    }
}
