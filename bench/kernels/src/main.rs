//! Times the kernels of `zoetrope-tensor` and what the machine gives for them.
//!
//! - `bench-kernels graphs FOLDER`: writes the matrices that both sides multiply with.
//! - `bench-kernels serve`: reads one case a line from standard input (JSON), measures it, answers
//!   with one line of JSON. `compare.py` asks this program and its PyTorch twin in turn.
//! - `bench-kernels alone [FILTER]`: times all kernels by themselves and prints rates.
//!
//! `RAYON_NUM_THREADS` sets the number of threads.
#![forbid(unsafe_code)]

mod alone;
mod attention;
mod case;
mod clock;
mod graphs;
mod machine;
mod recurrent;
mod rows;
mod sparse;

use std::io::{BufRead, Write};
use std::path::Path;

use case::{Answer, Case};
use graphs::Graphs;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Inside a pool, as the trainer runs: entering one for every kernel would cost microseconds.
    let pool = rayon::ThreadPoolBuilder::new().build().expect("threads");
    match arguments[..] {
        ["graphs", folder] => graphs::write(Path::new(folder)),
        ["serve"] => pool.install(serve),
        ["alone"] => pool.install(|| alone::run("")),
        ["alone", filter] => pool.install(|| alone::run(filter)),
        _ => eprintln!("usage: bench-kernels graphs FOLDER | serve | alone [FILTER]"),
    }
}

fn serve() {
    let mut graphs = Graphs::default();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line of text");
        let case: Case = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let answer = measure(&case, &mut graphs);
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &answer).expect("an answer");
        out.write_all(b"\n").and_then(|()| out.flush()).expect("somebody listens");
    }
}

fn measure(case: &Case, graphs: &mut Graphs) -> Answer {
    match case.kernel.as_str() {
        "machine" => machine::measure(case),
        "spmm" => sparse::measure(case, graphs.group(&case.graph, case.snapshots)),
        "gather" | "scatter" => rows::measure(case, graphs.group(&case.graph, 1)),
        "gru" | "lstm" => recurrent::measure(case),
        "attention" => attention::measure(case),
        other => panic!("no kernel `{other}`"),
    }
}
