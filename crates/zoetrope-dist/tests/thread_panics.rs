//! A rank that panics is named before its panic is printed, however long printing takes. A hook belongs
//! to the whole process, hence one test in this file.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use zoetrope_dist::{Ranks, Timeouts, threads};

/// A rank that is named only once its panic is printed hangs for this long, because it prints until the
/// others have been told; one that is named before is named at once.
const TIMEOUTS: Timeouts =
    Timeouts { timeout: Duration::from_secs(30), grace: Duration::from_secs(600) };

#[test]
fn a_rank_whose_panic_takes_long_to_print_is_named_as_one_that_panicked() {
    // What prints is slow: it goes on when both others have been told, and not before.
    let (tell, hear) = channel::<()>();
    let hear = Mutex::new(hear);
    std::panic::set_hook(Box::new(move |_| {
        let hear = hear.lock().unwrap();
        (0..2).for_each(|_| hear.recv().unwrap());
    }));
    let told_by = |panic: fn(&Ranks)| {
        let tell = Mutex::new(tell.clone());
        let failure = threads::run(3, TIMEOUTS, move |ranks| {
            if ranks.rank() == 1 {
                panic(&ranks);
            }
            let error = ranks.barrier().unwrap_err().to_string();
            tell.lock().unwrap().send(()).unwrap();
            Err::<(), _>(error)
        });
        failure.unwrap_err().to_string()
    };
    // On the thread of the rank, and on a thread of a pool that the rank computes on.
    let here: fn(&Ranks) = |_| panic!("out of {}", "luck");
    let elsewhere: fn(&Ranks) = |ranks| {
        let claim = ranks.thread_claim();
        let worker = std::thread::spawn(move || {
            claim();
            panic!("out of luck")
        });
        assert!(worker.join().is_err());
    };
    for panic in [here, elsewhere] {
        let text = told_by(panic);
        assert!(text.contains("rank 1 ended: it panicked: out of luck"), "{text}");
    }
}
