//! Time on the clock and processor time.

use std::time::Instant;

const RUNS: usize = 7;

/// Processor seconds of all threads of this process so far, from Linux's scheduler statistics;
/// 0 if there are none.
pub(crate) fn cpu_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = tasks.flatten().filter_map(|task| {
        let line = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    nanoseconds.sum::<u64>() as f64 * 1e-9
}

/// Median clock and processor seconds of a few runs on so many threads, and the last result.
pub(crate) fn median<R: Send>(threads: usize, work: impl Fn() -> R + Sync) -> (f64, f64, R) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut result = pool.install(&work);
    let (mut clock, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (start, before) = (Instant::now(), cpu_seconds());
        let again = pool.install(&work);
        clock.push(start.elapsed().as_secs_f64());
        cpu.push(cpu_seconds() - before);
        result = again;
    }
    clock.sort_by(f64::total_cmp);
    cpu.sort_by(f64::total_cmp);
    (clock[RUNS / 2], cpu[RUNS / 2], result)
}
