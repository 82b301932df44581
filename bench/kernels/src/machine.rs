//! What the machine gives: streams of memory larger than the caches, and matrix products.

use std::hint::black_box;

use zoetrope_tensor::Buffer;
use zoetrope_tensor::cpu::matmul::{Accumulate, MatMut, MatRef, matmul};
use zoetrope_tensor::cpu::{elementwise, reduce};

use crate::case::{Answer, Case, numbers};
use crate::clock::repeat;

/// Elements of an array that no cache holds: 256 MiB.
const ARRAY_ELEMENTS: usize = 64 << 20;
/// Rows of a block that is copied.
const BLOCK: usize = 1 << 16;
/// Sizes of the products whose best rate counts: square, and as tall and narrow as a frame's.
const PRODUCTS: [(usize, usize, usize); 4] =
    [(1024, 1024, 1024), (20_000, 512, 512), (20_000, 96, 32), (20_000, 32, 64)];

/// Rates with one thread and with all of them: `read`, `copy`, `triad` (bytes that the program
/// reads and writes, as the STREAM benchmark counts) and `gemm` (operations).
pub(crate) fn measure(case: &Case) -> Answer {
    let mut answer = Answer::default();
    let all = rayon::current_num_threads();
    for threads in if all > 1 { vec![1, all] } else { vec![1] } {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let rates = pool.install(|| rates(case.seconds));
        answer.rates.extend(rates.map(|(name, rate)| (format!("{name}_{threads}"), rate)));
    }
    answer
}

fn rates(seconds: f64) -> [(&'static str, f64); 4] {
    let a = Buffer::from_slice(&numbers(1, ARRAY_ELEMENTS));
    let b = Buffer::from_slice(&numbers(2, ARRAY_ELEMENTS));
    let mut c = Buffer::zeroed(ARRAY_ELEMENTS);
    let rate = |bytes: usize, runs: Vec<f64>| (bytes * ARRAY_ELEMENTS) as f64 / least(&runs);
    let read = rate(4, repeat(seconds, || _ = black_box(reduce::sum(a.as_slice()))));
    let copy = rate(8, repeat(seconds, || copy(a.as_slice(), c.as_mut_slice())));
    let triad = rate(
        12,
        repeat(seconds, || elementwise::add(a.as_slice(), b.as_slice(), c.as_mut_slice())),
    );
    let gemm = PRODUCTS.iter().map(|&size| product(seconds, size)).fold(0.0, f64::max);
    [("read", read), ("copy", copy), ("triad", triad), ("gemm", gemm)]
}

fn copy(from: &[f32], to: &mut [f32]) {
    use rayon::prelude::*;
    let pairs = to.par_chunks_mut(BLOCK).zip(from.par_chunks(BLOCK));
    pairs.for_each(|(to, from)| to.copy_from_slice(from));
}

fn product(seconds: f64, (m, n, k): (usize, usize, usize)) -> f64 {
    let (a, b) = (numbers(3, m * k), numbers(4, k * n));
    let mut c = vec![0.0; m * n];
    let runs = repeat(seconds, || {
        let (a, b) = (MatRef::new(&a, m, k), MatRef::new(&b, n, k).t());
        matmul(a, b, MatMut::new(&mut c, m, n), Accumulate::Overwrite);
    });
    (2 * m * n * k) as f64 / least(&runs)
}

fn least(runs: &[f64]) -> f64 {
    runs.iter().copied().fold(f64::INFINITY, f64::min)
}
