//! Waiting costs no processor time.

use std::time::{Duration, Instant};

use zoetrope_dist::{Timeouts, threads};

#[test]
fn ranks_that_wait_sleep() {
    // Three ranks wait half a second for the fourth: a busy wait would take a second and a half of
    // the processor, or all of it that there is.
    let before = processor_time();
    let start = Instant::now();
    threads::run(4, Timeouts::default(), |ranks| {
        if ranks.rank() == 0 {
            std::thread::sleep(Duration::from_millis(500));
        }
        ranks.barrier()
    })
    .unwrap();
    assert!(start.elapsed() >= Duration::from_millis(500));
    let used = processor_time() - before;
    assert!(used < Duration::from_millis(250), "{used:?}");
}

/// What this process has used so far; hence the only test in this file.
fn processor_time() -> Duration {
    let usage = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = usage.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|&at| fields[at].parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
