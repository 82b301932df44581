//! Times what `zoetrope-graph` does with events: snapshots, the temporal index, the store on disk.
//!
//! - `bench-graph snapshots [STORE.zoe]`: the events of a store in hours, then 5 million generated
//!   events over several vertex and window counts.
//! - `bench-graph index`: the temporal index of 5 million generated events.
//! - `bench-graph structures`: matrices, differences, overlaps and smoothing of generated snapshots.
//! - `bench-graph store FILE EVENTS`: streams so many events into a store, opens and verifies it.
//!
//! Medians of several runs, on one thread and on two. Beside the time on the clock stands the
//! processor time per event, summed over threads: it is what a core does and, unlike the clock,
//! means the same on a busy machine.
#![forbid(unsafe_code)]

mod clock;
mod generate;
mod structures;

use std::path::Path;
use std::time::Instant;

use zoetrope_graph::store::{
    self, EventChunk, StoreAttributes, StoreColumns, StoreFile, StoreWriter,
};
use zoetrope_graph::{
    Direction, DiscretiseOptions, EventStore, Lifetime, Merge, TemporalIndex, TimeScale, Windowing,
    Windows, discretise,
};

use clock::{cpu_seconds, median};
use generate::{chunk, generate};

const EVENTS: u64 = 5_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["snapshots"] => generated_snapshots(),
        ["snapshots", path] => {
            let events = store::open(Path::new(path)).unwrap_or_else(|error| panic!("{error}"));
            println!("{path}: {} events", events.len());
            hours(&events);
            generated_snapshots();
        }
        ["index"] => index(),
        ["structures"] => structures::structures(),
        ["store", path, events] => on_disk(Path::new(path), events.parse().expect("a number")),
        _ => eprintln!(
            "usage: bench-graph snapshots [STORE.zoe] | index | structures | store FILE EVENTS"
        ),
    }
}

fn hours(store: &EventStore) {
    for threads in [1, 2] {
        let options = DiscretiseOptions::default();
        snapshots(store, &"1h".parse().expect("a width"), "1h", threads, &options);
    }
}

fn generated_snapshots() {
    for (vertices, weighted) in
        [(10_000, false), (10_000, true), (1_000_000, false), (1_000_000, true)]
    {
        let store = generate(EVENTS, vertices, weighted);
        let kind = if weighted { "weighted" } else { "plain" };
        println!("generated: {EVENTS} events, {vertices} vertices, {kind}");
        for parts in [1_u64, 10, 1_000, 1_000_000] {
            let windowing = Windowing::Parts(parts.try_into().expect("not zero"));
            for threads in [1, 2] {
                let options = DiscretiseOptions::default();
                snapshots(&store, &windowing, &format!("{parts} windows"), threads, &options);
            }
        }
        let living = DiscretiseOptions {
            lifetime: Lifetime::UntilRemoved,
            merge: Merge::Last,
            ..DiscretiseOptions::default()
        };
        let windowing = Windowing::Parts(10.try_into().expect("not zero"));
        snapshots(&store, &windowing, "10 windows, until removed", 2, &living);
    }
}

fn snapshots(
    store: &EventStore,
    windowing: &Windowing,
    name: &str,
    threads: usize,
    options: &DiscretiseOptions,
) {
    let (clock, cpu, edges) = median(threads, || {
        let windows = Windows::cut(store, windowing).expect("windows");
        discretise(store, &windows, options).expect("snapshots").stored_edges()
    });
    report(&format!("{name} ({edges} edges)"), store.len() as u64, threads, clock, cpu);
}

fn index() {
    for vertices in [10_000, 1_000_000] {
        let store = generate(EVENTS, vertices, false);
        for direction in [Direction::Out, Direction::Both] {
            for threads in [1, 2] {
                let (clock, cpu, entries) =
                    median(threads, || TemporalIndex::new(&store, direction).len());
                let name = format!("{vertices} vertices, {direction:?}, {entries} entries");
                report(&name, store.len() as u64, threads, clock, cpu);
            }
        }
    }
}

fn on_disk(path: &Path, events: u64) {
    const CHUNK: u64 = 1 << 20;
    const VERTICES: u32 = 1_000_000;
    let fail = |error| -> ! { panic!("{error}") };
    let start = Instant::now();
    let mut writer = StoreWriter::create(path, TimeScale::SECONDS, StoreColumns::default())
        .unwrap_or_else(|error| fail(error));
    for from in (0..events).step_by(CHUNK as usize) {
        let (src, dst, time) = chunk(from..events.min(from + CHUNK), VERTICES);
        let chunk = EventChunk { src: &src, dst: &dst, time: &time, ..EventChunk::default() };
        writer.append(&chunk).unwrap_or_else(|error| fail(error));
    }
    let none = generate(0, VERTICES, false);
    writer.finish(&StoreAttributes::of(&none), &|_| {}).unwrap_or_else(|error| fail(error));
    println!("written: {events} events in {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let file = StoreFile::open(path).unwrap_or_else(|error| fail(error));
    let store = file.events().unwrap_or_else(|error| fail(error));
    println!("opened: {} events in {:.3} ms", store.len(), start.elapsed().as_secs_f64() * 1e3);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    file.verify(&|_| {}).unwrap_or_else(|error| fail(error));
    let (clock, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("verified: {} bytes in {clock:.3} s, processor {cpu:.3} s", file.bytes());
}

fn report(what: &str, events: u64, threads: usize, clock: f64, cpu: f64) {
    println!(
        "  {what:<46} {threads} threads {:>8.2} ms; processor {:>8.2} ms = {:>5.1} ns/event, \
         {:>5.1} M events/s a core",
        clock * 1e3,
        cpu * 1e3,
        cpu * 1e9 / events as f64,
        events as f64 / cpu / 1e6,
    );
}
