//! Times what `zoetrope-graph` does with events: windows and snapshots.
//!
//! `bench-graph [FILE]` measures a file (the wikipedia events, say) in hours, then 5 million
//! generated events over several vertex counts and window counts, on one thread and on all.
//! Medians of several runs, in nanoseconds per event and thread.

use std::time::Instant;

use zoetrope_data::{Dataset, Quiet, ReadOptions};
use zoetrope_graph::events::EventColumns;
use zoetrope_graph::random::Random;
use zoetrope_graph::{
    DiscretiseOptions, EventStore, Lifetime, Merge, TimeScale, VertexNames, Windowing, Windows,
    discretise,
};

const RUNS: usize = 7;

fn main() {
    if let Some(path) = std::env::args().nth(1) {
        file(&path);
    }
    generated();
}

fn file(path: &str) {
    let loaded = zoetrope_data::open(path, &ReadOptions::default(), &Quiet)
        .unwrap_or_else(|error| panic!("{error}"));
    let Dataset::Events(store) = loaded.dataset else { panic!("{path}: no events") };
    println!("{path}: {} events", store.len());
    for threads in thread_counts() {
        snapshots(&store, &"1h".parse().expect("a width"), "1h", threads, Merge::Sum);
    }
}

fn generated() {
    const EVENTS: u64 = 5_000_000;
    for vertices in [10_000_u32, 1_000_000] {
        for weighted in [false, true] {
            let store = generate(EVENTS, vertices, weighted);
            let kind = if weighted { "weighted" } else { "plain" };
            println!("generated: {EVENTS} events, {vertices} vertices, {kind}");
            for parts in [1_u64, 10, 1_000, 1_000_000] {
                let windowing = Windowing::Parts(parts.try_into().expect("not zero"));
                for threads in thread_counts() {
                    let name = format!("{parts} windows");
                    snapshots(&store, &windowing, &name, threads, Merge::Sum);
                }
            }
        }
    }
}

/// Events a tick apart; destinations are the lower of two draws, so that some are popular.
fn generate(events: u64, vertices: u32, weighted: bool) -> EventStore {
    let random = Random::new(1, 0);
    let below = |draw: u32| (u64::from(draw) * u64::from(vertices) >> 32) as u32;
    let blocks: Vec<[u32; 4]> = (0..events).map(|event| random.block(event)).collect();
    let weight = weighted.then(|| blocks.iter().map(|b| b[3] as f32).collect::<Vec<_>>().into());
    EventStore::new(
        blocks.iter().map(|block| below(block[0])).collect(),
        blocks.iter().map(|block| below(block[1]).min(below(block[2]))).collect(),
        (0..events as i64).collect(),
        EventColumns { weight, ..EventColumns::default() },
        TimeScale::SECONDS,
        VertexNames::identity(vertices),
    )
    .expect("generated columns fit")
}

fn thread_counts() -> impl Iterator<Item = usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    [1, all].into_iter().take(if all > 1 { 2 } else { 1 })
}

fn snapshots(store: &EventStore, windowing: &Windowing, name: &str, threads: usize, merge: Merge) {
    let options = DiscretiseOptions { merge, lifetime: Lifetime::Window, ..Default::default() };
    let (seconds, edges) = median(threads, || {
        let windows = Windows::cut(store, windowing).expect("windows");
        discretise(store, &windows, &options).expect("snapshots").stored_edges()
    });
    report(&format!("snapshots, {name} ({edges} edges)"), store.len(), threads, seconds);
}

fn report(what: &str, events: usize, threads: usize, seconds: f64) {
    let each = seconds * 1e9 * threads as f64 / events as f64;
    let rate = events as f64 / seconds / 1e6;
    println!(
        "  {what:<44} {threads} threads {:>8.2} ms {rate:>7.1} M events/s {each:>6.1} ns/event/thread",
        seconds * 1e3
    );
}

/// The median time of a few runs on so many threads, and what the last run returned.
fn median<R: Send>(threads: usize, work: impl Fn() -> R + Sync) -> (f64, R) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let mut result = work();
        let mut seconds: Vec<f64> = (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                let again = work();
                let elapsed = start.elapsed().as_secs_f64();
                result = again;
                elapsed
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        (seconds[RUNS / 2], result)
    })
}
