//! Ranks that fail, on threads: the others are told who, how and where everyone was, in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zoetrope_dist::{
    DistError, Exchange, ExchangePlan, Failure, Ranks, Reduction, Timeouts, threads,
};
use zoetrope_tensor::Tape;

/// For ranks that are to be found hanging: longer than a busy machine keeps a thread from running. Nobody
/// waits for a rank that hangs, so that the grace is never used up.
const SHORT: Timeouts =
    Timeouts { timeout: Duration::from_secs(3), grace: Duration::from_secs(600) };

/// For ranks that end: the others are told at once, and not because they have waited long enough.
const LONG: Timeouts =
    Timeouts { timeout: Duration::from_secs(300), grace: Duration::from_secs(600) };

/// What may be added to a time limit by a busy machine.
const SLACK: Duration = Duration::from_secs(100);

fn work(ranks: &Ranks, calls: usize) -> Result<(), DistError> {
    for step in 0..calls {
        ranks.set_step(step as u64);
        ranks.all_reduce(&mut [1.0f64; 1000], Reduction::Sum)?;
    }
    Ok(())
}

/// Runs three ranks of which rank 1 does something else after some calls; what every rank and the
/// whole say, and how long it took.
fn with_victim(
    timeouts: Timeouts,
    calls: usize,
    fault: impl Fn(&Ranks) -> Result<(), String> + Send + Sync + 'static,
) -> (Vec<String>, Failure<String>, Duration) {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let start = Instant::now();
    let failure = threads::run(3, timeouts, move |ranks| {
        if ranks.rank() == 1 {
            work(&ranks, calls).map_err(|error| error.to_string())?;
            return fault(&ranks);
        }
        // A rank may hear of the fault before it has taken the result of the last sound call.
        let error = work(&ranks, calls).and_then(|()| work(&ranks, 5)).unwrap_err().to_string();
        tell.lock().unwrap().push(error.clone());
        Err(error)
    });
    let told = told.lock().unwrap().clone();
    (told, failure.unwrap_err(), start.elapsed())
}

#[test]
fn a_rank_that_returns_an_error_stops_the_others() {
    for calls in [0, 3] {
        let (told, failure, time) = with_victim(LONG, calls, |_| Err("no such file".into()));
        assert!(
            matches!(&failure, Failure::Returned { rank: 1, error } if error == "no such file")
        );
        assert_eq!(failure.to_string(), "rank 1: no such file");
        assert_eq!(told.len(), 2);
        for told in told {
            assert!(told.contains("rank 1 ended: no such file"), "{told}");
            let at = |call: usize| told.contains(&format!("in all-reduce {call}"));
            assert!(at(calls) || at(calls + 1), "{told}");
        }
        assert!(time < SLACK, "{time:?}");
    }
}

#[test]
fn a_rank_that_panics_stops_the_others() {
    for calls in [0, 3] {
        let (told, failure, time) = with_victim(LONG, calls, |_| panic!("out of {}", "luck"));
        let text = failure.to_string();
        assert!(text.contains("rank 1 ended: it panicked: out of luck"), "{text}");
        assert!(text.contains("rank 0: step"), "{text}");
        assert_eq!(told.len(), 2);
        assert!(time < SLACK, "{time:?}");
    }
}

#[test]
fn a_rank_that_panics_in_the_middle_of_a_call_stops_the_others() {
    let (told, failure, _) = with_victim(LONG, 2, |ranks| {
        let _started = ranks.start_all_reduce(vec![1.0f64; 1000], Reduction::Sum);
        panic!("half-way")
    });
    assert!(failure.to_string().contains("half-way"));
    assert_eq!(told.len(), 2);
}

#[test]
fn a_rank_that_leaves_too_early_is_named() {
    let (told, failure, time) = with_victim(LONG, 3, |_| Ok(()));
    for text in told.iter().chain([&failure.to_string()]) {
        assert!(text.contains("rank 1 ended: it finished while others still need it"), "{text}");
        assert!(text.contains("rank 1: step 2, has finished after all-reduce 3"), "{text}");
    }
    assert!(time < SLACK, "{time:?}");
}

#[test]
fn nobody_waits_for_a_rank_that_hangs_to_leave() {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let start = Instant::now();
    let found = threads::run(3, SHORT, move |ranks| {
        while ranks.rank() == 1 && !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        ranks.barrier()
    });
    let text = found.unwrap_err().to_string();
    assert!(text.contains("rank 1 hangs"), "{text}");
    assert!(start.elapsed() < SHORT.timeout + SLACK, "{:?}", start.elapsed());
    stop.store(true, Ordering::Relaxed);
}

#[test]
fn a_rank_that_loops_for_ever_is_named_in_time_and_left_behind() {
    for calls in [0, 3] {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (told, failure, time) = with_victim(SHORT, calls, move |ranks| {
            if calls > 0 {
                let _ = ranks.start_all_reduce(vec![1.0f64; 1000], Reduction::Sum);
            }
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        assert_eq!(told.len(), 2);
        for text in told.iter().chain([&failure.to_string()]) {
            assert!(text.contains("rank 1 hangs for"), "{text}");
            assert!(text.contains("others wait for it, and it does not come"), "{text}");
            let last = ["has not communicated yet", "computes after all-reduce 4"][calls.min(1)];
            assert!(
                text.contains(&format!("rank 1: step {}, {last}", calls.saturating_sub(1))),
                "{text}"
            );
            assert!(text.contains(&format!("waits in all-reduce {}", calls + 1)), "{text}");
        }
        assert!(time >= SHORT.timeout && time < SHORT.timeout + SLACK, "{time:?}");
        stop.store(true, Ordering::Relaxed);
    }
}

#[test]
fn ranks_that_wait_for_each_other_are_told_so() {
    let failure =
        threads::run(2, SHORT, |ranks| ranks.receive::<f32>(1 - ranks.rank(), 0, 1).map(drop));
    let text = failure.unwrap_err().to_string();
    assert!(text.contains("it waits for something that nobody sends"), "{text}");
    assert!(text.contains("rank 1: step 0, waits in receive 1"), "{text}");
}

#[test]
fn a_rank_that_computes_for_longer_than_the_timeout_is_fine_while_nobody_waits() {
    threads::run(2, SHORT, |ranks| {
        std::thread::sleep(SHORT.timeout * 2);
        ranks.barrier()
    })
    .unwrap();
}

#[test]
fn an_operator_of_a_tape_fails_quietly_and_the_step_is_found_to_have_failed() {
    let failure = threads::run(2, LONG, |ranks| {
        if ranks.rank() == 1 {
            return Err("gone".to_owned());
        }
        for overlapped in [false, true] {
            let plan = ExchangePlan::between(0, 2, 4, |row| row / 2, |row| row % 2).unwrap();
            let exchange = Exchange::new(&ranks, plan);
            let mut tape = Tape::new();
            let x = tape.variable(2, 1, &[1.0, 2.0]).unwrap();
            let y = if overlapped {
                let pending = exchange.start(&mut tape, x).unwrap();
                pending.arrive(&mut tape)
            } else {
                exchange.apply(&mut tape, x).unwrap()
            };
            let mean = tape.mean(y);
            tape.backward(mean).unwrap();
            let error = ranks.check().unwrap_err().to_string();
            assert!(error.contains("rank 1 ended: gone"), "{error}");
        }
        Ok(())
    });
    assert_eq!(failure.unwrap_err().to_string(), "rank 1: gone");
}
