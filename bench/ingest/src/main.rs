//! Reads a file into an event store and prints one JSON line: seconds, events, memory.
//!
//! `bench-ingest FILE [REPEATS]`. `compare.py` beside this runs it alternately with pandas and
//! polars.
#![forbid(unsafe_code)]

use std::time::Instant;

use serde_json::json;
use zoetrope_data::{Dataset, Quiet, ReadOptions, open};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: bench-ingest FILE [REPEATS]");
    let repeats: usize = arguments.next().map_or(1, |count| count.parse().expect("a number"));
    warm_up();
    let before = resident_bytes("VmRSS");
    let mut seconds = Vec::new();
    let mut report = json!({});
    for repeat in 0..repeats {
        let start = Instant::now();
        let loaded =
            open(&path, &ReadOptions::default(), &Quiet).unwrap_or_else(|error| panic!("{error}"));
        seconds.push(start.elapsed().as_secs_f64());
        let Dataset::Events(store) = &loaded.dataset else { panic!("{path} holds no events") };
        if repeat == 0 {
            report = json!({
                "events": store.len(),
                "vertices": store.vertices(),
                "sorted": loaded.notes.sorted,
                "store_bytes": store.column_bytes(),
                "before_bytes": before,
                "peak_bytes": resident_bytes("VmHWM"),
            });
        }
    }
    report["seconds"] = json!(seconds);
    println!("{report}");
}

/// Brings code and threads in with a table of two rows, as importing a module does for a peer, so
/// that memory is counted for the data alone.
fn warm_up() {
    let path = std::env::temp_dir().join(format!("bench-ingest-{}.csv", std::process::id()));
    std::fs::write(&path, "src,dst,time,label\n2,1,7,0\n1,2,5,1\n").expect("a writable folder");
    let tiny = open(&path.to_string_lossy(), &ReadOptions::default(), &Quiet);
    assert!(tiny.is_ok(), "a table of two rows is readable");
    std::fs::remove_file(&path).expect("the file just written");
}

/// A line of `/proc/self/status`, in bytes.
fn resident_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|value| value.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
