//! Times sampling on a stream: both ends of every event, asked at its time, in batches.
//!
//! - `bench-sampler serve FOLDER`: answers each line of JSON (a [`Case`]) with one (an [`Answer`]).
//! - `bench-sampler alone FOLDER`: every case by itself.
//!
//! `compare.py` beside this writes the stream's columns to the folder and asks this program and its
//! twin in turn. Both take the time of each four-hundredth of the stream by itself; the sum of the
//! shortest times of all is what a pass takes if nobody interrupts.
#![forbid(unsafe_code)]

mod pass;

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::{
    Direction, EventStore, TemporalIndex, Time, TimeScale, VertexId, VertexNames,
};

use pass::Pass;

/// What is asked; `peers.py` knows the same fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// `recent` or `uniform`.
    choice: String,
    neighbours: usize,
    /// Events in a batch.
    batch: usize,
    /// How long to measure.
    seconds: f64,
}

/// What is answered.
#[derive(Debug, Serialize)]
struct Answer {
    /// The shortest seconds of each part of the stream.
    seconds: Vec<f64>,
    /// Passes over the stream.
    passes: usize,
    /// Neighbours sampled in one pass.
    sampled: u64,
    /// A sum over all sampled events that depends on which they are, of whom and in which order.
    checksum: u64,
    /// The same of a loop that only moves the bytes.
    floor: Vec<f64>,
}

/// Parts of the stream that are timed by themselves.
const PARTS: usize = 400;
/// At least this many passes, however long one takes.
const FEWEST: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", folder] => serve(&read(folder)),
        ["alone", folder] => alone(&read(folder)),
        _ => eprintln!("usage: bench-sampler serve FOLDER | bench-sampler alone FOLDER"),
    }
}

/// Sources and destinations (32 bits each) and times (64 bits), little-endian, a file each.
fn read(folder: &str) -> EventStore {
    let bytes = |name: &str| {
        let path = Path::new(folder).join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let vertices = |name: &str| -> Vec<VertexId> {
        let bytes = bytes(name);
        bytes.as_chunks().0.iter().map(|&vertex| VertexId::from_le_bytes(vertex)).collect()
    };
    let (src, dst) = (vertices("src.bin"), vertices("dst.bin"));
    let time = bytes("time.bin").as_chunks().0.iter().map(|&at| Time::from_le_bytes(at)).collect();
    let count = src.iter().chain(&dst).max().map_or(0, |&largest| largest + 1);
    let names = VertexNames::identity(count);
    EventStore::new(src, dst, time, EventColumns::default(), TimeScale::SECONDS, names)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn serve(store: &EventStore) {
    let index = TemporalIndex::new(store, Direction::Both);
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let case: Case = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}"));
        let answer = serde_json::to_string(&measure(store, &index, &case)).expect("numbers");
        println!("{answer}");
        std::io::stdout().flush().expect("an open pipe");
    }
}

fn alone(store: &EventStore) {
    let index = TemporalIndex::new(store, Direction::Both);
    println!("{} events, {} vertices, {} entries", store.len(), store.vertices(), index.len());
    for choice in ["recent", "uniform"] {
        for batch in [200, 600, 1200] {
            let case = Case { choice: choice.to_owned(), neighbours: 10, batch, seconds: 1.0 };
            let answer = measure(store, &index, &case);
            let [seconds, floor] =
                [&answer.seconds, &answer.floor].map(|parts| parts.iter().sum::<f64>());
            println!(
                "{choice:<8} batch {batch:>5}: {:>6.2} ms, {:>6.1} M neighbours/s, {:>5.1} ns a \
                 moment, {:>3.0} % of the floor",
                seconds * 1e3,
                answer.sampled as f64 / seconds * 1e-6,
                seconds * 1e9 / (2 * store.len()) as f64,
                floor / seconds * 100.0,
            );
        }
    }
}

fn measure(store: &EventStore, index: &TemporalIndex, case: &Case) -> Answer {
    let mut pass = Pass::new(store, index, case);
    let (sampled, checksum) = pass.checked();
    let mut answer = Answer {
        sampled,
        checksum,
        passes: 0,
        seconds: vec![f64::INFINITY; PARTS],
        floor: vec![f64::INFINITY; PARTS],
    };
    let start = Instant::now();
    while answer.passes < FEWEST || start.elapsed().as_secs_f64() < case.seconds {
        answer.passes += 1;
        for part in 0..PARTS {
            let seconds = &mut answer.seconds[part];
            *seconds = seconds.min(pass.timed(part));
        }
        for part in 0..PARTS {
            let seconds = &mut answer.floor[part];
            *seconds = seconds.min(pass.copied(part));
        }
    }
    answer
}
