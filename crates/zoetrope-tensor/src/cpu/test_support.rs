//! How kernels are tried: at every instruction set, with 1, 2 and 8 threads, on made-up numbers.

use super::simd::{Level, levels, with_level};
use super::spmm::CsrRef;
use zoetrope_graph::random::Random;

/// `len` numbers in [−scale, scale), the same for the same seed.
pub(crate) fn numbers(seed: u64, len: usize, scale: f32) -> Vec<f32> {
    let random = Random::new(seed, 0);
    (0..len as u64).map(|i| (random.unit(i) * 2.0 - 1.0) as f32 * scale).collect()
}

/// Runs `f` at every level with 1, 2 and 8 threads, requires equal bits from all thread counts,
/// and hands each level's result to `check`.
pub(crate) fn everywhere(f: impl Fn() -> Vec<f32> + Sync, check: impl Fn(Level, &[f32])) {
    for level in levels() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| with_level(level, &f))
        };
        let one = run(1);
        for threads in [2, 8] {
            let many = run(threads);
            let equal = one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(equal && one.len() == many.len(), "{threads} threads differ at {level}");
        }
        check(level, &one);
    }
}

/// Requires |a − b| ≤ tolerance·max(1, |b|) everywhere.
pub(crate) fn assert_close(level: Level, got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "lengths at {level}");
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let bound = tolerance * expected.abs().max(1.0);
        assert!(
            (f64::from(got) - expected).abs() <= bound,
            "element {i} at {level}: got {got}, expected {expected}"
        );
    }
}

/// An owned sparse matrix.
pub(crate) struct Sparse {
    pub(crate) rows: usize,
    pub(crate) offsets: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl Sparse {
    pub(crate) fn view(&self) -> CsrRef<'_> {
        let Self { rows, offsets, columns, values } = self;
        CsrRef { rows: *rows, offsets, columns, values }
    }
}

/// About `entries` entries, most of them in the first rows (squares of uniform numbers), so that
/// there are crowded and empty rows.
pub(crate) fn sparse(seed: u64, rows: usize, cols: usize, entries: usize) -> Sparse {
    let random = Random::new(seed, 1);
    let mut pairs: Vec<(u32, u32)> = (0..entries as u64)
        .map(|i| {
            let u = random.unit(2 * i);
            let column = random.below(2 * i + 1, cols as u64) as u32;
            ((u * u * rows as f64) as u32, column)
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut offsets = vec![0u32; rows + 1];
    for &(row, _) in &pairs {
        offsets[row as usize + 1] += 1;
    }
    for i in 0..rows {
        offsets[i + 1] += offsets[i];
    }
    let columns = pairs.iter().map(|&(_, c)| c).collect();
    let values = numbers(seed + 100, pairs.len(), 1.0);
    Sparse { rows, offsets, columns, values }
}

/// The same numbers in f64.
pub(crate) fn exact(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// Σ weight·value: what a gradient test takes as the loss.
pub(crate) fn weighted(value: &[f64], weight: &[f32]) -> f64 {
    assert_eq!(value.len(), weight.len());
    value.iter().zip(weight).map(|(value, weight)| value * f64::from(*weight)).sum()
}

/// The gradient of `f` at `x` by central differences in f64.
pub(crate) fn slopes(f: impl Fn(&[f64]) -> f64, x: &[f32]) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let mut at = exact(x);
    (0..x.len())
        .map(|i| {
            let middle = at[i];
            at[i] = middle + STEP;
            let above = f(&at);
            at[i] = middle - STEP;
            let below = f(&at);
            at[i] = middle;
            (above - below) / (2.0 * STEP)
        })
        .collect()
}

/// The derivatives that a kernel added to a buffer that began with ones.
pub(crate) fn added(expected: &[f64]) -> Vec<f64> {
    expected.iter().map(|x| x + 1.0).collect()
}

/// The transpose (rows are the `columns` sources), and for each of its entries the position of
/// the same entry in `m`.
pub(crate) fn transposed(m: &Sparse, columns: usize) -> (Sparse, Vec<u32>) {
    let mut entries: Vec<(u32, u32, u32)> = (0..m.rows)
        .flat_map(|row| m.view().entries(row).map(move |e| (row, e)))
        .map(|(row, e)| (m.columns[e], row as u32, e as u32))
        .collect();
    entries.sort_unstable();
    let mut offsets = vec![0u32; columns + 1];
    for &(column, ..) in &entries {
        offsets[column as usize + 1] += 1;
    }
    for i in 0..columns {
        offsets[i + 1] += offsets[i];
    }
    let edge_of: Vec<u32> = entries.iter().map(|&(.., e)| e).collect();
    let values = edge_of.iter().map(|&e| m.values[e as usize]).collect();
    let columns_of = entries.iter().map(|&(_, row, _)| row).collect();
    (Sparse { rows: columns, offsets, columns: columns_of, values }, edge_of)
}
