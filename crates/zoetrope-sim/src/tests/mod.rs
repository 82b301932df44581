//! The simulator against closed forms and against itself.

mod calibrated;
mod chakra;
mod closed_forms;
mod invariants;
mod work_of_tasks;

use std::collections::BTreeMap;

use zoetrope_plan::program::{Purpose, Stream};
use zoetrope_plan::{Task, TaskGraph, TaskKind};

use crate::engine::Options;
use crate::job::Job;
use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::work::ModelFacts;

/// Values of the model: an update of them takes a millisecond on the devices of these tests.
const WEIGHTS: usize = 250_000;

/// GPUs whose numbers are easy to count with: an update takes 1 ms, a megabyte 1 ms on every link.
fn cluster(nodes: usize, devices: usize, all_reduce: &str) -> Machine {
    cluster_of(nodes, devices, all_reduce, "1 ms", "")
}

fn cluster_of(
    nodes: usize,
    devices: usize,
    all_reduce: &str,
    latency: &str,
    copy: &str,
) -> Machine {
    let between = if nodes > 1 {
        format!(
            "[links.between]\nkind = \"infiniband\"\nlatency = \"{latency}\"\nrate = \"1 GB/s\"\n"
        )
    } else {
        String::new()
    };
    let text = format!(
        "name = \"test\"\nsource = \"made up\"\nnodes = {nodes}\ndevices = {devices}\n\
         [device]\nkind = \"gpu\"\nmemory = \"1 GB\"\nmemory_rate = \"3 GB/s\"\n\
         compute_rate = \"1 TFLOP/s\"\nlaunch = \"0 s\"\n\
         [links.copy]\nkind = \"pcie\"\nlatency = \"0 s\"\nrate = \"1 GB/s\"\n{copy}\n\
         [links.inside]\nkind = \"nvlink\"\nlatency = \"0 s\"\nrate = \"4 GB/s\"\n\
         {between}[collectives]\nall_reduce = \"{all_reduce}\"\n"
    );
    Machine::parse(&text, "test").unwrap()
}

fn facts() -> ModelFacts {
    ModelFacts { weights: WEIGHTS, ..ModelFacts::default() }
}

fn task(kind: TaskKind, stream: Stream, bytes: Option<u64>, after: &[usize]) -> Task {
    let purpose = match kind {
        TaskKind::AllReduce => Some(Purpose::Gradients),
        TaskKind::Exchange => Some(Purpose::ToTime),
        TaskKind::AllGather => Some(Purpose::Statistics),
        _ => None,
    };
    Task {
        kind,
        stream,
        update: 0,
        frame: None,
        block: None,
        layer: None,
        backward: false,
        purpose,
        shape: None,
        bytes,
        after: after.to_vec(),
    }
}

/// A millisecond of computing.
fn update(after: &[usize]) -> Task {
    task(TaskKind::Update, Stream::Compute, None, after)
}

fn copy(bytes: u64, after: &[usize]) -> Task {
    task(TaskKind::Copy, Stream::Copy, Some(bytes), after)
}

fn message(kind: TaskKind, bytes: u64, after: &[usize]) -> Task {
    task(kind, Stream::Messages, Some(bytes), after)
}

fn job(programs: Vec<Vec<Task>>) -> Job {
    let mut job = Job::new(facts(), 1, false);
    for (rank, tasks) in programs.into_iter().enumerate() {
        job.push(TaskGraph { schema: TaskGraph::SCHEMA, rank, tasks });
    }
    job
}

fn run(machine: &Machine, job: &Job, options: &Options) -> Outcome {
    machine.run(job, options, &mut |_, _| ()).unwrap()
}

/// The same program on every rank.
fn run_all(machine: &Machine, ranks: usize, tasks: &[Task]) -> Outcome {
    run(machine, &job(vec![tasks.to_vec(); ranks]), &Options::default())
}

#[track_caller]
fn expect_seconds(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.max(1.0), "{found}, not {expected}");
}
