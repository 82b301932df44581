//! Collectives and exchanges on threads.

mod bodies;

use std::time::Duration;

use proptest::prelude::*;
use zoetrope_dist::{DistError, Reduction, Timeouts, threads};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn everything_arrives_where_it_should_and_sums_have_one_order(seed: u64, size in 1usize..=8) {
        let seed = seed >> 8;
        let hashes = threads::run(size, Timeouts::default(), move |ranks| {
            let hash = bodies::collectives(&ranks, seed)?;
            bodies::exchanges(&ranks, seed)?;
            Ok::<_, DistError>(hash)
        });
        prop_assert!(hashes.unwrap().windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn one_rank_needs_no_threads() {
    let ranks = threads::alone();
    bodies::collectives(&ranks, 3).unwrap();
    bodies::exchanges(&ranks, 3).unwrap();
    assert_eq!(ranks.traffic().bytes(), 0);
}

#[test]
fn results_come_in_the_order_of_ranks() {
    let run = threads::run(4, Timeouts::default(), |ranks| Ok::<_, DistError>(ranks.rank()));
    assert_eq!(run.unwrap(), [0, 1, 2, 3]);
}

#[test]
fn ranks_that_disagree_are_told_so() {
    let run = threads::run(2, Timeouts::default(), |ranks| match ranks.rank() {
        0 => ranks.all_reduce(&mut [1.0f32], Reduction::Sum),
        _ => ranks.barrier(),
    });
    let message = run.unwrap_err().to_string();
    assert!(message.contains("expected"), "{message}");
    let run = threads::run(2, Timeouts::default(), |ranks| {
        ranks.all_reduce(&mut vec![1.0f32; 1 + ranks.rank()], Reduction::Sum)
    });
    let message = run.unwrap_err().to_string();
    assert!(message.contains("in all-reduce 1: expected"), "{message}");
}

#[test]
fn calls_that_cannot_be_right_are_refused_with_rank_and_call() {
    let ranks = threads::alone();
    let error = ranks.broadcast(1, &mut [0.0f32]).unwrap_err();
    assert_eq!(error.to_string(), "rank 0 in broadcast 1: the root must be below 1, but is 1");
    // A rank that failed once has lost its place in the order.
    assert_eq!(ranks.barrier().unwrap_err(), error);
    let error = threads::alone().send(0, 0, vec![1u8]).unwrap_err();
    assert!(error.to_string().contains("send 1: the other rank"), "{error}");
    let error = threads::alone().all_to_all(vec![vec![1u8], vec![]]).unwrap_err();
    assert!(error.to_string().contains("the number of lists must be 1, but is 2"), "{error}");
}

#[test]
fn work_that_others_wait_for_may_take_longer_than_the_timeout() {
    // Longer than a busy machine keeps a thread from running.
    let timeout = Duration::from_secs(2);
    let timeouts = Timeouts { timeout, grace: Duration::from_secs(600) };
    let sleep = move || std::thread::sleep(timeout * 2);
    let found = threads::run(3, timeouts, move |ranks| {
        if ranks.rank() == 1 {
            ranks.take_time();
            sleep();
        }
        ranks.all_reduce_one(ranks.rank() as u64, Reduction::Sum)
    });
    assert_eq!(found.unwrap(), [3, 3, 3]);
    // What was said counts until the next communication.
    let found = threads::run(3, timeouts, move |ranks| {
        ranks.take_time();
        ranks.barrier()?;
        if ranks.rank() == 1 {
            sleep();
        }
        ranks.barrier()
    });
    assert!(found.unwrap_err().to_string().contains("rank 1 hangs"));
}

#[test]
fn a_rank_at_work_gives_signs_while_the_others_wait() {
    let timeouts = Timeouts { timeout: Duration::from_millis(400), ..Timeouts::default() };
    let ends = threads::run(2, timeouts, |ranks| {
        if ranks.rank() == 0 {
            // Computes until it was seen three times to do so.
            ranks.at_work(|| while ranks.positions()[0].signs < 3 {});
        }
        ranks.barrier()
    });
    ends.unwrap();
}
