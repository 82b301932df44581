//! After the first step an operator asks the system for no memory at all.
//!
//! A counting allocator watches one thread, the only one of a rayon pool, so that nothing that the
//! kernels do can escape it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use zoetrope_tensor::conformance::large::large;
use zoetrope_tensor::conformance::{Case, small_cases};
use zoetrope_tensor::{Tape, Var};

struct Counting;

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
    static HELD_BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(requests: usize, bytes: isize) {
    // A thread that is ending has no counters any more, and is not one that a test watches.
    let _ = REQUESTS.try_with(|sum| sum.set(sum.get() + requests));
    let _ = HELD_BYTES.try_with(|sum| sum.set(sum.get() + bytes));
}

// SAFETY: every method hands its arguments to the system's allocator unchanged and returns what
// that returns; counting allocates nothing.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller's promise about the layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as isize - layout.size() as isize);
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, -(layout.size() as isize));
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A case with everything made beforehand that the test itself needs.
struct Prepared {
    case: Case,
    values: Vec<Vec<f32>>,
    weighting: Vec<f32>,
    vars: Vec<Var>,
}

impl Prepared {
    fn new(case: Case) -> Self {
        let (values, weighting) = (case.values(), case.weighting(case.results().0.len()));
        Self { vars: Vec::with_capacity(values.len()), case, values, weighting }
    }

    fn step(&mut self, tape: &mut Tape) {
        tape.reset();
        self.case.place(tape, &self.values, &mut self.vars);
        let out = self.case.run(tape, &self.vars);
        tape.backward_from(out, &self.weighting).expect("the length fits");
    }
}

/// The cases that requested memory or kept some over `repetitions` of forward and backward passes:
/// name, requests, bytes held.
fn greedy(cases: Vec<Case>, repetitions: usize) -> Vec<(String, usize, isize)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| {
        let mut cases: Vec<Prepared> = cases.into_iter().map(Prepared::new).collect();
        let mut tape = Tape::new();
        let mut counts = vec![(0, 0); cases.len()];
        for repetition in 0..repetitions + 2 {
            for (case, (requests, bytes)) in cases.iter_mut().zip(&mut counts) {
                let before = (REQUESTS.get(), HELD_BYTES.get());
                case.step(&mut tape);
                // The first two rounds warm the pools up.
                if repetition >= 2 {
                    *requests += REQUESTS.get() - before.0;
                    *bytes += HELD_BYTES.get() - before.1;
                }
            }
        }
        let named = cases.into_iter().map(|case| case.case.name).zip(counts);
        let named = named.map(|(name, (requests, bytes))| (name, requests, bytes));
        named.filter(|(_, requests, bytes)| *requests > 0 || *bytes != 0).collect()
    })
}

#[test]
fn a_thousand_steps_over_every_operator_request_no_memory() {
    // What ranks tell each other comes in lists of as many numbers as there are ranks.
    let alone = |case: &Case| !case.name.starts_with("shared_batch_norm");
    assert_eq!(greedy(small_cases().into_iter().filter(alone).collect(), 1000), []);
}

#[test]
fn steps_that_are_split_for_threads_request_no_memory() {
    assert_eq!(greedy(large(), 20), []);
}

#[test]
fn the_counters_count() {
    let before = (REQUESTS.get(), HELD_BYTES.get());
    let value = std::hint::black_box(Box::new(1u64));
    assert_eq!((REQUESTS.get() - before.0, HELD_BYTES.get() - before.1), (1, 8));
    drop(value);
    assert_eq!((REQUESTS.get() - before.0, HELD_BYTES.get() - before.1), (1, 0));
}
