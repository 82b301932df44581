//! Reads a file into an event store and cuts it into snapshots; prints one JSON line.
//!
//! `bench-ingest FILE [REPEATS]`. `compare.py` beside this runs it alternately with pandas and
//! polars.

use std::time::Instant;

use serde_json::json;
use zoetrope_data::formats::{edge_list, jodie};
use zoetrope_data::{Dataset, Loaded, Quiet, ReadOptions};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: bench-ingest FILE [REPEATS]");
    let repeats: usize = arguments.next().map_or(1, |count| count.parse().expect("a number"));
    let before = resident_bytes("VmRSS");
    let mut seconds = Vec::new();
    let mut peak = 0;
    let mut last: Option<Loaded> = None;
    for repeat in 0..repeats {
        last = None;
        let start = Instant::now();
        let head = std::fs::read(&path).map(|_| ()).err();
        assert!(head.is_none());
        let start = if head.is_none() { Instant::now() } else { start };
        let options = ReadOptions::default();
        let path = std::path::Path::new(&path);
        let loaded = if path.to_string_lossy().contains("nycflights") {
            jodie::read(path, &options, &Quiet)
        } else {
            edge_list::read(path, &options, &Quiet)
        };
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        seconds.push(start.elapsed().as_secs_f64());
        if repeat == 0 {
            peak = resident_bytes("VmHWM");
        }
        last = Some(loaded);
    }
    let loaded = last.expect("at least one repeat");
    let Dataset::Events(store) = loaded.dataset else { panic!("events") };
    println!(
        "{}",
        json!({"events": store.len(), "vertices": store.vertices(), "seconds": seconds,
            "store_bytes": store.column_bytes(), "peak_bytes": peak, "before_bytes": before,
            "reason": loaded.notes.reason, "warnings": loaded.notes.warnings})
    );
}

/// A line of `/proc/self/status`, in bytes.
fn resident_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|value| value.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
