//! A large product: columns packed once for all threads, then a grid of tasks.
//!
//! Every thread first packs panels of columns, as many as it gets hold of, and waits until the
//! others have packed theirs; then it takes tasks, each some rows by some panels of C, until none
//! is left. That is one parallel region for a product, the operand that all tasks share is packed
//! once, and a thread that comes late finds less to do instead of keeping the others waiting.
//!
//! Measured with the example `stream` (15 November 2026, two-core AMD EPYC virtual machine with
//! AVX-512, shortest of many runs), GFLOP/s on two threads and on one: 780×472×300 210 and 107,
//! 600×746×100 183 and 98, 600×100×100 172 and 93.
//!
//! The grid depends on the shape only, and an element of C is summed in the same order whatever the
//! grid.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::epilogue::Epilogue;
use super::kernels::Kernels;
use super::packed::{INNER, Panels};
use super::{Accumulate, Product, packed};
use crate::cpu::scattered::Scattered;
use crate::cpu::scratch;

/// Multiply-adds of one task, about 10 microseconds of one core.
const TASK: usize = 1 << 19;
/// Tasks at most.
const TASKS: usize = 32;
/// Tiles of rows that a task has at least, if that leaves enough tasks.
const TILES: usize = 3;
/// Elements of packed columns at most.
const SHARED: usize = 1 << 21;

/// Computes C = epilogue(op(A)·op(B) (+ C)).
///
/// # Safety
///
/// The addresses cover the shape with the strides, and nothing else accesses the elements of C
/// meanwhile.
#[allow(unsafe_code)]
pub(super) unsafe fn run(product: &Product, accumulate: Accumulate, epilogue: &Epilogue) {
    let [_, n, k] = product.shape;
    let kernels = packed::kernels_for(product);
    let (wide, deep) = extent(n, k, kernels.map_or(1, |kernels| kernels.panel));
    for column in (0..n).step_by(wide) {
        let part = product.columns(column, wide.min(n - column));
        for depth in (0..k.max(1)).step_by(deep) {
            let part = part.inner(depth, deep.min(k - depth));
            let mode = if depth > 0 { Accumulate::Add } else { accumulate };
            let last = depth + deep >= k;
            let epilogue = last.then(|| epilogue.of_columns(column, part.shape[1]));
            // SAFETY: a part of the caller's product.
            unsafe { run_part(kernels, &part, mode, epilogue.as_ref()) };
        }
    }
}

/// Columns and inner length whose packed columns are held at once.
fn extent(n: usize, k: usize, panel: usize) -> (usize, usize) {
    let padded = n.next_multiple_of(panel);
    if padded.saturating_mul(k) <= SHARED {
        return (n, k.max(1));
    }
    let wide = padded.min(SHARED / INNER / panel * panel);
    (wide, (SHARED / wide / INNER).max(1) * INNER)
}

/// # Safety
///
/// As for [`run`], and the processor can run the kernels.
#[allow(unsafe_code)]
unsafe fn run_part(
    kernels: Option<&Kernels>,
    product: &Product,
    accumulate: Accumulate,
    epilogue: Option<&Epilogue>,
) {
    let [m, n, k] = product.shape;
    let (tile, panel) = kernels.map_or((8, 16), |kernels| (kernels.rows, kernels.panel));
    let grid = Grid::new([m, n, k], tile, panel);
    let panels = n.div_ceil(panel);
    let mut columns = scratch::take(if kernels.is_some() { panels * panel * k } else { 0 });
    let shared = Scattered::new(&mut columns);
    let (next_panel, packed, next_task) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        if let Some(kernels) = kernels {
            loop {
                let at = next_panel.fetch_add(1, Ordering::Relaxed);
                if at >= panels {
                    break;
                }
                let part = product.columns(at * panel, panel.min(n - at * panel));
                // SAFETY: the places of one panel, packed by who drew its number; inside the
                // product that the caller vouches for.
                unsafe { packed::pack_panel(kernels, &part, at, panels, shared) };
                packed.fetch_add(1, Ordering::Release);
            }
            while packed.load(Ordering::Acquire) < panels {
                // The other thread may have lost its core.
                std::thread::yield_now();
            }
        }
        loop {
            let task = next_task.fetch_add(1, Ordering::Relaxed);
            if task >= grid.tasks() {
                break;
            }
            let [rows, cols] = grid.task(task);
            let part = product.rows(rows.start, rows.len()).columns(cols.start, cols.len());
            // SAFETY: tasks are disjoint parts of C, all panels are packed and nobody writes them
            // any more; the caller vouches for the rest.
            unsafe {
                match kernels {
                    Some(kernels) => {
                        let whole = Panels { columns: shared.read(), count: panels };
                        whole.run(kernels, &part, cols.start / panel, accumulate);
                    }
                    None => part.run(accumulate),
                }
                if let Some(epilogue) = epilogue {
                    let [rows, width, _] = part.shape;
                    let epilogue = epilogue.of_columns(cols.start, width);
                    epilogue.apply_at(part.c, [rows, width], part.c_stride);
                }
            }
        }
    };
    match rayon::current_num_threads().min(grid.tasks()) {
        1 => work(),
        crew => (0..crew).into_par_iter().with_max_len(1).for_each(|_| work()),
    }
}

/// How C is cut into tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    shape: [usize; 2],
    /// Rows and columns of a task.
    size: [usize; 2],
    /// Tasks side by side.
    across: usize,
}

impl Grid {
    fn new([m, n, k]: [usize; 3], tile: usize, panel: usize) -> Self {
        let work = m.saturating_mul(n).saturating_mul(k);
        let wanted = (work / TASK).clamp(1, TASKS);
        let down = wanted.min(m.div_ceil(TILES * tile)).max(1);
        let across = wanted.div_ceil(down).min(n.div_ceil(panel)).max(1);
        let rows = m.div_ceil(down).next_multiple_of(tile);
        let cols = n.div_ceil(panel).div_ceil(across).max(1) * panel;
        Self { shape: [m, n], size: [rows, cols], across: n.div_ceil(cols) }
    }

    fn tasks(&self) -> usize {
        self.shape[0].div_ceil(self.size[0]) * self.across
    }

    fn task(&self, at: usize) -> [std::ops::Range<usize>; 2] {
        let place = [at / self.across, at % self.across];
        [0, 1].map(|side| {
            let from = place[side] * self.size[side];
            from..(from + self.size[side]).min(self.shape[side])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_cover_every_element_once() {
        for shape in [[780, 300, 472], [300, 472, 780], [20, 40_000, 20], [5, 5, 5], [7, 1, 900]] {
            let grid = Grid::new(shape, 6, 64);
            let mut seen = vec![0u8; shape[0] * shape[1]];
            for task in 0..grid.tasks() {
                let [rows, cols] = grid.task(task);
                for row in rows {
                    cols.clone().for_each(|col| seen[row * shape[1] + col] += 1);
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{shape:?}");
        }
    }

    #[test]
    fn packed_columns_stay_within_their_limit() {
        for (n, k) in [(300, 472), (40_000, 20), (5000, 5000), (64, 1 << 20)] {
            let (wide, deep) = extent(n, k, 64);
            assert!(wide.next_multiple_of(64) * deep.min(k) <= SHARED, "{n}x{k}: {wide}x{deep}");
            assert!(deep >= k || deep % INNER == 0, "sums keep their pieces");
        }
    }
}
