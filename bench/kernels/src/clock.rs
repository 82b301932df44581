//! Repeating a piece of work and taking the time of each run.

use std::time::Instant;

/// At least this many runs, however long one takes.
const FEWEST: usize = 5;

/// Seconds of each run of `work` until `seconds` have passed; one run before does not count.
pub(crate) fn repeat(seconds: f64, mut work: impl FnMut()) -> Vec<f64> {
    repeat_prepared(seconds, || (), |()| work())
}

/// As [`repeat`], with something made ready before each run that is not timed.
pub(crate) fn repeat_prepared<T>(
    seconds: f64,
    mut prepare: impl FnMut() -> T,
    mut work: impl FnMut(T),
) -> Vec<f64> {
    work(prepare());
    let (start, mut runs) = (Instant::now(), Vec::new());
    while runs.len() < FEWEST || start.elapsed().as_secs_f64() < seconds {
        let ready = prepare();
        let begin = Instant::now();
        work(ready);
        runs.push(begin.elapsed().as_secs_f64());
    }
    runs
}
