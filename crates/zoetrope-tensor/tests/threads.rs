//! Every operator gives the same bits for any number of threads.

use zoetrope_tensor::conformance::large::large;
use zoetrope_tensor::conformance::{Case, small_cases};

/// The bits of the result and of all gradients.
fn bits(case: &Case) -> Vec<u32> {
    let (result, gradients) = case.results();
    let values = result.into_iter().chain(gradients.into_iter().flatten());
    values.map(f32::to_bits).collect()
}

fn in_pool(threads: usize, cases: &[Case]) -> Vec<Vec<u32>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| cases.iter().map(bits).collect())
}

#[test]
fn one_two_and_eight_threads_give_the_same_bits() {
    let cases: Vec<Case> = large().into_iter().chain(small_cases()).collect();
    let expected = in_pool(1, &cases);
    for threads in [2, 8] {
        let got = in_pool(threads, &cases);
        for ((case, got), expected) in cases.iter().zip(&got).zip(&expected) {
            assert!(got == expected, "{} differs between 1 and {threads} threads", case.name);
        }
    }
}

#[test]
fn large_results_are_numbers() {
    for case in large() {
        let numbers = bits(&case);
        assert!(numbers.iter().all(|&bits| f32::from_bits(bits).is_finite()), "{}", case.name);
    }
}
